#include "inspect.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* MuJoCo's bounds: mjMINVAL, mjMINIMP, mjMAXIMP, mjMINMU */
#define MINVAL 1e-15
#define MINIMP 1e-4
#define MAXIMP 0.9999
#define MINMU 1e-5

/* ------------------------------------------------------------------ remarks */

void remark(remarks *r, const char *format, ...) {
  va_list args;
  if (r->n == (int)(sizeof r->text / sizeof *r->text)) return;
  va_start(args, format);
  vsnprintf(r->text[r->n++], sizeof *r->text, format, args);
  va_end(args);
}

static int mixed(const double *solref) { return (solref[0] > 0) != (solref[1] > 0); }

static void remark_refsafe(remarks *r, const char *name, double timeconst, double timestep, int refsafe) {
  if (!(timeconst > 0) || !(timeconst < 2 * timestep)) return;
  if (refsafe)
    remark(r, "refsafe: %s's time constant %g s is below two timesteps: %g s is used", name, timeconst, 2 * timestep);
  else
    remark(r, "%s's time constant %g s is below two timesteps (%g s), and refsafe is off: it is used", name, timeconst,
           2 * timestep);
}

void remark_solref(remarks *r, const double *solref, double timestep, int refsafe) {
  double timeconst = solref[0];
  if (mixed(solref)) {
    remark(r, "solref %g %g mixes signs, which is neither format: 0.02 1 is used", solref[0], solref[1]);
    timeconst = 0.02;
  }
  remark_refsafe(r, "solref", timeconst, timestep, refsafe);
}

void remark_solreffriction(remarks *r, const double *solref, double timestep, int refsafe) {
  if (mixed(solref))
    remark(r, "solreffriction %g %g mixes signs: it counts as not given", solref[0], solref[1]);
  else
    remark_refsafe(r, "solreffriction", solref[0], timestep, refsafe);
}

static double clamped(remarks *r, const char *name, double x) {
  double y = fmin(fmax(x, MINIMP), MAXIMP);
  if (y != x) remark(r, "solimp's %s %g is outside %g .. %g: %g is used", name, x, MINIMP, MAXIMP, y);
  return y;
}

void remark_solimp(remarks *r, const double *solimp) {
  double d0 = clamped(r, "d0", solimp[0]), dwidth = clamped(r, "dwidth", solimp[1]);
  if (solimp[2] < 0) remark(r, "solimp's width %g is negative: 0 is used", solimp[2]);
  if (d0 != dwidth && !(solimp[2] > MINVAL))
    remark(r, "solimp's width is zero: d is the mean of d0 and dwidth, %g, at any position", (d0 + dwidth) / 2);
  clamped(r, "midpoint", solimp[3]);
  if (solimp[4] < 1) remark(r, "solimp's power %g is below 1: 1 is used", solimp[4]);
}

/* floors that a row may rest on */
static void remark_floors(remarks *r, const sc_row_info *row) {
  double dwidth = fmin(fmax(row->solimp[1], MINIMP), MAXIMP);
  if (row->K >= 0.999 / MINVAL) remark(r, "K is at its ceiling 1e15: (dwidth timeconst dampratio)^2 is below 1e-15");
  if (row->B >= 1.999 / MINVAL)
    remark(r, "B is at its ceiling 2e15: dwidth timeconst is below 1e-15 (dwidth %g)", dwidth);
  if (!(row->R > MINVAL))
    remark(r, "R is at its floor 1e-15: the row is all but hard, or nothing here can move (its inverse inertia is 0)");
  for (int k = 0; k < row->dim - 1 && row->dim > 1; k++)
    if (!(row->friction[k] > MINMU)) {
      remark(r, "friction coefficient %d is at its floor %g", k + 1, MINMU);
      break;
    }
}

void remark_row(remarks *r, const sc_row_info *row, double timestep, int refsafe) {
  r->n = 0;
  remark_solref(r, row->solref, timestep, refsafe);
  if (row->solreffriction[0] != 0 || row->solreffriction[1] != 0) {
    if (row->type == SC_CONTACT_ELLIPTIC)
      remark_solreffriction(r, row->solreffriction, timestep, refsafe);
    else
      remark(r, "solreffriction has no effect: only elliptic contacts with friction use it");
  }
  remark_solimp(r, row->solimp);
  remark_floors(r, row);
}

/* ------------------------------------------------------------------ labels */

/* by its joint; of a joint with several dofs, which one */
static const char *dof_label(const sc_model *model, int dof, char *buffer, size_t size) {
  char joint[120];
  sc_joint_info j;
  for (int i = 0; i < sc_model_count(model, SC_OBJECT_JOINT); i++) {
    if (sc_inspect_joint(model, i, &j) || dof < j.dofadr || dof >= j.dofadr + j.ndof) continue;
    object_label(model, SC_OBJECT_JOINT, i, joint, sizeof joint);
    if (j.ndof > 1)
      snprintf(buffer, size, "%s[%d]", joint, dof - j.dofadr);
    else
      snprintf(buffer, size, "%s", joint);
    break;
  }
  return buffer;
}

const char *object_label(const sc_model *model, int object, int id, char *buffer, size_t size) {
  const char *name = sc_model_name(model, object, id);
  buffer[0] = 0;
  if (object == SC_OBJECT_NONE) return buffer;
  if (object == SC_OBJECT_DOF) return dof_label(model, id, buffer, size);
  if (*name)
    snprintf(buffer, size, "%s", name);
  else
    snprintf(buffer, size, "%s %d", sc_object_word(object), id);
  return buffer;
}

int is_contact(int type) { return type >= SC_CONTACT_FRICTIONLESS; }

const char *row_kind(const sc_row_info *row, char *buffer, size_t size) {
  static const char *const equalities[] = {"connect", "weld", "joint", "tendon"};
  static const char *const axes[] = {"normal", "t1", "t2", "spin", "roll1", "roll2"};
  switch (row->type) {
  case SC_EQUALITY:
    if (row->block_rows > 1)
      snprintf(buffer, size, "%s %d/%d", row->equality >= 0 ? equalities[row->equality] : "equality",
               row->block_row + 1, row->block_rows);
    else
      snprintf(buffer, size, "%s equality", row->equality >= 0 ? equalities[row->equality] : "other");
    break;
  case SC_FRICTION_DOF:
  case SC_FRICTION_TENDON:
    snprintf(buffer, size, "dry friction");
    break;
  case SC_LIMIT_JOINT:
  case SC_LIMIT_TENDON:
    snprintf(buffer, size, "limit%s", row->upper < 0 ? "" : row->upper ? " upper" : " lower");
    break;
  case SC_CONTACT_PYRAMIDAL:
    snprintf(buffer, size, "pyramid %c%s", row->block_row % 2 ? '-' : '+', axes[1 + row->block_row / 2 % 5]);
    break;
  case SC_CONTACT_ELLIPTIC:
    snprintf(buffer, size, "contact %s", axes[row->block_row % 6]);
    break;
  default:
    snprintf(buffer, size, "contact");
  }
  return buffer;
}

const char *type_word(int type) {
  static const char *const words[SC_NTYPE] = {"equality",          "friction_dof",    "friction_tendon",
                                              "limit_joint",       "limit_tendon",    "contact_frictionless",
                                              "contact_pyramidal", "contact_elliptic"};
  return type >= 0 && type < SC_NTYPE ? words[type] : "unknown";
}

const char *state_word(int state) {
  static const char *const words[] = {"satisfied", "quadratic", "linearneg", "linearpos", "cone"};
  return state >= 0 && state < 5 ? words[state] : "unknown";
}

/* ------------------------------------------------------------------ JSON */

void json_number(cJSON *object, const char *name, double value) {
  if (isfinite(value))
    cJSON_AddNumberToObject(object, name, value);
  else
    cJSON_AddNullToObject(object, name);
}

void json_numbers(cJSON *object, const char *name, const double *x, int n) {
  cJSON *array = cJSON_AddArrayToObject(object, name);
  for (int i = 0; i < n; i++)
    cJSON_AddItemToArray(array, isfinite(x[i]) ? cJSON_CreateNumber(x[i]) : cJSON_CreateNull());
}

int json_print(cJSON *object) {
  char *text = cJSON_PrintUnformatted(object);
  int status = text ? 0 : cli_fail_with(EXIT_INTERNAL, "no memory for the JSON");
  if (text) puts(text);
  cJSON_free(text);
  cJSON_Delete(object);
  return status;
}
