#include "linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ dense */

void linear_M(const sc_problem *p, double *M) {
  size_t n = (size_t)p->nv;
  memset(M, 0, n * n * sizeof *M);
  for (int i = 0; i < p->nv; i++)
    for (int k = p->M_rowadr[i]; k < p->M_rowadr[i] + p->M_rownnz[i]; k++) {
      size_t r = (size_t)i, c = (size_t)p->M_colind[k];
      M[r * n + c] = M[c * n + r] = p->M[k];
    }
}

void linear_row(const sc_problem *p, int i, double *row) {
  memset(row, 0, (size_t)p->nv * sizeof *row);
  for (int k = p->J_rowadr[i]; k < p->J_rowadr[i] + p->J_rownnz[i]; k++) row[p->J_colind[k]] = p->efc_J[k];
}

int linear_factor(double *A, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double s = A[i * n + j];
      for (size_t k = 0; k < j; k++) s -= A[i * n + k] * A[j * n + k];
      if (i == j && !(s > 0)) return 0;
      A[i * n + j] = i == j ? sqrt(s) : s / A[j * n + j];
    }
  return 1;
}

void linear_forward(const double *L, size_t n, double *x) {
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) x[i] -= L[i * n + k] * x[k];
    x[i] /= L[i * n + i];
  }
}

void linear_backward(const double *L, size_t n, double *x) {
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; k++) x[i] -= L[k * n + i] * x[k];
    x[i] /= L[i * n + i];
  }
}

double linear_norm(const double *x, size_t n) {
  double s = 0;
  for (size_t i = 0; i < n; i++) s += x[i] * x[i];
  return sqrt(s);
}

/* ------------------------------------------------------------------ A */

void linear_A(const sc_problem *p, const double *L, double *A, double *y) {
  for (int i = 0; i < p->nefc; i++) {
    linear_row(p, i, y);
    linear_forward(L, (size_t)p->nv, y);
    double length = linear_norm(y, (size_t)p->nv);
    A[i] = length * length;
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

static double residual(const sc_problem *p, int row, const double *J, const double *qacc) {
  double x = -p->efc_aref[row];
  for (int i = 0; i < p->nv; i++) x += J[i] * qacc[i];
  return x;
}

/* an elliptic contact from row r on */
static void add_contact(const sc_problem *p, int r, int contact, const double *qacc, double *H, double *y) {
  int dim = p->contact_dim[contact];
  size_t n = (size_t)p->nv;
  double x[6], C[36];
  for (int k = 0; k < dim; k++) {
    linear_row(p, r + k, y + n * (size_t)k);
    x[k] = residual(p, r + k, y + n * (size_t)k, qacc);
  }
  cone_curvature(dim, p->efc_D[r], p->contact_mu[contact], p->contact_friction + 5 * contact, x, C);
  for (int i = 0; i < dim; i++)
    for (int j = 0; j < dim; j++) add_product(H, n, C[6 * i + j], y + n * (size_t)i, y + n * (size_t)j);
}

void linear_hessian(const sc_problem *p, const double *qacc, const uint8_t *state, double *H, double *y) {
  linear_M(p, H);
  for (int r = 0, contact = 0, rows; r < p->nefc; r += rows) {
    int type = p->efc_type[r], cone = type == SC_CONTACT_ELLIPTIC || type == SC_CONTACT_PYRAMIDAL;
    int dim = cone ? p->contact_dim[contact] : 1;
    rows = type == SC_CONTACT_PYRAMIDAL ? 2 * (dim - 1) : dim;
    if (type == SC_CONTACT_ELLIPTIC && state[r] == SC_CONE)
      add_contact(p, r, contact, qacc, H, y);
    else
      for (int k = 0; k < rows; k++) {
        if (state[r + k] != SC_QUADRATIC) continue;
        linear_row(p, r + k, y);
        add_product(H, (size_t)p->nv, p->efc_D[r + k], y, y);
      }
    contact += cone;
  }
}

/* ------------------------------------------------------------------ condition and pivots */

#define ROUNDS 300

/* Largest eigenvalue of H, or of its inverse from the factor L, by power iteration. */
static double largest(const double *H, const double *L, size_t n, double *x) {
  double *y = x + n, before = 0, now = 0;
  for (size_t i = 0; i < n; i++) x[i] = 1 + 0.3 * sin(1.7 * (double)i);
  for (int round = 0; round < ROUNDS; round++) {
    double length = linear_norm(x, n);
    for (size_t i = 0; i < n; i++) x[i] /= length, y[i] = x[i];
    if (L) {
      linear_forward(L, n, x);
      linear_backward(L, n, x);
    } else {
      for (size_t i = 0; i < n; i++) {
        x[i] = 0;
        for (size_t j = 0; j < n; j++) x[i] += H[i * n + j] * y[j];
      }
    }
    now = linear_norm(x, n);
    if (fabs(now - before) <= 1e-5 * now) break;
    before = now;
  }
  return now;
}

double linear_condition(const double *A, const double *L, size_t n, double *y) {
  return largest(A, NULL, n, y) * largest(NULL, L, n, y);
}

int linear_pivots(const double *A, size_t n, double *ratio, double *work) {
  memcpy(work, A, n * n * sizeof *work);
  memset(ratio, 0, n * sizeof *ratio);
  for (size_t i = n; i-- > 0;) {
    double pivot = work[i * n + i];
    if (!(pivot > 0) || !(A[i * n + i] > 0)) return (int)i;
    ratio[i] = pivot / A[i * n + i];
    for (size_t j = 0; j < i; j++) {
      double factor = work[i * n + j] / pivot;
      for (size_t k = 0; k <= j && factor != 0; k++) work[j * n + k] -= factor * work[i * n + k];
    }
  }
  return -1;
}

double linear_scale(const sc_problem *p) {
  double trace = 0;
  for (int i = 0; i < p->nv; i++)
    for (int k = p->M_rowadr[i]; k < p->M_rowadr[i] + p->M_rownnz[i]; k++)
      if (p->M_colind[k] == i) trace += p->M[k];
  return trace > 0 ? 1 / trace : (double)NAN;
}
