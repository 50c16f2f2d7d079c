/* bench: the fields of its JSON lines, recorded states, the calls behind it, and bench/compare.py. No time is judged. */
#include "support/command.h"

#include "softcon_mujoco.h"
#include "store.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <math.h>

static const char ball[] = "<mujoco><worldbody><geom type='plane' size='5 5 1'/>"
                           "<body pos='0 0 .1'><freejoint/><geom size='.1' mass='1'/></body></worldbody></mujoco>";
static const char slide[] = "<mujoco><worldbody><body><joint type='slide'/><geom size='.1'/></body></worldbody></mujoco>";

static char folder[256];

static void prepare(void) {
  folder_make(folder, sizeof folder);
  file_write(folder, "ball.xml", ball, strlen(ball));
  file_write(folder, "slide.xml", slide, strlen(slide));
}
static void clean_up(void) { folder_remove(folder); }
TestSuite(bench, .init = prepare, .fini = clean_up);

static command_result run(const char *program, const char *line) {
  char buffer[2000];
  const char *words[COMMAND_WORDS] = {program};
  words[1 + command_split(line, buffer, sizeof buffer, words + 1, COMMAND_WORDS - 2)] = NULL;
  return command_run(words, &(command_options){.folder = folder});
}

static command_result softcon(const char *line) { return run(SOFTCON_PROGRAM, line); }

/* ------------------------------------------------------------------ lines */

/* the k-th line of a text as JSON */
static cJSON *parse_line(const char *text, int k) {
  while (k-- > 0 && text) text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL;
  cr_assert(text && *text, "fewer lines than that");
  char *copy = strndup(text, strcspn(text, "\n"));
  cJSON *o = cJSON_Parse(copy);
  cr_assert(cJSON_IsObject(o), "%s", copy);
  free(copy);
  return o;
}

static double number(const cJSON *o, const char *name) {
  const cJSON *x = cJSON_GetObjectItemCaseSensitive(o, name);
  cr_assert(cJSON_IsNumber(x), "%s is not a number in %s", name, cJSON_PrintUnformatted(o));
  return x->valuedouble;
}

static void check_quartiles(const cJSON *o, const char *name, double median) {
  const cJSON *q = cJSON_GetObjectItemCaseSensitive(o, name);
  cr_assert(cJSON_IsArray(q) && cJSON_GetArraySize(q) == 2, "%s", name);
  double low = cJSON_GetArrayItem(q, 0)->valuedouble, high = cJSON_GetArrayItem(q, 1)->valuedouble;
  cr_assert(low <= median && median <= high, "%s: %g is not in [%g, %g]", name, median, low, high);
}

static void check_line(const cJSON *o) {
  static const char *const positive[] = {"nv",
                                         "nefc_mean",
                                         "envs",
                                         "threads",
                                         "mujoco_us_per_env",
                                         "softcon_us_per_env",
                                         "speedup",
                                         "packed_us_per_env",
                                         "speedup_packed",
                                         "rounds",
                                         "peak_share",
                                         "peak_gflops",
                                         "bytes_per_env",
                                         "packed_bytes_per_env",
                                         "flops_per_env",
                                         "iterations_mean",
                                         "mujoco_iterations_mean"};
  static const char *const numbers[] = {"qacc_error_max", "qacc_error_median", "mujoco_qacc_error_max", "scaled_gap_max"};
  static const char *const phases[] = {"kinematics", "rows", "pack", "solve", "certificate", "unpack"};
  static const char *const texts[] = {"scene", "cone", "precision", "method", "backend", "mujoco_jacobian"};
  for (size_t i = 0; i < sizeof positive / sizeof *positive; i++) cr_assert(number(o, positive[i]) > 0, "%s", positive[i]);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) cr_assert(number(o, numbers[i]) >= 0, "%s", numbers[i]);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    cr_assert(cJSON_IsString(cJSON_GetObjectItem(o, texts[i])), "%s", texts[i]);
  const cJSON *phase = cJSON_GetObjectItem(o, "phase_us_per_env");
  for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) cr_assert(number(phase, phases[i]) >= 0, "%s", phases[i]);
  check_quartiles(o, "mujoco_us_quartiles", number(o, "mujoco_us_per_env"));
  check_quartiles(o, "softcon_us_quartiles", number(o, "softcon_us_per_env"));
  check_quartiles(o, "speedup_quartiles", number(o, "speedup"));
  check_quartiles(o, "speedup_packed_quartiles", number(o, "speedup_packed"));
}

Test(bench, a_line_for_every_precision_and_one_for_all) {
  command_result r = softcon("bench ball.xml --envs 20 --json --quiet");
  cr_assert_eq(r.status, 0, "%s", r.err);
  cJSON *f64 = parse_line(r.out, 0), *f32 = parse_line(r.out, 1);
  check_line(f64);
  check_line(f32);
  cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(f64, "precision")), "f64");
  cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(f32, "precision")), "f32");
  cr_assert(number(f64, "qacc_error_max") < 1e-9 && number(f32, "qacc_error_max") < 1e-3);
  int lines = 0;
  for (const char *c = r.out; *c; c++) lines += *c == '\n';
  cJSON *end = parse_line(r.out, lines - 1);
  static const char *const means[] = {"geomean_speedup", "geomean_speedup_packed", "least_speedup"};
  for (int k = 0; k < 3; k++) cr_assert(number(cJSON_GetObjectItem(end, means[k]), "f32") > 0, "%s", r.out);
  cr_assert(fabs(number(cJSON_GetObjectItem(end, "geomean_speedup"), "f64") / number(f64, "speedup") - 1) < 1e-9);
  cJSON_Delete(f64);
  cJSON_Delete(f32);
  cJSON_Delete(end);
}

Test(bench, whole_steps) {
  command_result r = softcon("bench ball.xml --step --envs 20 --threads 2 --json --quiet");
  cr_assert_eq(r.status, 0, "%s", r.err);
  for (int k = 0; k < 2; k++) {
    static const char *const positive[] = {
        "nv", "envs", "threads", "steps", "mujoco_us_per_step", "softcon_us_per_step", "speedup", "speedup_cpu"};
    static const char *const phases[] = {"kinematics", "rows", "solve", "integrate"};
    cJSON *o = parse_line(r.out, k);
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++) cr_assert(number(o, positive[i]) > 0, "%s", positive[i]);
    for (int i = 0; i < 4; i++) cr_assert(number(cJSON_GetObjectItem(o, "phase_us_per_step"), phases[i]) > 0, "%s", phases[i]);
    check_quartiles(o, "speedup_quartiles", number(o, "speedup"));
    check_quartiles(o, "speedup_cpu_quartiles", number(o, "speedup_cpu"));
    cr_assert(cJSON_IsTrue(cJSON_GetObjectItem(o, "step")) && number(cJSON_GetObjectItem(o, "status"), "solved") == 20, "%s",
              r.out);
    cJSON_Delete(o);
  }
  r = softcon("bench ball.xml --step --envs 20 --threads 1 --quiet");
  cr_assert(r.status == 0 && strstr(r.out, "whole steps beside MuJoCo's own") && strstr(r.out, "ball"), "%s%s", r.out, r.err);
}

/* one dof without rows: inertia 2, sums over dofs 14; an iteration: factor 2, solve 2 and the same again */
Test(bench, needed_operations_are_counted) {
  command_result r = softcon("bench slide.xml --envs 4 --json --quiet --precision f64");
  cr_assert_eq(r.status, 0, "%s", r.err);
  cJSON *o = parse_line(r.out, 0);
  cr_assert_eq(number(o, "flops_per_env"), 16 + 20 * number(o, "iterations_mean"), "%s", r.out);
  cJSON_Delete(o);
}

Test(bench, the_table_fits_a_hundred_columns) {
  command_result r = softcon("bench ball.xml --envs 20 --quiet");
  cr_assert_eq(r.status, 0, "%s", r.err);
  cr_assert(strstr(r.out, "geometric mean of the speed-ups, f64") && strstr(r.out, "20 solved"), "%s", r.out);
  for (const char *at = r.out; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n'))
    cr_assert(strcspn(at, "\n") <= 100, "%.*s", (int)strcspn(at, "\n"), at);
}

/* ------------------------------------------------------------------ recorded states */

static void record_ball(int n) {
  sc_context *context;
  sc_model *model;
  size_t nstate;
  char path[400];
  snprintf(path, sizeof path, "%s/ball.xml", folder);
  cr_assert(!sc_context_create(NULL, &context) && !sc_model_load(path, NULL, &model) && !sc_state_size(model, -1, &nstate));
  double *states = malloc((size_t)n * nstate * sizeof *states);
  cr_assert(!sc_states_make(context, model, n, 1, 50, states, NULL, NULL));
  snprintf(path, sizeof path, "%s/ball.h5", folder);
  cr_assert(!sc_store_states_write(path, states, n, nstate, sc_state_integration()), "%s", sc_error_text());
  free(states);
  sc_model_destroy(model);
  sc_context_destroy(context);
}

static void manifest(const char *text) { file_write(folder, "manifest.json", text, strlen(text)); }

Test(bench, recorded_states_in_both_cones) {
  record_ball(12);
  manifest("{\"ball\": {\"xml\": \"/nowhere/ball.xml\", \"pyramidal\": \"ball.h5\", \"elliptic\": \"ball.h5\"}}");
  command_result r = softcon("bench --recorded . --envs 9 --json --quiet --precision f64");
  cr_assert_eq(r.status, 0, "%s", r.err);
  for (int cone = 0; cone < 2; cone++) {
    cJSON *o = parse_line(r.out, cone);
    check_line(o);
    cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(o, "cone")), cone ? "elliptic" : "pyramidal");
    cr_assert_eq(number(o, "envs"), 9);
    cJSON_Delete(o);
  }
  r = softcon("bench --recorded . --cone elliptic --json --quiet --precision f64");
  cJSON *o = parse_line(r.out, 0);
  cr_assert(r.status == 0 && number(o, "envs") == 12 && strstr(r.out, "elliptic") && !strstr(r.out, "pyramidal"), "%s", r.out);
  cJSON_Delete(o);
}

Test(bench, recorded_states_that_are_not_there) {
  static const struct {
    const char *manifest, *says;
  } bad[] = {{NULL, "manifest.json: No such file"},
             {"", "not a JSON object"},
             {"[1]", "not a JSON object"},
             {"{}", "names no states"},
             {"{\"a\": 3}", "a has no text \"xml\""},
             {"{\"a\": {\"xml\": \"/nowhere/none.xml\"}}", "a's model /nowhere/none.xml: No such file"},
             {"{\"a\": {\"xml\": \"ball.xml\"}}", "names no states"},
             {"{\"a\": {\"xml\": \"ball.xml\", \"elliptic\": \"none.h5\"}}", "none.h5: No such file"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (bad[i].manifest) manifest(bad[i].manifest);
    command_result r = softcon("bench --recorded . --quiet");
    cr_assert_eq(r.status, 3, "%s: %d %s", bad[i].says, r.status, r.err);
    cr_assert(strstr(r.err, bad[i].says), "\"%s\" is not in: %s", bad[i].says, r.err);
  }
}

Test(bench, wrong_usage) {
  static const struct {
    const char *line, *says;
  } wrong[] = {{"bench ball.xml --recorded .", "--recorded and models exclude each other"},
               {"bench --recorded . --states ball.h5", "exclude each other"},
               {"bench --recorded", "--recorded needs a value"},
               {"solve ball.xml --recorded .", "--recorded is not an option"},
               {"bench --step --growth", "--step and --growth exclude each other"},
               {"bench --step --plot .", "--step and --plot exclude each other"},
               {"bench ball.xml --step --envs 0", "--step needs environments"},
               {"solve ball.xml --step", "--step is not an option"},
               {"solve ball.xml --growth", "--growth is not an option"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    command_result r = softcon(wrong[i].line);
    cr_assert(r.status == 2 && strstr(r.err, wrong[i].says), "softcon %s: %d %s", wrong[i].line, r.status, r.err);
  }
}

/* ------------------------------------------------------------------ the calls behind it */

typedef struct {
  sc_context *context;
  sc_model *model;
  sc_batch *batch;
  sc_solver *solver;
  sc_result result;
  double *states;
  size_t nv;
} solved;

#define N 10

static solved solve_ball(void) {
  solved s;
  char path[400];
  size_t nstate;
  sc_model_info info;
  snprintf(path, sizeof path, "%s/ball.xml", folder);
  cr_assert(!sc_context_create(NULL, &s.context) && !sc_model_load(path, NULL, &s.model) && !sc_state_size(s.model, -1, &nstate));
  s.states = malloc(N * nstate * sizeof *s.states);
  cr_assert(!sc_states_make(s.context, s.model, N, 3, 60, s.states, NULL, NULL) && !sc_batch_create(s.context, N, &s.batch));
  s.states[4 * nstate + 2] = (double)NAN;
  cr_assert(!sc_model_batch(s.context, s.model, s.states, -1, N, s.batch, NULL, NULL, NULL));
  cr_assert(!sc_solver_create(s.context, NULL, &s.solver) && !sc_solve(s.solver, s.batch) &&
            !sc_solver_result(s.solver, &s.result));
  sc_model_get(s.model, &info);
  s.nv = (size_t)info.nv;
  return s;
}

static void close_solved(solved *s) {
  sc_solver_destroy(s->solver);
  sc_batch_destroy(s->batch);
  sc_model_destroy(s->model);
  sc_context_destroy(s->context);
  free(s->states);
}

static void same(const char *what, int env, double a, double b) {
  cr_assert(a == b || (isnan(a) && isnan(b)), "%s of environment %d: %.17g, not %.17g", what, env, a, b);
}

Test(bench, the_parts_of_a_comparison_make_the_whole) {
  solved s = solve_ball();
  double qacc[N], force[N], mujoco[N];
  sc_mujoco_compare c = {.qacc_error = qacc, .force_error = force, .mujoco_error = mujoco};
  cr_assert(!sc_model_compare(s.context, s.model, s.states, -1, N, s.batch, &s.result, 1, &c, NULL, NULL), "%s", sc_error_text());
  double *best = malloc(N * s.nv * sizeof *best), *own = malloc(N * s.nv * sizeof *own),
         *f = malloc((s.result.efc_offset[N] + 1) * sizeof *f);
  sc_mujoco_time time;
  cr_assert(!sc_model_optimum(s.context, s.model, s.states, -1, N, s.batch, s.result.efc_offset, best, f, NULL, NULL), "%s",
            sc_error_text());
  cr_assert(!sc_model_time(s.context, s.model, s.states, -1, N, s.batch, 1, &time, own, NULL, NULL), "%s", sc_error_text());
  cr_assert(time.us_dense > 0 && time.us_sparse > 0);
  same("iterations", -1, time.iterations_mean, c.iterations_mean);
  for (int i = 0; i < N; i++) {
    double e = (double)NAN, ef = (double)NAN, em = (double)NAN;
    sc_problem p;
    cr_assert(!sc_batch_get(s.batch, i, &p, NULL));
    if (i == 4) {
      cr_assert(isnan(best[4 * s.nv]) && isnan(own[4 * s.nv]) && isnan(qacc[4]));
      continue;
    }
    cr_assert(!sc_check_error(&p, s.result.qacc + s.result.nv_offset[i], best + (size_t)i * s.nv,
                              s.result.efc_force + s.result.efc_offset[i], f + s.result.efc_offset[i], &e, &ef));
    cr_assert(!sc_check_error(&p, own + (size_t)i * s.nv, best + (size_t)i * s.nv, NULL, NULL, &em, NULL));
    same("qacc error", i, e, qacc[i]);
    same("force error", i, ef, force[i]);
    same("MuJoCo's error", i, em, mujoco[i]);
  }
  free(best);
  free(own);
  free(f);
  close_solved(&s);
}

Test(bench, calls_that_are_not_legal) {
  solved s = solve_ball();
  sc_mujoco_time time;
  double x[N * 6], flops;
  cr_assert_eq(sc_context_peak(NULL, 0, 1e-4, &flops), SC_ERROR_ARGUMENT);
  cr_assert_eq(sc_context_peak(s.context, 0, 1e-4, NULL), SC_ERROR_ARGUMENT);
  cr_assert_eq(sc_context_peak(s.context, SC_NPRECISION, 1e-4, &flops), SC_ERROR_ARGUMENT);
  cr_assert_eq(sc_context_peak(s.context, 0, 0, &flops), SC_ERROR_ARGUMENT);
  cr_assert_eq(sc_context_peak(s.context, 0, (double)NAN, &flops), SC_ERROR_ARGUMENT);
  for (int precision = 0; precision < SC_NPRECISION; precision++)
    cr_assert(!sc_context_peak(s.context, precision, 1e-4, &flops) && flops > 0);
  cr_assert_eq(sc_model_time(s.context, s.model, s.states, -1, N + 1, s.batch, 1, &time, NULL, NULL, NULL), SC_ERROR_ARGUMENT);
  cr_assert_eq(sc_model_time(s.context, s.model, s.states, -1, N, s.batch, 0, &time, NULL, NULL, NULL), SC_ERROR_ARGUMENT);
  cr_assert_eq(sc_model_time(s.context, s.model, s.states, -1, N, s.batch, 1, NULL, NULL, NULL, NULL), SC_ERROR_ARGUMENT);
  cr_assert_eq(sc_model_optimum(s.context, s.model, s.states, -1, N, s.batch, NULL, NULL, NULL, NULL, NULL), SC_ERROR_ARGUMENT);
  cr_assert_eq(sc_model_optimum(s.context, s.model, s.states, -1, N, s.batch, NULL, x, x, NULL, NULL), SC_ERROR_ARGUMENT);
  cr_assert(strstr(sc_error_text(), "efc_offset"), "%s", sc_error_text());
  cr_assert(sc_batch_bytes(s.batch) > N * 100 && sc_solver_bytes(s.solver) > N * 100 && !sc_batch_bytes(NULL) &&
            !sc_solver_bytes(NULL));
  close_solved(&s);
}

/* ------------------------------------------------------------------ compare.py */

#define LINE(scene, speedup, low, high, error, stalled)                                                                          \
  "{\"scene\":\"" scene "\",\"cone\":\"elliptic\",\"precision\":\"f64\",\"speedup\":" speedup ",\"speedup_quartiles\":[" low     \
  "," high "],\"qacc_error_max\":" error ",\"status\":{\"solved\":9,\"stalled\":" stalled "}}\n"

static command_result compare(const char *old, const char *new) {
  char line[1000];
  file_write(folder, "old.jsonl", old, strlen(old));
  file_write(folder, "new.jsonl", new, strlen(new));
  snprintf(line, sizeof line, "%s/bench/compare.py old.jsonl new.jsonl", SOFTCON_SOURCE_DIR);
  return run("/usr/bin/python3", line);
}

Test(bench, compare_says_what_changed) {
  static const char old[] = LINE("a", "4", "3.9", "4.1", "1e-12", "0") "{\"geomean_speedup\":{\"f64\":4}}\n";
  static const struct {
    const char *new, *says;
    int status;
  } cases[] = {
      {LINE("a", "3", "2.9", "3.1", "1e-12", "0"), "worse: a elliptic f64: speedup 4.00 -> 3.00 (-25 %)", 1},
      {LINE("a", "5", "4.9", "5.1", "1e-12", "0"), "better: a elliptic f64: speedup 4.00 -> 5.00 (+25 %)", 0},
      {LINE("a", "4.1", "4", "4.2", "1e-12", "0"), "0 worse, 0 better", 0},
      {LINE("a", "3.5", "3", "4", "1e-12", "0"), "0 worse, 0 better", 0},   /* rounds overlap */
      {LINE("a", "4", "3.9", "4.1", "1e-10", "0"), "0 worse, 0 better", 0}, /* below what counts */
      {LINE("a", "4", "3.9", "4.1", "1e-7", "0"), "worse: a elliptic f64: worst qacc error 1.0e-12 -> 1.0e-07", 1},
      {LINE("a", "4", "3.9", "4.1", "1e-12", "2"), "worse: a elliptic f64: not solved 0 -> 2", 1},
      {LINE("b", "4", "3.9", "4.1", "1e-12", "0"), "only in the old run: a elliptic f64", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    command_result r = compare(old, cases[i].new);
    cr_assert_eq(r.status, cases[i].status, "%s: %d\n%s%s", cases[i].says, r.status, r.out, r.err);
    cr_assert(strstr(r.out, cases[i].says), "\"%s\" is not in:\n%s", cases[i].says, r.out);
  }
  command_result r = compare(old, "{\"scene\": 3,\n");
  cr_assert(r.status == 3 && strstr(r.err, "new.jsonl:1: not a JSON object"), "%d %s", r.status, r.err);
  r = compare(old, "\n");
  cr_assert(r.status == 3 && strstr(r.err, "no line of softcon bench"), "%d %s", r.status, r.err);
}
