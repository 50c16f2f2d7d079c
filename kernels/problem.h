/* A pack: the problems of W environments in the layout that the kernels read, and the workspace of one worker.
 *
 * Index rule. Element i of lane w of an array is at (i*W + w); the arrays below are counted in elements. W is SC_LANES.
 *
 * Dofs stand in reverse order (leaves first, so that a kinematic tree fills nothing in), padded to nv4 = 4 nb with unit
 * inertia. Rows stand by kind: ne equality, nf dry friction, nu one-sided, then elliptic contacts of dim 3, 4, 6; each
 * environment's rows start at the beginning of each kind, missing ones are inert (D = 0, J = 0). So an environment's
 * sums run in the same order whatever its company, and inert rows add exact zeros.
 *
 * J keeps the blocks of four dofs that some lane has. Matrices over dofs keep 4x4 tiles of the lower triangle. */
#ifndef SC_PROBLEM_H
#define SC_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SC_BOTH __host__ __device__ /* a function for the host and for the device */
#else
#define SC_BOTH
#endif

/* An array of numbers whose type is that of the kernels that read it. */
#ifndef __cplusplus
typedef void *sc_array;
#else
struct sc_array { /* C++ has no implicit conversion from void * */
  void *at;
  sc_array() = default;
  SC_BOTH sc_array(void *p) : at(p) {}
  template <class T> SC_BOTH operator T *() const { return (T *)at; }
};
#endif

#define SC_NDIM 3 /* elliptic contacts come in three sizes */
#define SC_DIM(k) ((k) < 2 ? 3 + (k) : 6)
static const int sc_dims[SC_NDIM] = {SC_DIM(0), SC_DIM(1), SC_DIM(2)}; /* not for device code, which has no such array */

typedef struct { int32_t x, y; } sc_pair;               /* two tiles (i,k), (j,k) whose product is taken from (i,j) */
typedef struct { int32_t row, bi, bj; } sc_term;        /* row `row` has J blocks bi, bj: adds curv J_bi' J_bj to tile (i,j) */

/* Tiles of a lower block triangle that may be non-zero, column by column; the first of a column is the diagonal one. */
typedef struct sc_tiles {
  int32_t nb, ntile;
  const int32_t *adr;       /* nb+1: tiles of column j */
  const int32_t *row;       /* ntile: ascending in a column */
  const int32_t *rowadr;    /* nb+1 and */
  const int32_t *rowtile;   /* ntile - nb: the off-diagonal tiles by rows, columns ascending */
  const int32_t *rowcol;    /* ntile - nb: and their columns */
  const int32_t *pairadr;   /* ntile+1: products of the Cholesky factorisation for each tile; NULL: not listed, see columns.inl */
  const sc_pair *pair;
} sc_tiles;

/* The numbers of a pack in one precision; element counts in brackets. */
typedef struct sc_numbers {
  sc_array M;               /* [16 m.ntile] diagonal tiles in full */
  sc_array J;               /* [4 nblock] */
  sc_array D, aref;         /* [nefc] */
  sc_array eta, edge;       /* [nf] dry friction: largest force, and eta R */
  sc_array pair;            /* [nu] 1: the first of a pair of opposite edges of a pyramid, else 0 */
  sc_array cone;            /* [CONE_COEF(d) per contact] */
  sc_array tau, s, warm;    /* [nv4] qfrc_smooth, qacc_smooth, qacc_warmstart */
  sc_array scale;           /* [1] 1/trace M */
  sc_array given;           /* [3] 1 where tau, s, warm was handed over, else 0: prepare completes the others */
  sc_array alive;           /* [1] 1: a lane with an environment whose M is positive definite, else 0 */
  sc_array L;               /* [16 m.ntile] Cholesky factor of M; in float only for the methods that read it, else NULL */
} sc_numbers;

/* Every array of sc_numbers and its elements, in the order in which they lie in memory one after another; L, the factor of
 * M, comes last. cones: elements of `cone`. */
#define SC_NUMBER_FIELDS(F, p, cones)                                                                                       \
  F(M, 16 * (size_t)(p)->m.ntile)                                                                                           \
  F(J, 4 * (size_t)(p)->nblock)                                                                                             \
  F(D, (size_t)(p)->nefc)                                                                                                   \
  F(aref, (size_t)(p)->nefc)                                                                                                \
  F(eta, (size_t)(p)->nf)                                                                                                   \
  F(edge, (size_t)(p)->nf)                                                                                                  \
  F(pair, (size_t)(p)->nu)                                                                                                  \
  F(cone, (size_t)(cones))                                                                                                  \
  F(tau, (size_t)(p)->nv4)                                                                                                  \
  F(s, (size_t)(p)->nv4)                                                                                                    \
  F(warm, (size_t)(p)->nv4)                                                                                                 \
  F(given, 3)                                                                                                               \
  F(scale, 1)                                                                                                               \
  F(alive, 1)

typedef struct sc_pack {
  int32_t nb, nv4, nefc, nblock;
  int32_t ne, nf, nu;
  int32_t ncone[SC_NDIM];   /* contacts of dim 3, 4, 6 */
  int32_t conerow;          /* first elliptic row: ne + nf + nu */
  int32_t hessian;          /* 0: h has diagonal tiles only, for a method that does not factor H */
  sc_tiles m, h;            /* M and its factor; the factor of H = M + J' K J */
  const int32_t *mtile;     /* h.ntile: tile of M, or -1 */
  const int32_t *jadr;      /* nefc+1: blocks of a row */
  const int32_t *jcol;      /* nblock: block column, ascending in a row */
  const int32_t *termadr;   /* h.ntile+1: rows that add to a tile */
  const int32_t *termcone;  /* h.ntile: where the elliptic ones among them begin */
  const sc_term *term;
  const int32_t *yadr;      /* nefc+1: blocks of a row of Y = L^-1 J', see dual.inl; NULL where nothing needs them */
  const int32_t *ycol;      /* their block columns, ascending in a row */
  sc_tiles a;               /* a full lower triangle over the first rows, SC_DIRECT_ROWS at most; nb 0 where nothing needs it */
  sc_numbers num[2];        /* by sc_precision */
} sc_pack;

/* Why the iteration of a lane ended. */
enum { SC_END_CONVERGED = 0, SC_END_FLOOR, SC_END_LIMIT, SC_END_STALLED };

/* What a solve is asked for. */
typedef struct sc_task {
  double tolerance, ls_tolerance;
  int iterations, ls_iterations, warmstart;
  int descends;             /* the method begins no higher than at qacc_smooth, and only descends */
  int noslip_iterations;
  double noslip_tolerance;
  double rounding;          /* 2^-24 or 2^-53: of the iteration, for the certificate's floor */
  double force_noise;       /* forces that rounding of the answer moves by more than this, relative to the largest, are refined */
} sc_task;

/* A worker's scratch memory; element counts in brackets. Used by one kernel at a time. */
typedef struct sc_work {
  sc_task task;
  sc_array H;               /* [16 h.ntile] factor; cg: a vector over dofs */
  sc_array Z;               /* [4 blocks of elliptic rows] K J of elliptic contacts */
  sc_array a, Ma, g;        /* [nv4] the iterate (in and out), M a, gradient */
  sc_array a1, Ma1, g1;     /* [nv4] at the trial point */
  sc_array v;               /* [nv4] step */
  sc_array z, z1;           /* [nv4] cg: M^-1 g, and before the step; pgs: Y f */
  sc_array pivot;           /* [4] diagonal of the tile that is factored */
  sc_array x, f, k;         /* [nefc] residual J a - aref, force, curvature of scalar rows or zone of elliptic ones */
  sc_array x1, f1, k1, Jv;  /* [nefc] */
  int32_t *tile_at;         /* [nb] numbers: of large systems, where in a column a row's tile is */
  sc_array A, u;            /* [16 a.ntile] A + R and its factor, [4 a.nb] a vector over its rows; see direct.inl */
  sc_array Y, B;            /* [4 blocks of Y], [dim^2 per elliptic contact] of the dual problem, see dual.inl */
  sc_array soft;            /* [SC_SOFT nefc] with elliptic contacts: rows in their place, see multipliers.inl */
  sc_pack *view;            /* one, the pack with the rows of `soft` in place of its own */
  sc_array lane;            /* [7] numbers of newton, measure and refine, one for each lane */
  uint8_t *used;            /* [nefc] bytes: some lane has a force there */
  int32_t *iterations, *end;/* W numbers each */
  int32_t *stale;           /* W numbers, by newton: whether the factor is not that of the zones where the lane ended */
  int32_t *solved;          /* W numbers, by the certificate: whether it holds */
  int32_t *changed;         /* W numbers, by noslip: whether some force moved */
  double *gap, *floor, *bound, *objective; /* W numbers each, by the certificate */
  int fresh;                /* what the certificate measures of a is there: refine has left it */
} sc_work;

/* One part of an iteration in float that is refined in double: what the two exchange. */
typedef struct sc_refinement {
  sc_work *iterate;         /* of the iteration; element i of lane l of this part is at (i stride + first + l) */
  int stride, first;
  int begun;                /* 0: no step was taken yet, work->a is the iteration's answer */
  unsigned live;            /* lanes that want a step, as bits */
} sc_refinement;

/* Every array of numbers of sc_work and its numbers, those of all lanes, s being their sizes; and of one lane, nb and rows. */
typedef struct sc_work_sizes { size_t H, Z, Y, B, A, u, soft, nv4, nefc, pivot, lane, nb, rows; } sc_work_sizes;
#define SC_WORK_FIELDS(F)                                                                                                   \
  F(a, s.nv4) F(Ma, s.nv4) F(g, s.nv4) F(a1, s.nv4) F(Ma1, s.nv4) F(g1, s.nv4) F(v, s.nv4) F(z, s.nv4) F(z1, s.nv4)         \
  F(pivot, s.pivot) F(lane, s.lane) F(x, s.nefc) F(f, s.nefc) F(k, s.nefc) F(x1, s.nefc) F(f1, s.nefc) F(k1, s.nefc)        \
  F(Jv, s.nefc) F(H, s.H) F(Z, s.Z) F(Y, s.Y) F(B, s.B) F(A, s.A) F(u, s.u) F(soft, s.soft)
#define SC_LANE_NUMBERS 7 /* of `lane`, for each lane */
#define SC_SOFT 5         /* of `soft`, for each row */

#define SC_NKERNEL 4 /* methods (newton, cg, pgs, direct), numbered as in sc_method */
#define SC_DIRECT_ROWS 256 /* of an environment, up to which `direct` forms its A + R */

/* One instantiation of the kernels. A method reads num[precision] and leaves the answer in work->a; the others are in
 * double: prepare factors M, completes qfrc_smooth or qacc_smooth and the warm start, and clears `alive` where M is not
 * positive definite; certify judges work->a and leaves f, zone (k), J'f (g1), gap, floor, bound, objective; noslip changes
 * f, k, g1 and a after it; inverse leaves f, k, g1 that belong to work->a, and g = M a - qfrc_smooth - J'f; narrow rounds n
 * elements of each part (one or two) to float and finds the largest magnitude in each lane; refine (double) takes the step
 * that correct (float) made of the gradient before and leaves the next gradient there; it returns whether the factor in float
 * must be made anew for it. */
typedef struct sc_kernels {
  int lanes, f32;
  void (*solve[SC_NKERNEL])(const sc_pack *pack, sc_work *work);
  void (*prepare)(const sc_pack *pack, sc_work *work);
  void (*certify)(const sc_pack *pack, sc_work *work);
  void (*noslip)(const sc_pack *pack, sc_work *work);
  void (*inverse)(const sc_pack *pack, sc_work *work);
  void (*narrow)(const void *const *in, int parts, size_t n, void *out, double *largest);
  int (*refine)(const sc_pack *pack, sc_work *work, sc_refinement *part);
  void (*correct)(const sc_pack *pack, sc_work *work, int stale);
  double (*peak)(int n);    /* n rounds of `chains` products and sums in every lane, and nothing else */
  int chains;
} sc_kernels;

#endif /* SC_PROBLEM_H */
