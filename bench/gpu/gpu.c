/* What scripts/gpu-check runs on a GPU; needs the library, and neither MuJoCo nor HDF5.
 *
 *     bench_gpu test                           every row kind and team size against the reference; exit status 1: something differs
 *     bench_gpu small                          one warp's and one block's environments, for compute-sanitizer
 *     bench_gpu time MOST SECONDS [NAME=FILE]  times for batches of 1 .. MOST environments, as lines of tab-separated fields;
 *                                              without files problems made here, of such robots' sizes
 *     bench_gpu report STEPS TIMES JSON PAGE   both files from those of scripts/gpu-check
 *
 * Exit status: 0 done, 1 an answer is wrong, 2 wrong usage, 5 the device is not usable. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "../../tests/support/large_cases.h"
#include "gpu.h"
#include "problems.h"

#include <time.h>

#define PRECISION(p) ((p) == SC_F32 ? "f32" : "f64")

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(void) {
  fprintf(stderr, "bench_gpu: %s\n", sc_error_text());
  return 5;
}

/* ------------------------------------------------------------------ a run */

typedef struct {
  sc_context *context;
  sc_batch *batch;
  sc_solver *solver;
  sc_result r;
} gpu_run;

static void close_run(gpu_run *t) {
  if (t->solver) sc_solver_destroy(t->solver);
  if (t->batch) sc_batch_destroy(t->batch);
  if (t->context) sc_context_destroy(t->context);
  memset(t, 0, sizeof *t);
}

/* environment i has problem i % n of the list */
static int open_run(gpu_run *t, const char *backend, int method, int precision, const sc_problem *p, int n, int nenv) {
  sc_context_options c;
  sc_solver_options o;
  memset(t, 0, sizeof *t);
  sc_context_options_init(&c), sc_solver_options_init(&o);
  c.backend = backend;
  o.method = method, o.precision = precision;
  if (precision == SC_F64) o.tolerance = 1e-12;
  if (method != SC_NEWTON) o.iterations = 200;
  int code = sc_context_create(&c, &t->context);
  if (!code) code = sc_batch_create(t->context, nenv, &t->batch);
  if (!code) code = sc_solver_create(t->context, &o, &t->solver);
  for (int i = 0; !code && i < nenv; i++) code = sc_batch_set(t->batch, i, &p[i % n]);
  if (!code) code = sc_solver_pack(t->solver, t->batch);
  return code;
}

static int run_once(gpu_run *t) {
  int code = sc_solver_run(t->solver);
  if (!code) code = sc_solver_wait(t->solver);
  return code ? code : sc_solver_result(t->solver, &t->r);
}

static double error_of(const gpu_run *t, const gpu_run *best, int env) {
  sc_problem p;
  double error = NAN;
  size_t i = t->r.nv_offset[env];
  if (sc_batch_get(best->batch, env, &p, NULL)) return NAN;
  return sc_check_error(&p, t->r.qacc + i, best->r.qacc + i, NULL, NULL, &error, NULL) ? NAN : error;
}

/* ------------------------------------------------------------------ test */

/* the environments whose answers are not within their bound of the reference's, or not the same when solved again */
static int wrong_answers(gpu_run *t, gpu_run *best, int method, int precision, int seeds) {
  int wrong = 0;
  size_t n = t->r.nv_offset[t->r.nenv] * sizeof(double);
  double *first = malloc(n + 1);
  if (first) memcpy(first, t->r.qacc, n);
  if (!first || run_once(t) || memcmp(first, t->r.qacc, n)) printf("other bits when solved again\n"), wrong++;
  free(first);
  for (int i = 0; i < t->r.nenv; i++) {
    double error = error_of(t, best, i), allowed = t->r.qacc_bound[i] * 1.01 + 1e-9;
    int solved = t->r.status[i] == SC_SOLVED || method != SC_NEWTON;
    if (solved && error <= allowed) continue;
    printf("\"%s\" seed %d, %s, %s: %s, error %g, bound %g\n", case_of(i / seeds)->name, i % seeds, sc_method_name(method),
           PRECISION(precision), sc_status_name(t->r.status[i]), error, t->r.qacc_bound[i]);
    wrong++;
  }
  return wrong;
}

/* cases first .. first+ncase-1; -1: the device failed */
static int test_cases(int first, int ncase, int seeds, int methods) {
  int n = ncase * seeds, wrong = 0;
  test_problem *q = calloc((size_t)n, sizeof *q);
  sc_problem *p = calloc((size_t)n, sizeof *p);
  gpu_run best;
  for (int i = 0; q && p && i < n; i++) q[i] = make_problem(case_of(first + i / seeds), (uint64_t)(i % seeds)), p[i] = q[i].p;
  int code = !q || !p || open_run(&best, "reference", SC_NEWTON, SC_F64, p, n, n) || run_once(&best);
  for (int method = SC_NEWTON; !code && method < methods; method++)
    for (int precision = SC_F64; !code && precision <= SC_F32; precision++) {
      gpu_run t;
      code = open_run(&t, "cuda", method, precision, p, n, n) || run_once(&t);
      if (!code) wrong += wrong_answers(&t, &best, method, precision, seeds);
      if (!code) close_run(&t);
    }
  if (!code) close_run(&best);
  for (int i = 0; q && i < n; i++) free_problem(&q[i]);
  free(q), free(p);
  return code ? -1 : wrong;
}

static int test(void) {
  int wrong = test_cases(0, NCASE, 3, SC_PGS + 1);
  if (wrong < 0) return fail();
  printf("%d cases, 3 seeds, newton, cg and pgs, f64 and f32: %d wrong\n", NCASE, wrong);
  return wrong ? 1 : 0;
}

/* a warp's case with every row kind, and a block's */
static int small(void) {
  int a = test_cases(13, 1, 1, SC_PGS + 1), b = a < 0 ? -1 : test_cases(NPROBLEM, 1, 1, SC_NEWTON + 1);
  if (a < 0 || b < 0) return fail();
  printf("a warp's case and a block's: %d wrong\n", a + b);
  return a + b ? 1 : 0;
}

/* ------------------------------------------------------------------ time */

static const problem_case robots[] = {
    {"ant", 14, 0, 0, 4, 0, 4, 0, 0, 0, 0},
    {"humanoid", 27, 0, 0, 6, 0, 8, 0, 0, 0, 0},
    {"hand", 36, 0, 24, 8, 0, 10, 0, 0, 0, 0},
    {"boxes", 24, 0, 0, 0, 0, 16, 0, 0, 0, 0},
};
#define NROBOT ((int)(sizeof robots / sizeof *robots))
#define MADE 32 /* different problems of a robot that is made here */

static int ascending(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* What a solve needs at least, by the problem's own sparsity. Bytes: each number of the problem once in the iteration's
 * precision and once in double for the certificate, each result once. Operations of one Newton iteration: H = M + J'DJ and its
 * factor, the solve, two products with M and J. */
typedef struct { double bytes, flops; } needs;

static needs least_needs(const sc_problem *p, int precision) {
  double nv = p->nv, m = p->nefc, nM = 0, nJ = 0, squares = 0;
  for (int i = 0; i < p->nv * p->nv && !p->M_rownnz; i++) nM += i % p->nv <= i / p->nv && p->M[i] != 0;
  for (int i = 0; i < p->nv && p->M_rownnz; i++) nM += p->M_rownnz[i];
  for (int r = 0; r < p->nefc; r++) {
    double row = p->J_rownnz ? p->J_rownnz[r] : 0;
    for (int i = 0; i < p->nv && !p->J_rownnz; i++) row += p->efc_J[r * p->nv + i] != 0;
    nJ += row, squares += row * (row + 1);
  }
  double numbers = nM + nJ + 3 * nv + 3 * m, results = 8 * (2 * nv + m) + m + 45;
  needs n = {numbers * (precision == SC_F32 ? 12 : 8) + results, squares + nv * nv * nv / 3 + 2 * nv * nv + 4 * (nJ + 2 * nM)};
  return n;
}

/* one line; 0: the device did it */
static int time_batch(const char *name, const char *origin, const sc_problem *p, int n, int precision, int nenv) {
  enum { ROUNDS = 5 };
  gpu_run t;
  double begin = now(), seconds[ROUNDS], iterations = 0, solved = 0;
  needs sum = {0, 0};
  if (open_run(&t, "cuda", SC_NEWTON, precision, p, n, nenv)) return 1;
  double pack = now() - begin;
  if (run_once(&t)) return 1;
  int repeat = nenv < 1024 ? 20 : 3;
  for (int k = 0; k < ROUNDS; k++) {
    begin = now();
    for (int i = 0; i < repeat; i++)
      if (sc_solver_run(t.solver)) return 1;
    if (sc_solver_wait(t.solver)) return 1;
    seconds[k] = (now() - begin) / repeat;
  }
  qsort(seconds, ROUNDS, sizeof *seconds, ascending);
  for (int i = 0; i < nenv; i++) {
    needs one = least_needs(&p[i % n], precision);
    iterations += t.r.iterations[i], solved += t.r.status[i] == SC_SOLVED;
    sum.bytes += one.bytes, sum.flops += one.flops * t.r.iterations[i];
  }
  const double each[] = {1e9 * seconds[ROUNDS / 2], 1e9 * pack, iterations, solved, sum.bytes, sum.flops};
  printf("softcon\t%s\t%s\t%s\t%d", name, origin, PRECISION(precision), nenv);
  for (int k = 0; k < 6; k++) printf("\t%.6g", each[k] / nenv);
  putchar('\n');
  fflush(stdout);
  close_run(&t);
  return 0;
}

static int time_problems(const char *name, const char *origin, const sc_problem *p, int n, int most, double until) {
  static const int sizes[] = {1, 64, 1024, 4096, 8192, 16384, 65536};
  for (int precision = SC_F64; precision <= SC_F32; precision++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes && sizes[k] <= most; k++) {
      if (now() > until) printf("left out\t%s\t%s\t%s\t%d\n", name, origin, PRECISION(precision), sizes[k]);
      else if (time_batch(name, origin, p, n, precision, sizes[k])) return fail();
    }
  return 0;
}

static int time_made(int most, double until) {
  for (int k = 0; k < NROBOT; k++) {
    test_problem q[MADE];
    sc_problem p[MADE];
    for (int i = 0; i < MADE; i++) q[i] = make_problem(&robots[k], (uint64_t)i), p[i] = q[i].p;
    int code = time_problems(robots[k].name, "made", p, MADE, most, until);
    for (int i = 0; i < MADE; i++) free_problem(&q[i]);
    if (code) return code;
  }
  return 0;
}

static int time_file(const char *arg, int most, double until) {
  const char *path = strchr(arg, '=');
  char name[64];
  problem_list list;
  if (!path || path == arg || path - arg >= 64) return fprintf(stderr, "bench_gpu: %s: not NAME=FILE\n", arg), 2;
  snprintf(name, sizeof name, "%.*s", (int)(path - arg), arg);
  if (!read_problems(path + 1, &list)) return fprintf(stderr, "bench_gpu: %s: cannot be read as problems\n", path + 1), 2;
  int code = time_problems(name, "recorded", list.p, list.n, most, until);
  free_problems(&list);
  return code;
}

static int time_all(int argc, char **argv) {
  int most = argc > 2 ? atoi(argv[2]) : 0, code = 0;
  double limit = argc > 3 ? atof(argv[3]) : 0, until = now() + limit, bandwidth;
  if (most < 1 || !(limit > 0)) return fprintf(stderr, "bench_gpu: time MOST SECONDS, both positive\n"), 2;
  int processors = gpu_bandwidth(&bandwidth);
  if (!processors) return fprintf(stderr, "bench_gpu: CUDA cannot copy on its device\n"), 5;
  printf("device\t%d\t%.6g\n", processors, bandwidth);
  if (argc <= 4) return time_made(most, until);
  for (int i = 4; i < argc && !code; i++) code = time_file(argv[i], most, until);
  return code;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "test") && argc == 2) return test();
  if (!strcmp(what, "small") && argc == 2) return small();
  if (!strcmp(what, "time")) return time_all(argc, argv);
  if (!strcmp(what, "report") && argc == 6) return gpu_report(argv[2], argv[3], argv[4], argv[5]);
  fprintf(stderr, "usage: bench_gpu test | small | time MOST SECONDS [NAME=FILE ...] | report STEPS TIMES JSON PAGE\n");
  return 2;
}
