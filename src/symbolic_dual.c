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
