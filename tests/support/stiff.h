/* Problems in the ready form made stiff. */
#ifndef TEST_STIFF_H
#define TEST_STIFF_H

#include "problems.h"

#define MOST_STIFF_STEPS 80 /* of Newton's method, however stiff: without softened rows they are hundreds */

/* D_r = d/(1 - d) / A_rr, A_rr of the diagonal of M; impedance d */
static inline double row_D(const test_problem *q, int r, double d) {
  int n = q->p.nv;
  double A = 0;
  for (int i = 0; i < n; i++) A += q->J[r * n + i] * q->J[r * n + i] / q->M[i * n + i];
  return d / (1 - d) / fmax(A, 1e-3);
}

/* the other rows of each contact from its first one and its friction: D_j = D_0 c_j^2 / mu^2 */
static inline void follow_first_rows(test_problem *q) {
  for (int r = 0, contact = 0; r < q->p.nefc;) {
    int elliptic = q->type[r] == SC_CONTACT_ELLIPTIC, pyramid = q->type[r] == SC_CONTACT_PYRAMIDAL;
    int rows = elliptic ? q->dim[contact] : pyramid ? 2 * (q->dim[contact] - 1) : 1;
    for (int k = 1; k < rows; k++) {
      double c = fmax(1e-5, q->friction[5 * contact + k - 1]) / q->mu[contact];
      q->D[r + k] = q->D[r] * (elliptic ? c * c : 1);
    }
    r += rows;
    contact += elliptic || pyramid;
  }
}

/* rows of one impedance, mu of contacts by impratio; follow_first_rows comes after */
static inline void make_stiff(test_problem *q, double impedance, double impratio) {
  for (int k = 0; k < q->p.ncon; k++) q->mu[k] = q->friction[5 * k] / sqrt(impratio);
  for (int r = 0; r < q->p.nefc; r++) q->D[r] = row_D(q, r, impedance);
}

#endif
