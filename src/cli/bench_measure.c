/* Measuring one scene: softcon's solvers and MuJoCo's take turns, so that a busy moment of the machine meets all of
 * them. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "bench.h"
#include "store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_ROUNDS 25
#define LEAST_ROUNDS 5
#define BUDGET 2.0  /* s of rounds for a scene */
#define SAMPLE 2e-3 /* s: a short solve is repeated for about that long, and counts with its median */
#define MOST_REPEATS 15
#define PEAK_SECONDS 2e-3

/* ------------------------------------------------------------------ rounds */

int bench_peak(bench *b, int precision) {
  double peak;
  int code = sc_context_peak(b->timing, precision, PEAK_SECONDS, &peak);
  if (code) return cli_fail(code);
  b->peak[precision] = fmax(b->peak[precision], peak);
  return 0;
}

enum { SOLVE, CERTIFICATE, UNPACK, NPHASE };

/* seconds of every round, of one solver */
typedef struct {
  double run[MOST_ROUNDS], pack[MOST_ROUNDS], whole[MOST_ROUNDS];
  double phase[NPHASE]; /* the least of any run, for the library times them by the wall's clock; 0: none yet */
} samples;

typedef struct {
  double dense[MOST_ROUNDS], sparse[MOST_ROUNDS], iterations;
} mujoco_samples;

quartiles bench_quartiles(double *x, int n) {
  return (quartiles){quantile(x, n, 0.25), quantile(x, n, 0.5), quantile(x, n, 0.75)};
}

/* One thread is timed by the time that it has the core, which others' work does not lengthen; several, and CUDA, by the wall's.
 * MuJoCo's solves are so short, and each counts with the median of three, that they need no such care. */
static double clock_now(const bench *b) {
  struct timespec t;
  if (sc_context_threads(b->timing) > 1 || !strcmp(job_device(b->timing), "cuda") || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t)) return seconds_now();
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* one of sc_solver_pack and sc_solve, again and again; seconds: the median */
static int sample(const bench *b, int (*call)(sc_solver *, const sc_batch *), sc_solver *solver, const sc_batch *batch,
                  double *seconds) {
  double x[MOST_REPEATS], began = seconds_now();
  int n = 0;
  do {
    double start = clock_now(b);
    int code = call(solver, batch);
    if (!code) code = sc_solver_wait(solver);
    if (code) return cli_fail(code);
    x[n++] = clock_now(b) - start;
  } while (n < MOST_REPEATS && seconds_now() - began < SAMPLE);
  *seconds = quantile(x, n, 0.5);
  return 0;
}

static int sample_run(const bench *b, sc_solver *solver, samples *s, int round) {
  double x[MOST_REPEATS], began = seconds_now();
  int n = 0;
  do {
    sc_phases p;
    double start = clock_now(b);
    int code = sc_solver_run(solver);
    x[n++] = clock_now(b) - start;
    if (!code) code = sc_solver_phases(solver, &p);
    if (code) return cli_fail(code);
    const double now[NPHASE] = {p.solve, p.certificate, p.unpack};
    for (int k = 0; k < NPHASE; k++)
      if (s->phase[k] == 0 || now[k] < s->phase[k]) s->phase[k] = now[k];
  } while (n < MOST_REPEATS && seconds_now() - began < SAMPLE);
  s->run[round] = quantile(x, n, 0.5);
  return 0;
}

static int one_round(bench *b, job *j, bench_rival *rivals, int n, int round, samples *s, mujoco_samples *m,
                     const bench_plan *plan) {
  sc_mujoco_time time;
  int most = j->nenv < plan->mujoco_most ? j->nenv : plan->mujoco_most;
  for (int k = 0; k < n; k++) {
    int status = sample(b, sc_solver_pack, rivals[k].t.solver, j->batch, &s[k].pack[round]);
    if (!status) status = sample(b, sc_solve, rivals[k].whole, j->batch, &s[k].whole[round]);
    if (!status) status = sample_run(b, rivals[k].t.solver, &s[k], round);
    if (!status) status = bench_peak(b, rivals[k].precision);
    if (status) return status;
  }
  int code = sc_model_time(b->timing, j->model, j->states, j->sig, most, j->batch, 3, &time,
                           round ? NULL : plan->mujoco_qacc, NULL, NULL);
  if (code && code != SC_ERROR_VALUE) return cli_fail(code);
  m->dense[round] = 1e-6 * time.us_dense, m->sparse[round] = 1e-6 * time.us_sparse,
  m->iterations = time.iterations_mean;
  return 0;
}

/* ------------------------------------------------------------------ what the rounds came to */

static double median_of(const double *x, int n) {
  double copy[MOST_ROUNDS];
  memcpy(copy, x, (size_t)n * sizeof *copy);
  return quantile(copy, n, 0.5);
}

/* quartiles of scale * x or, with over, of scale * over/x */
static quartiles combine(const double *x, const double *over, double scale, int n) {
  double q[MOST_ROUNDS];
  for (int i = 0; i < n; i++) q[i] = scale * (over ? over[i] / x[i] : x[i]);
  return bench_quartiles(q, n);
}

static void fill_line(bench_line *l, const samples *s, const mujoco_samples *m, int threads, int nenv, int rounds) {
  double us = 1e6 / nenv;
  double dense = median_of(m->dense, rounds), sparse = median_of(m->sparse, rounds);
  const double *best = dense <= sparse ? m->dense : m->sparse; /* seconds per environment */
  l->rounds = rounds;
  l->us = combine(s->run, NULL, us, rounds);
  l->packed_us = combine(s->whole, NULL, us, rounds);
  l->mujoco_us = combine(best, NULL, 1e6, rounds);
  l->speedup = combine(s->run, best, nenv, rounds);
  l->speedup_packed = combine(s->whole, best, nenv, rounds);
  l->mujoco_iterations = m->iterations;
  l->mujoco_layout = dense <= sparse ? "dense" : "sparse";
  l->s.us_per_env = l->us.median;
  l->s.us_pack = us * median_of(s->pack, rounds);
  l->s.us_certificate = us * s->phase[CERTIFICATE], l->s.us_unpack = us * s->phase[UNPACK];
  /* of one thread the longest phase is better told by what the others leave of its own clock */
  double rest = l->us.median - l->s.us_certificate - l->s.us_unpack;
  l->s.us_solve = threads == 1 && rest > 0 ? rest : us * s->phase[SOLVE];
}

int bench_rounds(bench *b, job *j, bench_rival *rivals, int n, const bench_plan *plan, bench_line *lines) {
  samples *s = calloc((size_t)n, sizeof *s);
  mujoco_samples *m = calloc(1, sizeof *m);
  int status = s && m ? 0 : cli_fail_with(EXIT_INTERNAL, "bench: no memory"), rounds = LEAST_ROUNDS, done = 0;
  double began = seconds_now();
  while (!status && done < rounds && !(interrupted() && done)) {
    status = one_round(b, j, rivals, n, done++, s, m, plan);
    double more = plan->budget * done / (seconds_now() - began);
    if (done == LEAST_ROUNDS && more > LEAST_ROUNDS) rounds = more < MOST_ROUNDS ? (int)more : MOST_ROUNDS;
    progress_update(&b->p, done, rounds);
  }
  for (int k = 0; k < n && !status; k++) {
    int code = sc_solver_result(rivals[k].t.solver, &rivals[k].t.result);
    if (code) status = cli_fail(code);
    if (j->nenv) fill_line(&lines[k], &s[k], m, sc_context_threads(b->timing), j->nenv, done);
  }
  free(s);
  free(m);
  return status;
}

/* ------------------------------------------------------------------ errors and operations */

typedef struct {
  const job *j;
  const sc_result *result;
  const double *optimum, *mujoco;
  double *error, *mujoco_error, *flops; /* per environment */
} judge;

static void judge_environment(void *arg, int env, int worker) {
  const judge *g = arg;
  const sc_result *r = g->result;
  size_t nv = (size_t)g->j->info.nv, at = (size_t)env * nv;
  double once, each;
  sc_problem p;
  (void)worker;
  g->error[env] = g->mujoco_error[env] = g->flops[env] = (double)NAN;
  if (sc_batch_get(g->j->batch, env, &p, NULL) || r->status[env] >= SC_BAD_INPUT) return;
  if (g->j->method == SC_NEWTON && bench_flops(&p, r->efc_state + r->efc_offset[env], &once, &each))
    g->flops[env] = once + each * r->iterations[env];
  if (sc_check_error(&p, r->qacc + r->nv_offset[env], g->optimum + at, NULL, NULL, &g->error[env], NULL))
    g->error[env] = (double)NAN;
  if (sc_check_error(&p, g->mujoco + at, g->optimum + at, NULL, NULL, &g->mujoco_error[env], NULL))
    g->mujoco_error[env] = (double)NAN;
}

static double mean_of(const double *x, int n) {
  double sum = 0;
  int m = 0;
  for (int i = 0; i < n; i++)
    if (!isnan(x[i])) sum += x[i], m++;
  return m ? sum / m : (double)NAN;
}

/* the rest of a line, from the answers */
static int judge_line(bench *b, const job *j, const bench_rival *rival, const double *optimum, const double *mujoco,
                      bench_line *l) {
  int n = j->nenv, threads = sc_context_threads(b->timing);
  double *x = malloc(((size_t)n + 1) * 3 * sizeof *x);
  judge g = {j, &rival->t.result, optimum, mujoco, x, x + n, x + 2 * n};
  if (!x) return cli_fail_with(EXIT_INTERNAL, "bench: no memory for the errors of %d environments", n);
  sc_context_each(b->all, n, judge_environment, &g);
  l->flops = mean_of(g.flops, n), l->peak = b->peak[rival->precision];
  l->peak_share = l->flops * threads / (1e-6 * l->s.us_solve * l->peak); /* us_solve is added up over threads */
  size_t problems = sc_batch_bytes(j->batch);
  l->bytes = n ? (double)(problems + sc_solver_bytes(rival->whole)) / n : (double)NAN;
  l->packed_bytes = n ? (double)(problems + sc_solver_bytes(rival->t.solver)) / n : (double)NAN;
  l->qacc = (spread){quantile(g.error, n, 0.5), quantile(g.error, n, 0.99), quantile(g.error, n, 1)};
  l->mujoco =
      (spread){quantile(g.mujoco_error, n, 0.5), quantile(g.mujoco_error, n, 0.99), quantile(g.mujoco_error, n, 1)};
  free(x);
  return 0;
}

/* Times are already in the line; summarise counts everything else, and its own times are of one run only. */
static int count_line(const job *j, bench_rival *rival, bench_line *l) {
  summary times = l->s;
  int status = summarise(j, &rival->t, NULL, &l->s, NULL);
  l->s.us_per_env = times.us_per_env;
  l->s.us_pack = times.us_pack, l->s.us_solve = times.us_solve;
  l->s.us_certificate = times.us_certificate, l->s.us_unpack = times.us_unpack;
  report_verdicts(&l->s, l->verdicts, sizeof l->verdicts);
  return status;
}

/* ------------------------------------------------------------------ rivals */

int bench_rivals_open(const bench *b, const job *j, bench_rival *rivals) {
  for (int k = 0; k < b->nprecision; k++) {
    bench_rival *r = &rivals[k];
    r->precision = b->precisions[k];
    int status = timed_solver_open(&r->t, j, b->timing, r->precision);
    int code = status ? SC_OK : sc_solver_create(b->timing, &r->t.options, &r->whole);
    if (status || code) return status ? status : cli_fail(code);
  }
  return 0;
}

void bench_rivals_close(bench_rival *rivals) {
  for (int k = 0; k < SC_NPRECISION; k++) {
    timed_solver_close(&rivals[k].t);
    sc_solver_destroy(rivals[k].whole);
  }
}

/* ------------------------------------------------------------------ one scene */

/* seconds since *mark, which moves on */
static double lap(double *mark) {
  double now = seconds_now(), passed = now - *mark;
  *mark = now;
  return passed;
}

static int judge_lines(bench *b, job *j, bench_rival *rivals, int n, const double *mujoco, bench_line *lines) {
  double *optimum = malloc(((size_t)j->nenv * (size_t)j->info.nv + 1) * sizeof *optimum);
  if (!optimum) return cli_fail_with(EXIT_INTERNAL, "bench: no memory for the optimum of %d environments", j->nenv);
  for (size_t i = 0; i < (size_t)j->nenv * (size_t)j->info.nv; i++) optimum[i] = (double)NAN;
  int code = sc_model_optimum(b->all, j->model, j->states, j->sig, j->nenv, j->batch, NULL, optimum, NULL,
                              progress_update, &b->p),
      status = 0;
  progress_clear(&b->p);
  if (code == SC_ERROR_VALUE) {
    cli_note(b->options, "%s", sc_error_text());
    code = SC_OK;
  }
  if (code) status = cli_fail(code);
  for (int k = 0; k < n && !status; k++) {
    status = judge_line(b, j, &rivals[k], optimum, mujoco, &lines[k]);
    if (!status) status = count_line(j, &rivals[k], &lines[k]);
  }
  free(optimum);
  return status;
}

static int write_result(const bench *b, const bench_scene *scene, const job *j, const bench_rival *rival) {
  char path[4200];
  const char *precision = bench_precisions[rival->precision];
  snprintf(path, sizeof path, "%.4000s/%s-%s.h5", b->folder, scene->file, precision);
  sc_store_run run = {
      .model = j->path, .mujoco_version = j->info.mujoco_version, .method = sc_method_name(j->method), .precision = precision};
  run.cone = j->info.cone ? "elliptic" : "pyramidal", run.device = job_device(b->timing), run.backend = sc_context_backend(b->timing);
  run.impratio = j->info.impratio, run.tolerance = rival->t.options.tolerance,
  run.iterations = rival->t.options.iterations;
  int code = sc_store_result_write(path, &run, j->info.nv, &rival->t.result, j->batch);
  return code ? cli_fail(code) : 0;
}

static int finish_line(bench *b, const bench_scene *scene, const job *j, const bench_rival *rival, bench_line *l) {
  int status = write_result(b, scene, j, rival);
  if (status) return status;
  memcpy(l->scene, scene->name, sizeof l->scene);
  l->elliptic = j->info.cone != 0, l->method = j->method, l->precision = rival->precision;
  b->solved = b->solved && all_solved(&l->s);
  b->lines[b->nline++] = *l;
  if (b->options->json) {
    progress_clear(&b->p);
    bench_json_line(b, l);
  }
  return 0;
}

static int measure(bench *b, const bench_scene *scene, job *j, bench_rival *rivals, bench_line *lines) {
  int n = b->nprecision;
  double part = 1.0 / b->nscene, mark = seconds_now();
  int status = job_open(j, &scene->options, scene->model);
  progress_stage(&b->p, (scene->states[0] ? 0.05 : 0.5) * part, "%.24s: states", scene->name);
  if (!status) status = job_states(j, b->all, 4096, &b->p);
  b->seconds[0] += lap(&mark);
  progress_stage(&b->p, 0.05 * part, "%.24s: problems", scene->name);
  if (!status) status = job_batch(j, b->all, &b->p);
  b->seconds[1] += lap(&mark);
  if (!status) status = bench_rivals_open(b, j, rivals);
  double *mujoco = status ? NULL : malloc(((size_t)j->nenv * (size_t)j->info.nv + 1) * sizeof *mujoco);
  if (!status && !mujoco)
    status = cli_fail_with(EXIT_INTERNAL, "bench: no memory for the answers of %d environments", j->nenv);
  progress_stage(&b->p, (scene->states[0] ? 0.6 : 0.25) * part, "%.24s: rounds", scene->name);
  if (!status) status = bench_rounds(b, j, rivals, n, &(bench_plan){BUDGET, j->nenv, mujoco}, lines);
  b->seconds[2] += lap(&mark);
  progress_stage(&b->p, (scene->states[0] ? 0.3 : 0.2) * part, "%.24s: errors", scene->name);
  if (!status) status = judge_lines(b, j, rivals, n, mujoco, lines);
  b->seconds[3] += lap(&mark);
  for (int k = 0; k < n && !status; k++) status = finish_line(b, scene, j, &rivals[k], &lines[k]);
  free(mujoco);
  return status;
}

int bench_measure(bench *b, const bench_scene *scene) {
  job j = {.options = &scene->options};
  bench_rival rivals[SC_NPRECISION];
  bench_line lines[SC_NPRECISION];
  memset(rivals, 0, sizeof rivals);
  memset(lines, 0, sizeof lines);
  int status = measure(b, scene, &j, rivals, lines);
  bench_rivals_close(rivals);
  job_close(&j);
  return status;
}
