/* cuBLAS and cuSOLVER, looked up when they are first needed: nothing is linked, and softcon loads where they are not there.
 * Without their headers everything counts as missing. */
#include "cuda_blas.h"
#include "cuda_private.h"

#if __has_include(<cublas_v2.h>) && __has_include(<cusolverDn.h>)

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <dlfcn.h>
#include <stdlib.h>

/* Hopper wants 32 MiB of workspace. With memory of its own a handle asks for none during a capture, and takes the same kernels
 * from run to run. */
#define WORKSPACE ((size_t)32 << 20)

#define BLAS_CALLS(F)                                                                                                       \
  F(cublasCreate_v2) F(cublasDestroy_v2) F(cublasSetStream_v2) F(cublasSetWorkspace_v2) F(cublasGetStatusString)            \
  F(cublasSgemmStridedBatched) F(cublasDgemmStridedBatched)
#define SOLVER_CALLS(F)                                                                                                     \
  F(cusolverDnCreate) F(cusolverDnDestroy) F(cusolverDnSetStream)                                                           \
  F(cusolverDnSpotrfBatched) F(cusolverDnDpotrfBatched) F(cusolverDnSpotrsBatched) F(cusolverDnDpotrsBatched)

struct sc_cuda_blas {
  void *blas_library, *solver_library;
  cublasHandle_t blas;
  cusolverDnHandle_t solver;
  void *workspace;
#define MEMBER(name) decltype(&::name) name;
  BLAS_CALLS(MEMBER)
  SOLVER_CALLS(MEMBER)
#undef MEMBER
};

/* once loaded they stay: libraries of CUDA are not made to be unloaded */
#define HOW (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* whether both libraries and all calls are there */
static int look_up(sc_cuda_blas *b) {
  b->blas_library = dlopen("libcublas.so." TEXT(CUBLAS_VER_MAJOR), HOW);
  b->solver_library = dlopen("libcusolver.so." TEXT(CUSOLVER_VER_MAJOR), HOW);
  int found = b->blas_library && b->solver_library;
#define LOOK(library, name)                                                      \
  if (found) b->name = (decltype(b->name))dlsym(library, #name), found = b->name != NULL;
#define OF_BLAS(name) LOOK(b->blas_library, name)
#define OF_SOLVER(name) LOOK(b->solver_library, name)
  BLAS_CALLS(OF_BLAS)
  SOLVER_CALLS(OF_SOLVER)
  return found;
}

static int blas_error(const sc_cuda_blas *b, cublasStatus_t status, const char *where, const char *call) {
  return sc_error_set(SC_ERROR_DEVICE, "%s: cuBLAS: %s: %s (%d)", where, call, b->cublasGetStatusString(status), (int)status);
}

static int solver_error(cusolverStatus_t status, const char *where, const char *call) {
  return sc_error_set(SC_ERROR_DEVICE, "%s: cuSOLVER: %s: status %d", where, call, (int)status);
}

#define TRY_BLAS(where, call, arguments)                                             \
  do {                                                                               \
    cublasStatus_t status_ = b->call arguments;                                      \
    if (status_ != CUBLAS_STATUS_SUCCESS) return blas_error(b, status_, where, #call); \
  } while (0)
#define TRY_SOLVER(where, call, arguments)                                             \
  do {                                                                                 \
    cusolverStatus_t status_ = b->call arguments;                                      \
    if (status_ != CUSOLVER_STATUS_SUCCESS) return solver_error(status_, where, #call); \
  } while (0)

#define PACK "sc_solver_pack"
#define RUN "sc_solver_run"

static int make_handles(sc_cuda_blas *b, cudaStream_t stream) {
  TRY_BLAS(PACK, cublasCreate_v2, (&b->blas));
  TRY_BLAS(PACK, cublasSetStream_v2, (b->blas, stream));
  TRY(PACK, cudaMalloc(&b->workspace, WORKSPACE));
  TRY_BLAS(PACK, cublasSetWorkspace_v2, (b->blas, b->workspace, WORKSPACE));
  TRY_SOLVER(PACK, cusolverDnCreate, (&b->solver));
  TRY_SOLVER(PACK, cusolverDnSetStream, (b->solver, stream));
  return SC_OK;
}

int sc_cuda_blas_open(sc_cuda_blas **blas, cudaStream_t stream) {
  sc_cuda_blas *b = (sc_cuda_blas *)calloc(1, sizeof *b);
  *blas = NULL;
  if (!b) return sc_error_set(SC_ERROR_MEMORY, PACK ": no memory");
  int found = look_up(b), code = found ? make_handles(b, stream) : SC_OK;
  if (found && !code) *blas = b;
  else sc_cuda_blas_close(b);
  return code;
}

void sc_cuda_blas_close(sc_cuda_blas *b) {
  if (!b) return;
  if (b->solver) b->cusolverDnDestroy(b->solver);
  if (b->blas) b->cublasDestroy_v2(b->blas);
  if (b->workspace) cudaFree(b->workspace);
  if (b->solver_library) dlclose(b->solver_library);
  if (b->blas_library) dlclose(b->blas_library);
  free(b);
}

int sc_cuda_blas_hessian(sc_cuda_blas *b, const sc_cuda_systems *s) {
  const long long nm = (long long)s->n * s->m, nn = (long long)s->n * s->n;
  const float one_f32 = 1;
  const double one_f64 = 1;
#define GEMM(type, one)                                                                                                     \
  (b->blas, CUBLAS_OP_N, CUBLAS_OP_T, s->n, s->n, s->m, &one, (const type *)s->J, s->n, nm, (const type *)s->Z, s->n, nm, &one, \
   (type *)s->H, s->n, nn, s->count)
  if (s->single) TRY_BLAS(RUN, cublasSgemmStridedBatched, GEMM(float, one_f32));
  else TRY_BLAS(RUN, cublasDgemmStridedBatched, GEMM(double, one_f64));
  return SC_OK;
}

int sc_cuda_blas_factor(sc_cuda_blas *b, const sc_cuda_systems *s) {
#define FACTOR(type) (b->solver, CUBLAS_FILL_MODE_LOWER, s->n, (type **)s->factors, s->n, s->info, s->count)
  if (s->single) TRY_SOLVER(RUN, cusolverDnSpotrfBatched, FACTOR(float));
  else TRY_SOLVER(RUN, cusolverDnDpotrfBatched, FACTOR(double));
  return SC_OK;
}

int sc_cuda_blas_solve(sc_cuda_blas *b, const sc_cuda_systems *s) {
#define SOLVE(type)                                                                                                         \
  (b->solver, CUBLAS_FILL_MODE_LOWER, s->n, 1, (type **)s->factors, s->n, (type **)s->vectors, s->n, s->said, s->count)
  if (s->single) TRY_SOLVER(RUN, cusolverDnSpotrsBatched, SOLVE(float));
  else TRY_SOLVER(RUN, cusolverDnDpotrsBatched, SOLVE(double));
  return SC_OK;
}

#else

int sc_cuda_blas_open(sc_cuda_blas **blas, cudaStream_t) {
  *blas = NULL;
  return SC_OK;
}
void sc_cuda_blas_close(sc_cuda_blas *) {}
int sc_cuda_blas_hessian(sc_cuda_blas *, const sc_cuda_systems *) { return SC_OK; }
int sc_cuda_blas_factor(sc_cuda_blas *, const sc_cuda_systems *) { return SC_OK; }
int sc_cuda_blas_solve(sc_cuda_blas *, const sc_cuda_systems *) { return SC_OK; }

#endif
