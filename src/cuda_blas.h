/* Batched dense routines of cuBLAS and cuSOLVER for many systems at once, enqueued on a stream: the only calls into these
 * libraries. cuda_blas.cu; in the emulated tests tests/emu/blas.cpp stands in its place. */
#ifndef SC_CUDA_BLAS_H
#define SC_CUDA_BLAS_H

#include <cuda_runtime.h>

/* Handles bound to a stream. */
typedef struct sc_cuda_blas sc_cuda_blas;

/* `count` systems of n dofs and m rows in device memory, columns one after another, matrices of one kind one after another. */
typedef struct sc_cuda_systems {
  int single;               /* numbers are float, else double */
  int count, n, m;
  void *H;                  /* [n n] each */
  const void *J, *Z;        /* [n m] each */
  void **factors, **vectors;/* count pointers to every H, and to every vector of n numbers, in device memory */
  int *info;                /* count numbers */
  int *said;                /* 1 number: whether a solution's arguments were right; it is not looked at */
} sc_cuda_systems;

/* The libraries are looked for when this is called; *blas is NULL where some is missing. */
int sc_cuda_blas_open(sc_cuda_blas **blas, cudaStream_t stream);
void sc_cuda_blas_close(sc_cuda_blas *blas);

/* H += J Z' */
int sc_cuda_blas_hessian(sc_cuda_blas *blas, const sc_cuda_systems *s);
/* The Cholesky factor in the lower triangle of H; info: 0, or the order of the first leading minor that is not positive
 * definite. */
int sc_cuda_blas_factor(sc_cuda_blas *blas, const sc_cuda_systems *s);
/* vector <- H^-1 vector, with the factor */
int sc_cuda_blas_solve(sc_cuda_blas *blas, const sc_cuda_systems *s);

#endif
