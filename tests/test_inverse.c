/* Inverse dynamics: forces in closed form at any acceleration, against MuJoCo's mj_inverse and the independent verifier. */
#include "support/large_problem.h"
#include "support/model_run.h"
#include "support/near.h"
#include "support/tolerances.h"

#include <stdio.h>

/* every kind of row that has no flex */
static const char everything[] =
    "<mujoco><option timestep='0.003' cone='%s' impratio='2' integrator='%s'/><size memory='20M'/>"
    "<default><geom friction='.8 .01 .001'/></default><worldbody><geom type='plane' size='3 3 .1' condim='1'/>"
    "<body name='base' pos='0 0 .12'><freejoint/><geom type='box' size='.1 .2 .1' condim='4'/>"
    " <body name='arm' pos='.2 0 0'><joint name='j1' axis='0 1 0' range='-10 10' frictionloss='.1' damping='.5' armature='.01'/>"
    "  <geom type='capsule' fromto='0 0 0 .3 0 0' size='.03'/><site name='tip' pos='.3 0 0'/></body></body>"
    "<body name='ball' pos='.6 0 .1'><joint type='ball' range='0 5'/><geom size='.08' condim='6' pos='0 0 -.05'/></body>"
    "<body name='slide' pos='-.5 0 .08'><joint name='s' type='slide' axis='0 0 1' limited='true' range='-.01 .01'/><geom size='.09' condim='3'/></body>"
    "<body name='hung' pos='0 1 .5'><freejoint/><geom size='.1' condim='1'/></body>"
    "<body name='low' pos='1 1 .09'><freejoint/><geom size='.1' condim='1'/></body></worldbody>"
    "<tendon><fixed name='t' range='-.02 .02' margin='.03' frictionloss='.05'><joint joint='j1' coef='1'/><joint joint='s' coef='-2'/></fixed></tendon>"
    "<equality><joint joint1='j1' joint2='s' polycoef='0 1 0 0 0'/><tendon tendon1='t'/><connect body1='arm' body2='ball' anchor='.3 0 0'/>"
    "<weld body1='hung' torquescale='.5'/></equality>"
    "<actuator><position joint='j1' kp='20'/><motor tendon='t' gear='3'/></actuator></mujoco>";

static mjModel *compile(const char *cone, const char *integrator) {
  char xml[4000], error[400] = "";
  snprintf(xml, sizeof xml, everything, cone, integrator);
  mjSpec *spec = mj_parseXMLString(xml, NULL, error, sizeof error);
  cr_assert(spec != NULL, "%s", error);
  mjModel *m = mj_compile(spec, NULL);
  cr_assert(m != NULL, "%s", mjs_getError(spec));
  mj_deleteSpec(spec);
  return m;
}

/* ------------------------------------------------------------------ arrays for all outputs */

typedef struct {
  sc_inverse io;
  double *force, *constraint, *inverse, *fwdinv;
  uint8_t *state;
} outputs;

static outputs run_inverse(const test_run *t, const double *qacc, int fwdinv) {
  outputs o;
  sc_result r;
  CALL(sc_solver_result(t->solver, &r));
  size_t n = r.nv_offset[r.nenv], m = r.efc_offset[r.nenv];
  o.force = test_numbers((int)m), o.constraint = test_numbers((int)n), o.inverse = test_numbers((int)n),
      o.fwdinv = test_numbers(2 * r.nenv);
  o.state = calloc(m + 1, 1);
  sc_inverse_init(&o.io);
  o.io.qacc = qacc, o.io.efc_force = o.force, o.io.efc_state = o.state, o.io.qfrc_constraint = o.constraint,
      o.io.qfrc_inverse = o.inverse;
  if (fwdinv) o.io.fwdinv = o.fwdinv;
  CALL(sc_solver_inverse(t->solver, &o.io));
  return o;
}

static void free_outputs(outputs *o) {
  free(o->force);
  free(o->constraint);
  free(o->inverse);
  free(o->fwdinv);
  free(o->state);
}

/* sc_solve would keep no packs */
static void pack_and_run(test_run *t) {
  CALL(sc_solver_pack(t->solver, t->batch));
  CALL(sc_solver_run(t->solver));
  CALL(sc_solver_result(t->solver, &t->r));
}

static double largest(const double *x, size_t n) {
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* |x - y| against the largest of y */
static void compare(near_worst *w, const double *x, const double *y, size_t n, double tolerance, const char *name, int env) {
  double size = largest(y, n);
  for (size_t i = 0; i < n; i++) near_absolute(w, x[i], y[i], tolerance * size, "environment %d: %s[%zu]", env, name, i);
}

/* ------------------------------------------------------------------ against MuJoCo */

enum { STATES = 30 };

/* MuJoCo's numbers of one state at an acceleration, beside those of softcon */
static void against_state(const mjModel *m, mjData *d, const double *state, const test_run *t, const outputs *o,
                          const double *qacc, int env, near_worst w[3]) {
  size_t nv = (size_t)m->nv, rows = t->r.efc_offset[env + 1] - t->r.efc_offset[env];
  double *mine = test_numbers((int)nv);
  mj_setState(m, d, state, mjSTATE_INTEGRATION);
  mj_forward(m, d);
  cr_assert_eq(rows, (size_t)d->nefc, "environment %d: %zu rows, MuJoCo's are %d", env, rows, d->nefc);
  for (size_t i = 0; i < nv; i++) mine[i] = o->inverse[(size_t)env * nv + i] + d->qfrc_smooth[i] + d->qfrc_bias[i] - d->qfrc_passive[i];
  memcpy(d->qacc, qacc, nv * sizeof *qacc);
  mj_inverse(m, d);
  compare(&w[0], o->force + t->r.efc_offset[env], d->efc_force, rows, 1e-12, "efc_force", env);
  compare(&w[1], o->constraint + (size_t)env * nv, d->qfrc_constraint, nv, 1e-12, "qfrc_constraint", env);
  compare(&w[2], mine, d->qfrc_inverse, nv, 1e-12, "qfrc_inverse", env);
  free(mine);
}

static int against_mujoco(const char *cone, const char *integrator, int mujoco_rows, int precision, unsigned *types) {
  mjModel *m = compile(cone, integrator);
  mjData *d = mj_makeData(m);
  test_run t = open_states(STATES, precision);
  sc_model *model;
  sc_model_options options;
  size_t nstate, nv = (size_t)m->nv;
  near_worst w[3] = {{0}, {0}, {0}};
  sc_model_options_init(&options);
  options.rows = mujoco_rows;
  CALL(sc_model_wrap(m, &options, &model));
  CALL(sc_state_size(model, -1, &nstate));
  double *states = test_numbers((int)(STATES * nstate)), *qacc = test_numbers((int)(STATES * nv));
  CALL(sc_states_make(t.context, model, STATES, 11, 150, states, NULL, NULL));
  test_random r = {5};
  for (size_t i = 0; i < STATES * nv; i++) qacc[i] = 20 * random_signed(&r) * random_scale(&r, 3);
  CALL(sc_model_batch(t.context, model, states, -1, STATES, t.batch, NULL, NULL, NULL));
  CALL(sc_solver_pack(t.solver, t.batch));
  CALL(sc_solver_result(t.solver, &t.r));
  outputs o = run_inverse(&t, qacc, 0);
  for (int i = 0; i < STATES; i++) against_state(m, d, states + (size_t)i * nstate, &t, &o, qacc + (size_t)i * nv, i, w);
  for (int i = 0; i < STATES; i++) {
    sc_problem p;
    CALL(sc_batch_get(t.batch, i, &p, NULL));
    for (int k = 0; k < p.nefc; k++) *types |= 1u << p.efc_type[k];
  }
  for (int k = 0; k < 3; k++) near_report(&w[k]);
  int rows = (int)t.r.efc_offset[STATES];
  free_outputs(&o);
  free(states);
  free(qacc);
  sc_model_destroy(model);
  close_run(&t);
  mj_deleteData(d);
  mj_deleteModel(m);
  return rows;
}

Test(inverse, is_mujoco_s) {
  const char *const cones[] = {"pyramidal", "elliptic"}, *const integrators[] = {"Euler", "implicitfast"};
  unsigned types = 0;
  for (int k = 0; k < 16; k++) cr_expect_geq(against_mujoco(cones[k & 1], integrators[k >> 1 & 1], k >> 2 & 1, k >> 3 & 1,
                                                            &types), 10 * STATES);
  cr_expect_eq(types, (1u << SC_NTYPE) - 1, "row kinds that occur: %x", types);
}

/* MuJoCo's own diagnostic of its own answer, which is far from converged */
Test(inverse, fwdinv_is_mujoco_s) {
  mjModel *m = compile("elliptic", "Euler");
  mjData *d = mj_makeData(m);
  near_worst w = {0};
  double most = 0; /* of what is compared, or a zero would be */
  m->opt.solver = mjSOL_NEWTON, m->opt.iterations = 3, m->opt.tolerance = 0;
  m->opt.disableflags |= mjDSBL_ISLAND;
  double *state = test_numbers((int)mj_stateSize(m, mjSTATE_INTEGRATION));
  for (int i = 0; i < 60; i++) {
    mj_step1(m, d);
    test_run t = open_states(1, SC_F64);
    mj_getState(m, d, state, mjSTATE_INTEGRATION);
    batch_states(&t, m, state, mjSTATE_INTEGRATION, 1);
    pack_and_run(&t);
    mj_forward(m, d);
    mj_compareFwdInv(m, d);
    outputs o = run_inverse(&t, d->qacc, 1), own = run_inverse(&t, NULL, 1);
    double size = largest(d->qfrc_smooth, (size_t)m->nv);
    near_absolute(&w, o.fwdinv[1], d->solver_fwdinv[1], 1e-10 * size, "step %d: fwdinv[1]", i);
    cr_expect(own.fwdinv[0] <= 1e-9 * size && own.fwdinv[1] <= 1e-6 * size, "step %d: fwdinv %g %g of a solved environment", i,
              own.fwdinv[0], own.fwdinv[1]);
    most = fmax(most, o.fwdinv[1] / size);
    free_outputs(&o);
    free_outputs(&own);
    close_run(&t);
    mj_step2(m, d);
  }
  cr_expect_gt(most, 1e-3, "MuJoCo converges: %g", most);
  near_report(&w);
  free(state);
  mj_deleteData(d);
  mj_deleteModel(m);
}

/* ------------------------------------------------------------------ against the verifier, for given rows */

enum { COPIES = 4, N = NPROBLEM * COPIES };

static double *fill(test_run *t) {
  size_t at = 0;
  test_random r = {9};
  for (int i = 0; i < N; i++) {
    test_problem q = make_problem(&problem_cases[i / COPIES], (uint64_t)i);
    CALL(sc_batch_set(t->batch, i, &q.p));
    at += (size_t)q.p.nv;
    free_problem(&q);
  }
  double *qacc = test_numbers((int)at);
  for (size_t i = 0; i < at; i++) qacc[i] = random_signed(&r) * random_scale(&r, 4);
  return qacc;
}

/* forces by the verifier's formulas, its gradient is |qfrc_inverse|, and fwdinv says how far the run was from them */
static void check_inverse(const test_run *t, const double *qacc, const char *what) {
  outputs o = run_inverse(t, qacc, 1);
  for (int i = 0; i < t->r.nenv; i++) {
    sc_problem p;
    sc_check_report c;
    double norm = 0, apart = 0;
    CALL(sc_batch_get(t->batch, i, &p, NULL));
    CALL(sc_check(&p, qacc + t->r.nv_offset[i], o.force + t->r.efc_offset[i], &c));
    cr_expect(c.force_error <= 1e-12 && c.cone_error <= 1e-12, "%s, environment %d: force error %g, cone error %g in row %d",
              what, i, c.force_error,
              c.cone_error, c.worst_row);
    for (size_t k = t->r.nv_offset[i]; k < t->r.nv_offset[i + 1]; k++) {
      norm += o.inverse[k] * o.inverse[k];
      apart += pow(o.constraint[k] - t->r.qfrc_constraint[k], 2);
    }
    norm = sqrt(norm), apart = sqrt(apart);
    cr_expect(fabs(norm - c.gradient) <= 1e-12 * (c.gradient + largest(o.constraint, t->r.nv_offset[t->r.nenv])),
              "%s, environment %d: |qfrc_inverse| is %g, not %g", what, i, norm, c.gradient);
    cr_expect(fabs(o.fwdinv[2 * i + 1] - norm) <= 1e-13 * norm && fabs(o.fwdinv[2 * i] - apart) <= 1e-13 * apart,
              "%s, environment %d: fwdinv %g, %g", what,
              i, o.fwdinv[2 * i], o.fwdinv[2 * i + 1]);
  }
  free_outputs(&o);
}

Test(inverse, is_the_verifier_s) {
  EACH_BACKEND(backend) EACH_PRECISION(precision) {
    test_run t = open_run(backend, 2, precision, 1e-8, N);
    double *qacc = fill(&t);
    pack_and_run(&t);
    check_inverse(&t, qacc, backend);
    free(qacc);
    close_run(&t);
  }
}

/* 324 dofs and every kind of row, which are packed alone; at random accelerations and at the answer */
Test(inverse, of_large_systems_is_the_verifier_s) {
  static const problem_case made_of = {"everything", 27, 3, 5, 4, 2, 2, 2, 2, 1, 0};
  large_problem q = make_large(&made_of);
  test_random r = {5};
  double *qacc = test_numbers(q.p.nv);
  for (int i = 0; i < q.p.nv; i++) qacc[i] = 10 * random_signed(&r);
  EACH_BACKEND(backend) EACH_PRECISION(precision) {
    test_run t = open_run(backend, 2, precision, 1e-8, 1);
    CALL(sc_batch_set(t.batch, 0, &q.p));
    pack_and_run(&t);
    cr_expect_eq(t.r.status[0], SC_SOLVED, "%s, precision %d: %s", backend, precision, sc_status_name(t.r.status[0]));
    check_inverse(&t, qacc, backend);
    check_inverse(&t, t.r.qacc, backend);
    close_run(&t);
  }
  free(qacc);
  free_large(&q);
}

Test(inverse, threads_and_results) {
  EACH_PRECISION(precision) {
    test_run one = open_run(NULL, 1, precision, 1e-8, N), four = open_run(NULL, 4, precision, 1e-8, N);
    double *qacc = fill(&one);
    free(fill(&four));
    pack_and_run(&one);
    pack_and_run(&four);
    size_t n = one.r.nv_offset[N], m = one.r.efc_offset[N];
    double *before = test_numbers((int)n);
    memcpy(before, one.r.qacc, n * sizeof *before);
    outputs a = run_inverse(&one, qacc, 1), b = run_inverse(&four, qacc, 1);
    cr_expect(!memcmp(a.force, b.force, m * sizeof(double)) && !memcmp(a.inverse, b.inverse, n * sizeof(double)) &&
              !memcmp(a.state, b.state, m));
    cr_expect(!memcmp(a.constraint, b.constraint, n * sizeof(double)) && !memcmp(a.fwdinv, b.fwdinv, 2 * N * sizeof(double)));
    cr_expect(!memcmp(before, one.r.qacc, n * sizeof(double)), "the results are no longer those of the run");
    CALL(sc_solver_run(one.solver));
    cr_expect(!memcmp(before, one.r.qacc, n * sizeof(double)), "a run after it has other results");
    free_outputs(&a);
    free_outputs(&b);
    free(before);
    free(qacc);
    close_run(&one);
    close_run(&four);
  }
}

/* ------------------------------------------------------------------ what is odd */

Test(inverse, bad_environments) {
  test_run t = open_run(NULL, 2, SC_F64, 1e-8, 4);
  double qacc[32];
  sc_inverse io;
  for (int i = 0; i < 32; i++) qacc[i] = 0.1 * i;
  for (int i = 0; i < 4; i++) {
    test_problem q = make_problem(&problem_cases[5], (uint64_t)i); /* 7 dofs */
    if (i == 1) q.tau[0] = NAN;
    if (i == 2) memset(q.M, 0, 49 * sizeof(double)); /* inverse dynamics needs no factor of it */
    int code = sc_batch_set(t.batch, i, &q.p);
    cr_assert_eq(code, i == 1 ? SC_ERROR_VALUE : SC_OK);
    free_problem(&q);
  }
  qacc[7 * 3 + 2] = NAN;
  sc_inverse_init(&io);
  io.qacc = qacc;
  cr_expect_eq(sc_solver_inverse(t.solver, &io), SC_ERROR_ARGUMENT);
  cr_expect_str_eq(sc_error_text(), "sc_solver_inverse: nothing is packed: call sc_solver_pack first");
  CALL(sc_solver_pack(t.solver, t.batch));
  CALL(sc_solver_inverse(t.solver, &io));
  io.qacc = NULL;
  cr_expect_eq(sc_solver_inverse(t.solver, &io), SC_ERROR_ARGUMENT);
  cr_expect_str_eq(sc_error_text(), "sc_solver_inverse: qacc is NULL: call sc_solver_run first");
  CALL(sc_solve(t.solver, t.batch));
  cr_expect_eq(sc_solver_inverse(t.solver, &io), SC_ERROR_ARGUMENT);
  cr_expect_str_eq(sc_error_text(), "sc_solver_inverse: nothing is packed any more after sc_solve: call sc_solver_pack first");
  io.size--;
  cr_expect_eq(sc_solver_inverse(t.solver, &io), SC_ERROR_ARGUMENT);
  cr_expect_eq(sc_solver_inverse(NULL, &io), SC_ERROR_ARGUMENT);
  pack_and_run(&t);
  outputs o = run_inverse(&t, qacc, 1);
  const int answered[] = {1, 0, 1, 0};
  cr_expect_eq(t.r.status[2], SC_NOT_SPD);
  for (int i = 0; i < 4; i++) {
    for (size_t k = t.r.nv_offset[i]; k < t.r.nv_offset[i + 1]; k++) cr_expect_eq(isfinite(o.inverse[k]) != 0, answered[i],
                                                                                  "environment %d: %g", i, o.inverse[k]);
    for (size_t k = t.r.efc_offset[i]; k < t.r.efc_offset[i + 1]; k++) cr_expect_eq(isfinite(o.force[k]) != 0, answered[i],
                                                                                    "environment %d", i);
    cr_expect_eq(isfinite(o.fwdinv[2 * i + 1]) != 0, answered[i], "environment %d", i);
  }
  free_outputs(&o);
  close_run(&t);
}
