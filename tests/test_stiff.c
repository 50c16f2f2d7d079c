/* Float, mixed precision and double where numbers are hardest: stiff contacts, hardly any friction, masses, forces and rows of
 * scales far apart. Whatever the method says must be finite and hold against the optimum in extended precision, and the second
 * try in double must be taken, flagged and counted where it is needed, and nowhere else. */
#include "support/contact.h"
#include "support/hard.h"
#include "support/stiff.h"
#include "support/tolerances.h"

#include <stdio.h>

/* ------------------------------------------------------------------ what is solved, and how */

/* every environment by one method, precision and kind of pack */
static test_run solve_hard(const char *backend, int method, int precision, double tolerance, int retry) {
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = method, o.precision = precision, o.tolerance = tolerance, o.retry = retry;
  o.iterations = method == SC_NEWTON ? 100 : 400;
  test_run t = open_run(backend, 2, precision, tolerance, HARD_ENVS);
  use_solver(&t, &o);
  for (int i = 0; i < HARD_ENVS; i++) set_hard(t.batch, i, i);
  solve_run(&t);
  return t;
}

/* The optima and their forces, in extended precision; NULL where even that does not resolve the problem. */
typedef struct { double *qacc[HARD_ENVS], *force[HARD_ENVS]; } optima;

static optima find_optima(void) {
  optima best;
  test_run t = solve_hard(NULL, SC_NEWTON, SC_F64, 1e-15, 1);
  for (int i = 0; i < HARD_ENVS; i++) {
    sc_problem p;
    CALL(sc_batch_get(t.batch, i, &p, NULL));
    best.qacc[i] = test_numbers(p.nv), best.force[i] = test_numbers(p.nefc);
    memcpy(best.qacc[i], run_qacc(&t, i), (size_t)p.nv * sizeof(double));
    if (sc_check_polish(&p, best.qacc[i], best.force[i]) == SC_OK) continue;
    cr_assert(hard_of(i)->beyond, "%s: %s", hard_text(i), sc_error_text());
    free(best.qacc[i]), free(best.force[i]);
    best.qacc[i] = best.force[i] = NULL;
  }
  close_run(&t);
  return best;
}

static void free_optima(optima *best) {
  for (int i = 0; i < HARD_ENVS; i++) free(best->qacc[i]), free(best->force[i]);
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
  cr_expect(error <= bound * (1 + TOL_BOUND) + TOL_FORCE, "%s, %s: forces off by %g, the gap allows %g", what,
            hard_text(i), error,
            bound);
}

/* a verdict that the verifier shares, and an error within the bound */
static void check_verdict(const test_run *t, int i, const optima *best, double tolerance, const char *what) {
  const char *status = sc_status_name(t->r.status[i]);
  double bound = t->r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, floor = t->r.gap_floor[i], error = 0;
  sc_problem p;
  sc_check_report c;
  CALL(sc_batch_get(t->batch, i, &p, NULL));
  CALL(sc_check(&p, run_qacc(t, i), run_force(t, i), &c)); /* refuses what is not finite */
  if (best->qacc[i]) CALL(sc_check_error(&p, run_qacc(t, i), best->qacc[i], NULL, NULL, &error, NULL));
  cr_expect_leq(error, bound, "%s, %s: %s, error %g is beyond its bound %g", what, hard_text(i), status, error, bound);
  cr_expect_leq(c.cone_error, TOL_FORCE, "%s, %s: row %d: force is out of bounds by %g", what, hard_text(i),
                c.worst_row, c.cone_error);
  if (best->qacc[i]) check_forces(t, i, best, what);
  if (t->r.status[i] == SC_SOLVED) {
    int within = c.scale * c.gap <= tolerance * (1 + TOL_GAP),
        at_floor = c.gap <= TOL_FLOOR_GAP * floor && c.qacc_bound <= TOL_FLOOR_BOUND;
    cr_expect(within || at_floor, "%s, %s: solved, but the gap is %g, the floor %g", what, hard_text(i),
              c.gap, floor);
  } else {
    int says_why = t->r.status[i] == SC_ITERATION_LIMIT || t->r.status[i] == SC_STALLED || t->r.status[i] == SC_INACCURATE;
    cr_expect(says_why, "%s, %s: %s", what, hard_text(i), status);
  }
}

/* Newton's method gets everywhere, but where double itself does not */
static void check_newton(const test_run *t, int i, const char *what) {
  cr_expect(t->r.status[i] == SC_SOLVED || hard_of(i)->beyond, "%s, %s: %s after %d iterations, gap %g, floor %g", what, hard_text(i),
            sc_status_name(t->r.status[i]), t->r.iterations[i], t->r.gap[i], t->r.gap_floor[i]);
}

static double tolerance_of(int precision) { return precision == SC_F32 ? 1e-8 : 1e-12; }

static void check_method(const char *backend, int method, const optima *best) {
  EACH_PRECISION(precision) {
    char what[80];
    int solved = 0, retried = 0;
    snprintf(what, sizeof what, "%s, %s, precision %d", backend, sc_method_name(method), precision);
    test_run t = solve_hard(backend, method, precision, tolerance_of(precision), 1);
    for (int i = 0; i < HARD_ENVS; i++) {
      check_verdict(&t, i, best, tolerance_of(precision), what);
      if (method == SC_NEWTON) check_newton(&t, i, what);
      solved += t.r.status[i] == SC_SOLVED, retried += (t.r.flags[i] & SC_RETRIED_F64) != 0;
    }
    printf("%s: %d of %d solved, %d of them tried again in double\n", what, solved, HARD_ENVS, retried);
    cr_expect_geq(solved, TOL_HARD_SOLVED * HARD_ENVS, "%s: %d of %d solved", what, solved, HARD_ENVS);
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

/* without the second try float must know what it has not solved */
Test(stiff, float_alone_is_honest) {
  optima best = find_optima();
  EACH_BACKEND(backend) {
    test_run t = solve_hard(backend, SC_NEWTON, SC_F32, tolerance_of(SC_F32), 0);
    int solved = 0;
    for (int i = 0; i < HARD_ENVS; i++) {
      check_verdict(&t, i, &best, tolerance_of(SC_F32), backend);
      solved += t.r.status[i] == SC_SOLVED;
    }
    cr_expect_geq(solved, TOL_HARD_SOLVED * HARD_ENVS, "%s, float alone: %d of %d solved", backend, solved, HARD_ENVS);
    close_run(&t);
  }
  free_optima(&best);
}

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
  for (int i = 0; i < HARD_ENVS; i++) {
    int unsolved = once.r.status[i] != SC_SOLVED, again = (twice.r.flags[i] & SC_RETRIED_F64) != 0;
    int keeps = !again || (!unsolved && in_double.r.status[i] != SC_SOLVED);
    int iterations = once.r.iterations[i] + (again ? in_double.r.iterations[i] : 0);
    cr_expect(again == unsolved || (again && precision == SC_MIXED),
              "%s, precision %d, %s: flag %d, but float alone said %s", name, precision,
              hard_text(i), again, sc_status_name(once.r.status[i]));
    cr_expect_eq(twice.r.iterations[i], iterations, "%s, precision %d, %s: %d iterations, not %d", name, precision,
                 hard_text(i),
                 twice.r.iterations[i], iterations);
    cr_expect(same_answer(&twice, keeps ? &once : &in_double, i), "%s, precision %d, %s: not the answer of %s", name,
              precision, hard_text(i), keeps ? "float" : "double");
    cr_expect(!((once.r.flags[i] | in_double.r.flags[i]) & SC_RETRIED_F64), "%s, %s: flagged without a second try",
              name, hard_text(i));
    retried += again;
  }
  cr_expect(retried >= HARD_SEEDS && retried < HARD_ENVS, "%s, precision %d: %d of %d tried again", name, precision, retried, HARD_ENVS);
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
  use_solver(&t, &o);
  solve_run(&t);
  for (int i = 0; i < HARD_ENVS; i++) check_newton(&t, i, "one evaluation");
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
    for (int i = 0; i < HARD_ENVS; i++) {
      set_hard(one.batch, 0, i);
      solve_run(&one);
      cr_expect(same_bits(&all, i, &one, 0), "%s, precision %d, %s: not the same alone", backend, precision,
                hard_text(i));
    }
    close_run(&all);
    close_run(&one);
  }
}
