/* Small models from public bug reports, each with the right answer: tests/cases/, and its README for the format. */
#include "support/model_run.h"
#include "support/near.h"
#include "support/tolerances.h"

#include "mujoco_rows.h"

#include <cjson/cJSON.h>
#include <glob.h>
#include <stdio.h>

#define FOLDER SOFTCON_SOURCE_DIR "/tests/cases/"

static const cJSON *of(const cJSON *object, const char *key) { return cJSON_GetObjectItemCaseSensitive(object, key); }
static const char *text_of(const cJSON *object, const char *key, const char *otherwise) {
  const cJSON *item = of(object, key);
  return item ? item->valuestring : otherwise;
}

/* one variant of one case */
typedef struct {
  const cJSON *group, *variant;
  char name[160];
} variant;

static const char *needs(const variant *v) {
  return text_of(v->variant, "needs", text_of(v->group, "needs", "nothing"));
}

/* infinite and missing numbers occur in cases that need more than a solve only */
static double number(const variant *v, const cJSON *item) {
  cr_assert(cJSON_IsNumber(item), "%s: a number is missing", v->name);
  return item->valuedouble;
}

/* ------------------------------------------------------------------ how each is solved */

/* MuJoCo's rows are the ready form, and carry no parameters; softcon's are evaluated from theirs. Without the retry in
 * double, float has to know what it could not solve; mixed precision is held to the tolerances of double. What conjugate gradients find is held against its certificate. */
typedef struct {
  const char *word;
  int precision, own_rows, retry, method;
} way;
static const way ways[] = {
    {"f64, MuJoCo's rows", SC_F64, 0, 1, SC_NEWTON},       {"f64, softcon's rows", SC_F64, 1, 1, SC_NEWTON},
    {"f32, MuJoCo's rows", SC_F32, 0, 1, SC_NEWTON},       {"f32, softcon's rows", SC_F32, 1, 1, SC_NEWTON},
    {"mixed, MuJoCo's rows", SC_MIXED, 0, 1, SC_NEWTON},   {"mixed, softcon's rows", SC_MIXED, 1, 1, SC_NEWTON},
    {"f32 alone, MuJoCo's rows", SC_F32, 0, 0, SC_NEWTON}, {"f32 alone, softcon's rows", SC_F32, 1, 0, SC_NEWTON},
    {"cg, f64", SC_F64, 0, 1, SC_CG},                      {"cg, f32", SC_F32, 1, 1, SC_CG},
    {"pgs, MuJoCo's rows", SC_F64, 0, 1, SC_PGS},          {"pgs, softcon's rows", SC_F64, 1, 1, SC_PGS}};
#define NWAY (sizeof ways / sizeof *ways)

static const char *precision_word(int precision) { return precision == SC_F32 ? "f32" : "f64"; }

static test_run open_way(const way *w) {
  test_run t = open_states(1, w->precision);
  if (w->retry && w->method == SC_NEWTON) return t;
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.precision = w->precision, o.tolerance = 1e-8, o.retry = w->retry, o.method = w->method;
  if (w->method == SC_CG) o.iterations = 20000, o.tolerance = 1e-15;
  if (w->method == SC_PGS) o.iterations = 20000, o.tolerance = 1e-20; /* of its gap alone, which is the gradient squared */
  use_solver(&t, &o);
  return t;
}

/* What Gauss-Seidel solved, of how many. */
static int pgs_solved, pgs_tried;

/* What is called solved must be within its bound. Returns whether there is an answer to compare. */
static int check_verdict(const variant *v, const way *w, const test_run *t) {
  int solved = t->r.status[0] == SC_SOLVED;
  /* case 22 is about a pivot that float loses: to say so is right */
  int may_fail = w->method == SC_PGS || (w->precision == SC_F32 && (!w->retry || !strncmp(v->name, "22-", 3)));
  pgs_tried += w->method == SC_PGS, pgs_solved += w->method == SC_PGS && solved;
  cr_expect(solved || may_fail, "%s, %s: %s", v->name, w->word, sc_status_name(t->r.status[0]));
  if (!solved) {
    printf("%s, %s: %s\n", v->name, w->word, sc_status_name(t->r.status[0]));
    return 0;
  }
  double error = run_error(t, 0), bound = t->r.qacc_bound[0];
  cr_expect(error <= bound * (1 + TOL_BOUND) + TOL_F64_QACC, "%s, %s: error %g is beyond its bound %g", v->name,
            w->word, error, bound);
  return 1;
}

/* ------------------------------------------------------------------ comparison */

/* n numbers of a field, to be freed; NULL: this way of making rows does not have it */
static double *field_of(const variant *v, const test_run *t, const char *name, int *n) {
  sc_problem p;
  sc_rows rows;
  CALL(sc_batch_get(t->batch, 0, &p, &rows));
  int m = p.nefc;
  const double nefc = m, *kbip[4] = {rows.K, rows.B, rows.d, rows.dp};
  double *state = test_numbers(m), *x = NULL;
  for (int i = 0; i < m; i++) state[i] = t->r.efc_state[i];
  const struct {
    const char *name;
    int n, width;
    const double *const *from;
  } fields[] = {{"nefc", 1, 1, &(const double *){&nefc}},
                {"qacc", p.nv, 1, &t->r.qacc},
                {"efc_force", m, 1, &t->r.efc_force},
                {"efc_state", m, 1, &(const double *){state}},
                {"efc_R", m, 1, &rows.R},
                {"efc_aref", m, 1, &p.efc_aref},
                {"efc_pos", m, 1, &p.efc_pos},
                {"efc_margin", m, 1, &p.efc_margin},
                {"efc_KBIP", m, 4, kbip}};
  size_t k = 0, known = sizeof fields / sizeof *fields;
  while (k < known && strcmp(name, fields[k].name)) k++;
  cr_assert(k < known, "%s: this test does not know the field %s", v->name, name);
  if (!fields[k].n || fields[k].from[0]) {
    *n = fields[k].n * fields[k].width;
    x = test_numbers(*n);
    for (int i = 0; i < *n; i++) x[i] = fields[k].from[i % fields[k].width][i / fields[k].width];
  }
  free(state);
  return x;
}

/* the numbers of nested arrays in order, from the n-th on */
static int flatten(const variant *v, const cJSON *item, double *out, int n) {
  const cJSON *inner;
  if (!cJSON_IsArray(item)) {
    if (out) out[n] = number(v, item);
    return n + 1;
  }
  cJSON_ArrayForEach(inner, item) n = flatten(v, inner, out, n);
  return n;
}

/* returns 1 where the field was compared */
static int compare(const variant *v, const way *w, const test_run *t, const cJSON *want, const cJSON *tolerances) {
  const cJSON *bound = of(of(tolerances, precision_word(w->precision)), want->string);
  /* no tolerance in the other precision either: exact */
  if (!bound && of(of(tolerances, precision_word(!w->precision)), want->string)) return 0;
  int n = 0, count = flatten(v, want, NULL, 0);
  double *got = field_of(v, t, want->string, &n);
  if (!got) {
    cr_expect(!w->own_rows, "%s, %s: no %s", v->name, w->word, want->string);
    return 0;
  }
  double *expected = test_numbers(count);
  near_worst worst = {0};
  flatten(v, want, expected, 0);
  cr_expect_eq(n, count, "%s, %s: %s has %d numbers, not %d", v->name, w->word, want->string, n, count);
  for (int i = 0; i < n && n == count; i++)
    near_absolute(&worst, got[i], expected[i], bound ? number(v, bound) : 0, "%s, %s: %s[%d]", v->name, w->word,
                  want->string, i);
  if (n && n == count) near_report(&worst);
  free(got);
  free(expected);
  return 1;
}

/* ------------------------------------------------------------------ cases that need a solve */

static mjModel *load(const variant *v, char *error, int size) {
  const char *xml = text_of(of(v->variant, "changes"), "xml", NULL);
  char path[1024] = "case.xml";
  mjVFS files;
  mj_defaultVFS(&files);
  if (xml)
    cr_assert_eq(mj_addBufferVFS(&files, path, xml, (int)strlen(xml)), 0, "%s", v->name);
  else
    snprintf(path, sizeof path, FOLDER "%s", text_of(v->group, "model", ""));
  mjModel *m = mj_loadXML(path, &files, error, size);
  mj_deleteVFS(&files);
  return m;
}

/* the answer is the optimum, so that the solver's own options make no difference; those of the cases are these */
static void set_options(const variant *v, mjModel *m) {
  const cJSON *option;
  cJSON_ArrayForEach(option, of(of(v->variant, "changes"), "option")) {
    if (!strcmp(option->string, "cone"))
      m->opt.cone = strcmp(option->valuestring, "elliptic") ? mjCONE_PYRAMIDAL : mjCONE_ELLIPTIC;
    else if (!strcmp(option->string, "impratio"))
      m->opt.impratio = number(v, option);
    else
      cr_assert_fail("%s: this test does not know the option %s", v->name, option->string);
  }
}

static void set_inputs(const variant *v, const cJSON *inputs, const mjModel *m, mjData *d) {
  const struct {
    const char *name;
    mjtNum *to;
    int n;
  } fields[] = {{"qpos", d->qpos, (int)m->nq},
                {"qvel", d->qvel, (int)m->nv},
                {"qfrc_applied", d->qfrc_applied, (int)m->nv},
                {"qacc_warmstart", d->qacc_warmstart, (int)m->nv}};
  const cJSON *input;
  cJSON_ArrayForEach(input, inputs) {
    size_t k = 0, known = sizeof fields / sizeof *fields;
    while (k < known && strcmp(input->string, fields[k].name)) k++;
    cr_assert(k < known, "%s: this test does not know the input %s", v->name, input->string);
    cr_assert_eq(flatten(v, input, NULL, 0), fields[k].n, "%s: size of %s", v->name, input->string);
    flatten(v, input, fields[k].to, 0);
  }
}

/* d's state as a problem whose rows softcon makes, from MuJoCo's positions and contacts */
static void batch_own_rows(const test_run *t, const mjModel *m, mjData *d) {
  sc_assembly *assembly;
  sc_problem p;
  mj_fwdPosition(m, d);
  mj_fwdVelocity(m, d);
  mj_fwdActuation(m, d);
  mj_fwdAcceleration(m, d);
  CALL(sc_assembly_create(&assembly));
  CALL(sc_mujoco_assemble(m, d, assembly, &p));
  p.M = d->M, p.M_rownnz = m->M_rownnz, p.M_rowadr = m->M_rowadr, p.M_colind = m->M_colind;
  p.qfrc_smooth = d->qfrc_smooth, p.qacc_warmstart = d->qacc_warmstart;
  CALL(sc_batch_set(t->batch, 0, &p));
  sc_assembly_destroy(assembly);
}

static void run_way(const variant *v, const way *w, const mjModel *m, mjData *d) {
  test_run t = open_way(w);
  double *state = test_numbers((int)mj_stateSize(m, mjSTATE_INTEGRATION));
  const cJSON *want;
  int compared = 0;
  mj_getState(m, d, state, mjSTATE_INTEGRATION);
  if (w->own_rows)
    batch_own_rows(&t, m, d);
  else
    batch_states(&t, m, state, mjSTATE_INTEGRATION, 1);
  solve_run(&t);
  if (check_verdict(v, w, &t) && w->method != SC_CG) {
    cJSON_ArrayForEach(want, of(v->variant, "expect"))
        /* contacts are MuJoCo's collision, not the solve */
        if (strcmp(want->string, "ncon") && strncmp(want->string, "contact_", 8)) compared +=
        compare(v, w, &t, want, of(v->variant, "tolerance"));
    cr_expect_geq(compared, 2, "%s, %s: only %d fields were compared", v->name, w->word, compared);
  }
  free(state);
  close_run(&t);
}

/* by MuJoCo, and by softcon, which passes MuJoCo's message on */
static void check_refused(const variant *v, const mjModel *m, const char *error, const char *why) {
  char path[1024];
  sc_model *model = NULL;
  cr_expect(m == NULL && strstr(error, why) != NULL, "%s: MuJoCo loads it, or says \"%s\", not \"%s\"", v->name, error,
            why);
  cr_assert_null(of(of(v->variant, "changes"), "xml"), "%s: this test loads refused models from the case's file",
                 v->name);
  snprintf(path, sizeof path, FOLDER "%s", text_of(v->group, "model", ""));
  int code = sc_model_load(path, NULL, &model);
  cr_expect(code == SC_ERROR_FILE && strstr(sc_error_text(), why) != NULL, "%s: code %d, \"%s\", not \"%s\"", v->name,
            code, sc_error_text(), why);
  sc_model_destroy(model);
}

static void run_solve(const variant *v) {
  char error[500] = "";
  mjModel *m = load(v, error, sizeof error);
  const char *why = text_of(of(v->variant, "expect"), "refused", NULL);
  if (why) {
    check_refused(v, m, error, why);
    mj_deleteModel(m);
    return;
  }
  cr_assert(m != NULL, "%s: %s", v->name, error);
  set_options(v, m);
  mjData *d = mj_makeData(m);
  for (size_t k = 0; k < NWAY; k++) {
    mj_resetData(m, d);
    set_inputs(v, of(v->group, "inputs"), m, d);
    set_inputs(v, of(v->variant, "inputs"), m, d);
    run_way(v, &ways[k], m, d);
  }
  mj_deleteData(d);
  mj_deleteModel(m);
}

/* ------------------------------------------------------------------ cases that give rows */

/* The last pivot of H = M + J'DJ. Under a unit force on the last dof, and with all rows active and aref 0, the
 * acceleration is H^-1 e, whose last entry is 1/pivot. */
static void run_pivot(const variant *v) {
  enum { MOST = 16 };
  static const int equality[MOST]; /* SC_EQUALITY is 0 */
  double M[MOST], J[MOST], D[MOST], force[MOST] = {0}, aref[MOST] = {0};
  const cJSON *data = of(v->variant, "data");
  sc_problem p;
  sc_problem_init(&p);
  p.nv = cJSON_GetArraySize(of(data, "M")), p.nefc = cJSON_GetArraySize(of(data, "D"));
  cr_assert(p.nv > 0 && p.nv * p.nv <= MOST && p.nefc * p.nv <= MOST, "%s: sizes", v->name);
  cr_assert(flatten(v, of(data, "M"), M, 0) == p.nv * p.nv && flatten(v, of(data, "J"), J, 0) == p.nefc * p.nv,
            "%s: sizes", v->name);
  flatten(v, of(data, "D"), D, 0);
  force[p.nv - 1] = 1;
  p.M = M, p.qfrc_smooth = force, p.efc_type = equality, p.efc_J = J, p.efc_D = D, p.efc_aref = aref;
  for (size_t k = 0; k < NWAY; k++) {
    if (ways[k].own_rows || ways[k].method != SC_NEWTON) continue;
    test_run t = open_way(&ways[k]);
    CALL(sc_batch_set(t.batch, 0, &p));
    solve_run(&t);
    if (check_verdict(v, &ways[k], &t)) {
      near_worst worst = {0};
      const cJSON *bound = of(of(of(v->variant, "tolerance"), precision_word(ways[k].precision)), "pivot");
      near_absolute(&worst, 1 / t.r.qacc[p.nv - 1], number(v, of(of(v->variant, "expect"), "pivot")), number(v, bound),
                    "%s, %s: pivot", v->name, ways[k].word);
      near_report(&worst);
    }
    close_run(&t);
  }
}

/* ------------------------------------------------------------------ cases that limit the rows */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* contacts that have rows */
static int contacts_of(const sc_problem *p) {
  int n = p->ncon;
  for (int r = 0; r < p->nefc; r++) n += p->efc_type[r] == SC_CONTACT_FRICTIONLESS;
  return n;
}

static void run_limited(const variant *v, const way *w, mjModel *m, mjData *d) {
  test_run t = open_way(w);
  double *state = test_numbers((int)mj_stateSize(m, mjSTATE_INTEGRATION));
  const cJSON *want = of(v->variant, "expect"), *qacc = of(want, "qacc_sorted");
  double tolerance = number(v, of(of(of(v->variant, "tolerance"), precision_word(w->precision)), "qacc_sorted"));
  sc_problem p;
  near_worst worst = {0};
  CALL(sc_batch_capacity(t.batch, (int)number(v, of(v->variant, "capacity")), 0));
  mj_resetData(m, d);
  mj_getState(m, d, state, mjSTATE_INTEGRATION);
  if (w->own_rows)
    batch_own_rows(&t, m, d);
  else
    batch_states(&t, m, state, mjSTATE_INTEGRATION, 1);
  solve_run(&t);
  CALL(sc_batch_get(t.batch, 0, &p, NULL));
  cr_expect(t.r.status[0] == SC_SOLVED && (t.r.flags[0] & SC_ROWS_DROPPED), "%s, %s: %s, flags %u", v->name, w->word, sc_status_name(t.r.status[0]),
            t.r.flags[0]);
  const struct { const char *name; int value; } counts[] = {{"nefc", p.nefc}, {"contacts_kept", contacts_of(&p)}, {"nefc_needed", t.r.rows_needed[0]}};
  for (int k = 0; k < 3; k++)
    cr_expect_eq(counts[k].value, (int)number(v, of(want, counts[k].name)), "%s, %s: %s is %d", v->name, w->word, counts[k].name, counts[k].value);
  double *sorted = test_numbers(p.nv);
  memcpy(sorted, t.r.qacc, (size_t)p.nv * sizeof *sorted);
  qsort(sorted, (size_t)p.nv, sizeof *sorted, ascending);
  for (int i = 0; i < p.nv; i++) near_absolute(&worst, sorted[i], number(v, cJSON_GetArrayItem(qacc, i)), tolerance, "%s, %s: qacc_sorted[%d]", v->name, w->word, i);
  near_report(&worst);
  free(sorted);
  free(state);
  close_run(&t);
}

static void run_capacity(const variant *v) {
  char error[500] = "";
  mjModel *m = load(v, error, sizeof error);
  cr_assert(m != NULL, "%s: %s", v->name, error);
  mjData *d = mj_makeData(m);
  for (size_t k = 0; k < NWAY; k++) run_limited(v, &ways[k], m, d);
  mj_deleteData(d);
  mj_deleteModel(m);
}

/* ------------------------------------------------------------------ all */

static void ignore(const char *message) { (void)message; }

static cJSON *read_json(const char *path) {
  static char text[1 << 20];
  FILE *f = fopen(path, "rb");
  cr_assert(f != NULL, "%s cannot be read", path);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  cJSON *json = cJSON_Parse(text);
  cr_assert(json != NULL, "%s is not JSON", path);
  return json;
}

/* run(variant) for every variant of every case; how many there were for which it returned 1 */
static int each(int (*run)(const variant *v)) {
  glob_t files;
  int count = 0;
  mju_user_warning = ignore; /* mixed solref formats are on purpose, and no log file is wanted */
  cr_assert_eq(glob(FOLDER "*.json", 0, NULL, &files), 0, "no cases in " FOLDER);
  for (size_t i = 0; i < files.gl_pathc; i++) {
    cJSON *json = read_json(files.gl_pathv[i]);
    const cJSON *item;
    cJSON_ArrayForEach(item, of(json, "variants")) {
      variant v = {json, item, ""};
      snprintf(v.name, sizeof v.name, "%s, %s", text_of(json, "case", "?"), text_of(item, "name", "?"));
      count += run(&v);
    }
    cJSON_Delete(json);
  }
  globfree(&files);
  return count;
}

static int if_solve(const variant *v) {
  int does = !strcmp(needs(v), "solve");
  if (does) run_solve(v);
  return does;
}

static int if_rows(const variant *v) {
  int does = !strcmp(needs(v), "rows-api");
  if (does) run_pivot(v);
  return does;
}

static int if_capacity(const variant *v) {
  int does = !strcmp(needs(v), "capacity");
  if (does) run_capacity(v);
  return does;
}

static int if_left_out(const variant *v) {
  const struct {
    const char *needs, *why;
  } reasons[] = {{"step", "softcon takes no steps"}};
  static const char *const run[] = {"solve", "rows-api", "capacity"};
  int known = 0;
  for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++)
    if (!strcmp(needs(v), reasons[k].needs)) return printf("not run: %s: %s\n", v->name, reasons[k].why) > 0;
  for (size_t k = 0; k < sizeof run / sizeof *run; k++) known |= !strcmp(needs(v), run[k]);
  cr_expect(known, "%s: nothing here runs what needs %s", v->name,
            needs(v));
  return 0;
}

Test(cases, that_need_a_solve) {
  int n = each(if_solve);
  cr_expect_geq(n, 30, "only %d variants were run", n);
  cr_expect_geq(pgs_solved, TOL_PGS_CASES * pgs_tried, "Gauss-Seidel solved %d of %d", pgs_solved, pgs_tried);
}

Test(cases, that_give_rows) {
  int n = each(if_rows);
  cr_expect_geq(n, 3, "only %d variants were run", n);
}

Test(cases, that_limit_the_rows) {
  int n = each(if_capacity);
  cr_expect_geq(n, 4, "only %d variants were run", n);
}

Test(cases, that_need_more) { printf("%d variants were not run\n", each(if_left_out)); }
