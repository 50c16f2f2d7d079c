/* From packs to results: the iteration, the certificate, the verdict, and what float left in double. */
#include "solver.h"

#include "../kernels/verdict.h"

#include <math.h>
#include <string.h>

#define ALL_LANES ~0u

/* Lane `lane` of part k of a slot, and what the judge left of it. */
typedef struct {
  const sc_slot *slot;
  const sc_work *work;
  int part, lane, env;
} answer;

static double lane_number(const answer *a, const void *array, size_t i) {
  return ((const double *)array)[i * (size_t)a->slot->lanes + (size_t)a->lane];
}

/* to the results; + 0.0 makes a zero's sign plain, which depends on what a pack skips */
static void unpack_lane(sc_solver *s, const answer *a, int end) {
  sc_results *r = &s->r;
  const sc_numbers *num = &a->slot->part[a->part];
  const sc_work *w = a->work;
  int env = a->env;
  size_t first = r->nv_offset[env], nv = r->nv_offset[env + 1] - first;
  r->flags[env] &= ~(uint32_t)SC_NOSLIP_APPLIED;
  if (!(lane_number(a, num->alive, 0) > 0)) {
    sc_results_no_answer(&s->r, env, SC_NOT_SPD);
    return;
  }
  const sc_certificate c = {w->gap[a->lane], w->floor[a->lane], w->bound[a->lane], w->objective[a->lane], w->solved[a->lane]};
  int status = sc_verdict(&c, end);
  for (size_t i = 0; i < nv; i++) {
    size_t at = sc_slot_position(a->slot, nv, i);
    r->qacc[first + i] = lane_number(a, w->a, at) + 0.0;
    r->qfrc_constraint[first + i] = lane_number(a, w->g1, at) + 0.0;
    if (!isfinite(r->qacc[first + i]) || !isfinite(r->qfrc_constraint[first + i])) status = SC_NOT_FINITE;
  }
  for (size_t i = r->efc_offset[env]; i < r->efc_offset[env + 1]; i++)
    if (!isfinite(lane_number(a, w->f, (size_t)r->rowmap[i]))) status = SC_NOT_FINITE;
  if (status == SC_NOT_FINITE) {
    sc_results_no_answer(&s->r, env, SC_NOT_FINITE);
    return;
  }
  for (size_t i = r->efc_offset[env]; i < r->efc_offset[env + 1]; i++) {
    r->efc_force[i] = lane_number(a, w->f, (size_t)r->rowmap[i]) + 0.0;
    r->efc_state[i] = (uint8_t)lane_number(a, w->k, (size_t)r->rowmap[i]);
  }
  r->gap[env] = c.gap, r->gap_floor[env] = c.floor;
  r->qacc_bound[env] = c.bound, r->objective[env] = c.objective + 0.0;
  r->status[env] = (uint8_t)status;
  if (s->options.noslip_iterations > 0 && w->changed[a->lane]) r->flags[env] |= SC_NOSLIP_APPLIED;
}

/* part k of the answer in double, where the judge reads it; of an environment without rows, qacc_smooth as handed over */
void sc_widen(const sc_solver *s, const sc_slot *slot, int k, const sc_work *from, sc_work *to) {
  size_t nv4 = (size_t)slot->pack.nv4, lanes = (size_t)slot->lanes, parts = (size_t)slot->parts;
  double *a = to->a;
  if (sc_in_float(s)) {
    const float *in = from->a;
    for (size_t i = 0; i < nv4; i++)
      for (size_t l = 0; l < lanes; l++) a[i * lanes + l] = (double)in[(i * parts + (size_t)k) * lanes + l];
  } else if (from->a != to->a) {
    memcpy(a, from->a, nv4 * lanes * sizeof *a);
  }
  const double *smooth = slot->part[k].s;
  for (size_t l = 0; l < lanes; l++) {
    int env = slot->env[(size_t)k * lanes + l];
    if (env >= 0 && s->r.efc_offset[env] == s->r.efc_offset[env + 1])
      for (size_t i = l; i < nv4 * lanes; i += lanes) a[i] = smooth[i];
  }
}

/* The answers of these lanes of one part, as bits, to the results; none replaces one that was solved by one that is not.
 * Returns the lanes that double should try again. */
static unsigned judge_part(sc_solver *s, sc_worker *w, const sc_slot *slot, int k, const sc_pack *part, const int32_t *end, unsigned lanes) {
  int iterated_in_float = sc_in_float(s) && lanes == ALL_LANES;
  double t0 = sc_now();
  unsigned unsolved = 0;
  sc_slot_judge(s, slot)->certify(part, &w->judge[k]);
  w->judge[k].fresh = 0;
  double t1 = sc_now(), t2 = t1;
  if (s->options.noslip_iterations > 0) {
    sc_slot_judge(s, slot)->noslip(part, &w->judge[k]);
    t2 = sc_now();
  }
  for (int l = 0; l < slot->lanes; l++) {
    int env = slot->env[k * slot->lanes + l];
    if (env < 0 || !(lanes >> l & 1) || (s->r.status[env] == SC_SOLVED && !w->judge[k].solved[l])) continue;
    if (iterated_in_float && slot->beyond_float >> (k * slot->lanes + l) & 1) { /* no answer, whatever stands there */
      sc_results_no_answer(&s->r, env, SC_NOT_FINITE);
      unsolved |= 1u << l;
      continue;
    }
    unpack_lane(s, &(answer){slot, &w->judge[k], k, l, env}, end[l]);
    /* in mixed precision a factor in float may be too poor to come as near as double does */
    int poor = s->options.precision == SC_MIXED && iterated_in_float && end[l] == SC_END_STALLED;
    if ((s->r.status[env] != SC_SOLVED || poor) && s->r.status[env] != SC_NOT_SPD) unsolved |= 1u << l;
  }
  w->phases.certificate += t1 - t0, w->phases.solve += t2 - t1, w->phases.unpack += sc_now() - t2;
  return unsolved;
}

/* what float left unsolved, in double; a lane's bits do not depend on the others, which just stay as they are */
static void retry_part(sc_solver *s, sc_worker *w, const sc_slot *slot, int k, const sc_pack *part, unsigned unsolved) {
  sc_work *work = &w->judge[k];
  sc_task task = work->task;
  int32_t end[SC_MAX_LANES];
  double t = sc_now();
  work->task.rounding = 0x1p-53, work->task.force_noise = FORCE_NOISE_F64;
  sc_slot_judge(s, slot)->solve[s->options.method](part, work);
  memcpy(end, work->end, sizeof end);
  for (int l = 0; l < slot->lanes; l++)
    if (unsolved >> l & 1) {
      int env = slot->env[k * slot->lanes + l];
      s->r.flags[env] |= SC_RETRIED_F64;
      s->r.iterations[env] += work->iterations[l];
    }
  w->phases.solve += sc_now() - t;
  judge_part(s, w, slot, k, part, end, unsolved);
  work->task = task;
}

static void run_slot(sc_solver *s, sc_worker *w, const sc_slot *slot) {
  int32_t iterations[SC_MAX_LANES], end[SC_MAX_LANES];
  double t = sc_now();
  sc_slot_iterate(s, slot)->solve[s->options.method](&slot->pack, &w->iterate);
  memcpy(iterations, w->iterate.iterations, sizeof iterations);
  memcpy(end, w->iterate.end, sizeof end);
  if (s->options.precision == SC_MIXED) sc_refine(s, w, slot, iterations, end);
  w->phases.solve += sc_now() - t;
  for (int k = 0; k < slot->parts; k++) {
    sc_pack part = sc_slot_part(slot, k);
    for (int l = 0; l < slot->lanes; l++) {
      int env = slot->env[k * slot->lanes + l];
      if (env < 0) continue;
      s->r.iterations[env] = iterations[k * slot->lanes + l];
      s->r.flags[env] &= ~(uint32_t)SC_RETRIED_F64;
      s->r.status[env] = SC_INACCURATE; /* until judged */
    }
    if (s->options.precision != SC_MIXED) sc_widen(s, slot, k, &w->iterate, &w->judge[k]);
    unsigned unsolved = judge_part(s, w, slot, k, &part, end + k * slot->lanes, ALL_LANES);
    if (unsolved && s->options.retry && sc_in_float(s)) retry_part(s, w, slot, k, &part, unsolved);
  }
}

static void run_pack(void *arg, int i, int who) {
  sc_solver *s = arg;
  run_slot(s, &s->workers[who], &s->slots[i]);
}

int sc_solver_run(sc_solver *s) {
  if (!s) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_run: solver is NULL");
  if (!s->packed) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_run: nothing is packed: call sc_solver_pack first");
  if (s->solved) return SC_OK;
  for (int i = 0; i < sc_context_threads(s->context); i++) {
    double pack = s->workers[i].phases.pack;
    s->workers[i].phases = (sc_phases){.pack = pack};
  }
  s->ran = 1;
  if (s->memory) return s->context->backend->device->run(s->memory);
  sc_pool_each(s->context->pool, s->npack, run_pack, s);
  return SC_OK;
}

int sc_solver_wait(sc_solver *s) {
  if (!s) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_wait: solver is NULL");
  return s->memory ? s->context->backend->device->wait(s->memory) : SC_OK;
}

/* pack i from the batch to the results, in the worker's memory */
static void pack_and_run(void *arg, int i, int who) {
  sc_solver *s = arg;
  sc_worker *w = &s->workers[who];
  double t = sc_now();
  w->slot.borrows = 1;
  if (atomic_load(&s->failed)) return;
  if (!sc_slot_fill(s, w, &w->slot, i) || !sc_worker_fit(s, w, &w->slot)) {
    sc_solver_failed(s, &w->slot);
    return;
  }
  sc_slot_prepare(s, w, &w->slot);
  sc_pack_fetch(s, i + sc_context_threads(s->context), s->npack); /* this worker's next one, most likely: while it solves */
  w->phases.pack += sc_now() - t;
  run_slot(s, w, &w->slot);
}

int sc_solve(sc_solver *s, const sc_batch *batch) {
  if (!s || !batch) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solve: %s is NULL", s ? "batch" : "solver");
  int code = sc_solver_takes("sc_solve", s, batch);
  if (code) return code;
  if (s->context->device) {
    code = sc_solver_pack(s, batch);
    return code ? code : sc_solver_run(s);
  }
  int npack = sc_solver_begin(s, batch, 0);
  s->npack = npack < 0 ? 0 : npack;
  sc_pool_each(s->context->pool, s->npack, pack_and_run, s);
  s->npack = 0;
  s->batch = NULL;
  if (npack < 0 || atomic_load(&s->failed)) return sc_solver_no_memory(s, batch, "sc_solve");
  s->packed = s->solved = 1;
  return SC_OK;
}
