/* States made by stepping a model under smooth random controls. */
#include "mujoco_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ random numbers */

/* splitmix64 from a start that depends on the seed, the environment and the attempt: any number of environments can be
 * made in any order. */
typedef struct {
  uint64_t state;
} stream;

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static stream make_stream(uint64_t seed, int env, int attempt) {
  uint64_t s = mix(seed + 0x9E3779B97F4A7C15u);
  s = mix(s ^ (uint64_t)env * 0xD1B54A32D192ED03u);
  return (stream){mix(s ^ (uint64_t)attempt * 0x8CB92BA72F3D8DD7u)};
}

/* in (0, 1) */
static double uniform(stream *s) {
  s->state += 0x9E3779B97F4A7C15u;
  return ((double)(mix(s->state) >> 12) + 0.5) * 0x1p-52;
}

/* standard normal (Box-Muller) */
static double normal(stream *s) {
  double r = sqrt(-2 * log(uniform(s)));
  return r * cos(6.283185307179586 * uniform(s));
}

/* ------------------------------------------------------------------ one rollout */

#define FREE_SPREAD 0.01  /* m, horizontally, of a free body */
#define TURN_SPREAD 0.05  /* rad, of a free body and a ball joint */
#define RANGE_SPREAD 0.03 /* of a limited joint's range */
#define SPEED_SPREAD 0.2  /* m/s, rad/s */
#define SPEED_LIMIT 1e3   /* m/s, rad/s: faster is a rollout that diverges */
#define FULL_ATTEMPTS 8   /* rollouts of full length that may diverge; each further one takes half the steps */
#define ATTEMPTS 40       /* more than enough to come down to none */

typedef struct {
  const mjModel *model;
  mjData *data;
  double *level, *smooth; /* nu: noise after one and two low-pass filters, about 1 in size */
  double *base;           /* nu: controls that the noise is added to */
  uint64_t seed;
  int env, attempt, steps; /* steps: at most */
  double *state;           /* nstate: where the state goes */
  int finite;              /* out: the state is usable */
} rollout;

/* dq (nv) moves the start: limited joints within their range, free bodies sideways and turned. */
static void draw_offset(const mjModel *m, stream *s, double *dq) {
  memset(dq, 0, (size_t)m->nv * sizeof *dq);
  for (int j = 0; j < m->njnt; j++) {
    double *x = dq + m->jnt_dofadr[j];
    switch (m->jnt_type[j]) {
    case mjJNT_FREE:
      x[0] = FREE_SPREAD * normal(s), x[1] = FREE_SPREAD * normal(s);
      for (int k = 3; k < 6; k++) x[k] = TURN_SPREAD * normal(s);
      break;
    case mjJNT_BALL:
      for (int k = 0; k < 3; k++) x[k] = TURN_SPREAD * normal(s);
      break;
    default:
      if (m->jnt_limited[j]) x[0] = RANGE_SPREAD * (m->jnt_range[2 * j + 1] - m->jnt_range[2 * j]) * normal(s);
    }
  }
}

static void perturb(const mjModel *m, mjData *d, stream *s) {
  draw_offset(m, s, d->qvel); /* qvel as scratch */
  mj_integratePos(m, d->qpos, d->qvel, 1);
  for (int j = 0; j < m->njnt; j++) {
    if (!m->jnt_limited[j] || (m->jnt_type[j] != mjJNT_HINGE && m->jnt_type[j] != mjJNT_SLIDE)) continue;
    double *q = &d->qpos[m->jnt_qposadr[j]];
    *q = fmin(fmax(*q, m->jnt_range[2 * j]), m->jnt_range[2 * j + 1]);
  }
  for (int i = 0; i < m->nv; i++) d->qvel[i] = SPEED_SPREAD * normal(s);
}

/* Start pose, and the controls to vary around: the keyframe's, or the middle of the range. */
static void start(rollout *r, stream *s) {
  const mjModel *m = r->model;
  mjData *d = r->data;
  if (m->nkey > 0)
    mj_resetDataKeyframe(m, d, r->env % (int)m->nkey);
  else
    mj_resetData(m, d);
  for (int i = 0; i < m->nu; i++) {
    const double *range = m->actuator_ctrlrange + 2 * i;
    r->base[i] = m->nkey > 0 ? d->ctrl[i] : m->actuator_ctrllimited[i] ? (range[0] + range[1]) / 2 : 0;
    r->level[i] = normal(s);
    r->smooth[i] = normal(s);
  }
  perturb(m, d, s);
}

/* One step of the filtered noise; time constant tau in seconds, amplitude relative to the range. */
static void drive(rollout *r, stream *s, double tau, double amplitude) {
  const mjModel *m = r->model;
  double a = fmin(1, m->opt.timestep / tau);
  for (int i = 0; i < m->nu; i++) {
    const double *range = m->actuator_ctrlrange + 2 * i;
    int limited = m->actuator_ctrllimited[i];
    r->level[i] += sqrt(2 * a) * normal(s) - a * r->level[i];
    r->smooth[i] += 2 * a * (r->level[i] - r->smooth[i]);
    double u = r->base[i] + amplitude * (limited ? range[1] - range[0] : 1) * r->smooth[i];
    r->data->ctrl[i] = limited ? fmin(fmax(u, range[0]), range[1]) : u;
  }
}

static int diverged(const mjModel *m, const mjData *d) {
  static const int bad[] = {mjWARN_CONTACTFULL, mjWARN_CNSTRFULL, mjWARN_BADQPOS,
                            mjWARN_BADQVEL,     mjWARN_BADQACC,   mjWARN_BADCTRL};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (d->warning[bad[i]].number) return 1;
  for (int i = 0; i < m->nv; i++)
    if (!(fabs(d->qvel[i]) <= SPEED_LIMIT)) return 1;
  return !sc_mj_finite(d->qpos, (size_t)m->nq);
}

/* for sc_mj_guard */
static void run_rollout(void *arg) {
  rollout *r = arg;
  const mjModel *m = r->model;
  mjData *d = r->data;
  stream s = make_stream(r->seed, r->env, r->attempt);
  r->finite = 0;
  start(r, &s);
  memset(d->warning, 0, sizeof d->warning);
  double tau = 0.05 + 0.45 * uniform(&s), amplitude = (m->nkey > 0 ? 0.1 : 0.2) + 0.2 * uniform(&s);
  int steps = r->steps - (int)(uniform(&s) * (r->steps / 2 + 1));
  for (int k = 0; k < steps; k++) {
    drive(r, &s, tau, amplitude);
    mj_step(m, d);
    if (diverged(m, d)) return;
  }
  drive(r, &s, tau, amplitude);
  mj_getState(m, d, r->state, mjSTATE_INTEGRATION);
  r->finite = sc_mj_finite(r->state, (size_t)mj_stateSize(m, mjSTATE_INTEGRATION));
}

/* ------------------------------------------------------------------ many */

typedef struct {
  const mjModel *model;
  double *states;
  size_t nstate;
  uint64_t seed;
  int warmup;
  sc_mj_worker *workers;
  double *controls; /* workers x 3 nu */
} states_job;

static void make_state(void *arg, int env, int worker) {
  const states_job *job = arg;
  size_t nu = (size_t)job->model->nu;
  char text[SC_MJ_TEXT] = "";
  double *controls = job->controls + 3 * nu * (size_t)worker;
  rollout r = {
      .model = job->model, .data = job->workers[worker].data, .seed = job->seed, .env = env, .steps = job->warmup};
  r.level = controls, r.smooth = controls + nu, r.base = controls + 2 * nu;
  r.state = job->states + job->nstate * (size_t)env;
  for (r.attempt = 0; r.attempt < ATTEMPTS; r.attempt++) {
    if (r.attempt >= FULL_ATTEMPTS) r.steps /= 2;
    if (!sc_mj_guard(run_rollout, &r, text) && r.finite) return;
  }
  memset(r.state, 0, job->nstate * sizeof *r.state);
  sc_mj_fail(&job->workers[worker], env, SC_ERROR_VALUE, "no state can be made, not even the start: %s",
             text[0] ? text : "not finite");
}

typedef struct {
  const mjModel *from;
  mjModel *made;
} copy_job;

/* for sc_mj_guard: a copy of the model without the sensors, on which no state depends unless they are remembered */
static void copy_model(void *arg) {
  copy_job *job = arg;
  job->made = mj_copyModel(NULL, job->from);
  if (job->made && job->made->nhistory == 0 && job->made->nplugin == 0) job->made->opt.disableflags |= mjDSBL_SENSOR;
}

int sc_states_make(sc_context *context, const sc_model *model, int nenv, uint64_t seed, int warmup, double *states,
                   sc_progress progress, void *arg) {
  static const char call[] = "sc_states_make";
  const char *null = !context ? "context" : !model ? "model" : !states && nenv > 0 ? "states" : NULL;
  if (null) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, null);
  if (nenv < 0) return sc_error_set(SC_ERROR_ARGUMENT, "%s: nenv is %d, not >= 0", call, nenv);
  if (warmup < 0) return sc_error_set(SC_ERROR_ARGUMENT, "%s: warmup is %d, not >= 0", call, warmup);
  copy_job copy = {model->own, NULL};
  int sig = -1;
  size_t nstate;
  char text[SC_MJ_TEXT];
  int code = sc_mj_signature(call, model, &sig, &nstate);
  if (code) return code;
  if (sc_mj_guard(copy_model, &copy, text) || !copy.made)
    return sc_error_set(SC_ERROR_MEMORY, "%s: no memory for a copy of the model", call);
  states_job job = {.model = copy.made, .states = states, .nstate = nstate, .seed = seed, .warmup = warmup};
  size_t nu = (size_t)job.model->nu, threads = (size_t)sc_context_threads(context);
  job.controls = malloc((3 * nu * threads + 1) * sizeof *job.controls);
  if (!job.controls) code = sc_error_set(SC_ERROR_MEMORY, "%s: no memory for %zu controls", call, nu);
  if (!code) code = sc_mj_workers_create(call, context, job.model, &job.workers);
  if (!code) {
    sc_mj_each(context, nenv, make_state, &job, progress, arg);
    code = sc_mj_workers_code(call, context, job.workers);
  }
  sc_mj_workers_destroy(sc_context_threads(context), job.workers);
  free(job.controls);
  mj_deleteModel(copy.made);
  return code;
}
