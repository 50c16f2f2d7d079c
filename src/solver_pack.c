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

/* what the methods on the dual read; 0: no memory */
static int fill_dual(const sc_solver *s, sc_slot *slot) {
  return (!sc_needs_dual(s) || sc_pack_dual(slot)) && (s->options.method != SC_DIRECT || sc_pack_square(slot));
}

int sc_slot_fill(sc_solver *s, sc_worker *w, sc_slot *slot, int i) {
  int first = s->r.starts[i], n = s->r.starts[i + 1] - first;
  for (int l = 0; l < SC_MAX_LANES; l++) slot->env[l] = l < n ? s->r.order[first + l] : -1;
  slot->large = !s->context->device && sc_env_is_large(&s->batch->env[slot->env[0]]);
  slot->parts = slot->large ? 1 : s->parts, slot->lanes = slot->large ? 1 : s->lanes;
  slot->factor_f32 = s->options.method != SC_NEWTON;
  const sc_row_places places = {s->r.rowmap, s->r.efc_offset};
  int f32 = sc_in_float(s), hessian = s->options.method == SC_NEWTON || s->options.precision == SC_MIXED;
  if (slot->large) return sc_pack_large(slot, s->batch, f32, hessian, &places) && fill_dual(s, slot);
  slot->place = NULL;
  return sc_pack_symbolic(slot, s->batch, f32, &w->packer, &places) && fill_dual(s, slot) && sc_pack_numbers(slot, s->batch, &w->packer);
}

void sc_slot_prepare(const sc_solver *s, sc_worker *w, sc_slot *slot) {
  for (int k = 0; k < slot->parts; k++) {
    sc_pack part = sc_slot_part(slot, k);
    sc_slot_judge(s, slot)->prepare(&part, &w->judge[0]);
  }
  if (sc_in_float(s)) sc_pack_narrow(slot, sc_slot_judge(s, slot));
}

void sc_solver_failed(sc_solver *s, const sc_slot *slot) {
  int none = 0;
  atomic_compare_exchange_strong(&s->failed, &none, slot->env[0] + 1);
}

int sc_solver_no_memory(const sc_solver *s, const sc_batch *batch, const char *call) {
  int env = atomic_load(&s->failed) - 1;
  const sc_env *e = env >= 0 ? &batch->env[env] : NULL;
  if (!e || !sc_env_is_large(e)) return sc_error_set(SC_ERROR_MEMORY, "%s: no memory for %d environments", call, batch->nenv);
  double most = 0;
  for (int i = 0; i < s->nslot; i++) most = s->slots[i].large && (double)s->slots[i].wanted > most ? (double)s->slots[i].wanted : most;
  for (int i = 0; i < sc_context_threads(s->context); i++)
    if (s->workers[i].slot.large && (double)s->workers[i].slot.wanted > most) most = (double)s->workers[i].slot.wanted;
  return sc_error_set(SC_ERROR_MEMORY, "%s: no memory for environment %d, nv %d, nefc %d: the largest pack alone takes %.4g MB", call, env, e->nv, e->nefc,
                      1e-6 * most);
}

static void fill(void *arg, int i, int who) {
  sc_solver *s = arg;
  double t = sc_now();
  if (!sc_slot_fill(s, &s->workers[who], &s->slots[i], i)) sc_solver_failed(s, &s->slots[i]);
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

int sc_solver_takes(const char *call, const sc_solver *s, const sc_batch *batch) {
  if (s->options.method != SC_DIRECT) return SC_OK;
  for (int i = 0; i < batch->nenv; i++) {
    const sc_env *e = &batch->env[i];
    for (int r = 0; r < (e->bad ? 0 : e->nefc); r++)
      if (e->type[r] != SC_EQUALITY)
        return sc_error_set(SC_ERROR_UNSUPPORTED, "%s: environment %d: row %d is %s, and the method direct solves equalities only: use newton, cg or pgs",
                            call, i, r,
                            sc_type_is_friction(e->type[r]) ? "dry friction" : e->type[r] < SC_CONTACT_FRICTIONLESS ? "a limit" : "of a contact");
  }
  return SC_OK;
}

/* to the context's device */
static int upload(sc_solver *s, const sc_batch *batch) {
  const sc_device_backend *device = s->context->backend->device;
  sc_device_rows rows;
  if (!sc_device_rows_make(&rows, batch, s->slots, s->npack, &s->r)) {
    s->packed = 0;
    return sc_solver_no_memory(s, batch, "sc_solver_pack");
  }
  sc_device_job job = {.slots = s->slots, .npack = s->npack, .results = &s->r, .rows = &rows, .method = s->options.method, .single = s->options.precision == SC_F32,
                       .retry = s->options.retry, .task = s->workers[0].judge[0].task, .again = s->workers[0].judge[0].task};
  job.sizes = (sc_result_sizes){(size_t)s->nenv, s->r.nv_offset[s->nenv], s->r.efc_offset[s->nenv]};
  job.again.rounding = 0x1p-53, job.again.force_noise = FORCE_NOISE_F64;
  int code = device->upload(s->context->device, &s->memory, &job);
  free(rows.memory);
  if (code) s->packed = 0;
  return code;
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
  int code = sc_solver_takes("sc_solver_pack", s, batch);
  if (code) return code;
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
  if (!s->packed) return sc_solver_no_memory(s, batch, "sc_solver_pack");
  return s->context->device ? upload(s, batch) : SC_OK;
}
