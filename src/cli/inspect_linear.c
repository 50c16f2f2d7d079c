/* Linear algebra of one small problem, dense and plain: it is done once, and shares no code with the solver. */
#include "inspect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ dense */

static void dense_M(const sc_problem *p, double *M) {
  size_t n = (size_t)p->nv;
  memset(M, 0, n * n * sizeof *M);
  for (int i = 0; i < p->nv; i++)
    for (int k = p->M_rowadr[i]; k < p->M_rowadr[i] + p->M_rownnz[i]; k++) {
      size_t r = (size_t)i, c = (size_t)p->M_colind[k];
      M[r * n + c] = M[c * n + r] = p->M[k];
    }
}

static void dense_row(const sc_problem *p, int i, double *row) {
  memset(row, 0, (size_t)p->nv * sizeof *row);
  for (int k = p->J_rowadr[i]; k < p->J_rowadr[i] + p->J_rownnz[i]; k++) row[p->J_colind[k]] = p->efc_J[k];
}

/* L of A = L L' in the lower triangle of A; 0: not positive definite */
static int factor(double *A, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double s = A[i * n + j];
      for (size_t k = 0; k < j; k++) s -= A[i * n + k] * A[j * n + k];
      if (i == j && !(s > 0)) return 0;
      A[i * n + j] = i == j ? sqrt(s) : s / A[j * n + j];
    }
  return 1;
}

static void forward(const double *L, size_t n, double *x) {
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) x[i] -= L[i * n + k] * x[k];
    x[i] /= L[i * n + i];
  }
}

static void backward(const double *L, size_t n, double *x) {
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; k++) x[i] -= L[k * n + i] * x[k];
    x[i] /= L[i * n + i];
  }
}

static double norm(const double *x, size_t n) {
  double s = 0;
  for (size_t i = 0; i < n; i++) s += x[i] * x[i];
  return sqrt(s);
}

/* ------------------------------------------------------------------ A */

/* M is factored in L */
static void exact_A(const inspection *s, const double *L, double *y) {
  for (int i = 0; i < s->nefc; i++) {
    dense_row(&s->problem, i, y);
    forward(L, (size_t)s->nv, y);
    double length = norm(y, (size_t)s->nv);
    s->A[i] = length * length;
  }
}

/* ------------------------------------------------------------------ M + J'KJ and its condition */

/* H += weight J_r J_q', both ways */
static void add_product(double *H, size_t n, double weight, const double *r, const double *q) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n && r[i] != 0; j++) H[i * n + j] += weight * r[i] * q[j];
}

/* Curvature of a sliding elliptic contact by its residuals x (dim): with U_0 = mu x_0, U_j = friction_j x_j, N = U_0,
 * T = |U_1 ..|, the cost is D_m/2 (N - mu T)^2 with D_m = D_0 / (mu^2 (1 + mu^2)). */
static void cone_curvature(int dim, double D0, double mu, const double *friction, const double *x, double C[36]) {
  double scale[6], U[6], T = 0, Dm = D0 / (mu * mu * (1 + mu * mu));
  for (int k = 0; k < dim; k++) {
    scale[k] = k ? friction[k - 1] : mu;
    U[k] = scale[k] * x[k];
    if (k) T += U[k] * U[k];
  }
  T = fmax(sqrt(T), 1e-15);
  double excess = U[0] - mu * T;
  for (int i = 0; i < dim; i++)
    for (int j = 0; j < dim; j++) {
      double h;
      if (!i && !j)
        h = Dm;
      else if (!i || !j)
        h = -mu * Dm * U[i + j] / T;
      else
        h = mu * mu * Dm * U[i] * U[j] / (T * T) - mu * Dm * excess / T * ((i == j) - U[i] * U[j] / (T * T));
      C[6 * i + j] = h * scale[i] * scale[j];
    }
}

typedef struct {
  double *H, *y; /* n x n; 7 n */
  size_t n;
} workspace;

static double residual(const inspection *s, int row, const double *J, const double *qacc) {
  double x = -s->problem.efc_aref[row];
  for (int i = 0; i < s->nv; i++) x += J[i] * qacc[i];
  return x;
}

/* an elliptic contact from row r on */
static void add_contact(const inspection *s, workspace *w, int r, int contact, const double *qacc) {
  const sc_problem *p = &s->problem;
  int dim = p->contact_dim[contact];
  double x[6], C[36];
  for (int k = 0; k < dim; k++) {
    dense_row(p, r + k, w->y + w->n * (size_t)k);
    x[k] = residual(s, r + k, w->y + w->n * (size_t)k, qacc);
  }
  cone_curvature(dim, p->efc_D[r], p->contact_mu[contact], p->contact_friction + 5 * contact, x, C);
  for (int i = 0; i < dim; i++)
    for (int j = 0; j < dim; j++)
      add_product(w->H, w->n, C[6 * i + j], w->y + w->n * (size_t)i, w->y + w->n * (size_t)j);
}

/* H += J' K J, K the curvature of the rows' cost at the answer */
static void add_rows(const inspection *s, workspace *w) {
  const sc_problem *p = &s->problem;
  const sc_result *result = &s->solver.result;
  for (int r = 0, contact = 0, rows; r < s->nefc; r += rows) {
    int type = p->efc_type[r], cone = type == SC_CONTACT_ELLIPTIC || type == SC_CONTACT_PYRAMIDAL;
    int dim = cone ? p->contact_dim[contact] : 1;
    rows = type == SC_CONTACT_PYRAMIDAL ? 2 * (dim - 1) : dim;
    if (type == SC_CONTACT_ELLIPTIC && result->efc_state[r] == SC_CONE)
      add_contact(s, w, r, contact, result->qacc);
    else
      for (int k = 0; k < rows; k++) {
        if (result->efc_state[r + k] != SC_QUADRATIC) continue;
        dense_row(p, r + k, w->y);
        add_product(w->H, w->n, p->efc_D[r + k], w->y, w->y);
      }
    contact += cone;
  }
}

#define ROUNDS 300

/* Largest eigenvalue of H, or of its inverse from the factor L, by power iteration. */
static double largest(const double *H, const double *L, size_t n, double *x) {
  double *y = x + n, before = 0, now = 0;
  for (size_t i = 0; i < n; i++) x[i] = 1 + 0.3 * sin(1.7 * (double)i);
  for (int round = 0; round < ROUNDS; round++) {
    double length = norm(x, n);
    for (size_t i = 0; i < n; i++) x[i] /= length, y[i] = x[i];
    if (L) {
      forward(L, n, x);
      backward(L, n, x);
    } else {
      for (size_t i = 0; i < n; i++) {
        x[i] = 0;
        for (size_t j = 0; j < n; j++) x[i] += H[i * n + j] * y[j];
      }
    }
    now = norm(x, n);
    if (fabs(now - before) <= 1e-5 * now) break;
    before = now;
  }
  return now;
}

int inspect_linear(inspection *s) {
  size_t n = (size_t)s->nv;
  s->condition = (double)NAN;
  for (int i = 0; i < s->nefc; i++) s->A[i] = (double)NAN;
  if (!n || s->rows.bad || s->status == SC_BAD_INPUT) return 0;
  double *M = malloc((2 * n * n + 7 * n) * sizeof *M);
  if (!M) return cli_fail_with(EXIT_INTERNAL, "no memory for a matrix of %zu x %zu", n, n);
  workspace w = {.H = M + n * n, .y = M + 2 * n * n, .n = n};
  dense_M(&s->problem, w.H);
  memcpy(M, w.H, n * n * sizeof *M);
  if (factor(M, n)) {
    exact_A(s, M, w.y);
    if (isfinite(s->solver.result.qacc[0])) {
      add_rows(s, &w);
      memcpy(M, w.H, n * n * sizeof *M);
      double top = largest(w.H, NULL, n, w.y);
      if (factor(M, n)) s->condition = top * largest(NULL, M, n, w.y);
    }
  }
  free(M);
  return 0;
}
