/* sc_stepper: a step is mj_step's, for every integrator and both cones; bad environments freeze and leave the others alone. */
#include "softcon_mujoco.h"

#include <criterion/criterion.h>
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 24

typedef struct {
  mjModel *m;
  sc_context *context;
  sc_model *model;
  sc_stepper *stepper;
  size_t nstate;
  double *states, *before;
} run;

static mjModel *load(const char *scene) {
  char path[500], error[300] = "";
  snprintf(path, sizeof path, "%s/scenes/%s.xml", SOFTCON_SOURCE_DIR, scene);
  mjModel *m = mj_loadXML(path, NULL, error, sizeof error);
  cr_assert(m, "%s: %s", path, error);
  return m;
}

static mjModel *parse(const char *xml) {
  char error[300] = "";
  mjVFS vfs;
  mj_defaultVFS(&vfs);
  mj_addBufferVFS(&vfs, "model.xml", xml, (int)strlen(xml));
  mjModel *m = mj_loadXML("model.xml", &vfs, error, sizeof error);
  mj_deleteVFS(&vfs);
  cr_assert(m, "%s", error);
  return m;
}

/* both solvers go to the end, so that they differ by rounding only */
static run start(mjModel *m, int integrator, int cone, int rows, int threads, int warmup) {
  run r = {.m = m};
  sc_model_options mo;
  sc_stepper_options so;
  sc_context_options co;
  m->opt.integrator = integrator, m->opt.cone = cone;
  m->opt.solver = mjSOL_NEWTON, m->opt.iterations = 200, m->opt.tolerance = 1e-15, m->opt.ls_tolerance = 1e-6,
  m->opt.noslip_iterations = 0;
  sc_model_options_init(&mo);
  sc_context_options_init(&co);
  mo.rows = rows, co.threads = threads;
  cr_assert(!sc_context_create(&co, &r.context) && !sc_model_wrap(m, &mo, &r.model), "%s", sc_error_text());
  sc_stepper_options_init(&so, r.model);
  cr_assert_eq(so.solver.iterations, 200);
  cr_assert(!sc_stepper_create(r.context, r.model, &so, &r.stepper), "%s", sc_error_text());
  cr_assert(!sc_state_size(r.model, -1, &r.nstate));
  r.states = malloc(N * r.nstate * sizeof *r.states), r.before = malloc(N * r.nstate * sizeof *r.before);
  cr_assert(!sc_states_make(r.context, r.model, N, 5, warmup, r.states, NULL, NULL), "%s", sc_error_text());
  memcpy(r.before, r.states, N * r.nstate * sizeof *r.states);
  return r;
}

static void stop(run *r) {
  sc_stepper_destroy(r->stepper);
  sc_model_destroy(r->model);
  sc_context_destroy(r->context);
  free(r->states);
  free(r->before);
  mj_deleteModel(r->m);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Differences of the environments' states to mj_step's from the states before, ascending; the warm start is 1e3 times as free. */
static void differences(const run *r, int steps, const double *ctrl, double worst[N]) {
  mjData *d = mj_makeData(r->m);
  double *want = malloc(r->nstate * sizeof *want);
  size_t warm = (size_t)mj_stateSize(r->m, mjSTATE_FULLPHYSICS), nv = (size_t)r->m->nv;
  for (size_t i = 0; i < N; i++) {
    worst[i] = 0;
    mj_setState(r->m, d, r->before + i * r->nstate, mjSTATE_INTEGRATION);
    if (ctrl) memcpy(d->ctrl, ctrl + i * (size_t)r->m->nu, (size_t)r->m->nu * sizeof *ctrl);
    for (int k = 0; k < steps; k++) {
      for (int again = 0; again < 4; again++) { /* its solver ends early: from its own answer it goes on */
        mj_forward(r->m, d);
        memcpy(d->qacc_warmstart, d->qacc, nv * sizeof *d->qacc);
      }
      mj_step(r->m, d);
    }
    mj_getState(r->m, d, want, mjSTATE_INTEGRATION);
    for (size_t j = 0; j < r->nstate; j++) {
      double error = fabs(r->states[i * r->nstate + j] - want[j]) / fmax(1, fabs(want[j]));
      worst[i] = fmax(worst[i], j >= warm && j < warm + nv ? 1e-3 * error : error);
    }
  }
  qsort(worst, N, sizeof *worst, ascending);
  mj_deleteData(d);
  free(want);
}

static const char *const scenes[] = {"legged", "humanoid", "gripper", "boxes"};
#if mjVERSION_HEADER >= 4000000
#define NINTEGRATOR 4
#define FAST mjINT_IMPLICITFAST
#else /* implicitfast is refused */
#define NINTEGRATOR 3
#define FAST mjINT_IMPLICIT
#endif
static const char *const integrators[] = {"Euler", "RK4", "implicit", "implicitfast"};

Test(stepper, one_step_is_mj_steps) {
  for (int s = 0; s < 4; s++)
    for (int integrator = 0; integrator < NINTEGRATOR; integrator++)
      for (int cone = 0; cone < 2; cone++) {
        run r = start(load(scenes[s]), integrator, cone, integrator == 2, 1, 60);
        uint8_t status[N] = {0};
        int32_t steps[N], iterations[N];
        sc_step_report report = {.status = status, .steps = steps, .iterations = iterations};
        cr_assert(!sc_stepper_run(r.stepper, r.states, N, NULL, 1, &report, NULL, NULL), "%s", sc_error_text());
        for (int i = 0; i < N; i++)
          cr_assert(status[i] == SC_SOLVED && steps[i] == 1, "%s %s cone %d environment %d: %s after %d steps", scenes[s],
                    integrators[integrator], cone, i, sc_status_name(status[i]), steps[i]);
        double worst[N];
        differences(&r, 1, NULL, worst);
        cr_assert(worst[N - 1] <= 1e-9, "%s, %s, cone %d: %g", scenes[s], integrators[integrator], cone, worst[N - 1]);
        stop(&r);
      }
}

/* As far as chaos allows: a difference grows with every contact that comes and goes, and what is rounding in most environments
 * is more in a few. */
Test(stepper, trajectories_stay_together) {
  for (int s = 0; s < 4; s++)
    for (int cone = 0; cone < 2; cone++) {
      run r = start(load(scenes[s]), s % 2 ? mjINT_EULER : FAST, cone, 0, 2, 60);
      double worst[N];
      cr_assert(!sc_stepper_run(r.stepper, r.states, N, NULL, 20, NULL, NULL, NULL), "%s", sc_error_text());
      differences(&r, 20, NULL, worst);
      cr_assert(worst[N / 2] <= 1e-7 && worst[N - 1] <= 1e-2, "%s, cone %d: middle %g, worst %g", scenes[s], cone, worst[N / 2],
                worst[N - 1]);
      stop(&r);
    }
}

/* activations, damping, tendons, equalities: what the scenes lack */
static const char muscles[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 .3'><joint name='a' axis='0 1 0' damping='.5' "
    "armature='.01'/>"
    "<geom type='capsule' fromto='0 0 0 .3 0 -.2' size='.03'/><body pos='.3 0 -.2'><joint name='b' axis='0 1 0' range='-60 60' "
    "limited='true'/>"
    "<geom type='capsule' fromto='0 0 0 .2 0 .1' size='.03'/></body></body><body pos='0 1 .1'><freejoint/><geom "
    "size='.1'/></body></worldbody>"
    "<tendon><fixed name='t' limited='true' range='-1 1' stiffness='1'><joint joint='a' coef='1'/><joint joint='b' "
    "coef='-1'/></fixed></tendon>"
    "<equality><joint joint1='a' joint2='b' polycoef='0 .5 0 0 0'/></equality>"
    "<actuator><general joint='a' dyntype='filterexact' dynprm='.1' gainprm='3' actlimited='true' actrange='-.5 .5'/>"
    "<general joint='b' dyntype='integrator' gainprm='2' biastype='affine' biasprm='0 -1 -.2' actlimited='true' actrange='-.3 "
    ".3'/></actuator></mujoco>";

Test(stepper, activations_and_controls) {
  for (int integrator = 0; integrator < NINTEGRATOR; integrator++) {
    run r = start(parse(muscles), integrator, 0, 0, 1, 40);
    double ctrl[2 * N];
    for (int i = 0; i < 2 * N; i++) ctrl[i] = sin(i);
    cr_assert(!sc_stepper_run(r.stepper, r.states, N, ctrl, 7, NULL, NULL, NULL), "%s", sc_error_text());
    double worst[N];
    differences(&r, 7, ctrl, worst);
    cr_assert(worst[N - 1] <= 1e-8, "%s: %g", integrators[integrator], worst[N - 1]);
    stop(&r);
  }
}

/* the same bits one by one, in company, in one call or several, on any number of threads */
Test(stepper, bits_do_not_depend_on_company) {
  run a = start(load("humanoid"), mjINT_EULER, 1, 0, 1, 60), b = start(load("humanoid"), mjINT_EULER, 1, 0, 3, 60);
  size_t bytes = N * a.nstate * sizeof *a.states;
  cr_assert(!memcmp(a.states, b.states, bytes));
  cr_assert(!sc_stepper_run(a.stepper, a.states, N, NULL, 6, NULL, NULL, NULL));
  for (int i = N - 1; i >= 0; i--)
    for (int k = 0; k < 2; k++)
      cr_assert(!sc_stepper_run(b.stepper, b.states + (size_t)i * b.nstate, 1, NULL, 3, NULL, NULL, NULL));
  for (size_t i = 0; i < N * a.nstate; i++)
    cr_assert(!memcmp(&a.states[i], &b.states[i], sizeof(double)), "environment %zu, number %zu", i / a.nstate, i % a.nstate);
  stop(&a);
  stop(&b);
}

Test(stepper, bad_environments_freeze) {
  for (int integrator = 0; integrator < 2; integrator++) {
    run r = start(load("boxes"), integrator, 0, 0, 2, 30);
    uint8_t status[N] = {0};
    int32_t steps[N];
    uint32_t flags[N] = {0};
    r.states[3 * r.nstate + 1] = (double)NAN; /* no number */
    r.states[5 * r.nstate + 2] = 1e11;        /* MuJoCo would start over */
    status[7] = SC_STALLED;                   /* frozen before */
    double *was = malloc(N * r.nstate * sizeof *was);
    memcpy(was, r.states, N * r.nstate * sizeof *was);
    sc_step_report report = {.status = status, .steps = steps, .flags = flags};
    cr_assert(!sc_stepper_run(r.stepper, r.states, N, NULL, 4, &report, NULL, NULL), "%s", sc_error_text());
    for (int i = 0; i < N; i++) {
      int bad = i == 3 || i == 5 || i == 7, want = i == 7 ? SC_STALLED : bad ? SC_BAD_INPUT : SC_SOLVED;
      size_t at = (size_t)i * r.nstate;
      cr_assert(status[i] == want && steps[i] == (bad ? 0 : 4), "environment %d: %s after %d steps", i, sc_status_name(status[i]),
                steps[i]);
      if (bad) cr_assert(!memcmp(r.states + at, was + at, r.nstate * sizeof *was), "environment %d moved", i);
    }
    free(was);
    stop(&r);
  }
}

/* an environment that is not solved stays where it was, or goes on where that is asked for */
Test(stepper, unsolved_environments) {
  for (int go_on = 0; go_on < 2; go_on++)
    for (int integrator = 0; integrator < 2; integrator++) {
      run r = start(load("humanoid"), integrator, 1, 0, 1, 60);
      sc_stepper_options o;
      sc_stepper *s;
      uint8_t status[N] = {0};
      int32_t steps[N];
      int frozen = 0;
      sc_stepper_options_init(&o, r.model);
      o.solver.iterations = 0, o.solver.tolerance = 0, o.go_on = go_on;
      cr_assert(!sc_stepper_create(r.context, r.model, &o, &s), "%s", sc_error_text());
      sc_step_report report = {.status = status, .steps = steps};
      cr_assert(!sc_stepper_run(s, r.states, N, NULL, 5, &report, NULL, NULL), "%s", sc_error_text());
      for (int i = 0; i < N; i++) {
        frozen += status[i] == SC_ITERATION_LIMIT;
        cr_assert(status[i] == SC_SOLVED || status[i] == SC_ITERATION_LIMIT, "environment %d: %s", i, sc_status_name(status[i]));
        cr_assert(go_on || status[i] == SC_SOLVED ? steps[i] == 5 : steps[i] < 5, "environment %d: %d steps", i, steps[i]);
        if (steps[i] == 0)
          cr_assert(!memcmp(r.states + (size_t)i * r.nstate, r.before + (size_t)i * r.nstate, r.nstate * sizeof(double)), "%d",
                    i);
      }
      cr_assert(frozen > 0);
      sc_stepper_destroy(s);
      stop(&r);
    }
}

static int stop_at_once(void *arg, int done, int total) {
  (void)arg, (void)done, (void)total;
  return 1;
}

Test(stepper, calls_that_are_not_legal) {
  run r = start(load("boxes"), 0, 0, 0, 1, 3);
  sc_stepper_options o;
  sc_stepper *s = NULL;
  sc_stepper_options_init(&o, NULL);
  o.integrator = 4;
  cr_assert(sc_stepper_create(r.context, r.model, &o, &s) == SC_ERROR_ARGUMENT && !s &&
            strstr(sc_error_text(), "integrator is 4"));
  o.integrator = 0, o.go_on = 2;
  cr_assert(sc_stepper_create(r.context, r.model, &o, &s) == SC_ERROR_ARGUMENT && strstr(sc_error_text(), "go_on is 2"));
  o.go_on = 0, o.solver.iterations = -1;
  cr_assert(sc_stepper_create(r.context, r.model, &o, &s) == SC_ERROR_ARGUMENT && strstr(sc_error_text(), "iterations is -1"));
  o.solver.iterations = 1, o.integrator = mjINT_IMPLICITFAST;
  int code = sc_stepper_create(r.context, r.model, &o, &s);
  cr_assert_eq(code, NINTEGRATOR == 4 ? SC_OK : SC_ERROR_UNSUPPORTED, "%s", sc_error_text());
  if (code) cr_assert(strstr(sc_error_text(), "implicitfast"));
  sc_stepper_destroy(s);
  o.size = 3;
  cr_assert(sc_stepper_create(r.context, r.model, &o, &s) == SC_ERROR_ARGUMENT);
  cr_assert(sc_stepper_create(NULL, r.model, NULL, &s) == SC_ERROR_ARGUMENT &&
            sc_stepper_create(r.context, NULL, NULL, &s) == SC_ERROR_ARGUMENT);
  cr_assert(sc_stepper_create(r.context, r.model, NULL, NULL) == SC_ERROR_ARGUMENT);
  cr_assert(sc_stepper_run(NULL, r.states, N, NULL, 1, NULL, NULL, NULL) == SC_ERROR_ARGUMENT);
  cr_assert(sc_stepper_run(r.stepper, NULL, N, NULL, 1, NULL, NULL, NULL) == SC_ERROR_ARGUMENT);
  cr_assert(sc_stepper_run(r.stepper, r.states, -1, NULL, 1, NULL, NULL, NULL) == SC_ERROR_ARGUMENT);
  cr_assert(sc_stepper_run(r.stepper, r.states, N, NULL, -1, NULL, NULL, NULL) == SC_ERROR_ARGUMENT);
  cr_assert(!sc_stepper_run(r.stepper, NULL, 0, NULL, 1, NULL, NULL, NULL));
  cr_assert(!sc_stepper_run(r.stepper, r.states, N, NULL, 0, NULL, NULL, NULL));
  cr_assert(!memcmp(r.states, r.before, N * r.nstate * sizeof(double)), "no step moves nothing");
  cr_assert(!sc_stepper_run(r.stepper, r.states, N, NULL, 1, NULL, stop_at_once, NULL));
  sc_stepper_destroy(NULL);
  stop(&r);
}
