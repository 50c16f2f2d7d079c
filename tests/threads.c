/* What threads share, as a plain program: the thread sanitizer watches it (preset tsan). Returns 0 when all answers are the
 * same, whatever the threads. */
#include "support/problems.h"

#include <pthread.h>
#include <stdio.h>

enum { NENV = 300, ROUNDS = 4 };

static int failures;

static void check(int code, const char *what) {
  if (code == SC_OK) return;
  fprintf(stderr, "%s: %s\n", what, sc_error_text());
  failures++;
}

static void set_one(void *arg, int i, int worker) {
  test_problem q = make_problem(&problem_cases[i % NPROBLEM], (uint64_t)i);
  (void)worker;
  if (i % 50 == 7 && q.p.nv) q.tau[0] = NAN;
  int code = sc_batch_set(arg, i, &q.p);
  if (code && code != SC_ERROR_VALUE) check(code, "sc_batch_set");
  free_problem(&q);
}

/* a batch filled by the context's threads, solved pack by pack, packed and run, and inverted; a sum of all bits */
static uint64_t solve_all(sc_context *context, int precision, int method) {
  sc_batch *batch;
  sc_solver *solver;
  sc_solver_options o;
  sc_result r;
  sc_inverse inverse;
  uint64_t sum = 0, word;
  sc_solver_options_init(&o);
  o.precision = precision, o.method = method;
  check(sc_batch_create(context, NENV, &batch), "sc_batch_create");
  check(sc_batch_capacity(batch, 60, 10), "sc_batch_capacity");
  sc_context_each(context, NENV, set_one, batch);
  check(sc_solver_create(context, &o, &solver), "sc_solver_create");
  check(sc_solve(solver, batch), "sc_solve");
  check(sc_solver_pack(solver, batch), "sc_solver_pack");
  check(sc_solver_run(solver), "sc_solver_run");
  check(sc_solver_result(solver, &r), "sc_solver_result");
  sc_inverse_init(&inverse);
  inverse.qfrc_inverse = test_numbers((int)r.nv_offset[NENV]);
  check(sc_solver_inverse(solver, &inverse), "sc_solver_inverse");
  for (size_t i = 0; i < r.nv_offset[NENV]; i++) memcpy(&word, r.qacc + i, sizeof word), sum = sum * 31 + word;
  for (size_t i = 0; i < r.nv_offset[NENV]; i++) memcpy(&word, inverse.qfrc_inverse + i, sizeof word), sum = sum * 31 + word;
  free(inverse.qfrc_inverse);
  sc_solver_destroy(solver);
  sc_batch_destroy(batch);
  return sum;
}

/* several threads with objects of their own on one context: their loops take turns */
typedef struct {
  sc_context *context;
  int way;
  uint64_t sum;
} user;

static void *use(void *arg) {
  user *u = arg;
  for (int k = 0; k < ROUNDS; k++) u->sum = solve_all(u->context, u->way & 1, u->way >> 1);
  return NULL;
}

int main(void) {
  sc_context_options c;
  sc_context *one, *four;
  pthread_t thread[4];
  user users[4];
  sc_context_options_init(&c);
  c.threads = 1;
  check(sc_context_create(&c, &one), "sc_context_create");
  c.threads = 4;
  check(sc_context_create(&c, &four), "sc_context_create");
  for (int k = 0; k < 4; k++) {
    users[k] = (user){four, k, 0};
    if (pthread_create(&thread[k], NULL, use, &users[k])) return 1;
  }
  for (int k = 0; k < 4; k++) pthread_join(thread[k], NULL);
  for (int k = 0; k < 4; k++)
    if (users[k].sum != solve_all(one, k & 1, k >> 1)) {
      fprintf(stderr, "way %d: other bits than on one thread\n", k);
      failures++;
    }
  sc_context_destroy(one);
  sc_context_destroy(four);
  return failures != 0;
}
