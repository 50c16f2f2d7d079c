/* For the CUDA backend's own files: cuda_device.cu, cuda_solver.cu (upload, run, download), cuda_arrays.cu (softcon_cuda.h). */
#ifndef SC_CUDA_PRIVATE_H
#define SC_CUDA_PRIVATE_H

#include <cuda_runtime.h>

#include "../kernels/cuda.h"
#include "device.h"
#include "softcon_cuda.h"

struct sc_cuda_blas;

/* kernels/cuda.cu */
extern "C" {
__global__ void sc_cuda_warp_f32(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_warp_f64(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_block_f32(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_block_f64(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_dual_warp_f32(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_dual_warp_f64(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_dual_block_f32(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_dual_block_f64(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_dense_finish_f32(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_dense_finish_f64(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_dense_begin_f32(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_dense_begin_f64(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_dense_step_f32(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_dense_step_f64(const __grid_constant__ sc_cuda_args args);
__global__ void sc_cuda_rows(const __grid_constant__ sc_cuda_rows_args args);
}
typedef void (*sc_cuda_kernel)(const sc_cuda_args);

struct sc_device {
  int ordinal;
  int processors;           /* SMs */
  size_t fast;              /* bytes of dynamic shared memory that a block may have */
  cudaStream_t stream;
  int own_stream;           /* made by the context */
  sc_cuda_blas *blas;       /* cuda_blas.h; NULL before it is needed, and where the libraries are missing */
};

/* environments that teams of one size solve */
typedef struct sc_cuda_launch {
  sc_cuda_kernel kernel;
  int threads, blocks;
  int rounds;               /* its environments have been through rounds of batched dense routines */
  size_t shared;            /* bytes of a block */
  sc_cuda_args args;
} sc_cuda_launch;

/* Environments whose Newton steps are made by batched dense routines, and the memory that these share. cuda_dense.cu */
typedef struct sc_cuda_large {
  int count;                /* of the first in the table; 0: there are none */
  int single;
  int rounds;               /* that a run takes; what is not solved then goes on in one block */
  int nchunk;               /* one after the other in the same memory: */
  struct sc_cuda_chunk *chunk;
  int ngroup;
  struct sc_cuda_group *group;
  char *memory;
  size_t capacity;
  char *tables;             /* on the device: sc_cuda_dense_bytes */
} sc_cuda_large;

struct sc_device_memory {
  sc_device *device;
  sc_results *results;      /* the solver's */
  sc_results there;         /* where they are on the device */
  sc_result_sizes sizes;
  sc_device_rows rows;      /* what runs read and write, in device memory: these and the next three */
  sc_cuda_inputs inputs;
  sc_results out;
  sc_device_law law;
  size_t *con_offset;       /* a copy on the host; NULL: no environment has parameters */
  size_t *M_offset, *J_offset; /* nenv + 1 each, in one piece: where dense matrices of each environment would begin */
  char *block;              /* on the device: `layout` */
  char *spill;
  size_t capacity, spill_capacity;
  char *staged;             /* a copy of the block on the host, while it may still be read */
  sc_cuda_launch launches[3]; /* large teams after rounds of dense routines, large teams, small ones */
  int nlaunch;
  sc_cuda_large large;
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

/* For sc_solver_pack: device memory of at least so many bytes; what was there is lost. */
int sc_cuda_reserve(char **block, size_t *capacity, size_t bytes);
/* For sc_solver_run: one kernel onto the stream. */
int sc_cuda_launch_one(sc_device_memory *memory, sc_cuda_kernel kernel, sc_cuda_args *args, int blocks, int threads, size_t shared);

int sc_cuda_upload(sc_device *device, sc_device_memory **memory, const sc_device_job *job);
int sc_cuda_run(sc_device_memory *memory);
int sc_cuda_wait(sc_device_memory *memory);
int sc_cuda_download(sc_device_memory *memory);
void sc_cuda_forget(sc_device_memory *memory);

/* cuda_dense.cu: whether an environment goes through rounds of batched dense routines; and the sizes by which it is put in order,
 * for a large one those of its class. */
int sc_cuda_is_dense(const sc_pack *pack, int method);
void sc_cuda_class(const sc_pack *pack, int *n, int *m);
/* Bytes of the tables of n of them. Memory and tables for the first n of env; they are filled at `host`, to be sent to `at`. Where
 * the libraries are missing, or the memory, large.count is 0: they go the way of the others. */
size_t sc_cuda_dense_bytes(int n);
int sc_cuda_dense_plan(sc_device_memory *memory, const sc_device_job *job, const sc_cuda_env *env, int n, char *host, char *at);
/* The rounds, and after them the launch. */
int sc_cuda_dense_run(sc_device_memory *memory, const sc_cuda_launch *finish);
void sc_cuda_dense_forget(sc_device_memory *memory);

/* Have runs use the arrays of the last upload. cuda_arrays.cu */
void sc_cuda_own_arrays(sc_device_memory *memory);
/* Whether all outputs are those of the last upload; and download where they are not. cuda_arrays.cu */
int sc_cuda_outputs_are_own(const sc_device_memory *memory);
int sc_cuda_download_bound(sc_device_memory *memory);
void sc_cuda_get_arrays(const sc_device_memory *memory, struct sc_cuda_arrays *arrays);
int sc_cuda_set_arrays(sc_device_memory *memory, const struct sc_cuda_arrays *arrays);
int sc_cuda_evaluate_rows(sc_device_memory *memory);

#endif
