/* The dual methods and noslip on one large system, which goes through other packing and factors than small ones do: many
 * problems that share no dof, side by side, must have the answers that they have alone. */
#include "support/large_problem.h"
#include "support/solve.h"
#include "support/tolerances.h"

/* what is called solved is so for the verifier too; noslip's forces are no answer to its problem */
static void check_verdict(const test_run *t, const char *name, const sc_solver_options *o) {
  sc_problem p;
  sc_check_report c;
  double force_tolerance = o->precision == SC_F32 ? TOL_F32_FORCE : TOL_DUAL_FORCE;
  CALL(sc_batch_get(t->batch, 0, &p, NULL));
  CALL(sc_check(&p, run_qacc(t, 0), run_force(t, 0), &c));
  int within = c.scale * c.gap <= o->tolerance * (1 + TOL_GAP),
      at_floor = c.gap <= t->r.gap_floor[0] * (1 + TOL_FLOOR) && c.qacc_bound <= 1e-2;
  cr_expect(within || at_floor, "%s, method %d, precision %d: the verifier's scaled gap is %g, softcon's %g, floor %g", name,
            o->method, o->precision,
            c.scale * c.gap, c.scale * t->r.gap[0], c.scale * t->r.gap_floor[0]);
  cr_expect_leq(c.force_error, force_tolerance, "%s, method %d, precision %d: row %d: force is off by %g", name, o->method,
                o->precision, c.worst_row,
                c.force_error);
  cr_expect_leq(c.cone_error, TOL_FORCE, "%s, method %d, precision %d: row %d: force is out of bounds by %g", name, o->method,
                o->precision, c.worst_row,
                c.cone_error);
}

/* the large system in environment 0, its parts in 1 .. PARTS; the largest differences, relative */
static void check_large(const problem_case *c, const sc_solver_options *o, double most) {
  large_problem q = make_large(c);
  test_run t = open_run(NULL, 2, o->precision, o->tolerance, PARTS + 1);
  double qacc = 0, force = 0, a = 1, f = 1;
  use_solver(&t, o);
  CALL(sc_batch_set(t.batch, 0, &q.p));
  for (int i = 0; i < PARTS; i++) CALL(sc_batch_set(t.batch, i + 1, &q.part[i].p));
  solve_run(&t);
  for (size_t i = 0; i < t.r.nv_offset[1]; i++) {
    qacc = fmax(qacc, fabs(t.r.qacc[i] - t.r.qacc[t.r.nv_offset[1] + i])), a = fmax(a, fabs(t.r.qacc[i]));
    cr_assert(isfinite(t.r.qacc[i]));
  }
  for (size_t i = 0; i < t.r.efc_offset[1]; i++)
    force = fmax(force, fabs(t.r.efc_force[i] - t.r.efc_force[t.r.efc_offset[1] + i])), f = fmax(f, fabs(t.r.efc_force[i]));
  cr_expect_leq(qacc, most * a, "%s, method %d, noslip %d, precision %d: accelerations differ by %g of %g", c->name, o->method,
                o->noslip_iterations,
                o->precision, qacc, a);
  cr_expect_leq(force, most * f, "%s, method %d, noslip %d, precision %d: forces differ by %g of %g", c->name, o->method,
                o->noslip_iterations, o->precision,
                force, f);
  cr_expect_eq(t.r.status[0], SC_SOLVED, "%s, method %d: %s after %d", c->name, o->method, sc_status_name(t.r.status[0]),
               t.r.iterations[0]);
  if (!o->noslip_iterations) check_verdict(&t, c->name, o);
  int flags = 0;
  for (int i = 1; i <= PARTS; i++) flags |= (int)t.r.flags[i] & SC_NOSLIP_APPLIED;
  cr_expect_eq((int)t.r.flags[0] & SC_NOSLIP_APPLIED, flags, "%s, method %d: the flag of noslip", c->name, o->method);
  close_run(&t);
  free_large(&q);
}

/* more than 192 dofs; pyramids behind an odd number of limits, cones of one size, for these are visited size by size */
static const problem_case pyramids = {"pyramids, friction, limits", 19, 1, 3, 3, 4, 0, 0, 0, 1, 0};
static const problem_case cones = {"cones", 18, 2, 2, 1, 0, 3, 0, 0, 1, 0};
static const problem_case large_cones = {"cones of dim 6", 18, 2, 2, 1, 0, 0, 0, 2, 1, 0};
static const problem_case bilateral = {"equalities", 20, 15, 0, 0, 0, 0, 0, 0, 1, 0};
static const problem_case very_bilateral = {"many equalities", 20, 40, 0, 0, 0, 0, 0, 0, 1, 0};

Test(dual_large, noslip) {
  const problem_case *all[] = {&pyramids, &cones, &large_cones};
  for (int k = 0; k < 3; k++)
    for (int method = SC_NEWTON; method <= SC_CG; method++) {
      sc_solver_options o;
      sc_solver_options_init(&o);
      o.method = method, o.tolerance = 1e-15, o.iterations = 20000, o.noslip_iterations = 4, o.noslip_tolerance = 0;
      check_large(all[k], &o, method == SC_NEWTON ? 1e-8 : 1e-5);
    }
}

Test(dual_large, pgs_and_conjugate_gradients) {
  const problem_case *all[] = {&pyramids, &cones, &large_cones};
  for (int k = 0; k < 3; k++) EACH_PRECISION(precision) for (int method = SC_CG; method <= SC_PGS; method++) {
    sc_solver_options o;
    sc_solver_options_init(&o);
    o.method = method, o.precision = precision, o.tolerance = precision == SC_F32 ? 1e-8 : 1e-14, o.iterations = 20000;
    check_large(all[k], &o, precision == SC_F32 ? 1e-2 : 1e-4);
  }
}

/* few iterations: the verdict says so, and the error is within its bound of Newton's answer */
Test(dual_large, too_few_iterations_are_called_by_their_name) {
  large_problem q = make_large(&cones);
  test_run best = open_run(NULL, 1, SC_F64, 1e-15, 1);
  CALL(sc_batch_set(best.batch, 0, &q.p));
  solve_run(&best);
  EACH_PRECISION(precision) for (int method = SC_CG; method <= SC_PGS; method++) {
    sc_solver_options o;
    double error;
    sc_solver_options_init(&o);
    o.method = method, o.precision = precision, o.tolerance = 1e-12, o.iterations = 3;
    test_run t = open_run(NULL, 1, precision, o.tolerance, 1);
    use_solver(&t, &o);
    CALL(sc_batch_set(t.batch, 0, &q.p));
    solve_run(&t);
    CALL(sc_check_error(&q.p, run_qacc(&t, 0), run_qacc(&best, 0), NULL, NULL, &error, NULL));
    cr_expect_eq(t.r.status[0], SC_ITERATION_LIMIT, "method %d, precision %d: %s", method, precision,
                 sc_status_name(t.r.status[0]));
    cr_expect(error > 1e-6 && error <= t.r.qacc_bound[0] * (1 + TOL_BOUND) + TOL_F64_QACC,
              "method %d, precision %d: error %g, bound %g", method,
              precision, error, t.r.qacc_bound[0]);
    close_run(&t);
  }
  close_run(&best);
  free_large(&q);
}

Test(dual_large, direct) {
  const problem_case *all[] = {&bilateral, &very_bilateral}; /* 180 and 480 rows */
  EACH_PRECISION(precision) for (int k = 0; k < 2; k++) {
    sc_solver_options o;
    sc_solver_options_init(&o);
    o.method = SC_DIRECT, o.precision = precision, o.tolerance = precision == SC_F32 ? 1e-8 : 1e-15, o.iterations = 5000;
    check_large(all[k], &o, precision == SC_F32 ? 1e-3 : 1e-7);
  }
}
