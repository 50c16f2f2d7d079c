/* cuBLAS and cuSOLVER on the CPU, in the place of src/cuda_blas.cu: the same calls, each of which runs where it stands in its stream
 * and may fail like one of the runtime's. Plain loops, whose sums have one order whatever the batch. */
#include "../../src/cuda_blas.h"
#include "../../src/cuda_private.h"

#include <cmath>

struct sc_cuda_blas {
  cudaStream_t stream;
};

static int failed(cudaError_t error, const char *where, const char *library, const char *call) {
  return sc_error_set(SC_ERROR_DEVICE, "%s: %s: %s: %s (%d)", where, library, call, cudaGetErrorString(error), (int)error);
}

#define TRY_LIBRARY(where, of, call, work)                           \
  do {                                                                    \
    cudaError_t error_ = emu::library(work, b->stream);                   \
    if (error_ != cudaSuccess) return failed(error_, where, of, call); \
  } while (0)

int sc_cuda_blas_open(sc_cuda_blas **blas, cudaStream_t stream) {
  sc_cuda_blas made = {stream}, *b = &made;
  *blas = NULL;
  if (!emu::libraries) return SC_OK;
  TRY_LIBRARY("sc_solver_pack", "cuBLAS", "cublasCreate", [] {});
  TRY_LIBRARY("sc_solver_pack", "cuSOLVER", "cusolverDnCreate", [] {});
  *blas = new sc_cuda_blas(made);
  return SC_OK;
}

void sc_cuda_blas_close(sc_cuda_blas *blas) { delete blas; }

/* H += J Z', column by column */
template <class T> static void hessian(const sc_cuda_systems &s) {
  size_t n = (size_t)s.n, m = (size_t)s.m, count = (size_t)s.count;
  emu::reads(s.J, count * n * m * sizeof(T));
  emu::reads(s.Z, count * n * m * sizeof(T));
  emu::reads(s.H, count * n * n * sizeof(T));
  for (size_t e = 0; e < count; e++)
    for (size_t j = 0; j < n; j++) {
      T *H = (T *)s.H + (e * n + j) * n;
      for (size_t r = 0; r < m; r++) {
        const T *J = (const T *)s.J + (e * m + r) * n, z = ((const T *)s.Z)[(e * m + r) * n + j];
        if (z == 0) continue;
        for (size_t i = 0; i < n; i++) H[i] += J[i] * z;
      }
    }
  emu::writes(s.H, count * n * n * sizeof(T));
}

/* the order of the minor that is not positive definite, or 0 */
template <class T> static int cholesky(T *A, size_t n) {
  for (size_t j = 0; j < n; j++) {
    T *a = A + j * n;
    for (size_t k = 0; k < j; k++) {
      const T *l = A + k * n, y = l[j];
      for (size_t i = j; i < n; i++) a[i] -= l[i] * y;
    }
    if (!(a[j] > 0)) return (int)j + 1;
    T root = std::sqrt(a[j]);
    for (size_t i = j; i < n; i++) a[i] /= root;
  }
  return 0;
}

template <class T> static void factor(const sc_cuda_systems &s) {
  emu::reads(s.factors, (size_t)s.count * sizeof(void *));
  for (int e = 0; e < s.count; e++) {
    emu::reads(s.factors[e], (size_t)s.n * (size_t)s.n * sizeof(T));
    s.info[e] = emu::libraries == 2 ? 1 : cholesky((T *)s.factors[e], (size_t)s.n);
    emu::writes(s.factors[e], (size_t)s.n * (size_t)s.n * sizeof(T));
  }
  emu::writes(s.info, (size_t)s.count * sizeof *s.info);
}

template <class T> static void solve(const T *L, T *x, size_t n) {
  for (size_t j = 0; j < n; j++) {
    x[j] /= L[j * n + j];
    for (size_t i = j + 1; i < n; i++) x[i] -= L[j * n + i] * x[j];
  }
  for (size_t j = n; j-- > 0;) {
    for (size_t i = j + 1; i < n; i++) x[j] -= L[j * n + i] * x[i];
    x[j] /= L[j * n + j];
  }
}

template <class T> static void solve_all(const sc_cuda_systems &s) {
  emu::reads(s.factors, (size_t)s.count * sizeof(void *));
  emu::reads(s.vectors, (size_t)s.count * sizeof(void *));
  for (int e = 0; e < s.count; e++) {
    emu::reads(s.vectors[e], (size_t)s.n * sizeof(T));
    solve((const T *)s.factors[e], (T *)s.vectors[e], (size_t)s.n);
  }
  *s.said = 0;
  emu::writes(s.said, sizeof *s.said);
}

#define EACH_TYPE(call) [s] { s.single ? call<float>(s) : call<double>(s); }

int sc_cuda_blas_hessian(sc_cuda_blas *b, const sc_cuda_systems *systems) {
  const sc_cuda_systems s = *systems;
  TRY_LIBRARY("sc_solver_run", "cuBLAS", s.single ? "cublasSgemmStridedBatched" : "cublasDgemmStridedBatched", EACH_TYPE(hessian));
  return SC_OK;
}

int sc_cuda_blas_factor(sc_cuda_blas *b, const sc_cuda_systems *systems) {
  const sc_cuda_systems s = *systems;
  TRY_LIBRARY("sc_solver_run", "cuSOLVER", s.single ? "cusolverDnSpotrfBatched" : "cusolverDnDpotrfBatched", EACH_TYPE(factor));
  return SC_OK;
}

int sc_cuda_blas_solve(sc_cuda_blas *b, const sc_cuda_systems *systems) {
  const sc_cuda_systems s = *systems;
  TRY_LIBRARY("sc_solver_run", "cuSOLVER", s.single ? "cusolverDnSpotrsBatched" : "cusolverDnDpotrsBatched", EACH_TYPE(solve_all));
  return SC_OK;
}
