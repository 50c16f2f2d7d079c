/* Small models from public bug reports, each with the right answer: tests/cases/, and its README for where they come from. */
#include "support/model_run.h"
#include "support/tolerances.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdio.h>

static cJSON *read_json(const char *path) {
  FILE *f = fopen(path, "rb");
  cr_assert(f != NULL, "%s cannot be read", path);
  static char text[1 << 20];
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  cJSON *json = cJSON_Parse(text);
  cr_assert(json != NULL, "%s is not JSON", path);
  return json;
}

static const cJSON *of(const cJSON *object, const char *key) { return cJSON_GetObjectItemCaseSensitive(object, key); }
static const char *text_of(const cJSON *object, const char *key, const char *otherwise) {
  const cJSON *item = of(object, key);
  return item ? item->valuestring : otherwise;
}

/* one variant of one case */
typedef struct {
  const cJSON *group, *variant;
  char name[200];
} variant;

static const char *needs(const variant *v) { return text_of(v->variant, "needs", text_of(v->group, "needs", "")); }

/* ------------------------------------------------------------------ the model and its state */

static mjModel *load(const variant *v, char *error, int size) {
  const char *xml = text_of(of(v->variant, "changes"), "xml", NULL);
  char path[1024];
  if (xml) {
    mjVFS vfs;
    mj_defaultVFS(&vfs);
    cr_assert_eq(mj_addBufferVFS(&vfs, "case.xml", xml, (int)strlen(xml)), 0);
    mjModel *m = mj_loadXML("case.xml", &vfs, error, size);
    mj_deleteVFS(&vfs);
    return m;
  }
  snprintf(path, sizeof path, SOFTCON_SOURCE_DIR "/tests/cases/%s", text_of(v->group, "model", ""));
  return mj_loadXML(path, NULL, error, size);
}

static void set_options(const variant *v, mjModel *m) {
  const cJSON *option;
  cJSON_ArrayForEach(option, of(of(v->variant, "changes"), "option")) {
    if (!strcmp(option->string, "cone"))
      m->opt.cone = strcmp(option->valuestring, "elliptic") ? mjCONE_PYRAMIDAL : mjCONE_ELLIPTIC;
    else if (!strcmp(option->string, "impratio"))
      m->opt.impratio = option->valuedouble;
    else if (!strcmp(option->string, "timestep"))
      m->opt.timestep = option->valuedouble;
    else if (strcmp(option->string, "solver")) /* the answer is the optimum, whoever finds it */
      cr_assert_fail("%s: this test does not know the option %s", v->name, option->string);
  }
}

static double number(const cJSON *item) {
  if (cJSON_IsString(item)) return !strcmp(item->valuestring, "nan") ? (double)NAN : (double)INFINITY;
  return item->valuedouble;
}

static void set_input(const variant *v, const cJSON *inputs, const mjModel *m, mjData *d) {
  const struct { const char *name; mjtNum *to; int n; } fields[] = {{"qpos", d->qpos, (int)m->nq}, {"qvel", d->qvel, (int)m->nv},
      {"qfrc_applied", d->qfrc_applied, (int)m->nv}, {"qacc_warmstart", d->qacc_warmstart, (int)m->nv}};
  const cJSON *input;
  cJSON_ArrayForEach(input, inputs) {
    int known = 0;
    for (int k = 0; k < 4; k++)
      if (!strcmp(input->string, fields[k].name)) {
        known = 1;
        cr_assert_eq(cJSON_GetArraySize(input), fields[k].n, "%s: %s", v->name, input->string);
        for (int i = 0; i < fields[k].n; i++) fields[k].to[i] = number(cJSON_GetArrayItem(input, i));
      }
    cr_assert(known, "%s: this test does not know the input %s", v->name, input->string);
  }
}

/* ------------------------------------------------------------------ comparison */

/* numbers of a field that a solve gives: width per row; NULL: not one of them */
static double *field_of(const test_run *t, const char *name, int *n) {
  sc_problem p;
  sc_rows rows;
  CALL(sc_batch_get(t->batch, 0, &p, &rows));
  int m = p.nefc, width = !strcmp(name, "efc_KBIP") ? 4 : 1;
  const struct { const char *name; const double *from; int n; } fields[] = {{"qacc", t->r.qacc, p.nv}, {"efc_force", t->r.efc_force, m},
      {"efc_R", rows.R, m}, {"efc_aref", p.efc_aref, m}, {"efc_pos", p.efc_pos, m}, {"efc_margin", p.efc_margin, m}, {"efc_KBIP", rows.K, m}};
  for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
    if (strcmp(name, fields[k].name) || (fields[k].n && !fields[k].from)) continue;
    *n = fields[k].n * width;
    double *x = test_numbers(*n);
    for (int i = 0; i < fields[k].n; i++)
      if (width == 1)
        x[i] = fields[k].from[i];
      else
        x[4 * i] = rows.K[i], x[4 * i + 1] = rows.B[i], x[4 * i + 2] = rows.d[i], x[4 * i + 3] = rows.dp[i];
    return x;
  }
  return NULL;
}

/* the numbers of nested arrays in order; null becomes NAN, which compares as anything */
static int flatten(const cJSON *item, double *out, int n) {
  const cJSON *inner;
  if (!cJSON_IsArray(item)) {
    if (out) out[n] = cJSON_IsNull(item) ? (double)NAN : number(item);
    return n + 1;
  }
  cJSON_ArrayForEach(inner, item) n = flatten(inner, out, n);
  return n;
}

static void compare(const variant *v, const test_run *t, const char *precision, const cJSON *want) {
  const cJSON *tolerance = of(of(of(v->variant, "tolerance"), precision), want->string);
  int n, count = flatten(want, NULL, 0), worst = -1;
  double *got = tolerance ? field_of(t, want->string, &n) : NULL, *expected = test_numbers(count), most = 0;
  if (got) {
    cr_assert_eq(n, count, "%s, %s: %s has %d numbers, not %d", v->name, precision, want->string, n, count);
    flatten(want, expected, 0);
    for (int i = 0; i < n; i++)
      if (!isnan(expected[i]) && !(fabs(got[i] - expected[i]) <= most)) most = fabs(got[i] - expected[i]), worst = i;
    cr_expect(worst < 0 || most <= tolerance->valuedouble, "%s, %s: %s[%d] is %.17g, not %.17g: off by %g, allowed %g", v->name, precision, want->string,
              worst, got[worst < 0 ? 0 : worst], expected[worst < 0 ? 0 : worst], most, tolerance->valuedouble);
  }
  free(got);
  free(expected);
}

/* states are compared exactly where the case has no tolerance for them */
static void compare_states(const variant *v, const test_run *t, const char *precision, const cJSON *want) {
  int n = cJSON_GetArraySize(want);
  for (int i = 0; i < n; i++) {
    const cJSON *item = cJSON_GetArrayItem(want, i);
    cr_expect(cJSON_IsNull(item) || item->valueint == t->r.efc_state[i], "%s, %s: efc_state[%d] is %d, not %d", v->name, precision, i,
              t->r.efc_state[i], item->valueint);
  }
}

static void run_solve(const variant *v, const mjModel *m, const double *state, int precision) {
  const char *word = precision == SC_F64 ? "f64" : "f32";
  test_run t = solve_states(m, state, mjSTATE_INTEGRATION, 1, precision, precision == SC_F64 ? 1e-15 : 1e-8);
  double *error = find_errors(&t);
  const cJSON *want;
  cr_expect_eq(t.r.status[0], SC_SOLVED, "%s, %s: %s", v->name, word, sc_status_name(t.r.status[0]));
  cr_expect_leq(error[0], t.r.qacc_bound[0] * (1 + TOL_BOUND) + 1e-10, "%s, %s: error %g is beyond its bound %g", v->name, word, error[0], t.r.qacc_bound[0]);
  cJSON_ArrayForEach(want, of(v->variant, "expect")) {
    if (!strcmp(want->string, "nefc"))
      cr_assert_eq((int)t.r.efc_offset[1], want->valueint, "%s, %s: nefc", v->name, word);
    else if (!strcmp(want->string, "efc_state") && precision == SC_F64)
      compare_states(v, &t, word, want);
    else
      compare(v, &t, word, want);
  }
  free(error);
  close_run(&t);
}

static void run_variant(const variant *v) {
  char error[500] = "";
  mjModel *m = load(v, error, sizeof error);
  const char *refused = text_of(of(v->variant, "expect"), "refused", NULL);
  if (refused) {
    cr_expect(m == NULL && strstr(error, refused) != NULL, "%s: loads, or says \"%s\" instead of \"%s\"", v->name, error, refused);
    mj_deleteModel(m);
    return;
  }
  cr_assert(m != NULL, "%s: %s", v->name, error);
  set_options(v, m);
  mjData *d = mj_makeData(m);
  set_input(v, of(v->group, "inputs"), m, d);
  set_input(v, of(v->variant, "inputs"), m, d);
  double *state = test_numbers((int)mj_stateSize(m, mjSTATE_INTEGRATION));
  mj_getState(m, d, state, mjSTATE_INTEGRATION);
  run_solve(v, m, state, SC_F64);
  run_solve(v, m, state, SC_F32);
  free(state);
  mj_deleteData(d);
  mj_deleteModel(m);
}

Test(cases, all_that_need_a_solve) {
  DIR *folder = opendir(SOFTCON_SOURCE_DIR "/tests/cases");
  int run = 0;
  cr_assert(folder != NULL, "tests/cases is missing");
  for (struct dirent *file; (file = readdir(folder)) != NULL;) {
    if (!strstr(file->d_name, ".json")) continue;
    char path[1024];
    snprintf(path, sizeof path, SOFTCON_SOURCE_DIR "/tests/cases/%s", file->d_name);
    cJSON *json = read_json(path);
    const cJSON *item;
    cJSON_ArrayForEach(item, of(json, "variants")) {
      variant v = {json, item, ""};
      snprintf(v.name, sizeof v.name, "%s, %s", text_of(json, "case", "?"), text_of(item, "name", "?"));
      if (!strcmp(needs(&v), "solve")) {
        run_variant(&v);
        run++;
      } else {
        printf("not run: %s: it needs %s\n", v.name, needs(&v));
      }
    }
    cJSON_Delete(json);
  }
  closedir(folder);
  cr_expect_geq(run, 30, "only %d variants were run", run);
}
