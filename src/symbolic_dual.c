/* The pattern of Y = L^-1 J', M = L L': a row has the blocks of its row of J and, from each of them, those on the way to the
 * root of the elimination tree, in which the parent of a block column is the first row below the diagonal of its column of L. */
#include "pack.h"

#include <limits.h>
#include <string.h>

/* mark the blocks of row r; the first of them, or nb */
static int mark_row(const sc_pack *p, int r, unsigned char *mark) {
  const sc_tiles *m = &p->m;
  int first = p->jadr[r] < p->jadr[r + 1] ? p->jcol[p->jadr[r]] : p->nb;
  for (int e = p->jadr[r]; e < p->jadr[r + 1]; e++)
    for (int c = p->jcol[e]; !mark[c];) {
      mark[c] = 1;
      if (m->adr[c] + 1 == m->adr[c + 1]) break;
      c = m->row[m->adr[c] + 1];
    }
  return first;
}

/* blocks of all rows; col NULL: only counted, in adr */
static size_t list_rows(const sc_pack *p, unsigned char *mark, int32_t *adr, int32_t *col) {
  size_t n = 0;
  for (int r = 0; r < p->nefc; r++) {
    if (!col) adr[r] = (int32_t)n;
    for (int c = mark_row(p, r, mark); c < p->nb; c++) {
      if (!mark[c]) continue;
      mark[c] = 0;
      if (col) col[n] = c;
      if (++n > INT32_MAX / 4) return n;
    }
  }
  if (!col) adr[p->nefc] = (int32_t)n;
  return n;
}

int sc_pack_dual(sc_slot *slot) {
  sc_pack *p = &slot->pack;
  size_t rows = ((size_t)p->nefc + 1) * sizeof(int32_t), marks = (size_t)p->nb + 1;
  sc_buffer *b = &slot->dual;
  p->yadr = p->ycol = NULL;
  if (!sc_buffer_get(b, rows + marks)) return 0;
  memset((char *)b->data + rows, 0, marks);
  size_t n = list_rows(p, (unsigned char *)b->data + rows, b->data, NULL);
  if (n > INT32_MAX / 4 || !sc_buffer_get(b, rows + n * sizeof(int32_t) + marks)) return 0;
  int32_t *adr = b->data, *col = adr + p->nefc + 1;
  unsigned char *mark = (unsigned char *)(col + n);
  memset(mark, 0, marks);
  list_rows(p, mark, adr, NULL);
  list_rows(p, mark, adr, col);
  p->yadr = adr, p->ycol = col;
  return 1;
}

/* ------------------------------------------------------------------ the square */

/* the lists of a full lower triangle of nb block columns, one after another at `at`, in their order in sc_tiles */
static void list_square(sc_tiles *t, int nb, int32_t *at) {
  int n = nb * (nb + 1) / 2;
  int32_t *adr = at, *row = adr + nb + 1, *rowadr = row + n, *rowtile = rowadr + nb + 1, *rowcol = rowtile + n - nb, *pairadr = rowcol + n - nb;
  sc_pair *pair = (sc_pair *)(void *)(pairadr + n + 1), *next = pair;
#define TILE(i, j) (adr[j] + (i) - (j))
  adr[0] = rowadr[0] = pairadr[0] = 0;
  for (int j = 0; j < nb; j++) {
    adr[j + 1] = adr[j] + nb - j;
    rowadr[j + 1] = rowadr[j] + j;
  }
  for (int j = 0; j < nb; j++)
    for (int i = j; i < nb; i++) {
      row[TILE(i, j)] = i;
      if (i > j) rowtile[rowadr[i] + j] = TILE(i, j), rowcol[rowadr[i] + j] = j;
      for (int k = 0; k < j; k++) *next++ = (sc_pair){TILE(i, k), TILE(j, k)};
      pairadr[TILE(i, j) + 1] = (int32_t)(next - pair);
    }
#undef TILE
  *t = (sc_tiles){nb, n, adr, row, rowadr, rowtile, rowcol, pairadr, pair};
}

int sc_pack_square(sc_slot *slot) {
  int rows = slot->pack.nefc < SC_DIRECT_ROWS ? slot->pack.nefc : SC_DIRECT_ROWS, nb = (rows + 3) / 4;
  size_t n = (size_t)nb * ((size_t)nb + 1) / 2, pairs = n * ((size_t)nb + 2) / 3 - n; /* sum of j (nb - j) */
  if (!slot->square.data || slot->a.nb != nb) {
    if (!sc_buffer_get(&slot->square, (4 * n + 3 + 2 * pairs) * sizeof(int32_t) + 16)) return 0;
    list_square(&slot->a, nb, slot->square.data);
  }
  slot->pack.a = slot->a;
  return 1;
}
