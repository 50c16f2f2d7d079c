/* From one large environment to a pack of one lane. Its factors are made column by column (kernels/columns.inl), so that there
 * are no lists of products, and of terms those of diagonal tiles only, which J' f reads. */
#include "large.h"

#include "../kernels/cone.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* everything that is known before the slot's memory is taken */
typedef struct {
  const sc_env *env;
  int32_t *place;           /* nv */
  int32_t *map;             /* nefc */
  int nb;
  sc_lists rows, m, h;
} large_plan;

static void free_plan(large_plan *p) {
  sc_lists *all[] = {&p->rows, &p->m, &p->h};
  for (int i = 0; i < 3; i++) free(all[i]->adr.at), free(all[i]->item.at);
  free(p->place);
}

/* diagonal tiles alone */
static int list_diagonal(int nb, sc_lists *columns) {
  for (int j = 0; j <= nb; j++) sc_ints_add(&columns->adr, j);
  for (int j = 0; j < nb; j++) sc_ints_add(&columns->item, j);
  return !columns->adr.failed && !columns->item.failed;
}

static int make_plan(large_plan *p, sc_pack *pack, int hessian) {
  const sc_env *e = p->env;
  int32_t positions;
  p->place = malloc(((size_t)e->nv + (size_t)e->nefc + 1) * sizeof *p->place);
  if (!p->place) return 0;
  p->map = p->place + e->nv;
  sc_map_rows(e, pack, p->map);
  if (!sc_large_order(e, hessian, p->place, &positions)) return 0;
  p->nb = positions / 4;
  return sc_large_rows(e, p->place, p->map, &p->rows) && sc_large_factor(e, p->place, p->nb, NULL, &p->m) &&
         (hessian ? sc_large_factor(e, p->place, p->nb, &p->rows, &p->h) : list_diagonal(p->nb, &p->h));
}

/* ------------------------------------------------------------------ integers */

typedef struct { int32_t *at; size_t n; } writer; /* at NULL: only counted */

static int32_t *take(writer *w, size_t n) {
  int32_t *at = w->at ? w->at + w->n : NULL;
  w->n += n;
  return at;
}

static int32_t *copy(writer *w, const sc_ints *list) {
  int32_t *at = take(w, list->n);
  if (at && list->n) memcpy(at, list->at, list->n * sizeof *at);
  return at;
}

static void write_tiles(writer *w, int nb, const sc_lists *columns, sc_tiles *t) {
  size_t n = columns->item.n, below = n - (size_t)nb;
  int32_t *adr = copy(w, &columns->adr), *row = copy(w, &columns->item);
  int32_t *rowadr = take(w, (size_t)nb + 2), *rowtile = take(w, below), *rowcol = take(w, below);
  *t = (sc_tiles){.nb = nb, .ntile = (int32_t)n, .adr = adr, .row = row, .rowadr = rowadr, .rowtile = rowtile, .rowcol = rowcol};
  if (!w->at) return;
  memset(rowadr, 0, ((size_t)nb + 2) * sizeof *rowadr);
  for (int j = 0; j < nb; j++)
    for (int e = adr[j] + 1; e < adr[j + 1]; e++) rowadr[row[e] + 2]++;
  for (int i = 2; i < nb + 2; i++) rowadr[i] += rowadr[i - 1];
  for (int j = 0; j < nb; j++)
    for (int e = adr[j] + 1; e < adr[j + 1]; e++) {
      int k = rowadr[row[e] + 1]++;
      rowtile[k] = e, rowcol[k] = j;
    }
}

/* the tile of M of each tile of H; both columns ascend */
static const int32_t *write_mtiles(writer *w, const sc_pack *p) {
  int32_t *mtile = take(w, (size_t)p->h.ntile);
  for (int j = 0; w->at && j < p->nb; j++)
    for (int e = p->h.adr[j], m = p->m.adr[j]; e < p->h.adr[j + 1]; e++) {
      int same = m < p->m.adr[j + 1] && p->m.row[m] == p->h.row[e];
      mtile[e] = same ? m++ : -1;
    }
  return mtile;
}

/* terms of the diagonal tiles: the rows of each block column, ascending */
static void write_terms(writer *w, sc_pack *p) {
  size_t n = (size_t)p->h.ntile;
  int32_t *adr = take(w, n + 1), *cone = take(w, n), *term = take(w, 3 * (size_t)p->nblock);
  p->termadr = adr, p->termcone = cone, p->term = (const sc_term *)(const void *)term;
  if (!w->at) return;
  memset(adr, 0, (n + 1) * sizeof *adr);
  memset(cone, 0, n * sizeof *cone);
  for (int b = 0; b < p->nblock; b++) adr[p->h.adr[p->jcol[b]]]++;
  for (size_t i = 0, at = 0; i <= n; i++) {
    size_t count = (size_t)adr[i];
    adr[i] = (int32_t)at, at += count;
  }
  for (int r = 0; r < p->nefc; r++)
    for (int b = p->jadr[r]; b < p->jadr[r + 1]; b++) {
      int tile = p->h.adr[p->jcol[b]];
      memcpy(term + 3 * (size_t)adr[tile], (int32_t[]){r, b, b}, 3 * sizeof *term);
      adr[tile]++;
      cone[tile] += r < p->conerow;
    }
  for (size_t i = n; i > 0; i--) adr[i] = adr[i - 1];
  adr[0] = 0;
  for (size_t i = 0; i < n; i++) cone[i] += adr[i];
}

static void write_all(writer *w, const large_plan *plan, sc_slot *slot) {
  sc_pack *p = &slot->pack;
  write_tiles(w, plan->nb, &plan->m, &p->m);
  write_tiles(w, plan->nb, &plan->h, &p->h);
  p->mtile = write_mtiles(w, p);
  p->jadr = copy(w, &plan->rows.adr), p->jcol = copy(w, &plan->rows.item);
  p->nblock = (int32_t)plan->rows.item.n;
  write_terms(w, p);
  int32_t *place = take(w, (size_t)plan->env->nv);
  if (place && plan->env->nv) memcpy(place, plan->place, (size_t)plan->env->nv * sizeof *place);
  slot->place = place;
}

/* ------------------------------------------------------------------ numbers */

static void fill_inertia(const large_plan *plan, const sc_slot *slot) {
  const sc_env *e = plan->env;
  const sc_tiles *m = &slot->pack.m;
  double *M = slot->part[0].M, trace = 0;
  for (int j = 0; j < m->nb; j++) /* positions without a dof */
    for (int k = 0; k < 4; k++) M[16 * (size_t)m->adr[j] + (size_t)(5 * k)] = 1;
  for (int i = 0; i < e->nv; i++) M[16 * (size_t)m->adr[plan->place[i] / 4] + (size_t)(5 * (plan->place[i] % 4))] = 0;
  for (int i = 0; i < e->nv; i++)
    for (int k = e->M_rowadr[i], tile = -1; k < e->M_rowadr[i] + e->M_rownnz[i]; k++) {
      int a = plan->place[i], b = plan->place[e->M_colind[k]], row = a > b ? a : b, column = a > b ? b : a;
      if (tile < m->adr[column / 4] || tile >= m->adr[column / 4 + 1]) tile = m->adr[column / 4];
      while (m->row[tile] < row / 4) tile++; /* neighbours in a row of M are neighbours here */
      while (m->row[tile] > row / 4) tile--;
      M[16 * (size_t)tile + (size_t)(4 * (row % 4) + column % 4)] = e->M[k];
      if (row / 4 == column / 4) M[16 * (size_t)tile + (size_t)(4 * (column % 4) + row % 4)] = e->M[k];
      if (row == column) trace += e->M[k];
    }
  *(double *)slot->part[0].scale = trace > 0 ? 1 / trace : 0;
  *(double *)slot->part[0].alive = 1;
}

static void fill_rows(const large_plan *plan, const sc_slot *slot) {
  const sc_env *e = plan->env;
  const sc_pack *p = &slot->pack;
  const sc_numbers *num = &slot->part[0];
  double *J = num->J, *D = num->D, *aref = num->aref, *eta = num->eta, *edge = num->edge, *pair = num->pair;
  int second = 0; /* the other edge of a pair */
  for (int r = 0; r < e->nefc; r++) {
    int row = plan->map[r], block = p->jadr[row];
    second = e->type[r] == SC_CONTACT_PYRAMIDAL && !second;
    if (second) pair[row - p->ne - p->nf] = 1;
    D[row] = e->D[r], aref[row] = e->aref[r];
    if (sc_type_is_friction(e->type[r])) eta[row - p->ne] = e->frictionloss[r], edge[row - p->ne] = e->frictionloss[r] * e->R[r];
    for (int k = e->J_rowadr[r]; k < e->J_rowadr[r] + e->J_rownnz[r]; k++) {
      int at = plan->place[e->J_colind[k]];
      while (p->jcol[block] < at / 4) block++;
      while (p->jcol[block] > at / 4) block--;
      J[4 * (size_t)block + (size_t)(at % 4)] = e->J[k];
    }
  }
}

/* coefficients of the elliptic contacts, in the order in which they stand in their kind */
static void fill_cones(const large_plan *plan, const sc_slot *slot) {
  const sc_env *e = plan->env;
  const sc_pack *p = &slot->pack;
  double *next[SC_NDIM], *at = slot->part[0].cone;
  for (int k = 0; k < SC_NDIM; k++) next[k] = at, at += p->ncone[k] * CONE_COEF(sc_dims[k]);
  for (int r = 0, contact = 0; r < e->nefc;) {
    int rows = sc_type_has_cone(e->type[r]) ? sc_contact_rows(e->type[r], e->dim[contact]) : 1;
    if (e->type[r] == SC_CONTACT_ELLIPTIC) {
      double **to = &next[rows == 3 ? 0 : rows == 4 ? 1 : 2], mu2 = e->mu[contact] * e->mu[contact];
      (*to)[0] = mu2, (*to)[1] = e->D[r] / (1 + mu2);
      for (int j = 1; j < rows; j++) CONE_C(*to, j) = e->friction[5 * contact + j - 1];
      *to += CONE_COEF(rows);
    }
    contact += sc_type_has_cone(e->type[r]);
    r += rows;
  }
}

static void fill_numbers(const large_plan *plan, const sc_slot *slot) {
  const sc_env *e = plan->env;
  const sc_numbers *num = &slot->part[0];
  double *given = num->given, *tau = num->tau, *s = num->s, *warm = num->warm;
  memset(num->M, 0, sc_pack_elements(&slot->pack) * sizeof(double));
  fill_inertia(plan, slot);
  fill_rows(plan, slot);
  fill_cones(plan, slot);
  given[0] = e->have_tau, given[1] = e->have_s, given[2] = e->have_warm;
  for (int i = 0; i < e->nv; i++) {
    size_t at = (size_t)plan->place[i];
    tau[at] = e->qfrc_smooth[i], s[at] = e->qacc_smooth[i], warm[at] = e->qacc_warmstart[i];
  }
}

/* ------------------------------------------------------------------ the slot */

int sc_machine_has(size_t bytes) {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages <= 0 || page <= 0 || bytes / (size_t)page < (size_t)pages;
}

static int take_memory(sc_slot *slot, const large_plan *plan, int f32) {
  writer count = {0};
  write_all(&count, plan, slot);
  sc_pack *p = &slot->pack;
  size_t elements = sc_pack_elements(p), factor = 16 * (size_t)p->m.ntile;
  size_t wide = (elements + factor) * sizeof(double), narrow = f32 ? (elements + (slot->factor_f32 ? factor : 0)) * sizeof(float) : 0;
  wide = (wide + 63) / 64 * 64, narrow = (narrow + 63) / 64 * 64;
  size_t bytes = (wide + narrow + count.n * sizeof(int32_t) + 63) / 64 * 64;
  slot->wanted = bytes;
  if (bytes > slot->capacity) {
    void *block = sc_machine_has(bytes) ? aligned_alloc(64, bytes) : NULL;
    if (!block) return 0;
    free(slot->block);
    slot->block = block, slot->capacity = bytes;
  }
  char *at = slot->block;
  writer w = {(int32_t *)(void *)(at + wide + narrow), 0};
  write_all(&w, plan, slot);
  sc_numbers_place(p, &slot->part[0], at, sizeof(double), 1);
  p->num[SC_F64] = slot->part[0];
  if (f32) sc_numbers_place(p, &p->num[SC_F32], at + wide, sizeof(float), slot->factor_f32);
  return 1;
}

int sc_pack_large(sc_slot *slot, const sc_batch *batch, int f32, int hessian, const sc_row_places *places) {
  large_plan plan = {.env = &batch->env[slot->env[0]]};
  sc_pack *p = &slot->pack;
  sc_counts c = plan.env->counts;
  *p = (sc_pack){.nefc = plan.env->nefc, .ne = c.ne, .nf = c.nf, .nu = c.nu, .conerow = c.ne + c.nf + c.nu, .hessian = hessian};
  memcpy(p->ncone, c.ncone, sizeof p->ncone);
  slot->wanted = 0;
  int done = make_plan(&plan, p, hessian);
  if (done) {
    p->nb = plan.nb, p->nv4 = 4 * plan.nb;
    done = take_memory(slot, &plan, f32);
  }
  if (done) {
    fill_numbers(&plan, slot);
    memcpy(places->row + places->offset[slot->env[0]], plan.map, (size_t)plan.env->nefc * sizeof *plan.map);
  }
  free_plan(&plan);
  return done;
}
