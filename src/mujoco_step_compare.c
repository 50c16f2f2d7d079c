/* MuJoCo's own stepping beside sc_stepper. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "mujoco_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#if mjVERSION_HEADER >= 4000000
#include <mujoco/mjbatch.h>
#define HAS_BATCH 1
#else
#define HAS_BATCH 0
#endif

struct sc_mujoco_steps {
  sc_context *context;
  mjModel *model;
  int nenv;
  size_t nstate;
#if HAS_BATCH
  mjBatch *batch;
  char why[SC_MJ_TEXT];
#endif
  sc_mj_worker *workers; /* without mjBatch */
  double *states;        /* of the running call */
  int nsteps;
};

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct {
  sc_mujoco_steps *steps;
  const mjModel *from;
} make_job;

/* for sc_mj_guard */
static void make(void *arg) {
  const make_job *job = arg;
  sc_mujoco_steps *s = job->steps;
  s->model = mj_copyModel(NULL, job->from);
  if (!s->model) return;
  s->model->opt.disableflags |= mjDSBL_SENSOR;
#if HAS_BATCH
  mjBatchConfig config;
  mjb_defaultConfig(&config);
  config.nthread = sc_context_threads(s->context);
  s->batch = mjb_makeBatch(s->model, s->nenv, &config, s->why, sizeof s->why);
#endif
}

int sc_mujoco_steps_create(sc_context *context, const sc_model *model, int nenv, sc_mujoco_steps **out) {
  static const char call[] = "sc_mujoco_steps_create";
  char text[SC_MJ_TEXT];
  if (!out) return sc_error_set(SC_ERROR_ARGUMENT, "%s: out is NULL", call);
  *out = NULL;
  if (!context || !model) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, context ? "model" : "context");
  if (nenv < 1) return sc_error_set(SC_ERROR_ARGUMENT, "%s: nenv is %d, not >= 1", call, nenv);
  sc_mujoco_steps *s = calloc(1, sizeof *s);
  if (!s) return sc_error_set(SC_ERROR_MEMORY, "%s: no memory", call);
  make_job job = {s, model->own};
  s->context = context, s->nenv = nenv, s->nstate = (size_t)mj_stateSize(model->own, mjSTATE_INTEGRATION);
  int failed = sc_mj_guard(make, &job, text), code = SC_OK;
#if HAS_BATCH
  if (failed || !s->batch)
    code = sc_error_set(SC_ERROR_MEMORY, "%s: MuJoCo makes no batch of %d: %s", call, nenv, failed ? text : s->why);
#else
  if (failed || !s->model) code = sc_error_set(SC_ERROR_MEMORY, "%s: no memory for a copy of the model", call);
  if (!code) code = sc_mj_workers_create(call, context, s->model, &s->workers);
#endif
  if (code) {
    sc_mujoco_steps_destroy(s);
    return code;
  }
  *out = s;
  return SC_OK;
}

void sc_mujoco_steps_destroy(sc_mujoco_steps *s) {
  if (!s) return;
#if HAS_BATCH
  if (s->batch) mjb_deleteBatch(s->batch);
#endif
  sc_mj_workers_destroy(sc_context_threads(s->context), s->workers);
  if (s->model) mj_deleteModel(s->model);
  free(s);
}

#if HAS_BATCH

/* for sc_mj_guard */
static void step_all(void *arg) {
  sc_mujoco_steps *s = arg;
  mjb_step(s->batch, NULL, 0, s->nsteps, mjSTAGE_NONE);
}

static int run(const char *call, sc_mujoco_steps *s) {
  char text[SC_MJ_TEXT];
  const int *status = mjb_status(s->batch);
  if (sc_mj_guard(step_all, s, text)) return sc_error_set(SC_ERROR_VALUE, "%s: MuJoCo: %s", call, text);
  for (int i = 0; i < s->nenv; i++)
    if (status[i])
      return sc_error_set(SC_ERROR_VALUE, "%s: environment %d: MuJoCo: %s", call, i, mjb_error(s->batch, i));
  return SC_OK;
}

static double *inside(sc_mujoco_steps *s) { return mjb_state(s->batch); }

#else

typedef struct {
  const sc_mujoco_steps *steps;
  mjData *data;
  double *state;
} step_job;

/* for sc_mj_guard */
static void step_one(void *arg) {
  const step_job *job = arg;
  const mjModel *m = job->steps->model;
  mj_setState(m, job->data, job->state, mjSTATE_INTEGRATION);
  for (int k = 0; k < job->steps->nsteps; k++) mj_step(m, job->data);
  mj_getState(m, job->data, job->state, mjSTATE_INTEGRATION);
}

static void step_environment(void *arg, int env, int worker) {
  sc_mujoco_steps *s = arg;
  char text[SC_MJ_TEXT];
  step_job job = {s, s->workers[worker].data, s->states + (size_t)env * s->nstate};
  if (sc_mj_guard(step_one, &job, text)) sc_mj_fail(&s->workers[worker], env, SC_ERROR_VALUE, "MuJoCo: %s", text);
}

static int run(const char *call, sc_mujoco_steps *s) {
  for (int i = 0; i < sc_context_threads(s->context); i++) s->workers[i].code = SC_OK;
  sc_context_each(s->context, s->nenv, step_environment, s);
  return sc_mj_workers_code(call, s->context, s->workers);
}

static double *inside(sc_mujoco_steps *s) { return s->states; }

#endif

int sc_mujoco_steps_run(sc_mujoco_steps *s, double *states, int nsteps, double *wall, double *cpu) {
  static const char call[] = "sc_mujoco_steps_run";
  if (!s || !states) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, s ? "states" : "steps");
  if (nsteps < 0) return sc_error_set(SC_ERROR_ARGUMENT, "%s: nsteps is %d, not >= 0", call, nsteps);
  size_t bytes = (size_t)s->nenv * s->nstate * sizeof *states;
  s->states = states, s->nsteps = nsteps;
  if (inside(s) != states) memcpy(inside(s), states, bytes);
  double cpu_start = cpu_seconds(), start = sc_mj_seconds();
  int code = run(call, s);
  if (wall) *wall = sc_mj_seconds() - start;
  if (cpu) *cpu = cpu_seconds() - cpu_start;
  if (inside(s) != states) memcpy(states, inside(s), bytes);
  return code;
}
