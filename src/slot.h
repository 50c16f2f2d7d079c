/* A pack and the memory behind it. */
#ifndef SC_SLOT_H
#define SC_SLOT_H

#include "../kernels/problem.h"

#define SC_MAX_LANES 16

/* Memory that grows and is used again. */
typedef struct sc_buffer {
  void *data;
  size_t capacity;
} sc_buffer;

/* A pack and the memory behind it. Its numbers in double stand in `parts` parts of `lanes` lanes each: float has twice the
 * lanes of double, and the certificate of a float pack runs on one part after the other. */
#define SC_MAX_PARTS 2
typedef struct sc_slot {
  sc_pack pack;             /* its num[SC_F64] is part[0] */
  sc_numbers part[SC_MAX_PARTS];
  int parts, lanes;
  int factor_f32;           /* whether the numbers in float have the factor of M too */
  int env[SC_MAX_LANES];    /* environment of each lane, part by part; -1: none */
  unsigned beyond_float;    /* lanes, as bits, with a number too large for float */
  int large;                /* one environment alone, in one lane: large.c */
  const int32_t *place;     /* large: position of each dof; NULL: dof i stands at nv-1-i */
  int borrows;              /* its integers are those of a packer's structure, until that packer makes another pack */
  void *block;
  size_t bytes, capacity;   /* of block: in use (not kept of large packs); in all */
  size_t wanted;            /* large: bytes of the pack, known before they are taken */
  sc_buffer dual;           /* the pack's yadr and ycol */
  sc_buffer square;         /* lists of its tiles a, ... */
  sc_tiles a;               /* and these */
} sc_slot;

#endif
