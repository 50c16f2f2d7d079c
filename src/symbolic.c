/* The patterns of a pack: which blocks of J, which tiles of M, of its factor and of the factor of H may be non-zero, and
 * what adds to each tile. A pattern is the union over the pack's environments of each one's own.
 *
 * Sets of dof blocks are bit sets of `words` words. A matrix's pattern is a set per block column: its rows >= the column. */
#include "pack.h"

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

void sc_packer_free(sc_packer *p) {
  sc_buffer *all[] = {&p->rowmap, &p->lanesets, &p->rowsets, &p->mcols, &p->hcols, &p->mindex, &p->hindex, &p->mates, &p->found, &p->ints,
                      &p->pattern, &p->place};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->data);
  free(p->lists);
  memset(p, 0, sizeof *p);
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

typedef struct {
  sc_slot *slot;
  const sc_batch *batch;
  int lanes, nb, words, nefc;
  int32_t *rowmap;          /* lanes x most rows */
  word *lanesets;           /* lanes x nefc sets */
  word *rowsets;            /* nefc sets: union over lanes */
  word *mcols, *hcols;      /* nb sets each */
  int most;                 /* most rows of an environment */
  int uniform;              /* M of all has one pattern */
} builder;

static const sc_env *lane_env(const builder *b, int l) { return b->slot->env[l] < 0 ? NULL : &b->batch->env[b->slot->env[l]]; }

static void count_kinds(builder *b) {
  sc_pack *p = &b->slot->pack;
  memset(p, 0, sizeof *p);
  for (int l = 0; l < b->lanes; l++) {
    const sc_env *e = lane_env(b, l);
    if (!e) continue;
    sc_counts c = sc_count_rows(e);
#define MOST(x, y) x = (y) > (x) ? (y) : (x)
    MOST(p->ne, c.ne);
    MOST(p->nf, c.nf);
    MOST(p->nu, c.nu);
    for (int k = 0; k < SC_NDIM; k++) MOST(p->ncone[k], c.ncone[k]);
    MOST(b->most, e->nefc);
    MOST(b->nb, (e->nv + 3) / 4);
#undef MOST
  }
  p->nb = b->nb, p->nv4 = 4 * b->nb;
  p->conerow = p->ne + p->nf + p->nu;
  p->nefc = p->conerow;
  for (int k = 0; k < SC_NDIM; k++) p->nefc += sc_dims[k] * p->ncone[k];
  b->nefc = p->nefc;
  b->words = b->nb / 64 + 1;
}

static int get_memory(builder *b, sc_packer *k) {
  size_t set = (size_t)b->words * sizeof(word), rows = (size_t)b->nefc, lanes = (size_t)b->lanes, nb = (size_t)b->nb + 1;
  b->rowmap = sc_buffer_get(&k->rowmap, lanes * (size_t)b->most * sizeof(int32_t) + 8);
  b->lanesets = sc_buffer_get(&k->lanesets, lanes * rows * set + 8);
  b->rowsets = sc_buffer_get(&k->rowsets, rows * set + 8);
  if (!k->same) b->mcols = sc_buffer_get(&k->mcols, nb * set);
  b->mcols = k->mcols.data;
  b->hcols = sc_buffer_get(&k->hcols, nb * set);
  if (!b->rowmap || !b->lanesets || !b->rowsets || !b->mcols || !b->hcols) return 0;
  memset(b->lanesets, 0, lanes * rows * set);
  memset(b->rowsets, 0, rows * set);
  if (!k->same) memset(b->mcols, 0, nb * set);
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
static void lane_rows(builder *b, int l, const sc_env *e) {
  int words = b->words;
  word *sets = b->lanesets + (size_t)l * (size_t)b->nefc * (size_t)words;
  int32_t *map = b->rowmap + (size_t)l * (size_t)b->most;
  sc_map_rows(e, &b->slot->pack, map);
  for (int r = 0; r < e->nefc; r++) {
    word *set = sets + (size_t)map[r] * (size_t)words;
    for (int k = 0; k < e->J_rownnz[r]; k++) add(set, (e->nv - 1 - e->J_colind[e->J_rowadr[r] + k]) / 4);
  }
  for (int k = 0, row = b->slot->pack.conerow; k < SC_NDIM; k++)
    for (int c = 0; c < b->slot->pack.ncone[k]; c++, row += sc_dims[k]) {
      word *first = sets + (size_t)row * (size_t)words;
      for (int j = 1; j < sc_dims[k]; j++) join_from(first, first + j * words, words, 0);
      for (int j = 1; j < sc_dims[k]; j++) join_from(first + j * words, first, words, 0);
    }
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

static void find_rows(builder *b) {
  int nb = b->nb, words = b->words;
  for (int l = 0; l < b->lanes; l++)
    if (lane_env(b, l)) lane_rows(b, l, lane_env(b, l));
  memcpy(b->hcols, b->mcols, (size_t)nb * (size_t)words * sizeof(word));
  for (int l = 0; l < b->lanes; l++)
    for (int r = 0; lane_env(b, l) && r < b->nefc; r++) {
      const word *set = b->lanesets + ((size_t)l * (size_t)b->nefc + (size_t)r) * (size_t)words;
      join_from(b->rowsets + (size_t)r * (size_t)words, set, words, 0);
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

/* offsets of a matrix's lists in the writer */
typedef struct sc_tile_lists { size_t adr, row, rowadr, rowtile, rowcol, pairadr, pair, end; int ntile; } tile_lists;

/* turn counts in c[1 .. n] into offsets: c[0] = 0, c[i] = sum of the first i */
static void accumulate(int32_t *c, int n) {
  c[0] = 0;
  for (int i = 1; i <= n; i++) c[i] += c[i - 1];
}

/* tiles by column and by row; index[i nb + j]: number of tile (i, j) */
static void list_tiles(writer *w, const builder *b, const word *cols, int32_t *index, tile_lists *t) {
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
static void list_pairs(writer *w, const builder *b, const int32_t *index, tile_lists *t) {
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

/* offsets of everything else */
typedef struct { size_t mtile, jadr, jcol, termadr, termcone, term; int nblock; } row_lists;

static void list_blocks(writer *w, const builder *b, row_lists *t) {
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

/* mates[x]: the blocks that stand together with block jcol[first + x] in row r of some lane. A pair that no lane has adds
 * nothing, though the union of the lanes' rows has both */
static void find_mates(const builder *b, int r, const int32_t *jcol, int n, word *mates) {
  int words = b->words;
  memset(mates, 0, (size_t)n * (size_t)words * sizeof *mates);
  for (int l = 0; l < b->lanes; l++) {
    const word *set = b->lanesets + ((size_t)l * (size_t)b->nefc + (size_t)r) * (size_t)words;
    for (int x = 0; x < n; x++)
      if (has(set, jcol[x])) join_from(mates + (size_t)x * (size_t)words, set, words, 0);
  }
}

/* tile and term, in the order in which they are found: rows ascend */
typedef struct { int32_t tile, term[3]; } found_term;

/* all terms in packer->found, their numbers per tile in count[tile + 1], those of scalar rows in scalar[tile]; -1: no memory */
static int find_terms(const builder *b, sc_packer *k, const writer *w, const row_lists *t, const int32_t *index, int32_t *count, int32_t *scalar) {
  const int32_t *jadr = ints(w, t->jadr), *jcol = ints(w, t->jcol);
  size_t most = 0;
  int n = 0;
  for (int r = 0; r < b->nefc; r++) {
    size_t blocks = (size_t)(jadr[r + 1] - jadr[r]);
    most += blocks * (blocks + 1) / 2;
  }
  found_term *found = sc_buffer_get(&k->found, most * sizeof *found + 8);
  word *mates = sc_buffer_get(&k->mates, (size_t)b->nb * (size_t)b->words * sizeof *mates + 8);
  if (!found || !mates || most > INT32_MAX / 3) return -1;
  for (int r = 0; r < b->nefc; r++) {
    int first = jadr[r], blocks = jadr[r + 1] - first;
    find_mates(b, r, jcol + first, blocks, mates);
    for (int y = 0; y < blocks; y++)
      for (int x = y; x < blocks; x++) {
        if (!has(mates + (size_t)x * (size_t)b->words, jcol[first + y])) continue;
        int tile = index[(size_t)jcol[first + x] * (size_t)b->nb + (size_t)jcol[first + y]];
        count[tile + 1]++;
        if (r < b->slot->pack.conerow) scalar[tile]++;
        found[n++] = (found_term){tile, {r, first + x, first + y}};
      }
  }
  return n;
}

/* rows that add to each tile of H, in ascending order */
static void list_terms(writer *w, const builder *b, sc_packer *k, const int32_t *index, int ntile, row_lists *t) {
  t->termadr = reserve(w, (size_t)ntile + 1);
  t->termcone = reserve(w, (size_t)ntile);
  if (w->failed) return;
  int32_t *adr = ints(w, t->termadr), *cone = ints(w, t->termcone);
  memset(adr, 0, ((size_t)ntile + 1) * sizeof *adr);
  memset(cone, 0, (size_t)ntile * sizeof *cone);
  int n = find_terms(b, k, w, t, index, adr, cone);
  t->term = n < 0 ? 0 : reserve(w, 3 * (size_t)n);
  w->failed |= n < 0;
  if (w->failed) return;
  adr = ints(w, t->termadr), cone = ints(w, t->termcone);
  accumulate(adr, ntile);
  for (int i = 0; i < ntile; i++) cone[i] += adr[i];
  const found_term *found = k->found.data;
  int32_t *term = ints(w, t->term);
  for (int i = 0; i < n; i++) memcpy(term + 3 * (size_t)adr[found[i].tile]++, found[i].term, sizeof found[i].term);
  for (int i = ntile; i > 0; i--) adr[i] = adr[i - 1];
  adr[0] = 0;
}

/* ------------------------------------------------------------------ M */

/* where each entry of the kept pattern goes: element of the tiles, and of its mirror image in a diagonal tile, or -1 */
static int place_entries(sc_packer *k, int nb) {
  int32_t *place = sc_buffer_get(&k->place, 2 * (size_t)k->kept_entries * sizeof *place + 8);
  const int32_t *index = k->mindex.data;
  const int *nnz = k->pattern.data, *col = nnz + k->kept_nv;
  if (!place) return 0;
  for (int i = 0, e = 0; i < k->kept_nv; i++)
    for (int n = nnz[i]; n--; e++) {
      int row = k->kept_nv - 1 - col[e], column = k->kept_nv - 1 - i, tile = 16 * index[(size_t)(row / 4) * (size_t)nb + (size_t)(column / 4)];
      place[2 * e] = tile + 4 * (row % 4) + column % 4;
      place[2 * e + 1] = row / 4 == column / 4 ? tile + 4 * (column % 4) + row % 4 : -1;
    }
  return 1;
}

/* the lists of M, made unless those of the pack before serve */
static int list_inertia(writer *w, builder *b, sc_packer *k) {
  if (k->same) {
    w->used = k->lists->end;
    return 1;
  }
  size_t nb = (size_t)b->nb;
  int32_t *index = sc_buffer_get(&k->mindex, nb * nb * sizeof *index + 8);
  if (!k->lists) k->lists = malloc(sizeof *k->lists);
  if (!index || !k->lists) return 0;
  memset(k->lists, 0, sizeof *k->lists);
  find_inertia(b);
  list_tiles(w, b, b->mcols, index, k->lists);
  if (!w->failed) list_pairs(w, b, index, k->lists);
  k->lists->end = w->used;
  k->same = b->uniform && place_entries(k, b->nb);
  if (!k->same) k->kept_entries = 0; /* what is here now belongs to several patterns */
  return !w->failed;
}

/* ------------------------------------------------------------------ the slot */

static void point_tiles(sc_tiles *t, const tile_lists *l, const int32_t *base, int nb) {
  *t = (sc_tiles){.nb = nb, .ntile = l->ntile, .adr = base + l->adr, .row = base + l->row, .rowadr = base + l->rowadr,
                  .rowtile = base + l->rowtile, .rowcol = base + l->rowcol, .pairadr = base + l->pairadr,
                  .pair = (const sc_pair *)(const void *)(base + l->pair)};
}

static void point_numbers(const sc_pack *p, sc_numbers *n, char *at, size_t size, int factor) {
#define FIELD(name, count) n->name = at, at += (count) * size;
  SC_NUMBER_FIELDS(FIELD, p, sc_pack_cone_elements(p))
#undef FIELD
  n->L = factor ? at : NULL;
}

/* one block: numbers in double, in float, integers */
static int place(sc_slot *slot, const writer *w, const tile_lists *m, const tile_lists *h, const row_lists *r, int f32) {
  sc_pack *p = &slot->pack;
  p->m.ntile = m->ntile, p->nblock = r->nblock;
  size_t elements = sc_pack_elements(p), factor = 16 * (size_t)m->ntile, parts = (size_t)slot->parts;
  size_t wide = (size_t)slot->lanes * sizeof(double), narrow = parts * (size_t)slot->lanes * sizeof(float);
  size_t part_bytes = ((elements + factor) * wide + 63) / 64 * 64, f64_bytes = parts * part_bytes;
  size_t f32_bytes = f32 ? ((elements + (slot->factor_f32 ? factor : 0)) * narrow + 63) / 64 * 64 : 0;
  size_t bytes = (f64_bytes + f32_bytes + w->used * sizeof(int32_t) + 63) / 64 * 64;
  if (bytes > slot->capacity) {
    void *block = aligned_alloc(64, bytes);
    if (!block) return 0;
    free(slot->block);
    slot->block = block, slot->capacity = bytes;
  }
  char *at = slot->block;
  int32_t *base = (int32_t *)(void *)(at + f64_bytes + f32_bytes);
  memcpy(base, w->buffer->data, w->used * sizeof *base);
  point_tiles(&p->m, m, base, p->nb);
  point_tiles(&p->h, h, base, p->nb);
  p->mtile = base + r->mtile;
  p->jadr = base + r->jadr, p->jcol = base + r->jcol;
  p->termadr = base + r->termadr, p->termcone = base + r->termcone;
  p->term = (const sc_term *)(const void *)(base + r->term);
  for (size_t k = 0; k < parts; k++) point_numbers(p, &slot->part[k], at + k * part_bytes, wide, 1);
  p->num[SC_F64] = slot->part[0];
  if (f32) point_numbers(p, &p->num[SC_F32], at + f64_bytes, narrow, slot->factor_f32);
  return 1;
}

static void list_mtiles(writer *w, const builder *b, const int32_t *mindex, const tile_lists *h, row_lists *r) {
  r->mtile = reserve(w, (size_t)h->ntile);
  if (w->failed) return;
  int32_t *mtile = ints(w, r->mtile), *adr = ints(w, h->adr), *row = ints(w, h->row);
  for (int j = 0; j < b->nb; j++)
    for (int e = adr[j]; e < adr[j + 1]; e++)
      mtile[e] = has(b->mcols + (size_t)j * (size_t)b->words, row[e]) ? mindex[(size_t)row[e] * (size_t)b->nb + (size_t)j] : -1;
}

int sc_pack_symbolic(sc_slot *slot, const sc_batch *batch, int f32, sc_packer *packer) {
  builder b = {.slot = slot, .batch = batch, .lanes = slot->parts * slot->lanes};
  count_kinds(&b);
  if (!compare_patterns(&b, packer) || !get_memory(&b, packer)) {
    packer->kept_entries = 0;
    return 0;
  }
  size_t nb = (size_t)b.nb;
  int32_t *index = sc_buffer_get(&packer->hindex, nb * nb * sizeof *index + 8);
  writer w = {.buffer = &packer->ints};
  tile_lists h = {0};
  row_lists r = {0};
  if (!index || !list_inertia(&w, &b, packer)) {
    packer->kept_entries = 0;
    return 0;
  }
  find_rows(&b);
  list_tiles(&w, &b, b.hcols, index, &h);
  if (!w.failed) list_pairs(&w, &b, index, &h);
  if (!w.failed) list_mtiles(&w, &b, packer->mindex.data, &h, &r);
  if (!w.failed) list_blocks(&w, &b, &r);
  if (!w.failed) list_terms(&w, &b, packer, index, h.ntile, &r);
  return !w.failed && place(slot, &w, packer->lists, &h, &r, f32);
}
