/* One environment too large to share a pack: one lane, its own order of dofs, patterns in lists. For its own files:
 *   large.c from an environment to a pack;  large_order.c the order of its dofs;  large_tiles.c patterns and fill-in. */
#ifndef SC_LARGE_H
#define SC_LARGE_H

#include "pack.h"

/* Integers that grow; `failed` stays set when memory ran out. */
typedef struct sc_ints {
  int32_t *at;
  size_t n, room;
  int failed;
} sc_ints;

void sc_ints_add(sc_ints *list, int32_t value);
/* n zeros */
void sc_ints_fill(sc_ints *list, size_t n);

/* Sorted lists side by side: list i is item[adr[i]] .. item[adr[i+1]-1]. */
typedef struct sc_lists { sc_ints adr, item; } sc_lists;

/* Position of each dof, positions in all (a multiple of 4). Dofs that M couples stay together, the last first, and begin at a
 * multiple of 4. with_rows: dofs that fewer others are coupled with come first, so that the factor of H fills in little.
 * 0: no memory. */
int sc_large_order(const sc_env *env, int with_rows, int32_t *place, int32_t *positions);

/* Blocks of every row of the pack; rows of an elliptic contact have the union of theirs. map: row of the pack of each row. */
int sc_large_rows(const sc_env *env, const int32_t *place, const int32_t *map, sc_lists *rows);

/* Per block column the rows >= it where the factor of M, and of H if rows are given, may be non-zero. */
int sc_large_factor(const sc_env *env, const int32_t *place, int nb, const sc_lists *rows, sc_lists *columns);

/* More than the machine has is not asked for: many systems would give it and then end the process. */
int sc_machine_has(size_t bytes);

#endif
