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
  return n;
}

/* where one lane's numbers go */
typedef struct {
  const sc_pack *pack;
  const sc_numbers *num;
  size_t lanes, lane;
} target;

static void set(const target *t, void *array, size_t i, double value) { ((double *)array)[i * t->lanes + t->lane] = value; }

/* tile of M that holds (i, j), j <= i, both in reverse order */
static size_t find_tile(const sc_tiles *m, int i, int j) {
  int e = m->adr[j / 4];
  while (m->row[e] != i / 4) e++;
  return (size_t)e;
}

/* the entries of M, each looked up */
static void fill_entries(const target *t, const sc_env *e) {
  for (int i = 0; i < e->nv; i++)
    for (int k = 0; k < e->M_rownnz[i]; k++) {
      int row = e->nv - 1 - e->M_colind[e->M_rowadr[i] + k], col = e->nv - 1 - i; /* row >= col */
      double value = e->M[e->M_rowadr[i] + k];
      size_t tile = 16 * find_tile(&t->pack->m, row, col);
      set(t, t->num->M, tile + (size_t)(4 * (row % 4) + col % 4), value);
      if (row / 4 == col / 4) set(t, t->num->M, tile + (size_t)(4 * (col % 4) + row % 4), value);
    }
}

/* the same where it is known where they go */
static void fill_places(const target *t, const sc_env *e, const int32_t *place) {
  int n = sc_env_entries(e);
  for (int k = 0; k < n; k++) {
    set(t, t->num->M, (size_t)place[2 * k], e->M[k]);
    if (place[2 * k + 1] >= 0) set(t, t->num->M, (size_t)place[2 * k + 1], e->M[k]);
  }
}

static void fill_inertia(const target *t, const sc_env *e, const int32_t *place) {
  const sc_tiles *m = &t->pack->m;
  int nv = e ? e->nv : 0;
  double trace = 0;
  if (e && place)
    fill_places(t, e, place);
  else if (e)
    fill_entries(t, e);
  for (int i = 0; i < nv; i++) { /* the diagonal is the last of a row, or missing */
    int last = e->M_rowadr[i] + e->M_rownnz[i] - 1;
    if (e->M_rownnz[i] && e->M_colind[last] == i) trace += e->M[last];
  }
  for (int i = nv; i < t->pack->nv4; i++) set(t, t->num->M, 16 * (size_t)m->adr[i / 4] + (size_t)(5 * (i % 4)), 1);
  set(t, t->num->scale, 0, trace > 0 ? 1 / trace : 0);
  set(t, t->num->alive, 0, e != NULL);
}

/* a vector over dofs, in reverse order */
static void fill_dofs(const target *t, void *array, const double *values, int nv) {
  for (int i = 0; i < nv; i++) set(t, array, (size_t)(nv - 1 - i), values[i]);
}

static void fill_jacobian(const target *t, const sc_env *e, int r, int row) {
  const sc_pack *p = t->pack;
  int block = p->jadr[row + 1] - 1; /* columns ascend, so blocks descend */
  for (int k = 0; k < e->J_rownnz[r]; k++) {
    int i = e->nv - 1 - e->J_colind[e->J_rowadr[r] + k];
    while (p->jcol[block] != i / 4) block--;
    set(t, t->num->J, 4 * (size_t)block + (size_t)(i % 4), e->J[e->J_rowadr[r] + k]);
  }
}

static void fill_rows(const target *t, const sc_env *e, const int32_t *map) {
  const sc_pack *p = t->pack;
  for (int r = 0; r < e->nefc; r++) {
    size_t row = (size_t)map[r];
    set(t, t->num->D, row, e->D[r]);
    set(t, t->num->aref, row, e->aref[r]);
    if (sc_type_is_friction(e->type[r])) {
      set(t, t->num->eta, row - (size_t)p->ne, e->frictionloss[r]);
      set(t, t->num->edge, row - (size_t)p->ne, e->frictionloss[r] * e->R[r]);
    }
    fill_jacobian(t, e, r, map[r]);
  }
}

/* coefficients of a contact that is not there: on top of any cone, without force */
static void fill_no_cone(const target *t, size_t at, int dim) {
  set(t, t->num->cone, at, 1);
  set(t, t->num->cone, at + 1, 0);
  for (int j = 1; j < dim; j++) set(t, t->num->cone, at + 1 + (size_t)j, 1);
}

static void fill_cones(const target *t, const sc_env *e, const int32_t *map) {
  const sc_pack *p = t->pack;
  size_t base[SC_NDIM], at = 0;
  int first[SC_NDIM], row = p->conerow;
  for (int k = 0; k < SC_NDIM; k++) {
    base[k] = at, first[k] = row;
    for (int c = 0; c < p->ncone[k]; c++, at += (size_t)CONE_COEF(sc_dims[k])) fill_no_cone(t, at, sc_dims[k]);
    row += sc_dims[k] * p->ncone[k];
  }
  for (int r = 0, contact = 0; e && r < e->nefc;) {
    int type = e->type[r], rows = sc_type_has_cone(type) ? sc_contact_rows(type, e->dim[contact]) : 1;
    if (type == SC_CONTACT_ELLIPTIC) {
      int k = rows == 3 ? 0 : rows == 4 ? 1 : 2;
      double mu2 = e->mu[contact] * e->mu[contact];
      at = base[k] + (size_t)((map[r] - first[k]) / rows * CONE_COEF(rows));
      set(t, t->num->cone, at, mu2);
      set(t, t->num->cone, at + 1, e->D[r] / (1 + mu2));
      for (int j = 1; j < rows; j++) set(t, t->num->cone, at + 1 + (size_t)j, e->friction[5 * contact + j - 1]);
    }
    contact += sc_type_has_cone(type);
    r += rows;
  }
}

void sc_pack_numbers(sc_slot *slot, const sc_batch *batch, sc_packer *packer) {
  sc_pack *p = &slot->pack;
  size_t elements = sc_pack_elements(p);
  int lanes = slot->parts * slot->lanes, most = 0;
  for (int k = 0; k < slot->parts; k++) memset(slot->part[k].M, 0, elements * (size_t)slot->lanes * sizeof(double));
  for (int l = 0; l < lanes; l++)
    if (slot->env[l] >= 0 && batch->env[slot->env[l]].nefc > most) most = batch->env[slot->env[l]].nefc;
  for (int l = 0; l < lanes; l++) {
    const sc_env *e = slot->env[l] < 0 ? NULL : &batch->env[slot->env[l]];
    const int32_t *map = (const int32_t *)packer->rowmap.data + (size_t)l * (size_t)most;
    const sc_numbers *num = &slot->part[l / slot->lanes];
    target t = {p, num, (size_t)slot->lanes, (size_t)(l % slot->lanes)};
    fill_inertia(&t, e, packer->same ? packer->place.data : NULL);
    fill_cones(&t, e, map);
    set(&t, num->given, 0, !e || e->have_tau);
    set(&t, num->given, 1, !e || e->have_s);
    set(&t, num->given, 2, !e || e->have_warm);
    if (!e) continue;
    fill_rows(&t, e, map);
    fill_dofs(&t, num->tau, e->qfrc_smooth, e->nv);
    fill_dofs(&t, num->s, e->qacc_smooth, e->nv);
    fill_dofs(&t, num->warm, e->qacc_warmstart, e->nv);
  }
}

void sc_pack_narrow(sc_slot *slot) {
  size_t n = sc_pack_elements(&slot->pack) + (slot->factor_f32 ? 16 * (size_t)slot->pack.m.ntile : 0), lanes = (size_t)slot->lanes, parts = (size_t)slot->parts;
  float *out = slot->pack.num[SC_F32].M;
  slot->beyond_float = 0;
  for (size_t k = 0; k < parts; k++) {
    const double *in = slot->part[k].M;
    unsigned beyond[SC_MAX_LANES] = {0};
    for (size_t i = 0; i < n; i++)
      for (size_t l = 0; l < lanes; l++) {
        out[(i * parts + k) * lanes + l] = (float)in[i * lanes + l];
        beyond[l] |= fabs(in[i * lanes + l]) > (double)FLT_MAX;
      }
    for (size_t l = 0; l < lanes; l++) {
      if (!beyond[l]) continue;
      slot->beyond_float |= 1u << (k * lanes + l);
      ((float *)slot->pack.num[SC_F32].alive)[k * lanes + l] = 0;
    }
  }
}
