#include "batch.h"

#include "../kernels/law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ memory */

int sc_env_resize(sc_env *env, sc_env_sizes s) {
  size_t bytes = 0;
#define FIELD(name, type, count) bytes += (count) * sizeof(type);
  SC_ENV_FIELDS(FIELD)
#undef FIELD
  if (bytes > env->capacity) {
    void *block = malloc(bytes);
    if (!block) return 0;
    free(env->block);
    env->block = block;
    env->capacity = bytes;
  }
  char *at = env->block;
#define FIELD(name, type, count)     \
  env->name = (type *)(void *)at;    \
  if (at) at += (count) * sizeof(type);
  SC_ENV_FIELDS(FIELD)
#undef FIELD
  return 1;
}

int sc_batch_create(sc_context *context, int nenv, sc_batch **out) {
  if (!out) return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_create: out is NULL");
  *out = NULL;
  if (!context) return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_create: context is NULL");
  if (nenv < 0) return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_create: nenv is %d, not >= 0", nenv);
  sc_batch *b = calloc(1, sizeof *b);
  sc_env *env = calloc((size_t)nenv + 1, sizeof *env);
  if (!b || !env) {
    free(b);
    free(env);
    return sc_error_set(SC_ERROR_MEMORY, "sc_batch_create: no memory for %d environments", nenv);
  }
  *b = (sc_batch){context, nenv, env};
  *out = b;
  return SC_OK;
}

void sc_batch_destroy(sc_batch *batch) {
  if (!batch) return;
  for (int i = 0; i < batch->nenv; i++) free(batch->env[i].block);
  free(batch->env);
  free(batch);
}

int sc_batch_nenv(const sc_batch *batch) { return batch->nenv; }

size_t sc_batch_bytes(const sc_batch *batch) {
  if (!batch) return 0;
  size_t bytes = sizeof *batch + ((size_t)batch->nenv + 1) * sizeof *batch->env;
  for (int i = 0; i < batch->nenv; i++) bytes += batch->env[i].capacity;
  return bytes;
}

/* ------------------------------------------------------------------ one environment in */

/* entries of a matrix: the stored ones, or those of a dense one that are not zero; lower: of its lower triangle */
static size_t count_entries(int rows, int cols, const double *dense, const int *rownnz, int lower) {
  size_t n = 0;
  for (int i = 0; i < rows; i++)
    if (rownnz)
      n += (size_t)rownnz[i];
    else
      for (int j = 0; j < (lower ? i + 1 : cols); j++) n += dense[(size_t)i * (size_t)cols + (size_t)j] != 0;
  return n;
}

/* copy it as compressed rows */
static void copy_matrix(int rows, int cols, const double *in, const int *innnz, const int *inadr, const int *incol, int lower, double *val,
                        int *rownnz, int *rowadr, int *colind) {
  int at = 0, packed = innnz != NULL; /* rows one after another without gaps: copied at once */
  for (int i = 0; packed && i < rows; at += innnz[i++]) packed = inadr[i] == inadr[0] + at;
  if (packed && at) {
    memcpy(val, in + inadr[0], (size_t)at * sizeof *val);
    memcpy(colind, incol + inadr[0], (size_t)at * sizeof *colind);
  }
  at = 0;
  for (int i = 0; i < rows; i++) {
    rowadr[i] = at;
    if (packed) {
      at += innnz[i];
    } else if (innnz) {
      memcpy(val + at, in + inadr[i], (size_t)innnz[i] * sizeof *val);
      memcpy(colind + at, incol + inadr[i], (size_t)innnz[i] * sizeof *colind);
      at += innnz[i];
    } else {
      const double *row = in + (size_t)i * (size_t)cols;
      for (int j = 0; j < (lower ? i + 1 : cols); j++)
        if (row[j] != 0) val[at] = row[j], colind[at++] = j;
    }
    rownnz[i] = at - rowadr[i];
  }
}

/* copy n numbers, or zeros where there are none */
static void copy(double *out, const double *in, size_t n) {
  if (!n) return;
  if (in)
    memcpy(out, in, n * sizeof *out);
  else
    memset(out, 0, n * sizeof *out);
}

static void copy_rows(sc_env *e, const sc_problem *p) {
  size_t m = (size_t)p->nefc, c = (size_t)p->ncon;
  if (m) memcpy(e->type, p->efc_type, m * sizeof *e->type);
  for (size_t i = 0; i < m; i++) e->id[i] = p->efc_id ? p->efc_id[i] : -1;
  copy(e->frictionloss, p->efc_frictionloss, m);
  for (size_t i = 0; i < c; i++) {
    e->dim[i] = p->contact_dim[i];
    for (size_t k = 0; k < 5; k++) e->friction[5 * i + k] = fmax(LAW_MINMU, p->contact_friction[5 * i + k]);
  }
  if (!p->efc_D) { /* rows.c makes the rest, if the numbers are valid */
    double *made[] = {e->D, e->R, e->aref, e->K, e->B, e->d, e->dp, e->diagA};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) copy(made[i], NULL, m);
    copy(e->mu, NULL, c);
    copy(e->pos, p->efc_pos, m);
    copy(e->margin, p->efc_margin, m);
    copy(e->vel, p->efc_vel, m);
    return;
  }
  copy(e->D, p->efc_D, m);
  copy(e->aref, p->efc_aref, m);
  copy(e->mu, p->contact_mu, c);
  for (size_t i = 0; i < m; i++) e->R[i] = 1 / e->D[i];
}

/* everything that does not depend on the law */
static int copy_in(sc_env *e, const sc_problem *p, int index) {
  sc_env_sizes s = {.n = (size_t)p->nv, .m = (size_t)p->nefc, .c = (size_t)p->ncon, .p = p->efc_D ? 0 : (size_t)p->nefc};
  s.a = count_entries(p->nv, p->nv, p->M, p->M_rownnz, 1);
  s.j = count_entries(p->nefc, p->nv, p->efc_J, p->J_rownnz, 0);
  if (s.a > INT32_MAX || s.j > INT32_MAX)
    return sc_error_set(SC_ERROR_UNSUPPORTED, "sc_batch_set: environment %d: M has %zu entries, efc_J %zu; at most %d are supported", index,
                        s.a, s.j, INT32_MAX);
  if (!sc_env_resize(e, s)) return sc_error_set(SC_ERROR_MEMORY, "sc_batch_set: environment %d: no memory", index);
  e->nv = p->nv, e->nefc = p->nefc, e->ncon = p->ncon;
  e->have_tau = p->qfrc_smooth != NULL, e->have_s = p->qacc_smooth != NULL, e->have_warm = p->qacc_warmstart != NULL;
  e->evaluated = !p->efc_D;
  e->flags = 0;
  copy_matrix(p->nv, p->nv, p->M, p->M_rownnz, p->M_rowadr, p->M_colind, 1, e->M, e->M_rownnz, e->M_rowadr, e->M_colind);
  copy_matrix(p->nefc, p->nv, p->efc_J, p->J_rownnz, p->J_rowadr, p->J_colind, 0, e->J, e->J_rownnz, e->J_rowadr, e->J_colind);
  copy(e->qfrc_smooth, p->qfrc_smooth, s.n);
  copy(e->qacc_smooth, p->qacc_smooth, s.n);
  copy(e->qacc_warmstart, p->qacc_warmstart, s.n);
  copy_rows(e, p);
  return SC_OK;
}

/* whether a problem points into the environment's own memory, as sc_batch_get hands it out */
static int points_into(const sc_env *e, const sc_problem *p) {
  const void *all[] = {p->M, p->M_rownnz, p->M_rowadr, p->M_colind, p->qfrc_smooth, p->qacc_smooth, p->qacc_warmstart, p->efc_type, p->efc_id,
                       p->efc_J, p->J_rownnz, p->J_rowadr, p->J_colind, p->efc_frictionloss, p->efc_pos, p->efc_margin, p->efc_vel,
                       p->efc_solref, p->efc_solimp, p->efc_diagA, p->efc_curvature, p->efc_adhesion, p->efc_D, p->efc_aref, p->contact_dim,
                       p->contact_friction, p->contact_solreffriction, p->contact_mu};
  uintptr_t begin = (uintptr_t)e->block, end = begin + e->capacity;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if ((uintptr_t)all[i] >= begin && (uintptr_t)all[i] < end) return 1;
  return 0;
}

/* copy a problem in; one that points into the environment goes to new memory first */
static int replace(sc_env *e, const sc_problem *p, int index) {
  if (!points_into(e, p)) return copy_in(e, p, index);
  sc_env fresh = {0};
  int code = copy_in(&fresh, p, index);
  if (code) return code;
  free(e->block);
  *e = fresh;
  return SC_OK;
}

int sc_batch_set(sc_batch *batch, int env, const sc_problem *problem) {
  if (!batch || !problem) return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_set: %s is NULL", batch ? "problem" : "batch");
  if (env < 0 || env >= batch->nenv)
    return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_set: environment %d is not in 0 .. %d", env, batch->nenv - 1);
  int code = sc_problem_check(problem, env);
  if (code) return code;
  sc_env *e = &batch->env[env];
  int values = sc_problem_values(problem, env);
  double *scratch = NULL; /* for the exact diagonal; before the environment is touched */
  if (!values && problem->nefc && !problem->efc_D && !problem->efc_diagA) {
    size_t n = (size_t)problem->nv;
    scratch = malloc((n * n + n + 1) * sizeof *scratch);
    if (!scratch) return sc_error_set(SC_ERROR_MEMORY, "sc_batch_set: environment %d: no memory for the exact diagonal", env);
  }
  code = replace(e, problem, env);
  if (!code) {
    e->bad = values != SC_OK;
    code = values;
    if (e->evaluated && !e->bad) {
      code = sc_rows_evaluate(e, problem, env, scratch);
      e->bad = code == SC_ERROR_VALUE;
    }
  }
  free(scratch);
  return code;
}

/* ------------------------------------------------------------------ and out */

int sc_batch_get(const sc_batch *batch, int env, sc_problem *problem, sc_rows *rows) {
  if (!batch || !problem) return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_get: %s is NULL", batch ? "problem" : "batch");
  if (env < 0 || env >= batch->nenv)
    return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_get: environment %d is not in 0 .. %d", env, batch->nenv - 1);
  const sc_env *e = &batch->env[env];
  sc_problem_init(problem);
  problem->nv = e->nv, problem->nefc = e->nefc, problem->ncon = e->ncon;
  problem->M = e->M, problem->M_rownnz = e->M_rownnz, problem->M_rowadr = e->M_rowadr, problem->M_colind = e->M_colind;
  problem->efc_J = e->J, problem->J_rownnz = e->J_rownnz, problem->J_rowadr = e->J_rowadr, problem->J_colind = e->J_colind;
  problem->qfrc_smooth = e->have_tau ? e->qfrc_smooth : NULL;
  problem->qacc_smooth = e->have_s ? e->qacc_smooth : NULL;
  problem->qacc_warmstart = e->have_warm ? e->qacc_warmstart : NULL;
  problem->efc_type = e->type, problem->efc_id = e->id, problem->efc_frictionloss = e->frictionloss;
  problem->efc_D = e->D, problem->efc_aref = e->aref;
  problem->contact_dim = e->dim, problem->contact_friction = e->friction, problem->contact_mu = e->mu;
  if (e->evaluated) problem->efc_pos = e->pos, problem->efc_margin = e->margin, problem->efc_vel = e->vel;
  if (rows) {
    memset(rows, 0, sizeof *rows);
    if (e->evaluated) rows->K = e->K, rows->B = e->B, rows->d = e->d, rows->dp = e->dp, rows->diagA = e->diagA;
    rows->R = e->R, rows->flags = e->flags, rows->bad = e->bad;
  }
  return SC_OK;
}
