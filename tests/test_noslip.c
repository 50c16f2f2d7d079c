/* Noslip after any method: what it may change and what not, its flag, and no threshold that depends on masses. The forces
 * themselves are compared with the oracle's and MuJoCo's in python/tests/test_dual.py. */
#include "support/contact.h"
#include "support/tolerances.h"

#define SEEDS 6
#define NENV (NPROBLEM * SEEDS)

static const char *name_of(int env) { return problem_cases[env / SEEDS].name; }

static test_run open_noslip(const char *backend, int threads, int method, int precision, int sweeps, int nenv) {
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = method, o.precision = precision, o.noslip_iterations = sweeps, o.noslip_tolerance = 0;
  test_run t = open_run(backend, threads, precision, 1e-8, nenv);
  use_solver(&t, &o);
  return t;
}

static void set(const test_run *t, int env, int which) {
  test_problem q = make_problem(&problem_cases[which / SEEDS], (uint64_t)(which % SEEDS));
  q.p.qacc_warmstart = which % 2 ? q.warm : NULL;
  CALL(sc_batch_set(t->batch, env, &q.p));
  free_problem(&q);
}

static void solve_all(test_run *t) {
  for (int i = 0; i < NENV; i++) set(t, i, i);
  solve_run(t);
}

/* ------------------------------------------------------------------ what changes */

/* whether noslip may change the force of row r, which is row k of its contact */
static int may_change(const sc_problem *p, int r, int k) {
  int type = p->efc_type[r];
  return type == SC_FRICTION_DOF || type == SC_FRICTION_TENDON || type == SC_CONTACT_PYRAMIDAL || (type == SC_CONTACT_ELLIPTIC && k);
}

/* normal forces (of a pair of edges the sum), limits and equalities as they were; forces on their cones; qacc theirs */
static int check_env(const test_run *before, const test_run *after, int i) {
  sc_problem p;
  sc_check_report report;
  CALL(sc_batch_get(after->batch, i, &p, NULL));
  const double *f0 = run_force(before, i), *f = run_force(after, i);
  double size = 1;
  int changed = 0;
  for (int r = 0; r < p.nefc; r++) size = fmax(size, fabs(f0[r]));
  for (int r = 0, contact = 0, k = 0; r < p.nefc; r++) {
    int type = p.efc_type[r], cone = type == SC_CONTACT_PYRAMIDAL || type == SC_CONTACT_ELLIPTIC;
    changed |= f[r] != f0[r];
    cr_expect(f[r] == f0[r] || may_change(&p, r, k), "\"%s\" seed %d: row %d of type %d: %.17g became %.17g", name_of(i), i % SEEDS, r, type, f0[r], f[r]);
    if (type == SC_CONTACT_PYRAMIDAL && k % 2)
      cr_expect_leq(fabs(f[r - 1] + f[r] - f0[r - 1] - f0[r]), 1e-13 * size, "\"%s\" seed %d: the sum of edges %d and %d", name_of(i), i % SEEDS, r - 1, r);
    int rows = type == SC_CONTACT_PYRAMIDAL ? 2 * (p.contact_dim[contact] - 1) : cone ? p.contact_dim[contact] : 1;
    if (++k == rows || !cone) contact += cone, k = 0;
  }
  CALL(sc_check(&p, run_qacc(after, i), f, &report));
  cr_expect_leq(report.cone_error, TOL_FORCE, "\"%s\" seed %d: row %d: force is out of bounds by %g", name_of(i), i % SEEDS, report.worst_row, report.cone_error);
  /* M a = qfrc_smooth + J'f, the rows of M in its lower triangle */
  for (int d = 0; d < p.nv && changed; d++) {
    double sum = -p.qfrc_smooth[d] - after->r.qfrc_constraint[after->r.nv_offset[i] + (size_t)d], terms = fabs(sum), jf = 0;
    for (int row = 0; row < p.nv; row++)
      for (int e = p.M_rowadr[row]; e < p.M_rowadr[row] + p.M_rownnz[row]; e++) {
        int col = p.M_colind[e];
        double a = row == d ? run_qacc(after, i)[col] : col == d && row != d ? run_qacc(after, i)[row] : 0;
        sum += p.M[e] * a, terms += fabs(p.M[e] * a);
      }
    for (int r = 0; r < p.nefc; r++)
      for (int e = p.J_rowadr[r]; e < p.J_rowadr[r] + p.J_rownnz[r]; e++) jf += p.J_colind[e] == d ? p.efc_J[e] * f[r] : 0;
    cr_expect_leq(fabs(sum), 1e-10 * (terms + size), "\"%s\" seed %d: dof %d: M a - tau - J'f is %g", name_of(i), i % SEEDS, d, sum);
    cr_expect_leq(fabs(jf - after->r.qfrc_constraint[after->r.nv_offset[i] + (size_t)d]), 1e-12 * size * p.nefc, "\"%s\" seed %d: J'f of dof %d", name_of(i), i % SEEDS, d);
  }
  return changed;
}

static void check_method(const char *backend, int method, int precision) {
  test_run before = open_noslip(backend, 2, method, precision, 0, NENV), after = open_noslip(backend, 2, method, precision, 3, NENV);
  int all = 0;
  solve_all(&before);
  solve_all(&after);
  for (int i = 0; i < NENV; i++) {
    int changed = check_env(&before, &after, i), flag = (after.r.flags[i] & SC_NOSLIP_APPLIED) != 0;
    all += changed;
    cr_expect_eq(flag, changed, "%s, method %d, \"%s\" seed %d: flag %d, changed %d", backend, method, name_of(i), i % SEEDS, flag, changed);
    cr_expect(changed || same_bits(&before, i, &after, i), "%s, method %d, \"%s\" seed %d: no force changed, but something did", backend, method, name_of(i), i % SEEDS);
    const double *verdict[][2] = {{before.r.gap, after.r.gap}, {before.r.gap_floor, after.r.gap_floor}, {before.r.qacc_bound, after.r.qacc_bound},
                                  {before.r.objective, after.r.objective}};
    for (int k = 0; k < 4; k++) cr_expect(verdict[k][0][i] == verdict[k][1][i], "%s, method %d, \"%s\" seed %d: number %d", backend, method, name_of(i), i % SEEDS, k);
    cr_expect(before.r.status[i] == after.r.status[i] && before.r.iterations[i] == after.r.iterations[i], "%s, method %d, \"%s\" seed %d: the verdict", backend,
              method, name_of(i), i % SEEDS);
  }
  cr_expect_geq(all, NENV / 2, "%s, method %d: %d changed", backend, method, all);
  close_run(&before);
  close_run(&after);
}

Test(noslip, changes_friction_forces_and_nothing_else, .timeout = 300) {
  EACH_BACKEND(backend) EACH_PRECISION(precision) for (int method = SC_NEWTON; method <= SC_PGS; method++) check_method(backend, method, precision);
}

/* ------------------------------------------------------------------ the same for all */

Test(noslip, gives_the_same_bits_alone_in_any_order_and_on_any_number_of_threads) {
  EACH_BACKEND(backend) EACH_PRECISION(precision) {
    test_run all = open_noslip(backend, 1, SC_NEWTON, precision, 5, NENV), one = open_noslip(backend, 1, SC_NEWTON, precision, 5, 1);
    test_run mixed = open_noslip(backend, 3, SC_NEWTON, precision, 5, NENV);
    solve_all(&all);
    for (int i = 0; i < NENV; i++) set(&mixed, (i * 37 + 5) % NENV, i);
    solve_run(&mixed);
    for (int i = 0; i < NENV; i++) {
      set(&one, 0, i);
      solve_run(&one);
      cr_expect(same_bits(&all, i, &one, 0), "%s: \"%s\" seed %d: alone", backend, name_of(i), i % SEEDS);
      cr_expect(same_bits(&all, i, &mixed, (i * 37 + 5) % NENV), "%s: \"%s\" seed %d: in another order", backend, name_of(i), i % SEEDS);
    }
    close_run(&all);
    close_run(&one);
    close_run(&mixed);
  }
}

/* Masses apart by a power of four scale every number by a power of two. */
Test(noslip, the_scale_of_a_problem_changes_no_bit) {
  static const int dims[] = {3, 4, 6};
  static const double pushes[][6] = {{-9.81, 3, 1, 2, 0, 1}, {-9.81, 30, 10, 20, 5, 1}, {-9.81, 0.5, 0.2, 0.1, -0.3, 0.2}};
  for (int k = 0; k < 3; k++)
    for (int n = 0; n < 3; n++) {
      test_run t = open_noslip(NULL, 1, SC_NEWTON, SC_F64, 4, 41);
      for (int i = 0; i < 41; i++) {
        contact_alone c;
        make_contact_alone(&c, dims[k], ldexp(1, 2 * (i - 20)), pushes[n]);
        CALL(sc_batch_set(t.batch, i, &c.p));
      }
      solve_run(&t);
      for (int i = 0; i < 41; i++)
        cr_expect(!memcmp(run_qacc(&t, i), run_qacc(&t, 0), (size_t)dims[k] * sizeof(double)) && t.r.flags[i] & SC_NOSLIP_APPLIED,
                  "dim %d, push %d, mass 4^%d: qacc[1] is %.17g, not %.17g", dims[k], n, i - 20, run_qacc(&t, i)[1], run_qacc(&t, 0)[1]);
      close_run(&t);
    }
}

/* A contact in the plane: its second tangent moves nothing, and the first one is held all the same. */
Test(noslip, a_tangent_without_motion_does_not_stop_the_others) {
  for (int decades = -6; decades <= 9; decades += 3) {
    double mass = pow(10, decades), M[4] = {mass, 0, 0, mass}, J[6] = {0, 1, 1, 0, 0, 0}, s[2] = {2, -9.81}, D[3] = {20 * mass, 20 * mass, 20 * mass};
    double aref[3] = {0}, friction[5] = {1, 1, 0, 0, 0}, mu = 1;
    int type[3] = {SC_CONTACT_ELLIPTIC, SC_CONTACT_ELLIPTIC, SC_CONTACT_ELLIPTIC}, dim = 3;
    sc_problem p;
    sc_problem_init(&p);
    p.nv = 2, p.nefc = 3, p.ncon = 1, p.M = M, p.efc_J = J, p.qacc_smooth = s, p.efc_D = D, p.efc_aref = aref, p.efc_type = type;
    p.contact_dim = &dim, p.contact_friction = friction, p.contact_mu = &mu;
    test_run t = open_noslip(NULL, 1, SC_NEWTON, SC_F64, 2, 1);
    CALL(sc_batch_set(t.batch, 0, &p));
    solve_run(&t);
    cr_expect_leq(fabs(run_qacc(&t, 0)[0]), 1e-13, "mass %g: it slides at %g m/s^2", mass, run_qacc(&t, 0)[0]);
    cr_expect_eq(t.r.efc_state[1], SC_QUADRATIC, "mass %g: state %d", mass, t.r.efc_state[1]);
    close_run(&t);
  }
}

/* What has no answer gets none from noslip. */
Test(noslip, bad_environments_stay_what_they_are) {
  test_run t = open_noslip(NULL, 1, SC_NEWTON, SC_F64, 3, 3);
  for (int i = 0; i < 3; i++) {
    test_problem q = make_problem(&problem_cases[13], (uint64_t)i);
    if (i == 1) q.M[0] = -1;
    if (i == 2) q.tau[0] = 1e308;
    CALL(sc_batch_set(t.batch, i, &q.p));
    free_problem(&q);
  }
  solve_run(&t);
  cr_expect(t.r.status[0] == SC_SOLVED && t.r.flags[0] & SC_NOSLIP_APPLIED, "the good one: %s", sc_status_name(t.r.status[0]));
  cr_expect(t.r.status[1] == SC_NOT_SPD && isnan(run_qacc(&t, 1)[0]) && !(t.r.flags[1] & SC_NOSLIP_APPLIED), "%s", sc_status_name(t.r.status[1]));
  cr_expect(t.r.status[2] == SC_NOT_FINITE && isnan(run_qacc(&t, 2)[0]) && !(t.r.flags[2] & SC_NOSLIP_APPLIED), "%s", sc_status_name(t.r.status[2]));
  close_run(&t);
}
