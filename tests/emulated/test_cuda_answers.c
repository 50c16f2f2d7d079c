/* The CUDA backend's answers for every row kind and team size, against the reference. */
#include "../support/stiff.h"
#include "../support/tolerances.h"
#include "control.h"
#include "cuda_cases.h"

/* the race build takes its time: fewer seeds, one large case, and conjugate gradients give up early */
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

/* a number that float does not hold: the environment is solved again in double, in a warp and in a block */
Test(cuda, what_float_leaves_is_solved_again) {
  const int which[] = {13, NPROBLEM};
  for (int method = SC_NEWTON; method <= SC_CG; method++) {
    test_run t = open_run("cuda", 1, SC_F32, 1e-8, 2), best = open_run("reference", 1, SC_F64, 1e-15, 2);
    sc_solver_options o;
    sc_solver_options_init(&o);
    o.method = method, o.precision = SC_F32;
    use_solver(&t, &o);
    for (int i = 0; i < 2; i++) {
      test_problem q = make_problem(case_of(which[i]), 1);
      q.aref[0] = 1e39;
      CALL(sc_batch_set(t.batch, i, &q.p));
      CALL(sc_batch_set(best.batch, i, &q.p));
      free_problem(&q);
    }
    solve_run(&t);
    solve_run(&best);
    for (int i = 0; i < 2; i++) {
      const char *name = case_of(which[i])->name;
      cr_expect(t.r.flags[i] & SC_RETRIED_F64, "\"%s\", %s: not solved again", name, sc_method_name(method));
      cr_expect(method == SC_CG || t.r.status[i] == SC_SOLVED, "\"%s\": %s", name, sc_status_name(t.r.status[i]));
      cr_expect_leq(difference(&t, &best, i), t.r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "\"%s\", %s: beyond its bound", name,
                    sc_method_name(method));
    }
    cr_expect_leq(emu_count("races"), 0, "%ld races", emu_count("races"));
    close_run(&t);
    close_run(&best);
  }
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

/* it runs on the processor, from what the device has left */
Test(cuda, inverse_dynamics_give_the_forces_of_the_run) {
  test_run t = all_cases("cuda", SC_NEWTON, SC_F64, 1e-15);
  double *apart = test_numbers(2 * t.r.nenv), *force = test_numbers((int)t.r.efc_offset[t.r.nenv]);
  sc_inverse io;
  sc_inverse_init(&io);
  io.fwdinv = apart, io.efc_force = force;
  CALL(sc_solver_inverse(t.solver, &io));
  for (int i = 0; i < t.r.nenv; i++) {
    double size = 1;
    for (size_t k = t.r.nv_offset[i]; k < t.r.nv_offset[i + 1]; k++) size = fmax(size, fabs(t.r.qfrc_constraint[k]));
    cr_expect_leq(apart[2 * i], 1e-8 * size, "\"%s\" seed %d: J'f differs by %g", case_of(i / seeds())->name, i % seeds(), apart[2 * i]);
    cr_expect_leq(apart[2 * i + 1], 1e-8 * size, "\"%s\" seed %d: residual %g", case_of(i / seeds())->name, i % seeds(), apart[2 * i + 1]);
  }
  free(apart);
  free(force);
  close_run(&t);
}

/* ------------------------------------------------------------------ the dual problem */

/* sweeps, which the race build makes few of; systems of equalities alone end by themselves */
static test_run dual_run(const char *backend, int method, int precision, int noslip, int nenv) {
  test_run t = open_run(backend, 1, precision, 1e-8, nenv);
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = method, o.precision = precision, o.noslip_iterations = noslip, o.iterations = racing() ? 10 : 100;
  use_solver(&t, &o);
  return t;
}

/* whatever sweeps reach, they reach alike: the verdict is that of the reference, and the error within its bound */
Test(cuda, gauss_seidel_sweeps_are_those_of_the_reference) {
  EACH_CUDA_PRECISION(precision) {
    int n = cases() * seeds();
    test_run t = dual_run("cuda", SC_PGS, precision, 0, n), reference = dual_run("reference", SC_PGS, precision, 0, n);
    test_run best = all_cases("reference", SC_NEWTON, SC_F64, 1e-15);
    for (int i = 0; i < n; i++) set_case(&t, i, i / seeds(), i % seeds()), set_case(&reference, i, i / seeds(), i % seeds());
    solve_run(&t);
    solve_run(&reference);
    for (int i = 0; i < n; i++) {
      const char *name = case_of(i / seeds())->name;
      double error = difference(&t, &best, i), other = difference(&reference, &best, i);
      if (t.r.status[i] == SC_SOLVED)
        cr_expect_leq(error, t.r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "\"%s\" seed %d: error %g is beyond its bound %g", name, i % seeds(), error,
                      t.r.qacc_bound[i]);
      cr_expect(t.r.status[i] == reference.r.status[i] || error <= 2 * other + 1e-3, "\"%s\" seed %d: %s with error %g, the reference %s with %g", name, i % seeds(),
                sc_status_name(t.r.status[i]), error, sc_status_name(reference.r.status[i]), other);
      cr_expect(precision != SC_F64 || error <= 1.01 * other + 1e-9, "\"%s\" seed %d: error %g, that of the reference %g", name, i % seeds(), error, other);
    }
    cr_expect_leq(emu_count("races"), 0, "%ld races", emu_count("races"));
    close_run(&t);
    close_run(&reference);
    close_run(&best);
  }
}

/* equalities: one row, many on few dofs, more than are formed as a matrix, a block's worth of dofs */
Test(cuda, direct_solves_equalities) {
  static const problem_case all[] = {{"one row", 1, 1, 0, 0, 0, 0, 0, 0, 0, 0},     {"no rows", 5, 0, 0, 0, 0, 0, 0, 0, 1, 0},   {"few", 9, 7, 0, 0, 0, 0, 0, 0, 1, 0},
                                     {"redundant", 8, 12, 0, 0, 0, 0, 0, 0, 1, 1},  {"many on few", 6, 40, 0, 0, 0, 0, 0, 0, 1, 1}, {"very many", 12, 260, 0, 0, 0, 0, 0, 0, 1, 0},
                                     {"many dofs", 80, 12, 0, 0, 0, 0, 0, 0, 1, 0}};
  enum { N = sizeof all / sizeof *all };
  EACH_CUDA_PRECISION(precision) {
    test_run t = dual_run("cuda", SC_DIRECT, precision, 0, N), reference = dual_run("reference", SC_NEWTON, SC_F64, 0, N);
    for (int i = 0; i < N; i++) {
      test_problem q = make_problem(&all[i], 3);
      CALL(sc_batch_set(t.batch, i, &q.p));
      CALL(sc_batch_set(reference.batch, i, &q.p));
      free_problem(&q);
    }
    solve_run(&t);
    solve_run(&reference);
    for (int i = 0; i < N; i++) {
      double error = difference(&t, &reference, i);
      cr_expect(t.r.status[i] == SC_SOLVED || (racing() && t.r.status[i] == SC_ITERATION_LIMIT), "\"%s\": %s", all[i].name, sc_status_name(t.r.status[i]));
      if (t.r.status[i] != SC_SOLVED) continue;
      cr_expect_leq(error, precision == SC_F64 ? 1e-6 : TOL_F32_QACC_WORST, "\"%s\": qacc differs by %g", all[i].name, error);
      cr_expect_leq(error, t.r.qacc_bound[i] * (1 + TOL_BOUND) + 1e-7, "\"%s\": error %g is beyond its bound %g", all[i].name, error, t.r.qacc_bound[i]);
    }
    cr_expect_leq(emu_count("races"), 0, "%ld races", emu_count("races"));
    close_run(&t);
    close_run(&reference);
  }
}

/* the same friction forces, the same environments flagged */
Test(cuda, noslip_moves_the_forces_that_the_reference_moves) {
  int n = cases() * seeds(), moved = 0;
  test_run t = dual_run("cuda", SC_NEWTON, SC_F64, 3, n), reference = dual_run("reference", SC_NEWTON, SC_F64, 3, n);
  for (int i = 0; i < n; i++) set_case(&t, i, i / seeds(), i % seeds()), set_case(&reference, i, i / seeds(), i % seeds());
  solve_run(&t);
  solve_run(&reference);
  for (int i = 0; i < n; i++) {
    const char *name = case_of(i / seeds())->name;
    double worst = 0, most = 1;
    for (size_t k = t.r.efc_offset[i]; k < t.r.efc_offset[i + 1]; k++) {
      worst = fmax(worst, fabs(t.r.efc_force[k] - reference.r.efc_force[k]));
      most = fmax(most, fabs(reference.r.efc_force[k]));
    }
    cr_expect_leq(worst, TOL_FORCE * most * 100, "\"%s\" seed %d: a force differs by %g", name, i % seeds(), worst);
    cr_expect_eq(t.r.flags[i], reference.r.flags[i], "\"%s\" seed %d: flags %x and %x", name, i % seeds(), t.r.flags[i], reference.r.flags[i]);
    cr_expect_eq(t.r.status[i], reference.r.status[i], "\"%s\" seed %d: %s", name, i % seeds(), sc_status_name(t.r.status[i]));
    moved += (t.r.flags[i] & SC_NOSLIP_APPLIED) != 0;
  }
  cr_expect_gt(moved, n / 3, "only %d of %d moved", moved, n);
  cr_expect_leq(emu_count("races"), 0, "%ld races", emu_count("races"));
  close_run(&t);
  close_run(&reference);
}

/* D A = 1e8: what sliding contacts of that kind need is the method of multipliers */
static test_run stiff_run(const char *backend, int precision) {
  static const problem_case made_of = {"", 13, 0, 0, 2, 0, 2, 1, 1, 1, 0};
  test_run t = open_run(backend, 1, precision, precision == SC_F64 ? 1e-12 : 1e-8, 4);
  for (int i = 0; i < 4; i++) {
    test_problem q = make_problem(&made_of, (uint64_t)i);
    make_stiff(&q, 1 - 1e-8, 1);
    follow_first_rows(&q);
    CALL(sc_batch_set(t.batch, i, &q.p));
    free_problem(&q);
  }
  solve_run(&t);
  return t;
}

Test(cuda, stiff_contacts_that_slide_take_few_steps) {
  EACH_CUDA_PRECISION(precision) {
    test_run t = stiff_run("cuda", precision), reference = stiff_run("reference", SC_F64);
    int most = 0;
    for (int i = 0; i < 4; i++) {
      int steps = t.r.iterations[i], apart = precision == SC_F64 && abs(steps - reference.r.iterations[i]) > 5;
      double error = difference(&t, &reference, i);
      cr_expect_eq(t.r.status[i], SC_SOLVED, "precision %d, seed %d: %s", precision, i, sc_status_name(t.r.status[i]));
      cr_expect_leq(error, t.r.qacc_bound[i] + reference.r.qacc_bound[i], "precision %d, seed %d: error %g", precision, i, error);
      cr_expect(!apart, "seed %d: %d steps, and %d of the reference", i, steps, reference.r.iterations[i]);
      most = steps > most ? steps : most;
    }
    cr_expect(most > 15 && most <= 2 * MOST_STIFF_STEPS, "precision %d: %d steps", precision, most);
    close_run(&t);
    close_run(&reference);
  }
  cr_expect_leq(emu_count("races"), 0, "%ld races", emu_count("races"));
}
