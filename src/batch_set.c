/* One environment into a batch. What is right is found right at once, while it is copied; only where something is not do the
 * checks of validate.c look for it and say what it is. */
#include "batch.h"

#include "../kernels/law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NOTED 256

/* What the check of a problem's structure found out for the copy. */
typedef struct {
  int max_rows, max_contacts; /* the capacity */
  int keeps;                /* sc_batch_keeps */
  const sc_pattern *pattern; /* of M */
  size_t a, j;              /* entries of M and J */
  int packed;               /* J's rows lie one behind another */
  int noted;                /* alike is filled in */
  uint8_t alike[MOST_NOTED];/* of each row of J: it has the columns of the row before */
} survey;

/* ------------------------------------------------------------------ structure */

/* whether a sparse J is right, which is then described */
static int survey_rows(const sc_problem *p, survey *v) {
  size_t n = 0;
  v->packed = 1, v->noted = p->nefc <= MOST_NOTED;
  for (int r = 0; r < p->nefc; r++) {
    int nnz = p->J_rownnz[r], at = p->J_rowadr[r];
    if (nnz < 0 || nnz > p->nv || at < 0) return 0;
    const int *col = p->J_colind + at;
    int alike = r && nnz == p->J_rownnz[r - 1] && sc_same_columns(col, p->J_colind + p->J_rowadr[r - 1], nnz);
    if (!alike && !sc_columns_ascend(col, nnz, p->nv - 1)) return 0;
    if (v->noted) v->alike[r] = (uint8_t)alike;
    v->packed &= (size_t)at == (size_t)p->J_rowadr[0] + n;
    n += (size_t)nnz;
  }
  v->j = n;
  return n <= INT32_MAX;
}

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

/* is the call legal; then the survey is complete */
static int check_structure(sc_batch *batch, const sc_problem *p, int index, survey *v) {
  int code = sc_problem_fields(p, index);
  if (code) return code;
  v->pattern = sc_batch_find_pattern(batch, p);
  if (!v->pattern) {
    code = sc_problem_inertia(p, index);
    if (!code) v->pattern = sc_batch_pattern(batch, p);
  }
  v->a = v->pattern ? (size_t)v->pattern->entries : count_entries(p->nv, p->nv, p->M, p->M_rownnz, 1);
  v->j = 0, v->noted = 0;
  if (!code && p->J_rownnz && !survey_rows(p, v)) code = sc_problem_jacobian(p, index);
  if (!code && !p->J_rownnz) v->j = count_entries(p->nefc, p->nv, p->efc_J, NULL, 0);
  if (!code) code = sc_problem_types(p, index);
  if (!code && (v->a > INT32_MAX || v->j > INT32_MAX))
    return sc_error_set(SC_ERROR_UNSUPPORTED, "sc_batch_set: environment %d: M has %zu entries, efc_J %zu; at most %d are supported", index, v->a, v->j,
                        INT32_MAX);
  return code;
}

/* ------------------------------------------------------------------ the copy */

/* whether n numbers that may be absent are finite, and none of every step-th is negative */
static int all_finite(const double *x, size_t n) { return !x || sc_all_finite(x, n); }
static int none_negative(const double *x, size_t n, size_t step) {
  int ok = 1;
  for (size_t i = 0; x && i < n; i++) ok &= x[i * step] >= 0;
  return ok;
}

/* copy a matrix as compressed rows; whether all is finite */
static int copy_matrix(int rows, int cols, const double *in, const int *innnz, const int *inadr, const int *incol, int lower, double *val,
                       int *rownnz, int *rowadr, int *colind) {
  int at = 0, ok = 1;
  for (int i = 0; i < rows; i++) {
    rowadr[i] = at;
    if (innnz) {
      ok &= sc_copy_finite(val + at, in + inadr[i], (size_t)innnz[i]);
      if (innnz[i]) memcpy(colind + at, incol + inadr[i], (size_t)innnz[i] * sizeof *colind);
      at += innnz[i];
    } else {
      const double *row = in + (size_t)i * (size_t)cols;
      int n = lower ? i + 1 : cols;
      ok &= sc_all_finite(row, (size_t)n);
      for (int j = 0; j < n; j++)
        if (row[j] != 0) val[at] = row[j], colind[at++] = j;
    }
    rownnz[i] = at - rowadr[i];
  }
  return ok;
}

static int copy_inertia(sc_env *e, const sc_problem *p, const survey *v) {
  e->pattern = v->pattern;
  if (!v->pattern) return copy_matrix(p->nv, p->nv, p->M, p->M_rownnz, p->M_rowadr, p->M_colind, 1, e->M, e->M_rownnz, e->M_rowadr, e->M_colind);
  e->M_rownnz = v->pattern->rownnz, e->M_rowadr = v->pattern->rowadr, e->M_colind = v->pattern->colind;
  return sc_copy_finite(e->M, p->M, v->a);
}

static int copy_jacobian(sc_env *e, const sc_problem *p, const survey *v) {
  size_t m = (size_t)p->nefc;
  int ok;
  if (p->J_rownnz && v->packed && m) {
    const int first = p->J_rowadr[0];
    ok = sc_copy_finite(e->J, p->efc_J + first, v->j);
    memcpy(e->J_rownnz, p->J_rownnz, m * sizeof *e->J_rownnz);
    for (size_t r = 0; r < m; r++) e->J_rowadr[r] = p->J_rowadr[r] - first;
    if (v->j) memcpy(e->J_colind, p->J_colind + first, v->j * sizeof *e->J_colind);
  } else {
    ok = copy_matrix(p->nefc, p->nv, p->efc_J, p->J_rownnz, p->J_rowadr, p->J_colind, 0, e->J, e->J_rownnz, e->J_rowadr, e->J_colind);
  }
  if (v->noted && m) memcpy(e->alike, v->alike, m);
  for (int r = 0; !v->noted && r < p->nefc; r++)
    e->alike[r] = r && e->J_rownnz[r] == e->J_rownnz[r - 1] && sc_same_columns(e->J_colind + e->J_rowadr[r], e->J_colind + e->J_rowadr[r - 1], e->J_rownnz[r]);
  return ok;
}

/* rows in the form of parameters, which rows.c evaluates if all are valid */
static int copy_parameters(sc_env *e, const sc_problem *p) {
  size_t m = (size_t)p->nefc, c = (size_t)p->ncon;
  int ok = sc_copy_finite(e->pos, p->efc_pos, m) & sc_copy_finite(e->margin, p->efc_margin, m) & sc_copy_finite(e->vel, p->efc_vel, m);
  ok &= all_finite(p->efc_solref, 2 * m) & all_finite(p->efc_solimp, 5 * m) & none_negative(m ? p->efc_solimp + 2 : NULL, m, 5);
  ok &= all_finite(p->efc_diagA, m) & none_negative(p->efc_diagA, m, 1) & all_finite(p->efc_curvature, m) & all_finite(p->efc_adhesion, m);
  ok &= all_finite(p->contact_solreffriction, 2 * c) & isfinite(p->timestep) & (p->timestep > 0) & isfinite(p->impratio) & (p->impratio > 0);
  return ok;
}

/* of a bad environment what would have been evaluated is 0 */
static void clear_evaluated(sc_env *e) {
  double *made[] = {e->D, e->R, e->aref, e->K, e->B, e->d, e->dp, e->diagA};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) sc_copy_finite(made[i], NULL, (size_t)e->nefc);
  sc_copy_finite(e->mu, NULL, (size_t)e->ncon);
}

/* rows that are ready: their numbers are checked one by one */
static void copy_ready(sc_env *e, const sc_problem *p) {
  size_t m = (size_t)p->nefc;
  sc_copy_finite(e->D, p->efc_D, m);
  sc_copy_finite(e->aref, p->efc_aref, m);
  sc_copy_finite(e->mu, p->contact_mu, (size_t)p->ncon);
  for (size_t i = 0; i < m; i++) e->R[i] = 1 / e->D[i];
}

/* whether all is valid at first sight; otherwise sc_problem_values knows better */
static int copy_rows(sc_env *e, const sc_problem *p) {
  size_t m = (size_t)p->nefc, c = (size_t)p->ncon;
  int ok = 1;
  if (m) memcpy(e->type, p->efc_type, m * sizeof *e->type);
  if (m && p->efc_id) memcpy(e->id, p->efc_id, m * sizeof *e->id);
  for (size_t i = 0; !p->efc_id && i < m; i++) e->id[i] = -1;
  ok &= sc_copy_finite(e->frictionloss, p->efc_frictionloss, m) & none_negative(p->efc_frictionloss, m, 1);
  ok &= all_finite(c ? p->contact_friction : NULL, 5 * c) & none_negative(c ? p->contact_friction : NULL, 5 * c, 1);
  for (size_t i = 0; i < c; i++) {
    e->dim[i] = p->contact_dim[i];
    for (size_t k = 0; k < 5; k++) e->friction[5 * i + k] = law_friction(p->contact_friction[5 * i + k]);
  }
  if (!p->efc_D) return ok & copy_parameters(e, p);
  copy_ready(e, p);
  return 0;
}

/* everything that does not depend on the law; SC_ERROR_VALUE where a number is not valid, which is copied all the same */
static int copy_in(sc_env *e, const sc_problem *p, const survey *v, int index, sc_arena *arena) {
  sc_env_sizes s = {(size_t)p->nv, (size_t)p->nefc, (size_t)p->ncon, v->a, v->j, p->efc_D ? 0 : (size_t)p->nefc, 0, 0, 0, 0};
  if (!v->pattern) s.pn = s.n, s.pa = s.a;
  if (v->keeps && !p->efc_D) s.q = s.m, s.qc = s.c;
  if (!sc_env_resize(e, s, arena)) return sc_error_set(SC_ERROR_MEMORY, "sc_batch_set: environment %d: no memory", index);
  e->nv = p->nv, e->nefc = p->nefc, e->ncon = p->ncon;
  e->have_tau = p->qfrc_smooth != NULL, e->have_s = p->qacc_smooth != NULL, e->have_warm = p->qacc_warmstart != NULL;
  e->evaluated = !p->efc_D, e->kept = v->keeps && !p->efc_D;
  e->flags = 0;
  int ok = copy_inertia(e, p, v) & copy_jacobian(e, p, v);
  ok &= sc_copy_finite(e->qfrc_smooth, p->qfrc_smooth, s.n) & sc_copy_finite(e->qacc_smooth, p->qacc_smooth, s.n) & sc_copy_finite(e->qacc_warmstart, p->qacc_warmstart, s.n);
  ok &= copy_rows(e, p);
  return ok ? SC_OK : sc_problem_values(p, index);
}

/* ------------------------------------------------------------------ all */

/* whether a problem points into the environment's own memory, as sc_batch_get hands it out */
static int points_into(const sc_env *e, const sc_problem *p) {
  const void *all[] = {p->M, p->M_rownnz, p->M_rowadr, p->M_colind, p->qfrc_smooth, p->qacc_smooth, p->qacc_warmstart, p->efc_type, p->efc_id,
                       p->efc_J, p->J_rownnz, p->J_rowadr, p->J_colind, p->efc_frictionloss, p->efc_pos, p->efc_margin, p->efc_vel,
                       p->efc_solref, p->efc_solimp, p->efc_diagA, p->efc_curvature, p->efc_adhesion, p->efc_D, p->efc_aref, p->contact_dim,
                       p->contact_friction, p->contact_solreffriction, p->contact_mu};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (sc_env_holds(e, all[i])) return 1;
  return 0;
}

/* good (NULL), or bad for this reason, without the call and environment that it begins with */
static void set_reason(sc_env *e, const char *why) {
  static const char mark[] = "sc_batch_set: environment ";
  if (why && !strncmp(why, mark, sizeof mark - 1) && strstr(why + sizeof mark, ": ")) why = strstr(why + sizeof mark, ": ") + 2;
  size_t n = why ? strlen(why) + 1 : 0;
  free(e->why);
  e->bad = why != NULL;
  e->why = why ? malloc(n) : NULL;
  if (e->why) memcpy(e->why, why, n);
}

/* what a problem needs besides the environment's own memory: taken before that is touched */
typedef struct {
  sc_inertia factor;        /* for the exact diagonal */
  void *capacity;           /* for sc_env_fit */
} extras;

/* copy a problem into e, evaluate its rows, and drop what is beyond the capacity */
static int take(sc_env *e, const sc_problem *p, const survey *v, int index, sc_arena *arena, extras *x) {
  int code = copy_in(e, p, v, index, arena);
  if (code && code != SC_ERROR_VALUE) return code;
  if (e->evaluated && code) clear_evaluated(e);
  sc_env_count(e);
  if (e->evaluated && !code) code = sc_rows_evaluate(e, p, index, &x->factor);
  if (!code) code = sc_env_fit(e, v->max_rows, v->max_contacts, index, x->capacity);
  if (!code) sc_env_describe(e);
  return code;
}

static int get_extras(const sc_batch *batch, const sc_problem *p, int env, extras *x) {
  static const char what[] = "sc_batch_set: environment %d: no memory for %s";
  int exact = p->nefc && !p->efc_D && !p->efc_diagA, limited = batch->max_rows || batch->max_contacts;
  if (exact && !sc_inertia_factor(&x->factor, p)) return sc_error_set(SC_ERROR_MEMORY, what, env, "the exact diagonal");
  if (limited) x->capacity = malloc(sc_capacity_bytes(p));
  if (!limited || x->capacity) return SC_OK;
  sc_inertia_free(&x->factor);
  return sc_error_set(SC_ERROR_MEMORY, what, env, "the choice of contacts");
}

int sc_batch_set(sc_batch *batch, int env, const sc_problem *problem) {
  if (!batch || !problem) return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_set: %s is NULL", batch ? "problem" : "batch");
  int code = sc_batch_check_env("sc_batch_set", batch, env);
  if (code) return code;
  survey v;
  v.max_rows = batch->max_rows, v.max_contacts = batch->max_contacts, v.keeps = sc_batch_keeps(batch);
  sc_fetch(batch->env[env].block, batch->env[env].capacity, 1);
  code = check_structure(batch, problem, env, &v);
  if (code) return code;
  sc_env *e = &batch->env[env], fresh = {0};
  extras extra = {0};
  code = get_extras(batch, problem, env, &extra);
  if (code) return code;
  int inside = points_into(e, problem); /* then it goes to new memory */
  code = take(inside ? &fresh : e, problem, &v, env, batch->arena, &extra);
  if (inside && (!code || code == SC_ERROR_VALUE)) {
    fresh.why = e->why;
    sc_arena_give(batch->arena, e->block, e->capacity);
    *e = fresh;
  }
  if (!code || code == SC_ERROR_VALUE) set_reason(e, code ? sc_error_text() : NULL);
  sc_inertia_free(&extra.factor);
  free(extra.capacity);
  return code;
}

int sc_batch_set_bad(sc_batch *batch, int env, int nv, const char *why) {
  if (!batch || !why) return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_set_bad: %s is NULL", batch ? "why" : "batch");
  if (nv < 0) return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_set_bad: nv is %d, not >= 0", nv);
  int code = sc_batch_check_env("sc_batch_set_bad", batch, env);
  if (code) return code;
  sc_env *e = &batch->env[env];
  if (!sc_env_resize(e, (sc_env_sizes){.n = (size_t)nv, .pn = (size_t)nv}, batch->arena))
    return sc_error_set(SC_ERROR_MEMORY, "sc_batch_set_bad: environment %d: no memory", env);
  e->nv = nv, e->nefc = e->ncon = 0, e->have_tau = 1, e->have_s = e->have_warm = e->evaluated = e->kept = 0;
  e->flags = 0, e->rows_needed = e->contacts_needed = 0, e->pattern = NULL;
  for (int i = 0; i < nv; i++) e->M_rownnz[i] = e->M_rowadr[i] = 0;
  double *vectors[] = {e->qfrc_smooth, e->qacc_smooth, e->qacc_warmstart};
  for (int k = 0; k < 3; k++) sc_copy_finite(vectors[k], NULL, (size_t)nv);
  set_reason(e, why);
  return SC_OK;
}
