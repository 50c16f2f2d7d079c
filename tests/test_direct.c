/* Equalities alone, by one linear system: redundant ones, contradictory ones, many, and the refusal of anything else. */
#include "support/contact.h"
#include "support/tolerances.h"

#define SIZES 8
#define SEEDS 6
#define NENV (SIZES * SEEDS)
#define LARGE 7 /* whose rows are more than direct forms a matrix for */

/* dofs, rows, redundant: see problem_case. D over several decades */
static const problem_case cases[SIZES] = {
    {"one row", 1, 1, 0, 0, 0, 0, 0, 0, 0, 0},           {"no rows", 5, 0, 0, 0, 0, 0, 0, 0, 1, 0},       {"few", 9, 7, 0, 0, 0, 0, 0, 0, 1, 0},
    {"redundant", 8, 12, 0, 0, 0, 0, 0, 0, 1, 1},        {"wide scales", 14, 13, 0, 0, 0, 0, 0, 0, 5, 0}, {"redundant, wide scales", 12, 20, 0, 0, 0, 0, 0, 0, 4, 1},
    {"many on few", 6, 90, 0, 0, 0, 0, 0, 0, 1, 1},      {"very many", 24, 300, 0, 0, 0, 0, 0, 0, 1, 0},
};

static test_run open_direct(const char *backend, int threads, int precision, double tolerance, int nenv) {
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = SC_DIRECT, o.precision = precision, o.tolerance = tolerance, o.iterations = 5000;
  test_run t = open_run(backend, threads, precision, tolerance, nenv);
  use_solver(&t, &o);
  return t;
}

static void set(const test_run *t, int env, int which) {
  test_problem q = make_problem(&cases[which / SEEDS], (uint64_t)(which % SEEDS));
  q.p.qacc_warmstart = which % 2 ? q.warm : NULL;
  CALL(sc_batch_set(t->batch, env, &q.p));
  free_problem(&q);
}

static void solve_all(test_run *t) {
  for (int i = 0; i < NENV; i++) set(t, i, i);
  solve_run(t);
}

Test(direct, in_double_one_iteration_ends_at_the_optimum) {
  EACH_BACKEND(backend) {
    test_run t = open_direct(backend, 2, SC_F64, 1e-15, NENV);
    solve_all(&t);
    for (int i = 0; i < NENV; i++) {
      const char *name = cases[i / SEEDS].name;
      double error = run_error(&t, i);
      sc_problem p;
      sc_check_report c;
      CALL(sc_batch_get(t.batch, i, &p, NULL));
      CALL(sc_check(&p, run_qacc(&t, i), run_force(&t, i), &c));
      cr_expect_eq(t.r.status[i], SC_SOLVED, "%s, \"%s\" seed %d: %s, gap %g, floor %g, %d iterations", backend, name, i % SEEDS, sc_status_name(t.r.status[i]),
                   t.r.gap[i], t.r.gap_floor[i], t.r.iterations[i]);
      cr_expect_leq(error, i / SEEDS == LARGE ? 1e-7 : TOL_F64_QACC, "%s, \"%s\" seed %d: error %g", backend, name, i % SEEDS, error);
      cr_expect_leq(error, t.r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "%s, \"%s\" seed %d: error %g is beyond its bound", backend, name, i % SEEDS, error);
      cr_expect_leq(c.force_error, TOL_FORCE, "%s, \"%s\" seed %d: row %d: force is off by %g", backend, name, i % SEEDS, c.worst_row, c.force_error);
      if (i / SEEDS != LARGE) cr_expect_eq(t.r.iterations[i], p.nefc > 0, "%s, \"%s\" seed %d: %d iterations", backend, name, i % SEEDS, t.r.iterations[i]);
      else cr_expect(t.r.iterations[i] > 1 && t.r.iterations[i] < 5000, "%s, \"%s\" seed %d: %d iterations", backend, name, i % SEEDS, t.r.iterations[i]);
    }
    close_run(&t);
  }
}

Test(direct, in_float_it_is_within_its_bound) {
  EACH_BACKEND(backend) {
    test_run t = open_direct(backend, 2, SC_F32, 1e-8, NENV);
    int in_float = 0;
    solve_all(&t);
    for (int i = 0; i < NENV; i++) {
      double error = run_error(&t, i);
      in_float += !(t.r.flags[i] & SC_RETRIED_F64);
      cr_expect_eq(t.r.status[i], SC_SOLVED, "%s, \"%s\" seed %d: %s", backend, cases[i / SEEDS].name, i % SEEDS, sc_status_name(t.r.status[i]));
      cr_expect_leq(error, t.r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "%s, \"%s\" seed %d: error %g is beyond its bound %g", backend, cases[i / SEEDS].name,
                    i % SEEDS, error, t.r.qacc_bound[i]);
    }
    cr_expect_geq(in_float, NENV * 2 / 3, "%s: %d of %d by float alone", backend, in_float, NENV);
    close_run(&t);
  }
}

Test(direct, in_mixed_precision_it_is_as_accurate_as_in_double) {
  EACH_BACKEND(backend) {
    test_run t = open_direct(backend, 2, SC_MIXED, 1e-15, NENV);
    solve_all(&t);
    for (int i = 0; i < NENV; i++) {
      double error = run_error(&t, i);
      cr_expect_eq(t.r.status[i], SC_SOLVED, "%s, \"%s\" seed %d: %s", backend, cases[i / SEEDS].name, i % SEEDS, sc_status_name(t.r.status[i]));
      cr_expect_leq(error, TOL_F64_QACC, "%s, \"%s\" seed %d: error %g", backend, cases[i / SEEDS].name, i % SEEDS, error);
    }
    close_run(&t);
  }
}

/* small ones beside one of more rows than direct forms a matrix for: each in its own way, whatever the company */
Test(direct, gives_the_same_bits_alone_in_any_order_and_on_any_number_of_threads) {
  EACH_BACKEND(backend) EACH_PRECISION(precision) {
    test_run all = open_direct(backend, 1, precision, 1e-8, NENV), one = open_direct(backend, 1, precision, 1e-8, 1);
    test_run mixed = open_direct(backend, 3, precision, 1e-8, NENV);
    solve_all(&all);
    for (int i = 0; i < NENV; i++) set(&mixed, (i * 37 + 5) % NENV, i);
    solve_run(&mixed);
    for (int i = 0; i < NENV; i++) {
      set(&one, 0, i);
      solve_run(&one);
      cr_expect(same_bits(&all, i, &one, 0), "%s, precision %d: \"%s\" seed %d: alone", backend, precision, cases[i / SEEDS].name, i % SEEDS);
      cr_expect(same_bits(&all, i, &mixed, (i * 37 + 5) % NENV), "%s: \"%s\" seed %d: in another order", backend, cases[i / SEEDS].name, i % SEEDS);
    }
    close_run(&all);
    close_run(&one);
    close_run(&mixed);
  }
}

/* dofs of one environment's number of blocks, rows below and above the limit: lanes of one pack go both ways */
Test(direct, a_pack_may_hold_small_and_large_ones) {
  static const int rows[] = {250, 256, 257, 260, 255, 258, 256, 300};
  EACH_BACKEND(backend) {
    test_run all = open_direct(backend, 1, SC_F64, 1e-12, 8), one = open_direct(backend, 1, SC_F64, 1e-12, 1);
    for (int i = 0; i < 8; i++) {
      problem_case c = {"rows", 20, rows[i], 0, 0, 0, 0, 0, 0, 1, 0};
      test_problem q = make_problem(&c, (uint64_t)i);
      CALL(sc_batch_set(all.batch, i, &q.p));
      free_problem(&q);
    }
    solve_run(&all);
    for (int i = 0; i < 8; i++) {
      problem_case c = {"rows", 20, rows[i], 0, 0, 0, 0, 0, 0, 1, 0};
      test_problem q = make_problem(&c, (uint64_t)i);
      CALL(sc_batch_set(one.batch, 0, &q.p));
      solve_run(&one);
      cr_expect(same_bits(&all, i, &one, 0), "%s: %d rows: not the same alone", backend, rows[i]);
      cr_expect_eq(all.r.status[i], SC_SOLVED, "%s: %d rows: %s", backend, rows[i], sc_status_name(all.r.status[i]));
      cr_expect_eq(all.r.iterations[i] == 1, rows[i] <= 256, "%s: %d rows: %d iterations", backend, rows[i], all.r.iterations[i]);
      free_problem(&q);
    }
    close_run(&all);
    close_run(&one);
  }
}

/* One body pulled to two places at once, from soft to as stiff as rows can be: between them, by the rows' R. */
Test(direct, contradictory_equalities_have_their_compromise) {
  for (int precision = SC_F64; precision <= SC_F32; precision++)
  for (int decades = 0; decades <= 12; decades += 2) {
    double stiff = pow(10, decades), M[1] = {2}, J[3] = {1, 1, 1}, s[1] = {-3}, D[3] = {stiff, 3 * stiff, stiff}, aref[3] = {1, -2, 10};
    double want = (2 * s[0] + stiff * (aref[0] + 3 * aref[1] + aref[2])) / (2 + 5 * stiff);
    int type[3] = {SC_EQUALITY, SC_EQUALITY, SC_EQUALITY};
    sc_problem p;
    sc_problem_init(&p);
    p.nv = 1, p.nefc = 3, p.M = M, p.efc_J = J, p.qacc_smooth = s, p.efc_D = D, p.efc_aref = aref, p.efc_type = type;
    test_run t = open_direct(NULL, 1, precision, 1e-8, 1);
    CALL(sc_batch_set(t.batch, 0, &p));
    solve_run(&t);
    cr_expect_eq(t.r.status[0], SC_SOLVED, "D = %g: %s", stiff, sc_status_name(t.r.status[0]));
    cr_expect_leq(fabs(run_qacc(&t, 0)[0] - want), precision == SC_F64 ? 1e-9 : 1e-3, "D = %g: acceleration %.17g, not %.17g", stiff, run_qacc(&t, 0)[0], want);
    close_run(&t);
  }
}

Test(direct, other_rows_are_refused_by_environment_and_row) {
  static const struct { int type; const char *word; } others[] = {{SC_FRICTION_DOF, "dry friction"}, {SC_FRICTION_TENDON, "dry friction"}, {SC_LIMIT_JOINT, "a limit"},
                                                                  {SC_LIMIT_TENDON, "a limit"}, {SC_CONTACT_FRICTIONLESS, "of a contact"}};
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    test_run t = open_direct(NULL, 2, SC_F64, 1e-8, 5);
    problem_case c = {"rows", 6, 4, 0, 0, 0, 0, 0, 0, 1, 0};
    for (int i = 0; i < 5; i++) {
      test_problem q = make_problem(&c, (uint64_t)i);
      if (i == 1) q.M[0] = NAN, q.type[0] = others[k].type; /* a bad one has its verdict, whatever its rows */
      if (i >= 3) q.type[i - 1] = others[k].type;
      int code = sc_batch_set(t.batch, i, &q.p);
      cr_assert_eq(code, i == 1 ? SC_ERROR_VALUE : SC_OK);
      free_problem(&q);
    }
    cr_expect_eq(sc_solve(t.solver, t.batch), SC_ERROR_UNSUPPORTED);
    cr_expect(strstr(sc_error_text(), "sc_solve: environment 3: row 2 is ") && strstr(sc_error_text(), others[k].word), "%s", sc_error_text());
    cr_expect_eq(sc_solver_pack(t.solver, t.batch), SC_ERROR_UNSUPPORTED);
    cr_expect(strstr(sc_error_text(), "sc_solver_pack: environment 3: row 2 is ") != NULL, "%s", sc_error_text());
    for (int i = 3; i < 5; i++) {
      test_problem q = make_problem(&c, (uint64_t)i);
      CALL(sc_batch_set(t.batch, i, &q.p));
      free_problem(&q);
    }
    solve_run(&t);
    cr_expect(t.r.status[0] == SC_SOLVED && t.r.status[1] == SC_BAD_INPUT && t.r.status[4] == SC_SOLVED, "after the rows were mended");
    close_run(&t);
  }
}
