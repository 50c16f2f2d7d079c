/* The contacts of a batch and their forces. */
#include "mujoco_overrides.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int geom[2], body[2];
  double dist, pos[3], frame[9], force[6];
} one_contact;

/* The public struct first; the arrays it points to. */
typedef struct {
  sc_contacts shown;
  size_t *offset;  /* nenv+1 */
  int *ids;        /* geom, body: n x 2 each */
  double *numbers; /* dist, pos, frame, force: n x 1, 3, 9, 6 */
} contacts;

typedef struct {
  const sc_model *model;
  const double *states;
  size_t nstate;
  int sig;
  sc_mj_overrides overrides;
  const sc_batch *batch;
  const sc_result *result;
  sc_mj_crew crew;
  size_t *offset;     /* nenv+1: [i+1] is how many environment i has, summed up at the end */
  one_contact **list; /* nenv: theirs */
} contacts_job;

/* ------------------------------------------------------------------ one environment */

/* the pull that the solver's normal force holds against, N */
static double adhesion_of(const mjContact *c) {
#if mjVERSION_HEADER >= 3011000
  return c->adhesion;
#else
  (void)c;
  return 0;
#endif
}

/* force of a contact from its rows f, in the contact frame */
static void decode(int type, int dim, const double *friction, const double *f, double *force) {
  if (type != SC_CONTACT_PYRAMIDAL) {
    memcpy(force, f, (size_t)dim * sizeof *f);
    return;
  }
  for (int k = 1; k < dim; k++) {
    force[0] += f[2 * k - 2] + f[2 * k - 1];
    force[k] = (f[2 * k - 2] - f[2 * k - 1]) * friction[k - 1];
  }
}

/* Forces of the contacts `out` from an environment's rows f, of whose contacts so many were dropped. 0: the rows are not
 * of this state: its contacts with rows are others. */
static int add_forces(const sc_problem *p, const mjData *d, const double *f, int dropped, one_contact *out) {
  int missing = -dropped;
  for (int i = 0; i < d->ncon; i++) missing += !d->contact[i].exclude;
  for (int row = 0, cone = 0; row < p->nefc;) {
    int type = p->efc_type[row], id = p->efc_id[row], dim = 1, rows = 1;
    const double *friction = NULL;
    if (type == SC_CONTACT_PYRAMIDAL || type == SC_CONTACT_ELLIPTIC) {
      dim = p->contact_dim[cone];
      friction = p->contact_friction + 5 * cone++;
      rows = type == SC_CONTACT_PYRAMIDAL ? 2 * (dim - 1) : dim;
    }
    if (type >= SC_CONTACT_FRICTIONLESS) {
      if (id < 0 || id >= d->ncon || d->contact[id].exclude || d->contact[id].dim != dim) return 0;
      decode(type, dim, friction, f + row, out[id].force);
      out[id].force[0] -= adhesion_of(&d->contact[id]);
      missing--;
    }
    row += rows;
  }
  return !missing;
}

/* contacts that have rows in the problem */
static int count_contacts(const sc_problem *p) {
  int n = p->ncon;
  for (int row = 0; row < p->nefc; row++) n += p->efc_type[row] == SC_CONTACT_FRICTIONLESS;
  return n;
}

static void describe(const mjModel *m, const mjContact *c, one_contact *out) {
  for (int k = 0; k < 2; k++) {
    out->geom[k] = c->geom[k];
    out->body[k] = c->geom[k] >= 0 ? m->geom_bodyid[c->geom[k]] : -1;
  }
  out->dist = c->dist;
  memcpy(out->pos, c->pos, sizeof out->pos);
  memcpy(out->frame, c->frame, sizeof out->frame);
  memset(out->force, 0, sizeof out->force);
}

/* the contacts of the state that lies in the worker's mjData */
static void list_contacts(const contacts_job *job, const mjModel *m, sc_mj_worker *w, int env, const sc_problem *p,
                          const sc_rows *kept) {
  const mjData *d = w->data;
  const sc_result *r = job->result;
  size_t rows = r->efc_offset[env + 1] - r->efc_offset[env];
  if (rows != (size_t)p->nefc) {
    sc_mj_fail(w, env, SC_ERROR_ARGUMENT, "the batch has %d rows, the result %zu: not of the same batch", p->nefc,
               rows);
    return;
  }
  if (!d->ncon) return;
  one_contact *out = job->list[env] = malloc((size_t)d->ncon * sizeof *out);
  if (!out) {
    sc_mj_fail(w, env, SC_ERROR_MEMORY, "no memory for %d contacts", d->ncon);
    return;
  }
  for (int i = 0; i < d->ncon; i++) describe(m, &d->contact[i], &out[i]);
  int dropped = kept->contacts_needed - count_contacts(p);
  if (!add_forces(p, d, r->efc_force + r->efc_offset[env], dropped, out))
    sc_mj_fail(w, env, SC_ERROR_ARGUMENT, "the batch's contacts are not those of the state: not of the same states");
  job->offset[env + 1] = (size_t)d->ncon;
}

static void contacts_of_state(void *arg, int env, int worker) {
  const contacts_job *job = arg;
  sc_mj_worker *w = &job->crew.workers[worker];
  const double *state = job->states + (size_t)env * job->nstate;
  char text[SC_MJ_TEXT];
  sc_problem p;
  sc_rows rows;
  if (sc_batch_get(job->batch, env, &p, &rows) || rows.bad || !sc_mj_finite(state, job->nstate)) return;
  const mjModel *m = sc_mj_overrides_model(&job->overrides, job->model->rows, w, env, text);
  if (!m) return;
  sc_mj_stages stages = {m, w->data, state, job->sig};
  if (sc_mj_guard(sc_mj_run_position, &stages, text)) {
    mj_resetData(m, w->data);
    sc_mj_fail(w, env, SC_ERROR_VALUE, "MuJoCo: %s", text);
    return;
  }
  list_contacts(job, m, w, env, &p, &rows);
}

/* ------------------------------------------------------------------ all */

void sc_contacts_destroy(sc_contacts *shown) {
  contacts *c = (contacts *)shown;
  if (!c) return;
  free(c->offset);
  free(c->ids);
  free(c->numbers);
  free(c);
}

static void copy_contact(const contacts *c, size_t n, size_t i, const one_contact *from) {
  double *dist = c->numbers, *pos = dist + n, *frame = pos + 3 * n, *force = frame + 9 * n;
  memcpy(c->ids + 2 * i, from->geom, sizeof from->geom);
  memcpy(c->ids + 2 * (n + i), from->body, sizeof from->body);
  dist[i] = from->dist;
  memcpy(pos + 3 * i, from->pos, sizeof from->pos);
  memcpy(frame + 9 * i, from->frame, sizeof from->frame);
  memcpy(force + 6 * i, from->force, sizeof from->force);
}

/* the lists of all environments, one after another; takes job->offset */
static int collect(const char *call, contacts_job *job, int nenv, sc_contacts **out) {
  contacts *c = calloc(1, sizeof *c);
  for (int i = 0; i < nenv; i++) job->offset[i + 1] += job->offset[i];
  size_t n = job->offset[nenv];
  if (c) {
    c->offset = job->offset, job->offset = NULL;
    c->ids = malloc((4 * n + 1) * sizeof *c->ids);
    c->numbers = malloc((19 * n + 1) * sizeof *c->numbers);
  }
  if (!c || !c->ids || !c->numbers) {
    sc_contacts_destroy(c ? &c->shown : NULL);
    return sc_error_set(SC_ERROR_MEMORY, "%s: no memory for %zu contacts", call, n);
  }
  for (int e = 0; e < nenv; e++)
    for (size_t i = c->offset[e]; i < c->offset[e + 1]; i++) copy_contact(c, n, i, &job->list[e][i - c->offset[e]]);
  const double *x = c->numbers;
  c->shown = (sc_contacts){nenv, c->offset, c->ids, c->ids + 2 * n, x, x + n, x + 4 * n, x + 13 * n};
  *out = &c->shown;
  return SC_OK;
}

static int check_arguments(const char *call, const contacts_job *job, const sc_context *context, int nenv,
                           sc_contacts **out) {
  const char *null = !context       ? "context"
                     : !job->model  ? "model"
                     : !job->batch  ? "batch"
                     : !job->result ? "result"
                     : !out         ? "out"
                                    : NULL;
  if (!null && !job->states && nenv > 0) null = "states";
  if (null) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, null);
  int code = sc_mj_check_nenv(call, nenv, job->batch, job->result);
  if (code) return code;
  return SC_OK;
}

static int run(const char *call, sc_context *context, contacts_job *job, int nenv, const sc_override *overrides,
               int noverride, sc_contacts **out) {
  if (out) *out = NULL;
  int code = check_arguments(call, job, context, nenv, out);
  if (!code) code = sc_mj_overrides_check(call, job->model, overrides, noverride, nenv, &job->overrides);
  if (!code) code = sc_mj_signature(call, job->model, &job->sig, &job->nstate);
  if (code) return code;
  job->offset = calloc((size_t)nenv + 1, sizeof *job->offset);
  job->list = calloc((size_t)nenv + 1, sizeof *job->list);
  if (!job->offset || !job->list)
    code = sc_error_set(SC_ERROR_MEMORY, "%s: no memory for %d environments", call, nenv);
  job->crew.n = sc_context_threads(context);
  if (!code) code = sc_mj_workers_create(call, context, job->model->rows, &job->crew.workers);
  if (!code) code = sc_mj_overrides_open(call, job->model->rows, &job->overrides, &job->crew);
  if (!code) {
    sc_mj_each(context, nenv, contacts_of_state, job, NULL, NULL);
    code = sc_mj_workers_code(call, context, job->crew.workers);
  }
  if (!code) code = collect(call, job, nenv, out);
  sc_mj_workers_destroy(job->crew.n, job->crew.workers);
  for (int i = 0; job->list && i < nenv; i++) free(job->list[i]);
  free(job->list);
  free(job->offset);
  return code;
}

int sc_model_contacts(sc_context *context, const sc_model *model, const double *states, int sig, int nenv,
                      const sc_batch *batch, const sc_result *result, sc_contacts **out) {
  contacts_job job = {.model = model, .states = states, .sig = sig, .batch = batch, .result = result};
  return run("sc_model_contacts", context, &job, nenv, NULL, 0, out);
}

int sc_model_contacts_with(sc_context *context, const sc_model *model, const double *states, int sig, int nenv,
                           const sc_override *overrides, int noverride, const sc_batch *batch, const sc_result *result,
                           sc_contacts **out) {
  contacts_job job = {.model = model, .states = states, .sig = sig, .batch = batch, .result = result};
  return run("sc_model_contacts_with", context, &job, nenv, overrides, noverride, out);
}
