/* Which environments share a pack, and where their rows go. */
#include "pack.h"

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

/* Environments with equal keys do the same work. From the top: blocks of dofs and rows (both up to a limit), and hashes of how
 * many rows are of each kind, of the dofs they touch, and of their shape. */
typedef struct { uint64_t key; int32_t env; } order_key;

static uint64_t most(uint64_t x, int bits) { return x < (uint64_t)1 << bits ? x : ((uint64_t)1 << bits) - 1; }
static uint64_t hash(uint64_t x, int bits) { return (x ^ x >> 32) * 0x9E3779B97F4A7C15u >> (64 - bits); }
static uint64_t blocks_of(const sc_env *e) { return (uint64_t)((unsigned)e->nv + 3) / 4; }

static order_key make_key(const sc_env *e, int env) {
  const sc_counts *c = &e->counts;
  uint64_t kinds = ((uint64_t)(uint32_t)c->ne << 42) + ((uint64_t)(uint32_t)c->nf << 21) + (uint64_t)(uint32_t)c->nu;
  for (int k = 0; k < SC_NDIM; k++) kinds = kinds * 31 + (uint64_t)(uint32_t)c->ncone[k];
  uint64_t size = most(blocks_of(e), 11) << 11 | most((uint64_t)(uint32_t)e->nefc, 11);
  return (order_key){(size << 11 | hash(kinds, 11)) << 22 | hash(e->touched, 11) << 11 | hash(e->shape, 11), env};
}

/* stable, digit by digit from below, with as much memory behind the n keys; where the sorted ones are */
static order_key *sort(order_key *keys, size_t n) {
  enum { BITS = 11, DIGITS = 5 };
  order_key *from = keys, *to = keys + n;
  for (int digit = 0; digit < DIGITS; digit++) {
    uint32_t begin[1 << BITS] = {0}, at = 0;
    int shift = digit * BITS, mask = (1 << BITS) - 1;
    for (size_t i = 0; i < n; i++) begin[from[i].key >> shift & (unsigned)mask]++;
    if (n && begin[from[0].key >> shift & (unsigned)mask] == n) continue; /* all alike */
    for (int k = 0; k <= mask; k++) {
      uint32_t count = begin[k];
      begin[k] = at, at += count;
    }
    for (size_t i = 0; i < n; i++) to[begin[from[i].key >> shift & (unsigned)mask]++] = from[i];
    order_key *swap = from;
    from = to, to = swap;
  }
  return from;
}

int sc_order(const sc_batch *batch, int lanes, sc_buffer *buffer, int32_t *order, int32_t *starts) {
  order_key *keys = sc_buffer_get(buffer, 2 * ((size_t)batch->nenv + 1) * sizeof *keys);
  if (!keys) return -1;
  int n = 0, packs = 0;
  for (int i = 0; i < batch->nenv; i++)
    if (!batch->env[i].bad) keys[n++] = make_key(&batch->env[i], i);
  keys = sort(keys, (size_t)n);
  int small = n; /* large ones come first, for they take longest; the keys have them last */
  while (small > 0 && sc_env_is_large(&batch->env[keys[small - 1].env])) small--;
  for (int i = 0; i < n; i++) {
    order[i] = keys[i < n - small ? i + small : i - (n - small)].env;
    int begins = i == 0 || i - starts[packs - 1] == lanes || blocks_of(&batch->env[order[i]]) != blocks_of(&batch->env[order[i - 1]]) ||
                 sc_env_is_large(&batch->env[order[i]]);
    if (begins) starts[packs++] = i;
  }
  starts[packs] = n;
  return packs;
}
