/* The solver against the independent verifier, over one table of cases. */
#include "support/solve.h"
#include "support/tolerances.h"

#define SEEDS 12

/* environment i of a batch: case i / SEEDS, seed i % SEEDS; warm: 0 none, 1 random, 2 near the optimum */
static void fill(test_run *t, int warm) {
  for (int i = 0; i < NPROBLEM * SEEDS; i++) {
    test_problem q = make_problem(&problem_cases[i / SEEDS], (uint64_t)(i % SEEDS));
    if (warm == 2 && q.p.nv) {
      CALL(sc_check_polish(&q.p, q.warm, NULL));
      for (int k = 0; k < q.p.nv; k++) q.warm[k] *= 1 + 1e-4 * (k % 3 - 1);
    }
    q.p.qacc_warmstart = warm ? q.warm : NULL;
    CALL(sc_batch_set(t->batch, i, &q.p));
    free_problem(&q);
  }
}

static const char *name_of(int env) { return problem_cases[env / SEEDS].name; }

/* forces those of the acceleration, as far as its rounding leaves them alone, and within bounds; objective P(qacc) */
static void check_answers(const test_run *t, const char *backend, double tolerance) {
  for (int i = 0; i < t->r.nenv; i++) {
    sc_problem p;
    sc_check_report c;
    CALL(sc_batch_get(t->batch, i, &p, NULL));
    CALL(sc_check(&p, run_qacc(t, i), run_force(t, i), &c));
    cr_expect_leq(c.force_error, tolerance, "%s, \"%s\" seed %d: row %d: force is off by %g", backend, name_of(i), i % SEEDS, c.worst_row, c.force_error);
    cr_expect_leq(c.cone_error, TOL_FORCE, "%s, \"%s\" seed %d: row %d: force is out of bounds by %g", backend, name_of(i), i % SEEDS, c.worst_row, c.cone_error);
    cr_expect(fabs(c.objective - t->r.objective[i]) <= 1e-9 * (1 + fabs(c.objective)), "%s, \"%s\" seed %d: objective %.17g, not %.17g", backend,
              name_of(i), i % SEEDS, t->r.objective[i], c.objective);
  }
}

static void check_double(const char *backend, int precision, int warm) {
  test_run t = open_run(backend, 2, precision, 1e-15, NPROBLEM * SEEDS);
  double worst = 0;
  int where = 0;
  fill(&t, warm);
  solve_run(&t);
  check_answers(&t, backend, TOL_FORCE);
  for (int i = 0; i < t.r.nenv; i++) {
    double error = run_error(&t, i);
    if (!(error <= worst)) worst = error, where = i;
    cr_expect_eq(t.r.status[i], SC_SOLVED, "%s, precision %d, \"%s\" seed %d: %s after %d iterations, gap %g, floor %g", backend, precision, name_of(i), i % SEEDS,
                 sc_status_name(t.r.status[i]), t.r.iterations[i], t.r.gap[i], t.r.gap_floor[i]);
  }
  cr_expect_leq(worst, TOL_F64_QACC, "%s, precision %d, warm start %d, \"%s\" seed %d: error %g", backend, precision, warm, name_of(where), where % SEEDS, worst);
  close_run(&t);
}

Test(solver, double_precision_reaches_the_optimum) {
  EACH_BACKEND(backend) check_double(backend, SC_F64, 0);
}

Test(solver, mixed_precision_reaches_it_too) {
  EACH_BACKEND(backend) check_double(backend, SC_MIXED, 0);
}

Test(solver, any_warm_start_leads_there) {
  for (int warm = 1; warm <= 2; warm++) {
    check_double("auto", SC_F64, warm);
    check_double("auto", SC_MIXED, warm);
  }
}

/* H is factored by iterations only: 0 of them, and the start as the answer, is to leave before */
static void check_leaves_at_once(int method, int precision, const problem_case *c, test_problem *q, const double *start) {
  test_run t = open_run(NULL, 1, precision, 1e-8, 1);
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = method, o.precision = precision;
  use_solver(&t, &o);
  CALL(sc_batch_set(t.batch, 0, &q->p));
  solve_run(&t);
  const char *name = sc_method_name(method);
  cr_expect_eq(t.r.iterations[0], 0, "%s, \"%s\": %d iterations", name, c->name, t.r.iterations[0]);
  cr_expect_eq(t.r.status[0], SC_SOLVED, "%s, \"%s\": %s, gap %g", name, c->name, sc_status_name(t.r.status[0]), t.r.gap[0]);
  for (int i = 0; i < q->p.nv; i++) {
    double want = precision == SC_F32 ? (double)(float)start[i] : start[i];
    cr_expect(run_qacc(&t, 0)[i] == want, "%s, \"%s\": qacc[%d] is %.17g, started at %.17g", name, c->name, i, run_qacc(&t, 0)[i], want);
  }
  close_run(&t);
}

Test(solver, a_warm_start_at_the_optimum_costs_no_iteration) {
  EACH_METHOD(method)
  for (int k = 3; k < NPROBLEM; k++) { /* without rows the answer is qacc_smooth, not the warm start */
    test_problem q = make_problem(&problem_cases[k], 3);
    CALL(sc_check_polish(&q.p, q.warm, NULL));
    q.p.qacc_warmstart = q.warm;
    check_leaves_at_once(method, SC_F64, &problem_cases[k], &q, q.warm);
    free_problem(&q);
  }
}

/* aref such that no row has a force at an acceleration: open contacts and limits, equalities and dry friction at rest */
static void take_forces_away(test_problem *q, const double *a) {
  for (int r = 0, contact = 0, rows = 0; r < q->p.nefc; r++) {
    int cone = q->type[r] == SC_CONTACT_ELLIPTIC || q->type[r] == SC_CONTACT_PYRAMIDAL, elliptic = q->type[r] == SC_CONTACT_ELLIPTIC;
    int first = cone && rows == 0;
    if (first) rows = elliptic ? q->dim[contact] : 2 * (q->dim[contact] - 1);
    if (first) contact++;
    if (cone) rows--;
    int open = elliptic ? first : q->type[r] >= SC_LIMIT_JOINT; /* of an elliptic contact the normal, its tangents at rest */
    q->aref[r] = -open;
    for (int i = 0; i < q->p.nv; i++) q->aref[r] += q->J[r * q->p.nv + i] * a[i];
  }
}

Test(solver, a_start_without_forces_costs_no_iteration) {
  EACH_METHOD(method) EACH_PRECISION(precision)
  for (int k = 2; k < NPROBLEM; k++) {
    /* in float two-sided rows at rest are at rest to rounding only */
    if (precision != SC_F64 && (problem_cases[k].ne || problem_cases[k].nf)) continue;
    test_problem q = make_problem(&problem_cases[k], 5);
    for (int i = 0; i < q.p.nv; i++) q.s[i] = (double)(float)(0.5 * sin(i + 1));
    take_forces_away(&q, q.s);
    q.p.qfrc_smooth = NULL, q.p.qacc_smooth = q.s, q.p.qacc_warmstart = q.warm;
    check_leaves_at_once(method, precision, &problem_cases[k], &q, q.s);
    free_problem(&q);
  }
}

static int ascending(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

Test(solver, float_is_accurate_where_it_says_so) {
  EACH_BACKEND(backend) {
    test_run t = open_run(backend, 2, SC_F32, 1e-8, NPROBLEM * SEEDS);
    double errors[NPROBLEM * SEEDS];
    int solved = 0;
    fill(&t, 1);
    solve_run(&t);
    check_answers(&t, backend, TOL_F32_FORCE);
    for (int i = 0; i < t.r.nenv; i++) {
      errors[i] = run_error(&t, i);
      if (t.r.status[i] != SC_SOLVED) continue;
      solved++;
      cr_expect_leq(errors[i], TOL_F32_QACC_WORST, "%s, \"%s\" seed %d: solved, but the error is %g", backend, name_of(i), i % SEEDS, errors[i]);
      cr_expect_leq(errors[i], t.r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "%s, \"%s\" seed %d: error %g is beyond its bound %g", backend,
                    name_of(i), i % SEEDS, errors[i], t.r.qacc_bound[i]);
    }
    qsort(errors, NPROBLEM * SEEDS, sizeof *errors, ascending);
    cr_expect_leq(errors[NPROBLEM * SEEDS / 2], TOL_F32_QACC_MEDIAN, "%s: median error %g", backend, errors[NPROBLEM * SEEDS / 2]);
    cr_expect_geq(solved, TOL_F32_SOLVED * t.r.nenv, "%s: %d of %d solved", backend, solved, t.r.nenv);
    close_run(&t);
  }
}

/* a batch too stiff for float; the rows' D are larger in every second environment */
static test_run stiff_run(int precision, int retry) {
  test_run t = open_run(NULL, 2, precision, 1e-8, NPROBLEM * SEEDS);
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.precision = precision, o.retry = retry;
  sc_solver_destroy(t.solver);
  CALL(sc_solver_create(t.context, &o, &t.solver));
  for (int i = 0; i < NPROBLEM * SEEDS; i++) {
    test_problem q = make_problem(&problem_cases[i / SEEDS], (uint64_t)(i % SEEDS));
    for (int k = 0; i % 2 && k < q.p.nefc; k++) q.D[k] *= 1e5;
    CALL(sc_batch_set(t.batch, i, &q.p));
    free_problem(&q);
  }
  solve_run(&t);
  return t;
}

static int same_answer(const test_run *a, const test_run *b, int i) {
  size_t n = a->r.nv_offset[i + 1] - a->r.nv_offset[i];
  return a->r.status[i] == b->r.status[i] && !memcmp(run_qacc(a, i), run_qacc(b, i), n * sizeof(double));
}

/* what float solves is float's answer; the rest is the answer in double, with a flag and both iterations */
Test(solver, what_float_leaves_unsolved_is_solved_in_double) {
  test_run once = stiff_run(SC_F32, 0), twice = stiff_run(SC_F32, 1), in_double = stiff_run(SC_F64, 1);
  int retried = 0, left = 0;
  for (int i = 0; i < NPROBLEM * SEEDS; i++) {
    int again = once.r.status[i] != SC_SOLVED, flag = (twice.r.flags[i] & SC_RETRIED_F64) != 0;
    int iterations = once.r.iterations[i] + (again ? in_double.r.iterations[i] : 0);
    cr_expect_eq(flag, again, "\"%s\" seed %d: flag %d, but float said %s", name_of(i), i % SEEDS, flag, sc_status_name(once.r.status[i]));
    cr_expect_eq(twice.r.iterations[i], iterations, "\"%s\" seed %d: %d iterations, not %d", name_of(i), i % SEEDS, twice.r.iterations[i], iterations);
    cr_expect(same_answer(&twice, again ? &in_double : &once, i), "\"%s\" seed %d: not the answer of %s", name_of(i), i % SEEDS, again ? "double" : "float");
    cr_expect(!(once.r.flags[i] & SC_RETRIED_F64) && !(in_double.r.flags[i] & SC_RETRIED_F64), "\"%s\" seed %d: flagged without a retry", name_of(i), i % SEEDS);
    retried += again, left += !again;
  }
  cr_expect(retried > SEEDS && left > SEEDS, "%d retried, %d not", retried, left);
  close_run(&once);
  close_run(&twice);
  close_run(&in_double);
}

/* qfrc_smooth such that a given acceleration is the optimum: M a - J' f(J a - aref). Then nothing but a may come out */
Test(solver, finds_the_optimum_a_problem_was_made_from) {
  for (int k = 2; k < NPROBLEM; k++) {
    test_run t = open_run(NULL, 1, SC_F64, 1e-15, 1);
    test_problem q = make_problem(&problem_cases[k], 99);
    int n = q.p.nv, m = q.p.nefc;
    double *a = test_numbers(n), *f = test_numbers(m), error;
    for (int i = 0; i < n; i++) a[i] = q.warm[i] * 30;
    q.p.qacc_warmstart = NULL;
    CALL(sc_batch_set(t.batch, 0, &q.p));
    /* f at a: what the verifier's polish returns for a problem whose inertia holds a where it is */
    sc_problem stiff = q.p;
    double *M = test_numbers(n * n), *tau = test_numbers(n);
    for (int i = 0; i < n; i++) M[i * n + i] = 1e30, tau[i] = 1e30 * a[i];
    stiff.M = M, stiff.qfrc_smooth = tau;
    double *at = test_numbers(n);
    memcpy(at, a, (size_t)n * sizeof *at);
    CALL(sc_check_polish(&stiff, at, f));
    for (int i = 0; i < n; i++) {
      q.tau[i] = 0;
      for (int j = 0; j < n; j++) q.tau[i] += q.M[i * n + j] * a[j];
      for (int r = 0; r < m; r++) q.tau[i] -= q.J[r * n + i] * f[r];
    }
    CALL(sc_batch_set(t.batch, 0, &q.p));
    solve_run(&t);
    CALL(sc_check_error(&q.p, run_qacc(&t, 0), a, NULL, NULL, &error, NULL));
    cr_expect_leq(error, 1e-10, "\"%s\": error %g", problem_cases[k].name, error);
    double *all[] = {a, f, M, tau, at};
    for (int i = 0; i < 5; i++) free(all[i]);
    free_problem(&q);
    close_run(&t);
  }
}

Test(solver, without_rows_qacc_is_qacc_smooth) {
  EACH_PRECISION(precision) {
    test_run t = open_run(NULL, 1, precision, 1e-8, 2);
    double M[4] = {2, 0, 0, 3}, smooth[2] = {0.1, -1. / 3}, warm[2] = {5, 5};
    sc_problem p;
    sc_problem_init(&p);
    p.nv = 2, p.M = M, p.qacc_smooth = smooth, p.qacc_warmstart = warm;
    CALL(sc_batch_set(t.batch, 1, &p));
    solve_run(&t);
    cr_expect_arr_eq(run_qacc(&t, 1), smooth, sizeof smooth, "precision %d", precision);
    cr_expect_eq(t.r.status[0], SC_SOLVED, "an environment that was never set is empty");
    cr_expect_eq(t.r.status[1], SC_SOLVED);
    close_run(&t);
  }
}

Test(solver, an_empty_batch_is_legal) {
  test_run t = open_run(NULL, 2, SC_F32, 1e-8, 0);
  solve_run(&t);
  cr_expect_eq(t.r.nenv, 0);
  close_run(&t);
}

Test(solver, options_out_of_range_are_named) {
  sc_context *context;
  sc_solver *solver;
  CALL(sc_context_create(NULL, &context));
#define REFUSED(field, value, text)                                                           \
  do {                                                                                        \
    sc_solver_options o;                                                                      \
    sc_solver_options_init(&o);                                                               \
    o.field = value;                                                                          \
    cr_expect(sc_solver_create(context, &o, &solver) < 0 && solver == NULL, #field);          \
    cr_expect(strstr(sc_error_text(), text) != NULL, "\"%s\" lacks \"%s\"", sc_error_text(), text); \
  } while (0)
  REFUSED(size, 3, "size");
  REFUSED(method, 7, "method is 7");
  REFUSED(precision, -1, "precision is -1");
  REFUSED(precision, SC_NPRECISION, "precision is 3");
  REFUSED(iterations, -1, "iterations is -1");
  REFUSED(ls_iterations, 0, "ls_iterations is 0");
  REFUSED(tolerance, -1e-3, "tolerance is -0.001");
  REFUSED(tolerance, NAN, "tolerance");
  REFUSED(ls_tolerance, 1, "ls_tolerance is 1");
  cr_expect(sc_solver_create(context, NULL, NULL) < 0);
  cr_expect(sc_solver_create(NULL, NULL, &solver) < 0);
  sc_context_destroy(context);
}

Test(solver, running_before_packing_is_an_error) {
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  sc_result r;
  cr_expect_eq(sc_solver_run(t.solver), SC_ERROR_ARGUMENT);
  cr_expect_eq(sc_solver_result(t.solver, &r), SC_ERROR_ARGUMENT);
  close_run(&t);
}

Test(context, unknown_backends_and_thread_counts_are_refused) {
  sc_context *context;
  sc_context_options o;
  sc_context_options_init(&o);
  o.backend = "abacus";
  cr_expect_eq(sc_context_create(&o, &context), SC_ERROR_DEVICE);
  cr_expect(strstr(sc_error_text(), "abacus") != NULL, "%s", sc_error_text());
  sc_context_options_init(&o);
  o.threads = -2;
  cr_expect_eq(sc_context_create(&o, &context), SC_ERROR_ARGUMENT);
}
