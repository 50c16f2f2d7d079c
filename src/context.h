/* Device and threads of a context, for the library's own files. */
#ifndef SC_CONTEXT_H
#define SC_CONTEXT_H

#include "../kernels/problem.h"
#include "device.h"
#include "pool.h"
#include "softcon.h"

/* The kernels of one instruction set, float with as many lanes as double or twice as many; or a device, for which packs of
 * one lane are made. */
typedef struct sc_backend {
  const char *name;
  int (*runs)(void);        /* whether this processor has the instructions, or there is a device */
  const sc_kernels *f64, *f32;
  const sc_kernels *f64x1, *f32x1; /* of one lane, for large systems */
  const sc_device_backend *device; /* NULL: the processor */
  int rounding;             /* backends with the same number give the same bits */
} sc_backend;

/* The fastest of n > 0 of the processor on a small batch, the first unless another is clearly faster or without memory. Takes
 * a few milliseconds. fastest.c */
const sc_backend *sc_backend_fastest(const sc_backend *const *candidates, int n);

struct sc_context {
  const sc_backend *backend;
  sc_pool *pool;
  sc_device *device;        /* NULL: the processor */
};

#endif
