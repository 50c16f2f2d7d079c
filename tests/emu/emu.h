/* A CPU stand-in for the CUDA runtime and for kernels of warps and blocks, for tests on machines without a GPU. CUDA sources
 * are compiled as C++ with this file included first; runtime.cpp is linked to them.
 *
 * EMU_SEED: 0 (default) lanes and blocks ascending, work of streams at once; 1 descending, work as late as possible; others
 * shuffled. EMU_FAIL=n: the n-th call of the API fails. EMU_SHARED=n: bytes of shared memory that a block may have.
 * EMU_SKIP=FILE:LINE: the barriers of that line are not there. EMU_SITES=FILE: those that are reached are written to it. A
 * broken rule ends the program with status 86 and a message.
 *
 * Asked of the sources: cudaLaunchKernel(kernel, ...) uncast, `static __shared__`, one name for the dynamic shared array, no
 * null stream for work that overlaps. */
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#define __CUDACC__ 1
#define EMU 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)
#define __shared__                                                                                                          \
  __attribute__((section("emu_shared"))) // static __shared__ in a function, extern __shared__ for the dynamic array
#define EMU_NS __attribute__((no_sanitize("thread")))
#define EMU_AT const char *file = __builtin_FILE(), int line = __builtin_LINE()
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorNotReady = 600,
  cudaErrorInvalidDevice = 101,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorIllegalState = 401
};
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16, cudaDevAttrMaxSharedMemoryPerBlockOptin = 97 };
enum { cudaStreamNonBlocking = 1 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed };
struct cudaPointerAttributes {
  int device;
  void *devicePointer, *hostPointer;
};
namespace emu {
struct Stream;
struct Op;
struct Graph;
struct Event;
struct Lane {
  void *sp;
  dim3 tid;
  int lin, op, src;
  unsigned mask;
  uint64_t val;
  const char *file;
  int line;
};
enum { RUN, DONE, WARP, BLOCK, BLOCK_OR, SHFL, ANY, ALL, BALLOT };
extern Lane *cur;
extern dim3 blk, gdim, bdim;
struct Counters {
  long launches, blocks, barriers, exchanges, copied, shared_max, allocs, live, api, races, loads, stores, read, written,
      touched, asked_threads, asked_shared, library;
} extern n;
extern int libraries; // 0: not there; 2: there, but every factor fails
uint64_t meet(int op, unsigned mask, uint64_t v, int src, const char *file, int line);
void gap(void *p);    // a guarded gap after an array carved out of shared memory
void forget(void *p); // the gaps are checked and gone; shared bytes from p on are unset again
cudaError_t launch(void *f, void (*call)(void *, void **), dim3 g, dim3 b, void **args, const size_t *size, int nargs,
                   size_t shared, Stream *s);
cudaError_t attr(const void *f, int bytes);
cudaError_t occupancy(int *blocks, int threads, size_t shared);
// A library's call (blas.cpp): counted, and perhaps failed, like one of the runtime's; f runs at its place in the stream. There it
// tells what device memory it reads and writes.
cudaError_t library(const std::function<void()> &f, Stream *s);
void reads(const void *p, size_t bytes);
void writes(void *p, size_t bytes);
template <class... A, size_t... I> EMU_NS void call(void (*f)(A...), void **a, std::index_sequence<I...>) {
  f(*(A *)a[I]...);
}
template <class... A> EMU_NS void tramp(void *f, void **a) { call((void (*)(A...))f, a, std::index_sequence_for<A...>()); }
} // namespace emu
typedef emu::Stream *cudaStream_t;
typedef emu::Event *cudaEvent_t;
typedef emu::Graph *cudaGraph_t, *cudaGraphExec_t;
#define EMU_DEVICES 2
#ifndef SC_GUARD_BYTES
#define SC_GUARD_BYTES 64
#endif
#define SC_GUARD(end) emu::gap(end)
#define SC_FORGET(begin) emu::forget(begin)
#define threadIdx (emu::cur->tid)
#define blockIdx emu::blk
#define blockDim emu::bdim
#define gridDim emu::gdim
#define warpSize 32
inline void __syncthreads(EMU_AT) { emu::meet(emu::BLOCK, ~0u, 0, 0, file, line); }
inline void __syncwarp(unsigned m = ~0u, EMU_AT) { emu::meet(emu::WARP, m, 0, 0, file, line); }
inline int __syncthreads_or(int p, EMU_AT) { return (int)emu::meet(emu::BLOCK_OR, ~0u, p != 0, 0, file, line); }
inline int __any_sync(unsigned m, int p, EMU_AT) { return (int)emu::meet(emu::ANY, m, p != 0, 0, file, line); }
inline int __all_sync(unsigned m, int p, EMU_AT) { return (int)emu::meet(emu::ALL, m, p != 0, 0, file, line); }
inline unsigned __ballot_sync(unsigned m, int p, EMU_AT) {
  return (unsigned)emu::meet(emu::BALLOT, m, p != 0, 0, file, line);
}
template <class T> T emu_shfl(unsigned m, T v, int src, const char *file, int line) {
  static_assert(sizeof(T) <= 8, "shuffle of 8 bytes at most");
  uint64_t u = 0;
  memcpy(&u, &v, sizeof v);
  u = emu::meet(emu::SHFL, m, u, src, file, line);
  memcpy(&v, &u, sizeof v);
  return v;
}
#define EMU_LANE (emu::cur->lin & 31)
template <class T> T __shfl_xor_sync(unsigned m, T v, int o, int w = 32, EMU_AT) {
  int s = EMU_LANE ^ o;
  return emu_shfl(m, v, (s / w) > (EMU_LANE / w) ? EMU_LANE : s, file, line);
}
template <class T> T __shfl_sync(unsigned m, T v, int s, int w = 32, EMU_AT) {
  return emu_shfl(m, v, EMU_LANE / w * w + (s & (w - 1)), file, line);
}
template <class T> T __shfl_down_sync(unsigned m, T v, int o, int w = 32, EMU_AT) {
  int s = EMU_LANE + o;
  return emu_shfl(m, v, s / w == EMU_LANE / w ? s : EMU_LANE, file, line);
}
template <class T> T __shfl_up_sync(unsigned m, T v, int o, int w = 32, EMU_AT) {
  int s = EMU_LANE % w - o;
  return emu_shfl(m, v, s < 0 ? EMU_LANE : EMU_LANE - o, file, line);
}
template <class T> EMU_NS T atomicAdd(T *p, T v) {
  T o = *p;
  *p = o + v;
  return o;
}
template <class T> EMU_NS T atomicExch(T *p, T v) {
  T o = *p;
  *p = v;
  return o;
}
template <class T> EMU_NS T atomicMax(T *p, T v) {
  T o = *p;
  if (v > o)
    *p = v;
  return o;
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
template <class T> T __ldg(const T *p) { return *p; }
extern "C" {
cudaError_t cudaMalloc(void **p, size_t n);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemcpyAsync(void *d, const void *s, size_t n, cudaMemcpyKind k, cudaStream_t st);
cudaError_t cudaMemcpy(void *d, const void *s, size_t n, cudaMemcpyKind k);
cudaError_t cudaMemsetAsync(void *d, int v, size_t n, cudaStream_t st);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p);
cudaError_t cudaGetDevice(int *d);
cudaError_t cudaSetDevice(int d);
cudaError_t cudaDeviceGetAttribute(int *v, cudaDeviceAttr a, int d);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags);
cudaError_t cudaStreamCreate(cudaStream_t *s);
cudaError_t cudaStreamDestroy(cudaStream_t s);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaGetLastError(void);
cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaEventCreate(cudaEvent_t *e);
cudaError_t cudaEventDestroy(cudaEvent_t e);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s);
cudaError_t cudaEventQuery(cudaEvent_t e);
cudaError_t cudaEventSynchronize(cudaEvent_t e);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned f);
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode m);
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long f);
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s);
cudaError_t cudaGraphDestroy(cudaGraph_t g);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e);
const char *cudaGetErrorString(cudaError_t e);
}
template <class T> cudaError_t cudaMalloc(T **p, size_t n) { return cudaMalloc((void **)p, n); }
template <class... A> cudaError_t cudaFuncSetAttribute(void (*f)(A...), cudaFuncAttribute, int v) {
  return emu::attr((void *)f, v);
}
template <class... A>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*)(A...), int threads, size_t shared) {
  return emu::occupancy(blocks, threads, shared);
}
template <class... A>
cudaError_t cudaLaunchKernel(void (*f)(A...), dim3 g, dim3 b, void **args, size_t shared = 0, cudaStream_t s = 0) {
  static const size_t size[] = {sizeof(A)..., 0};
  return emu::launch((void *)f, emu::tramp<A...>, g, b, args, size, sizeof...(A), shared, s);
}
