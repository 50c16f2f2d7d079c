/* Joint -> actuators: what they are, in words. */
#include "inspect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ units */

typedef struct {
  const char *length, *speed, *force;
} units;

/* of what an actuator acts on */
static units units_of(const sc_model *model, const sc_actuator_info *a) {
  sc_joint_info j;
  int turns = !strcmp(a->transmission, "so3");
  if (a->object[0] == SC_OBJECT_JOINT && !sc_inspect_joint(model, a->object_id[0], &j)) turns = j.type != 2;
  return turns ? (units){"rad", "rad/s", "N m"} : (units){"m", "m/s", "N"};
}

/* of the control; "" where it is a matter of the gain */
static const char *control_unit(const sc_actuator_info *a, const units *u) {
  if (!strcmp(a->kind, "position")) return u->length;
  if (!strcmp(a->kind, "velocity") || !strcmp(a->kind, "intvelocity")) return u->speed;
  if (!strcmp(a->kind, "motor")) return a->gainprm[0] == 1 ? u->force : "";
  return "";
}

/* ------------------------------------------------------------------ words */

/* what makes its force, as a formula; q and v are length and speed of the transmission (gear times the joint's) */
static const char *formula(const sc_actuator_info *a, char *buffer, size_t size) {
  const double *g = a->gainprm, *b = a->biasprm;
  const char *input = a->activations ? "act" : "ctrl";
  if (!strcmp(a->kind, "motor") || !strcmp(a->kind, "adhesion"))
    snprintf(buffer, size, "force = %g ctrl", g[0]);
  else if (!strcmp(a->kind, "position") || !strcmp(a->kind, "intvelocity"))
    snprintf(buffer, size, b[2] == 0 ? "force = %g (%s - q)" : "force = %g (%s - q) - %g v", g[0], input, -b[2]);
  else if (!strcmp(a->kind, "velocity"))
    snprintf(buffer, size, "force = %g (%s - v)", g[0], input);
  else if (!strcmp(a->kind, "damper"))
    snprintf(buffer, size, "force = -%g ctrl v", -g[2]);
  else if (!strcmp(a->gain, "fixed") && !strcmp(a->bias, "affine"))
    snprintf(buffer, size, "force = %g %s + (%g) + (%g) q + (%g) v", g[0], input, b[0], b[1], b[2]);
  else if (!strcmp(a->gain, "fixed") && !strcmp(a->bias, "none"))
    snprintf(buffer, size, "force = %g %s", g[0], input);
  else if (!strcmp(a->gain, "affine"))
    snprintf(buffer, size, "force = (%g + %g q + %g v) %s + bias (%s)", g[0], g[1], g[2], input, a->bias);
  else
    snprintf(buffer, size, "force by the %s model", a->kind);
  return buffer;
}

static void print_numbers(const char *name, const double *x) {
  int last = 0;
  for (int i = 0; i < SC_ACTUATOR_PRM; i++)
    if (x[i] != 0) last = i;
  printf("%s", name);
  for (int i = 0; i <= last; i++) printf(" %g", x[i]);
}

/* "-1 .. 1 N m (active)" */
static const char *range_words(const double *range, int active, const char *unit, char *buffer, size_t size) {
  if (active)
    snprintf(buffer, size, "%g .. %g%s%s (active)", range[0], range[1], *unit ? " " : "", unit);
  else if (range[0] != 0 || range[1] != 0)
    snprintf(buffer, size, "%g .. %g%s%s (given, but not active)", range[0], range[1], *unit ? " " : "", unit);
  else
    snprintf(buffer, size, "none");
  return buffer;
}

/* in plain words, what is not plain by MJCF's */
static const char *plain(const char *kind) {
  static const char *const words[][2] = {
      {"position", "position servo"},  {"velocity", "velocity servo"},    {"intvelocity", "integrated-velocity servo"},
      {"general", "general actuator"}, {"adhesion", "adhesion actuator"}, {"pid", "PID controller"}};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    if (!strcmp(kind, words[k][0])) return words[k][1];
  return kind;
}

static const char *article(const char *word) { return strchr("aeiou", *word) ? "an" : "a"; }

static void print_actuator(const inspection *s, int i, const sc_actuator_info *a) {
  char label[120], text[2][160];
  units u = units_of(s->job.model, a);
  object_label(s->job.model, SC_OBJECT_ACTUATOR, i, label, sizeof label);
  printf("  [%d] %s: %s %s, %s%s\n", i, label, article(a->kind), plain(a->kind), formula(a, text[0], sizeof text[0]),
         a->disabled ? " (DISABLED)" : "");
  printf("      gain %s, bias %s, dynamics %s; ", a->gain, a->bias, a->dynamics);
  print_numbers("gainprm", a->gainprm);
  print_numbers(", biasprm", a->biasprm);
  if (strcmp(a->dynamics, "none")) print_numbers(", dynprm", a->dynprm);
  printf("\n      gear %g", a->gear[0]);
  for (int k = 1; k < 6; k++)
    if (a->gear[k] != 0) {
      for (k = 1; k < 6; k++) printf(" %g", a->gear[k]);
    }
  printf("; ctrlrange %s; forcerange %s\n",
         range_words(a->ctrlrange, a->ctrl_limited, control_unit(a, &u), text[0], sizeof text[0]),
         range_words(a->forcerange, a->force_limited, u.force, text[1], sizeof text[1]));
}

/* ------------------------------------------------------------------ several on one joint */

static int is_servo(const sc_actuator_info *a) {
  return !strcmp(a->kind, "position") || !strcmp(a->kind, "intvelocity");
}

static int acts_on(const sc_actuator_info *a, int joint) {
  return a->object[0] == SC_OBJECT_JOINT && a->object_id[0] == joint;
}

/* Where the joint rests under a control of 1 of actuator a, all other controls 0, nothing else acting: what a stiff
 * neighbour leaves of a motor. NAN where no actuator holds it. */
static double rest_per_control(const sc_actuator_info *all, int n, int joint, int which) {
  double stiffness = 0;
  for (int i = 0; i < n; i++)
    if (acts_on(&all[i], joint) && is_servo(&all[i]) && !all[i].disabled)
      stiffness += all[i].gainprm[0] * all[i].gear[0] * all[i].gear[0];
  int drives = is_servo(&all[which]) || !strcmp(all[which].kind, "motor");
  return stiffness > 0 && drives ? all[which].gainprm[0] * all[which].gear[0] / stiffness : (double)NAN;
}

static int count_on(const sc_actuator_info *all, int n, int joint) {
  int count = 0;
  for (int i = 0; i < n; i++) count += acts_on(&all[i], joint);
  return count;
}

static void print_shared(const inspection *s, const sc_actuator_info *all, int n, int joint) {
  char label[120];
  sc_joint_info j;
  int count = count_on(all, n, joint);
  if (count < 2 || sc_inspect_joint(s->job.model, joint, &j)) return;
  printf("  ! %d actuators on one joint: their forces add up, and each needs its own control", count);
  for (int i = 0; i < n; i++) {
    double rest = acts_on(&all[i], joint) ? rest_per_control(all, n, joint, i) : (double)NAN;
    if (!isfinite(rest)) continue;
    object_label(s->job.model, SC_OBJECT_ACTUATOR, i, label, sizeof label);
    printf("\n    ctrl %s = 1 and the others 0: rests at %g %s", label, rest, j.type == 2 ? "m" : "rad");
  }
  printf("\n");
}

static void print_table(const inspection *s, const sc_actuator_info *all, int n) {
  const sc_model *model = s->job.model;
  char label[120];
  int bare = 0, njnt = sc_model_count(model, SC_OBJECT_JOINT);
  printf("%s: %d joints, %d actuators\n", s->job.path, njnt, n);
  printf("(q, v: length and speed of what is acted on = gear times the joint's; force on the joint = gear force)\n");
  for (int j = 0; j < njnt; j++) {
    if (!count_on(all, n, j)) continue;
    printf("\njoint %s\n", object_label(model, SC_OBJECT_JOINT, j, label, sizeof label));
    for (int i = 0; i < n; i++)
      if (acts_on(&all[i], j)) print_actuator(s, i, &all[i]);
    print_shared(s, all, n, j);
  }
  for (int i = 0; i < n; i++) {
    if (all[i].object[0] == SC_OBJECT_JOINT) continue;
    printf("\n%s %s\n", sc_object_word(all[i].object[0]),
           object_label(model, all[i].object[0], all[i].object_id[0], label, sizeof label));
    print_actuator(s, i, &all[i]);
  }
  for (int j = 0; j < njnt; j++) {
    if (count_on(all, n, j)) continue;
    printf("%s%s",
           bare++ ? ", " : "\nwithout an actuator: ", object_label(model, SC_OBJECT_JOINT, j, label, sizeof label));
  }
  if (bare) printf("\n");
}

/* ------------------------------------------------------------------ JSON */

static void add_range(cJSON *o, const char *name, const double *range, int active, const char *unit) {
  cJSON *x = cJSON_AddObjectToObject(o, name);
  json_numbers(x, "range", range, 2);
  cJSON_AddBoolToObject(x, "active", active);
  cJSON_AddStringToObject(x, "unit", unit);
}

static cJSON *actuator_json(const inspection *s, const sc_actuator_info *all, int n, int i) {
  const sc_actuator_info *a = &all[i];
  char text[160];
  units u = units_of(s->job.model, a);
  cJSON *o = cJSON_CreateObject();
  cJSON_AddNumberToObject(o, "id", i);
  cJSON_AddStringToObject(o, "name", object_label(s->job.model, SC_OBJECT_ACTUATOR, i, text, sizeof text));
  cJSON_AddStringToObject(o, "kind", a->kind);
  cJSON_AddStringToObject(o, "formula", formula(a, text, sizeof text));
  cJSON_AddStringToObject(o, "transmission", a->transmission);
  cJSON_AddStringToObject(o, "gain", a->gain);
  cJSON_AddStringToObject(o, "bias", a->bias);
  cJSON_AddStringToObject(o, "dynamics", a->dynamics);
  json_numbers(o, "gainprm", a->gainprm, SC_ACTUATOR_PRM);
  json_numbers(o, "biasprm", a->biasprm, SC_ACTUATOR_PRM);
  json_numbers(o, "dynprm", a->dynprm, SC_ACTUATOR_PRM);
  json_numbers(o, "gear", a->gear, 6);
  add_range(o, "ctrlrange", a->ctrlrange, a->ctrl_limited, control_unit(a, &u));
  add_range(o, "forcerange", a->forcerange, a->force_limited, u.force);
  add_range(o, "actrange", a->actrange, a->act_limited, "");
  cJSON_AddBoolToObject(o, "disabled", a->disabled);
  if (a->object[0] == SC_OBJECT_JOINT) json_number(o, "rest_per_ctrl", rest_per_control(all, n, a->object_id[0], i));
  return o;
}

static int print_json(const inspection *s, const sc_actuator_info *all, int n) {
  char label[120];
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "model", s->job.path);
  cJSON *joints = cJSON_AddArrayToObject(o, "joints");
  for (int j = 0; j < sc_model_count(s->job.model, SC_OBJECT_JOINT); j++) {
    cJSON *x = cJSON_CreateObject();
    cJSON_AddStringToObject(x, "joint", object_label(s->job.model, SC_OBJECT_JOINT, j, label, sizeof label));
    cJSON_AddBoolToObject(x, "shared", count_on(all, n, j) > 1);
    cJSON *list = cJSON_AddArrayToObject(x, "actuators");
    for (int i = 0; i < n; i++)
      if (acts_on(&all[i], j)) cJSON_AddItemToArray(list, actuator_json(s, all, n, i));
    cJSON_AddItemToArray(joints, x);
  }
  cJSON *others = cJSON_AddArrayToObject(o, "others");
  for (int i = 0; i < n; i++) {
    if (all[i].object[0] == SC_OBJECT_JOINT) continue;
    cJSON *x = actuator_json(s, all, n, i);
    cJSON_AddStringToObject(x, "object", sc_object_word(all[i].object[0]));
    cJSON_AddStringToObject(x, "on",
                            object_label(s->job.model, all[i].object[0], all[i].object_id[0], label, sizeof label));
    cJSON_AddItemToArray(others, x);
  }
  return json_print(o);
}

int inspect_actuators(inspection *s) {
  int n = sc_model_count(s->job.model, SC_OBJECT_ACTUATOR), status = 0, code = SC_OK;
  sc_actuator_info *all = calloc((size_t)n + 1, sizeof *all);
  if (!all) return cli_fail_with(EXIT_INTERNAL, "no memory for %d actuators", n);
  for (int i = 0; i < n && !code; i++) code = sc_inspect_actuator(s->job.model, i, &all[i]);
  if (code)
    status = cli_fail(code);
  else if (s->options->json)
    status = print_json(s, all, n);
  else
    print_table(s, all, n);
  free(all);
  return status;
}
