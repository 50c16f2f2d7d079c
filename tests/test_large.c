/* Systems of hundreds of dofs in one environment, which are packed alone: right answers by both methods, and the same bits in
 * any company. slow_large.c goes on where this stops. */
#include "support/large.h"

#ifdef SOFTCON_SANITIZED
enum { BOXES = 45, LINKS = 260, POLISHED = 0 }; /* the verifier is dense, and slow there */
#define COMPANY_BACKEND(name) for (const char *name = "auto"; name; name = NULL)
#else
enum { BOXES = 60, LINKS = 300, POLISHED = 1 };
#define COMPANY_BACKEND(name) EACH_BACKEND(name)
#endif

Test(large, a_pile_of_boxes, .timeout = 300) {
  static const char *const cones[] = {"pyramidal", "elliptic"};
  for (int k = 0; k < 2; k++) large_check("boxes", large_pile(BOXES, 3, cones[k], 3), 100, POLISHED);
}

Test(large, a_chain, .timeout = 300) { large_check("a chain", large_chain(LINKS, "elliptic"), 60, POLISHED); }

/* free bodies of every kind, as many as MuJoCo's scene of primitives has; their M is diagonal */
Test(large, a_hundred_and_twenty_five_free_bodies, .timeout = 300) { large_check("125 free bodies", large_primitives(125, "elliptic"), 120, 0); }

/* ------------------------------------------------------------------ problems without a model */

/* more than one M, dense rows, every kind of row */
static const problem_case cases[] = {
    {"a tree of 270", 270, 8, 20, 20, 8, 8, 8, 8, 1, 0},
    {"everything", 27, 3, 5, 4, 2, 2, 2, 2, 1, 0},
    {"a tree of 261, redundant", 261, 40, 0, 5, 0, 20, 0, 0, 1, 1},
    {"one ball", 3, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"a tree of 300, no rows", 300, 0, 0, 0, 0, 0, 0, 0, 1, 0},
    {"a tree of 257", 257, 0, 10, 30, 20, 0, 10, 0, 2, 0},
};
#define NCASE ((int)(sizeof cases / sizeof *cases))

static test_run open_method(const char *backend, int method, int precision, int threads, int nenv) {
  test_run t = open_run(backend, threads, precision, 1e-12, nenv);
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = method, o.precision = precision, o.tolerance = precision == SC_F64 ? 1e-12 : 1e-8, o.iterations = method == SC_CG ? 3000 : 100;
  use_solver(&t, &o);
  return t;
}

static void set(test_run *t, int env, int k) {
  test_problem q = make_problem(&cases[k], (uint64_t)k);
  q.p.qacc_warmstart = k % 2 ? q.warm : NULL;
  CALL(sc_batch_set(t->batch, env, &q.p));
  free_problem(&q);
}

static int same(const test_run *a, int e, const test_run *b, int f) {
  size_t n = a->r.nv_offset[e + 1] - a->r.nv_offset[e], m = a->r.efc_offset[e + 1] - a->r.efc_offset[e];
  return !memcmp(run_qacc(a, e), run_qacc(b, f), n * sizeof(double)) && (!m || !memcmp(run_force(a, e), run_force(b, f), m * sizeof(double))) &&
         !memcmp(&a->r.gap[e], &b->r.gap[f], sizeof(double)) && a->r.iterations[e] == b->r.iterations[f] && a->r.status[e] == b->r.status[f];
}

Test(large, bits_do_not_depend_on_company, .timeout = 300) {
  COMPANY_BACKEND(backend) EACH_METHOD(method) EACH_PRECISION(precision) {
    test_run all = open_method(backend, method, precision, 1, NCASE), mixed = open_method(backend, method, precision, 3, 2 * NCASE);
    for (int i = 0; i < NCASE; i++) set(&all, i, i), set(&mixed, 2 * (NCASE - 1 - i), i), set(&mixed, 2 * i + 1, (i + 2) % NCASE);
    solve_run(&all);
    solve_run(&mixed);
    for (int i = 0; i < NCASE; i++) {
      test_run one = open_method(backend, method, precision, 1, 1);
      set(&one, 0, i);
      CALL(sc_solver_pack(one.solver, one.batch));
      CALL(sc_solver_run(one.solver));
      CALL(sc_solver_result(one.solver, &one.r));
      cr_expect(same(&all, i, &one, 0), "%s, %s, precision %d: \"%s\" has other bits alone", backend, sc_method_name(method), precision, cases[i].name);
      cr_expect(same(&all, i, &mixed, 2 * (NCASE - 1 - i)), "%s, %s, precision %d: \"%s\" has other bits in other company", backend, sc_method_name(method),
                precision, cases[i].name);
      cr_expect(all.r.status[i] == SC_SOLVED, "%s, %s, precision %d: \"%s\": %s", backend, sc_method_name(method), precision, cases[i].name,
                sc_status_name(all.r.status[i]));
      close_run(&one);
    }
    close_run(&all);
    close_run(&mixed);
  }
}

Test(large, answers_are_within_their_bounds, .timeout = 300) {
  double *best[NCASE] = {0};
  EACH_METHOD(method) EACH_PRECISION(precision) {
    test_run t = open_method(NULL, method, precision, 2, NCASE);
    for (int i = 0; i < NCASE; i++) set(&t, i, i);
    solve_run(&t);
    for (int i = 0; i < NCASE; i++) {
      sc_problem p;
      CALL(sc_batch_get(t.batch, i, &p, NULL));
      if (!best[i]) { /* from Newton's answer in double */
        best[i] = test_numbers(p.nv);
        memcpy(best[i], run_qacc(&t, i), (size_t)p.nv * sizeof(double));
        if (POLISHED) CALL(sc_check_polish(&p, best[i], NULL));
      }
      double error, bound = t.r.qacc_bound[i] * (1 + TOL_BOUND) + (POLISHED ? TOL_F64_QACC : 1e-9);
      CALL(sc_check_error(&p, run_qacc(&t, i), best[i], NULL, NULL, &error, NULL));
      cr_expect(t.r.status[i] == SC_SOLVED && error <= bound, "%s, precision %d: \"%s\": %s, error %g, bound %g", sc_method_name(method), precision,
                cases[i].name, sc_status_name(t.r.status[i]), error, bound);
    }
    close_run(&t);
  }
  for (int i = 0; i < NCASE; i++) free(best[i]);
}

/* M that is not positive definite, and numbers that are not valid, concern their own environment only */
Test(large, what_is_broken_is_named) {
  test_run t = open_method(NULL, SC_NEWTON, SC_F64, 2, 3);
  for (int i = 0; i < 3; i++) {
    test_problem q = make_problem(&cases[0], 5);
    if (i == 1) q.M[200 * 270 + 200] = -1;
    if (i == 2) q.tau[100] = NAN;
    cr_expect_eq(sc_batch_set(t.batch, i, &q.p), i == 2 ? SC_ERROR_VALUE : SC_OK);
    free_problem(&q);
  }
  solve_run(&t);
  static const int expected[] = {SC_SOLVED, SC_NOT_SPD, SC_BAD_INPUT};
  for (int i = 0; i < 3; i++) cr_expect_eq(t.r.status[i], expected[i], "%d: %s", i, sc_status_name(t.r.status[i]));
  close_run(&t);
}

/* forces that belong to the answer: what inverse dynamics finds at it */
Test(large, inverse_dynamics) {
  test_run t = open_method(NULL, SC_NEWTON, SC_F64, 1, 1);
  sc_inverse io;
  set(&t, 0, 0);
  CALL(sc_solver_pack(t.solver, t.batch));
  CALL(sc_solver_run(t.solver));
  CALL(sc_solver_result(t.solver, &t.r));
  size_t nefc = t.r.efc_offset[1];
  double *force = test_numbers((int)nefc), *qfrc = test_numbers(cases[0].nv), largest = 0, worst = 0;
  sc_inverse_init(&io);
  io.efc_force = force, io.qfrc_constraint = qfrc;
  CALL(sc_solver_inverse(t.solver, &io));
  for (size_t i = 0; i < nefc; i++) largest = fmax(largest, fabs(force[i])), worst = fmax(worst, fabs(force[i] - run_force(&t, 0)[i]));
  cr_expect_leq(worst, TOL_FORCE * largest, "forces differ by %g of %g", worst, largest);
  for (int i = 0; i < cases[0].nv; i++)
    cr_expect(fabs(qfrc[i] - t.r.qfrc_constraint[i]) <= TOL_FORCE * (1 + fabs(qfrc[i])), "qfrc_constraint[%d]: %g, %g", i, qfrc[i], t.r.qfrc_constraint[i]);
  free(force);
  free(qfrc);
  close_run(&t);
}
