/* The problems that the CUDA backend is tested with: those of problems.h and larger ones. */
#ifndef TEST_EMULATED_CASES_H
#define TEST_EMULATED_CASES_H

#include "../support/large_cases.h"
#include "../support/solve.h"
#include "control.h"

static inline void set_case(test_run *t, int env, int which, int seed) {
  test_problem q = make_problem(case_of(which), (uint64_t)seed);
  q.p.qacc_warmstart = seed % 2 ? q.warm : NULL;
  CALL(sc_batch_set(t->batch, env, &q.p));
  free_problem(&q);
}

#define DENSE_ROUNDS 20 /* SC_DENSE_ROUNDS of kernels/cuda.h, which C does not read */

/* the race build takes its time */
static inline int racing(void) { return emu_count("races") >= 0; }

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

/* ------------------------------------------------------------------ failures */

/* a context on the device with a batch and a solver; the first code that is not SC_OK. close_run either way */
static inline int try_open(test_run *t, const sc_solver_options *o, int nenv) {
  sc_context_options c;
  memset(t, 0, sizeof *t);
  sc_context_options_init(&c);
  c.backend = "cuda", c.threads = 1;
  int code = sc_context_create(&c, &t->context);
  if (!code) code = sc_batch_create(t->context, nenv, &t->batch);
  if (!code) code = sc_solver_create(t->context, o, &t->solver);
  return code;
}

/* What `live`, a whole life, returns when CUDA's call i fails in it, counted from 1: SC_OK, or a failure that is told and has left
 * nothing. */
static inline int live_without(int (*live)(void), long i) {
  long left = emu_count("live"), streams = emu_count("streams");
  emu_fail(i);
  int code = live();
  emu_fail(0);
  if (!code) return SC_OK;
  cr_expect_eq(code, SC_ERROR_DEVICE, "call %ld: code %d", i, code);
  cr_expect(strstr(sc_error_text(), "out of memory"), "call %ld: \"%s\"", i, sc_error_text());
  cr_expect_eq(emu_count("live"), left, "call %ld (%s): %ld allocations are left", i, sc_error_text(), emu_count("live") - left);
  cr_expect_eq(emu_count("streams"), streams, "call %ld (%s): %ld streams are left", i, sc_error_text(), emu_count("streams") - streams);
  return code;
}

#endif
