/* What `solve` and `bench` do alike: a model, its states, their problems, and timed solves. */
#ifndef SC_CLI_JOB_H
#define SC_CLI_JOB_H

#include "cli.h"
#include "progress.h"
#include "softcon_mujoco.h"

typedef struct job {
  const cli_options *options;
  const char *path; /* of the model */
  sc_model *model;
  sc_model_info info;
  int method; /* sc_method: the command line's, or the model's own */
  int noslip; /* iterations, the same */
  int nenv; /* fewer than asked for after Ctrl-C */
  int asked;
  int sig;
  double *states; /* nenv x nstate */
  sc_batch *batch;
  sc_model_times times;
} job;

/* Functions return an exit status, having printed what went wrong; 0: go on. job_close undoes all of them. */
int job_context(int threads, const char *backend, sc_context **out);
/* as --device and --backend say, where the former is given */
int job_device_context(const cli_options *options, int threads, sc_context **out);
const char *job_device(const sc_context *context); /* "cpu" or "cuda" */
int job_open(job *j, const cli_options *options, const char *path);
void job_leave_out_noslip(job *j); /* says so where there were any */
int job_states(job *j, sc_context *context, int envs_default, progress *p);
int job_batch(job *j, sc_context *context, progress *p);
void job_close(job *j);

#define MOST_RUNS 50
#define LEAST_RUNS 5

/* One packed solver and the times of its runs. */
typedef struct timed_solver {
  sc_solver_options options;
  sc_solver *solver;
  sc_result result;
  sc_phases phases; /* of the last run */
  double seconds[2 * MOST_RUNS];
  int runs;
} timed_solver;

/* The options of the command line over those of the model. */
int timed_solver_open(timed_solver *t, const job *j, sc_context *context, int precision);
/* Run n solvers in turn, for about `budget` seconds, at least LEAST_RUNS times each; one run more before, not counted.
 * May be called again: before and after what is compared, so that a busy moment of the machine weighs less. */
int timed_solver_run(timed_solver *t, int n, double budget, progress *p);
void timed_solver_close(timed_solver *t);

/* The k-th smallest share (0 .. 1) of n numbers, NaN left out; reorders x. NaN when there is none. */
double quantile(double *x, int n, double share);

#endif
