/* Steps: kinematics and integration by MuJoCo, rows and solve by softcon.
 *
 * A worker advances a group of environments by itself: workers never wait for each other. While the group is solved,
 * what integration needs is kept, so that nothing is computed twice. For Euler that is the inertia, the smooth force
 * and the change of activations: one mjData, which stays in the cache, serves the whole group. The other integrators
 * need more, and there each environment of a smaller group has an mjData of its own. */
#include "mujoco_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GROUP 64       /* environments at most; alike ones among them share packs */
#define SMALL_GROUP 16 /* with an mjData each: more would not stay in the cache */
#define RK_STAGES 4

/* One worker: its own context of one thread, and the data of one group. */
typedef struct {
  sc_context *context;
  sc_batch *batch;
  sc_solver *solver;
  mjData *data[GROUP];  /* shared: one, at 0 */
  double *kept[GROUP];  /* shared: see keep */
  double *runge[GROUP]; /* of Runge-Kutta: state at the start, weighted sum of derivatives; see runge_size */
  int env[GROUP];       /* -1: nothing to do in this place */
  int taken[GROUP];     /* steps */
  int filled[GROUP];    /* the batch holds a problem there */
  sc_step_report times;
} step_worker;

struct sc_stepper {
  sc_context *context;
  const sc_model *from;
  sc_stepper_options options;
  mjModel *model, *plain; /* of the stages; the same without Euler's damping, for Runge-Kutta */
  size_t nstate;
  int group, shared; /* environments of a group; one mjData serves all of them */
  sc_mj_worker *workers;
  step_worker *steps;
};

/* ------------------------------------------------------------------ create */

void sc_stepper_options_init(sc_stepper_options *o, const sc_model *model) {
  *o = (sc_stepper_options){.size = sizeof *o, .integrator = -1};
  sc_solver_options_init(&o->solver);
  if (!model) return;
  const mjOption *m = &model->own->opt;
  /* a model may hold what MuJoCo takes as "none" */
  o->solver.iterations = m->iterations > 0 ? m->iterations : 0;
  o->solver.ls_iterations = m->ls_iterations > 1 ? m->ls_iterations : 1;
  o->solver.tolerance = m->tolerance >= 0 ? m->tolerance : 0;
  if (m->ls_tolerance > 0 && m->ls_tolerance < 1) o->solver.ls_tolerance = m->ls_tolerance;
  o->solver.warmstart = !(m->disableflags & mjDSBL_WARMSTART);
}

/* What a step depends on that is not made here. */
static int check_model(const char *call, const mjModel *m, int integrator) {
#if mjVERSION_HEADER < 4000000
  /* where equalities or tendons act, its result depends on what MuJoCo's own solve left behind */
  if ((integrator < 0 ? m->opt.integrator : integrator) == mjINT_IMPLICITFAST)
    return sc_error_set(SC_ERROR_UNSUPPORTED, "%s: integrator \"implicitfast\" is supported with MuJoCo 4.0 or later",
                        call);
#else
  (void)integrator;
#endif
#if mjVERSION_HEADER >= 3010000
  for (int i = 0; i < m->nsensor; i++)
    if (m->nhistory && m->sensor_history[2 * i] > 0)
      return sc_error_set(SC_ERROR_UNSUPPORTED, "%s: sensor %d has a history, and sensors are not computed", call, i);
#endif
  if (m->nplugin > 0)
    return sc_error_set(SC_ERROR_UNSUPPORTED, "%s: plugins are not supported (nplugin = %d)", call, (int)m->nplugin);
  return SC_OK;
}

static int check_options(const char *call, const sc_stepper_options *o) {
  if (o->size != sizeof *o)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: options.size is %zu, not %zu: use sc_stepper_options_init", call,
                        o->size, sizeof *o);
  if (o->integrator < -1 || o->integrator > mjINT_IMPLICITFAST)
    return sc_error_set(SC_ERROR_ARGUMENT,
                        "%s: options.integrator is %d, not 0 (Euler), 1 (RK4), 2 (implicit), 3 (implicitfast) or -1",
                        call, o->integrator);
  if (o->go_on < 0 || o->go_on > 1)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: options.go_on is %d, not 0 or 1", call, o->go_on);
  return SC_OK;
}

/* What Runge-Kutta remembers of a step: where it began, and the weighted sums of the derivatives. */
typedef struct {
  double *qpos, *qvel, *act, *warmstart, *time, *sum_qvel, *sum_qacc, *sum_act;
  double *shift, *rate; /* nv: from where it began to the present point, and its change */
} runge;

static size_t runge_size(const mjModel *m) { return (size_t)(m->nq + 6 * m->nv + 2 * m->na) + 1; }

static runge runge_at(const mjModel *m, double *memory) {
  runge r = {.qpos = memory};
  r.qvel = r.qpos + m->nq, r.act = r.qvel + m->nv, r.warmstart = r.act + m->na, r.time = r.warmstart + m->nv;
  r.sum_qvel = r.time + 1, r.sum_qacc = r.sum_qvel + m->nv, r.sum_act = r.sum_qacc + m->nv;
  r.shift = r.sum_act + m->na, r.rate = r.shift + m->nv;
  return r;
}

/* inertia, qfrc_smooth, act_dot */
static size_t kept_size(const mjModel *m) { return (size_t)(m->nC + m->nv + m->na) + 1; }

typedef struct {
  sc_stepper *s;
  int worker;
} make_job;

/* for sc_mj_guard */
static void make_data(void *arg) {
  const make_job *job = arg;
  step_worker *w = &job->s->steps[job->worker];
  for (int i = 0; i < (job->s->shared ? 1 : job->s->group); i++) w->data[i] = mj_makeData(job->s->model);
}

/* for sc_mj_guard */
static void copy_models(void *arg) {
  sc_stepper *s = arg;
  s->model = mj_copyModel(NULL, s->from->rows);
  if (s->model && s->options.integrator >= 0) s->model->opt.integrator = s->options.integrator;
  if (s->model) s->plain = mj_copyModel(NULL, s->model);
  if (s->plain) s->plain->opt.disableflags |= mjDSBL_EULERDAMP;
}

static int make_worker(const char *call, sc_stepper *s, int k) {
  char text[SC_MJ_TEXT];
  step_worker *w = &s->steps[k];
  make_job job = {s, k};
  sc_context_options o;
  sc_context_options_init(&o);
  o.threads = 1, o.backend = sc_context_backend(s->context);
  int code = sc_context_create(&o, &w->context), failed = 0;
  if (!code) code = sc_batch_create(w->context, s->group, &w->batch);
  if (!code) code = sc_solver_create(w->context, &s->options.solver, &w->solver);
  if (!code && !s->from->mujoco_rows) code = sc_assembly_create(&s->workers[k].assembly);
  if (code) return code;
  failed = sc_mj_guard(make_data, &job, text);
  for (int i = 0; i < s->group; i++) {
    int rk4 = s->model->opt.integrator == mjINT_RK4;
    if (s->shared) w->kept[i] = malloc(kept_size(s->model) * sizeof(double));
    if (rk4) w->runge[i] = malloc(runge_size(s->model) * sizeof(double));
    failed |= s->shared ? !w->kept[i] || !w->data[0] : !w->data[i] || (rk4 && !w->runge[i]);
  }
  return failed ? sc_error_set(SC_ERROR_MEMORY, "%s: no memory for worker %d", call, k) : SC_OK;
}

int sc_stepper_create(sc_context *context, const sc_model *model, const sc_stepper_options *options, sc_stepper **out) {
  static const char call[] = "sc_stepper_create";
  sc_stepper_options given;
  char text[SC_MJ_TEXT];
  if (!out) return sc_error_set(SC_ERROR_ARGUMENT, "%s: out is NULL", call);
  *out = NULL;
  if (!context || !model) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, context ? "model" : "context");
  if (!options) sc_stepper_options_init(&given, model), options = &given;
  int code = check_options(call, options), threads = sc_context_threads(context);
  if (!code) code = check_model(call, model->own, options->integrator);
  if (code) return code;
  sc_stepper *s = calloc(1, sizeof *s);
  if (!s) return sc_error_set(SC_ERROR_MEMORY, "%s: no memory", call);
  *s = (sc_stepper){.context = context, .from = model, .options = *options};
  s->nstate = (size_t)mj_stateSize(model->own, mjSTATE_INTEGRATION);
  s->steps = calloc((size_t)threads, sizeof *s->steps);
  if (!s->steps || sc_mj_guard(copy_models, s, text) || !s->model || !s->plain)
    code = sc_error_set(SC_ERROR_MEMORY, "%s: no memory for copies of the model", call);
  if (!code) s->shared = s->model->opt.integrator == mjINT_EULER;
  s->group = s->shared ? GROUP : SMALL_GROUP;
  if (!code) code = sc_mj_workers_create(call, context, s->model, &s->workers);
  for (int k = 0; k < threads && !code; k++) code = make_worker(call, s, k);
  if (code) {
    sc_stepper_destroy(s);
    return code;
  }
  *out = s;
  return SC_OK;
}

void sc_stepper_destroy(sc_stepper *s) {
  if (!s) return;
  sc_mj_workers_destroy(sc_context_threads(s->context), s->workers);
  for (int k = 0; s->steps && k < sc_context_threads(s->context); k++) {
    step_worker *w = &s->steps[k];
    for (int i = 0; i < GROUP; i++) {
      if (w->data[i]) mj_deleteData(w->data[i]);
      free(w->kept[i]);
      free(w->runge[i]);
    }
    sc_solver_destroy(w->solver);
    sc_batch_destroy(w->batch);
    sc_context_destroy(w->context);
  }
  free(s->steps);
  if (s->model) mj_deleteModel(s->model);
  if (s->plain) mj_deleteModel(s->plain);
  free(s);
}

/* ------------------------------------------------------------------ a group */

/* One call of sc_stepper_run. */
typedef struct {
  sc_stepper *s;
  double *states;
  int nenv, nsteps;
  const double *ctrl;
  size_t ctrl_at;         /* of the controls in a state */
  sc_step_report *report; /* never NULL */
} run_job;

/* The place of one environment in its worker's group. */
typedef struct {
  const run_job *job;
  step_worker *w;
  sc_mj_worker *mj;
  int place;
} place;

static double *state_of(const run_job *job, int env) { return job->states + (size_t)env * job->s->nstate; }

static mjData *data_of(const place *p) { return p->w->data[p->job->s->shared ? 0 : p->place]; }

/* Its state goes back, where it is not there already, and it takes no further step. */
static void leave(const place *p, int status) {
  int env = p->w->env[p->place];
  if (!p->job->s->shared) mj_getState(p->job->s->model, data_of(p), state_of(p->job, env), mjSTATE_INTEGRATION);
  if (p->job->report->status) p->job->report->status[env] = (uint8_t)status;
  p->w->env[p->place] = -1;
}

static int within(const double *x, mjtSize n) {
  for (mjtSize i = 0; i < n; i++)
    if (!(fabs(x[i]) <= mjMAXVAL)) return 0;
  return 1;
}

/* env's state into the data; frozen ones and bad ones stay out */
static void enter(const place *p, int env) {
  const run_job *job = p->job;
  const mjModel *m = job->s->model;
  double *state = state_of(job, env);
  const double *ctrl = job->ctrl ? job->ctrl + (size_t)env * (size_t)m->nu : NULL;
  p->w->env[p->place] = -1, p->w->taken[p->place] = 0;
  if (job->report->steps) job->report->steps[env] = 0;
  if (job->report->iterations) job->report->iterations[env] = 0;
  if (job->report->status && job->report->status[env] != SC_SOLVED) return;
  if (!sc_mj_finite(state, job->s->nstate) || (ctrl && !sc_mj_finite(ctrl, (size_t)m->nu))) {
    if (job->report->status) job->report->status[env] = SC_BAD_INPUT;
    return;
  }
  if (ctrl) memcpy(state + job->ctrl_at, ctrl, (size_t)m->nu * sizeof *ctrl);
  if (!job->s->shared) mj_setState(m, data_of(p), state, mjSTATE_INTEGRATION);
  p->w->env[p->place] = env;
}

static void copy(double *to, const double *from, mjtSize n) {
  if (n) memcpy(to, from, (size_t)n * sizeof *to);
}

/* What Euler's step reads beside the state and the answer. */
static void keep(const mjModel *m, const mjData *d, double *kept) {
  copy(kept, d->M, m->nC);
  copy(kept + m->nC, d->qfrc_smooth, m->nv);
  copy(kept + m->nC + m->nv, d->act_dot, m->na);
}

static void restore(const mjModel *m, mjData *d, const double *kept) {
  copy(d->M, kept, m->nC);
  copy(d->qfrc_smooth, kept + m->nC, m->nv);
  copy(d->act_dot, kept + m->nC + m->nv, m->na);
}

/* kinematics, collision, smooth forces, and the rows into the batch */
static void make_problem(const place *p) {
  const sc_stepper *s = p->job->s;
  step_worker *w = p->w;
  char text[SC_MJ_TEXT];
  int env = w->env[p->place];
  mjData *d = data_of(p), *own = p->mj->data;
  sc_mj_stages stages = {s->model, d, NULL, 0};
  double start = sc_mj_seconds();
  if (s->shared) mj_setState(s->model, d, state_of(p->job, env), mjSTATE_INTEGRATION);
  if (!within(d->qpos, s->model->nq) || !within(d->qvel, s->model->nv)) {
    leave(p, SC_BAD_INPUT);
    return;
  }
  int failed = sc_mj_guard(s->from->mujoco_rows ? sc_mj_continue_stages : sc_mj_continue_smooth_stages, &stages, text);
  double middle = sc_mj_seconds();
  const char *incomplete = failed ? "" : sc_mj_incomplete(d);
  if (failed || incomplete[0]) {
    sc_mj_fail(p->mj, env, SC_ERROR_VALUE, "%s%s", failed ? "MuJoCo: " : incomplete, failed ? text : "");
    leave(p, SC_BAD_INPUT);
    return;
  }
  p->mj->data = d;
  int code = sc_mj_put_problem(s->model, s->from->mujoco_rows, s->from->mujoco_rows, p->mj, w->batch, p->place);
  p->mj->data = own;
  if (code) {
    sc_mj_fail(p->mj, env, code, "%s", sc_error_text());
    leave(p, SC_BAD_INPUT);
    return;
  }
  if (s->shared) keep(s->model, d, w->kept[p->place]);
  w->filled[p->place] = 1;
  w->times.kinematics += middle - start, w->times.rows += sc_mj_seconds() - middle;
}

/* the answer into the data; or why the step does not go on: an sc_status */
static int take_answer(const place *p, const sc_result *r) {
  const sc_step_report *report = p->job->report;
  int env = p->w->env[p->place], status = r->status[p->place];
  mjData *d = data_of(p);
  size_t at = r->nv_offset[p->place], bytes = (size_t)p->job->s->model->nv * sizeof(double);
  if (report->flags) report->flags[env] |= r->flags[p->place];
  if (report->iterations) report->iterations[env] += r->iterations[p->place];
  if (status >= SC_BAD_INPUT || (status != SC_SOLVED && !p->job->s->options.go_on)) return status;
  if (!within(r->qacc + at, p->job->s->model->nv)) return SC_NOT_FINITE;
  if (report->status && status > report->status[env]) report->status[env] = (uint8_t)status;
  if (p->job->s->shared) {
    mj_setState(p->job->s->model, d, state_of(p->job, env), mjSTATE_INTEGRATION);
    restore(p->job->s->model, d, p->w->kept[p->place]);
  }
  if (bytes) {
    memcpy(d->qacc, r->qacc + at, bytes);
    memcpy(d->qacc_warmstart, r->qacc + at, bytes);
    memcpy(d->qfrc_constraint, r->qfrc_constraint + at, bytes);
  }
  return SC_SOLVED;
}

/* an empty problem where no environment is */
static void clear_places(step_worker *w, int n) {
  for (int i = 0; i < n; i++) {
    sc_problem none;
    if (w->env[i] >= 0 || !w->filled[i]) continue;
    sc_problem_init(&none);
    none.qfrc_smooth = none.M = &(double){0};
    sc_batch_set(w->batch, i, &none);
    w->filled[i] = 0;
  }
}

/* ------------------------------------------------------------------ integration */

typedef struct {
  const sc_stepper *s;
  mjData *data;
  double *runge;
  int stage;
} integration;

/* dst += scale * src */
static void add_scaled(double *dst, const double *src, double scale, mjtSize n) {
  for (mjtSize i = 0; i < n; i++) dst[i] += scale * src[i];
}

/* Where the step began. */
static void runge_begin(const mjModel *m, const mjData *d, const runge *r) {
  copy(r->qpos, d->qpos, m->nq), copy(r->qvel, d->qvel, m->nv), copy(r->act, d->act, m->na);
  copy(r->warmstart, d->qacc_warmstart, m->nv);
  *r->time = d->time;
  memset(r->sum_qvel, 0, (size_t)(3 * m->nv + m->na) * sizeof *r->sum_qvel); /* and shift */
}

/* Back there, but for the warm start. */
static void runge_return(const mjModel *m, mjData *d, const runge *r) {
  copy(d->qpos, r->qpos, m->nq), copy(d->qvel, r->qvel, m->nv), copy(d->act, r->act, m->na);
  d->time = *r->time;
}

/* rate of `shift` at the velocity qvel. Where a joint turns in space, turns do not add up: with u the turn so far and w
 * the angular velocity in the body's frame, u' = w + 1/2 u x w + c u x (u x w), c = (1 - |u|/2 cot(|u|/2))/|u|^2 (the
 * inverse of the exponential map's differential; Munthe-Kaas). MuJoCo does so since 4.0. */
static void runge_rate(const mjModel *m, const mjData *d, const runge *r) {
  copy(r->rate, d->qvel, m->nv);
#if mjVERSION_HEADER >= 4000000
  for (mjtSize j = 0; j < m->njnt; j++) {
    if (m->jnt_type[j] > mjJNT_BALL) continue;
    int at = m->jnt_dofadr[j] + (m->jnt_type[j] == mjJNT_FREE ? 3 : 0);
    const double *u = r->shift + at;
    double size = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]), once[3], twice[3];
    double c = size < 1e-4 ? 1. / 12 : (1 - 0.5 * size / tan(0.5 * size)) / (size * size);
    mju_cross(once, u, d->qvel + at);
    mju_cross(twice, u, once);
    for (int i = 0; i < 3; i++) r->rate[at + i] += 0.5 * once[i] + c * twice[i];
  }
#endif
}

/* Runge-Kutta after the k-th solve: k = 0 .. 2 to the point of the next, k = 3 to the end of the step. The classical
 * scheme: points at 0, 1/2, 1/2, 1 of the timestep, each by the derivative before; weights 1/6, 1/3, 1/3, 1/6. */
static void runge_stage(const sc_stepper *s, mjData *d, const runge *r, int k) {
  static const double point[RK_STAGES - 1] = {0.5, 0.5, 1}, weight[RK_STAGES] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
  const mjModel *m = s->model;
  double h = m->opt.timestep;
  runge_rate(m, d, r);
  add_scaled(r->sum_qvel, r->rate, weight[k], m->nv);
  add_scaled(r->sum_qacc, d->qacc, weight[k], m->nv);
  add_scaled(r->sum_act, d->act_dot, weight[k], m->na);
  if (k < RK_STAGES - 1) {
    copy(d->qpos, r->qpos, m->nq);
    mj_integratePos(m, d->qpos, r->rate, point[k] * h);
    for (mjtSize i = 0; i < m->nv; i++) r->shift[i] = point[k] * h * r->rate[i];
    copy(d->qvel, r->qvel, m->nv), copy(d->act, r->act, m->na);
    add_scaled(d->qvel, d->qacc, point[k] * h, m->nv);
    add_scaled(d->act, d->act_dot, point[k] * h, m->na);
    d->time = *r->time + point[k] * h;
    return;
  }
  /* MuJoCo's own end of a step, by way of Euler with the mean derivatives; it moves the positions by the new velocity
   */
  runge_return(m, d, r);
  copy(r->warmstart, d->qacc_warmstart, m->nv);
  copy(d->qacc, r->sum_qacc, m->nv), copy(d->act_dot, r->sum_act, m->na);
  mj_Euler(s->plain, d);
  copy(d->qacc_warmstart, r->warmstart, m->nv);
  mj_integratePos(m, r->qpos, r->sum_qvel, h);
  copy(d->qpos, r->qpos, m->nq);
}

/* a step that failed after its first solve has not been */
static void runge_undo(const sc_stepper *s, mjData *d, double *memory) {
  runge r = runge_at(s->model, memory);
  runge_return(s->model, d, &r);
  copy(d->qacc_warmstart, r.warmstart, s->model->nv);
}

/* for sc_mj_guard: from qacc to the next state, as mj_step ends, or to the next point of Runge-Kutta */
static void integrate(void *arg) {
  const integration *i = arg;
  const mjModel *m = i->s->model;
  if (m->opt.integrator == mjINT_RK4) {
    runge r = runge_at(m, i->runge);
    runge_stage(i->s, i->data, &r, i->stage);
  } else if (m->opt.integrator == mjINT_EULER) {
    mj_Euler(m, i->data);
  } else {
    mj_implicit(m, i->data);
  }
}

/* ------------------------------------------------------------------ one step */

/* what follows the k-th of `stages` solves, in one place */
static void finish_stage(const place *p, const sc_result *r, int k, int stages) {
  char text[SC_MJ_TEXT];
  step_worker *w = p->w;
  const sc_stepper *s = p->job->s;
  mjData *d = data_of(p);
  integration in = {s, d, w->runge[p->place], k};
  if (stages > 1 && k == 0) {
    runge rk = runge_at(s->model, in.runge);
    runge_begin(s->model, d, &rk);
  }
  int status = take_answer(p, r);
  if (status == SC_SOLVED && sc_mj_guard(integrate, &in, text)) {
    sc_mj_fail(p->mj, w->env[p->place], SC_ERROR_VALUE, "MuJoCo: %s", text);
    status = SC_NOT_FINITE;
  }
  if (status != SC_SOLVED) {
    if (stages > 1) runge_undo(s, d, in.runge);
    leave(p, status);
  } else if (k == stages - 1) {
    w->taken[p->place]++;
    if (s->shared) mj_getState(s->model, d, state_of(p->job, w->env[p->place]), mjSTATE_INTEGRATION);
  }
}
/* Kinematics, solve and integration of all that are still there; an sc_code. */
static int step_group(const run_job *job, step_worker *w, sc_mj_worker *mj) {
  int stages = job->s->model->opt.integrator == mjINT_RK4 ? RK_STAGES : 1;
  for (int k = 0; k < stages; k++) {
    sc_result r;
    for (int i = 0; i < job->s->group; i++)
      if (w->env[i] >= 0) make_problem(&(place){job, w, mj, i});
    clear_places(w, job->s->group);
    double start = sc_mj_seconds();
    int code = sc_solve(w->solver, w->batch);
    if (!code) code = sc_solver_result(w->solver, &r);
    if (code) return code;
    double middle = sc_mj_seconds();
    for (int i = 0; i < job->s->group; i++)
      if (w->env[i] >= 0) finish_stage(&(place){job, w, mj, i}, &r, k, stages);
    w->times.solve += middle - start, w->times.integrate += sc_mj_seconds() - middle;
  }
  return SC_OK;
}

static void run_group(void *arg, int group, int worker) {
  const run_job *job = arg;
  step_worker *w = &job->s->steps[worker];
  sc_mj_worker *mj = &job->s->workers[worker];
  int first = group * job->s->group, code = SC_OK, left = 1;
  for (int i = 0; i < job->s->group; i++) {
    w->env[i] = -1;
    if (first + i < job->nenv) enter(&(place){job, w, mj, i}, first + i);
  }
  for (int k = 0; k < job->nsteps && !code && left; k++) {
    code = step_group(job, w, mj);
    left = 0;
    for (int i = 0; i < job->s->group; i++) left |= w->env[i] >= 0;
  }
  if (code) sc_mj_fail(mj, first, code, "%s", sc_error_text());
  for (int i = 0; i < job->s->group; i++) {
    int env = first + i;
    if (w->env[i] >= 0) leave(&(place){job, w, mj, i}, job->report->status ? job->report->status[env] : SC_SOLVED);
    if (env < job->nenv && job->report->steps) job->report->steps[env] = w->taken[i];
  }
}

/* ------------------------------------------------------------------ all */

int sc_stepper_run(sc_stepper *s, double *states, int nenv, const double *ctrl, int nsteps, sc_step_report *report,
                   sc_progress progress, void *arg) {
  static const char call[] = "sc_stepper_run";
  sc_step_report none = {.status = NULL};
  if (!s || (!states && nenv > 0))
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, s ? "states" : "stepper");
  if (nenv < 0 || nsteps < 0)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is %d, not >= 0", call, nenv < 0 ? "nenv" : "nsteps",
                        nenv < 0 ? nenv : nsteps);
  run_job job = {s, states, nenv, nsteps, ctrl, 0, report ? report : &none};
  job.ctrl_at = (size_t)mj_stateSize(s->model, mjSTATE_INTEGRATION & (mjSTATE_CTRL - 1)); /* parts stand in order */
  for (int k = 0; k < sc_context_threads(s->context); k++) {
    s->steps[k].times = none;
    s->workers[k].code = SC_OK;
  }
  sc_mj_each(s->context, nenv / s->group + (nenv % s->group > 0), run_group, &job, progress, arg);
  job.report->kinematics = job.report->rows = job.report->solve = job.report->integrate = 0;
  for (int k = 0; k < sc_context_threads(s->context); k++) {
    const sc_step_report *t = &s->steps[k].times;
    job.report->kinematics += t->kinematics, job.report->rows += t->rows;
    job.report->solve += t->solve, job.report->integrate += t->integrate;
  }
  return sc_mj_workers_code(call, s->context, s->workers);
}
