/* Projected Gauss-Seidel: right where it says solved, honest where it does not, and free of absolute thresholds. */
#include "support/contact.h"
#include "support/tolerances.h"

#include <stdio.h>

#define SEEDS 6
#define NENV (NPROBLEM * SEEDS)

static test_run open_pgs(const char *backend, int threads, int precision, double tolerance, int iterations, int nenv) {
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = SC_PGS, o.precision = precision, o.tolerance = tolerance, o.iterations = iterations;
  test_run t = open_run(backend, threads, precision, tolerance, nenv);
  use_solver(&t, &o);
  return t;
}

static const char *name_of(int env) { return problem_cases[env / SEEDS].name; }

/* environment `env`: case and seed `which` */
static void set(const test_run *t, int env, int which) {
  test_problem q = make_problem(&problem_cases[which / SEEDS], (uint64_t)(which % SEEDS));
  q.p.qacc_warmstart = which % 2 ? q.warm : NULL;
  CALL(sc_batch_set(t->batch, env, &q.p));
  free_problem(&q);
}

static void fill(const test_run *t) {
  for (int i = 0; i < NENV; i++) set(t, i, i);
}

/* ------------------------------------------------------------------ verdicts */

/* no solved environment is beyond its bound, and the others say why; how many are solved */
static int check_verdicts(const test_run *t, const char *what) {
  int solved = 0;
  for (int i = 0; i < NENV; i++) {
    int status = t->r.status[i];
    solved += status == SC_SOLVED;
    cr_expect(status == SC_SOLVED || status == SC_ITERATION_LIMIT || status == SC_INACCURATE, "%s, \"%s\" seed %d: %s", what, name_of(i), i % SEEDS,
              sc_status_name(status));
    double error = run_error(t, i), bound = t->r.qacc_bound[i];
    cr_expect_leq(error, bound * (1 + TOL_BOUND) + TOL_F64_QACC, "%s, \"%s\" seed %d: %s, error %g is beyond its bound %g", what, name_of(i), i % SEEDS,
                  sc_status_name(status), error, bound);
  }
  return solved;
}

Test(pgs, what_it_calls_solved_is_the_optimum) {
  EACH_BACKEND(backend) {
    test_run t = open_pgs(backend, 2, SC_F64, 1e-12, 2000, NENV);
    fill(&t);
    solve_run(&t);
    int solved = check_verdicts(&t, backend);
    printf("%s: %d of %d solved\n", backend, solved, NENV);
    cr_expect_geq(solved, TOL_PGS_SOLVED * NENV, "%s: %d of %d solved", backend, solved, NENV);
    close_run(&t);
  }
}

Test(pgs, in_float_with_and_without_the_second_try) {
  EACH_BACKEND(backend) {
    test_run t = open_pgs(backend, 2, SC_F32, 1e-8, 2000, NENV);
    int retried = 0, floats;
    fill(&t);
    solve_run(&t);
    int solved = check_verdicts(&t, backend);
    for (int i = 0; i < NENV; i++) retried += (t.r.flags[i] & SC_RETRIED_F64) != 0;
    floats = NENV - retried;
    printf("%s: %d of %d solved\n", backend, solved, NENV);
    cr_expect_geq(solved, TOL_PGS_SOLVED * NENV, "%s: %d of %d solved", backend, solved, NENV);
    printf("%s: %d by float alone\n", backend, floats);
    cr_expect_geq(floats, TOL_PGS_F32_SOLVED * NENV, "%s: %d of %d solved by float alone", backend, floats, NENV);
    close_run(&t);
  }
}

Test(pgs, too_few_sweeps_are_called_by_their_name) {
  int limited = 0;
  test_run t = open_pgs(NULL, 2, SC_F64, 1e-12, 2, NENV);
  fill(&t);
  solve_run(&t);
  check_verdicts(&t, "two sweeps");
  for (int i = 0; i < NENV; i++) {
    limited += t.r.status[i] == SC_ITERATION_LIMIT;
    cr_expect_leq(t.r.iterations[i], 2);
  }
  cr_expect_geq(limited, NENV / 2, "%d at the limit", limited);
  close_run(&t);
}

Test(pgs, a_warm_start_at_the_optimum_costs_no_sweep) {
  test_run t = open_pgs(NULL, 1, SC_F64, 1e-8, 100, NENV);
  for (int i = 0; i < NENV; i++) {
    test_problem q = make_problem(&problem_cases[i / SEEDS], (uint64_t)(i % SEEDS));
    CALL(sc_check_polish(&q.p, q.warm, NULL));
    q.p.qacc_warmstart = q.warm;
    CALL(sc_batch_set(t.batch, i, &q.p));
    free_problem(&q);
  }
  solve_run(&t);
  for (int i = 0; i < NENV; i++) cr_expect(t.r.status[i] == SC_SOLVED && t.r.iterations[i] == 0, "\"%s\" seed %d: %s after %d sweeps", name_of(i), i % SEEDS,
                                           sc_status_name(t.r.status[i]), t.r.iterations[i]);
  close_run(&t);
}

/* ------------------------------------------------------------------ contacts one by one */

/* Without a force the normal row asks for none, 0 <= e_0, but the cone's tip is no optimum while e_0 < |c e_t|. */
Test(pgs, the_tip_of_the_cone_is_left) {
  static const int dims[] = {3, 4, 6};
  for (int k = 0; k < 3; k++)
    for (int step = 0; step <= 10; step++) {
      double b[6] = {0.4 * step, 5, 0, 7, -3, 2}, smooth;
      test_run t = open_pgs(NULL, 1, SC_F64, 1e-22, 2000, 1);
      contact_alone c;
      make_contact_alone(&c, dims[k], 2, b);
      CALL(sc_batch_set(t.batch, 0, &c.p));
      solve_run(&t);
      double error = run_error(&t, 0);
      CALL(sc_check_error(&c.p, run_qacc(&t, 0), c.s, NULL, NULL, &smooth, NULL));
      cr_expect_leq(error, 1e-10, "dim %d, e_0 = %g: error %g after %d sweeps", dims[k], b[0], error, t.r.iterations[0]);
      cr_expect(step > 9 || smooth > 1e-4, "dim %d, e_0 = %g: the contact has no force", dims[k], b[0]);
      cr_expect_eq(t.r.status[0], SC_SOLVED, "dim %d, e_0 = %g: %s", dims[k], b[0], sc_status_name(t.r.status[0]));
      close_run(&t);
    }
}

/* Masses apart by a power of four scale every number by a power of two: nothing may change but the forces' exponents. */
Test(pgs, the_scale_of_a_problem_changes_no_bit) {
  static const int dims[] = {3, 4, 6};
  static const double pushes[][6] = {{-9.81, 3, 1, 2, 0, 1}, {-9.81, 30, 10, 20, 5, 1}, {1, 5, 0, 7, -3, 2}};
  EACH_PRECISION(precision)
  for (int k = 0; k < 3; k++)
    for (int n = 0; n < 3; n++) {
      test_run t = open_pgs(NULL, 1, precision, 1e-14, 500, 21);
      for (int i = 0; i < 21; i++) {
        contact_alone c;
        make_contact_alone(&c, dims[k], ldexp(1, 2 * (i - 10)), pushes[n]);
        CALL(sc_batch_set(t.batch, i, &c.p));
      }
      solve_run(&t);
      for (int i = 1; i < 21; i++)
        cr_expect(!memcmp(run_qacc(&t, i), run_qacc(&t, 0), (size_t)dims[k] * sizeof(double)) && t.r.status[i] == t.r.status[0],
                  "dim %d, push %d, mass 4^%d: qacc[1] is %.17g, not %.17g", dims[k], n, i - 10, run_qacc(&t, i)[1], run_qacc(&t, 0)[1]);
      close_run(&t);
    }
}

/* A light body between the floor and a heavy one, friction everywhere. */
Test(pgs, heavy_bodies_on_light_ones) {
  for (int decades = 0; decades <= 6; decades += 2) {
    double heavy = pow(10, decades), M[36] = {0}, J[36] = {0}, s[6] = {0.5, 0, -9.81, 3, 0, -9.81}, D[6], aref[6] = {0}, mu[2] = {0.5, 0.5};
    double friction[10] = {0.5, 0.5, 0, 0, 0, 0.5, 0.5, 0, 0, 0};
    int type[6], dim[2] = {3, 3};
    for (int i = 0; i < 6; i++) M[7 * i] = i < 3 ? 1 : heavy, D[i] = i < 3 ? 20 : 20 / (1 + 1 / heavy), type[i] = SC_CONTACT_ELLIPTIC;
    for (int i = 0; i < 3; i++) J[6 * i + (i + 2) % 3] = 1, J[6 * (3 + i) + 3 + (i + 2) % 3] = 1, J[6 * (3 + i) + (i + 2) % 3] = -1;
    sc_problem p;
    sc_problem_init(&p);
    p.nv = p.nefc = 6, p.ncon = 2, p.M = M, p.efc_J = J, p.qacc_smooth = s, p.efc_D = D, p.efc_aref = aref, p.efc_type = type;
    p.contact_dim = dim, p.contact_friction = friction, p.contact_mu = mu;
    test_run t = open_pgs(NULL, 1, SC_F64, 1e-14, 1000000, 1);
    CALL(sc_batch_set(t.batch, 0, &p));
    solve_run(&t);
    double error = run_error(&t, 0);
    printf("mass ratio %g: %d sweeps, error %.1e\n", heavy, t.r.iterations[0], error);
    cr_expect_eq(t.r.status[0], SC_SOLVED, "mass ratio %g: %s, bound %g", heavy, sc_status_name(t.r.status[0]), t.r.qacc_bound[0]);
    cr_expect_leq(error, t.r.qacc_bound[0] + TOL_F64_QACC, "mass ratio %g: error %g is beyond its bound %g", heavy, error, t.r.qacc_bound[0]);
    close_run(&t);
  }
}

/* ------------------------------------------------------------------ invariance */

static void same(const test_run *a, int e, const test_run *b, int f, const char *what) {
  cr_expect(same_bits(a, e, b, f), "%s: \"%s\" seed %d: %s after %d sweeps, and %s after %d", what, name_of(e), e % SEEDS,
            sc_status_name(a->r.status[e]), a->r.iterations[e], sc_status_name(b->r.status[f]), b->r.iterations[f]);
}

Test(pgs, gives_the_same_bits_alone_in_any_order_and_on_any_number_of_threads) {
  EACH_BACKEND(backend) EACH_PRECISION(precision) {
    test_run all = open_pgs(backend, 1, precision, 1e-8, 60, NENV), one = open_pgs(backend, 1, precision, 1e-8, 60, 1);
    test_run mixed = open_pgs(backend, 3, precision, 1e-8, 60, NENV);
    fill(&all);
    solve_run(&all);
    for (int i = 0; i < NENV; i++) set(&mixed, (i * 37 + 5) % NENV, i);
    solve_run(&mixed);
    for (int i = 0; i < NENV; i++) {
      set(&one, 0, i);
      solve_run(&one);
      same(&all, i, &one, 0, backend);
      same(&all, i, &mixed, (i * 37 + 5) % NENV, backend);
    }
    close_run(&all);
    close_run(&one);
    close_run(&mixed);
  }
}
