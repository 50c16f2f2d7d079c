/* The CUDA backend's answers for every row kind and team size, against the reference. */
#include "../support/tolerances.h"
#include "control.h"
#include "cuda_cases.h"

/* the race build takes its time: fewer seeds, one large case, and conjugate gradients give up early */
static int racing(void) { return emu_count("races") >= 0; }
static int seeds(void) { return racing() ? 2 : 3; }
static int cases(void) { return racing() ? NPROBLEM + 1 : NCASE; }
static int cg_iterations(void) { return racing() ? 20 : 200; }

/* ------------------------------------------------------------------ answers */

static test_run all_cases(const char *backend, int method, int precision, double tolerance) {
  test_run t = open_run(backend, 1, precision, tolerance, cases() * seeds());
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = method, o.precision = precision, o.tolerance = tolerance;
  if (method == SC_CG) o.iterations = cg_iterations();
  use_solver(&t, &o);
  for (int i = 0; i < cases() * seeds(); i++) set_case(&t, i, i / seeds(), i % seeds());
  solve_run(&t);
  return t;
}

static double difference(const test_run *t, const test_run *reference, int env) {
  sc_problem p;
  double error;
  CALL(sc_batch_get(reference->batch, env, &p, NULL));
  CALL(sc_check_error(&p, run_qacc(t, env), run_qacc(reference, env), NULL, NULL, &error, NULL));
  return error;
}

static void check_forces(const test_run *t, int env, double tolerance) {
  sc_problem p;
  sc_check_report c;
  CALL(sc_batch_get(t->batch, env, &p, NULL));
  CALL(sc_check(&p, run_qacc(t, env), run_force(t, env), &c));
  const char *name = case_of(env / seeds())->name;
  cr_expect_leq(c.force_error, tolerance, "\"%s\" seed %d: row %d: force is off by %g", name, env % seeds(), c.worst_row, c.force_error);
  cr_expect_leq(c.cone_error, TOL_FORCE, "\"%s\" seed %d: row %d: force is out of bounds by %g", name, env % seeds(), c.worst_row, c.cone_error);
  cr_expect(fabs(c.objective - t->r.objective[env]) <= 1e-9 * (1 + fabs(c.objective)), "\"%s\" seed %d: objective", name, env % seeds());
}

Test(cuda, double_precision_agrees_with_the_reference) {
  test_run t = all_cases("cuda", SC_NEWTON, SC_F64, 1e-15), reference = all_cases("reference", SC_NEWTON, SC_F64, 1e-15);
  for (int i = 0; i < t.r.nenv; i++) {
    const char *name = case_of(i / seeds())->name;
    cr_expect_eq(t.r.status[i], SC_SOLVED, "\"%s\" seed %d: %s", name, i % seeds(), sc_status_name(t.r.status[i]));
    cr_expect_leq(difference(&t, &reference, i), TOL_F64_QACC, "\"%s\" seed %d: qacc differs by %g", name, i % seeds(), difference(&t, &reference, i));
    check_forces(&t, i, TOL_FORCE);
    size_t first = t.r.efc_offset[i], n = t.r.efc_offset[i + 1] - first;
    cr_expect(!n || !memcmp(t.r.efc_state + first, reference.r.efc_state + first, n), "\"%s\" seed %d: states", name, i % seeds());
  }
  cr_expect_leq(emu_count("races"), 0, "%ld races", emu_count("races"));
  close_run(&t);
  close_run(&reference);
}

Test(cuda, float_agrees_within_its_rounding) {
  test_run t = all_cases("cuda", SC_NEWTON, SC_F32, 1e-8), reference = all_cases("reference", SC_NEWTON, SC_F64, 1e-15);
  for (int i = 0; i < t.r.nenv; i++) {
    const char *name = case_of(i / seeds())->name;
    cr_expect_eq(t.r.status[i], SC_SOLVED, "\"%s\" seed %d: %s", name, i % seeds(), sc_status_name(t.r.status[i]));
    cr_expect_leq(difference(&t, &reference, i), TOL_F32_QACC_WORST, "\"%s\" seed %d: qacc differs by %g", name, i % seeds(),
                  difference(&t, &reference, i));
    cr_expect_leq(difference(&t, &reference, i), t.r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "\"%s\" seed %d: beyond its bound", name,
                  i % seeds());
    check_forces(&t, i, TOL_F32_FORCE);
  }
  cr_expect_leq(emu_count("races"), 0, "%ld races", emu_count("races"));
  close_run(&t);
  close_run(&reference);
}

/* what they finish in time is within its certificate, and the packs' finish is theirs too */
Test(cuda, conjugate_gradients_are_within_their_certificate) {
  EACH_CUDA_PRECISION(precision) {
    test_run t = all_cases("cuda", SC_CG, precision, 1e-8), cg = all_cases("reference", SC_CG, precision, 1e-8);
    test_run best = all_cases("reference", SC_NEWTON, SC_F64, 1e-15);
    int solved = 0;
    for (int i = 0; i < t.r.nenv; i++) {
      const char *name = case_of(i / seeds())->name;
      double error = difference(&t, &best, i);
      cr_expect_leq(error, t.r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "\"%s\" seed %d: error %g is beyond its bound %g", name, i % seeds(), error,
                    t.r.qacc_bound[i]);
      cr_expect(t.r.status[i] == SC_SOLVED || cg.r.status[i] != SC_SOLVED || cg.r.iterations[i] > cg_iterations() / 2, "\"%s\" seed %d: %s after %d iterations", name,
                i % seeds(), sc_status_name(t.r.status[i]), t.r.iterations[i]);
      solved += t.r.status[i] == SC_SOLVED;
    }
    cr_expect_geq(solved, racing() ? t.r.nenv / 4 : t.r.nenv * 3 / 4, "%d of %d solved", solved, t.r.nenv);
    cr_expect_leq(emu_count("races"), 0, "%ld races", emu_count("races"));
    close_run(&t);
    close_run(&cg);
    close_run(&best);
  }
}
