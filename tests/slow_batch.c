/* Batches as large as farms make them, and systems larger than any robot. */
#include "support/solve.h"
#include "support/tolerances.h"

Test(batch, a_hundred_thousand_ragged_environments, .timeout = 600) {
  enum { N = 100000 };
  EACH_PRECISION(precision) {
    test_run t = open_run(NULL, 2, precision, 1e-8, N);
    int unsolved = 0;
    for (int i = 0; i < N; i++) {
      test_problem q = make_problem(&problem_cases[i % 13], (uint64_t)i);
      CALL(sc_batch_set(t.batch, i, &q.p));
      free_problem(&q);
    }
    solve_run(&t);
    for (int i = 0; i < N; i++) unsolved += t.r.status[i] != SC_SOLVED;
    cr_expect_leq(unsolved, precision == SC_F32 ? N / 100 : 0, "precision %d: %d of %d unsolved", precision, unsolved, N);
    for (int i = 0; i < N; i += 997) {
      double error = run_error(&t, i);
      cr_expect(t.r.status[i] != SC_SOLVED || error <= TOL_F32_QACC_WORST, "environment %d: error %g", i, error);
    }
    close_run(&t);
  }
}

Test(batch, three_hundred_dofs, .timeout = 600) {
  const problem_case big = {"three hundred dofs", 300, 20, 30, 40, 10, 10, 5, 5, 1, 0};
  test_run t = open_run(NULL, 1, SC_F64, 1e-15, 1);
  test_problem q = make_problem(&big, 1);
  CALL(sc_batch_set(t.batch, 0, &q.p));
  solve_run(&t);
  double error = run_error(&t, 0);
  cr_expect_eq(t.r.status[0], SC_SOLVED, "%s", sc_status_name(t.r.status[0]));
  cr_expect_leq(error, TOL_F64_QACC, "error %g", error);
  free_problem(&q);
  close_run(&t);
}
