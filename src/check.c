/* The independent verifier: what an answer is worth, from the data alone. Plain dense arithmetic in extended precision;
 * the formulas stand here a second time on purpose. */
#include "check.h"

#include "batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ data */

static int get_memory(check_data *d, int n, int m) {
  size_t N = (size_t)n, R = (size_t)m;
  size_t numbers = 3 * N * N + 6 * N + R * N + 3 * R + 6 * R + 10 * R + 8;
  size_t ints = R * N + 2 * R + 2;
  memset(d, 0, sizeof *d);
  d->n = n, d->m = m;
  d->block = calloc(1, numbers * sizeof(wide) + ints * sizeof(int));
  if (!d->block) return 0;
  wide *at = d->block;
#define TAKE(field, count) d->field = at, at += (count)
  TAKE(M, N * N);
  TAKE(L, N * N);
  TAKE(tau, N);
  TAKE(s, N);
  TAKE(J, R * N);
  TAKE(D, R);
  TAKE(aref, R);
  TAKE(eta, R);
  TAKE(cone, 6 * R);
  TAKE(work, N * N + 4 * N + 10 * R + 8);
#undef TAKE
  d->kind = (int *)(void *)at;
  d->nzadr = d->kind + R;
  d->nz = d->nzadr + R + 1;
  return 1;
}

void check_free(check_data *d) { free(d->block); }

static void load_inertia(check_data *d, const sc_problem *p) {
  size_t n = (size_t)d->n;
  for (size_t i = 0; i < n; i++) {
    if (p->M_rownnz)
      for (int k = 0; k < p->M_rownnz[i]; k++) d->M[i * n + (size_t)p->M_colind[p->M_rowadr[i] + k]] = p->M[p->M_rowadr[i] + k];
    else
      for (size_t j = 0; j <= i; j++) d->M[i * n + j] = p->M[i * n + j];
    for (size_t j = 0; j < i; j++) d->M[j * n + i] = d->M[i * n + j];
  }
  memcpy(d->L, d->M, n * n * sizeof *d->L);
}

static void load_jacobian(check_data *d, const sc_problem *p) {
  size_t n = (size_t)d->n;
  int at = 0;
  for (size_t i = 0; i < (size_t)d->m; i++) {
    d->nzadr[i] = at;
    if (p->J_rownnz)
      for (int k = 0; k < p->J_rownnz[i]; k++) d->J[i * n + (size_t)p->J_colind[p->J_rowadr[i] + k]] = p->efc_J[p->J_rowadr[i] + k];
    else
      for (size_t j = 0; j < n; j++) d->J[i * n + j] = p->efc_J[i * n + j];
    for (size_t j = 0; j < n; j++)
      if (d->J[i * n + j] != 0) d->nz[at++] = (int)j;
  }
  d->nzadr[d->m] = at;
}

static void load_rows(check_data *d, const sc_problem *p) {
  int contact = 0;
  for (int i = 0; i < d->m;) {
    int type = p->efc_type[i], rows = 1;
    if (type == SC_CONTACT_ELLIPTIC) {
      rows = p->contact_dim[contact];
      d->cone[6 * i] = (wide)p->contact_mu[contact] * p->contact_mu[contact];
      for (int k = 1; k < rows; k++) d->cone[6 * i + k] = fmax(1e-5, p->contact_friction[5 * contact + k - 1]);
    } else if (type == SC_CONTACT_PYRAMIDAL) {
      rows = 2 * (p->contact_dim[contact] - 1);
    }
    contact += type == SC_CONTACT_ELLIPTIC || type == SC_CONTACT_PYRAMIDAL;
    for (int k = 0; k < rows; k++, i++) {
      d->D[i] = p->efc_D[i], d->aref[i] = p->efc_aref[i];
      d->eta[i] = p->efc_frictionloss ? p->efc_frictionloss[i] : 0;
      d->kind[i] = type == SC_EQUALITY                                       ? EQUALITY
                   : type == SC_FRICTION_DOF || type == SC_FRICTION_TENDON   ? FRICTION
                   : type == SC_CONTACT_ELLIPTIC                             ? (k ? CONE_REST : CONE)
                                                                             : ONESIDED;
    }
  }
}

/* qfrc_smooth and qacc_smooth; what was not given follows from the other */
static void load_smooth(check_data *d, const sc_problem *p, int spd) {
  for (int i = 0; i < d->n; i++) {
    if (p->qfrc_smooth) d->tau[i] = p->qfrc_smooth[i];
    if (p->qacc_smooth) d->s[i] = p->qacc_smooth[i];
  }
  if (!p->qfrc_smooth)
    for (int i = 0; i < d->n; i++)
      for (int j = 0; j < d->n; j++) d->tau[i] += d->M[(size_t)i * (size_t)d->n + (size_t)j] * d->s[j];
  if (!p->qacc_smooth && spd) {
    memcpy(d->s, d->tau, (size_t)d->n * sizeof *d->s);
    check_lower(d->L, d->n, d->s);
    check_upper(d->L, d->n, d->s);
  }
}

/* an answer's numbers; NULL is none */
static int check_finite(const char *call, const char *name, const double *x, int n) {
  for (int i = 0; x && i < n; i++)
    if (!isfinite(x[i])) return sc_error_set(SC_ERROR_VALUE, "%s: %s[%d] is %g, not finite", call, name, i, x[i]);
  return SC_OK;
}

/* structure and values, by the rules of sc_batch_set */
static int check_rules(const sc_problem *p, const char *call) {
  static const char theirs[] = "sc_batch_set: environment 0: ";
  char why[400];
  int code = sc_problem_check(p, 0);
  if (!code) code = sc_problem_values(p, 0);
  if (!code) return SC_OK;
  snprintf(why, sizeof why, "%s", sc_error_text() + strlen(theirs));
  return sc_error_set(code, "%s: %s", call, why);
}

int check_load(check_data *d, const sc_problem *p, const char *call) {
  if (!p) return sc_error_set(SC_ERROR_ARGUMENT, "%s: problem is NULL", call);
  if (p->size != sizeof *p) return sc_error_set(SC_ERROR_ARGUMENT, "%s: problem.size is %zu, not %zu", call, p->size, sizeof *p);
  if (p->nefc && !p->efc_D) return sc_error_set(SC_ERROR_ARGUMENT, "%s: efc_D is NULL: the problem is not in the ready form", call);
  if (p->nv && !p->qfrc_smooth && !p->qacc_smooth)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: qfrc_smooth and qacc_smooth are NULL: one must be given", call);
  int code = check_rules(p, call);
  if (code) return code;
  if (!get_memory(d, p->nv, p->nefc)) return sc_error_set(SC_ERROR_MEMORY, "%s: no memory for nv %d, nefc %d", call, p->nv, p->nefc);
  load_inertia(d, p);
  load_jacobian(d, p);
  load_rows(d, p);
  int spd = check_factor(d->L, d->n);
  load_smooth(d, p, spd);
  if (!spd) memset(d->L, 0, (size_t)d->n * (size_t)d->n * sizeof *d->L);
  return SC_OK;
}

/* ------------------------------------------------------------------ linear algebra */

int check_factor(wide *A, int size) {
  size_t n = (size_t)size;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      wide s = A[i * n + j];
      for (size_t k = 0; k < j; k++) s -= A[i * n + k] * A[j * n + k];
      if (i == j && !(s > 1e-16L * A[i * n + i])) return 0;
      A[i * n + j] = i == j ? sqrtl(s) : s / A[j * n + j];
    }
  return 1;
}

void check_lower(const wide *L, int size, wide *v) {
  size_t n = (size_t)size;
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) v[i] -= L[i * n + k] * v[k];
    v[i] /= L[i * n + i];
  }
}

void check_upper(const wide *L, int size, wide *v) {
  size_t n = (size_t)size;
  for (size_t i = n; i-- > 0;) {
    v[i] /= L[i * n + i];
    for (size_t k = 0; k < i; k++) v[k] -= L[i * n + k] * v[i];
  }
}

wide check_norm(const check_data *d, const wide *v) {
  size_t n = (size_t)d->n;
  wide s = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) s += v[i] * d->M[i * n + j] * v[j];
  return sqrtl(s > 0 ? s : 0);
}

/* ------------------------------------------------------------------ rows */

int check_cone_rows(const check_data *d, int r) {
  int k = 1;
  while (r + k < d->m && d->kind[r + k] == CONE_REST && k < 6) k++;
  return k;
}

/* one scalar row */
static wide scalar_row(const check_data *d, int i, wide x, wide *f, wide *curv) {
  wide D = d->D[i], half = d->eta[i] / D;
  *f = -D * x, *curv = D;
  if (d->kind[i] == ONESIDED && x >= 0) return *f = *curv = 0;
  if (d->kind[i] == FRICTION && fabsl(x) >= half) {
    *f = x > 0 ? -d->eta[i] : d->eta[i];
    *curv = 0;
    return d->eta[i] * (fabsl(x) - half / 2);
  }
  return D * x * x / 2;
}

/* one elliptic contact of dim rows */
static wide cone_rows(const check_data *d, int r, int dim, const wide *x, wide *f, wide *K) {
  const wide *c = d->cone + 6 * r, *D = d->D + r;
  wide T = 0, cost = 0, t[6] = {0};
  for (int k = 1; k < dim; k++) T += c[k] * x[k] * c[k] * x[k];
  T = sqrtl(T);
  for (int k = 0; k < dim; k++) {
    f[k] = 0;
    for (int i = 0; K && i < 6; i++) K[6 * k + i] = 0;
  }
  if (x[0] >= T) return 0;
  if (c[0] * x[0] + T <= 0) {
    for (int k = 0; k < dim; k++) {
      f[k] = -D[k] * x[k];
      cost += D[k] * x[k] * x[k] / 2;
      if (K) K[7 * k] = D[k];
    }
    return cost;
  }
  wide q = D[0] / (1 + c[0]), rho = x[0] - T;
  f[0] = -q * rho;
  for (int k = 1; k < dim; k++) t[k] = c[k] * c[k] * x[k] / T, f[k] = q * rho * t[k];
  if (K) {
    K[0] = q;
    for (int k = 1; k < dim; k++) {
      K[k] = K[6 * k] = -q * t[k];
      for (int i = 1; i < dim; i++) K[6 * k + i] = q * (t[k] * t[i] + -rho / T * ((i == k ? c[k] * c[k] : 0) - t[k] * t[i]));
    }
  }
  return q * rho * rho / 2;
}

wide check_forces(const check_data *d, const wide *x, wide *f, wide *K) {
  wide cost = 0, curv;
  for (int i = 0; i < d->m;) {
    if (d->kind[i] == CONE) {
      int dim = check_cone_rows(d, i);
      cost += cone_rows(d, i, dim, x + i, f + i, K ? K + 6 * i : NULL);
      i += dim;
    } else {
      cost += scalar_row(d, i, x[i], f + i, &curv);
      if (K) K[6 * i] = curv;
      i++;
    }
  }
  return cost;
}

wide check_residual(const check_data *d, const wide *a, wide *g, wide *x, wide *f, wide *K) {
  size_t n = (size_t)d->n;
  wide cost = 0;
  for (int i = 0; i < d->m; i++) {
    x[i] = -d->aref[i];
    for (int k = d->nzadr[i]; k < d->nzadr[i + 1]; k++) x[i] += d->J[(size_t)i * n + (size_t)d->nz[k]] * a[d->nz[k]];
  }
  cost = check_forces(d, x, f, K);
  for (size_t i = 0; i < n; i++) {
    g[i] = -d->tau[i];
    for (size_t j = 0; j < n; j++) g[i] += d->M[i * n + j] * a[j];
    cost += (a[i] - d->s[i]) * g[i] / 2; /* here g is M (a - s) */
  }
  for (int i = 0; i < d->m; i++)
    for (int k = d->nzadr[i]; k < d->nzadr[i + 1]; k++) g[d->nz[k]] -= d->J[(size_t)i * n + (size_t)d->nz[k]] * f[i];
  return cost;
}

/* ------------------------------------------------------------------ the report */

/* how far force f of row i is outside what its kind allows; of a contact at its first row */
static wide outside(const check_data *d, int i, const double *f) {
  if (d->kind[i] == FRICTION) return fabsl(f[i]) - d->eta[i];
  if (d->kind[i] == ONESIDED) return -f[i];
  if (d->kind[i] != CONE) return 0;
  wide s = 0;
  for (int k = 1, dim = check_cone_rows(d, i); k < dim; k++) {
    wide t = f[i + k] / d->cone[6 * i + k];
    s += t * t;
  }
  return sqrtl(s) - f[i];
}

static void judge_forces(const check_data *d, const wide *f, const double *given, sc_check_report *r) {
  wide size = 1, worst = -1;
  for (int i = 0; i < d->m; i++) size = fmaxl(size, fabsl(f[i]));
  for (int i = 0; i < d->m; i++) {
    wide error = fabsl(given[i] - f[i]) / size, out = outside(d, i, given) / size;
    r->force_error = fmax(r->force_error, (double)error);
    r->cone_error = fmax(r->cone_error, (double)out);
    if (fmaxl(error, out) > worst) worst = fmaxl(error, out), r->worst_row = i;
  }
}

int sc_check(const sc_problem *problem, const double *qacc, const double *efc_force, sc_check_report *report) {
  check_data d;
  if (!report || (!qacc && problem && problem->nv)) return sc_error_set(SC_ERROR_ARGUMENT, "sc_check: %s is NULL", report ? "qacc" : "report");
  int code = check_load(&d, problem, "sc_check");
  if (code) return code;
  code = check_finite("sc_check", "qacc", qacc, d.n);
  if (!code) code = check_finite("sc_check", "efc_force", efc_force, d.m);
  if (code) {
    check_free(&d);
    return code;
  }
  memset(report, 0, sizeof *report);
  report->worst_row = -1;
  wide *a = d.work, *g = a + d.n, *x = g + d.n, *f = x + d.m, trace = 0, square = 0;
  for (int i = 0; i < d.n; i++) {
    a[i] = qacc[i];
    trace += d.M[(size_t)i * (size_t)d.n + (size_t)i];
  }
  report->objective = (double)check_residual(&d, a, g, x, f, NULL);
  for (int i = 0; i < d.n; i++) square += g[i] * g[i];
  report->gradient = (double)sqrtl(square);
  report->scale = trace > 0 ? (double)(1 / trace) : 0;
  report->spd = d.n == 0 || d.L[0] > 0;
  if (efc_force) judge_forces(&d, f, efc_force, report);
  if (!isfinite(report->objective)) code = sc_error_set(SC_ERROR_VALUE, "sc_check: qacc is too large: the cost overflows");
  report->gap = report->qacc_bound = INFINITY;
  if (report->spd && !code) {
    check_lower(d.L, d.n, g);
    wide gap = 0;
    for (int i = 0; i < d.n; i++) gap += g[i] * g[i] / 2;
    report->gap = (double)gap;
    report->qacc_bound = gap == 0 ? 0 : (double)(sqrtl(2 * gap) / fmaxl(fmaxl(check_norm(&d, a), check_norm(&d, d.s)), 1e-150L));
  }
  check_free(&d);
  return code;
}

int sc_check_error(const sc_problem *problem, const double *qacc, const double *qacc_opt, const double *efc_force, const double *force_opt,
                   double *qacc_error, double *force_error) {
  check_data d;
  const wide tiny = 1e-150L;
  if ((!qacc || !qacc_opt) && problem && problem->nv) return sc_error_set(SC_ERROR_ARGUMENT, "sc_check_error: qacc or qacc_opt is NULL");
  int code = check_load(&d, problem, "sc_check_error");
  if (code) return code;
  wide *a = d.work, *e = a + d.n;
  for (int i = 0; i < d.n; i++) a[i] = qacc_opt[i], e[i] = (wide)qacc[i] - qacc_opt[i];
  if (qacc_error) *qacc_error = (double)(check_norm(&d, e) / fmaxl(fmaxl(check_norm(&d, a), check_norm(&d, d.s)), tiny));
  if (force_error) {
    wide size = 0, error = 0;
    for (int i = 0; efc_force && force_opt && i < d.m; i++) {
      wide df = (wide)efc_force[i] - force_opt[i];
      size += (wide)force_opt[i] * force_opt[i] / d.D[i], error += df * df / d.D[i];
    }
    *force_error = (double)(sqrtl(error) / fmaxl(sqrtl(size), tiny));
  }
  check_free(&d);
  return SC_OK;
}
