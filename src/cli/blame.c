#include "blame.h"

#include "inspect.h"
#include "linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ dofs and rows */

static double worse(const blame_dof *d) { return fmin(d->M, d->H); }

static void find_dofs(blame *b, const double *M, const double *H, int n) {
  b->ndof = 0;
  for (int i = 0; i < n; i++) {
    blame_dof d = {i, M[i], H ? H[i] : 1};
    int k = b->ndof < BLAME_MOST ? b->ndof++ : BLAME_MOST - 1;
    if (k == BLAME_MOST - 1 && b->ndof == BLAME_MOST && i >= BLAME_MOST && worse(&d) >= worse(&b->dofs[k])) continue;
    for (; k > 0 && worse(&d) < worse(&b->dofs[k - 1]); k--) b->dofs[k] = b->dofs[k - 1];
    b->dofs[k] = d;
    if (!H) b->dofs[k].H = (double)NAN;
  }
}

static void find_rows(blame *b, const sc_problem *p, const double *A) {
  b->nrow = 0;
  for (int i = 0; i < p->nefc; i++) {
    blame_row r = {i, p->efc_D[i], A[i]};
    int k = b->nrow < BLAME_MOST ? b->nrow++ : BLAME_MOST - 1;
    if (k == BLAME_MOST - 1 && i >= BLAME_MOST && r.D * r.A <= b->rows[k].D * b->rows[k].A) continue;
    for (; k > 0 && r.D * r.A > b->rows[k - 1].D * b->rows[k - 1].A; k--) b->rows[k] = b->rows[k - 1];
    b->rows[k] = r;
  }
}

/* ------------------------------------------------------------------ equalities */

#define DEPENDENT 1e-8  /* what is left of a row's length without those before it, relative */
#define DISAGREE 1e-6   /* difference of aref, relative to its terms */

/* An orthonormal basis Q of the equality rows y_i = L^-1 J_i', in which each independent one has coordinates. */
typedef struct {
  const sc_problem *p;
  const double *L;            /* of M; NULL: rows are taken as they are */
  size_t n, most;             /* nv; rows of the basis at most */
  double *Q;                  /* most x n */
  double *R;                  /* most x most: coordinates of the k-th independent row in R[k most ..] */
  double *y, *c;              /* n; most */
  int *row;                   /* most: which row of the problem the k-th independent one is */
  int rank;
} basis;

/* y less its part in the basis, twice (once is not enough in floating point); its coordinates in c. Returns its length */
static double reduce(basis *s) {
  memset(s->c, 0, s->most * sizeof *s->c);
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; k < s->rank; k++) {
      const double *q = s->Q + (size_t)k * s->n;
      double dot = 0;
      for (size_t i = 0; i < s->n; i++) dot += q[i] * s->y[i];
      for (size_t i = 0; i < s->n; i++) s->y[i] -= dot * q[i];
      s->c[k] += dot;
    }
  return linear_norm(s->y, s->n);
}

static void extend(basis *s, int row, double length) {
  double *q = s->Q + (size_t)s->rank * s->n, *r = s->R + (size_t)s->rank * s->most;
  for (size_t i = 0; i < s->n; i++) q[i] = s->y[i] / length;
  memcpy(r, s->c, s->most * sizeof *r);
  r[s->rank] = length;
  s->row[s->rank++] = row;
}

/* weights of the independent rows in a row whose coordinates are c, in place: sum_k w_k R_k = c, R_k has k+1 coordinates */
static void solve_weights(basis *s) {
  for (int k = s->rank; k-- > 0;) {
    const double *r = s->R + (size_t)k * s->most;
    s->c[k] /= r[k];
    for (int j = 0; j < k; j++) s->c[j] -= s->c[k] * r[j];
  }
}

/* keep the rows of largest weight */
static void keep_weights(const basis *s, blame_conflict *c) {
  c->n = 0;
  for (int k = 0; k < s->rank; k++) {
    double w = s->c[k];
    if (fabs(w) < DEPENDENT) continue;
    int at = c->n < BLAME_MOST ? c->n++ : BLAME_MOST;
    for (; at > 0 && fabs(w) > fabs(c->weight[at - 1]); at--)
      if (at < BLAME_MOST) c->with[at] = c->with[at - 1], c->weight[at] = c->weight[at - 1];
    if (at < BLAME_MOST) c->with[at] = s->row[k], c->weight[at] = w;
  }
}

static void add_equality(basis *s, int row, blame *b) {
  const double *aref = s->p->efc_aref;
  linear_row(s->p, row, s->y);
  if (s->L) linear_forward(s->L, s->n, s->y);
  double before = linear_norm(s->y, s->n), left = reduce(s);
  if (left > DEPENDENT * before && (size_t)s->rank < s->most) {
    extend(s, row, left);
    return;
  }
  solve_weights(s);
  double combined = 0, size = fabs(aref[row]);
  for (int k = 0; k < s->rank; k++) {
    combined += s->c[k] * aref[s->row[k]];
    size += fabs(s->c[k] * aref[s->row[k]]);
  }
  b->dependent++;
  if (!(fabs(aref[row] - combined) > DISAGREE * size)) return;
  b->conflicting++;
  if (b->nconflict == BLAME_MOST) return;
  blame_conflict *c = &b->conflicts[b->nconflict++];
  *c = (blame_conflict){.row = row, .aref = aref[row], .combined = combined};
  keep_weights(s, c);
}

static int find_conflicts(blame *b, const sc_problem *p, const double *L) {
  size_t n = (size_t)p->nv, ne = 0;
  for (int i = 0; i < p->nefc; i++) ne += p->efc_type[i] == SC_EQUALITY ? 1u : 0u;
  size_t most = ne < n ? ne : n;
  basis s = {.p = p, .L = L, .n = n, .most = most};
  s.Q = malloc((most * n + most * most + n + most + 1) * sizeof *s.Q);
  s.row = malloc((most + 1) * sizeof *s.row);
  int ok = s.Q && s.row;
  if (ok) {
    s.R = s.Q + most * n, s.y = s.R + most * most, s.c = s.y + n;
    for (int i = 0; i < p->nefc; i++)
      if (p->efc_type[i] == SC_EQUALITY) add_equality(&s, i, b);
  }
  free(s.Q);
  free(s.row);
  return ok;
}

/* ------------------------------------------------------------------ all */

int blame_find(const sc_problem *p, const double *qacc, const uint8_t *state, blame *b) {
  size_t n = (size_t)p->nv, m = (size_t)p->nefc;
  *b = (blame){.not_spd = -1};
  double *M = malloc((3 * n * n + 8 * n + m + 1) * sizeof *M);
  if (!M) return 0;
  double *work = M + n * n, *H = work + n * n, *A = H + n * n, *ratio = A + m, *ratio_H = ratio + n, *y = ratio_H + n;
  linear_M(p, M);
  b->not_spd = linear_pivots(M, n, ratio, work);
  if (qacc) {
    linear_hessian(p, qacc, state, H, y);
    linear_pivots(H, n, ratio_H, work);
  }
  find_dofs(b, ratio, qacc ? ratio_H : NULL, p->nv);
  int spd = linear_factor(M, n);
  if (spd) {
    linear_A(p, M, A, y);
    find_rows(b, p, A);
  }
  int ok = find_conflicts(b, p, spd ? M : NULL);
  free(M);
  return ok;
}

/* ------------------------------------------------------------------ output */

static const char *name_of(const char *const *names, int i) { return names && names[i] ? names[i] : ""; }

static void print_conflict(const blame_conflict *c, const char *const *names) {
  printf("  row %d %s asks for %.6g; ", c->row, name_of(names, c->row), c->aref);
  if (!c->n) printf("nothing here can move it\n");
  for (int k = 0; k < c->n; k++)
    printf("%s%.4g x row %d %s", k ? " + " : "it is ", c->weight[k], c->with[k], name_of(names, c->with[k]));
  if (c->n) printf(", which ask for %.6g\n", c->combined);
}

void blame_table(const blame *b, const char *const *row_name, const char *const *dof_name) {
  printf("\n");
  if (b->not_spd >= 0)
    printf("M is not positive definite: nothing is left of the diagonal at dof %d %s\n", b->not_spd, name_of(dof_name, b->not_spd));
  if (b->ndof) printf("worst conditioned dofs: what elimination leaves of the diagonal, relative (leaves first)\n");
  for (int k = 0; k < b->ndof; k++)
    printf("  dof %3d  M %9.3g  H %9.3g  %s\n", b->dofs[k].dof, b->dofs[k].M, b->dofs[k].H, name_of(dof_name, b->dofs[k].dof));
  if (b->nrow) printf("stiffest rows: D A, A = J M^-1 J' (float resolves about 1e6, double 1e14)\n");
  for (int k = 0; k < b->nrow; k++) {
    const blame_row *r = &b->rows[k];
    printf("  row %3d  D A %9.3g  D %9.3g  %s\n", r->row, r->D * r->A, r->D, name_of(row_name, r->row));
  }
  if (b->dependent)
    printf("equality rows that follow from others: %d, of which %d contradict them\n", b->dependent, b->conflicting);
  for (int k = 0; k < b->nconflict; k++) print_conflict(&b->conflicts[k], row_name);
}

static cJSON *named(cJSON *list, const char *what, int i, const char *const *names) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddNumberToObject(o, what, i);
  if (names) cJSON_AddStringToObject(o, "name", name_of(names, i));
  cJSON_AddItemToArray(list, o);
  return o;
}

void blame_json(const blame *b, const char *const *row_name, const char *const *dof_name, cJSON *object) {
  cJSON *all = cJSON_AddObjectToObject(object, "blame");
  if (b->not_spd >= 0) cJSON_AddNumberToObject(all, "not_spd_dof", b->not_spd);
  cJSON *list = cJSON_AddArrayToObject(all, "dofs");
  for (int k = 0; k < b->ndof; k++) {
    cJSON *o = named(list, "dof", b->dofs[k].dof, dof_name);
    json_number(o, "pivot_M", b->dofs[k].M);
    json_number(o, "pivot_H", b->dofs[k].H);
  }
  list = cJSON_AddArrayToObject(all, "rows");
  for (int k = 0; k < b->nrow; k++) {
    cJSON *o = named(list, "row", b->rows[k].row, row_name);
    json_number(o, "D", b->rows[k].D);
    json_number(o, "A", b->rows[k].A);
    json_number(o, "DA", b->rows[k].D * b->rows[k].A);
  }
  cJSON_AddNumberToObject(all, "dependent_equalities", b->dependent);
  cJSON_AddNumberToObject(all, "contradicting_equalities", b->conflicting);
  list = cJSON_AddArrayToObject(all, "contradictions");
  for (int k = 0; k < b->nconflict; k++) {
    const blame_conflict *c = &b->conflicts[k];
    cJSON *o = named(list, "row", c->row, row_name), *with = cJSON_AddArrayToObject(o, "with");
    json_number(o, "aref", c->aref);
    json_number(o, "combined", c->combined);
    for (int i = 0; i < c->n; i++) json_number(named(with, "row", c->with[i], row_name), "weight", c->weight[i]);
  }
}
