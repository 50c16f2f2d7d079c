/* Device and threads of a context, for the library's own files. */
#ifndef SC_CONTEXT_H
#define SC_CONTEXT_H

#include "../kernels/problem.h"
#include "pool.h"
#include "softcon.h"

/* The kernels of one instruction set. Float has as many lanes as double or twice as many. */
typedef struct sc_backend {
  const char *name;
  int (*runs)(void);        /* whether this processor has the instructions */
  const sc_kernels *f64, *f32;
  const sc_kernels *f64x1, *f32x1; /* of one lane, for large systems */
} sc_backend;

struct sc_context {
  const sc_backend *backend;
  sc_pool *pool;
};

#endif
