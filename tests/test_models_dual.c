/* Recorded states of real robots by Gauss-Seidel, against Newton's method: one test for each model and cone. */
#include "support/recorded.h"
#include "support/tolerances.h"

#include "store.h"

static test_run solve_states(const recorded *r, const sc_solver_options *o) {
  test_run t = open_states(r->n, SC_F64);
  use_solver(&t, o);
  batch_states(&t, r->model, r->states, r->sig, r->n);
  solve_run(&t);
  return t;
}

/* every answer within its bound of Newton's, most of them solved, and no other verdict than that sweeps ran out */
static void check_pgs(const cJSON *entry, int elliptic) {
  recorded r = open_recorded(entry, elliptic);
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.tolerance = 1e-15;
  test_run newton = solve_states(&r, &o);
  o.method = SC_PGS, o.tolerance = 1e-8, o.iterations = 2000;
  test_run t = solve_states(&r, &o);
  int solved = 0;
  double worst = 0, sweeps = 0;
  for (int i = 0; i < r.n; i++) {
    sc_problem p;
    double error;
    CALL(sc_batch_get(t.batch, i, &p, NULL));
    CALL(sc_check_error(&p, run_qacc(&t, i), run_qacc(&newton, i), NULL, NULL, &error, NULL));
    cr_expect_leq(error, t.r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "%s, state %d: %s, error %g is beyond its bound %g", r.name, i,
                  sc_status_name(t.r.status[i]), error, t.r.qacc_bound[i]);
    cr_expect(t.r.status[i] == SC_SOLVED || t.r.status[i] == SC_ITERATION_LIMIT || t.r.status[i] == SC_INACCURATE, "%s, state %d: %s", r.name, i,
              sc_status_name(t.r.status[i]));
    sweeps += t.r.iterations[i] / (double)r.n;
    if (t.r.status[i] != SC_SOLVED) continue;
    solved++;
    if (error > worst) worst = error;
  }
  printf("%-24s %4d states: %d solved by Gauss-Seidel, worst error of these %.1e; %.1f sweeps\n", r.name, r.n, solved, worst, sweeps);
  cr_expect_geq(solved, TOL_PGS_SOLVED * r.n, "%s: %d of %d solved", r.name, solved, r.n);
  close_run(&newton);
  close_run(&t);
  close_recorded(&r);
}

ParameterizedTestParameters(models_dual, pgs) { return recorded_indices(); }

ParameterizedTest(int *index, models_dual, pgs, .timeout = 600) { each_recorded(*index, check_pgs); }
