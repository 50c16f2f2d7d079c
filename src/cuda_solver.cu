/* A solver on a CUDA device: packs and results in one block of device memory, one launch per team size. */
#include "cuda_private.h"
#include "slot.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SQUARES (SC_DIRECT_ROWS / 4 + 1) /* sizes that the square of SC_DIRECT can have, in blocks */

/* offsets in the block: what is uploaded, in one piece; square: of the lists for each size that occurs, else 0 */
typedef struct layout { size_t env, dense, numbers, results, queue, rows, bytes, square[SQUARES]; } layout;

static size_t round64(size_t n) { return (n + 63) / 64 * 64; }

/* the teams' environments apart, and the largest of each first, so that none is left over at the end */
static int before(const void *a, const void *b) {
  const sc_pack *x = &(*(const sc_slot *const *)a)->pack, *y = &(*(const sc_slot *const *)b)->pack;
  int n[2], m[2];
  sc_cuda_class(x, &n[0], &m[0]), sc_cuda_class(y, &n[1], &m[1]);
  return n[0] != n[1] ? (n[0] > n[1] ? -1 : 1) : (m[0] < m[1]) - (m[0] > m[1]);
}

/* environments for batched dense routines */
static int count_dense(const sc_device_job *job) {
  int n = 0;
  for (int i = 0; i < job->npack; i++) n += sc_cuda_is_dense(&job->slots[i].pack, job->method);
  return n;
}

/* bytes of the pattern of Y, yadr and then ycol; 0: nothing needs it */
static size_t dual_bytes(const sc_pack *p) {
  return p->yadr ? ((size_t)p->nefc + 1 + (size_t)p->yadr[p->nefc]) * sizeof(int32_t) : 0;
}

/* bytes of a tile list whose last one is `pair` */
static size_t tiles_bytes(const sc_tiles *t) {
  return (size_t)((const char *)(t->pair + t->pairadr[t->ntile]) - (const char *)t->adr);
}

static layout lay_out(const sc_device_job *job) {
  layout l;
  memset(&l, 0, sizeof l);
  sc_results none;
  l.dense = round64((size_t)job->npack * sizeof(sc_cuda_env));
  l.numbers = l.dense + round64(sc_cuda_dense_bytes(count_dense(job)));
  l.results = l.numbers;
  for (int i = 0; i < job->npack; i++) l.results += round64(job->slots[i].bytes) + round64(dual_bytes(&job->slots[i].pack));
  for (int i = 0; i < job->npack; i++) {
    const sc_tiles *a = &job->slots[i].pack.a;
    if (!a->nb || l.square[a->nb]) continue;
    l.square[a->nb] = l.results;
    l.results += round64(tiles_bytes(a));
  }
  l.queue = l.results + round64(sc_results_point(&none, NULL, job->sizes));
  l.rows = l.queue + 64;
  sc_device_rows rows = *job->rows;
  l.bytes = l.rows + (rows.memory ? round64(sc_device_rows_point(&rows, NULL)) : 0);
  return l;
}

/* ------------------------------------------------------------------ from host pointers to device pointers */

static void move_numbers(sc_numbers *n, ptrdiff_t by) {
#define FIELD(name, count) n->name.at = (char *)n->name.at + by;
  SC_NUMBER_FIELDS(FIELD, , )
#undef FIELD
}

static int any_beyond(const sc_array *from, const sc_array *end) {
  for (const double *x = (const double *)from->at; x < (const double *)end->at; x++)
    if (fabs(*x) > (double)FLT_MAX) return 1;
  return 0;
}

/* which numbers of a slot are too large for float */
static uint32_t beyond_float(const sc_slot *slot) {
  const sc_numbers *n = &slot->part[0];
  if (!(slot->beyond_float & 1)) return 0;
  uint32_t found = (any_beyond(&n->D, &n->tau) ? SC_BEYOND_ROWS : 0u) | (any_beyond(&n->tau, &n->given) ? SC_BEYOND_VECTORS : 0u);
  return found && !any_beyond(&n->M, &n->D) ? found : found | SC_BEYOND_MATRICES;
}

/* the dual problem's part; to, square: its pattern and its tiles on the device */
static void move_dual(sc_cuda_env *e, char *to, char *square) {
  sc_pack *p = &e->pack;
  if (p->yadr) {
    e->ny = p->yadr[p->nefc];
    for (int k = 0; k < SC_NDIM; k++) e->nB += p->ncone[k] * sc_dims[k] * sc_dims[k];
    p->yadr = (const int32_t *)to, p->ycol = p->yadr + p->nefc + 1;
  }
  if (p->a.nb) sc_cuda_move_tiles(&p->a, square - (const char *)p->a.adr);
}

/* where a pack's lists begin: they are the last of its block */
static const char *first_list(const sc_pack *p) {
  const void *all[] = {p->m.adr,    p->m.row,     p->m.rowadr, p->m.rowtile, p->m.rowcol, p->m.pairadr, p->m.pair,
                       p->h.adr,    p->h.row,     p->h.rowadr, p->h.rowtile, p->h.rowcol, p->h.pairadr, p->h.pair,
                       p->mtile,    p->jadr,      p->jcol,     p->termadr,   p->termcone, p->term};
  const char *first = (const char *)all[0];
  for (size_t i = 1; i < sizeof all / sizeof *all; i++)
    if ((const char *)all[i] < first) first = (const char *)all[i];
  return first;
}

static sc_cuda_env move_pack(const sc_slot *slot, char *to, int single, int factor) {
  sc_cuda_env e;
  memset(&e, 0, sizeof e);
  e.pack = slot->pack;
  e.pack.num[SC_F64] = slot->part[0];
  e.nz = e.pack.nblock - e.pack.jadr[e.pack.conerow];
  e.env = slot->env[0];
  e.beyond_float = beyond_float(slot);
  ptrdiff_t by = to - (char *)slot->block;
  e.lists = first_list(&e.pack) + by, e.list_bytes = (int32_t)((const char *)slot->block + slot->bytes - first_list(&e.pack));
  sc_cuda_move_lists(&e.pack, by);
  move_numbers(&e.pack.num[SC_F64], by);
  e.pack.num[SC_F64].L.at = (char *)e.pack.num[SC_F64].L.at + by;
  if (single) move_numbers(&e.pack.num[SC_F32], by);
  if (single && slot->factor_f32) e.pack.num[SC_F32].L.at = (char *)e.pack.num[SC_F32].L.at + by;
  e.factor = factor;
  return e;
}

/* its rows are evaluated from parameters; there: those of all, on the device */
static void attach_rows(sc_cuda_env *e, const sc_device_job *job, const sc_device_rows *there) {
  e->flags = job->results->flags[e->env];
  if (!job->rows->memory || !job->rows->kept[e->env]) return;
  e->kept = 1;
  e->nblock = job->rows->nblock[e->env], e->block = there->block + job->rows->first[e->env];
  /* of what was dropped the device knows nothing */
  if (!(e->flags & SC_ROWS_DROPPED)) e->flags &= ~(uint32_t)(SC_REPAIRED | SC_CLAMPED);
}

/* ------------------------------------------------------------------ launches */

/* bytes of shared memory that environment e would like, or with room for no more than that, what it spills */
static sc_cuda_map measure(const sc_cuda_env *e, int single, size_t room) {
  sc_cuda_env copy = *e;
  sc_work iterate, judge;
  sc_cuda_copy copies[SC_CUDA_PIECES];
  sc_cuda_map m = {NULL, NULL, room, 0, 0};
  sc_cuda_place(&m, &copy, single, &iterate, &judge, copies);
  return m;
}

/* the same, and whether its lists are among it: only where everything else finds room beside them */
static size_t decide(sc_cuda_env *e, int single, size_t room) {
  e->near = 1;
  size_t want = measure(e, single, (size_t)-1).used;
  if (want <= room) return want;
  e->near = 0;
  return measure(e, single, (size_t)-1).used;
}

/* memory of a block for the n environments */
static int size_launch(sc_device *d, sc_cuda_launch *l, sc_cuda_env *env, int n, int single) {
  size_t state = sizeof(sc_cuda_block), most = 0, spilled = 0;
  for (int i = 0; i < n; i++) {
    size_t want = decide(env + i, single, d->fast - state);
    if (want > most) most = want;
  }
  l->shared = state + most < d->fast ? state + most : d->fast;
  for (int i = 0; i < n; i++) {
    size_t s = measure(env + i, single, l->shared - state).spilled;
    if (s > spilled) spilled = s;
  }
  int per_processor = 0;
  TRY("sc_solver_pack", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, l->kernel, l->threads, l->shared));
  l->blocks = (per_processor > 0 ? per_processor : 1) * d->processors;
  if (l->blocks > n) l->blocks = n;
  l->args.fast = (uint32_t)l->shared;
  l->args.slow = (uint32_t)round64(spilled);
  return SC_OK;
}

/* env: the table on the host; at: the block on the device */
static int make_launches(sc_device_memory *m, const sc_device_job *job, const layout *at, sc_cuda_env *env) {
  const sc_cuda_kernel kernels[2][2][2] = {{{sc_cuda_block_f64, sc_cuda_block_f32}, {sc_cuda_warp_f64, sc_cuda_warp_f32}},
                                           {{sc_cuda_dual_block_f64, sc_cuda_dual_block_f32}, {sc_cuda_dual_warp_f64, sc_cuda_dual_warp_f32}}};
  int dual = job->method == SC_PGS || job->method == SC_DIRECT || job->task.noslip_iterations > 0;
  int first = 0, large = m->large.count;
  while (large < job->npack && env[large].pack.nb > SC_WARP_BLOCKS) large++;
  m->nlaunch = 0;
  const int end[3] = {m->large.count, large, job->npack};
  for (int k = 0; k < 3; k++) {
    int n = end[k] - first;
    if (n == 0) continue;
    sc_cuda_launch *l = &m->launches[m->nlaunch];
    memset(l, 0, sizeof *l);
    l->kernel = kernels[dual][k == 2][job->single];
    if (k == 0) l->kernel = job->single ? sc_cuda_dense_finish_f32 : sc_cuda_dense_finish_f64;
    l->threads = k == 2 ? SC_TEAM_SMALL : SC_TEAM_LARGE;
    l->rounds = k == 0;
    l->args.env = (const sc_cuda_env *)(m->block + at->env) + first;
    l->args.nenv = n, l->args.method = job->method, l->args.retry = job->retry;
    l->args.queue = (uint32_t *)(m->block + at->queue) + 2 * k;
    l->args.task = job->task, l->args.again = job->again;
    int code = size_launch(m->device, l, env + first, n, job->single);
    if (code) return code;
    first += n;
    m->nlaunch++;
  }
  return SC_OK;
}

/* ------------------------------------------------------------------ memory */

int sc_cuda_reserve(char **block, size_t *capacity, size_t bytes) {
  if (bytes <= *capacity) return SC_OK;
  if (*block) TRY("sc_solver_pack", cudaFree(*block));
  *block = NULL, *capacity = 0;
  cudaError_t error = cudaMalloc((void **)block, bytes);
  if (error != cudaSuccess) {
    char call[60];
    snprintf(call, sizeof call, "cudaMalloc of %zu bytes", bytes);
    *block = NULL;
    return sc_cuda_error(error, "sc_solver_pack", call);
  }
  *capacity = bytes;
  return SC_OK;
}

/* arrays of a block that do not fit into shared memory */
static int reserve_spill(sc_device_memory *m) {
  size_t bytes = 0;
  for (int k = 0; k < m->nlaunch; k++) bytes += (size_t)m->launches[k].args.slow * (size_t)m->launches[k].blocks;
  int code = sc_cuda_reserve(&m->spill, &m->spill_capacity, bytes);
  if (code) return code;
  char *at = m->spill;
  for (int k = 0; k < m->nlaunch; k++) {
    m->launches[k].args.spill = at;
    at += (size_t)m->launches[k].args.slow * (size_t)m->launches[k].blocks;
  }
  return SC_OK;
}

static int send(sc_device_memory *m, size_t bytes) {
  TRY("sc_solver_pack", cudaMemcpyAsync(m->block, m->staged, bytes, cudaMemcpyHostToDevice, m->device->stream));
  TRY("sc_solver_pack", cudaStreamSynchronize(m->device->stream));
  return SC_OK;
}

/* everything to the device; slots: room for the order of the table */
static int fill(sc_device_memory *m, const sc_device_job *job, const layout *at, const sc_slot **slots) {
  char *host = m->staged;
  sc_cuda_env *env = (sc_cuda_env *)(host + at->env);
  size_t numbers = at->numbers;
  for (int i = 0; i < job->npack; i++) slots[i] = &job->slots[i];
  m->rows = *job->rows;
  if (job->rows->memory) memcpy(host + at->rows, job->rows->memory, sc_device_rows_point(&m->rows, m->block + at->rows));
  qsort(slots, (size_t)job->npack, sizeof *slots, before);
  for (int i = 0; i < job->npack; i++) {
    const sc_slot *slot = slots[i];
    const sc_tiles *a = &slot->pack.a;
    memcpy(host + numbers, slot->block, slot->bytes);
    env[i] = move_pack(slot, m->block + numbers, job->single, job->method != SC_NEWTON);
    attach_rows(&env[i], job, &m->rows);
    env[i].M_first = m->M_offset[env[i].env], env[i].J_first = m->J_offset[env[i].env];
    numbers += round64(slot->bytes);
    if (slot->pack.yadr) memcpy(host + numbers, slot->pack.yadr, dual_bytes(&slot->pack));
    if (a->nb) memcpy(host + at->square[a->nb], a->adr, tiles_bytes(a));
    move_dual(&env[i], m->block + numbers, m->block + at->square[a->nb]);
    numbers += round64(dual_bytes(&slot->pack));
  }
  sc_results_point(&m->there, m->block + at->results, job->sizes);
  memcpy(host + at->results, job->results->block, sc_results_point(&m->there, m->block + at->results, job->sizes));
  memset(host + at->queue, 0, 64);
  int code = sc_cuda_dense_plan(m, job, env, count_dense(job), host + at->dense, m->block + at->dense);
  if (!code) code = make_launches(m, job, at, env);
  if (!code) code = reserve_spill(m);
  sc_cuda_own_arrays(m);
  return code ? code : send(m, at->bytes);
}

/* the device may still read it after an error, until its memory is freed */
static void drop_staged(sc_device_memory *m) {
  free(m->staged);
  m->staged = NULL;
}

/* offsets that the caller sees, on the host */
static int copy_offsets(sc_device_memory *m, const sc_device_job *job) {
  const sc_device_rows *rows = job->rows;
  const sc_results *r = job->results;
  size_t N = job->sizes.N, bytes = (N + 1) * sizeof *m->con_offset;
  free(m->con_offset), free(m->M_offset);
  m->con_offset = rows->memory ? (size_t *)malloc(bytes) : NULL;
  m->M_offset = (size_t *)calloc(2, bytes);
  if (!m->M_offset || (rows->memory && !m->con_offset))
    return sc_error_set(SC_ERROR_MEMORY, "sc_solver_pack: no memory for %zu environments", N);
  if (m->con_offset) memcpy(m->con_offset, rows->con_offset, bytes);
  m->J_offset = m->M_offset + N + 1;
  for (size_t i = 0; i < N; i++) {
    size_t nv = r->nv_offset[i + 1] - r->nv_offset[i], nefc = r->efc_offset[i + 1] - r->efc_offset[i];
    m->M_offset[i + 1] = m->M_offset[i] + nv * nv, m->J_offset[i + 1] = m->J_offset[i] + nefc * nv;
  }
  return SC_OK;
}

int sc_cuda_upload(sc_device *d, sc_device_memory **memory, const sc_device_job *job) {
  sc_cuda_scope scope(d->ordinal);
  TRY("sc_solver_pack", scope.error);
  sc_device_memory *m = *memory ? *memory : (sc_device_memory *)calloc(1, sizeof *m);
  layout at = lay_out(job);
  const sc_slot **slots = (const sc_slot **)malloc(((size_t)job->npack + 1) * sizeof *slots);
  *memory = m;
  int code = SC_OK;
  if (m) {
    m->device = d, m->results = job->results, m->sizes = job->sizes, m->nlaunch = m->large.count = 0;
    if (m->staged) code = sc_cuda_wait(m);
    if (!code) drop_staged(m);
    if (!code) m->staged = (char *)calloc(1, at.bytes);
    if (!code) code = copy_offsets(m, job);
  }
  if (!code && (!m || !m->staged || !slots))
    code = sc_error_set(SC_ERROR_MEMORY, "sc_solver_pack: no memory for %d environments", job->npack);
  if (!code) code = sc_cuda_reserve(&m->block, &m->capacity, at.bytes);
  if (!code) code = fill(m, job, &at, slots);
  if (!code) drop_staged(m);
  free(slots);
  return code;
}

void sc_cuda_forget(sc_device_memory *m) {
  if (!m) return;
  sc_cuda_scope scope(m->device->ordinal);
  if (m->block) cudaFree(m->block);
  if (m->spill) cudaFree(m->spill);
  sc_cuda_dense_forget(m);
  drop_staged(m);
  free(m->con_offset), free(m->M_offset);
  free(m);
}

/* ------------------------------------------------------------------ solving */

int sc_cuda_launch_one(sc_device_memory *m, sc_cuda_kernel kernel, sc_cuda_args *a, int blocks, int threads, size_t shared) {
  void *args[] = {a};
  dim3 grid((unsigned)blocks), block((unsigned)threads);
  TRY("sc_solver_run", cudaLaunchKernel(kernel, grid, block, args, shared, m->device->stream));
  return SC_OK;
}

int sc_cuda_run(sc_device_memory *m) {
  sc_cuda_scope scope(m->device->ordinal);
  TRY("sc_solver_run", scope.error);
  int code = SC_OK;
  for (int k = 0; !code && k < m->nlaunch; k++) {
    sc_cuda_launch *l = &m->launches[k];
    code = l->rounds ? sc_cuda_dense_run(m, l) : sc_cuda_launch_one(m, l->kernel, &l->args, l->blocks, l->threads, l->shared);
  }
  return code;
}

int sc_cuda_wait(sc_device_memory *m) {
  sc_cuda_scope scope(m->device->ordinal);
  TRY("sc_solver_wait", scope.error);
  TRY("sc_solver_wait", cudaStreamSynchronize(m->device->stream));
  return SC_OK;
}

int sc_cuda_download(sc_device_memory *m) {
  sc_cuda_scope scope(m->device->ordinal);
  TRY("sc_solver_result", scope.error);
  cudaStream_t stream = m->device->stream;
  if (!sc_cuda_outputs_are_own(m)) return sc_cuda_download_bound(m);
  /* the arrays before nv_offset and from flags on are those that a run writes */
  char *to = (char *)m->results->block, *from = (char *)m->there.block;
  size_t numbers = (size_t)((char *)m->there.nv_offset - from), flags = (size_t)((char *)m->there.flags - from);
  size_t end = (size_t)((char *)m->there.efc_state - from) + m->sizes.m;
  if (numbers) TRY("sc_solver_result", cudaMemcpyAsync(to, from, numbers, cudaMemcpyDeviceToHost, stream));
  if (end > flags)
    TRY("sc_solver_result", cudaMemcpyAsync(to + flags, from + flags, end - flags, cudaMemcpyDeviceToHost, stream));
  TRY("sc_solver_result", cudaStreamSynchronize(stream));
  return SC_OK;
}
