/* A CUDA device's answers and speed, without anything but the library: problems are made from seeds (tests/support/problems.h),
 * in the sizes of an ant, a humanoid, a hand and a pile of boxes. scripts/gpu-check builds and runs it.
 *
 *     gpu check [BACKEND]       every row kind, method and precision against the processor's answers; exit status 1: one is off
 *     gpu check-small [BACKEND] the same of a few, for tools that slow everything down
 *     gpu bench [BACKEND]       nanoseconds per environment in batches of 1 to 65,536, as lines of JSON
 *
 * BACKEND: "cuda" (default) or one of the processor's. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "../tests/support/problems.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* worst relative difference of qacc from the optimum, in the metric of M, that is let pass */
#define MOST_F64 1e-9
#define MOST_F32 1e-3

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(int code) {
  if (!code) return;
  fprintf(stderr, "gpu: %s\n", sc_error_text());
  exit(code == SC_ERROR_DEVICE ? 5 : 3);
}

/* A context with a batch and a solver. */
typedef struct {
  sc_context *context;
  sc_batch *batch;
  sc_solver *solver;
  sc_result r;
} run;

static run open_run(const char *backend, int method, int precision, int nenv) {
  run t;
  sc_context_options c;
  sc_solver_options o;
  sc_context_options_init(&c);
  sc_solver_options_init(&o);
  c.backend = backend;
  o.method = method, o.precision = precision, o.tolerance = precision == SC_F64 ? 1e-12 : 1e-8;
  o.iterations = method == SC_NEWTON ? 100 : 1000;
  must(sc_context_create(&c, &t.context));
  must(sc_batch_create(t.context, nenv, &t.batch));
  must(sc_solver_create(t.context, &o, &t.solver));
  return t;
}

static void close_run(run *t) {
  sc_solver_destroy(t->solver);
  sc_batch_destroy(t->batch);
  sc_context_destroy(t->context);
}

static void set(sc_batch *batch, int env, const problem_case *c, int seed) {
  test_problem q = make_problem(c, (uint64_t)seed);
  q.p.qacc_warmstart = seed % 2 ? q.warm : NULL;
  must(sc_batch_set(batch, env, &q.p));
  free_problem(&q);
}

static void solve(run *t) {
  must(sc_solve(t->solver, t->batch));
  must(sc_solver_result(t->solver, &t->r));
}

/* ------------------------------------------------------------------ check */

static double error_of(const run *t, const run *best, int i) {
  sc_problem p;
  double error;
  must(sc_batch_get(best->batch, i, &p, NULL));
  must(sc_check_error(&p, t->r.qacc + t->r.nv_offset[i], best->r.qacc + best->r.nv_offset[i], NULL, NULL, &error, NULL));
  return error;
}

/* how many answers are wrong: called solved, but off, or not solved by a method that solves all */
static int check_way(const char *backend, int method, int precision, int seeds) {
  int n = NPROBLEM * seeds, wrong = 0, solved = 0;
  run t = open_run(backend, method, precision, n), best = open_run("auto", SC_NEWTON, SC_F64, n);
  for (int i = 0; i < n; i++) set(t.batch, i, &problem_cases[i / seeds], i % seeds), set(best.batch, i, &problem_cases[i / seeds], i % seeds);
  solve(&t);
  solve(&best);
  double worst = 0, most = method != SC_NEWTON ? 1e-2 : precision == SC_F64 ? MOST_F64 : MOST_F32;
  for (int i = 0; i < n; i++) {
    double error = error_of(&t, &best, i);
    int ok = t.r.status[i] == SC_SOLVED;
    solved += ok;
    if (ok && !(error <= worst)) worst = error;
    if (ok ? error <= most && error <= t.r.qacc_bound[i] * (1 + 1e-6) + 1e-9 : method != SC_NEWTON) continue;
    wrong++;
    fprintf(stderr, "gpu: %s, %s: \"%s\" seed %d: %s, error %g, bound %g\n", sc_method_name(method), precision ? "f32" : "f64", problem_cases[i / seeds].name, i % seeds,
            sc_status_name(t.r.status[i]), error, t.r.qacc_bound[i]);
  }
  printf("{\"check\": \"%s\", \"precision\": \"%s\", \"environments\": %d, \"solved\": %d, \"worst_error\": %.2e, \"wrong\": %d}\n", sc_method_name(method),
         precision ? "f32" : "f64", n, solved, worst, wrong);
  close_run(&t);
  close_run(&best);
  return wrong;
}

static int check(const char *backend, int seeds) {
  int wrong = 0;
  for (int method = SC_NEWTON; method <= SC_PGS; method++)
    for (int precision = SC_F64; precision <= SC_F32; precision++) wrong += check_way(backend, method, precision, seeds);
  return wrong > 0;
}

/* ------------------------------------------------------------------ bench */

/* dofs and rows of real robots in contact */
static const problem_case scenes[] = {
    {"ant", 14, 0, 0, 2, 1, 0, 0, 0, 1, 0}, {"humanoid", 27, 0, 0, 4, 3, 0, 0, 0, 1, 0}, {"hand", 36, 0, 24, 5, 4, 0, 0, 0, 1, 0}, {"boxes", 48, 0, 0, 0, 16, 0, 0, 0, 1, 0}};
#define NSCENE ((int)(sizeof scenes / sizeof *scenes))
enum { DIFFERENT = 64 };

/* seconds of one run, the least of several series long enough for the clock */
static double time_run(run *t) {
  double least = 1e30;
  must(sc_solver_run(t->solver));
  must(sc_solver_wait(t->solver));
  for (int series = 0; series < 5; series++) {
    int runs = 0;
    double start = now(), passed = 0;
    while (passed < 0.02) {
      for (int k = 0; k < 4; k++, runs++) must(sc_solver_run(t->solver));
      must(sc_solver_wait(t->solver));
      passed = now() - start;
    }
    if (passed / runs < least) least = passed / runs;
  }
  return least;
}

static void bench_size(const char *backend, const problem_case *c, int precision, int n) {
  run t = open_run(backend, SC_NEWTON, precision, n);
  double iterations = 0;
  int solved = 0;
  for (int i = 0; i < n; i++) set(t.batch, i, c, i % DIFFERENT);
  must(sc_solver_pack(t.solver, t.batch));
  double seconds = time_run(&t);
  must(sc_solver_result(t.solver, &t.r));
  for (int i = 0; i < n; i++) iterations += t.r.iterations[i], solved += t.r.status[i] == SC_SOLVED;
  printf("{\"scene\": \"%s\", \"precision\": \"%s\", \"nv\": %d, \"environments\": %d, \"ns_per_env\": %.2f, \"us_per_run\": %.2f, \"iterations_mean\": %.2f, "
         "\"solved\": %d, \"bytes_per_env\": %.0f}\n",
         c->name, precision ? "f32" : "f64", c->nv, n, 1e9 * seconds / n, 1e6 * seconds, iterations / n, solved, (double)sc_solver_bytes(t.solver) / n);
  fflush(stdout);
  close_run(&t);
}

static int bench(const char *backend) {
  for (int s = 0; s < NSCENE; s++)
    for (int precision = SC_F64; precision <= SC_F32; precision++)
      for (int n = 1; n <= 65536; n *= n < 4096 ? 8 : 4) bench_size(backend, &scenes[s], precision, n);
  return 0;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "", *backend = argc > 2 ? argv[2] : "cuda";
  if (!strcmp(what, "check")) return check(backend, 8);
  if (!strcmp(what, "check-small")) return check(backend, 1);
  if (!strcmp(what, "bench")) return bench(backend);
  fprintf(stderr, "usage: gpu check|check-small|bench [BACKEND]\n");
  return 2;
}
