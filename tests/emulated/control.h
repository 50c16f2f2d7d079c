/* What the emulator (tests/emu) is asked and told, and CUDA's own calls that a user of softcon makes. For tests in C. */
#ifndef TEST_EMULATED_CONTROL_H
#define TEST_EMULATED_CONTROL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A counter: launches, library (calls of cuBLAS and cuSOLVER that have run), blocks, barriers, exchanges, copied, shared, allocations, live, calls, streams; and in the race build
 * races, loads, stores (of shared memory), read, written (bytes of device memory; those that several lanes
 * take between two meetings count once), touched (distinct ones in a launch). And of the last question after a kernel's
 * occupancy: asked threads, asked shared. */
long emu_count(const char *name);

/* The n-th CUDA call from now fails; 0: none. */
void emu_fail(long n);

/* cuBLAS and cuSOLVER: 0 they are not found, 1 they are, as to begin with, 2 but every factor fails. */
void emu_libraries(int how);

/* Another order of lanes, blocks and streams: 0 ascending, 1 descending, others shuffled. */
void emu_seed(long seed);

/* Streams and graphs; each call that fails ends the process with a message. */
void *cuda_stream_create(int device);
void cuda_stream_destroy(void *stream);
void *cuda_graph_capture(void *stream, int (*enqueue)(void *), void *arg, int *code);
void cuda_graph_replay(void *graph, void *stream);
void cuda_graph_destroy(void *graph);

/* Memory of the device; `put` is enqueued and reads the host's memory until the stream is waited for, `get` waits. */
void *cuda_memory_create(size_t bytes);
void cuda_memory_destroy(void *memory);
void cuda_memory_put(void *memory, const void *host, size_t bytes, void *stream);
void cuda_memory_get(void *host, const void *memory, size_t bytes, void *stream);

#ifdef __cplusplus
}
#endif

#endif
