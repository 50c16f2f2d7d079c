/* What the CUDA kernels are handed, and where in a team's memory an environment's arrays lie. For kernel and host, in C++. */
#ifndef SC_CUDA_H
#define SC_CUDA_H

#include "device_rows.h"
#include "problem.h"
#include "results.h"
#include "verdict.h"

/* Threads that solve an environment: a warp, or four of them for many dofs. By the environment's own size, so that its
 * bits do not depend on its company. */
#define SC_WARP_BLOCKS 16 /* dof blocks up to which a warp solves it */
#define SC_TEAM_SMALL 32
#define SC_TEAM_LARGE 128
#define SC_ROWS_THREADS 128 /* of a block that evaluates rows and nothing else */
#define SC_DENSE_BLOCKS 32 /* dof blocks (128 dofs) beyond which Newton's steps come from batched dense routines, see cuda_dense.inl */
#define SC_DENSE_ROUNDS 20 /* steps at most; what is not solved then goes on in one block */
#define SC_RESIDENT_WARPS(team) ((team) == SC_TEAM_LARGE ? 8 : 12) /* of a multiprocessor, that its registers must hold; of large
                               systems its shared memory holds two, or one */

/* One environment: a pack of one lane, its pointers and lists in device memory. */
typedef struct alignas(16) sc_cuda_env {
  sc_pack pack;
  int32_t nz;               /* J blocks of elliptic rows */
  int32_t ny, nB;           /* of the dual problem: blocks of Y, numbers of B; 0 where nothing needs it */
  size_t M_first, J_first;  /* where its matrices begin among those of sc_cuda_inputs */
  int32_t env;              /* whose results these are */
  uint32_t beyond_float;    /* SC_BEYOND_...: what is too large for float, where the iteration then has no answer */
  int32_t factor;           /* the iteration reads L, which is there in its precision */
  int32_t near;             /* its lists are copied to shared memory, where there is room for all */
  int32_t list_bytes;       /* the pack's lists, which lie together: */
  const char *lists;
  int32_t kept;             /* its rows are evaluated from parameters before each solve: */
  int32_t nblock;           /* so many blocks */
  uint32_t flags;           /* sc_flag of packing, as far as the device does not find them itself */
  const sc_row_block *block;
} sc_cuda_env;

enum { SC_BEYOND_MATRICES = 1, SC_BEYOND_VECTORS = 2, SC_BEYOND_ROWS = 4 };

/* Matrices and vectors of all environments in the caller's order, read before each solve; NULL: what was packed. */
typedef struct sc_cuda_inputs {
  const double *M, *J;      /* dense, environment after environment */
  const double *tau, *s, *warm;
} sc_cuda_inputs;

/* Argument of the kernel that evaluates rows and nothing else. */
typedef struct sc_cuda_rows_args {
  sc_device_rows in;
  const size_t *efc_offset;
  sc_device_law out;
} sc_cuda_rows_args;

/* Where the dense matrices of an environment lie, whose sizes are those of its class: columns one after another. */
typedef struct alignas(16) sc_cuda_dense {
  int32_t n, m;             /* dofs and rows, rounded up; what is added to them has the identity for M, and no J */
  sc_array H;               /* [n n] lower triangle: M, then the Hessian, then its factor */
  sc_array J, Z;            /* [n m] J' and (K J)' */
  sc_array v;               /* [n] minus the gradient, then the direction */
  const int32_t *info;      /* not 0: the factor has failed */
  char *memory;             /* sc_cuda_rounds, and the arrays of its block */
} sc_cuda_dense;

/* Argument of a launch: `nenv` environments of one team size. */
typedef struct sc_cuda_args {
  const sc_cuda_env *env;   /* nenv */
  const sc_cuda_dense *dense; /* nenv, where rounds of batched dense routines are taken or have been; else NULL */
  int32_t nenv;
  int32_t method;           /* sc_method */
  int32_t retry;            /* sc_solver_options.retry */
  int32_t rounds;           /* of batched dense routines */
  uint32_t *queue;          /* [2] environments taken; blocks that are done. Zero before a launch and after it */
  sc_device_rows rows;      /* parameters of the rows */
  sc_cuda_inputs inputs;
  sc_results out;           /* in device memory; nv_offset, efc_offset, rowmap are read */
  sc_task task, again;      /* of the iteration, and of the same in double after it */
  uint32_t fast;            /* bytes of shared memory of a block */
  uint32_t slow;            /* bytes of a block's part of `spill`: arrays that do not fit */
  char *spill;
} sc_cuda_args;

#define SC_CUDA_PIECES 5
#define SC_CUDA_LISTS (SC_CUDA_PIECES - 1) /* the piece that is the lists */

/* A piece of the numbers, or the lists, and where it is copied; to NULL: it is read where it stands. */
typedef struct sc_cuda_copy {
  const char *from;
  char *to;
  size_t bytes;
} sc_cuda_copy;

/* What a block keeps in shared memory; an environment's arrays follow. */
typedef struct alignas(16) sc_cuda_block {
  sc_cuda_env env;
  sc_work iterate, judge;
  sc_pack view;             /* of both, one after the other */
  sc_cuda_copy copy[SC_CUDA_PIECES];
  sc_certificate certificate;
  int32_t iterations, end, stale;
  int32_t changed;          /* noslip moved some force */
  int32_t bad;              /* some number is not valid */
  uint32_t flags;           /* sc_flag of the rows and of the solve */
  int32_t earlier;          /* iterations in float, before it is solved again */
  uint32_t next;            /* environment that is being solved */
  int32_t ended;            /* its iteration, before this launch */
} sc_cuda_block;

#define SC_NEWTON_BYTES 128 /* for what Newton's iteration keeps between two steps, in either precision */

/* What stays in device memory while an environment goes through rounds of batched dense routines. */
typedef struct alignas(16) sc_cuda_rounds {
  sc_cuda_block block;
  alignas(16) char newton[SC_NEWTON_BYTES];
  int32_t taken;            /* steps */
  int32_t ended;            /* there will be none any more */
} sc_cuda_rounds;

/* ------------------------------------------------------------------ memory of a team */

/* A test may put guards behind arrays, and make memory unreadable until it is written again. */
#ifndef SC_GUARD_BYTES
#define SC_GUARD_BYTES 0
#define SC_GUARD(end) (void)(end)
#define SC_FORGET(begin) (void)(begin)
#endif

/* Memory that is handed out piece by piece: the fast while it lasts, then the slow. Both pointers may be NULL: then it is
 * only measured. */
typedef struct sc_cuda_map {
  char *fast, *slow;
  size_t room;              /* bytes of the fast */
  size_t used, spilled;     /* bytes handed out */
  int guarded;
} sc_cuda_map;

SC_BOTH static inline size_t sc_round16(size_t bytes) { return (bytes + 15) / 16 * 16; }

SC_BOTH static inline int sc_cuda_fits(const sc_cuda_map *m, size_t bytes) {
  return m->used + sc_round16(bytes) + SC_GUARD_BYTES <= m->room;
}

/* of the slow, whatever is left of the fast */
SC_BOTH static inline void *sc_cuda_take_slow(sc_cuda_map *m, size_t bytes) {
  char *at = m->slow ? m->slow + m->spilled : NULL;
  m->spilled += sc_round16(bytes);
  return at;
}

SC_BOTH static inline void *sc_cuda_take(sc_cuda_map *m, size_t bytes) {
  bytes = sc_round16(bytes);
  if (sc_cuda_fits(m, bytes)) {
    char *at = m->fast ? m->fast + m->used : NULL;
    if (at && m->guarded) SC_GUARD(at + bytes);
    m->used += bytes + SC_GUARD_BYTES;
    return at;
  }
  return sc_cuda_take_slow(m, bytes);
}

/* The lists that lie with a pack, all but the dual problem's, to an address `by` bytes further. */
template <class T> SC_BOTH static inline void sc_cuda_move(T **pointer, ptrdiff_t by) { *pointer = (T *)((char *)*pointer + by); }

SC_BOTH static inline void sc_cuda_move_tiles(sc_tiles *t, ptrdiff_t by) {
  sc_cuda_move(&t->adr, by), sc_cuda_move(&t->row, by), sc_cuda_move(&t->rowadr, by), sc_cuda_move(&t->rowtile, by);
  sc_cuda_move(&t->rowcol, by), sc_cuda_move(&t->pairadr, by), sc_cuda_move(&t->pair, by);
}

SC_BOTH static inline void sc_cuda_move_lists(sc_pack *p, ptrdiff_t by) {
  sc_cuda_move_tiles(&p->m, by), sc_cuda_move_tiles(&p->h, by);
  sc_cuda_move(&p->mtile, by), sc_cuda_move(&p->jadr, by), sc_cuda_move(&p->jcol, by);
  sc_cuda_move(&p->termadr, by), sc_cuda_move(&p->termcone, by), sc_cuda_move(&p->term, by);
}

/* A workspace. */
SC_BOTH static inline void sc_cuda_place_work(sc_cuda_map *m, const sc_cuda_env *e, sc_work *w, size_t element) {
  const sc_pack *p = &e->pack;
  size_t H = 16 * (size_t)p->h.ntile, nv4 = (size_t)p->nv4, nefc = (size_t)p->nefc;
  sc_work_sizes s = {H > nv4 ? H : nv4, 4 * (size_t)e->nz, 4 * (size_t)e->ny, (size_t)e->nB, 16 * (size_t)p->a.ntile, 4 * (size_t)p->a.nb,
                     0, nv4, nefc, 4, SC_LANE_NUMBERS, (size_t)p->nb, nefc};
  w->used = (uint8_t *)sc_cuda_take(m, s.rows);
#define FIELD(name, count) w->name = sc_cuda_take(m, (count) * element);
  SC_WORK_FIELDS(FIELD)
#undef FIELD
  w->soft = sc_cuda_take_slow(m, p->nefc > p->conerow ? SC_SOFT * nefc * element : 0); /* seldom needed */
}

/* The numbers in one precision, piece by piece: first those of rows and vectors, then M, L where the iteration reads it, and J,
 * while there is room. */
SC_BOTH static inline void sc_cuda_place_numbers(sc_cuda_map *m, const sc_cuda_env *e, sc_numbers *n, size_t element,
                                                 sc_cuda_copy *copy) {
  const char *M = (const char *)n->M.at, *J = (const char *)n->J.at, *D = (const char *)n->D.at, *L = (const char *)n->L.at;
  const char *end = (const char *)n->alive.at + element;
  const char *const part[SC_CUDA_PIECES - 1][2] = {{D, end}, {M, J}, {L, e->factor ? L + (J - M) : L}, {J, D}};
  for (int k = 0; k < SC_CUDA_PIECES - 1; k++) {
    size_t bytes = sc_round16((size_t)(part[k][1] - part[k][0]));
    copy[k].from = part[k][0], copy[k].bytes = bytes;
    copy[k].to = k == 0 || sc_cuda_fits(m, bytes) ? (char *)sc_cuda_take(m, bytes) : NULL;
  }
  if (copy[1].to) n->M = copy[1].to;
  if (copy[2].to && e->factor) n->L = copy[2].to;
  if (copy[3].to) n->J = copy[3].to;
  if (!copy[0].to) return;
#define MOVED(name) n->name = copy[0].to + ((const char *)n->name.at - D);
  MOVED(aref) MOVED(eta) MOVED(edge) MOVED(pair) MOVED(cone) MOVED(tau) MOVED(s) MOVED(warm)
  MOVED(given) MOVED(scale) MOVED(alive) MOVED(D)
#undef MOVED
}

/* The lists. */
SC_BOTH static inline void sc_cuda_place_lists(sc_cuda_map *m, sc_cuda_env *e, sc_cuda_copy *copy) {
  copy->from = e->lists, copy->bytes = sc_round16((size_t)e->list_bytes);
  copy->to = e->near ? (char *)sc_cuda_take(m, copy->bytes) : NULL;
  if (copy->to) sc_cuda_move_lists(&e->pack, copy->to - e->lists);
}

/* The whole of an environment. In float the certificate reads the numbers in double where they stand, and its workspace
 * lies over the iteration's; only its `a` is apart, since the one is made from the other. */
SC_BOTH static inline void sc_cuda_place(sc_cuda_map *m, sc_cuda_env *e, int single, sc_work *iterate, sc_work *judge,
                                         sc_cuda_copy *copy) {
  size_t element = single ? sizeof(float) : sizeof(double);
  sc_cuda_place_lists(m, e, copy + SC_CUDA_LISTS);
  if (single) {
    void *a = sc_cuda_take(m, (size_t)e->pack.nv4 * sizeof(double));
    sc_cuda_map after = *m;
    after.guarded = 0;
    sc_cuda_place_work(&after, e, judge, sizeof(double));
    judge->a = a;
    sc_cuda_place_work(m, e, iterate, element);
    sc_cuda_place_numbers(m, e, &e->pack.num[1], element, copy);
    if (after.used > m->used) m->used = after.used;
    if (after.spilled > m->spilled) m->spilled = after.spilled;
  } else {
    sc_cuda_place_work(m, e, iterate, element);
    sc_cuda_place_numbers(m, e, &e->pack.num[0], element, copy);
  }
}

#endif
