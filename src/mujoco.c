/* Models, states and workers of the bridge to MuJoCo. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "mujoco_rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert(sizeof(mjtNum) == sizeof(double), "MuJoCo must be built in double precision");

double sc_mj_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int sc_mj_finite(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(x[i])) return 0;
  return 1;
}

/* ------------------------------------------------------------------ MuJoCo's errors */

/* Exported by MuJoCo for its own language bindings: the calling thread's message handler, in front of the process-wide
 * one. Weak: without it the caller's process-wide handlers stay in charge. */
extern mjfLogHandler _mjPRIVATE_setTlsLogHandler(mjfLogHandler handler) __attribute__((weak));

typedef struct guard {
  jmp_buf back;
  char *text;
} guard;

static _Thread_local guard *active;

static void on_message(const mjLogMessage *message) {
  if (!active || message->level < mjLOG_WARNING) return;
  if (message->level == mjLOG_ERROR || !active->text[0]) {
    snprintf(active->text, SC_MJ_TEXT, "%.*s", SC_MJ_TEXT - 1, message->subject);
    for (char *c = active->text; *c; c++)
      if (*c == '\n') *c = ' ';
  }
  if (message->level == mjLOG_ERROR) longjmp(active->back, 1);
}

int sc_mj_guard(void (*work)(void *arg), void *arg, char text[SC_MJ_TEXT]) {
  guard here = {.text = text}, *outer = active;
  text[0] = 0;
  if (!_mjPRIVATE_setTlsLogHandler) {
    work(arg);
    return 0;
  }
  mjfLogHandler before = _mjPRIVATE_setTlsLogHandler(on_message);
  active = &here;
  volatile int failed = 1;
  if (!setjmp(here.back)) {
    work(arg);
    failed = 0;
  }
  active = outer;
  _mjPRIVATE_setTlsLogHandler(before);
  return failed;
}

/* ------------------------------------------------------------------ a model */

void sc_model_options_init(sc_model_options *options) {
  *options = (sc_model_options){sizeof *options, -1, -1, (double)NAN, 0, 0};
}

static int check_options(const char *call, const sc_model_options *o) {
  if (o->size != sizeof *o)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: options.size is %zu, not %zu: use sc_model_options_init", call, o->size,
                        sizeof *o);
  if (o->cone < -1 || o->cone > 1)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: options.cone is %d, not 0 (pyramidal), 1 (elliptic) or -1", call,
                        o->cone);
  if (o->jacobian < -1 || o->jacobian > 2)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: options.jacobian is %d, not 0 (dense), 1 (sparse), 2 (auto) or -1",
                        call, o->jacobian);
  if (o->rows < 0 || o->rows > 1)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: options.rows is %d, not 0 (softcon) or 1 (MuJoCo)", call, o->rows);
  if (o->solver_defaults < 0 || o->solver_defaults > 1)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: options.solver_defaults is %d, not 0 or 1", call, o->solver_defaults);
  if (!isnan(o->impratio) && !(o->impratio > 0 && isfinite(o->impratio)))
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: options.impratio is %g, not finite and > 0", call, o->impratio);
  return SC_OK;
}

/* what this version cannot solve, by its name in MJCF */
static int check_model(const char *call, const char *name, const mjModel *m) {
  if (m->nflex > 0)
    return sc_error_set(SC_ERROR_UNSUPPORTED, "%s: %s: flex objects are not supported (nflex = %d)", call, name,
                        (int)m->nflex);
  if (m->opt.integrator > mjINT_IMPLICITFAST) /* the one after it; older versions have no name for it */
    return sc_error_set(SC_ERROR_UNSUPPORTED, "%s: %s: integrator \"discrete\" is not supported", call, name);
  if (m->opt.enableflags & mjENBL_SLEEP)
    return sc_error_set(SC_ERROR_UNSUPPORTED, "%s: %s: sleeping is not supported (flag sleep=\"enable\")", call, name);
  if (m->nv > INT32_MAX || m->nq > INT32_MAX)
    return sc_error_set(SC_ERROR_UNSUPPORTED, "%s: %s: nv is %lld, at most %d is supported", call, name,
                        (long long)m->nv, INT32_MAX);
  return SC_OK;
}

/* Every use of MuJoCo's structs depends on their layout, which a version may change. */
static int check_version(const char *call) {
  if (mj_version() == mjVERSION_HEADER) return SC_OK;
  return sc_error_set(SC_ERROR_UNSUPPORTED, "%s: built for MuJoCo %d, but version %d is linked", call, mjVERSION_HEADER,
                      mj_version());
}

typedef struct {
  const char *path; /* or NULL: copy `from` */
  const mjModel *from;
  mjModel *made;
  char message[SC_MJ_TEXT];
} load_job;

static void load(void *arg) {
  load_job *job = arg;
  if (!job->path) {
    job->made = mj_copyModel(NULL, job->from);
    return;
  }
  size_t n = strlen(job->path);
  if (n > 4 && !strcmp(job->path + n - 4, ".mjb"))
    job->made = mj_loadModel(job->path, NULL);
  else
    job->made = mj_loadXML(job->path, NULL, job->message, sizeof job->message);
}

/* how the problem is solved, not what it is */
static void set_defaults(mjOption *o) {
  mjOption defaults;
  mj_defaultOption(&defaults);
  o->solver = defaults.solver, o->tolerance = defaults.tolerance, o->ls_tolerance = defaults.ls_tolerance;
  o->iterations = defaults.iterations, o->ls_iterations = defaults.ls_iterations;
  o->noslip_iterations = defaults.noslip_iterations;
  o->disableflags &= ~(mjDSBL_ISLAND | mjDSBL_WARMSTART);
}

/* take the new mjModel `own` in */
static int finish(const char *call, const char *name, mjModel *own, const sc_model_options *o, sc_model **out) {
  char text[SC_MJ_TEXT];
  if (o->solver_defaults) set_defaults(&own->opt);
  if (o->cone >= 0) own->opt.cone = o->cone;
  if (o->jacobian >= 0) own->opt.jacobian = o->jacobian;
  if (!isnan(o->impratio)) own->opt.impratio = o->impratio;
  load_job copy = {.from = own};
  sc_model *model = malloc(sizeof *model);
  int code = check_model(call, name, own);
  if (!code && (!model || sc_mj_guard(load, &copy, text) || !copy.made))
    code = sc_error_set(SC_ERROR_MEMORY, "%s: %s: no memory for a copy of the model", call, name);
  if (code) {
    mj_deleteModel(own);
    free(model);
    return code;
  }
  model->own = own, model->rows = copy.made, model->mujoco_rows = o->rows == 1;
  atomic_init(&model->crew, NULL);
  model->rows->opt.solver = mjSOL_NEWTON;
  model->rows->opt.noslip_iterations = 0;
  model->rows->opt.disableflags |= mjDSBL_ISLAND;
  *out = model;
  return SC_OK;
}

/* load or copy, then finish */
static int make_model(const char *call, const char *path, const mjModel *from, const sc_model_options *options,
                      sc_model **out) {
  sc_model_options given;
  char text[SC_MJ_TEXT];
  if (!out) return sc_error_set(SC_ERROR_ARGUMENT, "%s: out is NULL", call);
  *out = NULL;
  if (!path && !from) return sc_error_set(SC_ERROR_ARGUMENT, "%s: the model is NULL", call);
  if (!options) sc_model_options_init(&given), options = &given;
  int code = check_options(call, options);
  if (!code) code = check_version(call);
  if (code) return code;
  const char *name = path ? path : "the model";
  load_job job = {.path = path, .from = from};
  int failed = sc_mj_guard(load, &job, text);
  if (failed || !job.made) {
    for (char *c = job.message; *c; c++)
      if (*c == '\n') *c = ' ';
    const char *why = job.message[0] ? job.message : text[0] ? text : "MuJoCo gives no reason";
    return sc_error_set(path ? SC_ERROR_FILE : SC_ERROR_MEMORY, "%s: %s: %s", call, name, why);
  }
  return finish(call, name, job.made, options, out);
}

int sc_model_load(const char *path, const sc_model_options *options, sc_model **out) {
  return make_model("sc_model_load", path, NULL, options, out);
}

int sc_model_wrap(const void *mjmodel, const sc_model_options *options, sc_model **out) {
  return make_model("sc_model_wrap", NULL, mjmodel, options, out);
}

void sc_model_destroy(sc_model *model) {
  if (!model) return;
  sc_mj_crew_destroy(atomic_load(&model->crew));
  mj_deleteModel(model->own);
  mj_deleteModel(model->rows);
  free(model);
}

int sc_model_get(const sc_model *model, sc_model_info *info) {
  if (!model || !info) return sc_error_set(SC_ERROR_ARGUMENT, "sc_model_get: %s is NULL", model ? "info" : "model");
  const mjModel *m = model->own;
  const mjOption *o = &m->opt;
  *info = (sc_model_info){
      .nq = (int)m->nq,
      .nv = (int)m->nv,
      .nu = (int)m->nu,
      .cone = o->cone,
      .solver = o->solver,
      .iterations = o->iterations,
      .ls_iterations = o->ls_iterations,
      .noslip_iterations = o->noslip_iterations,
      .tolerance = o->tolerance,
      .ls_tolerance = o->ls_tolerance,
      .noslip_tolerance = o->noslip_tolerance,
      .impratio = o->impratio,
      .timestep = o->timestep,
      .warmstart = !(o->disableflags & mjDSBL_WARMSTART),
      .mujoco_version = mj_versionString(),
  };
  return SC_OK;
}

/* ------------------------------------------------------------------ states */

int sc_state_integration(void) { return mjSTATE_INTEGRATION; }

int sc_mj_signature(const char *call, const sc_model *model, int *sig, size_t *nstate) {
  if (*sig < 0) *sig = mjSTATE_INTEGRATION;
  if (*sig >= 1 << mjNSTATE)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: sig is %d: MuJoCo knows the bits below %d only", call, *sig,
                        1 << mjNSTATE);
  *nstate = (size_t)mj_stateSize(model->own, *sig);
  return SC_OK;
}

int sc_state_size(const sc_model *model, int sig, size_t *nstate) {
  if (!model || !nstate)
    return sc_error_set(SC_ERROR_ARGUMENT, "sc_state_size: %s is NULL", model ? "nstate" : "model");
  return sc_mj_signature("sc_state_size", model, &sig, nstate);
}

static void put_state(const sc_mj_stages *s) {
  const mjModel *m = s->model;
  mjData *d = s->data;
  /* what the state leaves open must not come from the environment before */
  if ((s->sig & mjSTATE_INTEGRATION) != mjSTATE_INTEGRATION) mj_resetData(m, d);
  mj_setState(m, d, s->state, s->sig);
  memset(d->warning, 0, sizeof d->warning);
}

/* what follows the positions */
static void run_rest(const sc_mj_stages *s) {
  mj_fwdVelocity(s->model, s->data);
  mj_fwdActuation(s->model, s->data);
  mj_fwdAcceleration(s->model, s->data);
}

void sc_mj_run_stages(void *arg) {
  const sc_mj_stages *s = arg;
  put_state(s);
  mj_fwdPosition(s->model, s->data);
  run_rest(s);
}

void sc_mj_continue_stages(void *arg) {
  const sc_mj_stages *s = arg;
  memset(s->data->warning, 0, sizeof s->data->warning);
  mj_fwdPosition(s->model, s->data);
  run_rest(s);
}

void sc_mj_continue_smooth_stages(void *arg) {
  const sc_mj_stages *s = arg;
  memset(s->data->warning, 0, sizeof s->data->warning);
  sc_mujoco_smooth(s->model, s->data);
}

void sc_mj_run_position(void *arg) {
  const sc_mj_stages *s = arg;
  put_state(s);
  sc_mujoco_position(s->model, s->data);
}

void sc_mj_run_smooth_stages(void *arg) {
  sc_mj_run_position(arg);
  run_rest(arg);
}

int sc_mj_check_nenv(const char *call, int nenv, const sc_batch *batch, const sc_result *result) {
  int most = sc_batch_nenv(batch);
  if (result->nenv < most) most = result->nenv;
  if (nenv >= 0 && nenv <= most) return SC_OK;
  return sc_error_set(SC_ERROR_ARGUMENT, "%s: nenv is %d, not in 0 .. %d, the environments of batch and result", call, nenv,
                      most);
}

const char *sc_mj_incomplete(const mjData *d) {
  if (d->warning[mjWARN_CNSTRFULL].number) return "MuJoCo's memory is too small for all rows (raise <size memory>)";
  if (d->warning[mjWARN_CONTACTFULL].number)
    return "MuJoCo's memory is too small for all contacts (raise <size memory>)";
  return "";
}

/* ------------------------------------------------------------------ workers */

typedef struct {
  const mjModel *model;
  mjData *made;
} data_job;

static void make_data(void *arg) {
  data_job *job = arg;
  job->made = mj_makeData(job->model);
}

int sc_mj_workers_create(const char *call, sc_context *context, const mjModel *model, sc_mj_worker **out) {
  char text[SC_MJ_TEXT];
  int n = sc_context_threads(context);
  sc_mj_worker *workers = calloc((size_t)n, sizeof *workers);
  *out = workers;
  if (!workers) return sc_error_set(SC_ERROR_MEMORY, "%s: no memory for %d workers", call, n);
  for (int i = 0; i < n; i++) {
    data_job job = {model, NULL};
    if (sc_mj_guard(make_data, &job, text) || !job.made) {
      sc_mj_workers_destroy(n, workers);
      *out = NULL;
      return sc_error_set(SC_ERROR_MEMORY, "%s: no mjData for worker %d of %d: %s", call, i, n, text);
    }
    workers[i].data = job.made;
  }
  return SC_OK;
}

void sc_mj_workers_destroy(int n, sc_mj_worker *workers) {
  if (!workers) return;
  for (int i = 0; i < n; i++) {
    sc_mj_worker *w = &workers[i];
    if (w->data) mj_deleteData(w->data);
    if (w->scratch) mj_deleteData(w->scratch);
    if (w->model) mj_deleteModel(w->model);
    sc_assembly_destroy(w->assembly);
    free(w->dim);
    free(w->friction);
    free(w->mu);
  }
  free(workers);
}

void sc_mj_fail(sc_mj_worker *worker, int env, int code, const char *format, ...) {
  if (worker->code && worker->env < env) return;
  va_list args;
  va_start(args, format);
  vsnprintf(worker->error, sizeof worker->error, format, args);
  va_end(args);
  worker->env = env, worker->code = code;
}

/* An environment's bad numbers must not hide an error of the call; otherwise the lower environment is reported. */
static int comes_before(const sc_mj_worker *a, const sc_mj_worker *b) {
  int a_value = a->code == SC_ERROR_VALUE, b_value = b->code == SC_ERROR_VALUE;
  return a_value != b_value ? b_value : a->env < b->env;
}

int sc_mj_workers_code(const char *call, sc_context *context, const sc_mj_worker *workers) {
  const sc_mj_worker *first = NULL;
  for (int i = 0; i < sc_context_threads(context); i++) {
    const sc_mj_worker *w = &workers[i];
    if (w->code && (!first || comes_before(w, first))) first = w;
  }
  return first ? sc_error_set(first->code, "%s: environment %d: %s", call, first->env, first->error) : SC_OK;
}

typedef struct {
  void (*work)(void *arg, int i, int worker);
  void *arg;
  int begin;
} portion;

static void work_portion(void *arg, int i, int worker) {
  const portion *p = arg;
  p->work(p->arg, p->begin + i, worker);
}

int sc_mj_each(sc_context *context, int n, void (*work)(void *arg, int i, int worker), void *arg, sc_progress progress,
               void *progress_arg) {
  portion p = {work, arg, 0};
  int least = 8 * sc_context_threads(context), size = progress ? least : n;
  while (p.begin < n) {
    double began = sc_mj_seconds();
    int now = n - p.begin < size ? n - p.begin : size;
    sc_context_each(context, now, work_portion, &p);
    p.begin += now;
    if (progress && progress(progress_arg, p.begin, n)) break;
    /* a tenth of a second or two: soon enough to stop at a Ctrl-C, large enough to share out */
    double took = sc_mj_seconds() - began;
    if (took < 0.1 && size <= n / 2)
      size *= 2;
    else if (took > 0.2 && size > least)
      size /= 2;
  }
  return p.begin;
}
