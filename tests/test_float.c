/* Problems that float cannot hold without care: stiff cones, friction that is nearly none, masses of six decades, R at its floor,
 * huge and tiny units. Every answer is finite, every force within its bounds, and what is called solved is as near to the optimum
 * as it says. Newton solves them in every precision, in float with a second try in double, but for those that are beyond double
 * too: there the verdict says so. */
#include "support/solve.h"
#include "support/tolerances.h"

#include <stdio.h>

/* What makes a problem hard. Units: masses and forces are multiplied by `unit`. */
typedef struct {
  const char *name;
  double impratio, dmin, dmax; /* of all rows */
  double friction;             /* >= 0: of all contacts; -1: as they are */
  double diagA;                /* factor of the rows' diagonal: 0 takes R to its floor */
  double timeconst, depth;     /* solref, and position - margin, m */
  double masses;               /* decades over which they spread */
  double unit;
  int beyond;                  /* D times the inverse inertia is more than double can resolve: only the verdict is asked for */
} hard_case;

static const hard_case hard_cases[] = {
    {"as usual", 1, 0.9, 0.95, -1, 1, 0.02, -0.01, 0, 1, 0},
    {"stiff cones", 1e4, 0.9, 0.9999, -1, 1, 0.02, -0.01, 0, 1, 0},
    {"stiff cones, hard contacts", 1e4, 0.9999, 0.9999, -1, 1, 0.004, -0.05, 0, 1, 0},
    {"soft cones", 1e-4, 0.1, 0.5, -1, 1, 0.2, -0.01, 0, 1, 0},
    {"no friction", 1, 0.9, 0.95, 0, 1, 0.02, -0.01, 0, 1, 0},
    {"no friction, stiff cones", 1e4, 0.9, 0.9999, 0, 1, 0.02, -0.01, 0, 1, 1},
    {"tiny friction", 10, 0.9, 0.99, 2e-5, 1, 0.02, -0.01, 0, 1, 0},
    {"much friction", 10, 0.9, 0.99, 1e3, 1, 0.02, -0.01, 0, 1, 0},
    {"masses of six decades", 1, 0.9, 0.95, -1, 1, 0.02, -0.01, 6, 1, 0},
    {"masses of six decades, stiff cones", 1e3, 0.99, 0.9999, -1, 1, 0.02, -0.01, 6, 1, 0},
    {"R at its floor", 1, 0.9, 0.9999, -1, 0, 0.02, -0.01, 0, 1, 1},
    {"nearly no R", 1, 0.9999, 0.9999, -1, 1e-6, 0.02, -0.01, 0, 1, 1},
    {"nearly no impedance", 1, 1e-4, 1e-4, -1, 1, 0.02, -0.01, 0, 1, 0},
    {"huge units", 1, 0.9, 0.95, -1, 1, 0.02, -0.01, 0, 1e8, 0},
    {"tiny units", 1, 0.9, 0.95, -1, 1, 0.02, -0.01, 0, 1e-8, 0},
    {"far apart", 1, 0.9, 0.95, -1, 1, 0.02, -1e3, 0, 1, 0},
};
#define NHARD ((int)(sizeof hard_cases / sizeof *hard_cases))

/* what of it becomes hard: rows of each kind, alone and together */
static const problem_case bodies[] = {
    {"cones of dim 3", 12, 0, 0, 2, 0, 4, 0, 0, 0, 0},       {"cones of dim 4 and 6", 14, 0, 0, 0, 0, 0, 2, 2, 0, 0},
    {"pyramids", 12, 0, 0, 2, 4, 0, 0, 0, 0, 0},             {"equalities and friction", 16, 5, 6, 0, 0, 0, 0, 0, 0, 0},
    {"everything", 24, 3, 4, 3, 2, 2, 1, 1, 0, 0},
};
#define NBODY ((int)(sizeof bodies / sizeof *bodies))
enum { SEEDS = 3, NENV = NHARD * NBODY * SEEDS };

static const hard_case *hard_of(int env) { return &hard_cases[env / (NBODY * SEEDS)]; }
static const char *text_of(int env) {
  static char text[200];
  snprintf(text, sizeof text, "\"%s\", %s, seed %d", hard_of(env)->name, bodies[env / SEEDS % NBODY].name, env % SEEDS);
  return text;
}

/* masses, and with them forces, over so many decades */
static void spread_masses(test_problem *q, const hard_case *h) {
  int n = q->p.nv;
  for (int i = 0; i < n; i++) {
    double s = pow(10, h->masses * ((double)i / n - 0.5) / 2) * sqrt(h->unit);
    for (int j = 0; j < n; j++) q->M[i * n + j] *= s, q->M[j * n + i] *= s;
    q->tau[i] *= s * s;
  }
}

static void set_hard(sc_batch *batch, int env) {
  const hard_case *h = hard_of(env);
  test_problem q = make_problem(&bodies[env / SEEDS % NBODY], (uint64_t)(100 + env % SEEDS));
  int m = q.p.nefc, n = q.p.nv;
  double *pos = test_numbers(m), *vel = test_numbers(m), *solref = test_numbers(2 * m), *solimp = test_numbers(5 * m), *diagA = test_numbers(m);
  spread_masses(&q, h);
  for (int r = 0; r < m; r++) {
    for (int i = 0; i < n; i++) diagA[r] += h->diagA * q.J[r * n + i] * q.J[r * n + i] / q.M[i * n + i];
    pos[r] = q.type[r] == SC_FRICTION_DOF ? 0 : h->depth, vel[r] = q.aref[r] / 20;
    solref[2 * r] = h->timeconst, solref[2 * r + 1] = 1;
    memcpy(solimp + 5 * r, (double[]){h->dmin, h->dmax, 0.001, 0.5, 2}, 5 * sizeof *solimp);
    q.eta[r] *= h->unit;
  }
  for (int k = 0; h->friction >= 0 && k < 5 * q.p.ncon; k++) q.friction[k] = h->friction;
  q.p.efc_D = q.p.efc_aref = NULL, q.p.contact_mu = NULL;
  q.p.efc_pos = pos, q.p.efc_vel = vel, q.p.efc_solref = solref, q.p.efc_solimp = solimp, q.p.efc_diagA = diagA;
  q.p.timestep = 0.002, q.p.impratio = h->impratio;
  q.p.qacc_warmstart = env % 2 ? q.warm : NULL;
  CALL(sc_batch_set(batch, env, &q.p));
  double *own[] = {pos, vel, solref, solimp, diagA};
  for (int k = 0; k < 5; k++) free(own[k]);
  free_problem(&q);
}

static test_run solve_hard(const char *backend, int method, int precision, int retry) {
  test_run t = open_run(backend, 2, precision, 1e-8, NENV);
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = method, o.precision = precision, o.retry = retry;
  o.tolerance = precision == SC_F32 ? 1e-8 : 1e-12, o.iterations = method == SC_NEWTON ? 200 : 2000;
  use_solver(&t, &o);
  for (int i = 0; i < NENV; i++) set_hard(t.batch, i);
  solve_run(&t);
  return t;
}

/* an answer is finite, keeps to its forces' bounds, and is as near to the optimum as it says */
static void check_answer(const test_run *t, int i, const char *how) {
  sc_problem p;
  sc_check_report c;
  for (size_t k = t->r.nv_offset[i]; k < t->r.nv_offset[i + 1]; k++) cr_assert(isfinite(t->r.qacc[k]), "%s, %s: qacc[%zu]", how, text_of(i), k - t->r.nv_offset[i]);
  CALL(sc_batch_get(t->batch, i, &p, NULL));
  CALL(sc_check(&p, run_qacc(t, i), run_force(t, i), &c));
  cr_expect_leq(c.cone_error, TOL_FORCE, "%s, %s: row %d: force is out of bounds by %g", how, text_of(i), c.worst_row, c.cone_error);
  if (t->r.status[i] != SC_SOLVED) return;
  double error = run_error(t, i);
  cr_expect_leq(error, t->r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "%s, %s: error %g is beyond its bound %g", how, text_of(i), error, t->r.qacc_bound[i]);
}

static const char *const precisions[] = {"f64", "f32", "mixed"};

/* how many are solved, of those where that is asked for; none of the others may be without a name */
static int check_all(const test_run *t, int precision, const char *how) {
  int solved = 0;
  for (int i = 0; i < NENV; i++) {
    int retried = (t->r.flags[i] & SC_RETRIED_F64) != 0;
    check_answer(t, i, how);
    cr_expect(!retried || precision != SC_F64, "%s, %s: flagged as tried again in double", how, text_of(i));
    solved += !hard_of(i)->beyond && t->r.status[i] == SC_SOLVED;
  }
  return solved;
}

Test(hard, newton) {
  EACH_BACKEND(backend) EACH_PRECISION(precision) {
    char how[100];
    snprintf(how, sizeof how, "newton, %s, %s", backend, precisions[precision]);
    test_run t = solve_hard(backend, SC_NEWTON, precision, 1);
    check_all(&t, precision, how);
    for (int i = 0; i < NENV; i++)
      cr_expect(hard_of(i)->beyond || t.r.status[i] == SC_SOLVED, "%s, %s: %s after %d iterations", how, text_of(i), sc_status_name(t.r.status[i]), t.r.iterations[i]);
    close_run(&t);
  }
}

/* without the second try float must know what it has not solved */
Test(hard, newton_in_float_alone) {
  EACH_BACKEND(backend) {
    char how[100];
    snprintf(how, sizeof how, "newton, %s, f32 alone", backend);
    test_run t = solve_hard(backend, SC_NEWTON, SC_F32, 0);
    int solved = check_all(&t, SC_F64, how);
    cr_expect(solved > NENV / 2, "%s: only %d of %d are solved", how, solved, NENV);
    close_run(&t);
  }
}

/* methods of first order may need more than they are given; then they say so */
Test(hard, gradients_and_gauss_seidel) {
  for (int method = SC_CG; method <= SC_PGS; method++) EACH_PRECISION(precision) {
    char how[100];
    snprintf(how, sizeof how, "%s, %s", method == SC_CG ? "cg" : "pgs", precisions[precision]);
    test_run t = solve_hard(NULL, method, precision, 1);
    int solved = check_all(&t, precision, how);
    cr_expect(solved > NENV / 2, "%s: only %d of %d are solved", how, solved, NENV);
    close_run(&t);
  }
}
