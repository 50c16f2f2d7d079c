#define _GNU_SOURCE /* sched_getaffinity */
#include "context.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ backends */

extern const sc_kernels sc_kernels_reference, sc_kernels_reference_f32x1;

static int always(void) { return 1; }
static int has_cuda(void) { return &sc_cuda_backend && sc_cuda_backend.present(); }

#ifdef SC_HAVE_X86
extern const sc_kernels sc_kernels_sse2_f64x1, sc_kernels_sse2_f32x1, sc_kernels_avx2_f64x1, sc_kernels_avx2_f32x1, sc_kernels_avx512_f64x1,
    sc_kernels_avx512_f32x1;
extern const sc_kernels sc_kernels_sse2_f64x2, sc_kernels_sse2_f32x4, sc_kernels_avx2_f64x4, sc_kernels_avx2_f32x8;
extern const sc_kernels sc_kernels_avx512vl_f64x4, sc_kernels_avx512vl_f32x8, sc_kernels_avx512_f64x8, sc_kernels_avx512_f32x16;

static int has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"); }
static int has_avx512(void) {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
}
#else
extern const sc_kernels sc_kernels_base_f64x1, sc_kernels_base_f32x1, sc_kernels_base_f64x2, sc_kernels_base_f32x4, sc_kernels_base_f64x4,
    sc_kernels_base_f32x8;
#endif

enum { ONE_LANE, FUSED, NOT_FUSED }; /* how products are added: see sc_backend */

/* On x86 fastest first, as measured: packs of 512 bits take 0.7 to 0.9 of the time of 256 (bench/README.md). Elsewhere the
 * processor at hand is measured. */
#ifdef SC_HAVE_X86
#define FASTEST_FIRST 1
#else
#define FASTEST_FIRST 0
#endif
static const sc_backend backends[] = {
#define CPU(name, runs, f64, f32, isa, rounding)                                                                            \
  {name, runs, &sc_kernels_##f64, &sc_kernels_##f32, &sc_kernels_##isa##_f64x1, &sc_kernels_##isa##_f32x1, NULL, rounding}
#ifdef SC_HAVE_X86
    CPU("avx512", has_avx512, avx512_f64x8, avx512_f32x16, avx512, FUSED),
    CPU("avx512vl", has_avx512, avx512vl_f64x4, avx512vl_f32x8, avx512, FUSED),
    CPU("avx2", has_avx2, avx2_f64x4, avx2_f32x8, avx2, FUSED),
    CPU("sse2", always, sse2_f64x2, sse2_f32x4, sse2, NOT_FUSED),
#else
    CPU("base", always, base_f64x2, base_f32x4, base, FUSED),
    CPU("base256", always, base_f64x4, base_f32x8, base, FUSED), /* every vector two registers of 128 bits */
#endif
#undef CPU
    {"reference", always, &sc_kernels_reference, &sc_kernels_reference_f32x1, &sc_kernels_reference, &sc_kernels_reference_f32x1, NULL, ONE_LANE},
    {"cuda", has_cuda, &sc_kernels_reference, &sc_kernels_reference_f32x1, &sc_kernels_reference, &sc_kernels_reference_f32x1, &sc_cuda_backend,
     ONE_LANE}, /* never "auto" */
};
#define NBACKEND ((int)(sizeof backends / sizeof *backends))

const char *sc_backend_name(int i) {
  for (int k = 0; k < NBACKEND; k++)
    if (backends[k].runs() && i-- == 0) return backends[k].name;
  return NULL;
}

/* the processor's backends that run and round as the first does; how many */
static int find_alike(const sc_backend *all[NBACKEND]) {
  int n = 0;
  for (int k = 0; k < NBACKEND; k++) {
    const sc_backend *b = &backends[k];
    if (!b->device && b->runs() && (n == 0 || b->rounding == all[0]->rounding)) all[n++] = b;
  }
  return n;
}

static const sc_backend *find_backend(const char *name) {
  const sc_backend *alike[NBACKEND];
  int automatic = !name || !strcmp(name, "auto");
  if (automatic && FASTEST_FIRST) return find_alike(alike) ? alike[0] : NULL;
  if (automatic || !strcmp(name, "measured")) return sc_backend_fastest(alike, find_alike(alike));
  for (int k = 0; k < NBACKEND; k++)
    if (!strcmp(name, backends[k].name)) return &backends[k];
  return NULL;
}

/* why a backend cannot be had, as an error */
static int refuse_backend(const sc_backend *backend, const char *name) {
  if (backend && backend->runs == has_cuda)
    return sc_error_set(SC_ERROR_DEVICE, "sc_context_create: this build of softcon has no CUDA part");
  return sc_error_set(SC_ERROR_DEVICE, "sc_context_create: backend \"%.40s\" is unknown or this processor cannot run it", name);
}

/* ------------------------------------------------------------------ context */

/* processors that this process may run on */
static int processors(void) {
#ifdef __linux__
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
#endif
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > 4096 ? 4096 : (int)n;
}

int sc_context_create(const sc_context_options *options, sc_context **out) {
  sc_context_options given;
  if (!out) return sc_error_set(SC_ERROR_ARGUMENT, "sc_context_create: out is NULL");
  *out = NULL;
  if (!options) {
    sc_context_options_init(&given);
    options = &given;
  }
  if (options->size != sizeof *options)
    return sc_error_set(SC_ERROR_ARGUMENT, "sc_context_create: options.size is %zu, not %zu: use sc_context_options_init", options->size,
                        sizeof *options);
  if (options->threads < 0 || options->threads > 4096)
    return sc_error_set(SC_ERROR_ARGUMENT, "sc_context_create: options.threads is %d, not in 0 .. 4096", options->threads);
  const sc_backend *backend = find_backend(options->backend);
  if (!backend || (!backend->device && !backend->runs())) return refuse_backend(backend, options->backend);
  sc_context *c = calloc(1, sizeof *c);
  if (!c) return sc_error_set(SC_ERROR_MEMORY, "sc_context_create: no memory");
  int threads = options->threads ? options->threads : processors(), code = SC_OK;
  c->backend = backend;
  c->pool = sc_pool_create(threads);
  if (!c->pool)
    code = sc_error_set(SC_ERROR_MEMORY, "sc_context_create: %d threads cannot be started", threads);
  else if (backend->device)
    code = backend->device->open(options->device, options->stream, &c->device);
  if (code) {
    if (c->pool) sc_pool_destroy(c->pool);
    free(c);
    return code;
  }
  *out = c;
  return SC_OK;
}

void sc_context_destroy(sc_context *context) {
  if (!context) return;
  if (context->device) context->backend->device->close(context->device);
  sc_pool_destroy(context->pool);
  free(context);
}

const char *sc_context_backend(const sc_context *context) { return context->backend->name; }
int sc_context_threads(const sc_context *context) { return sc_pool_threads(context->pool); }

void sc_context_each(sc_context *context, int n, void (*work)(void *arg, int i, int worker), void *arg) {
  sc_pool_each(context->pool, n, work, arg);
}
