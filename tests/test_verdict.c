/* The verdict: what the certificate promises holds, and what is broken is named and harms nobody. */
#include "support/solve.h"
#include "support/tolerances.h"

#define SEEDS 8

/* P(a) - P* <= gap and 1/2 |a - a*|_M^2 <= gap, with the verifier's optimum; after `iterations` steps only */
static void check_bounds(int precision, int iterations) {
  sc_context *context;
  sc_batch *batch;
  sc_solver *solver;
  sc_result r;
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.precision = precision, o.iterations = iterations;
  CALL(sc_context_create(NULL, &context));
  CALL(sc_batch_create(context, NPROBLEM * SEEDS, &batch));
  CALL(sc_solver_create(context, &o, &solver));
  for (int i = 0; i < NPROBLEM * SEEDS; i++) {
    test_problem q = make_problem(&problem_cases[i / SEEDS], (uint64_t)(i % SEEDS) + 500);
    CALL(sc_batch_set(batch, i, &q.p));
    free_problem(&q);
  }
  CALL(sc_solve(solver, batch));
  CALL(sc_solver_result(solver, &r));
  for (int i = 0; i < r.nenv; i++) {
    const char *name = problem_cases[i / SEEDS].name;
    sc_problem p;
    sc_check_report here, best;
    CALL(sc_batch_get(batch, i, &p, NULL));
    double *a = test_numbers(p.nv), error;
    const double *answer = r.qacc + r.nv_offset[i];
    memcpy(a, answer, (size_t)p.nv * sizeof *a);
    CALL(sc_check_polish(&p, a, NULL));
    CALL(sc_check(&p, a, NULL, &best));
    CALL(sc_check(&p, answer, NULL, &here));
    CALL(sc_check_error(&p, answer, a, NULL, NULL, &error, NULL));
    double rounding = r.gap_floor[i] + 1e-13 * fabs(best.objective);
    cr_expect(here.objective - best.objective <= r.gap[i] * (1 + TOL_BOUND) + rounding, "\"%s\" seed %d: P - P* = %g, gap %g", name, i % SEEDS,
              here.objective - best.objective, r.gap[i]);
    cr_expect(error <= r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "\"%s\" seed %d: error %g, bound %g", name, i % SEEDS, error, r.qacc_bound[i]);
    /* rounding moves g by at most e, and so its norm, the root of 2 gap, by at most that of 2 floor */
    cr_expect(fabs(sqrt(here.gap) - sqrt(r.gap[i])) <= TOL_GAP * sqrt(here.gap) + sqrt(r.gap_floor[i]), "\"%s\" seed %d: gap %g, verifier's %g", name, i % SEEDS, r.gap[i], here.gap);
    cr_expect(fabs(r.qacc_bound[i] * sqrt(here.gap) - here.qacc_bound * sqrt(r.gap[i])) <= TOL_GAP * here.qacc_bound * sqrt(r.gap[i]),
              "\"%s\" seed %d: bound %g for gap %g, verifier's %g for %g", name, i % SEEDS, r.qacc_bound[i], r.gap[i], here.qacc_bound, here.gap);
    int good = here.scale * here.gap <= o.tolerance * (1 + TOL_GAP) ||
               (here.gap <= r.gap_floor[i] * (1 + TOL_GAP) + 1e-300 && here.qacc_bound <= 1e-2);
    cr_expect(r.status[i] != SC_SOLVED || good, "\"%s\" seed %d: called solved with gap %g, floor %g, bound %g", name, i % SEEDS, here.gap,
              r.gap_floor[i], here.qacc_bound);
    free(a);
  }
  sc_solver_destroy(solver);
  sc_batch_destroy(batch);
  sc_context_destroy(context);
}

Test(verdict, bounds_hold_at_every_stage) {
  for (int iterations = 0; iterations <= 4; iterations++) {
    EACH_PRECISION(precision) check_bounds(precision, iterations);
  }
  EACH_PRECISION(precision) check_bounds(precision, 100);
}

Test(verdict, an_unfinished_solve_says_iteration_limit) {
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  test_problem q = make_problem(&problem_cases[13], 1);
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.iterations = 1;
  sc_solver_destroy(t.solver);
  CALL(sc_solver_create(t.context, &o, &t.solver));
  CALL(sc_batch_set(t.batch, 0, &q.p));
  solve_run(&t);
  cr_expect_eq(t.r.status[0], SC_ITERATION_LIMIT, "%s", sc_status_name(t.r.status[0]));
  cr_expect_eq(t.r.iterations[0], 1);
  free_problem(&q);
  close_run(&t);
}

/* one way to break a problem, and the verdict it must get */
typedef struct {
  const char *name;
  void (*harm)(test_problem *q);
  int status;
} harm;

static void nan_inertia(test_problem *q) { q->M[3] = q->M[3 * q->p.nv] = NAN; }
static void nan_force(test_problem *q) { q->tau[1] = NAN; }
static void infinite_jacobian(test_problem *q) { q->J[2] = INFINITY; }
static void nan_aref(test_problem *q) { q->aref[0] = NAN; }
static void no_mass(test_problem *q) {
  for (int i = 0; i < q->p.nv; i++) q->M[i] = q->M[i * q->p.nv] = 0;
}
static void negative_mass(test_problem *q) { q->M[0] = -1; }
static void singular(test_problem *q) { /* the last dof repeats the one before */
  int n = q->p.nv;
  for (int i = 0; i < n; i++) q->M[(n - 1) * n + i] = q->M[(n - 2) * n + i];
  for (int i = 0; i < n; i++) q->M[i * n + n - 1] = q->M[i * n + n - 2];
  q->M[n * n - 1] = q->M[(n - 2) * n + n - 2];
}
static void huge_force(test_problem *q) { q->tau[0] = 1e308; }

static const harm harms[] = {
    {"NaN in M", nan_inertia, SC_BAD_INPUT},         {"NaN in qfrc_smooth", nan_force, SC_BAD_INPUT},
    {"Inf in J", infinite_jacobian, SC_BAD_INPUT},   {"NaN in aref", nan_aref, SC_BAD_INPUT},
    {"a dof without mass", no_mass, SC_NOT_SPD},     {"a negative mass", negative_mass, SC_NOT_SPD},
    {"singular M", singular, SC_NOT_SPD},            {"a force beyond arithmetic", huge_force, SC_NOT_FINITE},
};
#define NHARM ((int)(sizeof harms / sizeof *harms))

Test(verdict, broken_environments_are_named_and_harm_nobody) {
  EACH_BACKEND(backend) EACH_PRECISION(precision) {
    test_run well = open_run(backend, 1, precision, 1e-8, 2 * NHARM), ill = open_run(backend, 1, precision, 1e-8, 2 * NHARM);
    for (int i = 0; i < 2 * NHARM; i++) {
      test_problem q = make_problem(&problem_cases[13], (uint64_t)i);
      CALL(sc_batch_set(well.batch, i, &q.p));
      if (i % 2) harms[i / 2].harm(&q);
      int code = sc_batch_set(ill.batch, i, &q.p);
      cr_expect_eq(code, i % 2 && harms[i / 2].status == SC_BAD_INPUT ? SC_ERROR_VALUE : SC_OK, "%s: %s", harms[i / 2].name, sc_error_text());
      free_problem(&q);
    }
    solve_run(&well);
    solve_run(&ill);
    for (int i = 0; i < 2 * NHARM; i++) {
      size_t n = well.r.nv_offset[i + 1] - well.r.nv_offset[i];
      if (i % 2) {
        cr_expect_eq(ill.r.status[i], harms[i / 2].status, "%s, %s: %s", backend, harms[i / 2].name, sc_status_name(ill.r.status[i]));
        for (size_t k = 0; k < n; k++) cr_expect(isnan(run_qacc(&ill, i)[k]), "%s, %s: qacc[%zu]", backend, harms[i / 2].name, k);
        cr_expect(isnan(ill.r.gap[i]));
      } else {
        cr_expect(!memcmp(run_qacc(&well, i), run_qacc(&ill, i), n * sizeof(double)), "%s: environment %d was changed by its neighbours", backend, i);
      }
    }
    close_run(&well);
    close_run(&ill);
  }
}

/* 1/2 e' M^-1 e, M dense; e is overwritten by L^-1 e */
static double half_inverse_norm(const double *M, int n, double *e) {
  double *L = test_numbers(n * n), s = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double t = M[i * n + j];
      for (int k = 0; k < j; k++) t -= L[i * n + k] * L[j * n + k];
      L[i * n + j] = i == j ? sqrt(t) : t / L[j * n + j];
    }
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++) e[i] -= L[i * n + k] * e[k];
    e[i] /= L[i * n + i];
    s += e[i] * e[i] / 2;
  }
  free(L);
  return s;
}

/* the floor's definition: e = 4 u (|M||a| + |tau| + |J|'(|f| + D (|J||a| + |aref|))) */
static double floor_of(const test_problem *q, const double *a, const double *f, double u) {
  int n = q->p.nv;
  double *e = test_numbers(n);
  for (int i = 0; i < n; i++) {
    e[i] = fabs(q->tau[i]);
    for (int j = 0; j < n; j++) e[i] += fabs(q->M[i * n + j] * a[j]);
  }
  for (int r = 0; r < q->p.nefc; r++) {
    double y = fabs(q->aref[r]);
    for (int j = 0; j < n; j++) y += fabs(q->J[r * n + j] * a[j]);
    for (int i = 0; i < n; i++) e[i] += fabs(q->J[r * n + i]) * (fabs(f[r]) + q->D[r] * y);
  }
  for (int i = 0; i < n; i++) e[i] *= 4 * u;
  double floor = half_inverse_norm(q->M, n, e);
  free(e);
  return floor;
}

Test(verdict, the_floor_is_what_rounding_can_leave) {
  EACH_PRECISION(precision) {
    test_run t = open_run(NULL, 1, precision, 1e-8, NPROBLEM);
    test_problem q[NPROBLEM];
    int in_float = 0;
    for (int i = 0; i < NPROBLEM; i++) {
      q[i] = make_problem(&problem_cases[i], 900);
      CALL(sc_batch_set(t.batch, i, &q[i].p));
    }
    solve_run(&t);
    for (int i = 0; i < NPROBLEM; i++) {
      int single = precision == SC_F32 && !(t.r.flags[i] & SC_RETRIED_F64);
      double want = floor_of(&q[i], run_qacc(&t, i), run_force(&t, i), single ? 0x1p-24 : 0x1p-53);
      in_float += single;
      cr_expect(fabs(t.r.gap_floor[i] - want) <= TOL_FLOOR * want, "\"%s\", %s: floor %g, not %g", problem_cases[i].name, single ? "f32" : "f64",
                t.r.gap_floor[i], want);
      free_problem(&q[i]);
    }
    cr_expect(precision != SC_F32 || in_float > NPROBLEM / 2, "%d floors of float", in_float);
    close_run(&t);
  }
}

/* forces keep their bounds whatever the verdict: too stiff for float, and stopped early */
Test(verdict, forces_of_unfinished_solves_keep_their_bounds) {
  EACH_PRECISION(precision) for (int iterations = 1; iterations <= 100; iterations += 33) {
    test_run t = open_run(NULL, 1, precision, 1e-8, NPROBLEM * SEEDS);
    sc_solver_options o;
    sc_solver_options_init(&o);
    o.precision = precision, o.iterations = iterations, o.retry = 0;
    sc_solver_destroy(t.solver);
    CALL(sc_solver_create(t.context, &o, &t.solver));
    for (int i = 0; i < NPROBLEM * SEEDS; i++) {
      test_problem q = make_problem(&problem_cases[i / SEEDS], (uint64_t)(i % SEEDS));
      for (int k = 0; k < q.p.nefc; k++) q.D[k] *= 1e4;
      CALL(sc_batch_set(t.batch, i, &q.p));
      free_problem(&q);
    }
    solve_run(&t);
    for (int i = 0; i < t.r.nenv; i++) {
      sc_problem p;
      sc_check_report c;
      if (t.r.status[i] > SC_STALLED) continue;
      CALL(sc_batch_get(t.batch, i, &p, NULL));
      CALL(sc_check(&p, run_qacc(&t, i), run_force(&t, i), &c));
      cr_expect_leq(c.cone_error, 1e-14, "\"%s\" seed %d, precision %d, %d iterations, %s: row %d is out of bounds by %g", problem_cases[i / SEEDS].name,
                    i % SEEDS, precision, iterations, sc_status_name(t.r.status[i]), c.worst_row, c.cone_error);
    }
    close_run(&t);
  }
}
