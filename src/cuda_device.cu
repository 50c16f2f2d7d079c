/* A CUDA device: opening and closing it, and the backend's table. */
#include "cuda_blas.h"
#include "cuda_private.h"

#include <stdlib.h>

int sc_cuda_error(cudaError_t error, const char *where, const char *call) {
  cudaGetLastError();
  return sc_error_set(SC_ERROR_DEVICE, "%s: CUDA: %.160s: %s (%d)", where, call, cudaGetErrorString(error), (int)error);
}

static int present(void) {
  int n = 0;
  cudaError_t error = cudaGetDeviceCount(&n);
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess && n > 0;
}

#define WHERE "sc_context_create"

/* the kernels may use all the shared memory that a block can have but for a little of their own */
static int allow_shared(sc_device *d) {
  const sc_cuda_kernel kernels[] = {sc_cuda_warp_f32,      sc_cuda_warp_f64,      sc_cuda_block_f32,      sc_cuda_block_f64,
                                    sc_cuda_dual_warp_f32, sc_cuda_dual_warp_f64, sc_cuda_dual_block_f32, sc_cuda_dual_block_f64,
                                    sc_cuda_dense_finish_f32, sc_cuda_dense_finish_f64};
  int most = 0;
  TRY(WHERE, cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->ordinal));
  most -= 1024;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    TRY(WHERE, cudaFuncSetAttribute(kernels[i], cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  d->fast = (size_t)most;
  return SC_OK;
}

static int prepare(sc_device *d, void *stream) {
  sc_cuda_scope scope(d->ordinal);
  TRY(WHERE, scope.error);
  TRY(WHERE, cudaDeviceGetAttribute(&d->processors, cudaDevAttrMultiProcessorCount, d->ordinal));
  int code = allow_shared(d);
  if (code) return code;
  d->stream = (cudaStream_t)stream;
  if (stream) return SC_OK;
  TRY(WHERE, cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking));
  d->own_stream = 1;
  return SC_OK;
}

static int open_device(int ordinal, void *stream, sc_device **out) {
  int n = 0;
  *out = NULL;
  TRY(WHERE, cudaGetDeviceCount(&n));
  if (ordinal < 0 || ordinal >= n)
    return sc_error_set(SC_ERROR_DEVICE, WHERE ": options.device is %d, and CUDA has %d device%s", ordinal, n, n == 1 ? "" : "s");
  sc_device *d = (sc_device *)calloc(1, sizeof *d);
  if (!d) return sc_error_set(SC_ERROR_MEMORY, WHERE ": no memory");
  d->ordinal = ordinal;
  int code = prepare(d, stream);
  if (code) free(d);
  else *out = d;
  return code;
}

static void close_device(sc_device *d) {
  sc_cuda_scope scope(d->ordinal);
  sc_cuda_blas_close(d->blas);
  if (d->own_stream) cudaStreamDestroy(d->stream);
  free(d);
}

static void *stream_of(const sc_device *d) { return d->stream; }

extern "C" const sc_device_backend sc_cuda_backend = {present,        open_device,        close_device,       sc_cuda_upload,
                                                      sc_cuda_run,    sc_cuda_wait,       sc_cuda_download,   sc_cuda_forget,
                                                      sc_cuda_get_arrays, sc_cuda_set_arrays, sc_cuda_evaluate_rows, stream_of};
