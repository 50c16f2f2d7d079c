/* The solver's memory: results, and a workspace for each worker. */
#include "large.h"
#include "solver.h"

#include <math.h>
#include <stdlib.h>

size_t sc_results_point(sc_results *r, void *block, sc_result_sizes s) {
  size_t bytes = 0;
#define FIELD(name, type, count)                                     \
  r->name = block ? (type *)(void *)((char *)block + bytes) : NULL;  \
  bytes += (count) * sizeof(type);
  SC_RESULT_FIELDS(FIELD)
#undef FIELD
  r->block = block;
  return bytes;
}

int sc_results_resize(sc_results *r, sc_result_sizes s) {
  sc_results none;
  size_t bytes = sc_results_point(&none, NULL, s);
  if (bytes > r->capacity) {
    void *block = sc_memory_get(bytes);
    if (!block) return 0;
    free(r->block);
    r->block = block, r->capacity = bytes;
  }
  sc_results_point(r, r->block, s);
  return 1;
}

static size_t round64(size_t n) { return (n + 63) / 64 * 64; }

/* lay a workspace out at `at`, or only measure it when at is NULL; returns its bytes. element: of a number */
static size_t place_work(sc_work *w, char *at, sc_work_sizes s, size_t element) {
  size_t bytes = 0;
#define FIELD(name, count)                   \
  if (at) w->name = at + bytes;              \
  bytes += round64((count) * element);
  SC_WORK_FIELDS(FIELD)
#undef FIELD
  size_t used = bytes, view = used + round64(s.rows), tile_at = view + round64(sizeof(sc_pack));
  size_t lanes = tile_at + round64(s.nb * sizeof(int32_t));
  if (at) {
    w->used = (uint8_t *)at + used;
    w->view = (sc_pack *)(void *)(at + view);
    w->tile_at = (int32_t *)(void *)(at + tile_at);
    w->iterations = (int32_t *)(void *)(at + lanes);
    w->end = w->iterations + SC_MAX_LANES;
    w->stale = w->end + SC_MAX_LANES, w->solved = w->stale + SC_MAX_LANES;
    w->changed = w->solved + SC_MAX_LANES;
    w->gap = (double *)(void *)(w->changed + SC_MAX_LANES);
    w->floor = w->gap + SC_MAX_LANES, w->bound = w->floor + SC_MAX_LANES, w->objective = w->bound + SC_MAX_LANES;
  }
  return lanes + SC_MAX_LANES * (5 * sizeof(int32_t) + 4 * sizeof(double));
}

/* for one lane more than once: `parts` times those of the judge */
static void enlarge(sc_work_sizes *w, const sc_slot *slot, int parts) {
  const sc_pack *p = &slot->pack;
  size_t lanes = (size_t)(slot->lanes * parts);
#define MOST(x, y) x = (size_t)(y) > (x) ? (size_t)(y) : (x)
  MOST(w->H, lanes * 16 * (size_t)(p->h.ntile > p->m.ntile ? p->h.ntile : p->m.ntile));
  MOST(w->Z, lanes * 4 * (size_t)(p->nblock - p->jadr[p->conerow]));
  MOST(w->nv4, lanes * (size_t)p->nv4);
  MOST(w->nefc, lanes * (size_t)p->nefc);
  MOST(w->soft, p->nefc > p->conerow ? lanes * SC_SOFT * (size_t)p->nefc : 0);
  MOST(w->nb, p->nb);
  MOST(w->rows, p->nefc);
  MOST(w->A, lanes * 16 * (size_t)p->a.ntile);
  MOST(w->u, lanes * 4 * (size_t)p->a.nb);
  MOST(w->pivot, 4 * SC_MAX_LANES);
  MOST(w->lane, SC_LANE_NUMBERS * SC_MAX_LANES);
  if (!p->yadr) return;
  MOST(w->Y, lanes * 4 * (size_t)p->yadr[p->nefc]);
  size_t B = 0;
  for (int k = 0; k < SC_NDIM; k++) B += (size_t)(p->ncone[k] * sc_dims[k] * sc_dims[k]);
  MOST(w->B, lanes * B);
#undef MOST
}

/* wide: of the judge; narrow: of an iteration in float */
static int fit(const sc_solver *s, sc_worker *w, sc_work_sizes wide, sc_work_sizes narrow) {
  int f32 = s->options.precision == SC_F32, judges = s->options.precision == SC_MIXED ? s->parts : 1;
  size_t judge = round64(place_work(NULL, NULL, wide, sizeof(double)));
  size_t bytes = (size_t)judges * judge + (sc_in_float(s) ? round64(place_work(NULL, NULL, narrow, sizeof(float))) : 0);
  if (bytes > w->capacity) {
    free(w->block);
    w->capacity = 0;
    w->block = sc_machine_has(bytes) ? aligned_alloc(64, bytes) : NULL;
    if (!w->block) return 0;
    w->capacity = bytes;
  }
  char *at = w->block;
  for (int k = 0; k < SC_MAX_PARTS; k++) place_work(&w->judge[k], at + (k < judges ? (size_t)k * judge : 0), wide, sizeof(double));
  w->iterate = w->judge[0];
  if (sc_in_float(s)) place_work(&w->iterate, at + (size_t)judges * judge, narrow, sizeof(float));
  for (int k = 0; k < SC_MAX_PARTS; k++) w->judge[k].fresh = 0;
  w->judge[0].task = w->judge[1].task = w->iterate.task =
      (sc_task){s->options.tolerance, s->options.ls_tolerance, s->options.iterations, s->options.ls_iterations, s->options.warmstart,
                s->options.method == SC_NEWTON || s->options.method == SC_CG,
                s->options.noslip_iterations, s->options.noslip_tolerance, f32 ? 0x1p-24 : 0x1p-53, f32 ? FORCE_NOISE_F32 : FORCE_NOISE_F64};
  if (sc_in_float(s)) w->iterate.task.rounding = 0x1p-24;
  return 1;
}

int sc_workers_resize(sc_solver *s, int npack) {
  sc_work_sizes wide = {0}, narrow = {0};
  for (int i = 0; i < npack; i++) enlarge(&wide, &s->slots[i], 1), enlarge(&narrow, &s->slots[i], s->slots[i].parts);
  for (int i = 0; i < sc_context_threads(s->context); i++)
    if (!fit(s, &s->workers[i], wide, narrow)) return 0;
  return 1;
}

int sc_worker_fit(const sc_solver *s, sc_worker *w, const sc_slot *slot) {
  sc_work_sizes wide = {0}, narrow = {0};
  enlarge(&wide, slot, 1), enlarge(&narrow, slot, slot->parts);
  return fit(s, w, wide, narrow);
}

size_t sc_solver_bytes(const sc_solver *s) {
  if (!s) return 0;
  size_t bytes = sizeof *s + s->r.capacity + (size_t)s->nslot * sizeof *s->slots;
  for (int i = 0; i < s->nslot; i++) bytes += s->slots[i].capacity + s->slots[i].dual.capacity + s->slots[i].square.capacity;
  for (int i = 0; i < sc_context_threads(s->context); i++) bytes += sizeof *s->workers + s->workers[i].capacity + s->workers[i].slot.capacity + sc_packer_bytes(&s->workers[i].packer);
  return bytes + s->keys.capacity;
}

void sc_results_no_answer(sc_results *r, int env, int status) {
  for (size_t i = r->nv_offset[env]; i < r->nv_offset[env + 1]; i++) r->qacc[i] = r->qfrc_constraint[i] = NAN;
  for (size_t i = r->efc_offset[env]; i < r->efc_offset[env + 1]; i++) r->efc_force[i] = NAN, r->efc_state[i] = SC_SATISFIED;
  r->gap[env] = r->gap_floor[env] = r->qacc_bound[env] = r->objective[env] = NAN;
  r->status[env] = (uint8_t)status;
}
