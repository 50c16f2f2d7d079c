/* Which environments share a pack, and where their rows go. */
#include "pack.h"

#include <string.h>

/* ------------------------------------------------------------------ one environment */

static int dim_index(int dim) { return dim == 3 ? 0 : dim == 4 ? 1 : 2; }

static sc_counts count_rows(const sc_env *e) {
  sc_counts c = {0};
  for (int r = 0, contact = 0; r < e->nefc; r++) {
    int type = e->type[r];
    if (type == SC_EQUALITY) {
      c.ne++;
    } else if (sc_type_is_friction(type)) {
      c.nf++;
    } else if (type == SC_CONTACT_ELLIPTIC) {
      c.ncone[dim_index(e->dim[contact])]++;
      r += e->dim[contact++] - 1;
    } else if (type == SC_CONTACT_PYRAMIDAL) {
      int rows = sc_contact_rows(type, e->dim[contact++]);
      c.nu += rows;
      r += rows - 1;
    } else {
      c.nu++;
    }
  }
  return c;
}

void sc_env_describe(sc_env *e) {
  const uint64_t odd = 0x9E3779B97F4A7C15u;
  uint64_t touched = 0, sum = 0;
  for (int r = 0; r < e->nefc; r++) {
    int n = e->J_rownnz[r];
    const int *col = e->J_colind + e->J_rowadr[r];
    uint64_t first = n ? (uint64_t)(e->nv - 1 - col[0]) : 0, last = n ? (uint64_t)(e->nv - 1 - col[n - 1]) : 0;
    touched |= n ? (uint64_t)1 << (first / 4 % 64) | (uint64_t)1 << (last / 4 % 64) : 0;
    sum += ((uint64_t)e->type[r] + 1 + 8 * (uint64_t)n + (first << 24) + (last << 44)) * (odd + 2 * (uint64_t)r) ^ sum >> 32;
  }
  e->counts = count_rows(e);
  e->touched = touched, e->shape = sum;
}

void sc_map_rows(const sc_env *e, const sc_pack *p, int32_t *map) {
  int ne = 0, nf = p->ne, nu = p->ne + p->nf, cone[SC_NDIM];
  cone[0] = p->conerow;
  for (int k = 1; k < SC_NDIM; k++) cone[k] = cone[k - 1] + sc_dims[k - 1] * p->ncone[k - 1];
  for (int r = 0, contact = 0; r < e->nefc;) {
    int type = e->type[r], rows = sc_type_has_cone(type) ? sc_contact_rows(type, e->dim[contact]) : 1;
    int *next = type == SC_EQUALITY ? &ne : sc_type_is_friction(type) ? &nf : type == SC_CONTACT_ELLIPTIC ? &cone[dim_index(e->dim[contact])] : &nu;
    contact += sc_type_has_cone(type);
    while (rows--) map[r++] = (*next)++;
  }
}

/* ------------------------------------------------------------------ all */

/* environments with equal or near keys do the same work: by size, then by the dofs that rows touch, then by the shape */
typedef struct { uint64_t size, kinds, touched, shape; int32_t env; } key;

static key make_key(const sc_env *e, int env) {
  const sc_counts *c = &e->counts;
  uint64_t kinds = ((uint64_t)(uint32_t)c->ne << 42) + ((uint64_t)(uint32_t)c->nf << 21) + (uint64_t)(uint32_t)c->nu;
  for (int k = 0; k < SC_NDIM; k++) kinds = kinds * 31 + (uint64_t)(uint32_t)c->ncone[k];
  return (key){(uint64_t)(uint32_t)((e->nv + 3) / 4) << 32 | (uint32_t)e->nefc, kinds, e->touched, e->shape, env};
}

static int goes_before(const key *x, const key *y) {
  if (x->size != y->size) return x->size < y->size;
  if (x->kinds != y->kinds) return x->kinds < y->kinds;
  if (x->touched != y->touched) return x->touched < y->touched;
  if (x->shape != y->shape) return x->shape < y->shape;
  return x->env < y->env;
}

/* merge sort of n keys, bottom up, with as much memory behind them; where the sorted keys are */
static key *sort(key *keys, size_t n) {
  key *from = keys, *to = keys + n;
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t begin = 0; begin < n; begin += 2 * width) {
      size_t middle = begin + width < n ? begin + width : n, end = begin + 2 * width < n ? begin + 2 * width : n;
      size_t i = begin, j = middle, k = begin;
      if (middle == end || goes_before(&from[middle - 1], &from[middle])) i = middle, j = end, k = end; /* in order already */
      if (k == end) memcpy(to + begin, from + begin, (end - begin) * sizeof *to);
      while (k < end) to[k++] = i < middle && (j == end || goes_before(&from[i], &from[j])) ? from[i++] : from[j++];
    }
    key *swap = from;
    from = to, to = swap;
  }
  return from;
}

int sc_order(const sc_batch *batch, int lanes, sc_buffer *buffer, int32_t *order, int32_t *starts) {
  key *keys = sc_buffer_get(buffer, 2 * ((size_t)batch->nenv + 1) * sizeof *keys);
  if (!keys) return -1;
  int n = 0, packs = 0;
  for (int i = 0; i < batch->nenv; i++)
    if (!batch->env[i].bad) keys[n++] = make_key(&batch->env[i], i);
  keys = sort(keys, (size_t)n);
  for (int i = 0; i < n; i++) {
    order[i] = keys[i].env;
    if (i == 0 || i - starts[packs - 1] == lanes || keys[i].size >> 32 != keys[i - 1].size >> 32) starts[packs++] = i;
  }
  starts[packs] = n;
  return packs;
}
