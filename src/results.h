/* The results of a solver: one block of memory, laid out alike on the host and on a device. solver_memory.c */
#ifndef SC_RESULTS_H
#define SC_RESULTS_H

#include <stddef.h>
#include <stdint.h>

/* Every array of the results: name, type, entries. n, m: dofs and rows of all environments; N: environments. Between
 * those that a run writes stand those that it reads. */
#define SC_RESULT_FIELDS(F)                                                                                                 \
  F(qacc, double, s.n)                                                                                                      \
  F(qfrc_constraint, double, s.n)                                                                                           \
  F(efc_force, double, s.m)                                                                                                 \
  F(gap, double, s.N)                                                                                                       \
  F(gap_floor, double, s.N)                                                                                                 \
  F(qacc_bound, double, s.N)                                                                                                \
  F(objective, double, s.N)                                                                                                 \
  F(nv_offset, size_t, s.N + 1)                                                                                             \
  F(efc_offset, size_t, s.N + 1)                                                                                            \
  F(rows_needed, int32_t, s.N)                                                                                              \
  F(contacts_needed, int32_t, s.N)                                                                                          \
  F(order, int32_t, s.N + 1)                                                                                                \
  F(starts, int32_t, s.N + 1)                                                                                               \
  F(rowmap, int32_t, s.m)       /* row of its pack of each row */                                                           \
  F(flags, uint32_t, s.N)                                                                                                   \
  F(iterations, int32_t, s.N)                                                                                               \
  F(status, uint8_t, s.N)                                                                                                   \
  F(efc_state, uint8_t, s.m)

typedef struct { size_t N, n, m; } sc_result_sizes;

typedef struct sc_results {
#define FIELD(name, type, count) type *name;
  SC_RESULT_FIELDS(FIELD)
#undef FIELD
  void *block;
  size_t capacity;
} sc_results;

#ifdef __cplusplus
extern "C" {
#endif

/* Point the arrays into a block, or nowhere; returns the bytes of all. */
size_t sc_results_point(sc_results *r, void *block, sc_result_sizes s);

/* Memory for the results of so many environments, dofs and rows. 0: none. */
int sc_results_resize(sc_results *r, sc_result_sizes s);

/* NaN for an environment that has no answer. */
void sc_results_no_answer(sc_results *r, int env, int status);

#ifdef __cplusplus
}
#endif

#endif
