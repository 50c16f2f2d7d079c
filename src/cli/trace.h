/* A solve, iterate by iterate: it is done again with 0, 1, 2, ... iterations, and since the solver is deterministic these are
 * the iterates of the whole solve. */
#ifndef SC_CLI_TRACE_H
#define SC_CLI_TRACE_H

#include "softcon.h"

#include <cJSON.h>

typedef struct trace_step {
  double cost, gradient, gap, step; /* of the iterate; scaled |gradient|; |a - a before|_M */
  int changes;                      /* rows whose zone differs from the iterate before */
} trace_step;

typedef struct trace {
  trace_step *steps;
  int n; /* iterates 0 .. n-1; not all of more than TRACE_MOST iterations */
} trace;

#define TRACE_MOST 200

/* The solve of environment 0 of a batch, which took so many iterations and has an answer. An exit status. */
int trace_solve(trace *t, sc_context *context, const sc_batch *batch, const sc_solver_options *options, int iterations);
void trace_free(trace *t);

void trace_table(const trace *t);
void trace_json(const trace *t, const char *name, cJSON *object);

#endif
