/* The symbolic part of a pack from inside: the lists of integers that follow from its patterns, and those that are kept.
 * Matrices over dofs are in blocks of four, in reverse order. */
#ifndef SC_SYMBOLIC_H
#define SC_SYMBOLIC_H

#include "pack.h"

/* Where a matrix's lists (sc_tiles) begin in an array of integers; `end` is behind the last. */
typedef struct sc_tile_lists { size_t adr, row, rowadr, rowtile, rowcol, pairadr, pair, end; int ntile; } sc_tile_lists;

/* The same of everything else that a pack points to. */
typedef struct sc_row_lists { size_t mtile, jadr, jcol, termadr, termcone, term; int nblock; } sc_row_lists;

/* All integers of a pack, and what they follow from. */
struct sc_structure {
  uint64_t hash, used;      /* of the key; when it was used last */
  sc_buffer key, ints;
  size_t key_bytes, pending; /* of the key, 0 until it is kept; then pending's */
  size_t count;             /* integers */
  sc_tile_lists m, h;
  sc_row_lists rows;
};

/* The structure with exactly this key, or NULL. */
sc_structure *sc_structures_find(sc_structures *all, const void *key, size_t bytes, uint64_t hash);

/* A structure for this key whose integers are yet to be written, in the memory of the one that was not used for longest
 * where there are many; sc_structures_keep counts it once that is done, without that it is forgotten. NULL: no memory. */
sc_structure *sc_structures_add(sc_structures *all, const void *key, size_t bytes, uint64_t hash);
void sc_structures_keep(sc_structures *all, sc_structure *s);

#endif
