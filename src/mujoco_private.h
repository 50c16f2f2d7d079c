/* What the files of the bridge share: the model, guarded calls of MuJoCo, one mjData per worker. The only file that
 * includes mujoco.h. */
#ifndef SC_MUJOCO_PRIVATE_H
#define SC_MUJOCO_PRIVATE_H

#include <mujoco/mujoco.h>

#include "softcon_mujoco.h"

#include <stdatomic.h>

/* What sc_model_batch works with; kept with the model for the next call, unless another one has come in between. */
typedef struct sc_mj_crew {
  int n; /* threads */
  uint64_t written; /* fields that workers' own models may have other values in than sc_model.rows, as bits; mujoco_overrides.c */
  struct sc_mj_worker *workers;
} sc_mj_crew;

struct sc_model {
  mjModel *own;  /* the caller's, with sc_model_options written into it: steps, and is timed */
  mjModel *rows; /* the same for the rows: Newton, no islands (rows are the same, less work), no noslip */
  int mujoco_rows; /* sc_model_options.rows */
  _Atomic(sc_mj_crew *) crew; /* NULL: none is kept */
};

void sc_mj_crew_destroy(sc_mj_crew *crew); /* NULL is allowed. mujoco_batch.c */

/* ------------------------------------------------------------------ MuJoCo's errors */

#define SC_MJ_TEXT 400

/* Call work(arg) with this thread's MuJoCo messages caught: nothing is printed, no log is written, and an error comes
 * back instead of ending the process. Returns 1 on an error, with its text; otherwise text is the first warning or "".
 * After an error the mjData in use must be reset. */
int sc_mj_guard(void (*work)(void *arg), void *arg, char text[SC_MJ_TEXT]);

/* ------------------------------------------------------------------ workers */

typedef struct sc_mj_worker {
  mjData *data;
  mjModel *model;        /* a copy with one environment's overrides, and an mjData that only mj_setConst uses; NULL */
  mjData *scratch;       /* without overrides */
  sc_assembly *assembly; /* of softcon's rows; NULL without */
  int env, code; /* the failure of the lowest environment; code SC_OK: none */
  char error[SC_MJ_TEXT + 100];
  sc_model_times times;
  int ncon;              /* capacity of the contact arrays */
  int *dim;              /* ncon */
  double *friction, *mu; /* ncon x 5, ncon */
} sc_mj_worker;

/* One worker with an mjData of `model` for each thread of the context; `call` is named in errors. */
int sc_mj_workers_create(const char *call, sc_context *context, const mjModel *model, sc_mj_worker **out);
void sc_mj_workers_destroy(int n, sc_mj_worker *workers); /* n: threads; workers NULL is allowed */

/* Keep a failure of environment env for sc_mj_workers_code. */
void sc_mj_fail(sc_mj_worker *worker, int env, int code, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 4, 5)))
#endif
    ;

/* The kept failure of the lowest environment as the call's error; SC_OK without one. */
int sc_mj_workers_code(const char *call, sc_context *context, const sc_mj_worker *workers);

/* sc_context_each in portions, with progress between them. Returns how many were done. */
int sc_mj_each(sc_context *context, int n, void (*work)(void *arg, int i, int worker), void *arg, sc_progress progress,
               void *progress_arg);

/* ------------------------------------------------------------------ states and stages */

/* Numbers in a state; sig < 0 becomes mjSTATE_INTEGRATION. */
int sc_mj_signature(const char *call, const sc_model *model, int *sig, size_t *nstate);

/* Whether all n numbers are finite. */
int sc_mj_finite(const double *x, size_t n);

/* For sc_mj_guard: put a state into data and run what mj_forward runs before mj_fwdConstraint, without the checks that
 * reset a bad state. */
typedef struct sc_mj_stages {
  const mjModel *model;
  mjData *data;
  const double *state;
  int sig;
} sc_mj_stages;
void sc_mj_run_stages(void *stages);
/* The same without MuJoCo's rows, for softcon's; and only up to the contacts. */
void sc_mj_run_smooth_stages(void *stages);
void sc_mj_run_position(void *stages);
/* Without putting a state in: the data's own. The second is sc_mujoco_smooth: there is no qacc_smooth. */
void sc_mj_continue_stages(void *stages);
void sc_mj_continue_smooth_stages(void *stages);

/* The rows of the state in the worker's mjData, MuJoCo's or softcon's, and the rest of its problem, into the batch. The stages
 * above have been run; smooth: qacc_smooth is there. Numbers that are not valid are no error: the environment is bad. mujoco_batch.c */
int sc_mj_put_problem(const mjModel *model, int from_mujoco, int smooth, sc_mj_worker *worker, sc_batch *batch, int env);

/* Whether nenv environments are in the batch and in the result; SC_ERROR_ARGUMENT naming `call` where not. */
int sc_mj_check_nenv(const char *call, int nenv, const sc_batch *batch, const sc_result *result);

/* "" or what kept MuJoCo from making all rows (its memory is full). */
const char *sc_mj_incomplete(const mjData *data);

double sc_mj_seconds(void); /* of a monotonic clock */

#endif
