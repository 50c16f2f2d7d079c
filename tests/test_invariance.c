/* The same environment gives the same bits: alone, in any company, in any order, on any number of threads. */
#include "support/solve.h"

#define COPIES 5
#define NENV (NPROBLEM * COPIES)

static void set(test_run *t, int env, int which, int poisoned) {
  test_problem q = make_problem(&problem_cases[which / COPIES], (uint64_t)(which % COPIES));
  q.p.qacc_warmstart = which % 2 ? q.warm : NULL;
  if (poisoned && q.p.nv) {
    q.M[0] = which % 3 == 0 ? NAN : which % 3 == 1 ? -1 : q.M[0];
    q.tau[0] = which % 3 == 2 ? 1e300 : q.tau[0];
  }
  int code = sc_batch_set(t->batch, env, &q.p);
  cr_assert(code == SC_OK || (poisoned && code == SC_ERROR_VALUE), "%s", sc_error_text());
  free_problem(&q);
}

/* the bits of environment e of a and f of b */
static void same(const test_run *a, int e, const test_run *b, int f, const char *what) {
  const char *name = problem_cases[e / COPIES].name;
  size_t n = a->r.nv_offset[e + 1] - a->r.nv_offset[e], m = a->r.efc_offset[e + 1] - a->r.efc_offset[e];
  for (size_t i = 0; i < n; i++)
    cr_expect(!memcmp(&run_qacc(a, e)[i], &run_qacc(b, f)[i], sizeof(double)), "%s: \"%s\" copy %d: qacc[%zu] is %.17g and %.17g", what, name,
              e % COPIES, i, run_qacc(a, e)[i], run_qacc(b, f)[i]);
  for (size_t i = 0; i < m; i++)
    cr_expect(!memcmp(&run_force(a, e)[i], &run_force(b, f)[i], sizeof(double)), "%s: \"%s\" copy %d: efc_force[%zu] is %.17g and %.17g", what, name,
              e % COPIES, i, run_force(a, e)[i], run_force(b, f)[i]);
  const double *numbers[][2] = {{a->r.gap, b->r.gap}, {a->r.gap_floor, b->r.gap_floor}, {a->r.qacc_bound, b->r.qacc_bound}, {a->r.objective, b->r.objective}};
  for (int k = 0; k < 4; k++) cr_expect(!memcmp(numbers[k][0] + e, numbers[k][1] + f, sizeof(double)), "%s: \"%s\" copy %d: number %d", what, name, e % COPIES, k);
  cr_expect(a->r.status[e] == b->r.status[f] && a->r.iterations[e] == b->r.iterations[f], "%s: \"%s\" copy %d: status or iterations", what, name, e % COPIES);
  cr_expect(!m || !memcmp(a->r.efc_state + a->r.efc_offset[e], b->r.efc_state + b->r.efc_offset[f], m), "%s: \"%s\" copy %d: states", what, name, e % COPIES);
}

static test_run open_method(const char *backend, int method, int precision, int threads, int nenv) {
  test_run t = open_run(backend, threads, precision, 1e-10, nenv);
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = method, o.precision = precision, o.tolerance = 1e-10, o.iterations = method == SC_CG ? 300 : 100;
  use_solver(&t, &o);
  return t;
}

static test_run together(const char *backend, int method, int precision, int threads) {
  test_run t = open_method(backend, method, precision, threads, NENV);
  for (int i = 0; i < NENV; i++) set(&t, i, i, 0);
  solve_run(&t);
  return t;
}

Test(invariance, alone_and_in_company) {
  EACH_BACKEND(backend) EACH_METHOD(method) EACH_PRECISION(precision) {
    test_run all = together(backend, method, precision, 2), one = open_method(backend, method, precision, 1, 1);
    for (int i = 0; i < NENV; i++) {
      set(&one, 0, i, 0);
      solve_run(&one);
      same(&all, i, &one, 0, backend);
    }
    close_run(&one);
    close_run(&all);
  }
}

Test(invariance, order_and_poisoned_neighbours) {
  EACH_BACKEND(backend) EACH_METHOD(method) EACH_PRECISION(precision) {
    test_run all = together(backend, method, precision, 1), mixed = open_method(backend, method, precision, 2, 2 * NENV);
    for (int i = 0; i < NENV; i++) {
      int to = (i * 37 + 5) % NENV; /* 37 and NENV share no factor */
      set(&mixed, 2 * to, i, 0);
      set(&mixed, 2 * to + 1, (i * 11) % NENV, 1);
    }
    solve_run(&mixed);
    for (int i = 0; i < NENV; i++) same(&all, i, &mixed, 2 * ((i * 37 + 5) % NENV), backend);
    close_run(&mixed);
    close_run(&all);
  }
}

/* packs of every width round alike, where products are added unrounded: the width can be chosen by speed alone */
Test(invariance, width_of_packs) {
  EACH_METHOD(method) EACH_PRECISION(precision) {
    test_run measured = together("measured", method, precision, 2);
    EACH_BACKEND(backend) {
      if (!strcmp(backend, "sse2") || !strcmp(backend, "reference") || !strcmp(backend, "cuda")) continue;
      test_run other = together(backend, method, precision, 2);
      for (int i = 0; i < NENV; i++) same(&measured, i, &other, i, backend);
      close_run(&other);
    }
    close_run(&measured);
  }
}

Test(invariance, threads_and_repetition) {
  EACH_METHOD(method) EACH_PRECISION(precision) {
    test_run all = together(NULL, method, precision, 1);
    for (int threads = 2; threads <= 4; threads++) {
      test_run other = together(NULL, method, precision, threads);
      CALL(sc_solver_run(other.solver));
      for (int i = 0; i < NENV; i++) same(&all, i, &other, i, "threads");
      solve_run(&other);
      for (int i = 0; i < NENV; i++) same(&all, i, &other, i, "packed again");
      close_run(&other);
    }
    close_run(&all);
  }
}
