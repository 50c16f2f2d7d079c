/* Parameters of a model that differ from environment to environment: each worker writes them into a copy of its own. */
#include "mujoco_overrides.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ the table */

typedef enum { ANY, NOT_NEGATIVE, POSITIVE, INTEGER } bound;

static const char *const bound_text[] = {"finite", "finite and >= 0", "finite and > 0", "an integer of 32 bits"};

typedef enum { PAIRS, GEOMS, JOINTS, DOFS, TENDONS, EQUALITIES, BODIES, ONE } count;

/* what a field's change makes stale */
enum { WEIGHTS = 1, MARGINS = 2 };

typedef struct {
  const char *name;
  size_t at; /* of the pointer in mjModel; of the number itself for options (count ONE) */
  count rows;
  int columns;
  bound bound;
  int stale;
} field;

/* clang-format off */
#define F(name, rows, columns, bound, stale) {#name, offsetof(mjModel, name), rows, columns, bound, stale}
#define O(name, bound) {"opt_" #name, offsetof(mjModel, opt) + offsetof(mjOption, name), ONE, 1, bound, 0}
static const field fields[] = {
  F(geom_solref, GEOMS, mjNREF, ANY, 0),
  F(geom_solimp, GEOMS, mjNIMP, ANY, 0),
  F(geom_solmix, GEOMS, 1, NOT_NEGATIVE, 0),
  F(geom_friction, GEOMS, 3, ANY, 0),
  F(geom_margin, GEOMS, 1, ANY, MARGINS),
  F(geom_gap, GEOMS, 1, ANY, MARGINS),
  F(geom_priority, GEOMS, 1, INTEGER, 0),
  F(pair_solref, PAIRS, mjNREF, ANY, 0),
  F(pair_solreffriction, PAIRS, mjNREF, ANY, 0),
  F(pair_solimp, PAIRS, mjNIMP, ANY, 0),
  F(pair_friction, PAIRS, 5, ANY, 0),
  F(pair_margin, PAIRS, 1, ANY, 0),
  F(pair_gap, PAIRS, 1, ANY, 0),
  F(jnt_solref, JOINTS, mjNREF, ANY, 0),
  F(jnt_solimp, JOINTS, mjNIMP, ANY, 0),
  F(jnt_margin, JOINTS, 1, ANY, 0),
  F(jnt_range, JOINTS, 2, ANY, 0),
  F(dof_solref, DOFS, mjNREF, ANY, 0),
  F(dof_solimp, DOFS, mjNIMP, ANY, 0),
  F(dof_frictionloss, DOFS, 1, NOT_NEGATIVE, 0),
  F(dof_armature, DOFS, 1, NOT_NEGATIVE, WEIGHTS),
  F(tendon_solref_lim, TENDONS, mjNREF, ANY, 0),
  F(tendon_solimp_lim, TENDONS, mjNIMP, ANY, 0),
  F(tendon_solref_fri, TENDONS, mjNREF, ANY, 0),
  F(tendon_solimp_fri, TENDONS, mjNIMP, ANY, 0),
  F(tendon_margin, TENDONS, 1, ANY, 0),
  F(tendon_range, TENDONS, 2, ANY, 0),
  F(tendon_frictionloss, TENDONS, 1, NOT_NEGATIVE, 0),
  F(eq_solref, EQUALITIES, mjNREF, ANY, 0),
  F(eq_solimp, EQUALITIES, mjNIMP, ANY, 0),
  F(body_mass, BODIES, 1, NOT_NEGATIVE, WEIGHTS),
  F(body_inertia, BODIES, 3, NOT_NEGATIVE, WEIGHTS),
  O(timestep, POSITIVE),
  O(impratio, POSITIVE),
};
/* clang-format on */
#undef F
#undef O
#define NFIELD ((int)(sizeof fields / sizeof *fields))
_Static_assert(sizeof fields / sizeof *fields <= SC_MJ_NFIELD, "sc_mj_overrides has room for all fields");

static int rows_of(const mjModel *m, const field *f) {
  switch (f->rows) {
  case PAIRS:
    return (int)m->npair;
  case GEOMS:
    return (int)m->ngeom;
  case JOINTS:
    return (int)m->njnt;
  case DOFS:
    return (int)m->nv;
  case TENDONS:
    return (int)m->ntendon;
  case EQUALITIES:
    return (int)m->neq;
  case BODIES:
    return (int)m->nbody;
  default:
    return 1;
  }
}

static int find_field(const char *name) {
  for (int i = 0; i < NFIELD; i++)
    if (!strcmp(fields[i].name, name)) return i;
  return -1;
}

const char *sc_override_field(int i) { return i >= 0 && i < NFIELD ? fields[i].name : NULL; }

void sc_override_init(sc_override *override) { *override = (sc_override){.size = sizeof *override}; }

int sc_model_field(const sc_model *model, const char *name, int *rows, int *columns) {
  if (!model || !name)
    return sc_error_set(SC_ERROR_ARGUMENT, "sc_model_field: %s is NULL", model ? "field" : "model");
  int i = find_field(name);
  if (i < 0) return sc_error_set(SC_ERROR_ARGUMENT, "sc_model_field: no field \"%s\" can be overridden", name);
  if (rows) *rows = rows_of(model->own, &fields[i]);
  if (columns) *columns = fields[i].columns;
  return SC_OK;
}

/* ------------------------------------------------------------------ the caller's list */

static int check_one(const char *call, const sc_model *model, int i, int nenv, sc_mj_overrides *o) {
  const sc_override *v = &o->list[i];
  if (v->size != sizeof *v)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: overrides[%d].size is %zu, not %zu: use sc_override_init", call, i,
                        v->size, sizeof *v);
  if (!v->field) return sc_error_set(SC_ERROR_ARGUMENT, "%s: overrides[%d].field is NULL", call, i);
  int f = find_field(v->field);
  if (f < 0)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: overrides[%d].field: no field \"%.60s\" can be overridden", call, i,
                        v->field);
  for (int k = 0; k < i; k++)
    if (o->field[k] == f)
      return sc_error_set(SC_ERROR_ARGUMENT, "%s: overrides[%d].field: \"%s\" is already overrides[%d]", call, i,
                          v->field, k);
  o->field[i] = f;
  o->fields |= (uint64_t)1 << f;
  o->numbers[i] = (size_t)rows_of(model->own, &fields[f]) * (size_t)fields[f].columns;
  if (!v->values && nenv > 0 && o->numbers[i])
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: overrides[%d].values is NULL (\"%s\")", call, i, v->field);
  o->weights |= (fields[f].stale & WEIGHTS) != 0;
  o->margins |= (fields[f].stale & MARGINS) != 0;
  return SC_OK;
}

int sc_mj_overrides_check(const char *call, const sc_model *model, const sc_override *list, int n, int nenv,
                          sc_mj_overrides *out) {
  *out = (sc_mj_overrides){.list = list, .n = n};
  if (n < 0) return sc_error_set(SC_ERROR_ARGUMENT, "%s: noverride is %d, not >= 0", call, n);
  if (n && !list) return sc_error_set(SC_ERROR_ARGUMENT, "%s: overrides is NULL", call);
  /* a longer list has an unknown field or one twice, which is found before the end */
  for (int i = 0; i < n; i++) {
    int code = check_one(call, model, i, nenv, out);
    if (code) return code;
  }
  return SC_OK;
}

/* ------------------------------------------------------------------ workers */

typedef struct {
  const mjModel *from;
  sc_mj_worker *worker;
} copy_job;

/* For sc_mj_guard. A model that is there already is overwritten in its place. */
static void make_copy(void *arg) {
  copy_job *job = arg;
  sc_mj_worker *w = job->worker;
  w->model = mj_copyModel(w->model, job->from);
  if (w->model && !w->scratch) w->scratch = mj_makeData(w->model);
}

/* Fields that every environment writes, and what follows from them, need no copy: only those that are not written any more. */
int sc_mj_overrides_open(const char *call, const mjModel *model, const sc_mj_overrides *o, sc_mj_crew *crew) {
  char text[SC_MJ_TEXT];
  for (int i = 0; o->n && i < crew->n; i++) {
    sc_mj_worker *w = &crew->workers[i];
    if (w->scratch && !(crew->written & ~o->fields)) continue;
    copy_job job = {model, w};
    if (sc_mj_guard(make_copy, &job, text) || !w->model || !w->scratch)
      return sc_error_set(SC_ERROR_MEMORY, "%s: no copy of the model for worker %d: %s", call, i, text);
  }
  if (o->n) crew->written = o->fields;
  return SC_OK;
}

/* ------------------------------------------------------------------ one environment */

static int within(double x, bound b) {
  if (!isfinite(x)) return 0;
  switch (b) {
  case NOT_NEGATIVE:
    return x >= 0;
  case POSITIVE:
    return x > 0;
  case INTEGER:
    return x >= INT_MIN && x <= INT_MAX && x == floor(x);
  default:
    return 1;
  }
}

static const double *values_of(const sc_mj_overrides *o, int i, int env) {
  return o->numbers[i] ? o->list[i].values + (size_t)env * o->numbers[i] : NULL;
}

/* whether all values of an environment are valid; text says which is not */
static int check_values(const sc_mj_overrides *o, int env, char text[SC_MJ_TEXT]) {
  for (int i = 0; i < o->n; i++) {
    const field *f = &fields[o->field[i]];
    const double *x = values_of(o, i, env);
    for (size_t k = 0; k < o->numbers[i]; k++) {
      if (within(x[k], f->bound)) continue;
      size_t columns = (size_t)f->columns;
      if (f->rows == ONE)
        snprintf(text, SC_MJ_TEXT, "%s is %g, not %s", f->name, x[k], bound_text[f->bound]);
      else if (columns == 1)
        snprintf(text, SC_MJ_TEXT, "%s[%zu] is %g, not %s", f->name, k, x[k], bound_text[f->bound]);
      else
        snprintf(text, SC_MJ_TEXT, "%s[%zu][%zu] is %g, not %s", f->name, k / columns, k % columns, x[k],
                 bound_text[f->bound]);
      return 0;
    }
  }
  return 1;
}

static void write_field(mjModel *m, const field *f, const double *x, size_t n) {
  void *at = (char *)m + f->at, *array;
  if (!n) return;
  if (f->rows == ONE) {
    memcpy(at, x, sizeof *x);
    return;
  }
  memcpy(&array, at, sizeof array);
  if (f->bound == INTEGER)
    for (size_t k = 0; k < n; k++) ((int *)array)[k] = (int)x[k];
  else
    memcpy(array, x, n * sizeof *x);
}

/* what the compiler derives from margins and gaps for the broad phase of collision: the largest sum of a body's geoms */
static void update_margins(mjModel *m) {
  memset(m->body_margin, 0, (size_t)m->nbody * sizeof *m->body_margin);
  for (int g = 0; g < m->ngeom; g++) {
    double *most = &m->body_margin[m->geom_bodyid[g]];
    *most = fmax(*most, m->geom_margin[g] + m->geom_gap[g]);
  }
}

/* For sc_mj_guard. What mj_setConst derives is a function of the model and of the scratch data's inputs, which nothing
 * ever changes: not of the environment before. */
static void set_const(void *arg) {
  sc_mj_worker *w = arg;
  mj_setConst(w->model, w->scratch);
}

const mjModel *sc_mj_overrides_model(const sc_mj_overrides *o, const mjModel *shared, sc_mj_worker *w, int env,
                                     char text[SC_MJ_TEXT]) {
  if (!o->n) return shared;
  if (!check_values(o, env, text)) return NULL;
  for (int i = 0; i < o->n; i++)
    write_field(w->model, &fields[o->field[i]], values_of(o, i, env), o->numbers[i]);
  if (o->margins) update_margins(w->model);
  if (o->weights && sc_mj_guard(set_const, w, text)) {
    char why[SC_MJ_TEXT];
    memcpy(why, text, sizeof why);
    snprintf(text, SC_MJ_TEXT, "MuJoCo, mj_setConst: %.300s", why);
    mj_resetData(w->model, w->scratch);
    return NULL;
  }
  return w->model;
}
