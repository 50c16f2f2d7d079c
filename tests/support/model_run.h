/* A MuJoCo model and states, solved by softcon, for tests. */
#ifndef TEST_MODEL_RUN_H
#define TEST_MODEL_RUN_H

#include "solve.h"

#include "softcon_mujoco.h"

#include <mujoco/mujoco.h>

/* solve nenv states of a model; the run is closed by close_run */
static inline test_run solve_states(const mjModel *m, const double *states, int sig, int nenv, int precision, double tolerance) {
  test_run t = open_run(NULL, 2, precision, tolerance, nenv);
  sc_model *model;
  CALL(sc_model_wrap(m, NULL, &model));
  int code = sc_model_batch(t.context, model, states, sig, nenv, t.batch, NULL, NULL, NULL);
  cr_assert(code == SC_OK || code == SC_ERROR_VALUE, "%s", sc_error_text());
  sc_model_destroy(model);
  solve_run(&t);
  return t;
}

/* errors against the optimum, one per environment; many at once, for the verifier is slow */
typedef struct { const test_run *run; double *error; } error_job;

static inline void find_error(void *arg, int env, int worker) {
  const error_job *job = arg;
  sc_problem p;
  (void)worker;
  job->error[env] = NAN;
  if (sc_batch_get(job->run->batch, env, &p, NULL)) return;
  double *best = malloc(((size_t)p.nv + 1) * sizeof *best);
  if (p.nv) memcpy(best, run_qacc(job->run, env), (size_t)p.nv * sizeof *best);
  if (sc_check_polish(&p, best, NULL) || sc_check_error(&p, run_qacc(job->run, env), best, NULL, NULL, &job->error[env], NULL)) job->error[env] = NAN;
  free(best);
}

static inline double *find_errors(const test_run *t) {
  double *error = malloc(((size_t)t->r.nenv + 1) * sizeof *error);
  error_job job = {t, error};
  sc_context_each(t->context, t->r.nenv, find_error, &job);
  return error;
}

#endif
