/* For the CUDA backend's own files: cuda_device.cu and cuda_solver.cu. */
#ifndef SC_CUDA_PRIVATE_H
#define SC_CUDA_PRIVATE_H

#include <cuda_runtime.h>

#include "../kernels/cuda.h"
#include "device.h"
#include "softcon.h"

/* kernels/cuda.cu */
extern "C" {
__global__ void sc_cuda_warp_f32(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_warp_f64(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_block_f32(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_block_f64(const __grid_constant__ sc_cuda_args args);
}
typedef void (*sc_cuda_kernel)(const sc_cuda_args);

struct sc_device {
  int ordinal;
  int processors;           /* SMs */
  size_t fast;              /* bytes of dynamic shared memory that a block may have */
  cudaStream_t stream;
  int own_stream;           /* made by the context */
};

/* SC_ERROR_DEVICE with the call, CUDA's words and its number; the thread's CUDA error is cleared. */
int sc_cuda_error(cudaError_t error, const char *where, const char *call);

/* leave the function that contains it when a CUDA call fails */
#define TRY(where, call)                                                   \
  do {                                                                     \
    cudaError_t error_ = (call);                                           \
    if (error_ != cudaSuccess) return sc_cuda_error(error_, where, #call); \
  } while (0)

/* The caller's current device comes back at the end of a scope. */
struct sc_cuda_scope {
  int before;
  cudaError_t error;
  explicit sc_cuda_scope(int ordinal) : before(-1) {
    error = cudaGetDevice(&before);
    if (error == cudaSuccess && before != ordinal) error = cudaSetDevice(ordinal);
    if (error != cudaSuccess || before == ordinal) before = -1;
  }
  ~sc_cuda_scope() {
    if (before >= 0) cudaSetDevice(before);
  }
};

int sc_cuda_upload(sc_device *device, sc_device_memory **memory, const sc_device_job *job);
int sc_cuda_run(sc_device_memory *memory);
int sc_cuda_wait(sc_device_memory *memory);
int sc_cuda_download(sc_device_memory *memory);
void sc_cuda_forget(sc_device_memory *memory);

#endif
