/* The patterns of a large environment, as lists: memory goes with what is there, not with the square of the dofs. */
#include "large.h"

#include <stdlib.h>
#include <string.h>

static int grow(sc_ints *list, size_t n) {
  if (n > list->room && !list->failed) {
    int32_t *bigger = realloc(list->at, 2 * n * sizeof *bigger);
    if (!bigger) return list->failed = 1, 0;
    list->at = bigger, list->room = 2 * n;
  }
  return !list->failed;
}

void sc_ints_add(sc_ints *list, int32_t value) {
  if (grow(list, list->n + 1)) list->at[list->n++] = value;
}

void sc_ints_fill(sc_ints *list, size_t n) {
  if (n && grow(list, list->n + n)) memset(list->at + list->n, 0, n * sizeof *list->at), list->n += n;
}

static int ascending(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

static void sort(int32_t *item, size_t n) {
  int sorted = 1;
  for (size_t i = 1; i < n && sorted; i++) sorted = item[i - 1] < item[i];
  if (!sorted) qsort(item, n, sizeof *item, ascending);
}

/* ------------------------------------------------------------------ rows */

/* the blocks of rows r .. r+n-1 of the environment together, at the end of the list */
static void add_blocks(const sc_env *e, const int32_t *place, int r, int n, sc_ints *out) {
  size_t first = out->n;
  for (int k = r; k < r + n; k++)
    for (int i = 0; i < e->J_rownnz[k]; i++) {
      int32_t block = place[e->J_colind[e->J_rowadr[k] + i]] / 4;
      if (out->n == first || out->at[out->n - 1] != block) sc_ints_add(out, block);
    }
  if (out->failed) return;
  sort(out->at + first, out->n - first);
  size_t kept = first;
  for (size_t i = first; i < out->n; i++)
    if (i == first || out->at[i] != out->at[kept - 1]) out->at[kept++] = out->at[i];
  out->n = kept;
}

int sc_large_rows(const sc_env *e, const int32_t *place, const int32_t *map, sc_lists *rows) {
  int32_t *row_of = malloc(((size_t)e->nefc + 1) * 2 * sizeof *row_of);
  if (!row_of) return 0;
  int32_t *group = row_of + e->nefc + 1;
  for (int r = 0, contact = 0, n; r < e->nefc; r += n) {
    n = e->type[r] == SC_CONTACT_ELLIPTIC ? e->dim[contact] : e->type[r] == SC_CONTACT_PYRAMIDAL ? sc_contact_rows(e->type[r], e->dim[contact]) : 1;
    contact += sc_type_has_cone(e->type[r]);
    for (int k = 0; k < n; k++) { /* the first row and the number of those whose blocks it shares */
      int elliptic = e->type[r] == SC_CONTACT_ELLIPTIC;
      row_of[map[r + k]] = elliptic ? r : r + k, group[map[r + k]] = elliptic ? n : 1;
    }
  }
  for (int p = 0; p < e->nefc; p++) {
    sc_ints_add(&rows->adr, (int32_t)rows->item.n);
    add_blocks(e, place, row_of[p], group[p], &rows->item);
  }
  sc_ints_add(&rows->adr, (int32_t)rows->item.n);
  free(row_of);
  return !rows->adr.failed && !rows->item.failed && rows->item.n < INT32_MAX / 4;
}

/* ------------------------------------------------------------------ fill-in */

/* Entries below the diagonal of H's pattern: of M all blocks, of a row its first block with the others, for the rest follows
 * by fill-in. Lists of each column, with repetitions. */
static int find_entries(const sc_env *e, const int32_t *place, int nb, const sc_lists *rows, sc_lists *out) {
  sc_ints_fill(&out->adr, (size_t)nb + 2);
  for (int pass = 0; pass < 2 && !out->adr.failed && !out->item.failed; pass++) {
    int32_t *adr = out->adr.at; /* pass 0: counts two further on; pass 1: where to write, one further on */
#define ENTRY(row, column)                                                                  \
  do {                                                                                      \
    int32_t hi = (row), lo = (column);                                                      \
    if (pass == 0)                                                                          \
      adr[lo + 2]++;                                                                        \
    else                                                                                    \
      out->item.at[adr[lo + 1]++] = hi;                                                     \
  } while (0)
    for (int i = 0; i < e->nv; i++)
      for (int k = 0, last = -1; k < e->M_rownnz[i]; k++) {
        int32_t a = place[i] / 4, b = place[e->M_colind[e->M_rowadr[i] + k]] / 4;
        if (a != b && b != last) ENTRY(a > b ? a : b, a > b ? b : a);
        last = b;
      }
    for (int r = 0; rows && r + 1 < (int)rows->adr.n; r++)
      for (int32_t k = rows->adr.at[r] + 1; k < rows->adr.at[r + 1]; k++) ENTRY(rows->item.at[k], rows->item.at[rows->adr.at[r]]);
#undef ENTRY
    if (pass == 1) break;
    for (int j = 2; j < nb + 2; j++) adr[j] += adr[j - 1];
    sc_ints_fill(&out->item, (size_t)adr[nb + 1]);
  }
  return !out->adr.failed && !out->item.failed;
}

/* columns of the factor: a column's own entries, and those of the columns whose first row below the diagonal it is */
int sc_large_factor(const sc_env *e, const int32_t *place, int nb, const sc_lists *rows, sc_lists *columns) {
  sc_lists entries = {0};
  sc_ints *item = &columns->item;
  int32_t *mark = malloc(((size_t)nb + 1) * 3 * sizeof *mark);
  sc_ints_fill(&columns->adr, (size_t)nb + 1);
  int done = mark && !columns->adr.failed && find_entries(e, place, nb, rows, &entries);
  int32_t *child = mark ? mark + nb + 1 : NULL, *sibling = mark ? child + nb + 1 : NULL;
  for (int j = 0; done && j < nb; j++) mark[j] = child[j] = -1;
  for (int j = 0; done && j < nb; j++) {
    size_t first = item->n;
#define ADD(i)                                        \
  do {                                                \
    int32_t i_ = (i);                                 \
    if (mark[i_] != j) mark[i_] = j, sc_ints_add(item, i_); \
  } while (0)
    ADD(j);
    for (int32_t k = entries.adr.at[j]; k < entries.adr.at[j + 1]; k++) ADD(entries.item.at[k]);
    for (int32_t c = child[j]; c >= 0; c = sibling[c])
      for (int32_t k = columns->adr.at[c] + 1; k < columns->adr.at[c + 1]; k++) ADD(item->at[k]);
#undef ADD
    done = !item->failed && item->n < INT32_MAX / 16;
    if (!done) break;
    sort(item->at + first, item->n - first);
    if (item->n - first > 1) sibling[j] = child[item->at[first + 1]], child[item->at[first + 1]] = j;
    columns->adr.at[j + 1] = (int32_t)item->n;
  }
  free(mark);
  free(entries.adr.at);
  free(entries.item.at);
  return done;
}
