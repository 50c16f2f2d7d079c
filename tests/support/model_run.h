/* A MuJoCo model and states, solved by softcon, for tests. */
#ifndef TEST_MODEL_RUN_H
#define TEST_MODEL_RUN_H

#include "solve.h"

#include "softcon_mujoco.h"

#include <mujoco/mujoco.h>

/* two threads */
static inline test_run open_states(int nenv, int precision) {
  return open_run(NULL, 2, precision, precision == SC_F32 ? 1e-8 : 1e-15, nenv);
}

/* the batch's problems, with MuJoCo's rows, from its states */
static inline void batch_states(const test_run *t, const mjModel *m, const double *states, int sig, int nenv) {
  sc_model *model;
  CALL(sc_model_wrap(m, NULL, &model));
  CALL(sc_model_batch(t->context, model, states, sig, nenv, t->batch, NULL, NULL, NULL));
  sc_model_destroy(model);
}

#endif
