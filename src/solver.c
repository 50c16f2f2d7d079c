/* A solver: create, destroy, answers. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int check_options(const sc_solver_options *o) {
#define CALL "sc_solver_create: options."
  if (o->size != sizeof *o)
    return sc_error_set(SC_ERROR_ARGUMENT, CALL "size is %zu, not %zu: use sc_solver_options_init", o->size, sizeof *o);
  if (o->method < 0 || o->method >= SC_NMETHOD) return sc_error_set(SC_ERROR_ARGUMENT, CALL "method is %d, not in 0 .. %d", o->method, SC_NMETHOD - 1);
  if (o->precision < 0 || o->precision >= SC_NPRECISION)
    return sc_error_set(SC_ERROR_ARGUMENT, CALL "precision is %d, not in 0 .. %d", o->precision, SC_NPRECISION - 1);
  if (o->iterations < 0) return sc_error_set(SC_ERROR_ARGUMENT, CALL "iterations is %d, not >= 0", o->iterations);
  if (o->ls_iterations < 1) return sc_error_set(SC_ERROR_ARGUMENT, CALL "ls_iterations is %d, not >= 1", o->ls_iterations);
  if (!(o->tolerance >= 0) || isinf(o->tolerance)) return sc_error_set(SC_ERROR_ARGUMENT, CALL "tolerance is %g, not finite and >= 0", o->tolerance);
  if (!(o->ls_tolerance > 0 && o->ls_tolerance < 1))
    return sc_error_set(SC_ERROR_ARGUMENT, CALL "ls_tolerance is %g, not in (0, 1)", o->ls_tolerance);
  if (o->noslip_iterations < 0) return sc_error_set(SC_ERROR_ARGUMENT, CALL "noslip_iterations is %d, not >= 0", o->noslip_iterations);
  if (!(o->noslip_tolerance >= 0) || isinf(o->noslip_tolerance))
    return sc_error_set(SC_ERROR_ARGUMENT, CALL "noslip_tolerance is %g, not finite and >= 0", o->noslip_tolerance);
#undef CALL
  return SC_OK;
}

int sc_solver_create(sc_context *context, const sc_solver_options *options, sc_solver **out) {
  sc_solver_options given;
  if (!out) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_create: out is NULL");
  *out = NULL;
  if (!context) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_create: context is NULL");
  if (!options) {
    sc_solver_options_init(&given);
    options = &given;
  }
  int code = check_options(options);
  if (code) return code;
  if (context->device && options->precision == SC_MIXED)
    return sc_error_set(SC_ERROR_UNSUPPORTED, "sc_solver_create: backend \"%s\" has no mixed precision", context->backend->name);
  sc_solver *s = calloc(1, sizeof *s);
  sc_worker *workers = calloc((size_t)sc_context_threads(context), sizeof *workers);
  if (!s || !workers) {
    free(s);
    free(workers);
    return sc_error_set(SC_ERROR_MEMORY, "sc_solver_create: no memory");
  }
  int f32 = options->precision != SC_F64;
  s->context = context, s->options = *options, s->workers = workers;
  s->iterate = f32 ? context->backend->f32 : context->backend->f64;
  s->judge = context->backend->f64;
  s->large_iterate = f32 ? context->backend->f32x1 : context->backend->f64x1;
  s->large_judge = context->backend->f64x1;
  s->lanes = s->judge->lanes;
  s->parts = s->iterate->lanes / s->lanes;
  *out = s;
  return SC_OK;
}

void sc_solver_destroy(sc_solver *s) {
  if (!s) return;
  for (int i = 0; i < s->nslot; i++) free(s->slots[i].block), free(s->slots[i].dual.data), free(s->slots[i].square.data);
  free(s->slots);
  for (int i = 0; i < sc_context_threads(s->context); i++) {
    sc_packer_free(&s->workers[i].packer);
    free(s->workers[i].slot.block);
    free(s->workers[i].slot.dual.data);
    free(s->workers[i].slot.square.data);
    free(s->workers[i].block);
  }
  free(s->workers);
  if (s->memory) s->context->backend->device->forget(s->memory);
  free(s->r.block);
  free(s->keys.data);
  free(s);
}

double sc_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int sc_solver_result(const sc_solver *s, sc_result *out) {
  if (!s || !out) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_result: %s is NULL", s ? "result" : "solver");
  if (!s->packed) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_result: nothing is packed");
  if (s->memory) {
    int code = s->context->backend->device->download(s->memory);
    if (code) return code;
  }
  const sc_results *r = &s->r;
  *out = (sc_result){.nenv = s->nenv, .nv_offset = r->nv_offset, .efc_offset = r->efc_offset, .qacc = r->qacc,
                     .qfrc_constraint = r->qfrc_constraint, .efc_force = r->efc_force, .efc_state = r->efc_state,
                     .status = r->status, .flags = r->flags, .iterations = r->iterations, .gap = r->gap,
                     .gap_floor = r->gap_floor, .qacc_bound = r->qacc_bound, .objective = r->objective,
                     .rows_needed = r->rows_needed, .contacts_needed = r->contacts_needed};
  return SC_OK;
}

int sc_solver_phases(const sc_solver *s, sc_phases *out) {
  if (!s || !out) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_phases: %s is NULL", s ? "phases" : "solver");
  memset(out, 0, sizeof *out);
  for (int i = 0; i < sc_context_threads(s->context); i++) {
    const sc_phases *p = &s->workers[i].phases;
    out->pack += p->pack, out->solve += p->solve, out->certificate += p->certificate, out->unpack += p->unpack;
  }
  return SC_OK;
}
