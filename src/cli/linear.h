/* Linear algebra of one small problem, dense and plain: it is done once, and shares no code with the solver. Matrices are
 * n x n, row-major, n = nv. */
#ifndef SC_CLI_LINEAR_H
#define SC_CLI_LINEAR_H

#include "softcon.h"

void linear_M(const sc_problem *p, double *M);
void linear_row(const sc_problem *p, int i, double *row); /* row i of J */

/* L of A = L L' in the lower triangle of A; 0: not positive definite */
int linear_factor(double *A, size_t n);
void linear_forward(const double *L, size_t n, double *x);  /* x <- L^-1 x */
void linear_backward(const double *L, size_t n, double *x); /* x <- L^-T x */
double linear_norm(const double *x, size_t n);

/* J_i M^-1 J_i' of every row from M's factor L; y: n numbers */
void linear_A(const sc_problem *p, const double *L, double *A, double *y);

/* H = M + J' K J, K the curvature of the rows' cost at the answer qacc with these states; y: 6 n numbers */
void linear_hessian(const sc_problem *p, const double *qacc, const uint8_t *state, double *H, double *y);

/* Condition number, estimated by power iteration, from A and its factor L; y: 2 n numbers */
double linear_condition(const double *A, const double *L, size_t n, double *y);

/* What elimination leaves of each dof's diagonal entry, relative to it, leaves of the tree first: near 0 where the dofs after
 * it determine it all but fully. work: n x n. Returns the first dof with nothing left (A is not positive definite, the
 * ratios of it and of the dofs before it are 0), or -1. */
int linear_pivots(const double *A, size_t n, double *ratio, double *work);

/* 1/trace M, as in the solver's tolerance; NaN without dofs */
double linear_scale(const sc_problem *p);

#endif
