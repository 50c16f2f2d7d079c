#define _POSIX_C_SOURCE 200809L
#include "job.h"

#include "store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int job_context(int threads, const char *backend, sc_context **out) {
  sc_context_options o;
  sc_context_options_init(&o);
  o.threads = threads > 0 ? threads : 0;
  o.backend = backend;
  int code = sc_context_create(&o, out);
  if (code == SC_ERROR_DEVICE && backend) {
    fprintf(stderr, "softcon: --backend %s: this processor runs", backend);
    for (int i = 0; sc_backend_name(i); i++) fprintf(stderr, "%s %s", i ? "," : "", sc_backend_name(i));
    fprintf(stderr, "\n");
    return EXIT_DEVICE;
  }
  return code ? cli_fail(code) : 0;
}

/* why CUDA is not for this; NULL: it is asked */
static const char *unfit_for_cuda(const cli_options *o) {
  return o->precision == PRECISION_MIXED ? "CUDA has no mixed precision" : NULL;
}

int job_device_context(const cli_options *o, int threads, sc_context **out) {
  sc_context_options c;
  const char *unfit = unfit_for_cuda(o);
  if (o->device != DEVICE_CUDA && o->device != DEVICE_AUTO) return job_context(threads, o->backend, out);
  if (o->backend)
    return cli_fail_with(EXIT_USAGE, "--backend is an instruction set of the CPU: it and --device %s exclude each other",
                         o->device == DEVICE_CUDA ? "cuda" : "auto");
  sc_context_options_init(&c);
  c.threads = threads > 0 ? threads : 0;
  c.backend = "cuda";
  int code = unfit ? SC_ERROR_DEVICE : sc_context_create(&c, out);
  const char *why = unfit ? unfit : sc_error_text();
  if (!code) return 0;
  if (code != SC_ERROR_DEVICE) return cli_fail(code);
  if (o->device == DEVICE_CUDA)
    return cli_fail_with(EXIT_DEVICE, "--device cuda cannot be used: %s; --device cpu solves on the CPU", why);
  cli_note(o, "--device auto: the CPU solves: %s", why);
  return job_context(threads, NULL, out);
}

const char *job_device(const sc_context *context) { return strcmp(sc_context_backend(context), "cuda") ? "cpu" : "cuda"; }

/* ------------------------------------------------------------------ model */

int job_open(job *j, const cli_options *options, const char *path) {
  sc_model_options o;
  *j = (job){.options = options, .path = path};
  sc_model_options_init(&o);
  o.cone = options->cone, o.jacobian = options->jacobian, o.impratio = options->impratio;
  o.rows = options->rows == ROWS_MUJOCO;
  o.solver_defaults = options->solver_defaults;
  int code = sc_model_load(path, &o, &j->model);
  if (!code) code = sc_model_get(j->model, &j->info);
  if (code) return cli_fail(code);
  static const int methods[] = {SC_PGS, SC_CG, SC_NEWTON}; /* of MuJoCo's solvers */
  j->method = options->method;
  if (j->method < 0) j->method = j->info.solver >= 0 && j->info.solver <= 2 ? methods[j->info.solver] : SC_NEWTON;
  j->noslip = options->noslip >= 0 ? options->noslip : j->info.noslip_iterations > 0 ? j->info.noslip_iterations : 0;
  return 0;
}

void job_leave_out_noslip(job *j) {
  if (j->noslip > 0) cli_note(j->options, "%s: the model's noslip iterations (%d) are left out here", j->path, j->noslip);
  j->noslip = 0;
}

void job_close(job *j) {
  sc_batch_destroy(j->batch);
  free(j->states);
  sc_model_destroy(j->model);
  *j = (job){0};
}

/* ------------------------------------------------------------------ states */

/* An allocation that the machine cannot hold is refused here, not by the kernel in the middle of the work. */
static double *allocate_states(int n, size_t nstate) {
  double bytes = (double)n * (double)nstate * sizeof(double), memory = INFINITY;
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) memory = (double)pages * (double)page;
  double *states = bytes < memory && bytes < (double)(SIZE_MAX / 2) ? malloc((size_t)bytes + 1) : NULL;
  if (!states)
    cli_fail_with(EXIT_INPUT, "--envs %d: the states alone take %.3g GB, and the machine has %.3g", n, bytes * 1e-9,
                  memory * 1e-9);
  return states;
}

/* Say where the first number that is not finite stands; its environment's verdict says bad_input. */
static void note_bad_state(const job *j, size_t nstate) {
  for (size_t i = 0; i < (size_t)j->nenv * nstate; i++)
    if (!isfinite(j->states[i])) {
      cli_note(j->options, "environment %zu: /states[%zu][%zu] is %g: it will not be solved", i / nstate, i / nstate,
               i % nstate, j->states[i]);
      return;
    }
}

static int read_states(job *j) {
  size_t nstate, want;
  int code = sc_store_states_read(j->options->states, &j->states, &j->nenv, &nstate, &j->sig);
  if (!code) code = sc_state_size(j->model, j->sig, &want);
  if (code == SC_ERROR_ARGUMENT)
    return cli_fail_with(EXIT_INPUT, "states file: %s: attribute sig of /states is %d, which MuJoCo does not know",
                         j->options->states, j->sig);
  if (code) return cli_fail(code);
  if (nstate != want)
    return cli_fail_with(EXIT_INPUT,
                         "states file: %s: /states has %zu numbers per state, but %s has %zu for signature %d",
                         j->options->states, nstate, j->path, want, j->sig < 0 ? sc_state_integration() : j->sig);
  if (j->options->envs >= 0 && j->options->envs < j->nenv) j->nenv = j->options->envs;
  note_bad_state(j, nstate);
  return 0;
}

/* remembers how many were done when Ctrl-C came */
typedef struct {
  progress *p;
  int done;
} counter;

static int count(void *arg, int done, int total) {
  counter *c = arg;
  c->done = done;
  return progress_update(c->p, done, total);
}

int job_states(job *j, sc_context *context, int envs_default, progress *p) {
  size_t nstate;
  j->sig = -1;
  if (j->options->states) {
    int status = read_states(j);
    j->asked = j->nenv;
    return status;
  }
  j->nenv = j->asked = j->options->envs < 0 ? envs_default : j->options->envs;
  int warmup = j->options->warmup < 0 ? 100 : j->options->warmup;
  int code = sc_state_size(j->model, -1, &nstate);
  if (code) return cli_fail(code);
  j->states = allocate_states(j->nenv, nstate);
  if (!j->states) return EXIT_INPUT;
  counter c = {p, 0};
  code = sc_states_make(context, j->model, j->nenv, j->options->seed, warmup, j->states, count, &c);
  progress_clear(p);
  if (code) return cli_fail(code);
  j->nenv = c.done;
  return 0;
}

/* Fast enough to be finished after Ctrl-C: every state gets its problem. */
static int go_on(void *arg, int done, int total) {
  progress_update(arg, done, total);
  return 0;
}

int job_batch(job *j, sc_context *context, progress *p) {
  const cli_options *o = j->options;
  int code = sc_batch_create(context, j->nenv, &j->batch);
  if (!code) code = sc_batch_capacity(j->batch, o->max_rows > 0 ? o->max_rows : 0, o->max_contacts > 0 ? o->max_contacts : 0);
  if (code) return cli_fail(code);
  code = sc_model_batch(context, j->model, j->states, j->sig, j->nenv, j->batch, &j->times, go_on, p);
  progress_clear(p);
  if (code == SC_ERROR_VALUE) {
    /* that environment's verdict says it too */
    cli_note(j->options, "%s", sc_error_text());
    code = SC_OK;
  }
  return code ? cli_fail(code) : 0;
}

/* ------------------------------------------------------------------ timed solves */

#define MOST_PACKED_TWICE 65536

int timed_solver_open(timed_solver *t, const job *j, sc_context *context, int precision) {
  const cli_options *o = j->options;
  const sc_model_info *m = &j->info;
  *t = (timed_solver){.runs = 0};
  sc_solver_options_init(&t->options);
  t->options.method = j->method;
  t->options.noslip_iterations = j->noslip;
  if (m->noslip_tolerance >= 0) t->options.noslip_tolerance = m->noslip_tolerance;
  t->options.precision = precision < 0 ? SC_F64 : precision; /* words and numbers are in one order */
  t->options.iterations = o->iterations >= 0 ? o->iterations : m->iterations;
  t->options.ls_iterations = o->ls_iterations >= 1 ? o->ls_iterations : m->ls_iterations;
  t->options.tolerance = isnan(o->tolerance) ? m->tolerance : o->tolerance;
  t->options.warmstart = m->warmstart;
  /* a model may hold what MuJoCo takes as "none" */
  if (t->options.iterations < 0) t->options.iterations = 0;
  if (t->options.ls_iterations < 1) t->options.ls_iterations = 1;
  if (!(t->options.tolerance >= 0)) t->options.tolerance = 0;
  if (m->ls_tolerance > 0 && m->ls_tolerance < 1) t->options.ls_tolerance = m->ls_tolerance;
  int code = sc_solver_create(context, &t->options, &t->solver);
  if (!code) code = sc_solver_pack(t->solver, j->batch);
  /* once more where its memory is there already: that is the time of every further step */
  if (!code && sc_batch_nenv(j->batch) <= MOST_PACKED_TWICE) code = sc_solver_pack(t->solver, j->batch);
  return code ? cli_fail(code) : 0;
}

int timed_solver_run(timed_solver *t, int n, double budget, progress *p) {
  int rounds = LEAST_RUNS;
  double began = seconds_now();
  for (int round = -1; round < rounds; round++) {
    for (int k = 0; k < n; k++) {
      double start = seconds_now();
      int code = sc_solver_run(t[k].solver);
      if (!code) code = sc_solver_wait(t[k].solver);
      if (code) return cli_fail(code);
      if (round >= 0 && t[k].runs < 2 * MOST_RUNS) t[k].seconds[t[k].runs++] = seconds_now() - start;
    }
    double passed = seconds_now() - began;
    if (round == -1 && passed > 0) {
      rounds = passed * MOST_RUNS < budget ? MOST_RUNS : (int)(budget / passed);
      if (rounds < LEAST_RUNS) rounds = LEAST_RUNS;
    }
    progress_update(p, round + 1, rounds);
  }
  for (int k = 0; k < n; k++) {
    int code = sc_solver_result(t[k].solver, &t[k].result);
    if (!code) code = sc_solver_phases(t[k].solver, &t[k].phases);
    if (code) return cli_fail(code);
  }
  return 0;
}

void timed_solver_close(timed_solver *t) {
  sc_solver_destroy(t->solver);
  t->solver = NULL;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double quantile(double *x, int n, double share) {
  int m = 0;
  for (int i = 0; i < n; i++)
    if (!isnan(x[i])) x[m++] = x[i];
  if (!m) return (double)NAN;
  qsort(x, (size_t)m, sizeof *x, ascending);
  double at = share * (m - 1);
  int k = (int)at;
  return k + 1 < m ? x[k] + (at - k) * (x[k + 1] - x[k]) : x[m - 1];
}
