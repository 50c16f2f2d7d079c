/* Which environments share a pack, and where their rows go. */
#include "pack.h"

#include <stdlib.h>

static int dim_index(int dim) { return dim == 3 ? 0 : dim == 4 ? 1 : 2; }

sc_counts sc_count_rows(const sc_env *e) {
  sc_counts c = {0};
  for (int r = 0, contact = 0; r < e->nefc; r++) {
    int type = e->type[r];
    if (type == SC_EQUALITY) {
      c.ne++;
    } else if (sc_type_is_friction(type)) {
      c.nf++;
    } else if (type == SC_CONTACT_ELLIPTIC) {
      c.ncone[dim_index(e->dim[contact])]++;
      r += e->dim[contact++] - 1;
    } else if (type == SC_CONTACT_PYRAMIDAL) {
      int rows = sc_contact_rows(type, e->dim[contact++]);
      c.nu += rows;
      r += rows - 1;
    } else {
      c.nu++;
    }
  }
  return c;
}

void sc_map_rows(const sc_env *e, const sc_pack *p, int32_t *map) {
  int ne = 0, nf = p->ne, nu = p->ne + p->nf, cone[SC_NDIM];
  cone[0] = p->conerow;
  for (int k = 1; k < SC_NDIM; k++) cone[k] = cone[k - 1] + sc_dims[k - 1] * p->ncone[k - 1];
  for (int r = 0, contact = 0; r < e->nefc;) {
    int type = e->type[r], rows = sc_type_has_cone(type) ? sc_contact_rows(type, e->dim[contact]) : 1;
    int *next = type == SC_EQUALITY ? &ne : sc_type_is_friction(type) ? &nf : type == SC_CONTACT_ELLIPTIC ? &cone[dim_index(e->dim[contact])] : &nu;
    contact += sc_type_has_cone(type);
    while (rows--) map[r++] = (*next)++;
  }
}

/* environments with equal or near keys do the same work: sort by size, then by the dofs that rows touch */
typedef struct { uint32_t nb, rows; uint64_t touched; int32_t env; } key;

static int compare(const void *a, const void *b) {
  const key *x = a, *y = b;
  if (x->nb != y->nb) return x->nb < y->nb ? -1 : 1;
  if (x->rows != y->rows) return x->rows < y->rows ? -1 : 1;
  if (x->touched != y->touched) return x->touched < y->touched ? -1 : 1;
  return (x->env > y->env) - (x->env < y->env);
}

static key make_key(const sc_env *e, int env) {
  key k = {(uint32_t)((e->nv + 3) / 4), (uint32_t)e->nefc, 0, env};
  int nnz = e->nefc ? e->J_rowadr[e->nefc - 1] + e->J_rownnz[e->nefc - 1] : 0;
  for (int i = 0; i < nnz; i++) {
    int block = (e->nv - 1 - e->J_colind[i]) / 4;
    k.touched |= (uint64_t)1 << (block < 63 ? block : 63);
  }
  return k;
}

int sc_order(const sc_batch *batch, int lanes, int32_t *order, int32_t *starts) {
  key *keys = malloc(((size_t)batch->nenv + 1) * sizeof *keys);
  if (!keys) return -1;
  int n = 0, packs = 0;
  for (int i = 0; i < batch->nenv; i++)
    if (!batch->env[i].bad) keys[n++] = make_key(&batch->env[i], i);
  qsort(keys, (size_t)n, sizeof *keys, compare);
  for (int i = 0; i < n; i++) {
    order[i] = keys[i].env;
    if (i == 0 || i - starts[packs - 1] == lanes || keys[i].nb != keys[i - 1].nb) starts[packs++] = i;
  }
  starts[packs] = n;
  free(keys);
  return packs;
}
