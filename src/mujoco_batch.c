/* Batches from states of a model: stages, rows, problems. */
#include "mujoco_overrides.h"
#include "mujoco_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const sc_model *model;
  const double *states;
  size_t nstate;
  int sig;
  sc_mj_overrides overrides;
  sc_batch *batch;
  sc_mj_crew *crew;
} batch_job;

/* An environment without data: its verdict will be bad_input. */
static void set_bad(const batch_job *job, sc_mj_worker *w, int env, const char *why) {
  int code = sc_batch_set_bad(job->batch, env, (int)job->model->rows->nv, why);
  if (code) sc_mj_fail(w, env, code, "%s", sc_error_text());
}

/* whether the state is that of an environment that can be solved */
static int check_state(const batch_job *job, sc_mj_worker *w, int env, const double *state) {
  char why[80];
  if (sc_mj_finite(state, job->nstate)) return 1;
  size_t i = 0;
  while (isfinite(state[i])) i++;
  snprintf(why, sizeof why, "state[%zu] is %g, not finite", i, state[i]);
  set_bad(job, w, env, why);
  return 0;
}

static int reserve_contacts(sc_mj_worker *w, int ncon) {
  if (ncon <= w->ncon) return 1;
  size_t n = (size_t)ncon + (size_t)ncon / 2;
  free(w->dim);
  free(w->friction);
  free(w->mu);
  w->dim = malloc(n * sizeof *w->dim);
  w->friction = malloc(n * 5 * sizeof *w->friction);
  w->mu = malloc(n * sizeof *w->mu);
  w->ncon = w->dim && w->friction && w->mu ? (int)n : 0;
  return w->ncon > 0;
}

/* The contacts that have pyramidal or elliptic rows, in the order of those rows. */
static int list_contacts(sc_mj_worker *w, sc_problem *p) {
  const mjData *d = w->data;
  if (!reserve_contacts(w, d->ncon)) return 0;
  int n = 0;
  for (int row = 0; row < d->nefc;) {
    int type = d->efc_type[row];
    if (type != mjCNSTR_CONTACT_PYRAMIDAL && type != mjCNSTR_CONTACT_ELLIPTIC) {
      row++;
      continue;
    }
    const mjContact *c = &d->contact[d->efc_id[row]];
    w->dim[n] = c->dim;
    memcpy(w->friction + 5 * n, c->friction, sizeof c->friction);
    w->mu[n++] = c->mu;
    row += type == mjCNSTR_CONTACT_ELLIPTIC ? c->dim : 2 * (c->dim - 1);
  }
  p->ncon = n;
  p->contact_dim = w->dim, p->contact_friction = w->friction, p->contact_mu = w->mu;
  return 1;
}

/* MuJoCo's rows, in the ready form, pointing into the worker's mjData */
static int mujoco_rows(const mjModel *m, sc_mj_worker *w, sc_problem *p) {
  const mjData *d = w->data;
  sc_problem_init(p);
  p->nv = (int)m->nv, p->nefc = d->nefc;
  p->timestep = m->opt.timestep, p->impratio = m->opt.impratio;
  p->efc_type = d->efc_type, p->efc_id = d->efc_id;
  p->efc_J = d->efc_J;
  if (mj_isSparse(m)) p->J_rownnz = d->efc_J_rownnz, p->J_rowadr = d->efc_J_rowadr, p->J_colind = d->efc_J_colind;
  p->efc_frictionloss = d->efc_frictionloss;
  p->efc_D = d->efc_D, p->efc_aref = d->efc_aref;
  return list_contacts(w, p) ? SC_OK : sc_error_set(SC_ERROR_MEMORY, "no memory for %d contacts", d->ncon);
}

/* softcon's rows, in the worker's assembly */
static int softcon_rows(const mjModel *m, sc_mj_worker *w) {
  if (!(m->opt.timestep <= 0)) return sc_mujoco_describe(m, w->data, w->assembly);
  /* MuJoCo accepts it, and then no time constant lies below two timesteps */
  mjModel same = *m;
  same.opt.timestep = 1, same.opt.disableflags |= mjDSBL_REFSAFE;
  return sc_mujoco_describe(&same, w->data, w->assembly);
}

int sc_mj_put_problem(const mjModel *m, int from_mujoco, int smooth, sc_mj_worker *w, sc_batch *batch, int env) {
  const mjData *d = w->data;
  sc_problem p;
  sc_problem_init(&p);
  int code = from_mujoco ? mujoco_rows(m, w, &p) : softcon_rows(m, w);
  if (code) return code;
  p.nv = (int)m->nv;
  p.M = d->M, p.M_rownnz = m->M_rownnz, p.M_rowadr = m->M_rowadr, p.M_colind = m->M_colind;
  p.qfrc_smooth = d->qfrc_smooth, p.qacc_smooth = smooth ? d->qacc_smooth : NULL;
  if (!(m->opt.disableflags & mjDSBL_WARMSTART)) p.qacc_warmstart = d->qacc_warmstart;
  code = from_mujoco ? sc_batch_set(batch, env, &p) : sc_assembly_set(w->assembly, &p, batch, env);
  return code == SC_ERROR_VALUE ? SC_OK : code; /* its verdict says it */
}

static void batch_state(void *arg, int env, int worker) {
  const batch_job *job = arg;
  sc_mj_worker *w = &job->crew->workers[worker];
  const double *state = job->states + (size_t)env * job->nstate;
  char text[SC_MJ_TEXT];
  double start = sc_mj_seconds();
  if (!check_state(job, w, env, state)) return;
  const mjModel *m = sc_mj_overrides_model(&job->overrides, job->model->rows, w, env, text);
  if (!m) {
    sc_mj_fail(w, env, SC_ERROR_VALUE, "%s", text);
    set_bad(job, w, env, text);
    return;
  }
  sc_mj_stages stages = {m, w->data, state, job->sig};
  int failed = sc_mj_guard(job->model->mujoco_rows ? sc_mj_run_stages : sc_mj_run_smooth_stages, &stages, text);
  double middle = sc_mj_seconds();
  const char *incomplete = failed ? "" : sc_mj_incomplete(w->data);
  if (failed || incomplete[0]) {
    char why[SC_MJ_TEXT + 20];
    if (failed) mj_resetData(m, w->data);
    snprintf(why, sizeof why, "%s%s", failed ? "MuJoCo: " : incomplete, failed ? text : "");
    sc_mj_fail(w, env, SC_ERROR_VALUE, "%s", why);
    set_bad(job, w, env, why);
    return;
  }
  int code = sc_mj_put_problem(m, job->model->mujoco_rows, 1, w, job->batch, env);
  if (code) sc_mj_fail(w, env, code, "%s", sc_error_text());
  if (code == SC_ERROR_VALUE) set_bad(job, w, env, sc_error_text());
  w->times.kinematics += middle - start;
  w->times.rows += sc_mj_seconds() - middle;
}

static int check_batch(const char *call, const sc_context *context, const sc_model *model, const double *states,
                       int nenv, const sc_batch *batch) {
  const char *null = !context ? "context" : !model ? "model" : !batch ? "batch" : !states && nenv > 0 ? "states" : NULL;
  if (null) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, null);
  if (nenv < 0 || nenv > sc_batch_nenv(batch))
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: nenv is %d, not in 0 .. %d, the batch's environments", call, nenv,
                        sc_batch_nenv(batch));
  return SC_OK;
}

/* ------------------------------------------------------------------ who does it */

void sc_mj_crew_destroy(sc_mj_crew *c) {
  if (!c) return;
  sc_mj_workers_destroy(c->n, c->workers);
  free(c);
}

/* a new crew in job->crew, also where it could not be completed */
static int make_crew(const char *call, sc_context *context, batch_job *job) {
  sc_mj_crew *c = job->crew = calloc(1, sizeof *c);
  if (!c) return sc_error_set(SC_ERROR_MEMORY, "%s: no memory", call);
  c->n = sc_context_threads(context);
  int code = sc_mj_workers_create(call, context, job->model->rows, &c->workers);
  for (int i = 0; !code && !job->model->mujoco_rows && i < c->n; i++) code = sc_assembly_create(&c->workers[i].assembly);
  return code;
}

/* the crew of an earlier call, as good as new; NULL: there is none for so many threads */
static sc_mj_crew *take_crew(const batch_job *job, int threads) {
  sc_mj_crew *c = atomic_exchange(&((sc_model *)job->model)->crew, NULL);
  if (!c) return NULL;
  if (c->n != threads) {
    sc_mj_crew_destroy(c);
    return NULL;
  }
  for (int i = 0; i < c->n; i++) {
    sc_mj_worker *w = &c->workers[i];
    mj_resetData(job->model->rows, w->data);
    w->env = w->code = 0, w->error[0] = 0, w->times = (sc_model_times){0, 0};
  }
  return c;
}

static void keep_crew(const batch_job *job, int code) {
  sc_mj_crew *c = job->crew;
  if (!code || code == SC_ERROR_VALUE) c = atomic_exchange(&((sc_model *)job->model)->crew, c);
  sc_mj_crew_destroy(c);
}

static int make_batch(const char *call, sc_context *context, batch_job *job, int nenv, const sc_override *overrides,
                      int noverride, sc_model_times *times, sc_progress progress, void *arg) {
  if (times) *times = (sc_model_times){0, 0};
  int code = check_batch(call, context, job->model, job->states, nenv, job->batch);
  if (!code) code = sc_mj_overrides_check(call, job->model, overrides, noverride, nenv, &job->overrides);
  if (!code) code = sc_mj_signature(call, job->model, &job->sig, &job->nstate);
  if (code) return code;
  job->crew = take_crew(job, sc_context_threads(context));
  if (!job->crew) code = make_crew(call, context, job);
  if (!code) code = sc_mj_overrides_open(call, job->model->rows, &job->overrides, job->crew);
  if (!code) {
    sc_mj_each(context, nenv, batch_state, job, progress, arg);
    code = sc_mj_workers_code(call, context, job->crew->workers);
    for (int i = 0; times && i < job->crew->n; i++) {
      times->kinematics += job->crew->workers[i].times.kinematics;
      times->rows += job->crew->workers[i].times.rows;
    }
  }
  keep_crew(job, code);
  return code;
}

int sc_model_batch(sc_context *context, const sc_model *model, const double *states, int sig, int nenv, sc_batch *batch,
                   sc_model_times *times, sc_progress progress, void *arg) {
  batch_job job = {.model = model, .states = states, .sig = sig, .batch = batch};
  return make_batch("sc_model_batch", context, &job, nenv, NULL, 0, times, progress, arg);
}

int sc_model_batch_with(sc_context *context, const sc_model *model, const double *states, int sig, int nenv,
                        const sc_override *overrides, int noverride, sc_batch *batch, sc_model_times *times,
                        sc_progress progress, void *arg) {
  batch_job job = {.model = model, .states = states, .sig = sig, .batch = batch};
  return make_batch("sc_model_batch_with", context, &job, nenv, overrides, noverride, times, progress, arg);
}
