/* Newton's method of environments too large for one block: rounds of a kernel and batched dense routines, all enqueued on the
 * stream without waiting (kernels/dense.inl).
 *
 * An environment's matrices have the size of its class, which is its own whatever its company: dofs rounded up to 32, rows to a
 * power of two or one and a half of it. Those of one class stand together, so that the routines take them at once. */
#include "cuda_blas.h"
#include "cuda_private.h"

#include <stdlib.h>
#include <string.h>

/* Environments share this much memory at most, chunk by chunk, unless one alone takes more. */
#ifndef SC_DENSE_BYTES
#define SC_DENSE_BYTES ((size_t)4 << 30)
#endif

/* Environments of a class in a chunk, count from the first of the table: where the arrays of the first begin. */
typedef struct sc_cuda_group {
  int first, count, n, m;
  size_t H, J, Z, v, rounds;/* offsets in the memory of the chunk */
  size_t kept;              /* bytes of all that stays between two rounds */
} sc_cuda_group;

/* groups that are in memory at the same time */
typedef struct sc_cuda_chunk {
  int first, count;         /* environments */
  int first_group, groups;
} sc_cuda_chunk;

static size_t round256(size_t n) { return (n + 255) / 256 * 256; }

int sc_cuda_is_dense(const sc_pack *p, int method) { return method == SC_NEWTON && p->nb > SC_DENSE_BLOCKS; }

static int row_class(int m) {
  int size = 64;
  if (m == 0) return 0;
  while (size < m && size + size / 2 < m) size *= 2;
  return size < m ? size + size / 2 : size;
}

void sc_cuda_class(const sc_pack *p, int *n, int *m) {
  *n = p->nb > SC_DENSE_BLOCKS ? (p->nv4 + 31) / 32 * 32 : p->nv4;
  *m = p->nb > SC_DENSE_BLOCKS ? row_class(p->nefc) : p->nefc;
}

/* ------------------------------------------------------------------ packing */

/* tables on the device: descriptions, pointers to factors and vectors, what the routines say of each, and once more */
typedef struct tables {
  sc_cuda_dense *dense;
  void **factors, **vectors;
  int *info;
} tables;

static tables point(char *at, int n) {
  tables t;
  t.dense = (sc_cuda_dense *)at;
  t.factors = (void **)(t.dense + n), t.vectors = t.factors + n;
  t.info = (int *)(t.vectors + n);
  return t;
}

size_t sc_cuda_dense_bytes(int n) { return (size_t)((char *)(point(NULL, n).info + n + 1) - (char *)NULL); }

/* bytes of what stays of an environment between two rounds */
static size_t rounds_bytes(const sc_cuda_env *e, int single) {
  sc_cuda_env copy = *e;
  sc_work iterate, judge;
  sc_cuda_copy copies[SC_CUDA_PIECES];
  sc_cuda_map m = {NULL, NULL, 0, 0, 0, 0};
  copy.near = 0;
  sc_cuda_place(&m, &copy, single, &iterate, &judge, copies);
  return round256(sizeof(sc_cuda_rounds) + m.spilled);
}

/* the arrays of a group behind `bytes` of its chunk; returns the bytes with them */
static size_t place_group(sc_cuda_group *g, int single, size_t bytes) {
  size_t element = single ? sizeof(float) : sizeof(double), n = (size_t)g->n, count = (size_t)g->count;
  g->H = bytes, bytes += round256(count * n * n * element);
  g->J = bytes, bytes += round256(count * n * (size_t)g->m * element);
  g->Z = bytes, bytes += round256(count * n * (size_t)g->m * element);
  g->v = bytes, bytes += round256(count * n * element);
  g->rounds = bytes;
  return bytes + g->kept;
}

/* groups and chunks of the first n environments; returns the bytes of the largest chunk, 0: some class is beyond what the kernels
 * count */
static size_t divide(sc_cuda_large *l, const sc_cuda_env *env, int n) {
  size_t most = 0, bytes = 0;
  l->nchunk = l->ngroup = 0;
  for (int i = 0; i < n; i++) {
    sc_cuda_chunk *c = l->nchunk ? &l->chunk[l->nchunk - 1] : NULL;
    sc_cuda_group *g = c ? &l->group[l->ngroup - 1] : NULL, alone = {i, 1, 0, 0, 0, 0, 0, 0, 0, 0}, grown;
    alone.kept = rounds_bytes(env + i, l->single);
    sc_cuda_class(&env[i].pack, &alone.n, &alone.m);
    if ((int64_t)alone.n * (alone.n > alone.m ? alone.n : alone.m) > INT32_MAX) return 0;
    int joins = g && g->n == alone.n && g->m == alone.m;
    grown = joins ? *g : alone;
    if (joins) grown.count++, grown.kept += alone.kept;
    size_t with = place_group(&grown, l->single, joins ? g->H : bytes);
    if (!c || with > SC_DENSE_BYTES) { /* another chunk */
      c = &l->chunk[l->nchunk++];
      *c = sc_cuda_chunk{i, 0, l->ngroup, 0};
      joins = 0, grown = alone;
      with = place_group(&grown, l->single, 0);
    }
    if (!joins) g = &l->group[l->ngroup++], c->groups++;
    *g = grown, c->count++, bytes = with;
    if (bytes > most) most = bytes;
  }
  return most;
}

static void describe(const sc_cuda_large *l, const sc_cuda_env *env, tables to, tables at) {
  size_t element = l->single ? sizeof(float) : sizeof(double);
  for (int k = 0; k < l->ngroup; k++) {
    const sc_cuda_group *g = &l->group[k];
    size_t n = (size_t)g->n, nm = n * (size_t)g->m, rounds = g->rounds;
    for (int i = 0; i < g->count; i++) {
      sc_cuda_dense *d = to.dense + g->first + i;
      d->n = g->n, d->m = g->m;
      d->H = l->memory + g->H + (size_t)i * n * n * element, d->v = l->memory + g->v + (size_t)i * n * element;
      d->J = l->memory + g->J + (size_t)i * nm * element, d->Z = l->memory + g->Z + (size_t)i * nm * element;
      d->memory = l->memory + rounds, d->info = at.info + g->first + i;
      to.factors[g->first + i] = d->H.at, to.vectors[g->first + i] = d->v.at;
      rounds += rounds_bytes(env + g->first + i, l->single);
    }
  }
}

int sc_cuda_dense_plan(sc_device_memory *m, const sc_device_job *job, const sc_cuda_env *env, int n, char *host, char *at) {
  sc_cuda_large *l = &m->large;
  l->count = 0, l->single = job->single;
  l->rounds = job->task.iterations < SC_DENSE_ROUNDS ? job->task.iterations : SC_DENSE_ROUNDS;
  if (n == 0 || l->rounds <= 0) return SC_OK;
  int code = m->device->blas ? SC_OK : sc_cuda_blas_open(&m->device->blas, m->device->stream);
  if (code || !m->device->blas) return code;
  free(l->chunk), free(l->group);
  l->chunk = (sc_cuda_chunk *)malloc((size_t)n * sizeof *l->chunk);
  l->group = (sc_cuda_group *)malloc((size_t)n * sizeof *l->group);
  if (!l->chunk || !l->group) return sc_error_set(SC_ERROR_MEMORY, "sc_solver_pack: no memory for %d environments", job->npack);
  size_t bytes = divide(l, env, n);
  if (bytes == 0 || sc_cuda_reserve(&l->memory, &l->capacity, bytes)) return SC_OK; /* without memory there is the other way */
  describe(l, env, point(host, n), point(at, n));
  l->tables = at, l->count = n;
  return SC_OK;
}

void sc_cuda_dense_forget(sc_device_memory *m) {
  if (m->large.memory) cudaFree(m->large.memory);
  free(m->large.chunk), free(m->large.group);
}

/* ------------------------------------------------------------------ running */

/* every direction of a chunk, group by group; factors and solutions of all that have as many dofs at once */
static int make_directions(sc_device_memory *m, const sc_cuda_chunk *c) {
  const sc_cuda_large *l = &m->large;
  tables t = point(l->tables, l->count);
  int code = SC_OK, waiting = 0;
  for (int k = 0; !code && k < c->groups; k++) {
    const sc_cuda_group *g = &l->group[c->first_group + k];
    sc_cuda_systems s = {l->single, g->count, g->n, g->m};
    s.H = l->memory + g->H, s.J = l->memory + g->J, s.Z = l->memory + g->Z;
    if (g->m) code = sc_cuda_blas_hessian(m->device->blas, &s);
    waiting += g->count;
    if (code || (k + 1 < c->groups && g[1].n == g->n)) continue;
    s.count = waiting;
    int first = g->first + g->count - waiting;
    s.factors = t.factors + first, s.vectors = t.vectors + first, s.info = t.info + first, s.said = t.info + l->count;
    code = sc_cuda_blas_factor(m->device->blas, &s);
    if (!code) code = sc_cuda_blas_solve(m->device->blas, &s);
    waiting = 0;
  }
  return code;
}

int sc_cuda_dense_run(sc_device_memory *m, const sc_cuda_launch *finish) {
  const sc_cuda_large *l = &m->large;
  sc_cuda_kernel begin = l->single ? sc_cuda_dense_begin_f32 : sc_cuda_dense_begin_f64;
  sc_cuda_kernel step = l->single ? sc_cuda_dense_step_f32 : sc_cuda_dense_step_f64;
  int code = SC_OK;
  for (int k = 0; !code && k < l->nchunk; k++) {
    const sc_cuda_chunk *c = &l->chunk[k];
    sc_cuda_args a = finish->args;
    a.env += c->first, a.nenv = c->count, a.dense = point(l->tables, l->count).dense + c->first, a.rounds = l->rounds;
    code = sc_cuda_launch_one(m, begin, &a, c->count, SC_TEAM_LARGE, 0);
    for (int round = 0; !code && round < l->rounds; round++) {
      code = make_directions(m, c);
      if (!code) code = sc_cuda_launch_one(m, step, &a, c->count, SC_TEAM_LARGE, 0);
    }
    int blocks = finish->blocks < c->count ? finish->blocks : c->count;
    if (!code) code = sc_cuda_launch_one(m, finish->kernel, &a, blocks, finish->threads, finish->shared);
  }
  return code;
}
