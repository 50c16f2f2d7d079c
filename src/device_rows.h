/* What a device evaluates rows from: the parameters of a batch in flat arrays, laid out alike on the host and on a device, in
 * the caller's order, and the blocks of rows that share one impedance. device_rows.c */
#ifndef SC_DEVICE_ROWS_H
#define SC_DEVICE_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* A block of rows (kernels/law_block.h). */
typedef struct sc_row_block {
  int32_t env;
  int32_t row, rows;        /* of its environment: the first, and how many */
  int32_t type;             /* sc_type */
  int32_t contact;          /* of its environment, with friction; else -1 */
  int32_t place;            /* of the pack: where the first row is; the others follow it */
  int32_t cone;             /* of the pack: where the contact's numbers are in `cone`; not of an elliptic contact: -1 */
} sc_row_block;

/* The inputs of the law: name, type, entries. N environments; m, c: rows and contacts with friction of all. Those of
 * environments whose rows are ready are 0. */
#define SC_DEVICE_PARAMETERS(F)                                                                                             \
  F(solref, double, 2 * s.m)                                                                                                \
  F(solimp, double, 5 * s.m)                                                                                                \
  F(pos, double, s.m)                                                                                                       \
  F(margin, double, s.m)                                                                                                    \
  F(vel, double, s.m)                                                                                                       \
  F(diagA, double, s.m)                                                                                                     \
  F(curvature, double, s.m)                                                                                                 \
  F(adhesion, double, s.m)                                                                                                  \
  F(frictionloss, double, s.m)                                                                                              \
  F(friction, double, 5 * s.c)                                                                                              \
  F(solreffriction, double, 2 * s.c)                                                                                        \
  F(timestep, double, s.N)                                                                                                  \
  F(impratio, double, s.N)                                                                                                  \
  F(refsafe, int32_t, s.N)

/* And where what is; b blocks. */
#define SC_DEVICE_PLACES(F)                                                                                                 \
  F(con_offset, size_t, s.N + 1)                                                                                            \
  F(first, size_t, s.N)         /* the environment's first block, */                                                        \
  F(nblock, int32_t, s.N)       /* and how many it has */                                                                   \
  F(kept, int32_t, s.N)         /* 1: the environment's rows are evaluated */                                               \
  F(block, sc_row_block, s.b)

typedef struct sc_device_row_sizes { size_t N, m, c, b; } sc_device_row_sizes;

typedef struct sc_device_rows {
#define FIELD(name, type, count) type *name;
  SC_DEVICE_PARAMETERS(FIELD)
  SC_DEVICE_PLACES(FIELD)
#undef FIELD
  void *memory;             /* of all; NULL: no environment has parameters */
  sc_device_row_sizes sizes;
} sc_device_rows;

/* What the law makes of them, each NULL or in the caller's order. */
typedef struct sc_device_law {
  double *K, *B, *d, *dp, *R, *D, *aref; /* m */
  double *mu;               /* c */
} sc_device_law;

#ifdef __cplusplus
extern "C" {
#endif

struct sc_batch;
struct sc_slot;
struct sc_results;

/* Point the arrays into memory, or nowhere; returns the bytes of all. */
size_t sc_device_rows_point(sc_device_rows *r, void *memory);

/* Those of a batch whose environments have been packed, one in each slot. 0: no memory. The caller frees r->memory. */
int sc_device_rows_make(sc_device_rows *r, const struct sc_batch *batch, const struct sc_slot *slots, int npack,
                        const struct sc_results *results);

#ifdef __cplusplus
}
#endif

#endif
