/* Conjugate gradients: what they call solved is within its certificate, whatever the rows, and rounding does not keep them
 * busy until the limit. */
#include "support/solve.h"
#include "support/tolerances.h"

#define SEEDS 8
#define NENV (NPROBLEM * SEEDS)
#define MANY 20000 /* iterations: what is badly conditioned takes thousands */

static const char *name_of(int env) { return problem_cases[env / SEEDS].name; }

static test_run open_cg(const char *backend, int precision, double tolerance, int iterations, int nenv) {
  test_run t = open_run(backend, 2, precision, tolerance, nenv);
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = SC_CG, o.precision = precision, o.tolerance = tolerance, o.iterations = iterations;
  use_solver(&t, &o);
  return t;
}

/* environment i: case i / SEEDS, seed i % SEEDS, every second one with a random warm start */
static void fill(test_run *t) {
  for (int i = 0; i < NENV; i++) {
    test_problem q = make_problem(&problem_cases[i / SEEDS], (uint64_t)(i % SEEDS));
    q.p.qacc_warmstart = i % 2 ? q.warm : NULL;
    CALL(sc_batch_set(t->batch, i, &q.p));
    free_problem(&q);
  }
}

static void check_certificate(const test_run *t, int i, const char *backend) {
  double error = run_error(t, i), bound = t->r.qacc_bound[i];
  sc_problem p;
  sc_check_report c;
  CALL(sc_batch_get(t->batch, i, &p, NULL));
  CALL(sc_check(&p, run_qacc(t, i), run_force(t, i), &c));
  cr_expect_leq(error, bound * (1 + TOL_BOUND) + TOL_F64_QACC, "%s, \"%s\" seed %d: error %g is beyond its bound %g", backend, name_of(i), i % SEEDS, error,
                bound);
  cr_expect(c.scale * c.gap <= 1e-15 * (1 + TOL_GAP) || c.gap <= t->r.gap_floor[i] * (1 + TOL_FLOOR), "%s, \"%s\" seed %d: scaled gap %g, floor %g", backend,
            name_of(i), i % SEEDS, c.scale * c.gap, c.scale * t->r.gap_floor[i]);
  cr_expect_leq(c.force_error, TOL_FORCE, "%s, \"%s\" seed %d: force is off by %g", backend, name_of(i), i % SEEDS, c.force_error);
  cr_expect_leq(c.cone_error, TOL_FORCE, "%s, \"%s\" seed %d: force is out of bounds by %g", backend, name_of(i), i % SEEDS, c.cone_error);
}

Test(cg, in_double_ends_at_the_optimum, .timeout = 600) {
  EACH_BACKEND(backend) {
    test_run t = open_cg(backend, SC_F64, 1e-15, MANY, NENV);
    fill(&t);
    solve_run(&t);
    for (int i = 0; i < NENV; i++) {
      check_certificate(&t, i, backend);
      cr_expect_eq(t.r.status[i], SC_SOLVED, "%s, \"%s\" seed %d: %s after %d iterations, gap %g, floor %g", backend, name_of(i), i % SEEDS,
                   sc_status_name(t.r.status[i]), t.r.iterations[i], t.r.gap[i], t.r.gap_floor[i]);
    }
    close_run(&t);
  }
}

/* tolerance 0: nothing but rounding ends it */
Test(cg, rounding_does_not_keep_it_busy, .timeout = 600) {
  EACH_PRECISION(precision) {
    test_run t = open_cg(NULL, precision, 0, MANY, NENV);
    fill(&t);
    solve_run(&t);
    for (int i = 0; i < NENV; i++) {
      cr_expect(t.r.iterations[i] < MANY && t.r.status[i] == SC_SOLVED, "precision %d, \"%s\" seed %d: %s after %d iterations", precision, name_of(i),
                i % SEEDS, sc_status_name(t.r.status[i]), t.r.iterations[i]);
    }
    close_run(&t);
  }
}

Test(cg, in_float_is_accurate_where_it_says_so, .timeout = 600) {
  EACH_BACKEND(backend) {
    test_run t = open_cg(backend, SC_F32, 1e-8, 1000, NENV);
    int solved = 0;
    fill(&t);
    solve_run(&t);
    for (int i = 0; i < NENV; i++) {
      if (t.r.status[i] != SC_SOLVED) continue;
      double error = run_error(&t, i);
      cr_expect_leq(error, t.r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "%s, \"%s\" seed %d: error %g is beyond its bound %g", backend, name_of(i),
                    i % SEEDS, error, t.r.qacc_bound[i]);
      solved++;
    }
    cr_expect_geq(solved, 0.95 * NENV, "%s: %d of %d solved", backend, solved, NENV);
    close_run(&t);
  }
}

/* float without the retry: what it cannot solve it must not call solved; with it, that is solved, and flagged */
Test(cg, what_float_leaves_is_solved_in_double, .timeout = 600) {
  test_run t = open_cg(NULL, SC_F32, 1e-8, MANY, NENV);
  sc_result *r = &t.r;
  uint8_t alone[NENV];
  int retried = 0;
  for (int retry = 0; retry < 2; retry++) {
    sc_solver_options o;
    sc_solver_options_init(&o);
    o.method = SC_CG, o.precision = SC_F32, o.iterations = MANY, o.retry = retry;
    use_solver(&t, &o);
    for (int i = 0; i < NENV; i++) {
      test_problem q = make_problem(&problem_cases[i / SEEDS], (uint64_t)(i % SEEDS));
      for (int k = 0; i % 2 && k < q.p.nefc; k++) q.D[k] *= 1e4;
      CALL(sc_batch_set(t.batch, i, &q.p));
      free_problem(&q);
    }
    solve_run(&t);
    for (int i = 0; i < NENV && retry; i++) {
      int again = (r->flags[i] & SC_RETRIED_F64) != 0;
      cr_expect_eq(again, alone[i] != SC_SOLVED, "\"%s\" seed %d: flag %d, but float alone said %s", name_of(i), i % SEEDS, again, sc_status_name(alone[i]));
      retried += again;
    }
    for (int i = 0; i < NENV; i++) {
      double error = r->status[i] == SC_SOLVED ? run_error(&t, i) : 0;
      cr_expect(error <= r->qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "\"%s\" seed %d: solved, but the error is %g", name_of(i), i % SEEDS, error);
      alone[i] = r->status[i];
    }
  }
  cr_expect(retried > 0, "none was retried: the problems are too easy");
  close_run(&t);
}

Test(cg, takes_the_iterations_it_is_given) {
  test_run t = open_cg(NULL, SC_F64, 1e-12, 3, NENV);
  int limit = 0;
  fill(&t);
  solve_run(&t);
  for (int i = 0; i < NENV; i++) {
    cr_expect_leq(t.r.iterations[i], 3);
    cr_expect(t.r.status[i] == SC_SOLVED || t.r.status[i] == SC_ITERATION_LIMIT, "\"%s\": %s", name_of(i), sc_status_name(t.r.status[i]));
    limit += t.r.status[i] == SC_ITERATION_LIMIT;
  }
  cr_expect(limit > NENV / 4, "%d at the limit", limit);
  close_run(&t);
}
