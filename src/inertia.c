/* The factor of an inertia by its own pattern, for the exact diagonal of J M^-1 J'.
 *
 * M = U' U is eliminated from the last dof to the first, as a kinematic tree fills nothing in then. Row i of the factor has
 * the columns j <= i that dof i is coupled with, its own first descending to the smallest; any other pattern fills in. */
#include "inertia.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void sc_inertia_free(sc_inertia *f) {
  free(f->adr);
  free(f->col);
  free(f->value);
  free(f->work);
  *f = (sc_inertia){0};
}

/* columns j < i of row i of M as handed over, one after the other: the stored ones, or all that are not zero */
typedef struct { const sc_problem *p; int row, at; } cursor;

static int next_entry(cursor *c, double *value) {
  const sc_problem *p = c->p;
  if (p->M_rownnz) {
    if (c->at >= p->M_rownnz[c->row]) return -1;
    int k = p->M_rowadr[c->row] + c->at++;
    *value = p->M[k];
    return p->M_colind[k];
  }
  while (c->at <= c->row) {
    *value = p->M[(size_t)c->row * (size_t)p->nv + (size_t)c->at];
    if (c->at++ == c->row || *value != 0) return c->at - 1;
  }
  return -1;
}

static int descending(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }

/* room for n columns in all; a small inertia gets what a dense one needs */
static int reserve(sc_inertia *f, size_t n, size_t *room) {
  size_t dense = (size_t)f->n * ((size_t)f->n + 1) / 2;
  if (n <= *room) return 1;
  *room = 2 * n < dense && dense > 2048 ? 2 * n : dense;
  int *col = realloc(f->col, *room * sizeof *col);
  if (col) f->col = col;
  return col != NULL;
}

/* Columns of every row: M's own, and those of the rows whose second column it is. From the last row to the first; adr[i] ..
 * adr[i+1] would run backwards, so row i has adr[i] .. end[i]. */
static int find_pattern(sc_inertia *f, const sc_problem *p) {
  int n = f->n, *mark = f->work, *child = mark + n, *sibling = child + n;
  size_t used = 0, room = 0;
  for (int i = 0; i < n; i++) mark[i] = child[i] = -1;
  for (int i = n - 1; i >= 0; i--) {
    cursor c = {p, i, 0};
    double value;
    size_t first = used;
    if (!reserve(f, used + (size_t)i + 1, &room)) return 0;
    f->col[used++] = i, mark[i] = i;
    for (int j; (j = next_entry(&c, &value)) >= 0;)
      if (mark[j] != i) mark[j] = i, f->col[used++] = j;
    for (int k = child[i]; k >= 0; k = sibling[k])
      for (size_t e = f->adr[k] + 1; e < f->end[k]; e++)
        if (mark[f->col[e]] != i) mark[f->col[e]] = i, f->col[used++] = f->col[e];
    qsort(f->col + first + 1, used - first - 1, sizeof *f->col, descending);
    f->adr[i] = first, f->end[i] = used;
    if (used - first > 1) {
      int parent = f->col[first + 1];
      sibling[i] = child[parent], child[parent] = i;
    }
  }
  f->value = calloc(used + 1, sizeof *f->value);
  return f->value != NULL;
}

/* row j -= (entry e of row i) * row i from there on; both are descending, and row j has all of these columns */
static void take(sc_inertia *f, size_t e, size_t end) {
  double factor = f->value[e];
  int j = f->col[e];
  for (size_t to = f->adr[j]; e < end; e++) {
    while (f->col[to] != f->col[e]) to++;
    f->value[to] -= factor * f->value[e];
  }
}

static void eliminate(sc_inertia *f, const sc_problem *p) {
  f->spd = 1;
  for (int i = f->n - 1; i >= 0; i--) {
    cursor c = {p, i, 0};
    double value;
    size_t e = f->adr[i];
    for (int j; (j = next_entry(&c, &value)) >= 0; f->value[e] += value) {
      while (f->col[e] < j) e--;
      while (f->col[e] > j) e++;
    }
  }
  for (int i = f->n - 1; i >= 0 && f->spd; i--) {
    size_t first = f->adr[i], end = f->end[i];
    f->spd = f->value[first] > 0;
    double pivot = sqrt(f->value[first]);
    f->value[first] = pivot;
    for (size_t e = first + 1; e < end; e++) f->value[e] /= pivot;
    for (size_t e = first + 1; e < end; e++) take(f, e, end);
  }
}

int sc_inertia_factor(sc_inertia *f, const sc_problem *p) {
  size_t n = (size_t)p->nv;
  *f = (sc_inertia){.n = p->nv};
  f->adr = malloc((2 * n + 1) * sizeof *f->adr);
  f->work = malloc((3 * n + 1) * (sizeof *f->work > sizeof(double) ? sizeof *f->work : sizeof(double)));
  f->end = f->adr ? f->adr + n : NULL;
  if (!f->adr || !f->work || !find_pattern(f, p)) {
    sc_inertia_free(f);
    return 0;
  }
  eliminate(f, p);
  return 1;
}

double sc_inertia_inverse(sc_inertia *f, int nnz, const int *col, const double *value) {
  double *y = f->work, sum = 0;
  int last = -1;
  if (!f->spd) return 1;
  for (int k = 0; k < nnz; k++) last = col[k] > last ? col[k] : last;
  memset(y, 0, ((size_t)last + 1) * sizeof *y);
  for (int k = 0; k < nnz; k++) y[col[k]] += value[k];
  for (int i = last; i >= 0; i--) {
    if (y[i] == 0) continue;
    double x = y[i] / f->value[f->adr[i]];
    sum += x * x;
    for (size_t e = f->adr[i] + 1; e < f->end[i]; e++) y[f->col[e]] -= f->value[e] * x;
  }
  return sum;
}
