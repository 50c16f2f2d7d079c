/* MuJoCo's own solver beside: its time, its error, and the optimum that both are judged by. */
#include "mujoco_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DENSE, SPARSE, NTIMED };

/* What one worker needs beside the common part (whose mjData is the optimum's). */
typedef struct {
  mjData *timed[NTIMED];
  double *warmstart; /* nv: of the state */
  double *own;       /* nv: MuJoCo's answer at the model's settings */
  double *optimum;   /* nv */
  double *force;     /* nforce: efc_force at the optimum */
  int nforce;
  double *samples;        /* repeats: seconds */
  double seconds[NTIMED]; /* medians added up over states */
  double iterations;      /* added up over states */
  int states;             /* how many were timed */
} timer;

typedef struct {
  const sc_model *model;
  mjModel *exact;         /* the rows' model with the optimum's settings */
  mjModel *timed[NTIMED]; /* the caller's model, dense and sparse */
  const double *states;
  size_t nstate;
  int sig, repeats;
  const sc_batch *batch;
  const sc_result *result;
  sc_mujoco_compare *compare;
  double *qacc, *force; /* where sc_model_time and sc_model_optimum leave answers; may be NULL */
  const size_t *efc_offset;
  sc_mj_worker *workers;
  timer *timers;
} compare_job;

/* ------------------------------------------------------------------ models */

/* for sc_mj_guard */
static void copy_models(void *arg) {
  compare_job *job = arg;
  job->exact = mj_copyModel(NULL, job->model->rows);
  if (job->exact) job->exact->opt.tolerance = 1e-14, job->exact->opt.iterations = 200;
  for (int k = 0; k < NTIMED; k++) {
    mjModel *m = job->timed[k] = mj_copyModel(NULL, job->model->own);
    if (!m) continue;
    m->opt.jacobian = k == DENSE ? mjJAC_DENSE : mjJAC_SPARSE;
    m->opt.noslip_iterations = 0; /* what it leaves is no optimum: see sc_model_compare */
  }
}

static void free_job(sc_context *context, compare_job *job) {
  for (int i = 0; job->timers && i < sc_context_threads(context); i++) {
    timer *t = &job->timers[i];
    for (int k = 0; k < NTIMED; k++)
      if (t->timed[k]) mj_deleteData(t->timed[k]);
    free(t->warmstart);
    free(t->own);
    free(t->optimum);
    free(t->force);
    free(t->samples);
  }
  free(job->timers);
  sc_mj_workers_destroy(sc_context_threads(context), job->workers);
  if (job->exact) mj_deleteModel(job->exact);
  for (int k = 0; k < NTIMED; k++)
    if (job->timed[k]) mj_deleteModel(job->timed[k]);
}

typedef struct {
  compare_job *job;
  int worker, ok;
} timer_job;

/* for sc_mj_guard */
static void make_timer(void *arg) {
  timer_job *t = arg;
  timer *out = &t->job->timers[t->worker];
  size_t nv = (size_t)t->job->model->own->nv;
  out->warmstart = malloc((nv + 1) * sizeof(double));
  out->own = malloc((nv + 1) * sizeof(double));
  out->optimum = malloc((nv + 1) * sizeof(double));
  out->samples = malloc((size_t)t->job->repeats * sizeof(double));
  t->ok = out->warmstart && out->own && out->optimum && out->samples;
  for (int k = 0; k < NTIMED; k++) {
    out->timed[k] = mj_makeData(t->job->timed[k]);
    t->ok = t->ok && out->timed[k];
  }
}

static int make_job(const char *call, sc_context *context, compare_job *job) {
  char text[SC_MJ_TEXT];
  int threads = sc_context_threads(context);
  if (sc_mj_guard(copy_models, job, text) || !job->exact || !job->timed[DENSE] || !job->timed[SPARSE])
    return sc_error_set(SC_ERROR_MEMORY, "%s: no memory for copies of the model", call);
  int code = sc_mj_workers_create(call, context, job->exact, &job->workers);
  if (code) return code;
  job->timers = calloc((size_t)threads, sizeof *job->timers);
  for (int i = 0; i < threads; i++) {
    timer_job t = {job, i, 0};
    if (!job->timers || sc_mj_guard(make_timer, &t, text) || !t.ok)
      return sc_error_set(SC_ERROR_MEMORY, "%s: no memory for %d workers", call, threads);
  }
  return SC_OK;
}

/* ------------------------------------------------------------------ one state */

/* for sc_mj_guard */
static void solve_exactly(void *arg) {
  const sc_mj_stages *s = arg;
  sc_mj_run_stages(arg);
  mj_fwdConstraint(s->model, s->data);
}

typedef struct {
  sc_mj_stages stages;
  timer *timer;
  int repeats;
} timing;

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* for sc_mj_guard: samples[0] becomes the median. The warm start is the state's each time. */
static void time_solver(void *arg) {
  const timing *t = arg;
  const mjModel *m = t->stages.model;
  mjData *d = t->stages.data;
  size_t bytes = (size_t)m->nv * sizeof(double);
  sc_mj_run_stages((void *)&t->stages);
  if (bytes) memcpy(t->timer->warmstart, d->qacc_warmstart, bytes);
  for (int k = 0; k < t->repeats; k++) {
    if (bytes) memcpy(d->qacc_warmstart, t->timer->warmstart, bytes);
    double begin = sc_mj_seconds();
    mj_fwdConstraint(m, d);
    t->timer->samples[k] = sc_mj_seconds() - begin;
  }
  qsort(t->timer->samples, (size_t)t->repeats, sizeof(double), ascending);
  t->timer->samples[0] = (t->timer->samples[(t->repeats - 1) / 2] + t->timer->samples[t->repeats / 2]) / 2;
}

/* the most of any island; 0 without rows */
static int iterations_of(const mjData *d) {
  int most = 0;
  for (int i = 0; i < mjNISLAND; i++)
    if (d->solver_niter[i] > most) most = d->solver_niter[i];
  return most;
}

/* Time both layouts of a state and keep MuJoCo's own answer. Returns 0 and keeps the failure on an error. */
static int time_state(const compare_job *job, int env, int worker) {
  timer *t = &job->timers[worker];
  char text[SC_MJ_TEXT];
  double seconds[NTIMED];
  for (int k = 0; k < NTIMED; k++) {
    mjModel *m = job->timed[k];
    timing now = {{m, t->timed[k], job->states + (size_t)env * job->nstate, job->sig}, t, job->repeats};
    int failed = sc_mj_guard(time_solver, &now, text);
    if (failed) {
      mj_resetData(m, t->timed[k]);
      sc_mj_fail(&job->workers[worker], env, SC_ERROR_VALUE, "MuJoCo: %s", text);
      return 0;
    }
    seconds[k] = t->samples[0];
  }
  const mjData *own = t->timed[mj_isSparse(job->model->own) ? SPARSE : DENSE];
  memcpy(t->own, own->qacc, (size_t)job->model->own->nv * sizeof(double));
  for (int k = 0; k < NTIMED; k++) t->seconds[k] += seconds[k];
  t->iterations += iterations_of(own);
  t->states++;
  return 1;
}

static int reserve_force(timer *t, int nefc) {
  if (nefc < t->nforce) return 1;
  free(t->force);
  t->nforce = 0;
  t->force = malloc(2 * (size_t)(nefc + 1) * sizeof(double));
  if (t->force) t->nforce = 2 * (nefc + 1);
  return t->force != NULL;
}

/* The optimum of an environment in timer.optimum and timer.force. Returns 0 where there is none. */
static int find_optimum(const compare_job *job, int env, int worker, const sc_problem *problem, int rows_needed) {
  sc_mj_worker *w = &job->workers[worker];
  timer *t = &job->timers[worker];
  char text[SC_MJ_TEXT];
  sc_mj_stages stages = {job->exact, w->data, job->states + (size_t)env * job->nstate, job->sig};
  if (sc_mj_guard(solve_exactly, &stages, text)) {
    mj_resetData(job->exact, w->data);
    sc_mj_fail(w, env, SC_ERROR_VALUE, "MuJoCo: %s", text);
    return 0;
  }
  if (problem->nv != job->exact->nv || rows_needed != w->data->nefc) {
    sc_mj_fail(w, env, SC_ERROR_ARGUMENT,
               "the batch has nv %d and nefc %d, the state %d and %d: not of the same states", problem->nv, rows_needed,
               (int)job->exact->nv, w->data->nefc);
    return 0;
  }
  if (!reserve_force(t, problem->nefc)) {
    sc_mj_fail(w, env, SC_ERROR_MEMORY, "no memory for %d rows", problem->nefc);
    return 0;
  }
  memcpy(t->optimum, w->data->qacc, (size_t)problem->nv * sizeof(double));
  return sc_check_polish(problem, t->optimum, t->force) == SC_OK;
}

/* Whether the result is of the same sizes as the batch: checked, for its arrays carry no sizes of their own. */
static int same_sizes(const compare_job *job, int env, int worker, const sc_problem *p) {
  const sc_result *r = job->result;
  size_t nv = r->nv_offset[env + 1] - r->nv_offset[env], nefc = r->efc_offset[env + 1] - r->efc_offset[env];
  if (nv == (size_t)p->nv && nefc == (size_t)p->nefc) return 1;
  sc_mj_fail(&job->workers[worker], env, SC_ERROR_ARGUMENT,
             "the batch has nv %d and nefc %d, the result %zu and %zu: not of the same batch", p->nv, p->nefc, nv,
             nefc);
  return 0;
}

static void compare_state(void *arg, int env, int worker) {
  const compare_job *job = arg;
  const sc_result *r = job->result;
  const timer *t = &job->timers[worker];
  double qacc = (double)NAN, force = (double)NAN, mujoco = (double)NAN;
  sc_problem p;
  sc_rows rows;
  int code = sc_batch_get(job->batch, env, &p, &rows);
  if (!code && !rows.bad && same_sizes(job, env, worker, &p) &&
      sc_mj_finite(job->states + (size_t)env * job->nstate, job->nstate)) {
    int timed = time_state(job, env, worker);
    int exact = find_optimum(job, env, worker, &p, rows.rows_needed);
    const double *answer = r->qacc + r->nv_offset[env], *forces = r->efc_force + r->efc_offset[env];
    if (exact && sc_mj_finite(answer, (size_t)p.nv) && !(r->flags[env] & SC_NOSLIP_APPLIED))
      if (sc_check_error(&p, answer, t->optimum, forces, t->force, &qacc, &force)) qacc = force = (double)NAN;
    /* MuJoCo drops nothing: where contacts were, it solves another problem */
    int same = exact && timed && p.nefc == rows.rows_needed;
    if (same && sc_check_error(&p, t->own, t->optimum, NULL, NULL, &mujoco, NULL)) mujoco = (double)NAN;
  }
  if (job->compare->qacc_error) job->compare->qacc_error[env] = qacc;
  if (job->compare->force_error) job->compare->force_error[env] = force;
  if (job->compare->mujoco_error) job->compare->mujoco_error[env] = mujoco;
}

/* whether environment env has a problem and a state that can be worked on */
static int usable(const compare_job *job, int env, sc_problem *p, sc_rows *rows) {
  return !sc_batch_get(job->batch, env, p, rows) && !rows->bad &&
         sc_mj_finite(job->states + (size_t)env * job->nstate, job->nstate);
}

/* n numbers, or as many NAN without them */
static void put(double *out, const double *from, size_t n) {
  for (size_t i = 0; out && i < n; i++) out[i] = from ? from[i] : (double)NAN;
}

static void time_only(void *arg, int env, int worker) {
  const compare_job *job = arg;
  sc_problem p;
  sc_rows rows;
  size_t nv = (size_t)job->model->own->nv;
  int timed = usable(job, env, &p, &rows) && time_state(job, env, worker);
  put(job->qacc ? job->qacc + nv * (size_t)env : NULL, timed ? job->timers[worker].own : NULL, nv);
}

static void optimum_only(void *arg, int env, int worker) {
  const compare_job *job = arg;
  const timer *t = &job->timers[worker];
  sc_problem p;
  sc_rows rows;
  size_t nv = (size_t)job->model->own->nv, first = job->force ? job->efc_offset[env] : 0;
  int exact = usable(job, env, &p, &rows) && find_optimum(job, env, worker, &p, rows.rows_needed);
  put(job->qacc + nv * (size_t)env, exact ? t->optimum : NULL, nv);
  put(job->force ? job->force + first : NULL, exact ? t->force : NULL,
      job->force ? job->efc_offset[env + 1] - first : 0);
}

/* ------------------------------------------------------------------ all */

static int check_arguments(const char *call, const compare_job *job, const sc_context *context, int nenv) {
  const char *null = !context        ? "context"
                     : !job->model   ? "model"
                     : !job->batch   ? "batch"
                     : !job->result  ? "result"
                     : !job->compare ? "compare"
                                     : NULL;
  if (!null && !job->states && nenv > 0) null = "states";
  if (null) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, null);
  int code = sc_mj_check_nenv(call, nenv, job->batch, job->result);
  if (code) return code;
  if (job->repeats < 1) return sc_error_set(SC_ERROR_ARGUMENT, "%s: repeats is %d, not >= 1", call, job->repeats);
  return SC_OK;
}

static void sum_up(sc_context *context, const compare_job *job, sc_mujoco_time *out) {
  double seconds[NTIMED] = {0, 0}, iterations = 0;
  int states = 0, threads = sc_context_threads(context);
  for (int i = 0; i < threads; i++) {
    const timer *t = &job->timers[i];
    for (int k = 0; k < NTIMED; k++) seconds[k] += t->seconds[k];
    iterations += t->iterations;
    states += t->states;
  }
  *out = (sc_mujoco_time){(double)NAN, (double)NAN, (double)NAN};
  if (!states) return;
  out->us_dense = 1e6 * seconds[DENSE] / states / threads;
  out->us_sparse = 1e6 * seconds[SPARSE] / states / threads;
  out->iterations_mean = iterations / states;
}

/* work on every environment */
static int run(const char *call, sc_context *context, compare_job *job, int nenv, void (*work)(void *, int, int),
               sc_mujoco_time *time, sc_progress progress, void *arg) {
  int code = sc_mj_signature(call, job->model, &job->sig, &job->nstate);
  if (code) return code;
  code = make_job(call, context, job);
  if (!code) {
    sc_mj_each(context, nenv, work, job, progress, arg);
    if (time) sum_up(context, job, time);
    code = sc_mj_workers_code(call, context, job->workers);
  }
  free_job(context, job);
  return code;
}

int sc_model_compare(sc_context *context, const sc_model *model, const double *states, int sig, int nenv,
                     const sc_batch *batch, const sc_result *result, int repeats, sc_mujoco_compare *compare,
                     sc_progress progress, void *arg) {
  static const char call[] = "sc_model_compare";
  compare_job job = {.model = model, .states = states, .sig = sig, .repeats = repeats};
  job.batch = batch, job.result = result, job.compare = compare;
  sc_mujoco_time time;
  int code = check_arguments(call, &job, context, nenv);
  if (code) return code;
  compare->us_per_env = compare->us_dense = compare->us_sparse = compare->iterations_mean = (double)NAN;
  code = run(call, context, &job, nenv, compare_state, &time, progress, arg);
  if (code && code != SC_ERROR_VALUE) return code;
  compare->us_dense = time.us_dense, compare->us_sparse = time.us_sparse;
  compare->us_per_env = fmin(time.us_dense, time.us_sparse);
  compare->iterations_mean = time.iterations_mean;
  return code;
}

/* what the two calls below have in common */
static int check_part(const char *call, const sc_context *context, const compare_job *job, int nenv, const void *out,
                      const char *name) {
  const char *null = !context ? "context" : !job->model ? "model" : !job->batch ? "batch" : !out ? name : NULL;
  if (!null && !job->states && nenv > 0) null = "states";
  if (null) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, null);
  if (nenv < 0 || nenv > sc_batch_nenv(job->batch))
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: nenv is %d, not in 0 .. %d, the batch's environments", call, nenv,
                        sc_batch_nenv(job->batch));
  if (job->repeats < 1) return sc_error_set(SC_ERROR_ARGUMENT, "%s: repeats is %d, not >= 1", call, job->repeats);
  return SC_OK;
}

int sc_model_time(sc_context *context, const sc_model *model, const double *states, int sig, int nenv,
                  const sc_batch *batch, int repeats, sc_mujoco_time *time, double *qacc, sc_progress progress,
                  void *arg) {
  static const char call[] = "sc_model_time";
  compare_job job = {.model = model, .states = states, .sig = sig, .repeats = repeats, .batch = batch, .qacc = qacc};
  int code = check_part(call, context, &job, nenv, time, "time");
  return code ? code : run(call, context, &job, nenv, time_only, time, progress, arg);
}

int sc_model_optimum(sc_context *context, const sc_model *model, const double *states, int sig, int nenv,
                     const sc_batch *batch, const size_t *efc_offset, double *qacc, double *force, sc_progress progress,
                     void *arg) {
  static const char call[] = "sc_model_optimum";
  compare_job job = {.model = model, .states = states, .sig = sig, .repeats = 1, .batch = batch, .qacc = qacc};
  job.force = force, job.efc_offset = efc_offset;
  int code = check_part(call, context, &job, nenv, qacc, "qacc");
  if (!code && force && !efc_offset)
    code = sc_error_set(SC_ERROR_ARGUMENT, "%s: efc_offset is NULL, but not force", call);
  return code ? code : run(call, context, &job, nenv, optimum_only, NULL, progress, arg);
}
