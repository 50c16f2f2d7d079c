/* The problems that the CUDA backend is tested with: those of problems.h and larger ones. */
#ifndef TEST_EMULATED_CASES_H
#define TEST_EMULATED_CASES_H

#include "../support/solve.h"
#include "control.h"

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

#define DENSE_ROUNDS 20 /* SC_DENSE_ROUNDS of kernels/cuda.h, which C does not read */

/* mixed precision is not one of the device's */
#define EACH_CUDA_PRECISION(p) for (int p = SC_F64; p <= SC_F32; p++)

/* environment e of a run has the bits of environment f of another */
static inline void same_bits(const test_run *a, int e, const test_run *b, int f, const char *what, const char *name) {
  const sc_result *r = &a->r, *s = &b->r;
  size_t i = r->nv_offset[e], j = s->nv_offset[f], n = r->nv_offset[e + 1] - i;
  size_t k = r->efc_offset[e], l = s->efc_offset[f], m = r->efc_offset[e + 1] - k;
  cr_assert(n == s->nv_offset[f + 1] - j && m == s->efc_offset[f + 1] - l, "%s: \"%s\": sizes", what, name);
  cr_expect(!n || !memcmp(r->qacc + i, s->qacc + j, n * sizeof(double)), "%s: \"%s\": qacc", what, name);
  cr_expect(!n || !memcmp(r->qfrc_constraint + i, s->qfrc_constraint + j, n * sizeof(double)), "%s: \"%s\": qfrc_constraint", what, name);
  cr_expect(!m || !memcmp(r->efc_force + k, s->efc_force + l, m * sizeof(double)), "%s: \"%s\": efc_force", what, name);
  cr_expect(!m || !memcmp(r->efc_state + k, s->efc_state + l, m), "%s: \"%s\": efc_state", what, name);
  cr_expect(!memcmp(r->gap + e, s->gap + f, sizeof(double)), "%s: \"%s\": gap", what, name);
  cr_expect(!memcmp(r->gap_floor + e, s->gap_floor + f, sizeof(double)), "%s: \"%s\": gap_floor", what, name);
  cr_expect(!memcmp(r->qacc_bound + e, s->qacc_bound + f, sizeof(double)), "%s: \"%s\": qacc_bound", what, name);
  cr_expect(!memcmp(r->objective + e, s->objective + f, sizeof(double)), "%s: \"%s\": objective", what, name);
  cr_expect(r->status[e] == s->status[f] && r->iterations[e] == s->iterations[f] && r->flags[e] == s->flags[f], "%s: \"%s\": status", what, name);
}

/* a counter of emu_count from here on */
typedef struct { const char *name; long before; } counted;
static inline counted count_from(const char *name) { return (counted){name, emu_count(name)}; }
static inline long counted_since(counted c) { return emu_count(c.name) - c.before; }

#endif
