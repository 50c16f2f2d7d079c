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
} sc_backend;

struct sc_context {
  const sc_backend *backend;
  sc_pool *pool;
  sc_device *device;        /* NULL: the processor */
};

#endif
