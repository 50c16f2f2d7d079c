/* The processor's peak, in the kernels' own vectors. */
#include "context.h"
#include "solver.h"

#include <math.h>

#define ROUNDS 20000 /* of one piece of work: about 0.1 ms */

static void run_piece(void *arg, int i, int worker) {
  const sc_kernels *kernels = arg;
  (void)i, (void)worker;
  kernels->peak(ROUNDS);
}

int sc_context_peak(sc_context *context, int precision, double seconds, double *flops) {
  static const char call[] = "sc_context_peak";
  if (!context || !flops) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, context ? "flops" : "context");
  if (precision < 0 || precision >= SC_NPRECISION)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: precision is %d, not in 0 .. %d", call, precision, SC_NPRECISION - 1);
  if (!(seconds > 0 && isfinite(seconds)))
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: seconds is %g, not finite and > 0", call, seconds);
  sc_kernels kernels = precision == SC_F64 ? *context->backend->f64 : *context->backend->f32;
  double piece = 2.0 * ROUNDS * kernels.chains * kernels.lanes, done = 0, passed = 0, began;
  int pieces = 4 * sc_context_threads(context);
  sc_pool_each(context->pool, pieces, run_piece, &kernels); /* threads awake, clocks up */
  for (began = sc_now(); passed < seconds; passed = sc_now() - began) {
    sc_pool_each(context->pool, pieces, run_piece, &kernels);
    done += pieces * piece;
  }
  *flops = done / passed;
  return SC_OK;
}
