/* Float, mixed precision and double where numbers are hardest: stiff contacts, hardly any friction, masses, forces and rows of
 * scales far apart. Whatever the method says must be finite and hold against the optimum in extended precision, and the second
 * try in double must be taken, flagged and counted where it is needed, and nowhere else. */
#include "support/contact.h"
#include "support/stiff.h"
#include "support/tolerances.h"

#include <stdio.h>

#define SEEDS 6

/* How a problem is made hard. */
typedef enum { SOFT, STIFF, STIFFER, FLOOR, TINY_FRICTION, NO_FRICTION, MASSES, HUGE, TINY, BEYOND, NHARD } hardness;

static const struct { const char *name; hardness how; problem_case made_of; } hard[] = {
    {"as they are", SOFT, {"", 14, 1, 2, 2, 1, 2, 1, 1, 1, 0}},
    {"stiff cones of dim 3", STIFF, {"", 13, 0, 0, 2, 0, 4, 0, 0, 1, 0}},
    {"stiff cones of all dims", STIFF, {"", 20, 1, 2, 2, 0, 2, 1, 1, 1, 0}},
    {"stiff pyramids", STIFF, {"", 15, 2, 2, 2, 4, 0, 0, 0, 1, 0}},
    {"stiffer than float", STIFFER, {"", 17, 0, 0, 1, 0, 3, 1, 1, 1, 0}},
    {"R at its floor", FLOOR, {"", 12, 2, 2, 3, 1, 2, 0, 1, 1, 0}},
    {"hardly any friction", TINY_FRICTION, {"", 16, 0, 2, 1, 1, 3, 1, 1, 1, 0}},
    {"no friction", NO_FRICTION, {"", 16, 0, 2, 1, 1, 3, 1, 1, 1, 0}},
    {"masses 1e6 apart", MASSES, {"", 14, 1, 2, 2, 1, 2, 1, 1, 1, 0}},
    {"forces of 1e12", HUGE, {"", 14, 1, 2, 2, 1, 2, 1, 1, 1, 0}},
    {"forces of 1e-12", TINY, {"", 14, 1, 2, 2, 1, 2, 1, 1, 1, 0}},
    {"forces beyond float", BEYOND, {"", 14, 1, 2, 2, 1, 2, 1, 1, 1, 0}},
};
#define NHARDCASE ((int)(sizeof hard / sizeof *hard))
#define NENV (NHARDCASE * SEEDS)

static const char *name_of(int env) { return hard[env / SEEDS].name; }

static void scale_forces(test_problem *q, double by) {
  int n = q->p.nv;
  for (int i = 0; i < n * n; i++) q->M[i] *= by;
  for (int i = 0; i < n; i++) q->tau[i] *= by;
  for (int r = 0; r < q->p.nefc; r++) q->D[r] *= by, q->eta[r] *= by;
}

static void set_friction(test_problem *q, double most, double least) {
  for (int k = 0; k < q->p.ncon; k++) {
    for (int j = 0; j < 5; j++) q->friction[5 * k + j] = j % 2 ? least : most;
    q->mu[k] = fmax(1e-5, most);
  }
}

/* environment i: case i / SEEDS, seed i % SEEDS, every second one with a warm start */
static test_problem make_hard(int env) {
  test_problem q = make_problem(&hard[env / SEEDS].made_of, (uint64_t)(env % SEEDS));
  int n = q.p.nv, how = hard[env / SEEDS].how;
  if (how == STIFF) make_stiff(&q, 0.9999, 1e4);
  if (how == STIFFER) make_stiff(&q, 1 - 1e-8, 1);
  if (how == TINY_FRICTION) set_friction(&q, 1e-3, 1e-5);
  if (how == NO_FRICTION) set_friction(&q, 0, 0);
  for (int i = 0; how == MASSES && i < n * n; i++) q.M[i] *= (i / n % 2 ? 1e3 : 1) * (i % n % 2 ? 1e3 : 1);
  for (int r = 0; how == FLOOR && r < q.p.nefc; r++) q.D[r] = r % 3 ? row_D(&q, r, 0.9) : 1e15;
  follow_first_rows(&q);
  if (how == HUGE) scale_forces(&q, 1e12);
  if (how == TINY) scale_forces(&q, 1e-12);
  if (how == BEYOND) scale_forces(&q, env % 2 ? 1e37 : 1e-37);
  q.p.qacc_warmstart = env % 2 ? q.warm : NULL;
  return q;
}

/* ------------------------------------------------------------------ what is solved, and how */

/* every environment by one method, precision and kind of pack */
static test_run solve_hard(const char *backend, int method, int precision, double tolerance, int retry) {
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = method, o.precision = precision, o.tolerance = tolerance, o.retry = retry;
  o.iterations = method == SC_NEWTON ? 100 : 400;
  test_run t = open_run(backend, 2, precision, tolerance, NENV);
  use_solver(&t, &o);
  for (int i = 0; i < NENV; i++) {
    test_problem q = make_hard(i);
    CALL(sc_batch_set(t.batch, i, &q.p));
    free_problem(&q);
  }
  solve_run(&t);
  return t;
}

/* The optima and their forces, in extended precision. */
typedef struct { double *qacc[NENV], *force[NENV]; } optima;

static optima find_optima(void) {
  optima best;
  test_run t = solve_hard(NULL, SC_NEWTON, SC_F64, 1e-15, 1);
  for (int i = 0; i < NENV; i++) {
    sc_problem p;
    CALL(sc_batch_get(t.batch, i, &p, NULL));
    best.qacc[i] = test_numbers(p.nv), best.force[i] = test_numbers(p.nefc);
    memcpy(best.qacc[i], run_qacc(&t, i), (size_t)p.nv * sizeof(double));
    CALL(sc_check_polish(&p, best.qacc[i], best.force[i]));
  }
  close_run(&t);
  return best;
}

static void free_optima(optima *best) {
  for (int i = 0; i < NENV; i++) free(best->qacc[i]), free(best->force[i]);
}

/* ------------------------------------------------------------------ verdicts */

/* |f - f*|_R <= root(gap), as rounding of the forces allows */
static void check_forces(const test_run *t, int i, const optima *best, const char *what) {
  sc_problem p;
  double error, size = 0;
  CALL(sc_batch_get(t->batch, i, &p, NULL));
  CALL(sc_check_error(&p, run_qacc(t, i), best->qacc[i], run_force(t, i), best->force[i], NULL, &error));
  for (int r = 0; r < p.nefc; r++) size += best->force[i][r] * best->force[i][r] / p.efc_D[r];
  double bound = sqrt(fmax(t->r.gap[i], t->r.gap_floor[i]) / size);
  cr_expect(error <= bound * (1 + TOL_BOUND) + TOL_FORCE, "%s, \"%s\" seed %d: forces off by %g, the gap allows %g", what,
            name_of(i), i % SEEDS, error,
            bound);
}

/* a verdict that the verifier shares, and an error within the bound */
static void check_verdict(const test_run *t, int i, const optima *best, double tolerance, const char *what) {
  const char *status = sc_status_name(t->r.status[i]);
  double bound = t->r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, floor = t->r.gap_floor[i], error;
  sc_problem p;
  sc_check_report c;
  CALL(sc_batch_get(t->batch, i, &p, NULL));
  CALL(sc_check(&p, run_qacc(t, i), run_force(t, i), &c)); /* refuses what is not finite */
  CALL(sc_check_error(&p, run_qacc(t, i), best->qacc[i], NULL, NULL, &error, NULL));
  cr_expect_leq(error, bound, "%s, \"%s\" seed %d: %s, error %g is beyond its bound %g", what, name_of(i), i % SEEDS, status,
                error, bound);
  cr_expect_leq(c.cone_error, TOL_FORCE, "%s, \"%s\" seed %d: row %d: force is out of bounds by %g", what, name_of(i), i % SEEDS,
                c.worst_row, c.cone_error);
  check_forces(t, i, best, what);
  if (t->r.status[i] == SC_SOLVED) {
    int within = c.scale * c.gap <= tolerance * (1 + TOL_GAP),
        at_floor = c.gap <= TOL_FLOOR_GAP * floor && c.qacc_bound <= TOL_FLOOR_BOUND;
    cr_expect(within || at_floor, "%s, \"%s\" seed %d: solved, but the gap is %g, the floor %g", what, name_of(i), i % SEEDS,
              c.gap, floor);
  } else {
    int says_why = t->r.status[i] == SC_ITERATION_LIMIT || t->r.status[i] == SC_STALLED || t->r.status[i] == SC_INACCURATE;
    cr_expect(says_why, "%s, \"%s\" seed %d: %s", what, name_of(i), i % SEEDS, status);
  }
}

/* Newton's method gets everywhere; with R at its floor one rounding of qacc moves the forces by more than the bound allows,
 * so that the verdict may be that it is inaccurate, though it is not */
static void check_newton(const test_run *t, int i, const optima *best, const char *what) {
  sc_problem p;
  double error;
  CALL(sc_batch_get(t->batch, i, &p, NULL));
  CALL(sc_check_error(&p, run_qacc(t, i), best->qacc[i], NULL, NULL, &error, NULL));
  int rounded = hard[i / SEEDS].how == FLOOR && t->r.status[i] == SC_INACCURATE && error <= TOL_FLOOR_QACC;
  cr_expect(t->r.status[i] == SC_SOLVED || rounded, "%s, \"%s\" seed %d: %s after %d iterations, error %g", what, name_of(i),
            i % SEEDS,
            sc_status_name(t->r.status[i]), t->r.iterations[i], error);
}

static double tolerance_of(int precision) { return precision == SC_F32 ? 1e-8 : 1e-12; }

static void check_method(const char *backend, int method, const optima *best) {
  EACH_PRECISION(precision) {
    char what[80];
    int solved = 0, retried = 0;
    snprintf(what, sizeof what, "%s, %s, precision %d", backend, sc_method_name(method), precision);
    test_run t = solve_hard(backend, method, precision, tolerance_of(precision), 1);
    for (int i = 0; i < NENV; i++) {
      check_verdict(&t, i, best, tolerance_of(precision), what);
      if (method == SC_NEWTON) check_newton(&t, i, best, what);
      solved += t.r.status[i] == SC_SOLVED, retried += (t.r.flags[i] & SC_RETRIED_F64) != 0;
    }
    printf("%s: %d of %d solved, %d of them tried again in double\n", what, solved, NENV, retried);
    cr_expect_geq(solved, TOL_HARD_SOLVED * NENV, "%s: %d of %d solved", what, solved, NENV);
    close_run(&t);
  }
}

static void check_everywhere(int method) {
  optima best = find_optima();
  EACH_BACKEND(backend) check_method(backend, method, &best);
  free_optima(&best);
}

Test(stiff, newton_is_right_where_numbers_are_hardest) { check_everywhere(SC_NEWTON); }
Test(stiff, conjugate_gradients_are_honest_where_numbers_are_hardest) { check_everywhere(SC_CG); }
Test(stiff, gauss_seidel_is_honest_where_numbers_are_hardest) { check_everywhere(SC_PGS); }

/* ------------------------------------------------------------------ the second try */

static int same_answer(const test_run *a, const test_run *b, int i) {
  size_t n = a->r.nv_offset[i + 1] - a->r.nv_offset[i];
  return a->r.status[i] == b->r.status[i] && !memcmp(run_qacc(a, i), run_qacc(b, i), n * sizeof(double));
}

/* Without a second try: float's own answer. With it: the same, or that of double, flagged, and the iterations of both. In mixed
 * precision a refinement that stalled is tried again too, though solved; then what is solved stays. */
static void check_second_try(int method, int precision) {
  double tolerance = tolerance_of(precision);
  test_run once = solve_hard(NULL, method, precision, tolerance, 0), twice = solve_hard(NULL, method, precision, tolerance, 1);
  test_run in_double = solve_hard(NULL, method, SC_F64, tolerance, 1);
  const char *name = sc_method_name(method);
  int retried = 0;
  for (int i = 0; i < NENV; i++) {
    int unsolved = once.r.status[i] != SC_SOLVED, again = (twice.r.flags[i] & SC_RETRIED_F64) != 0;
    int keeps = !again || (!unsolved && in_double.r.status[i] != SC_SOLVED);
    int iterations = once.r.iterations[i] + (again ? in_double.r.iterations[i] : 0);
    cr_expect(again == unsolved || (again && precision == SC_MIXED),
              "%s, precision %d, \"%s\" seed %d: flag %d, but float alone said %s", name, precision,
              name_of(i), i % SEEDS, again, sc_status_name(once.r.status[i]));
    cr_expect_eq(twice.r.iterations[i], iterations, "%s, precision %d, \"%s\" seed %d: %d iterations, not %d", name, precision,
                 name_of(i), i % SEEDS,
                 twice.r.iterations[i], iterations);
    cr_expect(same_answer(&twice, keeps ? &once : &in_double, i), "%s, precision %d, \"%s\" seed %d: not the answer of %s", name,
              precision, name_of(i),
              i % SEEDS, keeps ? "float" : "double");
    cr_expect(!((once.r.flags[i] | in_double.r.flags[i]) & SC_RETRIED_F64), "%s, \"%s\" seed %d: flagged without a second try",
              name, name_of(i), i % SEEDS);
    retried += again;
  }
  cr_expect(retried >= SEEDS && retried < NENV, "%s, precision %d: %d of %d tried again", name, precision, retried, NENV);
  close_run(&once);
  close_run(&twice);
  close_run(&in_double);
}

Test(stiff, the_second_try_is_flagged_and_counted) {
  for (int method = SC_NEWTON; method <= SC_PGS; method++) check_second_try(method, SC_F32), check_second_try(method, SC_MIXED);
}

/* ------------------------------------------------------------------ steps, and company */

/* Stiff contacts that slide are what steps grow with: here they do not. mu: c_1, or a hundredth of it */
Test(stiff, stiffness_does_not_multiply_the_steps) {
  enum { N = 24 };
  static const problem_case made_of = {"", 20, 1, 2, 2, 0, 2, 1, 1, 1, 0};
  for (int decades = 2; decades <= 10; decades += 2)
    for (int impratio = 1; impratio <= 10000; impratio *= 10000) {
      test_run t = open_run(NULL, 2, SC_F64, 1e-12, N);
      int most = 0;
      for (int i = 0; i < N; i++) {
        test_problem q = make_problem(&made_of, (uint64_t)i);
        make_stiff(&q, 1 / (1 + pow(10, -decades)), impratio);
        follow_first_rows(&q);
        CALL(sc_batch_set(t.batch, i, &q.p));
        free_problem(&q);
      }
      solve_run(&t);
      for (int i = 0; i < N; i++) {
        double error = run_error(&t, i);
        int at_floor = t.r.status[i] == SC_INACCURATE && t.r.gap[i] <= t.r.gap_floor[i];
        cr_expect(t.r.status[i] == SC_SOLVED || at_floor, "D A = 1e%d, impratio %d, seed %d: %s after %d steps", decades,
                  impratio, i,
                  sc_status_name(t.r.status[i]), t.r.iterations[i]);
        cr_expect_leq(error, TOL_FLOOR_QACC, "D A = 1e%d, impratio %d, seed %d: error %g", decades, impratio, i, error);
        if (t.r.iterations[i] > most) most = t.r.iterations[i];
      }
      printf("D A = 1e%d, impratio %d: %d steps at most\n", decades, impratio, most);
      cr_expect_leq(most, MOST_STIFF_STEPS, "D A = 1e%d, impratio %d: %d steps", decades, impratio, most);
      close_run(&t);
    }
}

/* one evaluation for each line search: more are made where there would be no step at all */
Test(stiff, a_line_search_of_one_evaluation_finds_a_step) {
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.ls_iterations = 1, o.tolerance = 1e-12, o.iterations = 1000;
  test_run t = solve_hard(NULL, SC_NEWTON, SC_F64, 1e-12, 1);
  optima best = find_optima();
  use_solver(&t, &o);
  solve_run(&t);
  for (int i = 0; i < NENV; i++) check_newton(&t, i, &best, "one evaluation");
  free_optima(&best);
  close_run(&t);
}

Test(stiff, no_hard_problem_changes_with_its_company) {
  EACH_BACKEND(backend) EACH_PRECISION(precision) {
    test_run all = solve_hard(backend, SC_NEWTON, precision, tolerance_of(precision), 1);
    sc_solver_options o;
    sc_solver_options_init(&o);
    o.precision = precision, o.tolerance = tolerance_of(precision);
    test_run one = open_run(backend, 1, precision, o.tolerance, 1);
    use_solver(&one, &o);
    for (int i = 0; i < NENV; i++) {
      test_problem q = make_hard(i);
      CALL(sc_batch_set(one.batch, 0, &q.p));
      solve_run(&one);
      cr_expect(same_bits(&all, i, &one, 0), "%s, precision %d, \"%s\" seed %d: not the same alone", backend, precision,
                name_of(i), i % SEEDS);
      free_problem(&q);
    }
    close_run(&all);
    close_run(&one);
  }
}
