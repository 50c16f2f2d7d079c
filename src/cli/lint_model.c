/* Rules about how a model's parts act together: filters, priorities, welds, armature, actuators. */
#include "lint.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void fail(lint *l, const char *what) {
  l->failed = 1;
  sc_error_set(SC_ERROR_MEMORY, "lint: no memory for %s", what);
}

/* ------------------------------------------------------------------ filters */

/* All geoms' settings; the caller frees them. */
static sc_source_info *all_geoms(lint *l, int *n) {
  *n = sc_model_count(l->model, SC_OBJECT_GEOM);
  sc_source_info *geoms = calloc((size_t)*n + 1, sizeof *geoms);
  if (!geoms) fail(l, "the geoms");
  for (int i = 0; geoms && i < *n; i++) sc_inspect_source(l->model, SC_SOURCE_GEOM, i, &geoms[i]);
  return geoms;
}

static sc_filter filter_of(const lint *l, int a, int b) {
  sc_filter f = SC_FILTER_BODY;
  sc_inspect_filter(l->model, a, b, &f);
  return f;
}

static int touches(sc_filter f) { return f == SC_FILTER_NONE || f == SC_FILTER_PAIR; }

static int meet(const sc_source_info *a, const sc_source_info *b) {
  return (a->contype & b->conaffinity) || (b->contype & a->conaffinity);
}

/* whether a geom's masks meet those of any geom of another body */
static int meets_any(const sc_source_info *geoms, int n, int i) {
  for (int k = 0; k < n; k++)
    if (geoms[k].body != geoms[i].body && meet(&geoms[i], &geoms[k])) return 1;
  return 0;
}

static int paired(const lint *l, int n, int i) {
  for (int k = 0; k < n && sc_model_count(l->model, SC_OBJECT_PAIR); k++)
    if (filter_of(l, i, k) == SC_FILTER_PAIR) return 1;
  return 0;
}

/* a geom that wants to collide, but meets nothing */
static void rule_filter_alone(lint *l) {
  int n;
  char object[140];
  sc_source_info *geoms = all_geoms(l, &n);
  for (int i = 0; geoms && i < n; i++) {
    int others = 0;
    for (int k = 0; k < n; k++) others += geoms[k].active && geoms[k].body != geoms[i].body;
    if (!geoms[i].active || !others || meets_any(geoms, n, i) || paired(l, n, i)) continue;
    lint_object(l, SC_OBJECT_GEOM, i, object, sizeof object);
    lint_report(l, object,
                "let contype of one share a bit with conaffinity of the other; both 0 for a geom only to look at",
                "contype %d and conaffinity %d meet no geom of another body: it never has a contact", geoms[i].contype,
                geoms[i].conaffinity);
  }
  free(geoms);
}

typedef struct {
  int body1, body2;
  int mask, exclude, free; /* pairs of geoms that are kept apart by masks, by an exclude; that are not */
  int a, b;                /* two of those kept apart by masks */
} body_pair;

/* first[body]: its first geom; MuJoCo keeps geoms in the order of their bodies */
static body_pair look_at(const lint *l, const sc_source_info *geoms, const int *first, int body1, int body2) {
  body_pair p = {.body1 = body1, .body2 = body2};
  for (int i = first[body1]; i < first[body1 + 1]; i++) {
    for (int k = first[body2]; k < first[body2 + 1]; k++) {
      sc_filter f = filter_of(l, i, k);
      p.free += touches(f);
      if (!geoms[i].active || !geoms[k].active) continue;
      p.exclude += f == SC_FILTER_EXCLUDE;
      if (f == SC_FILTER_MASK && !p.mask++) p.a = i, p.b = k;
    }
  }
  return p;
}

static int *first_geoms(lint *l, const sc_source_info *geoms, int n, int nbody) {
  int *first = malloc(((size_t)nbody + 1) * sizeof *first);
  if (!first) fail(l, "the bodies");
  for (int body = 0, i = 0; first && body <= nbody; body++) {
    while (i < n && geoms[i].body < body) i++;
    first[body] = i;
  }
  return first;
}

static void each_body_pair(lint *l, void (*rule)(lint *l, const sc_source_info *geoms, int n, const body_pair *p,
                                                 const char *label)) {
  int n, nbody = sc_model_count(l->model, SC_OBJECT_BODY);
  sc_source_info *geoms = all_geoms(l, &n);
  int *first = geoms ? first_geoms(l, geoms, n, nbody) : NULL;
  char label[300], name[2][120];
  for (int b1 = 0; first && b1 < nbody; b1++)
    for (int b2 = b1 + 1; b2 < nbody; b2++) {
      body_pair p = look_at(l, geoms, first, b1, b2);
      if (p.free || (!p.mask && !p.exclude)) continue;
      snprintf(label, sizeof label, "%s - %s", object_label(l->model, SC_OBJECT_BODY, b1, name[0], sizeof name[0]),
               object_label(l->model, SC_OBJECT_BODY, b2, name[1], sizeof name[1]));
      rule(l, geoms, n, &p, label);
    }
  free(first);
  free(geoms);
}

static void check_masks(lint *l, const sc_source_info *geoms, int n, const body_pair *p, const char *label) {
  if (!p->mask || !meets_any(geoms, n, p->a) || !meets_any(geoms, n, p->b)) return; /* the rule above says it */
  const sc_source_info *a = &geoms[p->a], *b = &geoms[p->b];
  lint_report(l, label, "a shared bit in contype of one and conaffinity of the other, or an explicit <pair>",
              "these bodies never touch: contype %d, conaffinity %d and contype %d, conaffinity %d share no bit",
              a->contype, a->conaffinity, b->contype, b->conaffinity);
}
static void rule_filter_masks(lint *l) { each_body_pair(l, check_masks); }

static void check_exclude(lint *l, const sc_source_info *geoms, int n, const body_pair *p, const char *label) {
  (void)geoms, (void)n;
  if (p->exclude)
    lint_report(l, label,
                "remove the <exclude>, or add a <pair> for the geoms that shall touch (it overrides excludes)",
                "these bodies never touch: an <exclude> keeps them apart");
}
static void rule_filter_exclude(lint *l) { each_body_pair(l, check_exclude); }

/* a body with geoms of which none can touch anything, while others can */
static void rule_filter_body(lint *l) {
  int n, any = 0;
  char object[140];
  sc_source_info *geoms = all_geoms(l, &n);
  for (int i = 0; geoms && i < n; i++) any += geoms[i].active;
  for (int body = 1; geoms && any && body < sc_model_count(l->model, SC_OBJECT_BODY); body++) {
    int have = 0, can = 0;
    for (int i = 0; i < n; i++)
      if (geoms[i].body == body) have++, can += geoms[i].active || paired(l, n, i);
    if (!have || can) continue;
    lint_object(l, SC_OBJECT_BODY, body, object, sizeof object);
    lint_report(l, object, "contype or conaffinity other than 0 on one geom, if the body shall touch anything",
                "all its geoms have contype 0 and conaffinity 0: the body passes through everything");
  }
  free(geoms);
}

/* ------------------------------------------------------------------ priority */

static const char *differing(const sc_source_info *low, const sc_source_info *high, char *buffer, size_t size) {
  const struct {
    const char *name;
    int differs;
  } fields[] = {{"condim", low->dim != high->dim},
                {"friction", memcmp(low->friction, high->friction, sizeof low->friction) != 0},
                {"solref", memcmp(low->solref, high->solref, sizeof low->solref) != 0},
                {"solimp", memcmp(low->solimp, high->solimp, sizeof low->solimp) != 0}};
  size_t at = 0;
  buffer[0] = 0;
  for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
    if (fields[k].differs) at += (size_t)snprintf(buffer + at, size - at, "%s%s", at ? ", " : "", fields[k].name);
  return buffer;
}

static void rule_priority(lint *l) {
  int n;
  char what[80], name[2][120], object[260];
  sc_source_info *geoms = all_geoms(l, &n);
  for (int i = 0; geoms && i < n && !l->flags.override_contacts; i++)
    for (int k = 0; k < n; k++) {
      if (geoms[i].priority >= geoms[k].priority || filter_of(l, i, k) != SC_FILTER_NONE) continue;
      if (!*differing(&geoms[i], &geoms[k], what, sizeof what)) continue;
      for (int side = 0; side < 2; side++)
        object_label(l->model, SC_OBJECT_GEOM, side ? k : i, name[side], sizeof name[side]);
      snprintf(object, sizeof object, "geom %s against %s", name[0], name[1]);
      lint_report(l, object, "equal priorities, so that settings are mixed; or a <pair> with settings of its own",
                  "priority %d is below the other's %d: its own %s do not count, the other's are taken unmixed",
                  geoms[i].priority, geoms[k].priority, what);
    }
  free(geoms);
}

/* ------------------------------------------------------------------ welds against limits */

/* rows first .. first+n-1 of one equality, and their Jacobian: where joint j alone would have to go to satisfy them */
static void check_pull(lint *l, const sc_row_info *rows, const double *J, int nv, int j) {
  sc_joint_info joint;
  char label[120], object[150];
  double square = 0, product = 0;
  if (sc_inspect_joint(l->model, j, &joint) || joint.type < 2 || !joint.limited) return;
  for (int r = 0; r < rows->block_rows; r++) {
    double x = J[(size_t)r * (size_t)nv + (size_t)joint.dofadr];
    square += x * x, product += x * rows[r].pos;
  }
  if (!(square > 1e-12)) return;
  double to = joint.qpos0 - product / square, slack = 1e-6 * (joint.range[1] - joint.range[0]);
  if (to >= joint.range[0] - slack && to <= joint.range[1] + slack) return;
  lint_object(l, SC_OBJECT_EQUALITY, rows->id, object, sizeof object);
  lint_report(
      l, object,
      "begin where the equality holds, or make the limit stiffer than it (solreflimit, solimplimit); more solver "
      "iterations do not help",
      "at qpos0 it pulls joint %s towards %.4g %s, past its range %g .. %g: the limit is as soft as the %s, and gives "
      "way",
      object_label(l->model, SC_OBJECT_JOINT, j, label, sizeof label), to, joint.type == 2 ? "m" : "rad",
      joint.range[0], joint.range[1], rows->equality ? "weld" : "connect");
}

/* rows and dense Jacobian at qpos0; 0: there are none */
static int rows_at_start(lint *l, sc_row_info **rows, double **J, int *n) {
  size_t nstate;
  *rows = NULL, *J = NULL, *n = 0;
  if (sc_state_size(l->model, -1, &nstate)) return 0;
  double *state = malloc((nstate + 1) * sizeof *state);
  if (!state) {
    fail(l, "a state");
    return 0;
  }
  /* a model that cannot be set up at qpos0 has other problems than lint's */
  int code = sc_state_start(l->model, -1, 0, state);
  if (!code) code = sc_inspect_rows(l->model, state, -1, 0, NULL, NULL, n);
  if (!code && *n) {
    *rows = calloc((size_t)*n, sizeof **rows);
    *J = calloc((size_t)*n * (size_t)l->info.nv + 1, sizeof **J);
    if (!*rows || !*J)
      fail(l, "the rows");
    else
      code = sc_inspect_rows(l->model, state, -1, *n, *rows, *J, n);
  }
  free(state);
  return !code && *rows && *J;
}

static void rule_weld_limit(lint *l) {
  sc_row_info *rows;
  double *J;
  int n, nv = l->info.nv;
  if (sc_model_count(l->model, SC_OBJECT_EQUALITY) && rows_at_start(l, &rows, &J, &n)) {
    for (int i = 0; i < n; i++)
      if (rows[i].type == SC_EQUALITY && rows[i].block_rows > 1 && !rows[i].block_row)
        for (int j = 0; j < sc_model_count(l->model, SC_OBJECT_JOINT); j++)
          check_pull(l, &rows[i], J + (size_t)i * (size_t)nv, nv, j);
    free(rows);
    free(J);
  }
}

/* ------------------------------------------------------------------ joints and actuators */

static void each_actuator(lint *l, void (*rule)(lint *l, int i, const sc_actuator_info *a, const char *label)) {
  char label[140];
  for (int i = 0; i < sc_model_count(l->model, SC_OBJECT_ACTUATOR); i++) {
    sc_actuator_info a;
    if (sc_inspect_actuator(l->model, i, &a)) continue;
    rule(l, i, &a, lint_object(l, SC_OBJECT_ACTUATOR, i, label, sizeof label));
  }
}

/* hinge or slide that an actuator drives */
static int drives(const lint *l, const sc_actuator_info *a, sc_joint_info *j) {
  return a->object[0] == SC_OBJECT_JOINT && !sc_inspect_joint(l->model, a->object_id[0], j) && j->type >= 2;
}

static void check_armature(lint *l, int i, const sc_actuator_info *a, const char *label) {
  sc_joint_info j;
  char object[140];
  (void)i, (void)label;
  if (!drives(l, a, &j) || j.armature > 0) return;
  lint_object(l, SC_OBJECT_JOINT, a->object_id[0], object, sizeof object);
  for (int k = 0; k < i; k++) { /* once a joint */
    sc_actuator_info before;
    if (!sc_inspect_actuator(l->model, k, &before) && before.object[0] == SC_OBJECT_JOINT &&
        before.object_id[0] == a->object_id[0])
      return;
  }
  lint_report(
      l, object, "armature = rotor inertia times gear ratio squared; it bounds stiffness and condition as well",
      "it is driven, but has armature 0: the motor's rotor weighs nothing, and light links make M ill-conditioned");
}
static void rule_armature(lint *l) { each_actuator(l, check_armature); }

static void rule_singular(lint *l) {
  char object[140];
  for (int i = 0; i < sc_model_count(l->model, SC_OBJECT_JOINT); i++) {
    sc_joint_info j;
    if (sc_inspect_joint(l->model, i, &j) || j.type < 2) continue;
    double pivot = 1 / (j.inertia * j.invweight);
    if (!isfinite(pivot)) pivot = 0; /* MuJoCo before 3.13 has a NaN where M is singular */
    if (pivot >= 1e-5) continue;
    lint_object(l, SC_OBJECT_JOINT, i, object, sizeof object);
    lint_report(
        l, object, "armature on one of the joints, or mass between them",
        "next to its neighbours it has almost no inertia of its own (M's pivot is %.1g of its diagonal): M is singular "
        "to rounding",
        pivot);
  }
}

static void check_gain(lint *l, int i, const sc_actuator_info *a, const char *label) {
  sc_joint_info j;
  char remedy[160];
  (void)i;
  if ((strcmp(a->kind, "position") && strcmp(a->kind, "intvelocity")) || !drives(l, a, &j)) return;
  double h = l->info.timestep, kp = a->gainprm[0] * a->gear[0] * a->gear[0], number = h * h * kp * j.invweight;
  if (!(number > 1)) return;
  snprintf(remedy, sizeof remedy, "armature, kp below %.3g, or a smaller timestep", kp / number);
  lint_report(l, label, remedy, "timestep^2 kp / inertia = %.3g at qpos0: the gain acts explicitly, and is %s 4",
              number, number >= 4 ? "unstable from" : "stable only below");
}
static void rule_gain(lint *l) { each_actuator(l, check_gain); }

/* the word of a name that begins at *at, in small letters; moves *at behind it; 0: none left */
static int next_word(const char **at, char *word, size_t size) {
  size_t n = 0;
  while (**at && !isalpha((unsigned char)**at)) (*at)++;
  while (isalpha((unsigned char)**at)) {
    const char *c = *at;
    /* velocityServo is two words */
    if (n && isupper((unsigned char)*c) && islower((unsigned char)c[-1])) break;
    if (n + 1 < size) word[n++] = (char)tolower((unsigned char)*c);
    (*at)++;
  }
  word[n] = 0;
  return n > 0;
}

static const struct {
  const char *word, *kind;
} kinds[] = {{"motor", "motor"},       {"torque", "motor"},  {"position", "position"}, {"pos", "position"},
             {"velocity", "velocity"}, {"vel", "velocity"},  {"damper", "damper"},     {"intvelocity", "intvelocity"},
             {"cylinder", "cylinder"}, {"muscle", "muscle"}, {"adhesion", "adhesion"}};
#define NKIND (sizeof kinds / sizeof *kinds)

static void check_name(lint *l, int i, const sc_actuator_info *a, const char *label) {
  const char *at = sc_model_name(l->model, SC_OBJECT_ACTUATOR, i), *says = NULL, *word = NULL;
  char token[40];
  int known = 0;
  for (size_t k = 0; k < NKIND; k++) known |= !strcmp(a->kind, kinds[k].kind);
  if (!known) return; /* a general one may be called anything */
  while (next_word(&at, token, sizeof token))
    for (size_t k = 0; k < NKIND; k++) {
      if (strcmp(token, kinds[k].word)) continue;
      if (!strcmp(kinds[k].kind, a->kind)) return;
      if (!strcmp(a->kind, "intvelocity") && !strcmp(kinds[k].kind, "velocity")) return;
      says = kinds[k].kind, word = kinds[k].word;
    }
  char remedy[120];
  if (!says) return;
  snprintf(remedy, sizeof remedy, "rename it, or make it a <%s>", says);
  lint_report(l, label, remedy,
              "its name says \"%s\", but it is a %s (gain %s, bias %s, dynamics %s): ctrl means something else", word,
              a->kind, a->gain, a->bias, a->dynamics);
}
static void rule_name(lint *l) { each_actuator(l, check_name); }

/* a motor beside a servo: the servo holds against it */
static void check_shared(lint *l, int i, const sc_actuator_info *a, const char *label) {
  char name[2][120];
  if (a->object[0] != SC_OBJECT_JOINT || strcmp(a->kind, "motor")) return;
  for (int k = 0; k < sc_model_count(l->model, SC_OBJECT_ACTUATOR); k++) {
    sc_actuator_info b;
    if (k == i || sc_inspect_actuator(l->model, k, &b) || strcmp(b.kind, "position")) continue;
    if (b.object[0] != SC_OBJECT_JOINT || b.object_id[0] != a->object_id[0]) continue;
    lint_report(
        l, label, "one actuator per joint, or write the servo's target along with the motor's force",
        "joint %s has the servo %s as well: with its ctrl at 0 it holds against the motor, which moves the joint by "
        "ctrl times %g only",
        object_label(l->model, SC_OBJECT_JOINT, a->object_id[0], name[0], sizeof name[0]),
        object_label(l->model, SC_OBJECT_ACTUATOR, k, name[1], sizeof name[1]),
        a->gainprm[0] * a->gear[0] / (b.gainprm[0] * b.gear[0] * b.gear[0]));
  }
}
static void rule_shared(lint *l) { each_actuator(l, check_shared); }

static void check_range(lint *l, int i, const sc_actuator_info *a, const char *label) {
  const struct {
    const char *name;
    const double *range;
    int active;
  } ranges[] = {{"ctrlrange", a->ctrlrange, a->ctrl_limited}, {"forcerange", a->forcerange, a->force_limited}};
  (void)i;
  for (int k = 0; k < 2; k++)
    if (!ranges[k].active && (ranges[k].range[0] != 0 || ranges[k].range[1] != 0))
      lint_report(l, label, "ctrllimited or forcelimited \"true\", and no flag clampctrl=\"disable\"",
                  "its %s %g .. %g is given, but not applied", ranges[k].name, ranges[k].range[0], ranges[k].range[1]);
}
static void rule_range(lint *l) { each_actuator(l, check_range); }

const lint_rule lint_model_rules[] = {
    {"filter-alone", 1, rule_filter_alone},
    {"filter-masks", 0, rule_filter_masks},
    {"filter-exclude", 0, rule_filter_exclude},
    {"filter-body", 0, rule_filter_body},
    {"priority", 1, rule_priority},
    {"weld-limit", 1, rule_weld_limit},
    {"armature", 0, rule_armature},
    {"singular-inertia", 1, rule_singular},
    {"gain-timestep", 1, rule_gain},
    {"actuator-name", 1, rule_name},
    {"shared-joint", 1, rule_shared},
    {"range-inactive", 0, rule_range},
    {NULL, 0, NULL},
};
