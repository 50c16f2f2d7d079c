/* A solver: packs, a workspace per worker, results; and the verdict. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "pack.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One worker's scratch: the iteration's, and in float the certificate's beside it. */
typedef struct {
  sc_packer packer;
  sc_work iterate, judge;   /* the same memory when both are in double */
  void *block;
  size_t capacity;
  sc_phases phases;
} worker;

/* relative to the largest force; below it forces are as good as qacc gives them */
#define FORCE_NOISE_F64 1e-10
#define FORCE_NOISE_F32 2e-5

/* Every array of the results: name, type, entries. n, m: dofs and rows of all environments; N: environments. */
#define SC_RESULT_FIELDS(F)                                                                                                 \
  F(qacc, double, s.n)                                                                                                      \
  F(qfrc_constraint, double, s.n)                                                                                           \
  F(efc_force, double, s.m)                                                                                                 \
  F(gap, double, s.N)                                                                                                       \
  F(gap_floor, double, s.N)                                                                                                 \
  F(qacc_bound, double, s.N)                                                                                                \
  F(objective, double, s.N)                                                                                                 \
  F(nv_offset, size_t, s.N + 1)                                                                                             \
  F(efc_offset, size_t, s.N + 1)                                                                                            \
  F(flags, uint32_t, s.N)                                                                                                   \
  F(iterations, int32_t, s.N)                                                                                               \
  F(order, int32_t, s.N + 1)                                                                                                \
  F(starts, int32_t, s.N + 1)                                                                                               \
  F(rowmap, int32_t, s.m)       /* row of its pack of each row */                                                           \
  F(status, uint8_t, s.N)                                                                                                   \
  F(efc_state, uint8_t, s.m)

typedef struct { size_t N, n, m; } result_sizes;

typedef struct {
#define FIELD(name, type, count) type *name;
  SC_RESULT_FIELDS(FIELD)
#undef FIELD
  void *block;
  size_t capacity;
} results;

struct sc_solver {
  sc_context *context;
  sc_solver_options options;
  const sc_kernels *iterate, *judge;
  int lanes, parts;         /* lanes of the judge; how many such parts an iterating pack has */
  int nenv, packed;
  const sc_batch *batch;    /* during sc_solver_pack only */
  sc_slot *slots;
  int npack, nslot;
  worker *workers;
  results r;
  atomic_int failed;        /* a worker found no memory */
};

/* ------------------------------------------------------------------ create */

static int check_options(const sc_solver_options *o) {
#define CALL "sc_solver_create: options."
  if (o->size != sizeof *o)
    return sc_error_set(SC_ERROR_ARGUMENT, CALL "size is %zu, not %zu: use sc_solver_options_init", o->size, sizeof *o);
  if (o->method != SC_NEWTON) return sc_error_set(SC_ERROR_UNSUPPORTED, CALL "method is %d, not %d (newton)", o->method, SC_NEWTON);
  if (o->precision != SC_F64 && o->precision != SC_F32)
    return sc_error_set(SC_ERROR_UNSUPPORTED, CALL "precision is %d, not %d (f64) or %d (f32)", o->precision, SC_F64, SC_F32);
  if (o->iterations < 0) return sc_error_set(SC_ERROR_ARGUMENT, CALL "iterations is %d, not >= 0", o->iterations);
  if (o->ls_iterations < 1) return sc_error_set(SC_ERROR_ARGUMENT, CALL "ls_iterations is %d, not >= 1", o->ls_iterations);
  if (!(o->tolerance >= 0) || isinf(o->tolerance)) return sc_error_set(SC_ERROR_ARGUMENT, CALL "tolerance is %g, not finite and >= 0", o->tolerance);
  if (!(o->ls_tolerance > 0 && o->ls_tolerance < 1))
    return sc_error_set(SC_ERROR_ARGUMENT, CALL "ls_tolerance is %g, not in (0, 1)", o->ls_tolerance);
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
  sc_solver *s = calloc(1, sizeof *s);
  worker *workers = calloc((size_t)sc_context_threads(context), sizeof *workers);
  if (!s || !workers) {
    free(s);
    free(workers);
    return sc_error_set(SC_ERROR_MEMORY, "sc_solver_create: no memory");
  }
  int f32 = options->precision == SC_F32;
  s->context = context, s->options = *options, s->workers = workers;
  s->iterate = f32 ? context->backend->f32 : context->backend->f64;
  s->judge = context->backend->f64;
  s->lanes = s->judge->lanes;
  s->parts = s->iterate->lanes / s->lanes;
  *out = s;
  return SC_OK;
}

void sc_solver_destroy(sc_solver *s) {
  if (!s) return;
  for (int i = 0; i < s->nslot; i++) free(s->slots[i].block);
  free(s->slots);
  for (int i = 0; i < sc_context_threads(s->context); i++) {
    sc_packer_free(&s->workers[i].packer);
    free(s->workers[i].block);
  }
  free(s->workers);
  free(s->r.block);
  free(s);
}

/* ------------------------------------------------------------------ memory */

static int resize_results(results *r, result_sizes s) {
  size_t bytes = 0;
#define FIELD(name, type, count) bytes += (count) * sizeof(type);
  SC_RESULT_FIELDS(FIELD)
#undef FIELD
  if (bytes > r->capacity) {
    void *block = malloc(bytes);
    if (!block) return 0;
    free(r->block);
    r->block = block, r->capacity = bytes;
  }
  char *at = r->block;
#define FIELD(name, type, count) r->name = (type *)(void *)at, at += (count) * sizeof(type);
  SC_RESULT_FIELDS(FIELD)
#undef FIELD
  return 1;
}

/* arrays of a workspace and their element counts */
typedef struct { size_t H, Z, nv4, nefc; } work_sizes;
#define SC_WORK_FIELDS(F)                                                                                                   \
  F(H, s.H) F(Z, s.Z) F(a, s.nv4) F(Ma, s.nv4) F(g, s.nv4) F(a1, s.nv4) F(Ma1, s.nv4) F(g1, s.nv4) F(v, s.nv4) F(x, s.nefc)  \
  F(f, s.nefc) F(k, s.nefc) F(x1, s.nefc) F(f1, s.nefc) F(k1, s.nefc) F(Jv, s.nefc)

static size_t round64(size_t n) { return (n + 63) / 64 * 64; }

/* lay a workspace out at `at`, or only measure it when at is NULL; returns its bytes. element: lanes * sizeof(number) */
static size_t place_work(sc_work *w, char *at, work_sizes s, size_t element) {
  size_t bytes = 0;
#define FIELD(name, count)                   \
  if (at) w->name = at + bytes;              \
  bytes += round64((count) * element);
  SC_WORK_FIELDS(FIELD)
#undef FIELD
  if (at) {
    w->used = (uint8_t *)at + bytes;
    w->iterations = (int32_t *)(void *)(at + bytes + round64(s.nefc));
    w->end = w->iterations + SC_MAX_LANES;
    w->solved = w->end + SC_MAX_LANES;
    w->gap = (double *)(void *)(w->solved + SC_MAX_LANES);
    w->floor = w->gap + SC_MAX_LANES, w->bound = w->floor + SC_MAX_LANES, w->objective = w->bound + SC_MAX_LANES;
  }
  return bytes + round64(s.nefc) + SC_MAX_LANES * (3 * sizeof(int32_t) + 4 * sizeof(double));
}

static work_sizes largest(const sc_solver *s, int npack) {
  work_sizes w = {0, 0, 0, 0};
#define MOST(x, y) x = (size_t)(y) > (x) ? (size_t)(y) : (x)
  for (int i = 0; i < npack; i++) {
    const sc_pack *p = &s->slots[i].pack;
    MOST(w.H, 16 * (p->h.ntile > p->m.ntile ? p->h.ntile : p->m.ntile));
    MOST(w.Z, 4 * (p->nblock - p->jadr[p->conerow]));
    MOST(w.nv4, p->nv4);
    MOST(w.nefc, p->nefc);
  }
#undef MOST
  return w;
}

static int resize_workers(sc_solver *s, work_sizes sizes) {
  int f32 = s->options.precision == SC_F32;
  size_t wide = (size_t)s->lanes * sizeof(double), narrow = (size_t)(s->lanes * s->parts) * sizeof(float);
  sc_task task = {s->options.tolerance, s->options.ls_tolerance, s->options.iterations, s->options.ls_iterations, s->options.warmstart,
                  f32 ? 0x1p-24 : 0x1p-53, f32 ? FORCE_NOISE_F32 : FORCE_NOISE_F64};
  for (int i = 0; i < sc_context_threads(s->context); i++) {
    worker *w = &s->workers[i];
    size_t judge = place_work(&w->judge, NULL, sizes, wide), iterate = f32 ? place_work(&w->iterate, NULL, sizes, narrow) : 0;
    if (round64(judge) + round64(iterate) > w->capacity) {
      free(w->block);
      w->capacity = 0;
      w->block = aligned_alloc(64, round64(judge) + round64(iterate));
      if (!w->block) return 0;
      w->capacity = round64(judge) + round64(iterate);
    }
    place_work(&w->judge, w->block, sizes, wide);
    w->iterate = w->judge;
    if (f32) place_work(&w->iterate, (char *)w->block + round64(judge), sizes, narrow);
    w->judge.task = w->iterate.task = task;
  }
  return 1;
}

/* ------------------------------------------------------------------ pack */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void pack_symbolic(void *arg, int i, int who) {
  sc_solver *s = arg;
  double t = now();
  sc_slot *slot = &s->slots[i];
  int first = s->r.starts[i], n = s->r.starts[i + 1] - first;
  for (int l = 0; l < SC_MAX_LANES; l++) slot->env[l] = l < n ? s->r.order[first + l] : -1;
  sc_packer *packer = &s->workers[who].packer;
  slot->parts = s->parts, slot->lanes = s->lanes;
  if (!sc_pack_symbolic(slot, s->batch, s->options.precision == SC_F32, packer)) {
    atomic_store(&s->failed, 1);
    return;
  }
  sc_pack_numbers(slot, s->batch, packer);
  for (int l = 0; l < n; l++) sc_map_rows(&s->batch->env[slot->env[l]], &slot->pack, s->r.rowmap + s->r.efc_offset[slot->env[l]]);
  s->workers[who].phases.pack += now() - t;
}

/* the pack as the judge sees it: one part of its numbers in double */
static sc_pack part_of(const sc_slot *slot, int k) {
  sc_pack part = slot->pack;
  part.num[SC_F64] = slot->part[k];
  return part;
}

/* factor M and complete the vectors; in float, then round */
static void pack_prepare(void *arg, int i, int who) {
  sc_solver *s = arg;
  double t = now();
  for (int k = 0; k < s->parts; k++) {
    sc_pack part = part_of(&s->slots[i], k);
    s->judge->prepare(&part, &s->workers[who].judge);
  }
  if (s->options.precision == SC_F32) sc_pack_narrow(&s->slots[i]);
  s->workers[who].phases.pack += now() - t;
}

static int resize_slots(sc_solver *s, int npack) {
  if (npack <= s->nslot) return 1;
  sc_slot *slots = realloc(s->slots, (size_t)npack * sizeof *slots);
  if (!slots) return 0;
  memset(slots + s->nslot, 0, (size_t)(npack - s->nslot) * sizeof *slots);
  s->slots = slots, s->nslot = npack;
  return 1;
}

static void no_answer(sc_solver *s, int env, int status) {
  results *r = &s->r;
  for (size_t i = r->nv_offset[env]; i < r->nv_offset[env + 1]; i++) r->qacc[i] = r->qfrc_constraint[i] = NAN;
  for (size_t i = r->efc_offset[env]; i < r->efc_offset[env + 1]; i++) r->efc_force[i] = NAN, r->efc_state[i] = SC_SATISFIED;
  r->gap[env] = r->gap_floor[env] = r->qacc_bound[env] = r->objective[env] = NAN;
  r->status[env] = (uint8_t)status;
}

static int start_results(sc_solver *s, const sc_batch *batch) {
  result_sizes sizes = {(size_t)batch->nenv, 0, 0};
  for (int i = 0; i < batch->nenv; i++) sizes.n += (size_t)batch->env[i].nv, sizes.m += (size_t)batch->env[i].nefc;
  if (!resize_results(&s->r, sizes)) return 0;
  s->nenv = batch->nenv;
  s->r.nv_offset[0] = s->r.efc_offset[0] = 0;
  for (int i = 0; i < batch->nenv; i++) {
    const sc_env *e = &batch->env[i];
    s->r.nv_offset[i + 1] = s->r.nv_offset[i] + (size_t)e->nv;
    s->r.efc_offset[i + 1] = s->r.efc_offset[i] + (size_t)e->nefc;
    s->r.flags[i] = e->flags;
    s->r.iterations[i] = 0;
    no_answer(s, i, SC_BAD_INPUT);
  }
  return 1;
}

int sc_solver_pack(sc_solver *s, const sc_batch *batch) {
  if (!s || !batch) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_pack: %s is NULL", s ? "batch" : "solver");
  s->packed = 0;
  s->npack = 0;
  for (int i = 0; i < sc_context_threads(s->context); i++) s->workers[i].phases.pack = 0;
  double t = now();
  int npack = start_results(s, batch) ? sc_order(batch, s->lanes * s->parts, s->r.order, s->r.starts) : -1;
  s->workers[0].phases.pack += now() - t;
  atomic_store(&s->failed, 0);
  s->batch = batch;
  if (npack >= 0 && resize_slots(s, npack)) {
    sc_pool_each(s->context->pool, npack, pack_symbolic, s);
    if (!atomic_load(&s->failed) && resize_workers(s, largest(s, npack))) {
      sc_pool_each(s->context->pool, npack, pack_prepare, s);
      s->npack = npack;
      s->packed = 1;
    }
  }
  s->batch = NULL;
  if (!s->packed) return sc_error_set(SC_ERROR_MEMORY, "sc_solver_pack: no memory for %d environments", batch->nenv);
  return SC_OK;
}

/* ------------------------------------------------------------------ run */

/* the word for what the certificate says, and why the iteration ended where it does not hold */
static int verdict(const sc_work *w, int l, int end) {
  if (!isfinite(w->gap[l]) || !isfinite(w->floor[l]) || !isfinite(w->objective[l])) return SC_NOT_FINITE;
  if (w->solved[l]) return SC_SOLVED;
  return end == SC_END_LIMIT ? SC_ITERATION_LIMIT : end == SC_END_STALLED ? SC_STALLED : SC_INACCURATE;
}

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
  results *r = &s->r;
  const sc_numbers *num = &a->slot->part[a->part];
  const sc_work *w = a->work;
  int env = a->env;
  size_t first = r->nv_offset[env], nv = r->nv_offset[env + 1] - first;
  if (!(lane_number(a, num->alive, 0) > 0)) {
    no_answer(s, env, SC_NOT_SPD);
    return;
  }
  int status = verdict(w, a->lane, end);
  for (size_t i = 0; i < nv; i++) {
    r->qacc[first + i] = lane_number(a, w->a, nv - 1 - i) + 0.0;
    r->qfrc_constraint[first + i] = lane_number(a, w->g1, nv - 1 - i) + 0.0;
    if (!isfinite(r->qacc[first + i]) || !isfinite(r->qfrc_constraint[first + i])) status = SC_NOT_FINITE;
  }
  for (size_t i = r->efc_offset[env]; i < r->efc_offset[env + 1]; i++)
    if (!isfinite(lane_number(a, w->f, (size_t)r->rowmap[i]))) status = SC_NOT_FINITE;
  if (status == SC_NOT_FINITE) {
    no_answer(s, env, SC_NOT_FINITE);
    return;
  }
  for (size_t i = r->efc_offset[env]; i < r->efc_offset[env + 1]; i++) {
    r->efc_force[i] = lane_number(a, w->f, (size_t)r->rowmap[i]) + 0.0;
    r->efc_state[i] = (uint8_t)lane_number(a, w->k, (size_t)r->rowmap[i]);
  }
  r->gap[env] = w->gap[a->lane], r->gap_floor[env] = w->floor[a->lane];
  r->qacc_bound[env] = w->bound[a->lane], r->objective[env] = w->objective[a->lane] + 0.0;
  r->status[env] = (uint8_t)status;
}

/* part k of the answer in double, where the judge reads it; of an environment without rows, qacc_smooth as handed over */
static void widen(const sc_solver *s, const sc_slot *slot, int k, const sc_work *from, sc_work *to) {
  size_t nv4 = (size_t)slot->pack.nv4, lanes = (size_t)s->lanes, parts = (size_t)s->parts;
  double *a = to->a;
  if (s->options.precision == SC_F32) {
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

/* the lanes of one part that are not solved yet, as bits; each lane's answer goes to the results */
static unsigned judge_part(sc_solver *s, worker *w, const sc_slot *slot, int k, const sc_pack *part, const int32_t *end, int iterated_in_float) {
  double t0 = now();
  unsigned unsolved = 0;
  s->judge->certify(part, &w->judge);
  double t1 = now();
  for (int l = 0; l < s->lanes; l++) {
    int env = slot->env[k * s->lanes + l];
    if (env < 0 || s->r.status[env] == SC_SOLVED) continue;
    if (iterated_in_float && slot->beyond_float >> (k * s->lanes + l) & 1) { /* no answer, whatever stands there */
      no_answer(s, env, SC_NOT_FINITE);
      unsolved |= 1u << l;
      continue;
    }
    unpack_lane(s, &(answer){slot, &w->judge, k, l, env}, end[l]);
    if (s->r.status[env] != SC_SOLVED && s->r.status[env] != SC_NOT_SPD) unsolved |= 1u << l;
  }
  w->phases.certificate += t1 - t0, w->phases.unpack += now() - t1;
  return unsolved;
}

/* what float left unsolved, in double; a lane's bits do not depend on the others, so the solved ones just stay as they are */
static void retry_part(sc_solver *s, worker *w, const sc_slot *slot, int k, const sc_pack *part, unsigned unsolved) {
  int32_t end[SC_MAX_LANES];
  double t = now();
  w->judge.task.rounding = 0x1p-53, w->judge.task.force_noise = FORCE_NOISE_F64;
  s->judge->newton(part, &w->judge);
  memcpy(end, w->judge.end, sizeof end);
  for (int l = 0; l < s->lanes; l++)
    if (unsolved >> l & 1) {
      int env = slot->env[k * s->lanes + l];
      s->r.flags[env] |= SC_RETRIED_F64;
      s->r.iterations[env] += w->judge.iterations[l];
    }
  w->phases.solve += now() - t;
  judge_part(s, w, slot, k, part, end, 0);
  w->judge.task.rounding = 0x1p-24, w->judge.task.force_noise = FORCE_NOISE_F32;
}

static void run_pack(void *arg, int i, int who) {
  sc_solver *s = arg;
  worker *w = &s->workers[who];
  sc_slot *slot = &s->slots[i];
  int32_t iterations[SC_MAX_LANES], end[SC_MAX_LANES];
  double t = now();
  s->iterate->newton(&slot->pack, &w->iterate);
  memcpy(iterations, w->iterate.iterations, sizeof iterations);
  memcpy(end, w->iterate.end, sizeof end);
  w->phases.solve += now() - t;
  for (int k = 0; k < s->parts; k++) {
    sc_pack part = part_of(slot, k);
    for (int l = 0; l < s->lanes; l++) {
      int env = slot->env[k * s->lanes + l];
      if (env < 0) continue;
      s->r.iterations[env] = iterations[k * s->lanes + l];
      s->r.flags[env] &= ~(uint32_t)SC_RETRIED_F64;
      s->r.status[env] = SC_INACCURATE; /* until judged */
    }
    widen(s, slot, k, &w->iterate, &w->judge);
    unsigned unsolved = judge_part(s, w, slot, k, &part, end + k * s->lanes, s->options.precision == SC_F32);
    if (unsolved && s->options.retry && s->options.precision == SC_F32) retry_part(s, w, slot, k, &part, unsolved);
  }
}

int sc_solver_run(sc_solver *s) {
  if (!s) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_run: solver is NULL");
  if (!s->packed) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_run: nothing is packed: call sc_solver_pack first");
  for (int i = 0; i < sc_context_threads(s->context); i++) {
    double pack = s->workers[i].phases.pack;
    s->workers[i].phases = (sc_phases){.pack = pack};
  }
  sc_pool_each(s->context->pool, s->npack, run_pack, s);
  return SC_OK;
}

int sc_solve(sc_solver *solver, const sc_batch *batch) {
  int code = sc_solver_pack(solver, batch);
  return code ? code : sc_solver_run(solver);
}

/* ------------------------------------------------------------------ answers */

int sc_solver_result(const sc_solver *s, sc_result *out) {
  if (!s || !out) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_result: %s is NULL", s ? "result" : "solver");
  if (!s->packed) return sc_error_set(SC_ERROR_ARGUMENT, "sc_solver_result: nothing is packed");
  const results *r = &s->r;
  *out = (sc_result){.nenv = s->nenv, .nv_offset = r->nv_offset, .efc_offset = r->efc_offset, .qacc = r->qacc,
                     .qfrc_constraint = r->qfrc_constraint, .efc_force = r->efc_force, .efc_state = r->efc_state,
                     .status = r->status, .flags = r->flags, .iterations = r->iterations, .gap = r->gap,
                     .gap_floor = r->gap_floor, .qacc_bound = r->qacc_bound, .objective = r->objective};
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
