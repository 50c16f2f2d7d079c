/* Is a problem legal (structure), and are its numbers valid. Errors name environment, field, row, value and bound. */
#include "batch.h"

#include "../kernels/law.h"

#include <math.h>
#include <string.h>

#define CALL "sc_batch_set: environment %d: "

/* ------------------------------------------------------------------ structure */

static int missing(int env, const char *field) { return sc_error_set(SC_ERROR_ARGUMENT, CALL "%s is NULL", env, field); }

static int out_of_range(int env, const char *field, int i, int value, const char *bound) {
  return sc_error_set(SC_ERROR_ARGUMENT, CALL "%s[%d] is %d, not %s", env, field, i, value, bound);
}

/* without a branch per entry */
int sc_columns_ascend(const int *col, int n, int last) {
  int bad = n && (col[0] < 0 || col[n - 1] > last);
  for (int k = 1; k < n; k++) bad |= col[k] <= col[k - 1];
  return !bad;
}

/* no exponent is that of infinity and NaN */
int sc_all_finite(const double *x, size_t n) {
  uint64_t bad = 0;
  for (size_t k = 0; k < n; k++) {
    uint64_t word;
    memcpy(&word, x + k, sizeof word);
    bad |= (word & 0x7fffffffffffffff) + 0x0010000000000000;
  }
  return !(bad >> 63);
}

/* compressed rows with ascending columns below the bound: i + 1 in a lower triangle, else cols */
static int check_sparse(int env, const char *name, int rows, int cols, const int *nnz, const int *adr, const int *col, int lower) {
  for (int i = 0; i < rows; i++) {
    int last = lower ? i : cols - 1;
    if (nnz[i] < 0 || nnz[i] > last + 1) return sc_error_set(SC_ERROR_ARGUMENT, CALL "%s_rownnz[%d] is %d, not in 0 .. %d", env, name, i, nnz[i], last + 1);
    if (adr[i] < 0) return sc_error_set(SC_ERROR_ARGUMENT, CALL "%s_rowadr[%d] is %d, not >= 0", env, name, i, adr[i]);
    if (sc_columns_ascend(col + adr[i], nnz[i], last)) continue;
    for (int k = 0, before = -1; k < nnz[i]; before = col[adr[i] + k++])
      if (col[adr[i] + k] <= before || col[adr[i] + k] > last)
        return sc_error_set(SC_ERROR_ARGUMENT, CALL "%s row %d: column %d is not in %d .. %d (columns ascend)", env, name, i, col[adr[i] + k], before + 1, last);
  }
  return SC_OK;
}

/* one contact's rows, from row r on; their number in *rows */
static int check_block(const sc_problem *p, int env, int r, int contact, int *rows) {
  int type = p->efc_type[r];
  if (contact >= p->ncon)
    return sc_error_set(SC_ERROR_ARGUMENT, CALL "row %d begins contact %d, but ncon is %d", env, r, contact, p->ncon);
  int dim = p->contact_dim[contact];
  if (dim != 3 && dim != 4 && dim != 6) return out_of_range(env, "contact_dim", contact, dim, "3, 4 or 6");
  *rows = sc_contact_rows(type, dim);
  for (int k = 1; k < *rows; k++)
    if (r + k >= p->nefc || p->efc_type[r + k] != type)
      return sc_error_set(SC_ERROR_ARGUMENT, CALL "row %d: contact %d of dim %d has %d rows of type %d, one after another; row %d is not one of them",
                          env, r, contact, dim, *rows, type, r + k);
  return SC_OK;
}

static int check_types(const sc_problem *p, int env) {
  int contact = 0;
  for (int r = 0; r < p->nefc;) {
    int rows = 1, type = p->efc_type[r];
    if (type < 0 || type >= SC_NTYPE) return out_of_range(env, "efc_type", r, type, "in 0 .. 7");
    if (sc_type_has_cone(type)) {
      int code = check_block(p, env, r, contact++, &rows);
      if (code) return code;
    }
    r += rows;
  }
  if (contact != p->ncon)
    return sc_error_set(SC_ERROR_ARGUMENT, CALL "ncon is %d, but the rows have %d contacts with friction", env, p->ncon, contact);
  return SC_OK;
}

static int check_pointers(const sc_problem *p, int env) {
  if (p->nv) {
    if (!p->M) return missing(env, "M");
    if (!p->qfrc_smooth && !p->qacc_smooth) return missing(env, "qfrc_smooth (and qacc_smooth)");
    if (p->M_rownnz && (!p->M_rowadr || !p->M_colind)) return missing(env, p->M_rowadr ? "M_colind" : "M_rowadr");
  }
  if (!p->nefc) return SC_OK;
  if (!p->efc_type) return missing(env, "efc_type");
  if (!p->efc_J && p->nv) return missing(env, "efc_J");
  if (p->J_rownnz && (!p->J_rowadr || !p->J_colind)) return missing(env, p->J_rowadr ? "J_colind" : "J_rowadr");
  if (p->efc_D && !p->efc_aref) return missing(env, "efc_aref");
  if (!p->efc_D && !p->efc_pos) return missing(env, "efc_pos (and efc_D)");
  if (!p->efc_D && !p->efc_solref) return missing(env, "efc_solref");
  if (!p->efc_D && !p->efc_solimp) return missing(env, "efc_solimp");
  if (p->ncon && !p->contact_dim) return missing(env, "contact_dim");
  if (p->ncon && !p->contact_friction) return missing(env, "contact_friction");
  return SC_OK;
}

int sc_problem_fields(const sc_problem *p, int env) {
  if (p->size != sizeof *p)
    return sc_error_set(SC_ERROR_ARGUMENT, CALL "problem.size is %zu, not %zu: use sc_problem_init", env, p->size, sizeof *p);
  const struct { const char *name; int value; } sizes[] = {{"nv", p->nv}, {"nefc", p->nefc}, {"ncon", p->ncon}};
  for (int i = 0; i < 3; i++)
    if (sizes[i].value < 0) return sc_error_set(SC_ERROR_ARGUMENT, CALL "%s is %d, not >= 0", env, sizes[i].name, sizes[i].value);
  return check_pointers(p, env);
}

int sc_problem_inertia(const sc_problem *p, int env) {
  return p->M_rownnz ? check_sparse(env, "M", p->nv, p->nv, p->M_rownnz, p->M_rowadr, p->M_colind, 1) : SC_OK;
}

int sc_problem_jacobian(const sc_problem *p, int env) {
  return p->J_rownnz ? check_sparse(env, "J", p->nefc, p->nv, p->J_rownnz, p->J_rowadr, p->J_colind, 0) : SC_OK;
}

int sc_problem_types(const sc_problem *p, int env) {
  int code = check_types(p, env);
  if (!code && p->efc_D && !p->contact_mu)
    for (int r = 0; r < p->nefc && !code; r++)
      if (p->efc_type[r] == SC_CONTACT_ELLIPTIC) code = missing(env, "contact_mu");
  return code;
}

int sc_problem_check(const sc_problem *p, int env) {
  int code = sc_problem_fields(p, env);
  if (!code) code = sc_problem_inertia(p, env);
  if (!code) code = sc_problem_jacobian(p, env);
  return code ? code : sc_problem_types(p, env);
}

/* ------------------------------------------------------------------ values */

/* what an entry of a field may be */
typedef enum { FINITE, POSITIVE, NOT_NEGATIVE } bound;

static const char *const bound_text[] = {"finite", "finite and > 0", "finite and >= 0"};

static int within(double x, bound b) { return isfinite(x) && (b == FINITE || (b == POSITIVE ? x > 0 : x >= 0)); }

/* rows x cols numbers of a field that may be absent; only column `col` of each row has the bound, the others are finite */
static int check_field(int env, const char *name, const double *x, int rows, int cols, bound b, int col) {
  if (!x || (b == FINITE && sc_all_finite(x, (size_t)rows * (size_t)cols))) return SC_OK;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) {
      double value = x[(size_t)i * (size_t)cols + (size_t)j];
      bound mine = col < 0 || j == col ? b : FINITE;
      if (within(value, mine)) continue;
      if (cols == 1) return sc_error_set(SC_ERROR_VALUE, CALL "%s[%d] is %g, not %s", env, name, i, value, bound_text[mine]);
      return sc_error_set(SC_ERROR_VALUE, CALL "%s[%d][%d] is %g, not %s", env, name, i, j, value, bound_text[mine]);
    }
  return SC_OK;
}

static int check_matrix(int env, const char *name, const double *x, int rows, int cols, const int *nnz, const int *adr, int lower) {
  for (int i = 0; x && i < rows; i++) {
    const double *row = nnz ? x + adr[i] : x + (size_t)i * (size_t)cols;
    int n = nnz ? nnz[i] : lower ? i + 1 : cols;
    if (sc_all_finite(row, (size_t)n)) continue;
    for (int k = 0; k < n; k++)
      if (!isfinite(row[k])) return sc_error_set(SC_ERROR_VALUE, CALL "%s row %d entry %d is %g, not finite", env, name, i, k, row[k]);
  }
  return SC_OK;
}

/* frictionloss counts in dry friction rows only */
static int check_frictionloss(const sc_problem *p, int env) {
  for (int r = 0; p->efc_frictionloss && r < p->nefc; r++)
    if (sc_type_is_friction(p->efc_type[r]) && !within(p->efc_frictionloss[r], NOT_NEGATIVE))
      return sc_error_set(SC_ERROR_VALUE, CALL "efc_frictionloss[%d] is %g, not %s", env, r, p->efc_frictionloss[r], bound_text[NOT_NEGATIVE]);
  return SC_OK;
}

/* ready form: D_j = D_0 friction_j^2 / mu^2 in an elliptic contact, or its force would jump */
static int check_cones(const sc_problem *p, int env) {
  int contact = 0;
  for (int r = 0; r < p->nefc;) {
    int type = p->efc_type[r];
    if (!sc_type_has_cone(type)) {
      r++;
      continue;
    }
    int dim = p->contact_dim[contact];
    for (int j = 1; type == SC_CONTACT_ELLIPTIC && j < dim; j++) {
      double mu = p->contact_mu[contact], c = fmax(LAW_MINMU, p->contact_friction[5 * contact + j - 1]);
      if (!within(mu, POSITIVE))
        return sc_error_set(SC_ERROR_VALUE, CALL "contact_mu[%d] is %g, not %s", env, contact, mu, bound_text[POSITIVE]);
      double want = p->efc_D[r] * c * c / (mu * mu);
      if (fabs(p->efc_D[r + j] - want) > 1e-6 * want)
        return sc_error_set(SC_ERROR_VALUE, CALL "efc_D[%d] is %g, not D of the contact's first row * friction^2 / mu^2 = %g (contact %d)", env, r + j,
                            p->efc_D[r + j], want, contact);
    }
    r += sc_contact_rows(type, dim);
    contact++;
  }
  return SC_OK;
}

static int check_parameters(const sc_problem *p, int env) {
  int m = p->nefc, code = SC_OK;
  const struct { const char *name; double value; } scalars[] = {{"timestep", p->timestep}, {"impratio", p->impratio}};
  for (int i = 0; i < 2; i++)
    if (!within(scalars[i].value, POSITIVE))
      return sc_error_set(SC_ERROR_VALUE, CALL "%s is %g, not %s", env, scalars[i].name, scalars[i].value, bound_text[POSITIVE]);
  if (!code) code = check_field(env, "efc_pos", p->efc_pos, m, 1, FINITE, -1);
  if (!code) code = check_field(env, "efc_margin", p->efc_margin, m, 1, FINITE, -1);
  if (!code) code = check_field(env, "efc_vel", p->efc_vel, m, 1, FINITE, -1);
  if (!code) code = check_field(env, "efc_solref", p->efc_solref, m, 2, FINITE, -1);
  if (!code) code = check_field(env, "efc_solimp", p->efc_solimp, m, 5, NOT_NEGATIVE, 2);
  if (!code) code = check_field(env, "efc_diagA", p->efc_diagA, m, 1, NOT_NEGATIVE, -1);
  if (!code) code = check_field(env, "efc_curvature", p->efc_curvature, m, 1, FINITE, -1);
  if (!code) code = check_field(env, "efc_adhesion", p->efc_adhesion, m, 1, FINITE, -1);
  if (!code) code = check_field(env, "contact_solreffriction", p->contact_solreffriction, p->ncon, 2, FINITE, -1);
  return code;
}

int sc_problem_values(const sc_problem *p, int env) {
  int m = p->nefc, code = check_matrix(env, "M", p->M, p->nv, p->nv, p->M_rownnz, p->M_rowadr, 1);
  if (!code) code = check_field(env, "qfrc_smooth", p->qfrc_smooth, p->nv, 1, FINITE, -1);
  if (!code) code = check_field(env, "qacc_smooth", p->qacc_smooth, p->nv, 1, FINITE, -1);
  if (!code) code = check_field(env, "qacc_warmstart", p->qacc_warmstart, p->nv, 1, FINITE, -1);
  if (code || !m) return code;
  code = check_matrix(env, "efc_J", p->efc_J, m, p->nv, p->J_rownnz, p->J_rowadr, 0);
  if (!code) code = check_frictionloss(p, env);
  if (!code) code = check_field(env, "contact_friction", p->contact_friction, p->ncon, 5, NOT_NEGATIVE, -1);
  if (code) return code;
  if (!p->efc_D) return check_parameters(p, env);
  code = check_field(env, "efc_D", p->efc_D, m, 1, POSITIVE, -1);
  if (!code) code = check_field(env, "efc_aref", p->efc_aref, m, 1, FINITE, -1);
  return code ? code : check_cones(p, env);
}
