/* Problems beyond those of problems.h in size, for the CUDA backend. */
#ifndef TEST_LARGE_CASES_H
#define TEST_LARGE_CASES_H

#include "problems.h"

/* with those of problem_cases: what a team of several warps solves, and what does not fit into shared memory */
static const problem_case large_cases[] = {
    {"eighty-five dofs", 85, 6, 9, 8, 4, 4, 2, 2, 1, 0},
    {"a hundred and twenty-eight dofs", 128, 3, 6, 6, 3, 6, 3, 3, 1, 0},
    {"two hundred dofs", 200, 0, 9, 9, 6, 9, 6, 6, 1, 0},
};
#define NLARGE ((int)(sizeof large_cases / sizeof *large_cases))
#define NCASE (NPROBLEM + NLARGE)

static inline const problem_case *case_of(int i) { return i < NPROBLEM ? &problem_cases[i] : &large_cases[i - NPROBLEM]; }

#endif
