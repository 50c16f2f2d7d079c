/* Environments of a batch side by side in the layout that the kernels read (kernels/problem.h). */
#ifndef SC_PACK_H
#define SC_PACK_H

#include "batch.h"
#include "slot.h"

/* where dof i of an environment stands */
static inline size_t sc_slot_position(const sc_slot *slot, size_t nv, size_t i) { return slot->place ? (size_t)slot->place[i] : nv - 1 - i; }

/* at least `bytes`, contents lost when it grows; NULL: no memory */
void *sc_buffer_get(sc_buffer *buffer, size_t bytes);

typedef struct sc_structure sc_structure;

/* Structures that a worker keeps. structures.c */
typedef struct sc_structures {
  sc_structure *list;
  int n;
  uint64_t clock;
} sc_structures;

void sc_structures_free(sc_structures *all);
size_t sc_structures_bytes(const sc_structures *all);

/* What one worker needs to make packs; all zero to begin with. */
typedef struct sc_packer {
  sc_buffer envrow;         /* lane by lane: the environment's row of each row of the pack, or -1 */
  sc_buffer offset;         /* lane by lane, see pack.c */
  sc_buffer key;            /* of the structure: mcols, then the lanes' row sets */
  sc_buffer rowsets, mcols, hcols, mindex, hindex, mates, found; /* see symbolic.c */
  /* The pattern of M is mostly that of the pack before: what follows from it is kept. */
  sc_buffer pattern;        /* entries per row and columns of the pattern that is kept */
  sc_buffer place;          /* two per entry: where it goes in the tiles, and where its mirror image, or the same again */
  sc_buffer mints;          /* lists of M */
  struct sc_tile_lists *mlists; /* in mints */
  int kept_nv, kept_entries; /* of that pattern; kept_entries 0: none is kept */
  int same;                 /* all environments of this pack have it */
  uint8_t repeats[SC_MAX_LANES]; /* the lane's environment has the rows of the lane before: kinds, and columns of J */
  sc_structures structures;
} sc_packer;

void sc_packer_free(sc_packer *packer);
size_t sc_packer_bytes(const sc_packer *packer);

/* entries of an environment's M, in compressed rows without gaps */
static inline int sc_env_entries(const sc_env *e) { return e->nv ? e->M_rowadr[e->nv - 1] + e->M_rownnz[e->nv - 1] : 0; }

/* Row of the pack of each row of the environment, in map. order.c */
void sc_map_rows(const sc_env *env, const sc_pack *pack, int32_t *map);

/* Order in which the environments are packed: `order` receives those that are not bad, alike ones side by side, and
 * starts[k] .. starts[k+1]-1 are the k-th pack's, at most `lanes` and of one number of dof blocks. Returns the number of
 * packs, or -1 without memory. Both arrays have room for nenv + 1. order.c */
int sc_order(const sc_batch *batch, int lanes, sc_buffer *keys, int32_t *order, int32_t *starts);

/* Where it is noted which row of its pack each row became: row i of environment e at offset[e] + i. */
typedef struct sc_row_places {
  int32_t *row;
  const size_t *offset;
} sc_row_places;

/* Patterns of the pack whose environments are slot->env, and then the slot's memory and pointers. f32: also the numbers
 * in float, parts * lanes side by side. 0: no memory. symbolic.c */
int sc_pack_symbolic(sc_slot *slot, const sc_batch *batch, int f32, sc_packer *packer, const sc_row_places *places);

/* Dof blocks beyond which an environment is packed alone, in one lane: half-empty vectors and the fill-in of an order that
 * packs share cost more than the lanes gain (bench/README.md). */
#define SC_LARGE_BLOCKS 64
static inline int sc_env_is_large(const sc_env *e) { return (e->nv + 3) / 4 > SC_LARGE_BLOCKS; }

/* All of the pack whose one environment is slot->env[0]. hessian: for methods that factor H. 0: no memory, slot->wanted. large.c */
int sc_pack_large(sc_slot *slot, const sc_batch *batch, int f32, int hessian, const sc_row_places *places);
/* The pattern of Y = L^-1 J' (kernels/dual.inl), after the others. 0: no memory. symbolic_dual.c */
int sc_pack_dual(sc_slot *slot);

/* The tiles a of the pack. 0: no memory. symbolic_dual.c */
int sc_pack_square(sc_slot *slot);

/* The numbers, in double. 0: no memory. pack.c */
int sc_pack_numbers(sc_slot *slot, const sc_batch *batch, sc_packer *packer);

/* And from these in float; a lane with a number that is too large for it is not alive there. pack.c */
void sc_pack_narrow(sc_slot *slot, const sc_kernels *kernels);

/* elements of the fields of SC_NUMBER_FIELDS, rounded up so that L begins at a multiple of four; and of `cone` among them */
size_t sc_pack_cone_elements(const sc_pack *pack);
size_t sc_pack_elements(const sc_pack *pack);

/* Pointers to them in memory for numbers of `size` bytes, lanes included; factor: L too, else it is NULL. */
void sc_numbers_place(const sc_pack *pack, sc_numbers *num, char *at, size_t size, int factor);

#endif
