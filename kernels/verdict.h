/* The word of an environment, from what the certificate says and why the iteration ended. For host and device. */
#ifndef SC_VERDICT_H
#define SC_VERDICT_H

#include "problem.h"
#include "softcon.h"

#include <math.h>

/* The certificate's numbers of one environment. */
typedef struct sc_certificate {
  double gap, floor, bound, objective;
  int32_t solved;           /* it holds */
} sc_certificate;

/* end: SC_END_..., of the iteration */
SC_BOTH static inline int sc_verdict(const sc_certificate *c, int end) {
  if (!isfinite(c->gap) || !isfinite(c->floor) || !isfinite(c->objective)) return SC_NOT_FINITE;
  if (c->solved) return SC_SOLVED;
  return end == SC_END_LIMIT ? SC_ITERATION_LIMIT : end == SC_END_STALLED ? SC_STALLED : SC_INACCURATE;
}

#endif
