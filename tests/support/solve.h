/* Contexts, batches and solvers for tests; every call is checked. */
#ifndef TEST_SOLVE_H
#define TEST_SOLVE_H

#include "problems.h"

#include <criterion/criterion.h>

#define CALL(call) cr_assert_eq((call), SC_OK, "%s: %s", #call, sc_error_text())

typedef struct {
  sc_context *context;
  sc_batch *batch;
  sc_solver *solver;
  sc_result r;
} test_run;

/* every backend this processor can run, in every precision */
#define EACH_BACKEND(name)                                                                    \
  for (const char *name = sc_backend_name(0), *end_ = NULL; name && !end_; end_ = "")         \
    for (int backend_ = 0; (name = sc_backend_name(backend_)) != NULL; backend_++)
#define EACH_METHOD(m) for (int m = SC_NEWTON; m <= SC_CG; m++)
#define EACH_PRECISION(p) for (int p = SC_F64; p < SC_NPRECISION; p++)

/* another solver in the place of the run's */
static inline void use_solver(test_run *t, const sc_solver_options *o) {
  sc_solver_destroy(t->solver);
  CALL(sc_solver_create(t->context, o, &t->solver));
}

static inline test_run open_run(const char *backend, int threads, int precision, double tolerance, int nenv) {
  test_run t = {0};
  sc_context_options c;
  sc_context_options_init(&c);
  c.backend = backend, c.threads = threads;
  CALL(sc_context_create(&c, &t.context));
  CALL(sc_batch_create(t.context, nenv, &t.batch));
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.precision = precision, o.tolerance = tolerance;
  CALL(sc_solver_create(t.context, &o, &t.solver));
  return t;
}

static inline void solve_run(test_run *t) {
  CALL(sc_solve(t->solver, t->batch));
  CALL(sc_solver_result(t->solver, &t->r));
}

static inline void close_run(test_run *t) {
  sc_solver_destroy(t->solver);
  sc_batch_destroy(t->batch);
  sc_context_destroy(t->context);
}

static inline const double *run_qacc(const test_run *t, int env) { return t->r.qacc + t->r.nv_offset[env]; }
static inline const double *run_force(const test_run *t, int env) { return t->r.efc_force + t->r.efc_offset[env]; }

/* error of an environment's qacc against the optimum, found from the answer itself */
static inline double run_error(const test_run *t, int env) {
  sc_problem p;
  CALL(sc_batch_get(t->batch, env, &p, NULL));
  double *best = malloc(((size_t)p.nv + 1) * sizeof *best), error;
  if (p.nv) memcpy(best, run_qacc(t, env), (size_t)p.nv * sizeof *best);
  CALL(sc_check_polish(&p, best, NULL));
  CALL(sc_check_error(&p, run_qacc(t, env), best, NULL, NULL, &error, NULL));
  free(best);
  return error;
}

#endif
