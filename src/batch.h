/* The problems of a batch, environment by environment, as the packing reads them. */
#ifndef SC_BATCH_H
#define SC_BATCH_H

#include "context.h"
#include "inertia.h"
#include "memory.h"

#include <stdatomic.h>
#include <string.h>

/* Every array of an environment: name, type, number of entries. n = nv, m = nefc, c = ncon, a, j = entries of M and J.
 * One list carves the memory; all arrays lie in one block, doubles first. The pattern of M is mostly that of many: then it is
 * the batch's. */
#define SC_ENV_FIELDS(F)                                                                                                    \
  F(K, double, s.p)             /* s.p = nefc where softcon evaluated the rows, else 0 */                                   \
  F(B, double, s.p)                                                                                                         \
  F(d, double, s.p)                                                                                                         \
  F(dp, double, s.p)                                                                                                        \
  F(diagA, double, s.p)                                                                                                     \
  F(pos, double, s.p)                                                                                                       \
  F(margin, double, s.p)                                                                                                    \
  F(vel, double, s.p)                                                                                                       \
  F(R, double, s.m)                                                                                                         \
  F(solref, double, 2 * s.q)    /* s.q, s.qc = nefc, ncon where a device evaluates the rows again, else 0: as handed over */  \
  F(solimp, double, 5 * s.q)                                                                                                \
  F(diagonal, double, s.q)      /* diagA before it was rewritten */                                                         \
  F(curvature, double, s.q)                                                                                                 \
  F(adhesion, double, s.q)                                                                                                  \
  F(solreffriction, double, 2 * s.qc)                                                                                       \
  F(M, double, s.a)             /* lower triangle, row by row. From here on all is read by the packing */                   \
  F(qfrc_smooth, double, s.n)                                                                                               \
  F(qacc_smooth, double, s.n)                                                                                               \
  F(qacc_warmstart, double, s.n)                                                                                            \
  F(J, double, s.j)                                                                                                         \
  F(D, double, s.m)                                                                                                         \
  F(aref, double, s.m)                                                                                                      \
  F(frictionloss, double, s.m)                                                                                              \
  F(friction, double, 5 * s.c)                                                                                              \
  F(mu, double, s.c)                                                                                                        \
  F(id, int, s.m)               /* -1 where none was given */                                                               \
  F(M_rownnz, int, s.pn)        /* s.pn, s.pa = nv, entries where the environment has a pattern of its own, else 0 */       \
  F(M_rowadr, int, s.pn)                                                                                                    \
  F(M_colind, int, s.pa)                                                                                                    \
  F(J_rownnz, int, s.m)                                                                                                     \
  F(J_rowadr, int, s.m)                                                                                                     \
  F(J_colind, int, s.j)                                                                                                     \
  F(type, int, s.m)                                                                                                         \
  F(dim, int, s.c)                                                                                                          \
  F(alike, uint8_t, s.m)        /* 1: the row has the columns of the row before */

typedef struct sc_env_sizes { size_t n, m, c, a, j, p, pn, pa, q, qc; } sc_env_sizes;

/* The pattern of M, in compressed rows without gaps, that environments share. Never changed, freed with the batch. */
typedef struct sc_pattern {
  struct sc_pattern *next;
  int nv, entries;
  int *rownnz, *rowadr, *colind;
} sc_pattern;
#define SC_MOST_PATTERNS 8 /* further ones are kept by each environment */

/* Which of an environment's rows are of each kind; the kinds stand in this order in a pack. */
typedef struct sc_counts { int ne, nf, nu, ncone[SC_NDIM]; } sc_counts;

typedef struct sc_env {
  int nv, nefc, ncon;
  int have_tau, have_s, have_warm; /* which of qfrc_smooth, qacc_smooth, qacc_warmstart were handed over */
  int evaluated;            /* softcon evaluated the rows: K .. vel are there */
  int kept;                 /* and for a device: solref .. solreffriction are there, and these three: */
  double timestep, impratio;
  int refsafe;
  int bad;                  /* a number is not valid: verdict bad_input */
  unsigned flags;           /* sc_flag */
  sc_counts counts;         /* this and the next two: order.c */
  uint64_t touched, shape;  /* blocks of the rows' first and last dofs, as bits; a hash of all rows' kinds and dofs */
  int rows_needed, contacts_needed; /* before anything was dropped; of contacts, frictionless ones too */
  char *why;                /* of a bad one: the error's text; NULL where there was no memory for it */
#define FIELD(name, type, count) type *name;
  SC_ENV_FIELDS(FIELD)
#undef FIELD
  const sc_pattern *pattern; /* where M_rownnz .. M_colind point; NULL: the environment's own */
  void *block;
  size_t capacity;          /* bytes of block, of the batch's arena */
} sc_env;

struct sc_batch {
  sc_context *context;
  int nenv;
  sc_env *env;
  sc_arena *arena;
  _Atomic(sc_pattern *) patterns; /* the newest; grows at its head only */
  int max_rows, max_contacts; /* 0: any number */
};

/* The pattern that a problem's sparse M has, from the batch; NULL: it has none that is shared. When the call is legal. */
const sc_pattern *sc_batch_pattern(sc_batch *batch, const sc_problem *problem);
/* The same of those there already, whether the call is legal or not. */
const sc_pattern *sc_batch_find_pattern(const sc_batch *batch, const sc_problem *problem);

/* Whether environments keep the parameters that their rows were evaluated from. */
static inline int sc_batch_keeps(const sc_batch *batch) { return batch->context->device != NULL; }

/* The environment's arrays laid out for these sizes, in its old block where that is large enough. 0: no memory, unchanged */
int sc_env_resize(sc_env *env, sc_env_sizes s, sc_arena *arena);

/* Find counts, touched and shape of an environment whose rows, and `alike`, are there. order.c */
void sc_env_describe(sc_env *env);

/* Is the call legal, and where not, why; then SC_ERROR_ARGUMENT. `check` is all of it, in this order: sizes and pointers, a
 * sparse M, a sparse J, the kinds of the rows. validate.c */
int sc_problem_check(const sc_problem *problem, int env);
int sc_problem_fields(const sc_problem *problem, int env);
int sc_problem_inertia(const sc_problem *problem, int env);
int sc_problem_jacobian(const sc_problem *problem, int env);
int sc_problem_types(const sc_problem *problem, int env);

/* Are the numbers valid, and where not, why; then SC_ERROR_VALUE. validate.c */
int sc_problem_values(const sc_problem *problem, int env);

/* Whether columns ascend, within 0 .. last; whether all n numbers are finite. validate.c */
int sc_columns_ascend(const int *col, int n, int last);
int sc_all_finite(const double *x, size_t n);

/* Evaluate D, R, aref, mu and the parameters behind them from solref and solimp. rows.c
 * The environment's M, J, type, frictionloss, dim, friction are already there. factor: of M, not read with
 * efc_diagA. */
int sc_rows_evaluate(sc_env *env, const sc_problem *problem, int index, sc_inertia *factor);

/* The same in two steps for rows that come block by block. Where a block's parameters stand: those of its row k are at
 * 2 step k of solref and 5 step k of solimp. */
typedef struct sc_row_source {
  const double *solref, *solimp;
  size_t step;
  const double *solreffriction; /* of contact i at 2 i; NULL: none */
  double timestep, impratio;
  int refsafe;
} sc_row_source;

struct law_parameters; /* kernels/law_block.h */

/* Rows that share one impedance, from row r on: a contact, or consecutive equality rows of one id. */
int sc_rows_in_block(const sc_env *env, int r, int contact);

/* R, mu and the parameters of rows r .. r+n-1, one block; type, pos, margin, diagA, dim, friction are there */
void sc_rows_block(sc_env *env, const sc_row_source *source, struct law_parameters *last, int r, int n, int contact);
/* D, diagA, aref of all rows; whether all is finite. NULL: no row has any */
int sc_rows_finish(sc_env *env, const double *curvature, const double *adhesion);

/* Copy n numbers, or zeros where there are none; whether all are finite. */
static inline int sc_copy_finite(double *restrict out, const double *restrict in, size_t n) {
  uint64_t bad = 0;
  if (!in) {
    if (n) memset(out, 0, n * sizeof *out);
    return 1;
  }
  for (size_t i = 0; i < n; i++) {
    uint64_t word;
    memcpy(&word, in + i, sizeof word);
    bad |= (word & 0x7fffffffffffffff) + 0x0010000000000000; /* the exponent of infinity and NaN carries over */
    memcpy(out + i, &word, sizeof word);
  }
  return !(bad >> 63);
}

static inline int sc_same_columns(const int *x, const int *y, int n) {
  int differ = 0;
  for (int k = 0; k < n; k++) differ |= x[k] ^ y[k];
  return !differ;
}

/* whether a pointer is into the environment's own memory */
static inline int sc_env_holds(const sc_env *e, const void *pointer) {
  return (uintptr_t)pointer >= (uintptr_t)e->block && (uintptr_t)pointer < (uintptr_t)e->block + e->capacity;
}
/* rows_needed and contacts_needed of a new problem. capacity.c */
void sc_env_count(sc_env *env);

/* Drop what is beyond the capacity (0: any). SC_ERROR_VALUE: its rows that are no contacts are.
 * scratch: sc_capacity_bytes of the problem that it holds, where there is a capacity. capacity.c */
int sc_env_fit(sc_env *env, int max_rows, int max_contacts, int index, void *scratch);
size_t sc_capacity_bytes(const sc_problem *problem);

/* Is there an environment of this number, and where not, SC_ERROR_ARGUMENT naming the call. */
int sc_batch_check_env(const char *call, const sc_batch *batch, int env);

/* Have memory fetched that will soon be written, or read. */
static inline void sc_fetch(const void *memory, size_t bytes, int write) {
#ifdef __GNUC__
  for (const char *at = memory, *end = at + bytes; at < end; at += 64)
    if (write)
      __builtin_prefetch(at, 1, 2);
    else
      __builtin_prefetch(at, 0, 2);
#else
  (void)memory, (void)bytes, (void)write;
#endif
}

/* Rows of contact i of the problem: 2 (dim - 1) edges or dim */
static inline int sc_contact_rows(int type, int dim) { return type == SC_CONTACT_PYRAMIDAL ? 2 * (dim - 1) : dim; }
static inline int sc_type_has_cone(int type) { return type == SC_CONTACT_PYRAMIDAL || type == SC_CONTACT_ELLIPTIC; }
static inline int sc_type_is_friction(int type) { return type == SC_FRICTION_DOF || type == SC_FRICTION_TENDON; }

#endif
