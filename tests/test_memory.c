/* An allocator that fails at every n-th call: the call says so, nothing leaks, and the objects remain usable.
 *
 * malloc and its relatives below stand in front of the C library's for every library of this process. */
#include "support/solve.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#if defined(__GLIBC__) && !defined(SOFTCON_SANITIZED)
#define HAVE_ALLOCATOR 1
#else
#define HAVE_ALLOCATOR 0 /* sanitizers have malloc for themselves */
#endif

/* ------------------------------------------------------------------ the allocator */

static atomic_long calls, fails_at, failures, live; /* fails_at: 0: never; live: blocks from armed calls and later ones */

#if HAVE_ALLOCATOR
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *block);

static int fails(void) {
  if (!atomic_load(&fails_at) || atomic_fetch_add(&calls, 1) + 1 != atomic_load(&fails_at)) return 0;
  atomic_fetch_add(&failures, 1);
  errno = ENOMEM;
  return 1;
}

static void *taken(void *block) {
  if (block) atomic_fetch_add(&live, 1);
  return block;
}

void *malloc(size_t n) { return fails() ? NULL : taken(__libc_malloc(n)); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : taken(__libc_calloc(n, size)); }
void *aligned_alloc(size_t alignment, size_t n) { return fails() ? NULL : taken(__libc_memalign(alignment, n)); }
void *realloc(void *block, size_t n) {
  if (fails()) return NULL;
  void *moved = __libc_realloc(block, n);
  return block ? moved : taken(moved);
}
void free(void *block) {
  if (block) atomic_fetch_sub(&live, 1);
  __libc_free(block);
}
#endif

/* from here on the n-th call fails, whichever thread makes it; n = 0: none */
static void arm(long n) {
  atomic_store(&calls, 0);
  atomic_store(&failures, 0);
  atomic_store(&fails_at, n ? n : -1);
}

/* how many calls there were */
static long disarm(void) {
  atomic_store(&fails_at, 0);
  return atomic_load(&calls);
}

static void need_allocator(void) {
  if (!HAVE_ALLOCATOR) cr_skip_test("this build's malloc cannot be replaced");
}

/* ------------------------------------------------------------------ what is tried */

enum { ENVS = 24, MOST_CALLS = 100000 };

/* Problems of two sizes, made before anything fails: small ones first, then larger ones in their place. */
typedef struct {
  test_problem small[ENVS], large[ENVS];
  double *parameters[ENVS]; /* solref, solimp, pos of the large ones in the form of parameters */
} material;

/* the large ones as parameters, with the exact diagonal left to the library */
static void make_parameters(material *m, int i) {
  test_problem *q = &m->large[i];
  size_t n = (size_t)q->p.nefc;
  double *x = m->parameters[i] = test_numbers(8 * (int)n);
  for (size_t k = 0; k < n; k++) {
    const double row[7] = {0.02, 1, 0.9, 0.95, 0.001, 0.5, 2};
    memcpy(x + 2 * k, row, 2 * sizeof *row);
    memcpy(x + 2 * n + 5 * k, row + 2, 5 * sizeof *row);
    x[7 * n + k] = -1e-3;
  }
  q->p.efc_D = q->p.efc_aref = NULL;
  q->p.efc_solref = x, q->p.efc_solimp = x + 2 * n, q->p.efc_pos = x + 7 * n;
}

static material *make_material(int equalities) {
  material *m = calloc(1, sizeof *m);
  cr_assert(m);
  static const problem_case few = {"few equalities", 3, 2, 0, 0, 0, 0, 0, 0, 0, 0}, many = {"many equalities", 40, 33, 0, 0, 0, 0, 0, 0, 1, 0};
  for (int i = 0; i < ENVS; i++) {
    m->small[i] = make_problem(equalities ? &few : &problem_cases[3 + i % 3], (uint64_t)i);
    m->large[i] = make_problem(equalities ? &many : &problem_cases[10 + i % 5], (uint64_t)i);
    if (equalities) continue;
    if (i % 2) make_parameters(m, i);
  }
  return m;
}

static void free_material(material *m) {
  for (int i = 0; i < ENVS; i++) {
    free_problem(&m->small[i]);
    free_problem(&m->large[i]);
    free(m->parameters[i]);
  }
  free(m);
}

/* A way of using the library. */
typedef struct { const char *name; int threads, precision, method, noslip; } memory_case;
static const memory_case memory_cases[] = {
    {"one thread, double", 1, SC_F64, SC_NEWTON, 0},    {"one thread, float", 1, SC_F32, SC_NEWTON, 0},
    {"three threads, double", 3, SC_F64, SC_NEWTON, 0}, {"three threads, float", 3, SC_F32, SC_NEWTON, 0},
    {"one thread, mixed", 1, SC_MIXED, SC_NEWTON, 0},   {"cg, double", 1, SC_F64, SC_CG, 0},
    {"cg, float, three threads", 3, SC_F32, SC_CG, 0},  {"pgs, double", 1, SC_F64, SC_PGS, 0},
    {"pgs, float, three threads", 3, SC_F32, SC_PGS, 0}, {"noslip, float", 1, SC_F32, SC_NEWTON, 3},
    {"direct, float", 1, SC_F32, SC_DIRECT, 0}};
#define NMEMORY ((int)(sizeof memory_cases / sizeof *memory_cases))

/* The objects, and what the large problems' right answer is. */
typedef struct {
  const material *m;
  const memory_case *c;
  sc_context *context;
  sc_batch *batch;
  sc_solver *solver;
  sc_result r;
  double *answer;           /* qacc of all environments */
  size_t n;
} subject;

/* One call or several alike: returns the first error. `step` counts them where a part has been done. */
typedef int (*action)(subject *s, int *step);

static int create_context(subject *s, int *step) {
  sc_context_options o;
  (void)step;
  sc_context_options_init(&o);
  o.threads = s->c->threads;
  return s->context ? SC_OK : sc_context_create(&o, &s->context);
}

static int create_batch(subject *s, int *step) {
  (void)step;
  return s->batch ? SC_OK : sc_batch_create(s->context, ENVS, &s->batch);
}

static int create_solver(subject *s, int *step) {
  sc_solver_options o;
  (void)step;
  sc_solver_options_init(&o);
  o.precision = s->c->precision, o.method = s->c->method, o.noslip_iterations = s->c->noslip;
  return s->solver ? SC_OK : sc_solver_create(s->context, &o, &s->solver);
}

static int set_all(subject *s, const test_problem *q, int *step) {
  for (; *step < ENVS; ++*step) {
    int code = sc_batch_set(s->batch, *step, &q[*step].p);
    if (code) return code;
  }
  return SC_OK;
}
static int set_small(subject *s, int *step) { return set_all(s, s->m->small, step); }
static int set_large(subject *s, int *step) { return set_all(s, s->m->large, step); }

static int pack(subject *s, int *step) {
  (void)step;
  return sc_solver_pack(s->solver, s->batch);
}

static int solve(subject *s, int *step) {
  (void)step;
  int code = sc_solve(s->solver, s->batch);
  return code ? code : sc_solver_result(s->solver, &s->r);
}

/* the verifier's calls on every environment; what it gets is what it got before, for the memory's lack changes nothing */
static int verify(subject *s, int *step) {
  for (; *step < ENVS; ++*step) {
    sc_problem p;
    sc_check_report report;
    double a[64], error;
    int code = sc_batch_get(s->batch, *step, &p, NULL);
    const double *qacc = s->r.qacc + s->r.nv_offset[*step];
    memcpy(a, qacc, (size_t)p.nv * sizeof *a);
    if (!code) code = sc_check(&p, qacc, s->r.efc_force + s->r.efc_offset[*step], &report);
    if (!code) code = sc_check_polish(&p, a, NULL);
    if (!code) code = sc_check_error(&p, qacc, a, NULL, NULL, &error, NULL);
    if (code) return code;
    cr_expect(report.spd && (s->c->noslip || error < 1e-3), "environment %d: error %g", *step, error);
  }
  return SC_OK;
}

/* in this order they are one use of the library; each must fail well alone */
static const struct { const char *name; action act; } actions[] = {
    {"sc_context_create", create_context}, {"sc_batch_create", create_batch}, {"sc_batch_set", set_small}, {"sc_solver_create", create_solver},
    {"sc_solve", solve},                   {"sc_batch_set, larger", set_large}, {"sc_solver_pack", pack},  {"sc_solve again", solve},
    {"sc_check and its kin", verify},
};
#define NACTION ((int)(sizeof actions / sizeof *actions))

static void forget(subject *s) {
  sc_solver_destroy(s->solver);
  sc_batch_destroy(s->batch);
  sc_context_destroy(s->context);
  s->solver = NULL, s->batch = NULL, s->context = NULL;
}

/* the first `count` actions, without a failure */
static void advance(subject *s, int count) {
  for (int k = 0; k < count; k++) {
    int step = 0;
    CALL(actions[k].act(s, &step));
  }
}

static void check_answer(subject *s, const char *name, long n) {
  cr_expect(s->r.nv_offset[ENVS] == s->n && !memcmp(s->r.qacc, s->answer, s->n * sizeof(double)), "%s: %s: after failure %ld the answer has other bits",
            s->c->name, name, n);
}

/* ------------------------------------------------------------------ the tests */

/* Action k with its n-th allocation failing, then again without; 0: it makes fewer than n. */
static int fail_once(subject *s, int k, long n) {
  int step = 0;
  long before = atomic_load(&live);
  advance(s, k);
  arm(n);
  int code = actions[k].act(s, &step);
  disarm();
  int failed = atomic_load(&failures) > 0;
  const char *name = actions[k].name;
  cr_expect(code == (failed ? SC_ERROR_MEMORY : SC_OK) || (failed && code == SC_OK), "%s: %s: failure %ld: code %d: %s", s->c->name, name, n, code, sc_error_text());
  if (code) cr_expect(strstr(sc_error_text(), "memory") || strstr(sc_error_text(), "threads"), "%s: %s: failure %ld: \"%s\"", s->c->name, name, n, sc_error_text());
  if (code) CALL(actions[k].act(s, &step));
  for (int rest = k + 1; rest < NACTION; rest++) {
    step = 0;
    CALL(actions[rest].act(s, &step));
  }
  check_answer(s, name, n);
  forget(s);
  cr_expect_eq(atomic_load(&live), before, "%s: %s: failure %ld: %ld blocks remain", s->c->name, name, n, atomic_load(&live) - before);
  return failed;
}

/* right answers, and everything that the C library keeps for itself (stacks of threads) taken once */
static void begin(subject *s, const material *m, const memory_case *c) {
  *s = (subject){.m = m, .c = c};
  advance(s, NACTION);
  s->n = s->r.nv_offset[ENVS];
  s->answer = malloc((s->n + 1) * sizeof *s->answer);
  cr_assert(s->answer);
  memcpy(s->answer, s->r.qacc, s->n * sizeof *s->answer);
  forget(s);
}

Test(memory, every_allocation_may_fail, .init = need_allocator) {
  for (int c = 0; c < NMEMORY; c++) {
    material *m = make_material(memory_cases[c].method == SC_DIRECT);
    subject s;
    begin(&s, m, &memory_cases[c]);
    for (int k = 0; k < NACTION; k++) {
      long n = 1;
      while (n < MOST_CALLS && fail_once(&s, k, n)) n += 1 + n / 40; /* every one of the first, then fewer */
      cr_expect(n > 1 && n < MOST_CALLS, "%s: %s: %ld calls: the allocator of this test is not used, or never enough", s.c->name, actions[k].name, n);
    }
    free(s.answer);
    free_material(m);
  }
}

/* Threads that cannot start, before the C library has stacks of earlier ones. */
Test(memory, threads_that_cannot_start, .init = need_allocator) {
  sc_context_options o;
  sc_context_options_init(&o);
  o.threads = 6;
  for (int again = 0; again < 2; again++) {
    long n = 1, before = atomic_load(&live);
    for (int code = SC_ERROR_MEMORY; code; n++) {
      sc_context *context;
      cr_assert(n < 100);
      arm(n);
      code = sc_context_create(&o, &context);
      disarm();
      cr_expect(code == SC_OK || code == SC_ERROR_MEMORY, "failure %ld: code %d: %s", n, code, sc_error_text());
      cr_expect(code == SC_OK || !context, "failure %ld: a context beside the error", n);
      sc_context_destroy(context);
    }
    cr_expect(n > 3, "%ld calls", n);
    cr_expect(!again || atomic_load(&live) == before, "%ld blocks remain", atomic_load(&live) - before);
  }
}

/* An environment whose new problem found no memory still has the old one. */
Test(memory, a_failed_set_changes_nothing, .init = need_allocator) {
  material *m = make_material(0);
  test_run old = open_run(NULL, 1, SC_F64, 1e-8, ENVS), t = open_run(NULL, 1, SC_F64, 1e-8, ENVS);
  for (int i = 0; i < ENVS; i++) {
    CALL(sc_batch_set(old.batch, i, &m->small[i].p));
    CALL(sc_batch_set(t.batch, i, &m->small[i].p));
  }
  solve_run(&old);
  for (long n = 1, failed = 1; failed; n++) {
    failed = 0;
    for (int i = 0; i < ENVS; i++) {
      arm(n);
      int code = sc_batch_set(t.batch, i, &m->large[i].p);
      disarm();
      failed += code != SC_OK;
      cr_expect(code == SC_OK || code == SC_ERROR_MEMORY, "environment %d: %d", i, code);
      if (code) {
        solve_run(&t);
        int same = t.r.nv_offset[i + 1] - t.r.nv_offset[i] == (size_t)m->small[i].p.nv &&
                   !memcmp(run_qacc(&t, i), run_qacc(&old, i), (size_t)m->small[i].p.nv * sizeof(double));
        cr_expect(same, "environment %d, failure %ld: the old problem is lost", i, n);
      }
      CALL(sc_batch_set(t.batch, i, &m->small[i].p));
    }
    cr_assert(n < 100);
  }
  close_run(&old);
  close_run(&t);
  free_material(m);
}

/* A large system, packed alone: every allocation of its packing may fail, and the error says for which environment. */
Test(memory, a_large_system, .init = need_allocator) {
  const problem_case big = {"three hundred dofs", 300, 5, 5, 5, 2, 5, 2, 2, 1, 0};
  test_problem q = make_problem(&big, 1);
  for (int method = SC_NEWTON; method <= SC_CG; method++) {
    long before = atomic_load(&live);
    for (long n = 1, failed = 1; failed; n++) {
      test_run t = open_run(NULL, 1, SC_F32, 1e-8, 1);
      sc_solver_options o;
      sc_solver_options_init(&o);
      o.precision = SC_F32, o.method = method, o.iterations = 1000;
      use_solver(&t, &o);
      CALL(sc_batch_set(t.batch, 0, &q.p));
      arm(n);
      int code = sc_solve(t.solver, t.batch);
      disarm();
      failed = code != SC_OK;
      cr_expect(code == SC_OK || (code == SC_ERROR_MEMORY && strstr(sc_error_text(), "memory")), "failure %ld: %d: %s", n, code, sc_error_text());
      cr_expect(!failed || n < 3 || strstr(sc_error_text(), "nv 300"), "failure %ld: %s", n, sc_error_text());
      solve_run(&t);
      cr_expect_eq(t.r.status[0], SC_SOLVED, "after failure %ld: %s", n, sc_status_name(t.r.status[0]));
      close_run(&t);
      cr_assert(n < 200);
    }
    cr_expect(atomic_load(&live) == before, "%ld blocks remain", atomic_load(&live) - before);
  }
  free_problem(&q);
}

/* Runs allocate nothing: what is packed can be solved as long as the process lives. */
Test(memory, a_run_allocates_nothing, .init = need_allocator) {
  for (int c = 0; c < NMEMORY; c++) {
    material *m = make_material(memory_cases[c].method == SC_DIRECT);
    subject s = {.m = m, .c = &memory_cases[c]};
    advance(&s, 7);
    for (int k = 0; k < 3; k++) {
      arm(1);
      int code = sc_solver_run(s.solver);
      long n = disarm();
      cr_expect(code == SC_OK && n == 0, "%s: %ld allocations", s.c->name, n);
    }
    forget(&s);
    free_material(m);
  }
}
