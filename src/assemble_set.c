/* From the assembly straight into a batch. Its rows are known to be legal; what is not finite is found at the end, and then
 * the usual way says what it is. */
#include "assemble.h"
#include "batch.h"

#include "../kernels/law_block.h"

#include <stdlib.h>

/* the usual way: a problem, which sc_batch_set checks */
static int set_problem(sc_assembly *a, const sc_problem *rest, sc_batch *batch, int env) {
  sc_problem p;
  int code = sc_assembly_problem(a, &p);
  if (code) return code;
  p.M = rest->M, p.M_rownnz = rest->M_rownnz, p.M_rowadr = rest->M_rowadr, p.M_colind = rest->M_colind;
  p.qfrc_smooth = rest->qfrc_smooth, p.qacc_smooth = rest->qacc_smooth, p.qacc_warmstart = rest->qacc_warmstart;
  return sc_batch_set(batch, env, &p);
}

/* J, whose rows follow one another unless they were put in order */
static int copy_jacobian(const sc_assembly *a, sc_env *e) {
  size_t m = (size_t)a->nefc;
  int ok = 1, at = 0;
  if (!m) return 1;
  memcpy(e->J_rownnz, a->J_rownnz, m * sizeof *e->J_rownnz);
  if (!a->scattered) {
    ok = sc_copy_finite(e->J, a->J, (size_t)a->nJ);
    memcpy(e->J_rowadr, a->J_rowadr, m * sizeof *e->J_rowadr);
    if (a->nJ) memcpy(e->J_colind, a->J_colind, (size_t)a->nJ * sizeof *e->J_colind);
    return ok;
  }
  for (size_t i = 0; i < m; at += a->J_rownnz[i++]) {
    size_t n = (size_t)a->J_rownnz[i];
    e->J_rowadr[i] = at;
    ok &= sc_copy_finite(e->J + at, a->J + a->J_rowadr[i], n);
    if (n) memcpy(e->J_colind + at, a->J_colind + a->J_rowadr[i], n * sizeof *e->J_colind);
  }
  return ok;
}

/* rows of a contact have the same columns */
static void find_alike(const assembly_block *b, sc_env *e) {
  for (int r = b->row; r < b->row + b->rows; r++) {
    int n = e->J_rownnz[r];
    const int *col = e->J_colind + e->J_rowadr[r];
    int known = b->group == GROUP_CONTACT && r > b->row;
    e->alike[r] = known || (r && n == e->J_rownnz[r - 1] && sc_same_columns(col, col - n, n));
  }
}

static void copy_rows(const sc_assembly *a, sc_env *e) {
  size_t m = (size_t)a->nefc, c = (size_t)a->ncon;
  if (m) {
    memcpy(e->type, a->type, m * sizeof *e->type);
    memcpy(e->id, a->id, m * sizeof *e->id);
    memcpy(e->frictionloss, a->frictionloss, m * sizeof *e->frictionloss);
    memcpy(e->pos, a->pos, m * sizeof *e->pos);
    memcpy(e->margin, a->margin, m * sizeof *e->margin);
    memcpy(e->vel, a->vel, m * sizeof *e->vel);
    memcpy(e->diagA, a->diagA, m * sizeof *e->diagA);
  }
  if (c) memcpy(e->dim, a->dim, c * sizeof *e->dim);
  if (c) memcpy(e->friction, a->friction, 5 * c * sizeof *e->friction);
}

/* the law; whether its results are finite */
static int evaluate(const sc_assembly *a, sc_env *e) {
  law_parameters last = {.known = 0};
  sc_row_source s = {.solreffriction = a->solreffriction_given ? a->solreffriction : NULL,
                     .timestep = a->o.timestep, .impratio = a->o.impratio, .refsafe = a->o.refsafe};
  for (const assembly_block *b = a->block; b < a->block + a->nblock; b++) {
    s.solref = b->solref, s.solimp = b->solimp;
    if (!b->rows) continue;
    sc_rows_block(e, &s, &last, b->row, b->rows, b->contact);
    find_alike(b, e);
  }
  return sc_rows_finish(e, a->curvature_given ? a->curvature : NULL, a->adhesion_given ? a->adhesion : NULL);
}

/* everything into e, which has room for it; whether all is finite */
static int fill(const sc_assembly *a, const sc_problem *rest, const sc_pattern *pattern, sc_env *e) {
  size_t n = (size_t)a->o.nv;
  e->nv = a->o.nv, e->nefc = a->nefc, e->ncon = a->ncon;
  e->have_tau = rest->qfrc_smooth != NULL, e->have_s = rest->qacc_smooth != NULL, e->have_warm = rest->qacc_warmstart != NULL;
  e->evaluated = 1, e->bad = 0, e->flags = 0;
  e->timestep = a->o.timestep, e->impratio = a->o.impratio, e->refsafe = a->o.refsafe;
  e->pattern = pattern, e->M_rownnz = pattern->rownnz, e->M_rowadr = pattern->rowadr, e->M_colind = pattern->colind;
  int ok = sc_copy_finite(e->M, rest->M, (size_t)pattern->entries) & sc_copy_finite(e->qfrc_smooth, rest->qfrc_smooth, n) &
           sc_copy_finite(e->qacc_smooth, rest->qacc_smooth, n) & sc_copy_finite(e->qacc_warmstart, rest->qacc_warmstart, n) & copy_jacobian(a, e);
  copy_rows(a, e);
  return ok && evaluate(a, e);
}

int sc_assembly_set(sc_assembly *a, const sc_problem *rest, sc_batch *batch, int env) {
  static const char call[] = "sc_assembly_set";
  const char *null = !a ? "the assembly" : !rest ? "rest" : !batch ? "batch" : NULL;
  if (null) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, null);
  if (rest->size != sizeof *rest)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: rest.size is %zu, not %zu: use sc_problem_init", call, rest->size, sizeof *rest);
  if (env < 0 || env >= batch->nenv)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: environment %d is not in 0 .. %d", call, env, batch->nenv - 1);
  if (a->begun && rest->nv != a->o.nv)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: environment %d: rest.nv is %d, not the assembly's %d", call, env, rest->nv, a->o.nv);
  sc_env *e = &batch->env[env];
  sc_fetch(e->block, e->capacity, 1);
  int code = sc_assembly_finish(a, call);
  if (code) return code;
  const sc_pattern *pattern = rest->M && (rest->qfrc_smooth || rest->qacc_smooth) ? sc_batch_find_pattern(batch, rest) : NULL;
  int inside = sc_env_holds(e, rest->M) || sc_env_holds(e, rest->qfrc_smooth) || sc_env_holds(e, rest->qacc_smooth) || sc_env_holds(e, rest->qacc_warmstart);
  int capacity = batch->max_rows || batch->max_contacts;
  if (!pattern || a->o.diagexact || inside || capacity) return set_problem(a, rest, batch, env);
  sc_env_sizes s = {(size_t)a->o.nv, (size_t)a->nefc, (size_t)a->ncon, (size_t)pattern->entries, (size_t)a->nJ, (size_t)a->nefc, 0, 0, 0, 0};
  if (sc_batch_keeps(batch)) s.q = s.m, s.qc = s.c;
  if (!sc_env_resize(e, s, batch->arena)) return sc_error_set(SC_ERROR_MEMORY, "%s: environment %d: no memory", call, env);
  e->kept = sc_batch_keeps(batch);
  e->bad = !fill(a, rest, pattern, e);
  if (e->bad) return set_problem(a, rest, batch, env);
  free(e->why);
  e->why = NULL;
  sc_env_count(e);
  sc_env_describe(e);
  return SC_OK;
}
