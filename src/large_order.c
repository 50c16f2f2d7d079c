/* The order of a large environment's dofs: minimum degree over the trees, those that a row joins being neighbours. */
#include "large.h"

#include <stdlib.h>
#include <string.h>

typedef uint64_t word;

/* Sets of dofs that stay together, "trees", as numbers 0 .. ntree-1 per dof: those that M couples, and neighbours that the same
 * rows touch, such as the dofs of a free body, whose M may be diagonal. */
typedef struct {
  int n, ntree, words;
  int32_t *tree;            /* n */
  int32_t *size;            /* dofs of each */
  int32_t *order;           /* the trees, first eliminated first */
  word *near;               /* ntree sets of trees; NULL: the order does not matter */
} forest;

static int find(int32_t *up, int i) {
  while (up[i] != i) i = up[i] = up[up[i]];
  return i;
}

/* rows from r on that have one pattern, or may have: those of a contact; contact counts on */
static int pattern_rows(const sc_env *e, int r, int *contact) {
  return sc_type_has_cone(e->type[r]) ? sc_contact_rows(e->type[r], e->dim[(*contact)++]) : 1;
}

/* rows r .. r+n-1 have entries *first .. end-1 */
static int pattern_end(const sc_env *e, int r, int n, int *first) {
  *first = e->J_rowadr[r];
  return e->J_rowadr[r + n - 1] + e->J_rownnz[r + n - 1];
}

/* a number per dof for the set of patterns that touch it: equal sets have equal numbers, others hardly ever */
static void hash_rows(const sc_env *e, uint64_t *hash) {
  for (int r = 0, contact = 0, n, first; r < e->nefc; r += n) {
    n = pattern_rows(e, r, &contact);
    uint64_t z = ((uint64_t)r + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z ^= z >> 27;
    for (int k = pattern_end(e, r, n, &first) - 1; k >= first; k--) hash[e->J_colind[k]] |= 1; /* seen, and then once only: */
    for (int k = pattern_end(e, r, n, &first) - 1; k >= first; k--) {
      uint64_t *h = &hash[e->J_colind[k]];
      if (*h & 1) *h = (*h + z) & ~(uint64_t)1;
    }
  }
}

static void couple(int32_t *up, int i, int j) {
  int a = find(up, i), b = find(up, j);
  up[a > b ? b : a] = a > b ? a : b; /* the last dof stands for all */
}

/* trees in the order of their last dofs, the last first */
static void find_trees(forest *f, const sc_env *e, const uint64_t *hash) {
  int32_t *up = f->tree, *number = f->size;
  for (int i = 0; i < f->n; i++) up[i] = i;
  for (int i = 1; i < f->n; i++)
    if (hash[i] == hash[i - 1]) couple(up, i, i - 1);
  for (int i = 0; i < f->n; i++)
    for (int k = 0; k < e->M_rownnz[i]; k++) couple(up, i, e->M_colind[e->M_rowadr[i] + k]);
  for (int i = 0; i < f->n; i++) up[i] = find(up, i);
  for (int i = f->n - 1; i >= 0; i--) number[i] = up[i] == i ? f->ntree++ : number[up[i]];
  memcpy(f->tree, number, (size_t)f->n * sizeof *number);
  memset(f->size, 0, (size_t)f->n * sizeof *f->size);
  for (int i = 0; i < f->n; i++) f->size[f->tree[i]]++;
}

static void join(word *near, int words, int a, int b) { near[(size_t)a * (size_t)words + (size_t)b / 64] |= (word)1 << (b % 64); }

/* all trees of one row or contact are neighbours */
static void find_neighbours(forest *f, const sc_env *e) {
  for (int r = 0, contact = 0, n, first; r < e->nefc; r += n) {
    n = pattern_rows(e, r, &contact);
    int end = pattern_end(e, r, n, &first), last = -1;
    for (int a = first; a < end; a++) {
      int t = f->tree[e->J_colind[a]], before = -1;
      if (t == last) continue;
      last = t;
      for (int b = first; b < end; b++) {
        int u = f->tree[e->J_colind[b]];
        if (u != before && u != t) join(f->near, f->words, t, u);
        before = u;
      }
    }
  }
}

/* dofs of the neighbours that are left */
static int degree(const forest *f, int t) {
  const word *set = f->near + (size_t)t * (size_t)f->words;
  int sum = 0;
  for (int w = 0; w < f->words; w++)
    for (word bits = set[w]; bits; bits &= bits - 1) sum += f->size[64 * w + __builtin_ctzll(bits)];
  return sum;
}

/* eliminate t: its neighbours become neighbours of each other */
static void eliminate(forest *f, int t, int32_t *degrees) {
  size_t words = (size_t)f->words;
  const word *set = f->near + (size_t)t * words;
  for (size_t w = 0; w < words; w++)
    for (word bits = set[w]; bits; bits &= bits - 1) {
      int u = (int)(64 * w) + __builtin_ctzll(bits);
      word *near = f->near + (size_t)u * words;
      for (size_t k = 0; k < words; k++) near[k] |= set[k];
      near[(size_t)u / 64] &= ~((word)1 << (u % 64));
      near[(size_t)t / 64] &= ~((word)1 << (t % 64));
    }
  for (size_t w = 0; w < words; w++)
    for (word bits = set[w]; bits; bits &= bits - 1) {
      int u = (int)(64 * w) + __builtin_ctzll(bits);
      degrees[u] = degree(f, u);
    }
}

/* the tree with the fewest coupled dofs next; of equals the first */
static void minimum_degree(forest *f, int32_t *degrees) {
  for (int t = 0; t < f->ntree; t++) degrees[t] = degree(f, t);
  for (int k = 0; k < f->ntree; k++) {
    int best = -1;
    for (int t = 0; t < f->ntree; t++)
      if (degrees[t] >= 0 && (best < 0 || degrees[t] < degrees[best])) best = t;
    f->order[k] = best;
    degrees[best] = -1;
    eliminate(f, best, degrees);
  }
}

static void place_trees(const forest *f, int32_t *begin, int32_t *place, int32_t *positions) {
  int at = 0;
  for (int k = 0; k < f->ntree; k++) {
    if (at % 4 + f->size[f->order[k]] > 4) at = (at + 3) / 4 * 4;
    begin[f->order[k]] = at;
    at += f->size[f->order[k]];
  }
  for (int i = f->n - 1; i >= 0; i--) place[i] = begin[f->tree[i]]++;
  *positions = (at + 3) / 4 * 4;
}

int sc_large_order(const sc_env *e, int with_rows, int32_t *place, int32_t *positions) {
  size_t n = (size_t)e->nv;
  forest f = {.n = e->nv};
  int32_t *memory = malloc((4 * n + 1) * sizeof *memory);
  uint64_t *hash = calloc(n + 1, sizeof *hash);
  if (!memory || !hash) {
    free(memory);
    free(hash);
    return 0;
  }
  hash_rows(e, hash);
  f.tree = memory, f.size = memory + n, f.order = memory + 2 * n;
  find_trees(&f, e, hash);
  for (int t = 0; t < f.ntree; t++) f.order[t] = t;
  f.words = f.ntree / 64 + 1;
  if (with_rows && f.ntree > 2) {
    f.near = calloc((size_t)f.ntree * (size_t)f.words, sizeof *f.near);
    if (f.near) find_neighbours(&f, e);
    if (f.near) minimum_degree(&f, memory + 3 * n);
  }
  place_trees(&f, memory + 3 * n, place, positions);
  int done = !(with_rows && f.ntree > 2) || f.near != NULL;
  free(f.near);
  free(hash);
  free(memory);
  return done;
}
