/* The public side of the arrays on a device (softcon_cuda.h): whether a call is legal; the rest is the backend's. */
#include "softcon_cuda.h"
#include "solver.h"

void sc_cuda_arrays_init(sc_cuda_arrays *arrays) {
  memset(arrays, 0, sizeof *arrays);
  arrays->size = sizeof *arrays;
}

static int check_solver(const char *call, const sc_solver *s) {
  if (!s) return sc_error_set(SC_ERROR_ARGUMENT, "%s: solver is NULL", call);
  if (!s->context->device)
    return sc_error_set(SC_ERROR_UNSUPPORTED, "%s: the backend is \"%s\", not \"cuda\"", call, s->context->backend->name);
  if (!s->packed || !s->memory) return sc_error_set(SC_ERROR_ARGUMENT, "%s: nothing is packed: call sc_solver_pack first", call);
  return SC_OK;
}

static int check(const char *call, const sc_solver *s, const sc_cuda_arrays *a) {
  int code = check_solver(call, s);
  if (code) return code;
  if (!a) return sc_error_set(SC_ERROR_ARGUMENT, "%s: arrays is NULL", call);
  if (a->size != sizeof *a)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: arrays.size is %zu, not %zu: use sc_cuda_arrays_init", call, a->size, sizeof *a);
  return SC_OK;
}

int sc_cuda_arrays_get(const sc_solver *s, sc_cuda_arrays *arrays) {
  if (arrays) sc_cuda_arrays_init(arrays);
  int code = check("sc_cuda_arrays_get", s, arrays);
  if (code) return code;
  s->context->backend->device->get_arrays(s->memory, arrays);
  arrays->nenv = s->nenv, arrays->nv_offset = s->r.nv_offset, arrays->efc_offset = s->r.efc_offset;
  return SC_OK;
}

int sc_cuda_arrays_set(sc_solver *s, const sc_cuda_arrays *arrays) {
  int code = check("sc_cuda_arrays_set", s, arrays);
  return code ? code : s->context->backend->device->set_arrays(s->memory, arrays);
}

int sc_cuda_rows_eval(sc_solver *s) {
  int code = check_solver("sc_cuda_rows_eval", s);
  return code ? code : s->context->backend->device->evaluate_rows(s->memory);
}

void *sc_cuda_stream(const sc_context *context) {
  return context && context->device ? context->backend->device->stream(context->device) : NULL;
}
