/* The numbers of a pack. Index rule: element i of lane l is at (i lanes + l). */
#include "pack.h"

#include "../kernels/cone.h"

#include <float.h>
#include <math.h>
#include <string.h>

size_t sc_pack_cone_elements(const sc_pack *p) {
  size_t n = 0;
  for (int k = 0; k < SC_NDIM; k++) n += (size_t)p->ncone[k] * (size_t)CONE_COEF(sc_dims[k]);
  return n;
}

size_t sc_pack_elements(const sc_pack *p) {
  size_t n = 0;
#define FIELD(name, count) n += (count);
  SC_NUMBER_FIELDS(FIELD, p, sc_pack_cone_elements(p))
#undef FIELD
  return (n + 3) / 4 * 4;
}

void sc_numbers_place(const sc_pack *p, sc_numbers *n, char *at, size_t size, int factor) {
  n->L = factor ? at + sc_pack_elements(p) * size : NULL;
#define FIELD(name, count) n->name = at, at += (count) * size;
  SC_NUMBER_FIELDS(FIELD, p, sc_pack_cone_elements(p))
#undef FIELD
}

/* One part of a pack, and the environments in its first n lanes. */
typedef struct {
  const sc_pack *pack;
  const sc_numbers *num;
  size_t lanes;
  int n;
  const sc_env *env[SC_MAX_LANES];
  const int32_t *envrow[SC_MAX_LANES]; /* of each row of the pack the environment's, or -1 */
  const uint8_t *repeats;              /* of each lane: see sc_packer */
  int32_t *offset[SC_MAX_LANES];       /* where the entries of the lane's last row went, in numbers from its lane of the row's first element */
} part;

static void put(const part *t, void *array, size_t i, int lane, double value) { ((double *)array)[i * t->lanes + (size_t)lane] = value; }

static void zero(const part *t, void *array, size_t n) { memset(array, 0, n * t->lanes * sizeof(double)); }

/* ------------------------------------------------------------------ M */

/* tile of M that holds (i, j), j <= i, both in reverse order */
static size_t find_tile(const sc_tiles *m, int i, int j) {
  int e = m->adr[j / 4];
  while (m->row[e] != i / 4) e++;
  return (size_t)e;
}

/* the entries of one environment's M, each looked up */
static void fill_entries(const part *t, int lane) {
  const sc_env *e = t->env[lane];
  for (int i = 0; i < e->nv; i++)
    for (int k = 0; k < e->M_rownnz[i]; k++) {
      int row = e->nv - 1 - e->M_colind[e->M_rowadr[i] + k], col = e->nv - 1 - i; /* row >= col */
      double value = e->M[e->M_rowadr[i] + k];
      size_t tile = 16 * find_tile(&t->pack->m, row, col);
      put(t, t->num->M, tile + (size_t)(4 * (row % 4) + col % 4), lane, value);
      if (row / 4 == col / 4) put(t, t->num->M, tile + (size_t)(4 * (col % 4) + row % 4), lane, value);
    }
}

/* Entry k of n environments to element place[k step], entry by entry, so that a line of memory is written at once; with step 2 also
 * to place[2 k + 1]. */
FN void fill_places(double *out, size_t lanes, size_t n, const double *const *in, const int32_t *place, size_t entries, size_t step) {
  for (size_t k = 0; k < entries; k++) {
    double *a = out + (size_t)place[step * k] * lanes, *b = out + (size_t)place[step * k + step - 1] * lanes;
    for (size_t l = 0; l < n; l++) a[l] = in[l][k];
    for (size_t l = 0; step == 2 && l < n; l++) b[l] = in[l][k];
  }
}

static void copy_places(const part *t, double *out, const double *const *in, const int32_t *place, size_t entries, size_t step) {
  size_t n = (size_t)t->n;
#define CASE(lanes_, step_) \
  if (n == (lanes_) && t->lanes == (lanes_) && step == (step_)) fill_places(out, lanes_, lanes_, in, place, entries, step_); else
  CASE(8, 1) CASE(8, 2) CASE(4, 1) CASE(4, 2) fill_places(out, t->lanes, n, in, place, entries, step);
#undef CASE
}

static void fill_alike(const part *t, const int32_t *place) {
  const double *in[SC_MAX_LANES] = {0};
  for (int l = 0; l < t->n; l++) in[l] = t->env[l]->M;
  copy_places(t, t->num->M, in, place, (size_t)sc_env_entries(t->env[0]), 2);
}

static void fill_inertia(const part *t, const int32_t *place) {
  const sc_tiles *m = &t->pack->m;
  zero(t, t->num->M, 16 * (size_t)m->ntile);
  if (place && t->n)
    fill_alike(t, place);
  else
    for (int l = 0; l < t->n; l++) fill_entries(t, l);
  for (int l = 0; l < (int)t->lanes; l++) {
    const sc_env *e = l < t->n ? t->env[l] : NULL;
    int nv = e ? e->nv : 0;
    double trace = 0;
    for (int i = 0; i < nv; i++) { /* the diagonal is the last of a row, or missing */
      int last = e->M_rowadr[i] + e->M_rownnz[i] - 1;
      if (e->M_rownnz[i] && e->M_colind[last] == i) trace += e->M[last];
    }
    for (int i = nv; i < t->pack->nv4; i++) put(t, t->num->M, 16 * (size_t)m->adr[i / 4] + (size_t)(5 * (i % 4)), l, 1);
    put(t, t->num->scale, 0, l, trace > 0 ? 1 / trace : 0);
    put(t, t->num->alive, 0, l, e != NULL);
    put(t, t->num->given, 0, l, !e || e->have_tau);
    put(t, t->num->given, 1, l, !e || e->have_s);
    put(t, t->num->given, 2, l, !e || e->have_warm);
  }
}

/* vectors over dofs, in reverse order */
static void fill_dofs(const part *t) {
  size_t nv4 = (size_t)t->pack->nv4;
  zero(t, t->num->tau, nv4);
  zero(t, t->num->s, nv4);
  zero(t, t->num->warm, nv4);
  for (int l = 0; l < t->n; l++) {
    const sc_env *e = t->env[l];
    for (int i = 0; i < e->nv; i++) {
      size_t to = (size_t)(e->nv - 1 - i);
      put(t, t->num->tau, to, l, e->qfrc_smooth[i]);
      put(t, t->num->s, to, l, e->qacc_smooth[i]);
      put(t, t->num->warm, to, l, e->qacc_warmstart[i]);
    }
  }
}

/* ------------------------------------------------------------------ rows */

/* Where the entries of an environment's row r go; jcol: the n blocks of the pack's row. In elements times `scale`. */
static void find_offsets(const sc_env *e, const int32_t *jcol, int n, int r, int scale, int32_t *offset) {
  const int *col = e->J_colind + e->J_rowadr[r];
  int block = n - 1; /* columns ascend, so blocks descend */
  for (int k = 0; k < e->J_rownnz[r]; k++) {
    int i = e->nv - 1 - col[k];
    while (jcol[block] != i / 4) block--;
    offset[k] = (4 * block + i % 4) * scale;
  }
}

/* row `row` of J; again: it has the blocks of the row before */
static void fill_jacobian(const part *t, int row, int again) {
  const sc_pack *p = t->pack;
  int n = p->jadr[row + 1] - p->jadr[row];
  double *J = (double *)t->num->J + 4 * (size_t)p->jadr[row] * t->lanes;
  zero(t, J, 4 * (size_t)n);
  const int32_t *offset = NULL;
  for (int l = 0; l < t->n; l++, J++) {
    const sc_env *e = t->env[l];
    int r = t->envrow[l][row];
    if (r < 0) continue;
    if (!offset || !t->repeats[l]) {
      offset = t->offset[l];
      if (!again || !e->alike[r] || t->envrow[l][row - 1] != r - 1) find_offsets(e, p->jcol + p->jadr[row], n, r, (int)t->lanes, t->offset[l]);
    }
    const double *in = e->J + e->J_rowadr[r];
    for (int k = 0; k < e->J_rownnz[r]; k++) J[offset[k]] = in[k];
  }
}

/* D, aref, and the edges of dry friction */
static void fill_row(const part *t, int row) {
  const sc_pack *p = t->pack;
  double *D = (double *)t->num->D + (size_t)row * t->lanes, *aref = (double *)t->num->aref + (size_t)row * t->lanes;
  for (size_t l = 0; l < t->lanes; l++) {
    int r = l < (size_t)t->n ? t->envrow[l][row] : -1;
    D[l] = r < 0 ? 0 : t->env[l]->D[r];
    aref[l] = r < 0 ? 0 : t->env[l]->aref[r];
  }
  if (row < p->ne || row >= p->ne + p->nf) return;
  for (int l = 0; l < (int)t->lanes; l++) {
    int r = l < t->n ? t->envrow[l][row] : -1;
    const sc_env *e = t->env[l];
    put(t, t->num->eta, (size_t)(row - p->ne), l, r < 0 ? 0 : e->frictionloss[r]);
    put(t, t->num->edge, (size_t)(row - p->ne), l, r < 0 ? 0 : law_edge(e->frictionloss[r], e->R[r]));
  }
}

/* J of environments all of whose rows are alike, entry by entry */
static void fill_jacobian_alike(const part *t, int32_t *place) {
  const sc_pack *p = t->pack;
  const sc_env *e = t->env[0];
  const double *in[SC_MAX_LANES] = {0};
  size_t entries = e->nefc ? (size_t)(e->J_rowadr[e->nefc - 1] + e->J_rownnz[e->nefc - 1]) : 0;
  for (int l = 0; l < t->n; l++) in[l] = t->env[l]->J;
  for (int row = 0; row < p->nefc; row++) {
    int r = t->envrow[0][row], n = p->jadr[row + 1] - p->jadr[row];
    if (r < 0) continue;
    int32_t *at = place + e->J_rowadr[r];
    find_offsets(e, p->jcol + p->jadr[row], n, r, 1, at);
    for (int k = 0; k < e->J_rownnz[r]; k++) at[k] += 4 * p->jadr[row];
  }
  zero(t, t->num->J, 4 * (size_t)p->nblock);
  copy_places(t, t->num->J, in, place, entries, 1);
}

/* place: room for the entries of an environment's J */
static void fill_rows(const part *t, int32_t *place) {
  const sc_pack *p = t->pack;
  int alike = t->n > 1;
  for (int l = 1; l < t->n; l++) alike &= t->repeats[l];
  if (alike) fill_jacobian_alike(t, place);
  for (int row = 0; row < p->nefc; row++) {
    int n = p->jadr[row + 1] - p->jadr[row];
    int again = row && n == p->jadr[row] - p->jadr[row - 1] && !memcmp(p->jcol + p->jadr[row], p->jcol + p->jadr[row - 1], (size_t)n * sizeof *p->jcol);
    fill_row(t, row);
    if (!alike) fill_jacobian(t, row, again);
  }
}

/* which one-sided rows are the first of two opposite edges: they follow each other, and stand in the environment's order */
static void fill_pairs(const part *t) {
  const sc_pack *p = t->pack;
  for (int l = 0; l < (int)t->lanes; l++) {
    int second = 0;
    for (int i = 0; i < p->nu; i++) {
      int r = l < t->n ? t->envrow[l][p->ne + p->nf + i] : -1;
      int first = r >= 0 && t->env[l]->type[r] == SC_CONTACT_PYRAMIDAL && !second;
      put(t, t->num->pair, (size_t)i, l, first);
      second = first;
    }
  }
}

/* coefficients of a contact that is not there: on top of any cone, without force */
static void fill_no_cone(const part *t, size_t at, int lane, int dim) {
  put(t, t->num->cone, at, lane, 1);
  put(t, t->num->cone, at + 1, lane, 0);
  for (int j = 1; j < dim; j++) put(t, t->num->cone, at + 1 + (size_t)j, lane, 1);
}

/* those of the contact whose first row is the environment's row r */
static void fill_cone(const part *t, size_t at, int lane, int dim, int r, int contact) {
  const sc_env *e = t->env[lane];
  double coef[CONE_COEF(6)];
  cone_coefficients(dim, e->mu[contact], e->D[r], e->friction + 5 * contact, coef);
  for (int j = 0; j < CONE_COEF(dim); j++) put(t, t->num->cone, at + (size_t)j, lane, coef[j]);
}

/* the contacts of each size in turn: in the order of the environment's rows */
static void fill_cones(const part *t, int lane) {
  const sc_pack *p = t->pack;
  const sc_env *e = lane < t->n ? t->env[lane] : NULL;
  size_t at = 0;
  for (int k = 0, row = p->conerow; k < SC_NDIM; k++) {
    int dim = sc_dims[k];
    for (int c = 0, r = 0, contact = 0; c < p->ncone[k]; c++, row += dim, at += (size_t)CONE_COEF(dim)) {
      int want = e ? t->envrow[lane][row] : -1;
      fill_no_cone(t, at, lane, dim);
      if (want < 0) continue;
      while (r < want) {
        int cone = sc_type_has_cone(e->type[r]);
        r += cone ? sc_contact_rows(e->type[r], e->dim[contact]) : 1;
        contact += cone;
      }
      fill_cone(t, at, lane, dim, r, contact);
    }
  }
}

/* ------------------------------------------------------------------ all */

/* entries of J of the environment that has most */
static size_t most_entries(const sc_slot *slot, const sc_batch *batch) {
  size_t most = 0;
  for (int l = 0; l < slot->parts * slot->lanes && slot->env[l] >= 0; l++) {
    const sc_env *e = &batch->env[slot->env[l]];
    size_t n = e->nefc ? (size_t)(e->J_rowadr[e->nefc - 1] + e->J_rownnz[e->nefc - 1]) : 0;
    if (n > most) most = n;
  }
  return most;
}

int sc_pack_numbers(sc_slot *slot, const sc_batch *batch, sc_packer *packer) {
  const sc_pack *p = &slot->pack;
  size_t nv4 = (size_t)p->nv4, offsets = (size_t)slot->lanes * nv4;
  int32_t *offset = sc_buffer_get(&packer->offset, (offsets + most_entries(slot, batch)) * sizeof *offset + 8);
  if (!offset) return 0;
  for (int k = 0; k < slot->parts; k++) {
    part t = {.pack = p, .num = &slot->part[k], .lanes = (size_t)slot->lanes, .repeats = packer->repeats + k * slot->lanes};
    for (int l = 0; l < slot->lanes; l++) {
      int lane = k * slot->lanes + l;
      t.offset[l] = offset + (size_t)l * nv4;
      if (slot->env[lane] < 0) continue;
      t.env[l] = &batch->env[slot->env[lane]];
      t.envrow[l] = (const int32_t *)packer->envrow.data + (size_t)lane * (size_t)p->nefc;
      t.n = l + 1;
    }
    size_t used = (size_t)((double *)t.num->alive - (double *)t.num->M) / t.lanes + 1; /* then comes what L is aligned by */
    zero(&t, (double *)t.num->M + used * t.lanes, sc_pack_elements(p) - used);
    fill_inertia(&t, packer->same ? packer->place.data : NULL);
    fill_dofs(&t);
    fill_rows(&t, offset + offsets);
    fill_pairs(&t);
    for (int l = 0; l < slot->lanes; l++) fill_cones(&t, l);
  }
  return 1;
}

void sc_pack_narrow(sc_slot *slot, const sc_kernels *kernels) {
  size_t n = sc_pack_elements(&slot->pack) + (slot->factor_f32 ? 16 * (size_t)slot->pack.m.ntile : 0);
  const void *in[SC_MAX_PARTS];
  double largest[SC_MAX_LANES];
  for (int k = 0; k < slot->parts; k++) in[k] = slot->part[k].M;
  kernels->narrow(in, slot->parts, n, slot->pack.num[SC_F32].M, largest);
  slot->beyond_float = 0;
  for (int l = 0; l < slot->parts * slot->lanes; l++) {
    if (!(largest[l] > (double)FLT_MAX)) continue;
    slot->beyond_float |= 1u << l;
    ((float *)slot->pack.num[SC_F32].alive)[l] = 0;
  }
}
