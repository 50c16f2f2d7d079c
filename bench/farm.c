/* How much memory a farm takes, and whether its time per environment grows with its size.
 *
 *     bench_farm MODEL.xml STATES.h5 N [f64|f32]
 *
 * The recorded states over and over again make farms of 65,536 and of N environments: sc_model_batch, then sc_solve, on all
 * threads. Of the solve the least of five is printed, per environment: the time that passed and that of the processors (on a
 * busy machine the one to compare), both in microseconds; and the memory of the larger farm, its states included. */
#define _GNU_SOURCE /* clock_gettime, getrusage */
#include "softcon_mujoco.h"
#include "store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define SMALL 65536
#define PASSES 5

typedef struct {
  sc_context *context;
  sc_model *model;
  double *recorded;
  int nrecorded, sig, precision;
  size_t nstate;
} bench;

typedef struct { double passed, processor; } times;

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int code) {
  if (!code) return;
  fprintf(stderr, "%s\n", sc_error_text());
  exit(3);
}

/* the largest resident size so far, bytes */
static double most_memory(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return 1024. * (double)u.ru_maxrss;
}

static double *repeat_states(const bench *b, int n) {
  double *states = malloc((size_t)n * b->nstate * sizeof *states);
  if (!states) {
    fprintf(stderr, "no memory for %d states\n", n);
    exit(3);
  }
  for (int i = 0; i < n; i++)
    memcpy(states + (size_t)i * b->nstate, b->recorded + (size_t)(i % b->nrecorded) * b->nstate, b->nstate * sizeof *states);
  return states;
}

static times run_farm(const bench *b, int n) {
  sc_batch *batch;
  sc_solver *solver;
  sc_solver_options o;
  sc_result r;
  times least = {INFINITY, INFINITY};
  int unsolved = 0;
  double *states = repeat_states(b, n);
  sc_solver_options_init(&o);
  o.precision = b->precision;
  check(sc_batch_create(b->context, n, &batch));
  check(sc_model_batch(b->context, b->model, states, b->sig, n, batch, NULL, NULL, NULL));
  check(sc_solver_create(b->context, &o, &solver));
  for (int pass = 0; pass < PASSES; pass++) {
    double passed = seconds(CLOCK_MONOTONIC), processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
    check(sc_solve(solver, batch));
    least.passed = fmin(least.passed, seconds(CLOCK_MONOTONIC) - passed);
    least.processor = fmin(least.processor, seconds(CLOCK_PROCESS_CPUTIME_ID) - processor);
  }
  check(sc_solver_result(solver, &r));
  for (int i = 0; i < n; i++) unsolved += r.status[i] != SC_SOLVED;
  printf("%8d environments: %.3f us/env, of processors %.3f; %d not solved; states %.0f, batch %.0f, solver %.0f bytes/env\n", n,
         1e6 * least.passed / n, 1e6 * least.processor / n, unsolved, (double)b->nstate * sizeof *states, (double)sc_batch_bytes(batch) / n,
         (double)sc_solver_bytes(solver) / n);
  sc_solver_destroy(solver);
  sc_batch_destroy(batch);
  free(states);
  return least;
}

int main(int argc, char **argv) {
  bench b = {.precision = SC_F64};
  int n = argc > 3 ? atoi(argv[3]) : 0;
  if (argc < 4 || argc > 5 || n < 1) {
    fprintf(stderr, "usage: %s MODEL.xml STATES.h5 N [f64|f32]\n", argv[0]);
    return 2;
  }
  if (argc == 5 && !strcmp(argv[4], "f32")) b.precision = SC_F32;
  check(sc_context_create(NULL, &b.context));
  check(sc_model_load(argv[1], NULL, &b.model));
  check(sc_store_states_read(argv[2], &b.recorded, &b.nrecorded, &b.nstate, &b.sig));
  times small = run_farm(&b, SMALL), large = run_farm(&b, n);
  printf("time per environment, large over small: %.2f, of processors %.2f; at most %.2f GiB resident\n", large.passed / n / small.passed * SMALL,
         large.processor / n / small.processor * SMALL, most_memory() / (1 << 30));
  free(b.recorded);
  sc_model_destroy(b.model);
  sc_context_destroy(b.context);
  return 0;
}
