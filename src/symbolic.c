/* The patterns of a pack: which blocks of J, which tiles of M, of its factor and of the factor of H may be non-zero, and
 * what adds to each tile. A pattern is the union over the pack's environments of each one's own.
 *
 * Sets of dof blocks are bit sets of `words` words. A matrix's pattern is a set per block column: its rows >= the column. */
#include "symbolic.h"

#include <stdlib.h>
#include <string.h>

typedef uint64_t word;

void *sc_buffer_get(sc_buffer *b, size_t bytes) {
  if (bytes > b->capacity) {
    free(b->data);
    b->capacity = bytes + bytes / 4;
    b->data = malloc(b->capacity);
    if (!b->data) b->capacity = 0;
  }
  return b->data;
}

/* all buffers of a packer */
#define PACKER_BUFFERS(p)                                                                                                   \
  {&p->envrow, &p->offset, &p->key, &p->rowsets, &p->mcols, &p->hcols, &p->mindex, &p->hindex, &p->mates, &p->found,       \
   &p->pattern, &p->place, &p->mints}

void sc_packer_free(sc_packer *p) {
  const sc_buffer *all[] = PACKER_BUFFERS(p);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->data);
  free(p->mlists);
  sc_structures_free(&p->structures);
  memset(p, 0, sizeof *p);
}

size_t sc_packer_bytes(const sc_packer *p) {
  const sc_buffer *all[] = PACKER_BUFFERS(p);
  size_t bytes = sc_structures_bytes(&p->structures);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) bytes += all[i]->capacity;
  return bytes;
}

/* ------------------------------------------------------------------ sets */

static void add(word *set, int i) { set[(unsigned)i / 64] |= (word)1 << ((unsigned)i % 64); }
static int has(const word *set, int i) { return (int)(set[(unsigned)i / 64] >> ((unsigned)i % 64) & 1); }

/* out |= in, members >= from only */
static void join_from(word *out, const word *in, int words, int from) {
  int w = from / 64;
  out[w] |= in[w] & (~(word)0 << (from % 64));
  for (w++; w < words; w++) out[w] |= in[w];
}

/* smallest member >= from, or -1 */
static int next(const word *set, int words, int from) {
  int w = from / 64;
  if (w >= words) return -1;
  word bits = set[w] & (~(word)0 << (from % 64));
  while (!bits)
    if (++w >= words) return -1;
    else bits = set[w];
  return 64 * w + __builtin_ctzll(bits);
}

/* for every member b of a set */
#define EACH_MEMBER(b, set, words, from) for (int b = next(set, words, from); b >= 0; b = next(set, words, b + 1))

/* ------------------------------------------------------------------ patterns */

/* What a structure follows from, besides the blocks of M's columns: a key begins with it. */
typedef struct { int32_t nb, ne, nf, nu, ncone[SC_NDIM], nsets; } key_head;

typedef struct {
  sc_slot *slot;
  const sc_batch *batch;
  int lanes, nb, words, nefc;
  int nsets;                /* environments whose rows touch different blocks */
  word *key;                /* head, mcols, and from here: */
  word *lanesets;           /* nsets x nefc sets */
  size_t key_words;
  word *rowsets;            /* nefc sets: union over lanes */
  word *mcols, *hcols;      /* nb sets each */
  const sc_row_places *places;
  int32_t *envrow;          /* lanes x nefc */
  int uniform;              /* M of all has one pattern */
} builder;

#define HEAD_WORDS (sizeof(key_head) / sizeof(word))

static const sc_env *lane_env(const builder *b, int l) { return b->slot->env[l] < 0 ? NULL : &b->batch->env[b->slot->env[l]]; }

static void count_kinds(builder *b) {
  sc_pack *p = &b->slot->pack;
  memset(p, 0, sizeof *p);
  for (int l = 0; l < b->lanes; l++) {
    const sc_env *e = lane_env(b, l);
    if (!e) continue;
#define MOST(x, y) x = (y) > (x) ? (y) : (x)
    MOST(p->ne, e->counts.ne);
    MOST(p->nf, e->counts.nf);
    MOST(p->nu, e->counts.nu);
    for (int k = 0; k < SC_NDIM; k++) MOST(p->ncone[k], e->counts.ncone[k]);
    MOST(b->nb, (e->nv + 3) / 4);
#undef MOST
  }
  p->nb = b->nb, p->nv4 = 4 * b->nb, p->hessian = 1;
  p->conerow = p->ne + p->nf + p->nu;
  p->nefc = p->conerow;
  for (int k = 0; k < SC_NDIM; k++) p->nefc += sc_dims[k] * p->ncone[k];
  b->nefc = p->nefc;
  b->words = b->nb / 64 + 1;
}

static int get_memory(builder *b, sc_packer *k) {
  size_t words = (size_t)b->words, set = words * sizeof(word), rows = (size_t)b->nefc, lanes = (size_t)b->lanes, nb = (size_t)b->nb;
  b->envrow = sc_buffer_get(&k->envrow, lanes * rows * sizeof *b->envrow + 8);
  b->key = sc_buffer_get(&k->key, HEAD_WORDS * sizeof(word) + (nb + lanes * rows) * set);
  b->rowsets = sc_buffer_get(&k->rowsets, rows * set + 8);
  if (!k->same) b->mcols = sc_buffer_get(&k->mcols, (nb + 1) * set);
  b->mcols = k->mcols.data;
  b->hcols = sc_buffer_get(&k->hcols, (nb + 1) * set);
  if (!b->envrow || !b->key || !b->rowsets || !b->mcols || !b->hcols) return 0;
  b->lanesets = b->key + HEAD_WORDS + nb * words;
  if (!k->same) memset(b->mcols, 0, (nb + 1) * set);
  return 1;
}

/* whether an environment's M has the pattern that is kept */
static int has_pattern(const sc_packer *k, const sc_env *e) {
  const int *nnz = k->pattern.data;
  return k->kept_entries && e->nv == k->kept_nv && sc_env_entries(e) == k->kept_entries &&
         !memcmp(nnz, e->M_rownnz, (size_t)e->nv * sizeof *nnz) && !memcmp(nnz + e->nv, e->M_colind, (size_t)k->kept_entries * sizeof *nnz);
}

/* keep the pattern of the pack's first environment, unless it is kept already; k->same: the lists that follow from it too */
static int compare_patterns(builder *b, sc_packer *k) {
  const sc_env *first = lane_env(b, 0);
  int kept = has_pattern(k, first), all = sc_env_entries(first) > 0;
  if (!kept) k->kept_entries = 0;
  if (!kept && all) {
    size_t nv = (size_t)first->nv, n = (size_t)sc_env_entries(first);
    int *nnz = sc_buffer_get(&k->pattern, (nv + n + 1) * sizeof *nnz);
    if (!nnz) return 0;
    memcpy(nnz, first->M_rownnz, nv * sizeof *nnz);
    memcpy(nnz + nv, first->M_colind, n * sizeof *nnz);
    k->kept_nv = first->nv, k->kept_entries = (int)n;
  }
  for (int l = 1; l < b->lanes; l++)
    if (lane_env(b, l)) all = all && has_pattern(k, lane_env(b, l));
  k->same = all && kept && k->place.data != NULL;
  b->uniform = all;
  return 1;
}

/* blocks of the rows of one environment; rows of an elliptic contact all get their union, for its curvature couples them */
static void lane_rows(builder *b, int l, const sc_env *e, word *sets) {
  size_t words = (size_t)b->words;
  int32_t *envrow = b->envrow + (size_t)l * (size_t)b->nefc, *map = b->places->row + b->places->offset[b->slot->env[l]];
  memset(sets, 0, (size_t)b->nefc * words * sizeof *sets);
  memset(envrow, -1, (size_t)b->nefc * sizeof *envrow);
  sc_map_rows(e, &b->slot->pack, map);
  for (int r = 0; r < e->nefc; r++) {
    word *set = sets + (size_t)map[r] * words;
    const int *col = e->J_colind + e->J_rowadr[r];
    envrow[map[r]] = r;
    if (e->alike[r])
      memcpy(set, sets + (size_t)map[r - 1] * words, words * sizeof *set);
    else
      for (int k = 0; k < e->J_rownnz[r]; k++) add(set, (e->nv - 1 - col[k]) / 4);
  }
  for (int k = 0, row = b->slot->pack.conerow; k < SC_NDIM; k++)
    for (int c = 0; c < b->slot->pack.ncone[k]; c++, row += sc_dims[k]) {
      word *first = sets + (size_t)row * words;
      for (int j = 1; j < sc_dims[k]; j++) join_from(first, first + (size_t)j * words, b->words, 0);
      for (int j = 1; j < sc_dims[k]; j++) memcpy(first + (size_t)j * words, first, words * sizeof *first);
    }
}

static int same_ints(const int *x, const int *y, int n) { return !memcmp(x, y, (size_t)n * sizeof *x); }

/* whether rows of two environments are of the same kinds and have the same columns */
static int same_rows(const sc_env *x, const sc_env *y) {
  if (x->shape != y->shape || x->nv != y->nv || x->nefc != y->nefc || x->ncon != y->ncon) return 0;
  int entries = x->nefc ? x->J_rowadr[x->nefc - 1] + x->J_rownnz[x->nefc - 1] : 0;
  return !x->nefc || (same_ints(x->type, y->type, x->nefc) && same_ints(x->J_rownnz, y->J_rownnz, x->nefc) &&
                      same_ints(x->J_colind, y->J_colind, entries) && (!x->ncon || same_ints(x->dim, y->dim, x->ncon)));
}

/* the row sets of all lanes, one of each kind */
static void find_lanes(builder *b, uint8_t *repeats) {
  size_t one = (size_t)b->nefc * (size_t)b->words;
  const sc_env *before = NULL;
  for (int l = 0; l < b->lanes; l++) {
    const sc_env *e = lane_env(b, l);
    repeats[l] = before && e && same_rows(before, e);
    if (!e) continue;
    if (repeats[l]) {
      int32_t *row = b->places->row, *envrow = b->envrow + (size_t)l * (size_t)b->nefc;
      const size_t *at = b->places->offset;
      memcpy(row + at[b->slot->env[l]], row + at[b->slot->env[l - 1]], (size_t)e->nefc * sizeof *row);
      memcpy(envrow, envrow - b->nefc, (size_t)b->nefc * sizeof *envrow);
      continue;
    }
    before = e;
    word *sets = b->lanesets + (size_t)b->nsets * one;
    lane_rows(b, l, e, sets);
    int known = 0;
    for (int k = b->nsets - 1; k >= 0 && !known; k--) known = !memcmp(b->lanesets + (size_t)k * one, sets, one * sizeof *sets);
    b->nsets += !known;
  }
}

/* the key's head and its columns of M, and a hash of it all */
static uint64_t finish_key(builder *b) {
  const sc_pack *p = &b->slot->pack;
  size_t cols = (size_t)b->nb * (size_t)b->words;
  key_head head = {b->nb, p->ne, p->nf, p->nu, {p->ncone[0], p->ncone[1], p->ncone[2]}, b->nsets};
  memcpy(b->key, &head, sizeof head);
  memcpy(b->key + HEAD_WORDS, b->mcols, cols * sizeof *b->key);
  b->key_words = HEAD_WORDS + cols + (size_t)b->nsets * (size_t)b->nefc * (size_t)b->words;
  uint64_t hash = 0;
  for (size_t i = 0; i < b->key_words; i++) hash += (b->key[i] ^ b->key[i] >> 32) * (0x9E3779B97F4A7C15u + 2 * i);
  return hash ^ hash >> 29;
}

/* with a column's rows, every pair of them: the factor fills in at the column's first row below the diagonal */
static void fill_in(word *cols, int nb, int words) {
  for (int k = 0; k < nb; k++) {
    const word *col = cols + (size_t)k * (size_t)words;
    int parent = next(col, words, k + 1);
    if (parent >= 0) join_from(cols + (size_t)parent * (size_t)words, col, words, parent);
  }
}

/* entry (i, j), j <= i, of M is (nv-1-j, nv-1-i) in reverse order */
static void find_inertia(builder *b) {
  int nb = b->nb, words = b->words;
  for (int i = 0; i < nb; i++) add(b->mcols + (size_t)i * (size_t)words, i);
  for (int l = 0; l < (b->uniform ? 1 : b->lanes); l++) {
    const sc_env *e = lane_env(b, l);
    for (int i = 0; e && i < e->nv; i++)
      for (int k = 0; k < e->M_rownnz[i]; k++)
        add(b->mcols + (size_t)((e->nv - 1 - i) / 4) * (size_t)words, (e->nv - 1 - e->M_colind[e->M_rowadr[i] + k]) / 4);
  }
  fill_in(b->mcols, nb, words);
}

static const word *lane_set(const builder *b, int k, int row) {
  return b->lanesets + ((size_t)k * (size_t)b->nefc + (size_t)row) * (size_t)b->words;
}

static int same_set(const builder *b, const word *x, const word *y) { return !memcmp(x, y, (size_t)b->words * sizeof *x); }

static void find_rows(builder *b) {
  int nb = b->nb, words = b->words;
  memcpy(b->hcols, b->mcols, (size_t)nb * (size_t)words * sizeof(word));
  memset(b->rowsets, 0, (size_t)b->nefc * (size_t)words * sizeof(word));
  for (int k = 0; k < b->nsets; k++)
    for (int r = 0; r < b->nefc; r++) {
      const word *set = lane_set(b, k, r);
      join_from(b->rowsets + (size_t)r * (size_t)words, set, words, 0);
      if ((r && same_set(b, set, set - words)) || (k && same_set(b, set, lane_set(b, k - 1, r)))) continue; /* joined already */
      EACH_MEMBER(j, set, words, 0) join_from(b->hcols + (size_t)j * (size_t)words, set, words, j);
    }
  fill_in(b->hcols, nb, words);
}

/* ------------------------------------------------------------------ lists */

/* Integers are first written here; their places in the slot's memory are known only at the end. */
typedef struct {
  sc_buffer *buffer;
  size_t used;              /* integers */
  int failed;
} writer;

/* room for n more integers; the offset of the first */
static size_t reserve(writer *w, size_t n) {
  size_t at = w->used, need = (w->used + n) * sizeof(int32_t);
  if (need > w->buffer->capacity) {
    void *bigger = realloc(w->buffer->data, 2 * need);
    if (!bigger) {
      w->failed = 1;
      return 0;
    }
    w->buffer->data = bigger;
    w->buffer->capacity = 2 * need;
  }
  w->used += n;
  return at;
}

static int32_t *ints(const writer *w, size_t at) { return (int32_t *)w->buffer->data + at; }

/* turn counts in c[1 .. n] into offsets: c[0] = 0, c[i] = sum of the first i */
static void accumulate(int32_t *c, int n) {
  c[0] = 0;
  for (int i = 1; i <= n; i++) c[i] += c[i - 1];
}

/* tiles by column and by row; index[i nb + j]: number of tile (i, j) */
static void list_tiles(writer *w, const builder *b, const word *cols, int32_t *index, sc_tile_lists *t) {
  int nb = b->nb, words = b->words, n = 0;
  for (int j = 0; j < nb; j++) EACH_MEMBER(i, cols + (size_t)j * (size_t)words, words, j) n++;
  t->ntile = n;
  t->adr = reserve(w, (size_t)nb + 1);
  t->row = reserve(w, (size_t)n);
  t->rowadr = reserve(w, (size_t)nb + 1);
  t->rowtile = reserve(w, (size_t)(n - nb));
  t->rowcol = reserve(w, (size_t)(n - nb));
  if (w->failed) return;
  int32_t *adr = ints(w, t->adr), *row = ints(w, t->row), *rowadr = ints(w, t->rowadr);
  memset(rowadr, 0, ((size_t)nb + 1) * sizeof *rowadr);
  int at = 0;
  for (int j = 0; j < nb; j++) {
    adr[j] = at;
    EACH_MEMBER(i, cols + (size_t)j * (size_t)words, words, j) {
      index[(size_t)i * (size_t)nb + (size_t)j] = at;
      row[at++] = i;
      if (i > j) rowadr[i + 1]++;
    }
  }
  adr[nb] = at;
  accumulate(rowadr, nb);
  int32_t *place = ints(w, t->rowtile), *col = ints(w, t->rowcol);
  for (int j = 0; j < nb; j++) /* columns ascend within a row */
    for (int e = adr[j] + 1; e < adr[j + 1]; e++) {
      int k = rowadr[row[e]]++;
      place[k] = e, col[k] = j;
    }
  for (int i = nb; i > 0; i--) rowadr[i] = rowadr[i - 1];
  rowadr[0] = 0;
}

/* products of the factorisation: for each column k, every pair of its rows */
static void list_pairs(writer *w, const builder *b, const int32_t *index, sc_tile_lists *t) {
  int nb = b->nb, n = t->ntile;
  t->pairadr = reserve(w, (size_t)n + 1);
  if (w->failed) return;
  int32_t *count = ints(w, t->pairadr);
  memset(count, 0, ((size_t)n + 1) * sizeof *count);
  for (int pass = 0; pass < 2; pass++) {
    const int32_t *adr = ints(w, t->adr), *row = ints(w, t->row);
    for (int k = 0; k < nb; k++)
      for (int y = adr[k] + 1; y < adr[k + 1]; y++)
        for (int x = y; x < adr[k + 1]; x++) {
          int tile = index[(size_t)row[x] * (size_t)nb + (size_t)row[y]];
          if (pass == 0) {
            count[tile + 1]++;
          } else {
            int32_t *pair = ints(w, t->pair) + 2 * (size_t)count[tile]++;
            pair[0] = x, pair[1] = y;
          }
        }
    if (pass == 0) {
      accumulate(count, n);
      t->pair = reserve(w, 2 * (size_t)count[n]);
      if (w->failed) return;
      count = ints(w, t->pairadr);
    }
  }
  for (int i = n; i > 0; i--) count[i] = count[i - 1];
  count[0] = 0;
}

static void list_blocks(writer *w, const builder *b, sc_row_lists *t) {
  t->jadr = reserve(w, (size_t)b->nefc + 1);
  if (w->failed) return;
  int32_t *jadr = ints(w, t->jadr);
  int n = 0;
  for (int r = 0; r < b->nefc; r++) {
    jadr[r] = n;
    EACH_MEMBER(c, b->rowsets + (size_t)r * (size_t)b->words, b->words, 0) n++;
  }
  jadr[b->nefc] = t->nblock = n;
  t->jcol = reserve(w, (size_t)n);
  if (w->failed) return;
  int32_t *jcol = ints(w, t->jcol);
  for (int r = 0, at = 0; r < b->nefc; r++) EACH_MEMBER(c, b->rowsets + (size_t)r * (size_t)b->words, b->words, 0) jcol[at++] = c;
}

/* Rows r .. end-1 touch the same blocks in every lane, and are all scalar or all of elliptic contacts: returns end. */
static int alike_until(const builder *b, int r) {
  int conerow = b->slot->pack.conerow, last = r < conerow ? conerow : b->nefc, end = r + 1;
  for (int same = 1; end < last; end++) {
    for (int k = 0; k < b->nsets && same; k++) same = same_set(b, lane_set(b, k, end), lane_set(b, k, r));
    if (!same) break;
  }
  return end;
}

/* mates[x]: the blocks that stand together with block jcol[x] in row r of some lane. A pair that no lane has adds nothing,
 * though the union of the lanes' rows has both */
static void find_mates(const builder *b, int r, const int32_t *jcol, int n, word *mates) {
  int words = b->words;
  memset(mates, 0, (size_t)n * (size_t)words * sizeof *mates);
  for (int k = 0; k < b->nsets; k++) {
    const word *set = lane_set(b, k, r);
    if (k && same_set(b, set, lane_set(b, k - 1, r))) continue;
    for (int x = 0; x < n; x++)
      if (has(set, jcol[x])) join_from(mates + (size_t)x * (size_t)words, set, words, 0);
  }
}

/* blocks x, y of rows row .. row+rows-1 add to a tile; in the order in which they are found: rows ascend */
typedef struct { int32_t tile, row, rows, x, y; } found_term;

/* memory for all terms and for the mates of a row; 0: none */
static int reserve_terms(const builder *b, sc_packer *k, const int32_t *jadr) {
  size_t most = 0;
  for (int r = 0; r < b->nefc; r++) {
    size_t blocks = (size_t)(jadr[r + 1] - jadr[r]);
    most += blocks * (blocks + 1) / 2;
  }
  return most <= INT32_MAX / 3 && sc_buffer_get(&k->found, most * sizeof(found_term) + 8) &&
         sc_buffer_get(&k->mates, (size_t)b->nb * (size_t)b->words * sizeof(word) + 8);
}

/* all terms in packer->found, their numbers per tile in count[tile + 1], those of scalar rows in scalar[tile] */
static int find_terms(const builder *b, sc_packer *k, const writer *w, const sc_row_lists *t, const int32_t *index, int32_t *count, int32_t *scalar) {
  const int32_t *jadr = ints(w, t->jadr), *jcol = ints(w, t->jcol);
  found_term *found = k->found.data;
  word *mates = k->mates.data;
  int n = 0;
  for (int r = 0, end; r < b->nefc; r = end) {
    const int32_t *col = jcol + jadr[r];
    int blocks = jadr[r + 1] - jadr[r], rows = (end = alike_until(b, r)) - r;
    find_mates(b, r, col, blocks, mates);
    for (int y = 0; y < blocks; y++)
      for (int x = y; x < blocks; x++) {
        if (!has(mates + (size_t)x * (size_t)b->words, col[y])) continue;
        int tile = index[(size_t)col[x] * (size_t)b->nb + (size_t)col[y]];
        count[tile + 1] += rows;
        if (r < b->slot->pack.conerow) scalar[tile] += rows;
        found[n++] = (found_term){tile, r, rows, x, y};
      }
  }
  return n;
}

/* rows that add to each tile of H, in ascending order */
static void list_terms(writer *w, const builder *b, sc_packer *k, const int32_t *index, int ntile, sc_row_lists *t) {
  t->termadr = reserve(w, (size_t)ntile + 1);
  t->termcone = reserve(w, (size_t)ntile);
  w->failed |= !reserve_terms(b, k, ints(w, t->jadr));
  if (w->failed) return;
  int32_t *adr = ints(w, t->termadr), *cone = ints(w, t->termcone);
  memset(adr, 0, ((size_t)ntile + 1) * sizeof *adr);
  memset(cone, 0, (size_t)ntile * sizeof *cone);
  int n = find_terms(b, k, w, t, index, adr, cone);
  accumulate(adr, ntile);
  t->term = reserve(w, 3 * (size_t)adr[ntile]);
  if (w->failed) return;
  adr = ints(w, t->termadr), cone = ints(w, t->termcone);
  for (int i = 0; i < ntile; i++) cone[i] += adr[i];
  const found_term *found = k->found.data;
  const int32_t *jadr = ints(w, t->jadr);
  for (const found_term *f = found; f < found + n; f++) {
    int blocks = jadr[f->row + 1] - jadr[f->row], first = jadr[f->row];
    int32_t *term = ints(w, t->term) + 3 * (size_t)adr[f->tile];
    adr[f->tile] += f->rows;
    for (int i = 0; i < f->rows; i++, first += blocks, term += 3) term[0] = f->row + i, term[1] = first + f->x, term[2] = first + f->y;
  }
  for (int i = ntile; i > 0; i--) adr[i] = adr[i - 1];
  adr[0] = 0;
}

/* ------------------------------------------------------------------ M */

/* where each entry of the kept pattern goes: element of the tiles, and that of its mirror image in a diagonal tile, else the same */
static int place_entries(sc_packer *k, int nb) {
  int32_t *place = sc_buffer_get(&k->place, 2 * (size_t)k->kept_entries * sizeof *place + 8);
  const int32_t *index = k->mindex.data;
  const int *nnz = k->pattern.data, *col = nnz + k->kept_nv;
  if (!place) return 0;
  for (int i = 0, e = 0; i < k->kept_nv; i++)
    for (int n = nnz[i]; n--; e++) {
      int row = k->kept_nv - 1 - col[e], column = k->kept_nv - 1 - i, tile = 16 * index[(size_t)(row / 4) * (size_t)nb + (size_t)(column / 4)];
      place[2 * e] = tile + 4 * (row % 4) + column % 4;
      place[2 * e + 1] = row / 4 == column / 4 ? tile + 4 * (column % 4) + row % 4 : place[2 * e];
    }
  return 1;
}

/* the lists of M, made unless those of the pack before serve */
static int list_inertia(builder *b, sc_packer *k) {
  if (k->same) return 1;
  size_t nb = (size_t)b->nb;
  writer w = {.buffer = &k->mints};
  int32_t *index = sc_buffer_get(&k->mindex, nb * nb * sizeof *index + 8);
  if (!k->mlists) k->mlists = malloc(sizeof *k->mlists);
  if (!index || !k->mlists) return 0;
  memset(k->mlists, 0, sizeof *k->mlists);
  find_inertia(b);
  list_tiles(&w, b, b->mcols, index, k->mlists);
  if (!w.failed) list_pairs(&w, b, index, k->mlists);
  k->mlists->end = w.used;
  k->same = b->uniform && place_entries(k, b->nb);
  if (!k->same) k->kept_entries = 0; /* what is here now belongs to several patterns */
  return !w.failed;
}

/* ------------------------------------------------------------------ the structure */

static void list_mtiles(writer *w, const builder *b, const int32_t *mindex, const sc_tile_lists *h, sc_row_lists *r) {
  r->mtile = reserve(w, (size_t)h->ntile);
  if (w->failed) return;
  int32_t *mtile = ints(w, r->mtile), *adr = ints(w, h->adr), *row = ints(w, h->row);
  for (int j = 0; j < b->nb; j++)
    for (int e = adr[j]; e < adr[j + 1]; e++)
      mtile[e] = has(b->mcols + (size_t)j * (size_t)b->words, row[e]) ? mindex[(size_t)row[e] * (size_t)b->nb + (size_t)j] : -1;
}

/* everything that follows from the key; 0: no memory */
static int make_structure(builder *b, sc_packer *k, sc_structure *s) {
  size_t nb = (size_t)b->nb;
  writer w = {.buffer = &s->ints};
  int32_t *index = sc_buffer_get(&k->hindex, nb * nb * sizeof *index + 8);
  s->m = *k->mlists;
  reserve(&w, s->m.end);
  if (!index || w.failed) return 0;
  memcpy(w.buffer->data, k->mints.data, s->m.end * sizeof(int32_t));
  find_rows(b);
  list_tiles(&w, b, b->hcols, index, &s->h);
  if (!w.failed) list_pairs(&w, b, index, &s->h);
  if (!w.failed) list_mtiles(&w, b, k->mindex.data, &s->h, &s->rows);
  if (!w.failed) list_blocks(&w, b, &s->rows);
  if (!w.failed) list_terms(&w, b, k, index, s->h.ntile, &s->rows);
  s->count = w.used;
  return !w.failed;
}

/* ------------------------------------------------------------------ the slot */

static void point_tiles(sc_tiles *t, const sc_tile_lists *l, const int32_t *base, int nb) {
  *t = (sc_tiles){.nb = nb, .ntile = l->ntile, .adr = base + l->adr, .row = base + l->row, .rowadr = base + l->rowadr,
                  .rowtile = base + l->rowtile, .rowcol = base + l->rowcol, .pairadr = base + l->pairadr,
                  .pair = (const sc_pair *)(const void *)(base + l->pair)};
}

/* one block: numbers in double, in float, integers, unless the slot borrows these */
static int place(sc_slot *slot, const sc_structure *s, int f32) {
  sc_pack *p = &slot->pack;
  p->m.ntile = s->m.ntile, p->nblock = s->rows.nblock;
  size_t elements = sc_pack_elements(p), factor = 16 * (size_t)p->m.ntile, parts = (size_t)slot->parts;
  size_t wide = (size_t)slot->lanes * sizeof(double), narrow = parts * (size_t)slot->lanes * sizeof(float);
  size_t part_bytes = ((elements + factor) * wide + 63) / 64 * 64, f64_bytes = parts * part_bytes;
  size_t f32_bytes = f32 ? ((elements + (slot->factor_f32 ? factor : 0)) * narrow + 63) / 64 * 64 : 0;
  size_t own = slot->borrows ? 0 : s->count * sizeof(int32_t);
  size_t bytes = (f64_bytes + f32_bytes + own + 63) / 64 * 64;
  if (bytes > slot->capacity) {
    void *block = aligned_alloc(64, bytes);
    if (!block) return 0;
    free(slot->block);
    slot->block = block, slot->capacity = bytes;
  }
  slot->bytes = bytes;
  char *at = slot->block;
  const int32_t *base = slot->borrows ? s->ints.data : memcpy(at + f64_bytes + f32_bytes, s->ints.data, own);
  point_tiles(&p->m, &s->m, base, p->nb);
  point_tiles(&p->h, &s->h, base, p->nb);
  p->mtile = base + s->rows.mtile;
  p->jadr = base + s->rows.jadr, p->jcol = base + s->rows.jcol;
  p->termadr = base + s->rows.termadr, p->termcone = base + s->rows.termcone;
  p->term = (const sc_term *)(const void *)(base + s->rows.term);
  for (size_t k = 0; k < parts; k++) sc_numbers_place(p, &slot->part[k], at + k * part_bytes, wide, 1);
  p->num[SC_F64] = slot->part[0];
  if (f32) sc_numbers_place(p, &p->num[SC_F32], at + f64_bytes, narrow, slot->factor_f32);
  return 1;
}

int sc_pack_symbolic(sc_slot *slot, const sc_batch *batch, int f32, sc_packer *packer, const sc_row_places *places) {
  builder b = {.slot = slot, .batch = batch, .places = places, .lanes = slot->parts * slot->lanes};
  count_kinds(&b);
  if (!compare_patterns(&b, packer) || !get_memory(&b, packer) || !list_inertia(&b, packer)) {
    packer->kept_entries = 0;
    return 0;
  }
  find_lanes(&b, packer->repeats);
  uint64_t hash = finish_key(&b);
  size_t bytes = b.key_words * sizeof(word);
  sc_structure *s = sc_structures_find(&packer->structures, b.key, bytes, hash);
  if (!s) {
    s = sc_structures_add(&packer->structures, b.key, bytes, hash);
    if (!s || !make_structure(&b, packer, s)) return 0;
    sc_structures_keep(&packer->structures, s);
  }
  return place(slot, s, f32);
}
