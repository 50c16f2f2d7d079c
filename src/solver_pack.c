/* From a batch to packs. */
#include "solver.h"

#include <stdlib.h>
#include <string.h>

void sc_pack_fetch(const sc_solver *s, int i, int packs) {
  int first = i < packs ? s->r.starts[i] : 0, end = i < packs ? s->r.starts[i + 1] : 0;
  for (int k = first; k < end; k++) {
    const sc_env *e = &s->batch->env[s->r.order[k]];
    if (e->block) sc_fetch(e->M, (size_t)((const char *)(e->alike + e->nefc) - (const char *)e->M), 0);
  }
  int next = end + (end - first); /* environments of the pack behind it */
  for (int k = end; k < next && k < s->r.starts[packs]; k++) sc_fetch(&s->batch->env[s->r.order[k]], sizeof(sc_env), 0);
}

int sc_slot_fill(sc_solver *s, sc_worker *w, sc_slot *slot, int i) {
  int first = s->r.starts[i], n = s->r.starts[i + 1] - first;
  for (int l = 0; l < SC_MAX_LANES; l++) slot->env[l] = l < n ? s->r.order[first + l] : -1;
  slot->parts = s->parts, slot->lanes = s->lanes;
  slot->factor_f32 = s->options.method != SC_NEWTON;
  const sc_row_places places = {s->r.rowmap, s->r.efc_offset};
  return sc_pack_symbolic(slot, s->batch, sc_in_float(s), &w->packer, &places) && sc_pack_numbers(slot, s->batch, &w->packer);
}

void sc_slot_prepare(const sc_solver *s, sc_worker *w, sc_slot *slot) {
  for (int k = 0; k < s->parts; k++) {
    sc_pack part = sc_slot_part(slot, k);
    s->judge->prepare(&part, &w->judge[0]);
  }
  if (sc_in_float(s)) sc_pack_narrow(slot, s->judge);
}

static void fill(void *arg, int i, int who) {
  sc_solver *s = arg;
  double t = sc_now();
  if (!sc_slot_fill(s, &s->workers[who], &s->slots[i], i)) atomic_store(&s->failed, 1);
  s->workers[who].phases.pack += sc_now() - t;
}

static void prepare(void *arg, int i, int who) {
  sc_solver *s = arg;
  double t = sc_now();
  sc_slot_prepare(s, &s->workers[who], &s->slots[i]);
  s->workers[who].phases.pack += sc_now() - t;
}

static int resize_slots(sc_solver *s, int npack) {
  if (npack <= s->nslot) return 1;
  sc_slot *slots = realloc(s->slots, (size_t)npack * sizeof *slots);
  if (!slots) return 0;
  memset(slots + s->nslot, 0, (size_t)(npack - s->nslot) * sizeof *slots);
  s->slots = slots, s->nslot = npack;
  return 1;
}

static int start_results(sc_solver *s, const sc_batch *batch, int all) {
  sc_result_sizes sizes = {(size_t)batch->nenv, 0, 0};
  for (int i = 0; i < batch->nenv; i++) sizes.n += (size_t)batch->env[i].nv, sizes.m += (size_t)batch->env[i].nefc;
  if (!sc_results_resize(&s->r, sizes)) return 0;
  s->nenv = batch->nenv;
  s->r.nv_offset[0] = s->r.efc_offset[0] = 0;
  for (int i = 0; i < batch->nenv; i++) {
    const sc_env *e = &batch->env[i];
    s->r.nv_offset[i + 1] = s->r.nv_offset[i] + (size_t)e->nv;
    s->r.efc_offset[i + 1] = s->r.efc_offset[i] + (size_t)e->nefc;
    s->r.flags[i] = e->flags;
    s->r.rows_needed[i] = e->rows_needed, s->r.contacts_needed[i] = e->contacts_needed;
    s->r.iterations[i] = 0;
    if (all || e->bad) sc_results_no_answer(&s->r, i, SC_BAD_INPUT);
  }
  return 1;
}

int sc_solver_begin(sc_solver *s, const sc_batch *batch, int all) {
  s->packed = s->solved = s->ran = 0;
  s->npack = 0;
  for (int i = 0; i < sc_context_threads(s->context); i++) s->workers[i].phases = (sc_phases){0};
  double t = sc_now();
  int npack = start_results(s, batch, all) ? sc_order(batch, s->lanes * s->parts, &s->keys, s->r.order, s->r.starts) : -1;
  s->workers[0].phases.pack += sc_now() - t;
  atomic_store(&s->failed, 0);
  s->batch = batch;
  return npack;
}

int sc_solver_pack(sc_solver *s, const sc_batch *batch) {
  if (!s || !batch) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_pack: %s is NULL", s ? "batch" : "solver");
  int npack = sc_solver_begin(s, batch, 1);
  if (npack >= 0 && resize_slots(s, npack)) {
    sc_pool_each(s->context->pool, npack, fill, s);
    if (!atomic_load(&s->failed) && sc_workers_resize(s, npack)) {
      sc_pool_each(s->context->pool, npack, prepare, s);
      s->npack = npack;
      s->packed = 1;
    }
  }
  s->batch = NULL;
  if (!s->packed) return sc_error_set(SC_ERROR_MEMORY, "sc_solver_pack: no memory for %d environments", batch->nenv);
  return SC_OK;
}
