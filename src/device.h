/* What a device beside the processor does for a solver; the only one is CUDA (cuda_*.cu). */
#ifndef SC_DEVICE_H
#define SC_DEVICE_H

#include "../kernels/problem.h"
#include "device_rows.h"
#include "results.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sc_slot;
struct sc_cuda_arrays;

/* A device with a stream, and a solver's memory on it. */
typedef struct sc_device sc_device;
typedef struct sc_device_memory sc_device_memory;

/* What a solver has packed for a device: slots of one lane, results with everything that a run does not write, parameters of the
 * rows. */
typedef struct sc_device_job {
  const struct sc_slot *slots; /* npack */
  int npack;
  sc_results *results;
  sc_result_sizes sizes;
  const sc_device_rows *rows;
  int method;               /* sc_method */
  int single, retry;        /* iterate in float; and what that leaves unsolved again in double */
  sc_task task, again;
} sc_device_job;

/* Functions that can fail return an sc_code and set the error's text. */
typedef struct sc_device_backend {
  int (*present)(void);     /* whether there is one */
  int (*open)(int ordinal, void *stream, sc_device **out);
  void (*close)(sc_device *device);
  /* *memory: that of the solver's last upload, or NULL. On an error it holds nothing that could run. */
  int (*upload)(sc_device *device, sc_device_memory **memory, const sc_device_job *job);
  int (*run)(sc_device_memory *memory); /* allocates nothing, waits for nothing */
  int (*wait)(sc_device_memory *memory);
  int (*download)(sc_device_memory *memory); /* waits, then fills the results */
  void (*forget)(sc_device_memory *memory);
  /* softcon_cuda.h; get_arrays: all but nenv, nv_offset and efc_offset */
  void (*get_arrays)(const sc_device_memory *memory, struct sc_cuda_arrays *arrays);
  int (*set_arrays)(sc_device_memory *memory, const struct sc_cuda_arrays *arrays);
  int (*evaluate_rows)(sc_device_memory *memory);
  void *(*stream)(const sc_device *device);
} sc_device_backend;

/* Not there in a build without CUDA: its address is NULL then. */
extern const sc_device_backend sc_cuda_backend __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
