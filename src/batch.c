#include "batch.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ memory */

int sc_env_resize(sc_env *env, sc_env_sizes s, sc_arena *arena) {
  size_t bytes = 0;
#define FIELD(name, type, count) bytes += (count) * sizeof(type);
  SC_ENV_FIELDS(FIELD)
#undef FIELD
  if (bytes > env->capacity) {
    size_t more = env->capacity + env->capacity / 4; /* what has grown once will grow again */
    if (bytes < more) bytes = more;
    void *block = sc_arena_get(arena, &bytes);
    if (!block) return 0;
    sc_arena_give(arena, env->block, env->capacity);
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
  sc_arena *arena = sc_arena_create();
  if (!b || !env || !arena) {
    free(b);
    free(env);
    sc_arena_destroy(arena);
    return sc_error_set(SC_ERROR_MEMORY, "sc_batch_create: no memory for %d environments", nenv);
  }
  b->context = context, b->nenv = nenv, b->env = env, b->arena = arena;
  atomic_init(&b->patterns, NULL);
  *out = b;
  return SC_OK;
}

void sc_batch_destroy(sc_batch *batch) {
  if (!batch) return;
  for (int i = 0; i < batch->nenv; i++) free(batch->env[i].why);
  sc_arena_destroy(batch->arena);
  free(batch->env);
  for (sc_pattern *t = atomic_load(&batch->patterns), *next; t; t = next) next = t->next, free(t);
  free(batch);
}

int sc_batch_nenv(const sc_batch *batch) { return batch->nenv; }

int sc_batch_check_env(const char *call, const sc_batch *batch, int env) {
  if (env >= 0 && env < batch->nenv) return SC_OK;
  return sc_error_set(SC_ERROR_ARGUMENT, "%s: environment %d is not in 0 .. %d", call, env, batch->nenv - 1);
}

size_t sc_batch_bytes(const sc_batch *batch) {
  if (!batch) return 0;
  return sizeof *batch + ((size_t)batch->nenv + 1) * sizeof *batch->env + sc_arena_bytes(batch->arena);
}

/* ------------------------------------------------------------------ shared patterns */

static int has_pattern(const sc_pattern *t, const sc_problem *p) {
  size_t nv = (size_t)p->nv * sizeof(int);
  return t->nv == p->nv && !memcmp(t->rownnz, p->M_rownnz, nv) && !memcmp(t->rowadr, p->M_rowadr, nv) &&
         !memcmp(t->colind, p->M_colind, (size_t)t->entries * sizeof(int));
}

const sc_pattern *sc_batch_find_pattern(const sc_batch *batch, const sc_problem *p) {
  if (!p->nv || !p->M_rownnz || !p->M_rowadr || !p->M_colind) return NULL;
  for (const sc_pattern *t = atomic_load(&batch->patterns); t; t = t->next)
    if (has_pattern(t, p)) return t;
  return NULL;
}

/* a copy of the problem's pattern, whose rows lie one behind another and have `entries` entries; NULL: no memory */
static sc_pattern *copy_pattern(const sc_problem *p, int entries) {
  size_t nv = (size_t)p->nv, n = (size_t)entries;
  sc_pattern *t = malloc(sizeof *t + (2 * nv + n) * sizeof(int));
  if (!t) return NULL;
  *t = (sc_pattern){NULL, p->nv, entries, (int *)(t + 1), (int *)(t + 1) + nv, (int *)(t + 1) + 2 * nv};
  memcpy(t->rownnz, p->M_rownnz, nv * sizeof(int));
  memcpy(t->rowadr, p->M_rowadr, nv * sizeof(int));
  memcpy(t->colind, p->M_colind, n * sizeof(int));
  return t;
}

const sc_pattern *sc_batch_pattern(sc_batch *batch, const sc_problem *p) {
  const sc_pattern *found = sc_batch_find_pattern(batch, p);
  if (found || !p->nv || !p->M_rownnz) return found;
  long long at = 0;
  int n = 0;
  for (int i = 0; i < p->nv; at += p->M_rownnz[i++])
    if (p->M_rowadr[i] != at || at + p->M_rownnz[i] > INT32_MAX) return NULL;
  sc_pattern *head = atomic_load(&batch->patterns);
  for (const sc_pattern *t = head; t; t = t->next) n++;
  sc_pattern *fresh = n < SC_MOST_PATTERNS ? copy_pattern(p, (int)at) : NULL;
  if (!fresh) return NULL;
  do fresh->next = head; /* two threads may add the same one: the second is of no use, and does no harm */
  while (!atomic_compare_exchange_weak(&batch->patterns, &head, fresh));
  return fresh;
}

/* ------------------------------------------------------------------ and out */

int sc_batch_get(const sc_batch *batch, int env, sc_problem *problem, sc_rows *rows) {
  if (!batch || !problem) return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_get: %s is NULL", batch ? "problem" : "batch");
  int code = sc_batch_check_env("sc_batch_get", batch, env);
  if (code) return code;
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
    rows->R = e->R, rows->flags = e->flags, rows->bad = e->bad, rows->why = e->why;
    rows->rows_needed = e->rows_needed, rows->contacts_needed = e->contacts_needed;
  }
  return SC_OK;
}
