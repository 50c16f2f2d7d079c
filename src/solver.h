/* A solver: packs, a workspace per worker, results. For its own files:
 *   solver.c create, destroy, answers;  solver_memory.c;  solver_pack.c from batch to packs;  solver_run.c from packs to results;
 *   solver_refine.c mixed precision;  solver_inverse.c from accelerations to forces.
 * sc_solver_pack keeps all packs; sc_solve makes, solves and forgets one after the other in the memory of its worker. */
#ifndef SC_SOLVER_H
#define SC_SOLVER_H

#include "pack.h"
#include "results.h"

#include <stdatomic.h>

/* One worker's scratch: the iteration's, and in float the certificate's beside it, in mixed precision one for each part. */
typedef struct {
  sc_packer packer;
  sc_slot slot;             /* the pack at hand of sc_solve */
  sc_work iterate, judge[SC_MAX_PARTS]; /* the same memory as far as they are not needed at once */
  void *block;
  size_t capacity;
  sc_phases phases;
} sc_worker;

/* relative to the largest force; below it forces are as good as qacc gives them */
#define FORCE_NOISE_F64 1e-10
#define FORCE_NOISE_F32 2e-5

struct sc_solver {
  sc_context *context;
  sc_solver_options options;
  const sc_kernels *iterate, *judge;
  const sc_kernels *large_iterate, *large_judge; /* one lane each */
  int lanes, parts;         /* lanes of the judge; how many such parts an iterating pack has */
  int nenv;
  int packed;               /* the results are those of a batch, ... */
  int solved;               /* and finished by sc_solve, which keeps no packs; */
  int ran;                  /* sc_solver_run has run those that are packed */
  const sc_batch *batch;    /* during sc_solver_pack and sc_solve only */
  sc_slot *slots;
  int npack, nslot;
  sc_worker *workers;
  sc_results r;
  sc_buffer keys;           /* of the environments while they are put in order */
  atomic_int failed;        /* a worker found no memory: one more than the environment it was for, the first of its pack */
  sc_device_memory *memory; /* on the context's device */
};

/* Seconds of a clock that never goes back. */
double sc_now(void);

/* Workspaces of all workers for the largest of the packs; one worker's for this pack. 0: no memory. */
int sc_workers_resize(sc_solver *s, int npack);
int sc_worker_fit(const sc_solver *s, sc_worker *w, const sc_slot *slot);

/* Begin with a batch: results for its environments, NaN for bad ones or for all, and their order. The number of packs; -1: no
 * memory. solver_pack.c */
int sc_solver_begin(sc_solver *s, const sc_batch *batch, int all);

/* Have what pack i of so many will be made from fetched. solver_pack.c */
void sc_pack_fetch(const sc_solver *s, int i, int packs);

/* Make pack i in `slot`, all but what sc_slot_prepare does. 0: no memory. solver_pack.c */
int sc_slot_fill(sc_solver *s, sc_worker *w, sc_slot *slot, int i);

/* There was no memory for this slot; and the error that says so. solver_pack.c */
void sc_solver_failed(sc_solver *s, const sc_slot *slot);
int sc_solver_no_memory(const sc_solver *s, const sc_batch *batch, const char *call);

/* Factor M and complete the vectors; in float, then round. solver_pack.c */
void sc_slot_prepare(const sc_solver *s, sc_worker *w, sc_slot *slot);

/* whether the dual problem (kernels/dual.inl) is asked for */
static inline int sc_needs_dual(const sc_solver *s) {
  return s->options.method == SC_PGS || s->options.method == SC_DIRECT || s->options.noslip_iterations > 0;
}

/* SC_ERROR_UNSUPPORTED names the first row that the method does not take. solver_pack.c */
int sc_solver_takes(const char *call, const sc_solver *s, const sc_batch *batch);

static inline const sc_kernels *sc_slot_iterate(const sc_solver *s, const sc_slot *slot) { return slot->large ? s->large_iterate : s->iterate; }
static inline const sc_kernels *sc_slot_judge(const sc_solver *s, const sc_slot *slot) { return slot->large ? s->large_judge : s->judge; }
/* Part k of the answer in double, where the judge reads it. solver_run.c */
void sc_widen(const sc_solver *s, const sc_slot *slot, int k, const sc_work *from, sc_work *to);

/* Mixed precision: the answers of a slot's iteration, which took so many iterations and ended for these reasons, are refined
 * where the judge reads them; both are brought up to date. solver_refine.c */
void sc_refine(const sc_solver *s, sc_worker *w, const sc_slot *slot, int32_t *iterations, int32_t *end);

static inline int sc_in_float(const sc_solver *s) { return s->options.precision != SC_F64; }

/* the pack as the judge sees it: one part of its numbers in double */
static inline sc_pack sc_slot_part(const sc_slot *slot, int k) {
  sc_pack part = slot->pack;
  part.num[SC_F64] = slot->part[k];
  return part;
}

#endif
