/* Rows and contacts beyond a batch's capacity are dropped, contact by contact. */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

/* A contact with its rows; `friction`: its index among the contacts with friction, or -1. */
typedef struct {
  int row, rows, friction, kept;
  double asks;              /* reference acceleration along the normal, m/s^2 */
} candidate;

static int is_contact(int type) { return type >= SC_CONTACT_FRICTIONLESS; }

size_t sc_capacity_bytes(const sc_problem *p) {
  size_t n = 1;
  for (int r = 0; r < p->nefc; r++) n += is_contact(p->efc_type[r]) ? 1u : 0u;
  return n * (sizeof(candidate) + sizeof(candidate *));
}

/* All contacts in the order of their rows, if there is a list; returns how many, and their rows in *rows. The edges of a
 * pyramid come in pairs, normal + friction tangent, normal - friction tangent: the mean of two is the normal's. */
static int list_contacts(const sc_env *e, candidate *list, int *rows) {
  int n = 0, friction = 0;
  *rows = 0;
  for (int r = 0; r < e->nefc;) {
    int type = e->type[r], cone = sc_type_has_cone(type), size = cone ? sc_contact_rows(type, e->dim[friction]) : 1;
    if (is_contact(type) && !list) {
      n++, *rows += size;
    } else if (is_contact(type)) {
      double asks = type == SC_CONTACT_PYRAMIDAL ? 0.5 * (e->aref[r] + e->aref[r + 1]) : e->aref[r];
      list[n++] = (candidate){r, size, cone ? friction : -1, 0, asks};
      *rows += size;
    }
    friction += cone;
    r += size;
  }
  return n;
}

/* what asks most comes first, and what stands first where two ask the same */
static int compare(const void *a, const void *b) {
  const candidate *x = *(candidate *const *)a, *y = *(candidate *const *)b;
  if (x->asks != y->asks) return x->asks > y->asks ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

/* mark as kept what still fits, in that order */
static void choose(candidate *list, candidate **order, int n, int rows, int contacts) {
  for (int i = 0; i < n; i++) order[i] = &list[i];
  qsort(order, (size_t)n, sizeof *order, compare);
  for (int i = 0; i < n && contacts > 0; i++) {
    if (order[i]->rows > rows) continue;
    order[i]->kept = 1;
    rows -= order[i]->rows, contacts--;
  }
}

static void move_parameters(sc_env *e, size_t to, size_t from) {
  e->diagonal[to] = e->diagonal[from], e->curvature[to] = e->curvature[from], e->adhesion[to] = e->adhesion[from];
  memmove(e->solref + 2 * to, e->solref + 2 * from, 2 * sizeof *e->solref);
  memmove(e->solimp + 5 * to, e->solimp + 5 * from, 5 * sizeof *e->solimp);
}

/* row `from` takes the place of row `to` <= from; J's entries move up to where the rows before it end */
static void move_row(sc_env *e, int to, int from) {
  double *numbers[] = {e->D, e->R, e->aref, e->frictionloss};
  double *evaluated[] = {e->K, e->B, e->d, e->dp, e->diagA, e->pos, e->margin, e->vel};
  size_t n = (size_t)e->J_rownnz[from], at = to ? (size_t)(e->J_rowadr[to - 1] + e->J_rownnz[to - 1]) : 0;
  size_t old = (size_t)e->J_rowadr[from];
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) numbers[k][to] = numbers[k][from];
  for (size_t k = 0; e->evaluated && k < sizeof evaluated / sizeof *evaluated; k++) evaluated[k][to] = evaluated[k][from];
  if (e->kept) move_parameters(e, (size_t)to, (size_t)from);
  e->type[to] = e->type[from], e->id[to] = e->id[from];
  memmove(e->J + at, e->J + old, n * sizeof *e->J);
  memmove(e->J_colind + at, e->J_colind + old, n * sizeof *e->J_colind);
  e->J_rowadr[to] = (int)at, e->J_rownnz[to] = (int)n;
}

static void move_contact(sc_env *e, int to, int from) {
  e->dim[to] = e->dim[from], e->mu[to] = e->mu[from];
  memmove(e->friction + 5 * to, e->friction + 5 * from, 5 * sizeof *e->friction);
  if (e->kept) memmove(e->solreffriction + 2 * to, e->solreffriction + 2 * from, 2 * sizeof *e->solreffriction);
}

/* close the gaps that the dropped contacts leave */
static void drop(sc_env *e, const candidate *list, int n) {
  int rows = 0, contacts = 0;
  for (int r = 0, i = 0; r < e->nefc;) {
    const candidate *c = i < n && list[i].row == r ? &list[i++] : NULL;
    int size = c ? c->rows : 1;
    for (int k = 0; k < size && (!c || c->kept); k++) move_row(e, rows++, r + k);
    if (c && c->kept && c->friction >= 0) move_contact(e, contacts++, c->friction);
    r += size;
  }
  e->nefc = rows, e->ncon = contacts;
  for (int r = 0; r < rows; r++)
    e->alike[r] = r && e->J_rownnz[r] == e->J_rownnz[r - 1] && sc_same_columns(e->J_colind + e->J_rowadr[r], e->J_colind + e->J_rowadr[r - 1], e->J_rownnz[r]);
}

void sc_env_count(sc_env *e) {
  int rows;
  e->rows_needed = e->nefc, e->contacts_needed = list_contacts(e, NULL, &rows);
}

int sc_env_fit(sc_env *e, int max_rows, int max_contacts, int index, void *scratch) {
  if ((!max_rows || e->rows_needed <= max_rows) && (!max_contacts || e->contacts_needed <= max_contacts)) return SC_OK;
  candidate *list = scratch;
  int rows, n = list_contacts(e, list, &rows), rest = e->nefc - rows;
  e->flags |= SC_ROWS_DROPPED;
  if (max_rows && rest > max_rows)
    return sc_error_set(SC_ERROR_VALUE,
                        "sc_batch_set: environment %d: its equalities, dry friction and limits alone have %d rows, more than max_rows %d; it needs %d "
                        "rows and %d contacts",
                        index, rest, max_rows, e->rows_needed, n);
  choose(list, (candidate **)(void *)(list + n), n, max_rows ? max_rows - rest : e->nefc, max_contacts ? max_contacts : n);
  drop(e, list, n);
  return SC_OK;
}

int sc_batch_capacity(sc_batch *batch, int max_rows, int max_contacts) {
  if (!batch) return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_capacity: batch is NULL");
  if (max_rows < 0 || max_contacts < 0)
    return sc_error_set(SC_ERROR_ARGUMENT, "sc_batch_capacity: %s is %d, not >= 0", max_rows < 0 ? "max_rows" : "max_contacts",
                        max_rows < 0 ? max_rows : max_contacts);
  batch->max_rows = max_rows, batch->max_contacts = max_contacts;
  return SC_OK;
}
