/* The assembly from inside: growing arrays of rows, and blocks of rows that are put in order at the end. */
#ifndef SC_ASSEMBLE_H
#define SC_ASSEMBLE_H

#include "softcon_rows.h"

#include <string.h>

/* Kinds of blocks in MuJoCo's order (1.1). */
typedef enum {
  GROUP_EQUALITY,
  GROUP_FRICTION_DOF,
  GROUP_FRICTION_TENDON,
  GROUP_LIMIT_JOINT,
  GROUP_LIMIT_TENDON,
  GROUP_CONTACT,
  GROUPS
} assembly_group;

/* The rows of one object: one impedance, one place in the order. */
typedef struct {
  int group, id;
  int row, rows; /* first, and how many */
  int contact;   /* index of its contact with friction; -1 */
  double solref[2], solimp[5];
} assembly_block;

/* Per row: name, type, numbers. */
#define ASSEMBLY_ROWS(F)                                                                                               \
  F(type, int, 1)                                                                                                      \
  F(id, int, 1)                                                                                                        \
  F(J_rownnz, int, 1)                                                                                                  \
  F(J_rowadr, int, 1)                                                                                                  \
  F(frictionloss, double, 1)                                                                                           \
  F(pos, double, 1)                                                                                                    \
  F(margin, double, 1)                                                                                                 \
  F(vel, double, 1)                                                                                                    \
  F(diagA, double, 1)                                                                                                  \
  F(curvature, double, 1)                                                                                              \
  F(adhesion, double, 1)

/* Per row too, but only when a problem is handed out: until then they are the block's. */
#define ASSEMBLY_SPREAD(F)                                                                                             \
  F(solref, double, 2)                                                                                                 \
  F(solimp, double, 5)

/* Per contact with friction. */
#define ASSEMBLY_CONTACTS(F)                                                                                           \
  F(dim, int, 1)                                                                                                       \
  F(friction, double, 5)                                                                                               \
  F(solreffriction, double, 2)

struct sc_assembly {
  sc_assembly_options o;
  int begun; /* sc_assembly_begin was called */
  int nefc, ncon, nblock, nJ;
  int row_capacity, con_capacity, block_capacity, J_capacity, nv_capacity;
  int unsorted; /* a block was added out of order */
  int scattered; /* blocks were put in order, and J's entries stand in another one */
  int curvature_given, adhesion_given, solreffriction_given;
  int count[GROUPS]; /* descriptors of each kind so far, those without rows included */
#define FIELD(name, type, n) type *name;
  ASSEMBLY_ROWS(FIELD)
  ASSEMBLY_SPREAD(FIELD)
  ASSEMBLY_CONTACTS(FIELD)
#undef FIELD
  double *J; /* nJ: entries, row r at J_rowadr[r] */
  int *J_colind;
  assembly_block *block, *block_spare;
  double *spare; /* room for one row array while it is put in order; 5 numbers per row or contact */
  int spare_capacity;
  int *order;   /* rows or contacts in their final order */
  int *col;     /* nv: dofs of the body pair at hand */
  double *qvel; /* nv: their velocities, one after another */
  double *rel;  /* 6 x nv: relative motion of the pair per dof: linear, angular */
  double *dir;  /* 2 x nv: the same along two axes of the contact frame */
};

/* What a block begins with. */
typedef struct {
  const char *call; /* for errors */
  assembly_group group;
  int type, id, rows;
  int entries; /* of its Jacobian, at most */
  const double *solref, *solimp;
} assembly_new;

/* Put the blocks in order, and say what does not go together: `call` is named in errors. assemble.c */
int sc_assembly_finish(sc_assembly *a, const char *call);

/* Count a descriptor; its id, or the default. */
static inline int assembly_id(sc_assembly *a, assembly_group group, int id) {
  int n = a->count[group]++;
  return id >= 0 ? id : n;
}

/* Room for the block behind the last one: its rows from a->nefc on, filled with zeros, ids and parameters. */
int sc_assembly_open(sc_assembly *a, const assembly_new *b);

/* Keep it: rows from a->nefc on, whose J entries follow a->nJ without gaps. An empty block is dropped, unless it is a
 * contact. contact: its index or -1. */
void sc_assembly_close(sc_assembly *a, const assembly_new *b, int contact);

/* Room for one more contact with friction. */
int sc_assembly_open_contact(sc_assembly *a, const char *call);

/* Begin row r (counted in the block) at the end of J; finished by its J_rownnz. Returns the place of its first entry.
 */
static inline int assembly_row(sc_assembly *a, int r) {
  int i = a->nefc + r;
  a->J_rowadr[i] = r ? a->J_rowadr[i - 1] + a->J_rownnz[i - 1] : a->nJ;
  return a->J_rowadr[i];
}

/* Zero the struct that x points to, and set its size and solver parameters. */
#define ASSEMBLY_INIT(x)                                                                                               \
  (memset(x, 0, sizeof *(x)), (x)->size = sizeof *(x), assembly_defaults((x)->solref, (x)->solimp))

static inline void assembly_defaults(double *solref, double *solimp) {
  solref[0] = 0.02, solref[1] = 1;
  solimp[0] = 0.9, solimp[1] = 0.95, solimp[2] = 0.001, solimp[3] = 0.5, solimp[4] = 2;
}

/* ------------------------------------------------------------------ checks */

typedef enum { ANY_FINITE, AT_LEAST_0, NOT_NAN } assembly_bound;

typedef struct {
  const char *name;
  const double *x;
  int n;
  assembly_bound bound;
} assembly_field;

/* The fields that all descriptors have; the width, solimp[2], is not negative. */
#define ASSEMBLY_PARAMETERS(x)                                                                                         \
  {"solref", (x)->solref, 2, ANY_FINITE}, {"solimp", (x)->solimp, 5, ANY_FINITE}, {                                    \
    "solimp width", (x)->solimp + 2, 1, AT_LEAST_0                                                                     \
  }

/* Are the n numbers from x on all finite; x need not be an array: it may begin a run of members of a struct. */
static inline int assembly_finite(const void *x, size_t n) {
  uint64_t bad = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t bits;
    memcpy(&bits, (const char *)x + i * sizeof bits, sizeof bits);
    bad |= (bits & 0x7fffffffffffffff) + 0x0010000000000000; /* the exponent of infinity and NaN carries over */
  }
  return !(bad >> 63);
}

/* SC_ERROR_VALUE for the first number out of bounds. */
int sc_assembly_numbers(const char *call, int id, const assembly_field *fields, size_t n);

/* Is the assembly ready for a descriptor of this size. */
int sc_assembly_ready(const char *call, const sc_assembly *a, const void *descriptor, size_t size, size_t want);

/* Entries of a sparse row, or of a body's dof list, in the range of dofs and ascending. */
int sc_assembly_dofs(const sc_assembly *a, const char *call, int id, const char *field, int n, const int *dof);

#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
