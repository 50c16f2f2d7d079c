/* How time grows: with the environments of a batch, the threads, the dofs of a chain, the rows of a pile. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ENVS 128   /* of a chain or a pile */
#define WARMUP 150 /* steps */
#define MANY 65536
#define BUDGET 0.4 /* s of rounds for a point */
#define MUJOCO_MOST 512
#define THREAD_ROUNDS 15

/* ------------------------------------------------------------------ points */

static cJSON *new_point(const char *curve, const job *j, const char *scene, const char *precision) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "curve", curve);
  cJSON_AddStringToObject(o, "scene", scene);
  cJSON_AddStringToObject(o, "cone", j->info.cone ? "elliptic" : "pyramidal");
  cJSON_AddStringToObject(o, "precision", precision);
  cJSON_AddNumberToObject(o, "nv", j->info.nv);
  cJSON_AddNumberToObject(o, "envs", j->nenv);
  return o;
}

static void keep_point(bench *b, cJSON *o) {
  cJSON_AddItemToArray(b->curves, o);
  if (!b->options->json) return;
  progress_clear(&b->p);
  bench_print_object(cJSON_Duplicate(o, 1));
}

/* All rounds of one point, a line of results per precision. */
static int measure_point(bench *b, job *j, const char *curve, const char *scene) {
  bench_rival rivals[SC_NPRECISION];
  bench_line lines[SC_NPRECISION];
  int n = b->nprecision, status = 0;
  memset(rivals, 0, sizeof rivals);
  memset(lines, 0, sizeof lines);
  status = bench_rivals_open(b, j, rivals);
  if (!status) status = bench_rounds(b, j, rivals, n, &(bench_plan){BUDGET, MUJOCO_MOST, NULL}, lines);
  for (int k = 0; k < n && !status; k++) {
    const bench_line *l = &lines[k];
    const sc_result *r = &rivals[k].t.result;
    cJSON *o = new_point(curve, j, scene, bench_precisions[b->precisions[k]]);
    bench_add_number(o, "nefc_mean", (double)r->efc_offset[r->nenv] / r->nenv);
    cJSON_AddNumberToObject(o, "threads", sc_context_threads(b->timing));
    bench_add_number(o, "softcon_us_per_env", l->us.median);
    bench_add_number(o, "packed_us_per_env", l->packed_us.median);
    bench_add_number(o, "mujoco_us_per_env", l->mujoco_us.median);
    bench_add_number(o, "speedup", l->speedup.median);
    bench_add_number(o, "bytes_per_env",
                     (double)(sc_batch_bytes(j->batch) + sc_solver_bytes(rivals[k].whole)) / j->nenv);
    keep_point(b, o);
  }
  bench_rivals_close(rivals);
  return status;
}

/* ------------------------------------------------------------------ environments and threads */

/* states of the scene again and again, until there are n */
static int repeat_states(job *j, int n) {
  size_t nstate;
  int code = sc_state_size(j->model, j->sig, &nstate);
  if (code) return cli_fail(code);
  double *states = realloc(j->states, (size_t)n * nstate * sizeof *states);
  if (!states) return cli_fail_with(EXIT_INPUT, "bench: no memory for %d states", n);
  j->states = states;
  for (int i = j->nenv; i < n; i++)
    memcpy(states + (size_t)i * nstate, states + (size_t)(i % j->nenv) * nstate, nstate * sizeof *states);
  j->nenv = n;
  return 0;
}

/* the first n environments of a job as a job of their own */
static int measure_batch(bench *b, const job *all, int n, const char *scene) {
  job j = *all;
  j.nenv = n, j.batch = NULL;
  int status = job_batch(&j, b->all, &b->p);
  if (!status) status = measure_point(b, &j, "batch", scene);
  sc_batch_destroy(j.batch);
  return status;
}

/* numbers of threads to look at: 1, 2, 4, ... and all */
static int thread_counts(int most, int *counts) {
  int n = 0;
  for (int t = 1; t < most && n < 12; t *= 2) counts[n++] = t;
  counts[n++] = most;
  return n;
}

typedef struct {
  sc_context *context;
  timed_solver t;
  double run[THREAD_ROUNDS], loop[THREAD_ROUNDS], gain[THREAD_ROUNDS], loop_gain[THREAD_ROUNDS];
} thread_rival;

static int thread_round(thread_rival *r, int n, int precision, int round) {
  for (int k = 0; k < n; k++) {
    double flops, start = seconds_now();
    int code = sc_solver_run(r[k].t.solver);
    if (!code) code = sc_solver_wait(r[k].t.solver);
    r[k].run[round] = seconds_now() - start;
    if (!code) code = sc_context_peak(r[k].context, precision, fmin(0.05, r[k].run[round]), &flops);
    if (code) return cli_fail(code);
    r[k].loop[round] = flops;
    r[k].gain[round] = r[0].run[round] / r[k].run[round], r[k].loop_gain[round] = flops / r[0].loop[round];
  }
  return 0;
}

/* every number of threads in turn, the solve and a loop that only computes */
static int measure_threads(bench *b, const job *j, const char *scene, int precision) {
  int counts[16], n = thread_counts(sc_context_threads(b->all), counts), status = 0;
  thread_rival *r = calloc((size_t)n, sizeof *r);
  if (!r) return cli_fail_with(EXIT_INTERNAL, "bench: no memory");
  for (int k = 0; k < n && !status; k++) {
    status = job_context(counts[k], b->options->backend, &r[k].context);
    if (!status) status = timed_solver_open(&r[k].t, j, r[k].context, precision);
  }
  for (int round = 0; round < THREAD_ROUNDS && !status; round++) status = thread_round(r, n, precision, round);
  for (int k = 0; k < n && !status; k++) {
    cJSON *o = new_point("threads", j, scene, bench_precisions[precision]);
    cJSON_AddNumberToObject(o, "threads", counts[k]);
    bench_add_number(o, "softcon_us_per_env", 1e6 / j->nenv * quantile(r[k].run, THREAD_ROUNDS, 0.5));
    bench_add_number(o, "gain", quantile(r[k].gain, THREAD_ROUNDS, 0.5));
    bench_add_number(o, "compute_gain", quantile(r[k].loop_gain, THREAD_ROUNDS, 0.5));
    keep_point(b, o);
  }
  for (int k = 0; k < n; k++) {
    timed_solver_close(&r[k].t);
    sc_context_destroy(r[k].context);
  }
  free(r);
  return status;
}

static int grow_batch(bench *b) {
  const bench_scene *scene = &b->scenes[0];
  cli_options o = scene->options;
  job j = {.options = &o};
  int status = job_open(&j, &o, scene->model);
  progress_stage(&b->p, 0, "%.24s: growing", scene->name);
  if (!status) status = job_states(&j, b->all, 4096, &b->p);
  if (!status && !j.nenv) status = cli_fail_with(EXIT_INPUT, "bench: --growth: there are no states");
  if (!status) status = repeat_states(&j, MANY);
  for (int n = 1; n <= MANY && !status && !interrupted(); n *= 4) status = measure_batch(b, &j, n, scene->name);
  j.nenv = 4096;
  if (!status && !interrupted()) status = job_batch(&j, b->all, &b->p);
  for (int k = 0; k < b->nprecision && !status && !interrupted(); k++)
    status = measure_threads(b, &j, scene->name, b->precisions[k]);
  job_close(&j);
  return status;
}

/* ------------------------------------------------------------------ dofs and rows */

static int grow_model(bench *b, const char *curve, int (*write)(const char *, int), int n) {
  char path[4200], scene[40];
  cli_options o = *b->options;
  job j = {.options = &o};
  o.states = NULL, o.envs = ENVS, o.warmup = WARMUP, o.solver_defaults = 1;
  snprintf(scene, sizeof scene, "%s-%d", curve, n);
  snprintf(path, sizeof path, "%.4000s/%s.xml", b->folder, scene);
  progress_stage(&b->p, 0, "%s", scene);
  int status = write(path, n);
  if (!status) status = job_open(&j, &o, path);
  if (!status) status = job_states(&j, b->all, ENVS, &b->p);
  if (!status) status = job_batch(&j, b->all, &b->p);
  if (!status) status = measure_point(b, &j, curve, scene);
  job_close(&j);
  return status;
}

int bench_growth(bench *b) {
  static const int links[] = {4, 8, 16, 32, 64, 128}, bricks[] = {1, 2, 3, 4, 5, 6};
  int status = grow_batch(b);
  for (size_t i = 0; i < sizeof links / sizeof *links && !status && !interrupted(); i++)
    status = grow_model(b, "chain", bench_write_chain, links[i]);
  for (size_t i = 0; i < sizeof bricks / sizeof *bricks && !status && !interrupted(); i++)
    status = grow_model(b, "pile", bench_write_pile, bricks[i]);
  progress_clear(&b->p);
  return status;
}
