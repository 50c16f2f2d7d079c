/* For the files of bench_gpu. */
#ifndef GPU_H
#define GPU_H

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes per second that copies within the device's memory read and write together; returns its multiprocessors, 0: CUDA failed. */
int gpu_bandwidth(double *bytes_per_second);

/* The results as one JSON object and as a page to read; the exit status. */
int gpu_report(const char *steps, const char *times, const char *json, const char *page);

#ifdef __cplusplus
}
#endif

#endif
