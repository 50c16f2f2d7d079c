/* A problem as the independent verifier sees it: dense, extended precision, nothing shared with kernels/. */
#ifndef SC_CHECK_H
#define SC_CHECK_H

#include "softcon.h"

typedef long double wide;

typedef struct check_data {
  int n, m;                 /* nv, nefc */
  wide *M;                  /* n x n */
  wide *L;                  /* n x n, its Cholesky factor, lower */
  wide *tau, *s;            /* n: qfrc_smooth, qacc_smooth */
  wide *J;                  /* m x n */
  int *nz, *nzadr;          /* columns of row i that are not zero: nz[nzadr[i]] .. nz[nzadr[i+1]-1] */
  wide *D, *aref, *eta;     /* m */
  int *kind;                /* m: check_kind; of an elliptic contact, its first row says CONE, the others CONE_REST */
  wide *cone;               /* m x 6: of a contact's first row, mu^2 and the coefficients c_1 .. c_5 */
  wide *work;               /* n n + 4 n + 10 m + 8 */
  void *block;
} check_data;

typedef enum { EQUALITY, FRICTION, ONESIDED, CONE, CONE_REST } check_kind;

/* Read a problem in the ready form; call: the caller's name, for errors. */
int check_load(check_data *data, const sc_problem *problem, const char *call);
void check_free(check_data *data);

/* rows of the contact that begins at row r: those that follow it as CONE_REST, and itself */
int check_cone_rows(const check_data *data, int r);

/* forces f and cost at the residual x; K: m x 6 curvature, row i of a contact in K[6 i ..], scalar rows in K[6 i]; NULL */
wide check_forces(const check_data *data, const wide *x, wide *f, wide *K);

/* g = M a - tau - J' f(J a - aref), with x, f, K left behind; returns the cost P(a) */
wide check_residual(const check_data *data, const wide *a, wide *g, wide *x, wide *f, wide *K);

/* Cholesky of a dense n x n matrix in place, lower; 0: not positive definite */
int check_factor(wide *A, int n);
void check_lower(const wide *L, int n, wide *v); /* v <- L^-1 v */
void check_upper(const wide *L, int n, wide *v); /* v <- L^-T v */

wide check_norm(const check_data *data, const wide *v); /* |v|_M */

#endif
