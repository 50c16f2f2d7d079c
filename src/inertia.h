/* The sparse factor of one environment's inertia. */
#ifndef SC_INERTIA_H
#define SC_INERTIA_H

#include "softcon.h"

typedef struct sc_inertia {
  int n;
  int spd;                  /* 0: M is not positive definite, and there is no factor */
  size_t *adr, *end;        /* n each: entries of a row, the diagonal first, then columns descending */
  int *col;
  double *value;
  void *work;               /* 3 n numbers */
} sc_inertia;

/* The factor of a problem's M, dense or sparse; memory follows its pattern. 0: no memory, nothing to free. */
int sc_inertia_factor(sc_inertia *f, const sc_problem *problem);
void sc_inertia_free(sc_inertia *f);

/* v' M^-1 v for a sparse v; 1 where M is not positive definite */
double sc_inertia_inverse(sc_inertia *f, int nnz, const int *col, const double *value);

#endif
