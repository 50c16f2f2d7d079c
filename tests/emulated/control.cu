/* CUDA's calls for control.h. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include "control.h"

#define MUST(call)                                                                     \
  do {                                                                                 \
    cudaError_t error = (call);                                                        \
    if (error != cudaSuccess) {                                                        \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                   \
      exit(3);                                                                         \
    }                                                                                  \
  } while (0)

void *cuda_stream_create(int device) {
  cudaStream_t stream;
  MUST(cudaSetDevice(device));
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  MUST(cudaSetDevice(0));
  return stream;
}

void cuda_stream_destroy(void *stream) { MUST(cudaStreamDestroy((cudaStream_t)stream)); }

void *cuda_graph_capture(void *stream, int (*enqueue)(void *), void *arg, int *code) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  MUST(cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeGlobal));
  *code = enqueue(arg);
  MUST(cudaStreamEndCapture((cudaStream_t)stream, &graph));
  MUST(cudaGraphInstantiate(&exec, graph, 0));
  MUST(cudaGraphDestroy(graph));
  return exec;
}

void cuda_graph_replay(void *graph, void *stream) { MUST(cudaGraphLaunch((cudaGraphExec_t)graph, (cudaStream_t)stream)); }
void cuda_graph_destroy(void *graph) { MUST(cudaGraphExecDestroy((cudaGraphExec_t)graph)); }

void *cuda_memory_create(size_t bytes) {
  void *memory;
  MUST(cudaMalloc(&memory, bytes + 1));
  return memory;
}
void cuda_memory_destroy(void *memory) { MUST(cudaFree(memory)); }
void cuda_memory_put(void *memory, const void *host, size_t bytes, void *stream) {
  MUST(cudaMemcpyAsync(memory, host, bytes, cudaMemcpyHostToDevice, (cudaStream_t)stream));
}
void cuda_memory_get(void *host, const void *memory, size_t bytes, void *stream) {
  MUST(cudaMemcpyAsync(host, memory, bytes, cudaMemcpyDeviceToHost, (cudaStream_t)stream));
  MUST(cudaStreamSynchronize((cudaStream_t)stream));
}
