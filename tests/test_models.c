/* Recorded states of real robots, every one of them, in double and in float. */
#include "support/model_run.h"
#include "support/tolerances.h"

#include "store.h"

#include <cjson/cJSON.h>
#include <stdio.h>

static const char *folder(void) {
  const char *states = getenv("SOFTCON_STATES");
  cr_assert(states != NULL, "SOFTCON_STATES must name the folder that bench/record_states.py wrote; scripts/test sets it");
  return states;
}

static cJSON *read_manifest(void) {
  char path[1024];
  snprintf(path, sizeof path, "%s/manifest.json", folder());
  FILE *f = fopen(path, "rb");
  cr_assert(f != NULL, "%s cannot be read", path);
  char text[1 << 16];
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  cJSON *manifest = cJSON_Parse(text);
  cr_assert(manifest != NULL, "%s is not JSON", path);
  return manifest;
}

/* the settings under which the states were recorded */
static mjModel *load(const cJSON *entry, int elliptic) {
  char error[500] = "", path[1024];
  const char *xml = cJSON_GetObjectItem(entry, "xml")->valuestring;
  snprintf(path, sizeof path, xml[0] == '/' ? "%.0s%s" : "%s/%s", folder(), xml);
  mjModel *m = mj_loadXML(path, NULL, error, sizeof error);
  cr_assert(m != NULL, "%s: %s", path, error);
  m->opt.cone = elliptic ? mjCONE_ELLIPTIC : mjCONE_PYRAMIDAL;
  m->opt.solver = mjSOL_NEWTON;
  m->opt.iterations = 100, m->opt.tolerance = 1e-8, m->opt.noslip_iterations = 0;
  if (m->opt.integrator == mjINT_RK4) m->opt.integrator = mjINT_EULER;
  return m;
}

static int ascending(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static void check_double(const test_run *t, const char *name, const double *error) {
  for (int i = 0; i < t->r.nenv; i++) {
    cr_expect_leq(error[i], TOL_F64_QACC, "%s state %d: error %g", name, i, error[i]);
    cr_expect_eq(t->r.status[i], SC_SOLVED, "%s state %d: %s", name, i, sc_status_name(t->r.status[i]));
  }
}

static void check_float(const test_run *t, const char *name, const double *error) {
  int n = t->r.nenv, solved = 0;
  for (int i = 0; i < n; i++) {
    if (t->r.status[i] != SC_SOLVED) continue;
    solved++;
    cr_expect_leq(error[i], TOL_F32_QACC_WORST, "%s state %d: called solved with error %g", name, i, error[i]);
    cr_expect_leq(error[i], t->r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "%s state %d: error %g is beyond its bound %g", name, i, error[i],
                  t->r.qacc_bound[i]);
  }
  cr_expect_geq(solved, TOL_F32_SOLVED * n, "%s: %d of %d solved", name, solved, n);
}

static void check_model(const cJSON *entry, int elliptic, int precision) {
  const char *cone = elliptic ? "elliptic" : "pyramidal";
  char path[1024], name[200];
  double *states;
  int n, sig, retried = 0;
  size_t nstate;
  snprintf(name, sizeof name, "%s, %s", entry->string, cone);
  snprintf(path, sizeof path, "%s/%s", folder(), cJSON_GetObjectItem(entry, cone)->valuestring);
  CALL(sc_store_states_read(path, &states, &n, &nstate, &sig));
  mjModel *m = load(entry, elliptic);
  test_run t = solve_states(m, states, sig, n, precision, precision == SC_F64 ? 1e-15 : 1e-8);
  double *error = find_errors(&t);
  if (precision == SC_F64)
    check_double(&t, name, error);
  else
    check_float(&t, name, error);
  for (int i = 0; i < n; i++) retried += (t.r.flags[i] & SC_RETRIED_F64) != 0;
  qsort(error, (size_t)n, sizeof *error, ascending);
  if (precision == SC_F32) cr_expect_leq(error[n / 2], TOL_F32_QACC_MEDIAN, "%s: median error %g", name, error[n / 2]);
  printf("%s %-24s %4d states: error median %.1e, worst %.1e; %d in double after all\n", precision == SC_F64 ? "f64" : "f32", name, n,
         error[n / 2], error[n - 1], retried);
  free(error);
  free(states);
  mj_deleteModel(m);
  close_run(&t);
}

static void check_models(int precision) {
  cJSON *manifest = read_manifest();
  const cJSON *entry;
  int models = 0;
  cJSON_ArrayForEach(entry, manifest) {
    check_model(entry, 0, precision);
    check_model(entry, 1, precision);
    models++;
  }
  cr_expect_gt(models, 0, "the manifest is empty");
  cJSON_Delete(manifest);
}

Test(models, double_precision, .timeout = 600) { check_models(SC_F64); }
Test(models, float_precision, .timeout = 600) { check_models(SC_F32); }
