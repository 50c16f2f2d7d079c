/* What the device's memory can do at best, measured: by copies within it. */
#include <cuda_runtime.h>

#include <time.h>

#include "gpu.h"

static double seconds_now() {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* seconds of a copy, the least of ten; negative: CUDA failed */
static double least_copy(void *to, const void *from, size_t bytes, cudaStream_t stream) {
  double least = -1;
  for (int i = 0; i < 10; i++) {
    double begin = seconds_now();
    if (cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream) != cudaSuccess) return -1;
    if (cudaStreamSynchronize(stream) != cudaSuccess) return -1;
    double t = seconds_now() - begin;
    if (least < 0 || t < least) least = t;
  }
  return least;
}

int gpu_bandwidth(double *bytes_per_second) {
#ifdef EMU
  const size_t bytes = (size_t)1 << 16;
#else
  const size_t bytes = (size_t)1 << 30;
#endif
  int processors = 0;
  void *a = NULL, *b = NULL;
  cudaStream_t stream = 0;
  double t = -1;
  if (cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0) != cudaSuccess) return 0;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return 0;
  if (cudaMalloc(&a, bytes) == cudaSuccess && cudaMalloc(&b, bytes) == cudaSuccess &&
      cudaMemsetAsync(a, 0, bytes, stream) == cudaSuccess)
    t = least_copy(b, a, bytes, stream);
  if (a) cudaFree(a);
  if (b) cudaFree(b);
  cudaStreamDestroy(stream);
  *bytes_per_second = 2 * (double)bytes / t;
  return t > 0 ? processors : 0;
}
