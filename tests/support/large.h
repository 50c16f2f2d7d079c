/* Large systems: what each method and precision says of one state, held against the verifier. */
#ifndef TEST_LARGE_H
#define TEST_LARGE_H

#include "large_models.h"
#include "tolerances.h"

/* solved, as the verifier finds too: within the tolerance, or at what rounding allows; best: the optimum, or NULL */
static inline void large_judge(const char *name, const char *how, const test_run *t, const sc_solver_options *o, const double *best) {
  sc_problem p;
  sc_check_report c;
  const char *status = sc_status_name(t->r.status[0]);
  CALL(sc_batch_get(t->batch, 0, &p, NULL));
  cr_expect_eq(t->r.status[0], SC_SOLVED, "%s, %s: %s after %d iterations, gap %g, floor %g", name, how, status, t->r.iterations[0], t->r.gap[0],
               t->r.gap_floor[0]);
  CALL(sc_check(&p, run_qacc(t, 0), run_force(t, 0), &c));
  int within = c.scale * c.gap <= o->tolerance * (1 + TOL_GAP), at_floor = c.gap <= t->r.gap_floor[0] * (1 + TOL_FLOOR) && c.qacc_bound <= 1e-2;
  cr_expect(within || at_floor, "%s, %s: the verifier's scaled gap is %g, softcon's %g, floor %g", name, how, c.scale * c.gap, c.scale * t->r.gap[0],
            c.scale * t->r.gap_floor[0]);
  cr_expect_leq(c.force_error, o->precision == SC_F64 ? TOL_FORCE : TOL_F32_FORCE, "%s, %s: row %d: force is off by %g", name, how, c.worst_row, c.force_error);
  cr_expect_leq(c.cone_error, TOL_FORCE, "%s, %s: row %d: force is out of bounds by %g", name, how, c.worst_row, c.cone_error);
  if (!best) return;
  double error, bound = t->r.qacc_bound[0] * (1 + TOL_BOUND) + TOL_F64_QACC;
  CALL(sc_check_error(&p, run_qacc(t, 0), best, NULL, NULL, &error, NULL));
  cr_expect_leq(error, bound, "%s, %s: error %g is beyond its bound %g", name, how, error, bound);
}

/* one state of the model, which is freed, by both methods in both precisions, with softcon's rows */
static inline void large_check(const char *name, mjModel *m, int steps, int polished) {
  double *state = large_state(m, steps), *best = NULL;
  EACH_METHOD(method) EACH_PRECISION(precision) {
    char how[40];
    snprintf(how, sizeof how, "%s in %s", sc_method_name(method), precision == SC_F64 ? "double" : "float");
    test_run t = open_run(NULL, 1, precision, 1e-8, 1);
    sc_solver_options o;
    sc_solver_options_init(&o);
    o.method = method, o.precision = precision, o.iterations = method == SC_CG ? 3000 : 100;
    o.tolerance = precision == SC_F64 && method == SC_NEWTON ? 1e-15 : 1e-8;
    use_solver(&t, &o);
    batch_states(&t, m, state, mjSTATE_INTEGRATION, 1);
    solve_run(&t);
    printf("%s: nv %d, %zu rows: %s: %s, %d iterations, error at most %.1e\n", name, (int)m->nv, t.r.efc_offset[1], how, sc_status_name(t.r.status[0]),
           t.r.iterations[0], t.r.qacc_bound[0]);
    cr_expect_gt(t.r.efc_offset[1], 0, "%s: no rows", name);
    if (polished && !best) { /* from the first answer, which is Newton's in double */
      sc_problem p;
      CALL(sc_batch_get(t.batch, 0, &p, NULL));
      best = test_numbers(p.nv);
      memcpy(best, run_qacc(&t, 0), (size_t)p.nv * sizeof *best);
      CALL(sc_check_polish(&p, best, NULL));
    }
    large_judge(name, how, &t, &o, best);
    close_run(&t);
  }
  free(best);
  free(state);
  mj_deleteModel(m);
}

#endif
