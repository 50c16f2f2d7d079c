/* The assembly: its memory, its order, and the problem it hands out. */
#include "assemble.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ memory */

void sc_assembly_options_init(sc_assembly_options *options) {
  memset(options, 0, sizeof *options);
  options->size = sizeof *options;
  options->refsafe = 1;
  options->timestep = 0.002;
  options->impratio = 1;
}

int sc_assembly_create(sc_assembly **out) {
  if (!out) return sc_error_set(SC_ERROR_ARGUMENT, "sc_assembly_create: out is NULL");
  *out = calloc(1, sizeof **out);
  return *out ? SC_OK : sc_error_set(SC_ERROR_MEMORY, "sc_assembly_create: no memory");
}

void sc_assembly_destroy(sc_assembly *a) {
  if (!a) return;
#define FIELD(name, type, n) free(a->name);
  ASSEMBLY_ROWS(FIELD)
  ASSEMBLY_SPREAD(FIELD)
  ASSEMBLY_CONTACTS(FIELD)
#undef FIELD
  free(a->J);
  free(a->J_colind);
  free(a->block);
  free(a->block_spare);
  free(a->spare);
  free(a->order);
  free(a->col);
  free(a->qvel);
  free(a->rel);
  free(a->dir);
  free(a);
}

/* *p for n items of `bytes` each, contents kept; 0: no memory, *p unchanged. p is a pointer's address. */
static int regrow(void *p, size_t n, size_t bytes) {
  void *old;
  memcpy(&old, p, sizeof old);
  void *now = realloc(old, n * bytes);
  if (!now) return 0;
  memcpy(p, &now, sizeof now);
  return 1;
}

/* the capacity that holds `need`, with room to spare; -1: beyond what an int counts */
static int grown(long long need) {
  long long n = need + need / 2 + 16;
  return need > INT_MAX ? -1 : n > INT_MAX ? INT_MAX : (int)n;
}

static int no_memory(const char *call, const char *what, long long n) {
  return sc_error_set(SC_ERROR_MEMORY, "%s: no memory for %lld %s", call, n, what);
}

static int reserve_rows(sc_assembly *a, const char *call, long long need) {
  if (need <= a->row_capacity) return SC_OK;
  int n = grown(need), ok = n > 0;
#define FIELD(name, type, k) ok = ok && regrow(&a->name, (size_t)n, (k) * sizeof(type));
  ASSEMBLY_ROWS(FIELD)
  ASSEMBLY_SPREAD(FIELD)
#undef FIELD
  if (!ok) return no_memory(call, "rows", need);
  a->row_capacity = n;
  return SC_OK;
}

static int reserve_entries(sc_assembly *a, const char *call, long long need) {
  if (need <= a->J_capacity) return SC_OK;
  int n = grown(need);
  if (n < 0 || !regrow(&a->J, (size_t)n, sizeof *a->J) || !regrow(&a->J_colind, (size_t)n, sizeof *a->J_colind))
    return no_memory(call, "entries of J", need);
  a->J_capacity = n;
  return SC_OK;
}

static int reserve_blocks(sc_assembly *a, const char *call, long long need) {
  if (need <= a->block_capacity) return SC_OK;
  int n = grown(need);
  if (n < 0 || !regrow(&a->block, (size_t)n, sizeof *a->block)) return no_memory(call, "blocks", need);
  a->block_capacity = n;
  return SC_OK;
}

int sc_assembly_open_contact(sc_assembly *a, const char *call) {
  long long need = (long long)a->ncon + 1;
  if (need <= a->con_capacity) return SC_OK;
  int n = grown(need), ok = n > 0;
#define FIELD(name, type, k) ok = ok && regrow(&a->name, (size_t)n, (k) * sizeof(type));
  ASSEMBLY_CONTACTS(FIELD)
#undef FIELD
  if (!ok) return no_memory(call, "contacts", need);
  a->con_capacity = n;
  return SC_OK;
}

static int reserve_dofs(sc_assembly *a, const char *call, int nv) {
  if (nv <= a->nv_capacity) return SC_OK;
  size_t n = (size_t)nv;
  if (!regrow(&a->col, n, sizeof *a->col) || !regrow(&a->qvel, n, sizeof *a->qvel) ||
      !regrow(&a->rel, n, 6 * sizeof *a->rel) || !regrow(&a->dir, n, 2 * sizeof *a->dir))
    return no_memory(call, "dofs", nv);
  a->nv_capacity = nv;
  return SC_OK;
}

/* ------------------------------------------------------------------ checks */

int sc_assembly_ready(const char *call, const sc_assembly *a, const void *descriptor, size_t size, size_t want) {
  if (!a) return sc_error_set(SC_ERROR_ARGUMENT, "%s: the assembly is NULL", call);
  if (!descriptor) return sc_error_set(SC_ERROR_ARGUMENT, "%s: the descriptor is NULL", call);
  if (!a->begun) return sc_error_set(SC_ERROR_ARGUMENT, "%s: call sc_assembly_begin first", call);
  if (size != want)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: the descriptor's size is %zu, not %zu: use its init function", call,
                        size, want);
  return SC_OK;
}

static int within(double x, assembly_bound bound) {
  return bound == NOT_NAN ? !isnan(x) : isfinite(x) && (bound == ANY_FINITE || x >= 0);
}

int sc_assembly_numbers(const char *call, int id, const assembly_field *fields, size_t n) {
  static const char *const text[] = {"finite", "finite and >= 0", "a number"};
  for (size_t f = 0; f < n; f++)
    for (int i = 0; i < fields[f].n; i++) {
      double x = fields[f].x[i];
      if (within(x, fields[f].bound)) continue;
      if (fields[f].n == 1)
        return sc_error_set(SC_ERROR_VALUE, "%s: id %d: %s is %g, not %s", call, id, fields[f].name, x,
                            text[fields[f].bound]);
      return sc_error_set(SC_ERROR_VALUE, "%s: id %d: %s[%d] is %g, not %s", call, id, fields[f].name, i, x,
                          text[fields[f].bound]);
    }
  return SC_OK;
}

int sc_assembly_dofs(const sc_assembly *a, const char *call, int id, const char *field, int n, const int *dof) {
  if (n < 0 || n > a->o.nv)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: id %d: %s.n is %d, not in 0 .. nv = %d", call, id, field, n, a->o.nv);
  if (n && !dof) return sc_error_set(SC_ERROR_ARGUMENT, "%s: id %d: %s.dof is NULL", call, id, field);
  int bad = n && (dof[0] < 0 || dof[n - 1] >= a->o.nv);
  for (int k = 1; k < n; k++) bad |= dof[k] <= dof[k - 1];
  for (int k = 0, before = -1; bad && k < n; before = dof[k++])
    if (dof[k] <= before || dof[k] >= a->o.nv)
      return sc_error_set(SC_ERROR_ARGUMENT, "%s: id %d: %s.dof[%d] is %d, not in %d .. %d (dofs ascend)", call, id,
                          field, k, dof[k], before + 1, a->o.nv - 1);
  return SC_OK;
}

/* ------------------------------------------------------------------ begin */

int sc_assembly_begin(sc_assembly *a, const sc_assembly_options *o) {
  static const char call[] = "sc_assembly_begin";
  if (!a || !o) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, a ? "options" : "the assembly");
  a->begun = 0;
  if (o->size != sizeof *o)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: options.size is %zu, not %zu: use sc_assembly_options_init", call,
                        o->size, sizeof *o);
  if (o->nv < 0) return sc_error_set(SC_ERROR_ARGUMENT, "%s: nv is %d, not >= 0", call, o->nv);
  if (o->cone < 0 || o->cone > 1)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: cone is %d, not 0 (pyramidal) or 1 (elliptic)", call, o->cone);
  const struct {
    const char *name;
    double value;
  } positive[] = {{"timestep", o->timestep}, {"impratio", o->impratio}};
  for (size_t i = 0; i < COUNT(positive); i++)
    if (!(positive[i].value > 0 && isfinite(positive[i].value)))
      return sc_error_set(SC_ERROR_VALUE, "%s: %s is %g, not finite and > 0", call, positive[i].name,
                          positive[i].value);
  int code = reserve_dofs(a, call, o->nv);
  if (code) return code;
  a->o = *o;
  a->begun = 1;
  a->nefc = a->ncon = a->nblock = a->nJ = 0;
  a->unsorted = a->scattered = a->curvature_given = a->adhesion_given = a->solreffriction_given = 0;
  memset(a->count, 0, sizeof a->count);
  return SC_OK;
}

/* ------------------------------------------------------------------ blocks */

int sc_assembly_open(sc_assembly *a, const assembly_new *b) {
  int code = reserve_rows(a, b->call, (long long)a->nefc + b->rows);
  if (!code) code = reserve_entries(a, b->call, (long long)a->nJ + b->entries);
  if (!code) code = reserve_blocks(a, b->call, (long long)a->nblock + 1);
  if (code) return code;
  for (int r = 0; r < b->rows; r++) {
    int i = a->nefc + r;
    a->type[i] = b->type, a->id[i] = b->id;
    a->frictionloss[i] = a->pos[i] = a->margin[i] = a->vel[i] = a->diagA[i] = a->curvature[i] = a->adhesion[i] = 0;
  }
  return SC_OK;
}

/* whether a block before goes behind one of this group and id */
static int goes_behind(const assembly_block *before, int group, int id) {
  return before->group > group || (before->group == group && before->id > id);
}

void sc_assembly_close(sc_assembly *a, const assembly_new *b, int contact) {
  int last = a->nefc + b->rows - 1, end = a->J_rowadr[last] + a->J_rownnz[last];
  if (b->group != GROUP_CONTACT) {
    int keep = a->o.keep_zero && end > a->nJ;
    for (int k = a->nJ; k < end && !keep; k++) keep = a->J[k] != 0;
    if (!keep) return;
  }
  if (a->nblock) a->unsorted |= goes_behind(&a->block[a->nblock - 1], (int)b->group, b->id);
  assembly_block *block = &a->block[a->nblock++];
  block->group = (int)b->group, block->id = b->id, block->row = a->nefc, block->rows = b->rows, block->contact = contact;
  memcpy(block->solref, b->solref, sizeof block->solref);
  memcpy(block->solimp, b->solimp, sizeof block->solimp);
  a->nefc += b->rows;
  a->nJ = end;
}

/* ------------------------------------------------------------------ order */

/* stable merge sort, bottom up, by group and id; block_spare is as large as block */
static void sort_blocks(sc_assembly *a) {
  int n = a->nblock;
  for (int width = 1; width < n; width *= 2) {
    for (int begin = 0; begin < n; begin += 2 * width) {
      int middle = begin + width < n ? begin + width : n, end = begin + 2 * width < n ? begin + 2 * width : n;
      for (int k = begin, i = begin, j = middle; k < end; k++) {
        int second = i == middle || (j < end && goes_behind(&a->block[i], a->block[j].group, a->block[j].id));
        a->block_spare[k] = a->block[second ? j++ : i++];
      }
    }
    memcpy(a->block, a->block_spare, (size_t)n * sizeof *a->block);
    if (width > n / 2) break; /* doubling again could overflow */
  }
}

static void reorder(sc_assembly *a, void *array, size_t bytes, int n) {
  char *spare = (char *)a->spare;
  if (!n) return;
  for (int i = 0; i < n; i++) memcpy(spare + (size_t)i * bytes, (char *)array + (size_t)a->order[i] * bytes, bytes);
  memcpy(array, spare, (size_t)n * bytes);
}

static int reserve_order(sc_assembly *a, const char *call) {
  int need = a->row_capacity > a->con_capacity ? a->row_capacity : a->con_capacity;
  if (need < a->block_capacity) need = a->block_capacity;
  if (need <= a->spare_capacity) return SC_OK;
  if (!regrow(&a->spare, (size_t)need, 5 * sizeof *a->spare) || !regrow(&a->order, (size_t)need, sizeof *a->order) ||
      !regrow(&a->block_spare, (size_t)need, sizeof *a->block_spare))
    return no_memory(call, "rows in order", need);
  a->spare_capacity = need;
  return SC_OK;
}

/* Blocks by group and id; rows and contacts with friction follow them. J's entries stay where they are. */
static int put_in_order(sc_assembly *a, const char *call) {
  int code = reserve_order(a, call), n = 0;
  if (code) return code;
  sort_blocks(a);
  for (int b = 0; b < a->nblock; b++)
    for (int k = 0; k < a->block[b].rows; k++) a->order[n++] = a->block[b].row + k;
#define FIELD(name, type, k) reorder(a, a->name, (k) * sizeof(type), a->nefc);
  ASSEMBLY_ROWS(FIELD)
#undef FIELD
  n = 0;
  for (int b = 0; b < a->nblock; b++)
    if (a->block[b].contact >= 0) a->order[n++] = a->block[b].contact;
#define FIELD(name, type, k) reorder(a, a->name, (k) * sizeof(type), a->ncon);
  ASSEMBLY_CONTACTS(FIELD)
#undef FIELD
  for (int b = 0, row = 0, contact = 0; b < a->nblock; row += a->block[b++].rows) {
    a->block[b].row = row;
    if (a->block[b].contact >= 0) a->block[b].contact = contact++;
  }
  a->unsorted = 0, a->scattered = 1;
  return SC_OK;
}

/* ------------------------------------------------------------------ the problem */

/* Equality rows of one id are one block with one impedance (sc_problem.efc_id), so two equalities cannot share one. */
static int check_equalities(const sc_assembly *a, const char *call) {
  for (int b = 1; b < a->nblock && a->block[b].group == GROUP_EQUALITY; b++)
    if (a->block[b].id == a->block[b - 1].id)
      return sc_error_set(SC_ERROR_ARGUMENT, "%s: two equalities have the id %d", call, a->block[b].id);
  return SC_OK;
}

int sc_assembly_finish(sc_assembly *a, const char *call) {
  if (!a->begun) return sc_error_set(SC_ERROR_ARGUMENT, "%s: call sc_assembly_begin first", call);
  int code = a->unsorted ? put_in_order(a, call) : SC_OK;
  return code ? code : check_equalities(a, call);
}

int sc_assembly_problem(sc_assembly *a, sc_problem *p) {
  static const char call[] = "sc_assembly_problem";
  if (!a || !p) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, a ? "problem" : "the assembly");
  int code = sc_assembly_finish(a, call);
  if (code) return code;
  for (int b = 0; b < a->nblock; b++)
    for (int i = a->block[b].row; i < a->block[b].row + a->block[b].rows; i++) {
      memcpy(a->solref + 2 * (size_t)i, a->block[b].solref, sizeof a->block[b].solref);
      memcpy(a->solimp + 5 * (size_t)i, a->block[b].solimp, sizeof a->block[b].solimp);
    }
  sc_problem_init(p);
  p->nv = a->o.nv, p->nefc = a->nefc, p->ncon = a->ncon;
  p->refsafe = a->o.refsafe, p->timestep = a->o.timestep, p->impratio = a->o.impratio;
  p->efc_type = a->type, p->efc_id = a->id;
  p->efc_J = a->J, p->J_rownnz = a->J_rownnz, p->J_rowadr = a->J_rowadr, p->J_colind = a->J_colind;
  p->efc_frictionloss = a->frictionloss;
  p->efc_pos = a->pos, p->efc_margin = a->margin, p->efc_vel = a->vel;
  p->efc_solref = a->solref, p->efc_solimp = a->solimp;
  p->efc_diagA = a->o.diagexact ? NULL : a->diagA;
  p->efc_curvature = a->curvature_given ? a->curvature : NULL;
  p->efc_adhesion = a->adhesion_given ? a->adhesion : NULL;
  p->contact_dim = a->dim, p->contact_friction = a->friction;
  p->contact_solreffriction = a->solreffriction_given ? a->solreffriction : NULL;
  return SC_OK;
}
