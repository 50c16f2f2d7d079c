/* From a batch to the parameters that a device evaluates rows from. */
#include "device_rows.h"

#include "../kernels/cone.h"
#include "batch.h"
#include "results.h"
#include "slot.h"

#include <stdlib.h>

size_t sc_device_rows_point(sc_device_rows *r, void *memory) {
  const sc_device_row_sizes s = r->sizes;
  size_t at = 0;
  r->memory = memory;
#define FIELD(name, type, count)                                         \
  r->name = memory ? (type *)(void *)((char *)memory + at) : NULL;       \
  at += ((count) * sizeof(type) + 7) / 8 * 8;
  SC_DEVICE_PARAMETERS(FIELD)
  SC_DEVICE_PLACES(FIELD)
#undef FIELD
  return at;
}

/* where an elliptic contact's numbers are, whose rows begin at `place` of the pack */
static int32_t find_cone(const sc_pack *p, int place) {
  int first = p->conerow, at = 0;
  for (int k = 0; k < SC_NDIM; k++) {
    int rows = sc_dims[k] * p->ncone[k];
    if (place < first + rows) return at + (place - first) / sc_dims[k] * CONE_COEF(sc_dims[k]);
    first += rows, at += p->ncone[k] * CONE_COEF(sc_dims[k]);
  }
  return -1;
}

/* the blocks of an environment, which is alone in the pack, to `out` unless that is NULL; returns how many */
static size_t list_blocks(const sc_env *e, int env, const sc_pack *pack, const int32_t *rowmap, sc_row_block *out) {
  size_t count = 0;
  for (int r = 0, contact = 0, n; r < e->nefc; r += n, count++) {
    int type = e->type[r], cone = sc_type_has_cone(type);
    n = sc_rows_in_block(e, r, contact);
    if (out)
      out[count] = (sc_row_block){.env = env, .row = r, .rows = n, .type = type, .contact = cone ? contact : -1,
                                  .place = rowmap[r], .cone = type == SC_CONTACT_ELLIPTIC ? find_cone(pack, rowmap[r]) : -1};
    contact += cone;
  }
  return count;
}

static void copy(double *to, const double *from, size_t n) {
  if (n) memcpy(to, from, n * sizeof *to);
}

static void copy_parameters(const sc_device_rows *r, const sc_env *e, int env, size_t row) {
  size_t contact = r->con_offset[env], m = (size_t)e->nefc, c = (size_t)e->ncon;
  copy(r->solref + 2 * row, e->solref, 2 * m), copy(r->solimp + 5 * row, e->solimp, 5 * m);
  copy(r->pos + row, e->pos, m), copy(r->margin + row, e->margin, m), copy(r->vel + row, e->vel, m);
  copy(r->diagA + row, e->diagonal, m), copy(r->curvature + row, e->curvature, m), copy(r->adhesion + row, e->adhesion, m);
  copy(r->frictionloss + row, e->frictionloss, m), copy(r->friction + 5 * contact, e->friction, 5 * c);
  copy(r->solreffriction + 2 * contact, e->solreffriction, 2 * c);
  r->timestep[env] = e->timestep, r->impratio[env] = e->impratio, r->refsafe[env] = e->refsafe;
  r->kept[env] = 1;
}

int sc_device_rows_make(sc_device_rows *r, const sc_batch *batch, const sc_slot *slots, int npack,
                        const sc_results *results) {
  int any = 0;
  *r = (sc_device_rows){.sizes = {(size_t)batch->nenv, results->efc_offset[batch->nenv], 0, 0}};
  for (int i = 0; i < batch->nenv; i++) r->sizes.c += (size_t)batch->env[i].ncon;
  for (int i = 0; i < npack; i++) {
    const sc_env *e = &batch->env[slots[i].env[0]];
    if (e->kept) r->sizes.b += list_blocks(e, 0, NULL, NULL, NULL), any = 1;
  }
  if (!any) return 1;
  void *memory = calloc(1, sc_device_rows_point(r, NULL));
  if (!memory) return 0;
  sc_device_rows_point(r, memory);
  for (int i = 0; i < batch->nenv; i++) r->con_offset[i + 1] = r->con_offset[i] + (size_t)batch->env[i].ncon;
  size_t count = 0;
  for (int i = 0; i < npack; i++) {
    int env = slots[i].env[0];
    const sc_env *e = &batch->env[env];
    if (!e->kept) continue;
    size_t row = results->efc_offset[env];
    copy_parameters(r, e, env, row);
    size_t n = list_blocks(e, env, &slots[i].pack, results->rowmap + row, r->block + count);
    r->first[env] = count, r->nblock[env] = (int32_t)n;
    count += n;
  }
  return 1;
}
