/* The problems that the CUDA backend is tested with: those of problems.h and larger ones. */
#ifndef TEST_EMULATED_CASES_H
#define TEST_EMULATED_CASES_H

#include "../support/solve.h"

/* with those of problem_cases: what a team of several warps solves, and what does not fit into shared memory */
static const problem_case large_cases[] = {
    {"eighty-five dofs", 85, 6, 9, 8, 4, 4, 2, 2, 1, 0},
    {"a hundred and twenty-eight dofs", 128, 3, 6, 6, 3, 6, 3, 3, 1, 0},
    {"two hundred dofs", 200, 0, 9, 9, 6, 9, 6, 6, 1, 0},
};
#define NLARGE ((int)(sizeof large_cases / sizeof *large_cases))
#define NCASE (NPROBLEM + NLARGE)

static inline const problem_case *case_of(int i) { return i < NPROBLEM ? &problem_cases[i] : &large_cases[i - NPROBLEM]; }

static inline void set_case(test_run *t, int env, int which, int seed) {
  test_problem q = make_problem(case_of(which), (uint64_t)seed);
  q.p.qacc_warmstart = seed % 2 ? q.warm : NULL;
  CALL(sc_batch_set(t->batch, env, &q.p));
  free_problem(&q);
}

/* mixed precision is not one of the device's */
#define EACH_CUDA_PRECISION(p) for (int p = SC_F64; p <= SC_F32; p++)

#endif
