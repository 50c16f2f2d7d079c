/* Problems in a compact file, so that a machine with neither MuJoCo nor HDF5 can solve what was recorded elsewhere. Numbers
 * stand as this kind of machine has them in memory. */
#ifndef GPU_PROBLEMS_H
#define GPU_PROBLEMS_H

#include "softcon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEMS_MAGIC "softcon1"
#define PROBLEMS_MOST 65536

/* sizes of a problem in the file, then its arrays in the order of EACH_INTS and EACH_NUMBERS */
typedef struct { int nv, nefc, ncon, nM, nJ; } problem_sizes;

#define EACH_INTS(F, p, s)                                                                                                  \
  F(p.M_rownnz, s.nv) F(p.M_rowadr, s.nv) F(p.M_colind, s.nM) F(p.J_rownnz, s.nefc) F(p.J_rowadr, s.nefc)                    \
  F(p.J_colind, s.nJ) F(p.efc_type, s.nefc) F(p.contact_dim, s.ncon)
#define EACH_NUMBERS(F, p, s)                                                                                               \
  F(p.M, s.nM) F(p.efc_J, s.nJ) F(p.qfrc_smooth, s.nv) F(p.qacc_smooth, s.nv) F(p.qacc_warmstart, s.nv) F(p.efc_D, s.nefc)   \
  F(p.efc_aref, s.nefc) F(p.efc_frictionloss, s.nefc) F(p.contact_friction, 5 * s.ncon) F(p.contact_mu, s.ncon)

/* Some arrays may be NULL; they are written as zeros, but of the vectors over dofs. */
static inline int problem_vectors(const sc_problem *p) {
  return (p->qfrc_smooth ? 1 : 0) | (p->qacc_smooth ? 2 : 0) | (p->qacc_warmstart ? 4 : 0);
}

static inline int write_array(FILE *f, const void *data, size_t size, int n) {
  static const double zero = 0;
  size_t done = 0;
  if (data) return fwrite(data, size, (size_t)n, f) == (size_t)n;
  for (int i = 0; i < n; i++) done += fwrite(&zero, size, 1, f);
  return done == (size_t)n;
}

/* last entry of the rows of a sparse matrix */
static inline int sparse_entries(const int *adr, const int *nnz, int rows) {
  int most = 0;
  for (int i = 0; i < rows; i++)
    if (adr[i] + nnz[i] > most) most = adr[i] + nnz[i];
  return most;
}

/* a problem in the ready form with sparse M and J, as sc_batch_get gives it */
static inline int write_problem(FILE *f, const sc_problem *q) {
  sc_problem p = *q;
  problem_sizes s = {p.nv, p.nefc, p.ncon, 0, 0};
  s.nM = sparse_entries(p.M_rowadr, p.M_rownnz, p.nv), s.nJ = sparse_entries(p.J_rowadr, p.J_rownnz, p.nefc);
  int vectors = problem_vectors(&p), ok = write_array(f, &s, sizeof s, 1) && write_array(f, &vectors, sizeof vectors, 1);
#define WRITE(array, n) ok = ok && write_array(f, array, sizeof *(array), n);
  EACH_INTS(WRITE, p, s)
  EACH_NUMBERS(WRITE, p, s)
#undef WRITE
  return ok;
}

/* The problems of a file, one after the other in memory of their own. */
typedef struct {
  int n;
  sc_problem *p;
  void **memory;
} problem_list;

static inline void free_problems(problem_list *list) {
  for (int i = 0; i < list->n; i++) free(list->memory[i]);
  free(list->p), free(list->memory);
  memset(list, 0, sizeof *list);
}

static inline int sizes_are_sane(const problem_sizes *s) {
  const int n[] = {s->nv, s->nefc, s->ncon, s->nM, s->nJ}, most = 1 << 24;
  for (int i = 0; i < 5; i++)
    if (n[i] < 0 || n[i] > most) return 0;
  return 1;
}

static inline int read_problem(FILE *f, sc_problem *out, void **memory) {
  sc_problem p;
  problem_sizes s;
  int vectors;
  sc_problem_init(&p);
  if (fread(&s, sizeof s, 1, f) != 1 || fread(&vectors, sizeof vectors, 1, f) != 1 || !sizes_are_sane(&s)) return 0;
  size_t bytes = 0;
#define COUNT(array, n) bytes += (size_t)(n) * sizeof *(array);
  EACH_NUMBERS(COUNT, p, s)
  EACH_INTS(COUNT, p, s)
#undef COUNT
  char *at = *memory = malloc(bytes + 1);
  if (!at) return 0;
  char *numbers = at, *ints = at;
#define SKIP(array, n) ints += (size_t)(n) * sizeof *(array);
  EACH_NUMBERS(SKIP, p, s)
#undef SKIP
  int ok = 1;
#define READ(array, n)                                                \
  array = (void *)to;                                                 \
  ok = ok && fread(to, sizeof *(array), (size_t)(n), f) == (size_t)(n); \
  to += (size_t)(n) * sizeof *(array);
  char *to = ints;
  EACH_INTS(READ, p, s)
  to = numbers;
  EACH_NUMBERS(READ, p, s)
#undef READ
  p.nv = s.nv, p.nefc = s.nefc, p.ncon = s.ncon;
  if (!(vectors & 1)) p.qfrc_smooth = NULL;
  if (!(vectors & 2)) p.qacc_smooth = NULL;
  if (!(vectors & 4)) p.qacc_warmstart = NULL;
  *out = p;
  return ok;
}

/* 0: it cannot be read, or is no such file */
static inline int read_problems(const char *path, problem_list *list) {
  char magic[8];
  int n = 0, ok;
  memset(list, 0, sizeof *list);
  FILE *f = fopen(path, "rb");
  if (!f) return 0;
  ok = fread(magic, 8, 1, f) == 1 && !memcmp(magic, PROBLEMS_MAGIC, 8);
  ok = ok && fread(&n, sizeof n, 1, f) == 1 && n > 0 && n <= PROBLEMS_MOST;
  if (ok) list->p = calloc((size_t)n, sizeof *list->p), list->memory = calloc((size_t)n, sizeof *list->memory);
  ok = ok && list->p && list->memory;
  for (; ok && list->n < n; list->n++) ok = read_problem(f, &list->p[list->n], &list->memory[list->n]);
  fclose(f);
  if (!ok) free_problems(list);
  return ok;
}

#endif
