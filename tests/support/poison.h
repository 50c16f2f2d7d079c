/* One environment in a hundred is poisoned: each is named, and no other changes by a bit. */
#ifndef TEST_POISON_H
#define TEST_POISON_H

#include "fuzz.h"

typedef enum {
  POISON_NAN,        /* in M, qfrc_smooth, J, D or aref */
  POISON_INFINITE,   /* the same */
  POISON_NO_MASS,    /* M is 0 in one dof */
  POISON_EQUALITIES, /* two rows ask one motion for opposite things, all but rigidly */
  POISON_HUGE,       /* finite, but no arithmetic holds it */
  POISONS
} poison;

static inline poison poison_of(int env) { return (poison)(env / 100 % POISONS); }
static inline int is_poisoned(int env) { return env % 100 == 37; }

static inline void poison_problem(test_problem *q, int env) {
  double bad = poison_of(env) == POISON_NAN ? NAN : env / 500 % 2 ? INFINITY : -INFINITY;
  int n = q->p.nv, which = env / 500 % 5;
  double *places[] = {&q->M[n * n - 1], &q->tau[n / 2], &q->J[n - 1], &q->D[q->p.nefc - 1], &q->aref[0]};
  switch (poison_of(env)) {
  case POISON_NO_MASS:
    for (int i = 0; i < n; i++) q->M[i * n + n / 2] = q->M[n / 2 * n + i] = 0;
    break;
  case POISON_EQUALITIES:
    memcpy(q->J + n, q->J, (size_t)n * sizeof(double));
    q->D[0] = q->D[1] = 1e12, q->aref[0] = 1e6, q->aref[1] = -1e6;
    break;
  case POISON_HUGE:
    *places[which == 3 ? 1 : which] = 1e300;
    break;
  default:
    *places[which] = bad;
  }
}

/* environments with at least two equality rows and a dof */
static inline test_problem poison_make(int env) {
  static const problem_case cases[] = {
      {"a robot", 12, 2, 3, 2, 1, 2, 0, 0, 1, 0}, {"an arm", 7, 3, 1, 1, 0, 1, 0, 1, 1, 0}, {"a hand", 18, 2, 2, 4, 2, 0, 2, 0, 1, 0}, {"a ball", 6, 2, 0, 0, 1, 0, 0, 0, 1, 0}};
  return make_problem(&cases[env % 4], (uint64_t)env);
}

/* what must be said of a poisoned environment; the count of those that have an answer all the same */
static inline int check_poisoned(const test_run *t, int env, int code) {
  int status = t->r.status[env], kind = (int)poison_of(env);
  char text[300];
  sc_problem p;
  sc_rows rows;
  CALL(sc_batch_get(t->batch, env, &p, &rows));
  if (kind == POISON_NAN || kind == POISON_INFINITE)
    cr_expect(code == SC_ERROR_VALUE && status == SC_BAD_INPUT && rows.why && (strstr(rows.why, "nan") || strstr(rows.why, "inf")), "environment %d: %s, %s", env,
              sc_status_name(status), rows.why ? rows.why : "no reason");
  else if (kind == POISON_NO_MASS)
    cr_expect_eq(status, SC_NOT_SPD, "environment %d has no mass: %s", env, sc_status_name(status));
  /* a soft constraint weighs contradictions, and huge numbers may cancel: what is called solved is judged */
  fuzz_check_answer(t, env, 1e-8, "poisoned");
  if (status == SC_SOLVED) cr_expect_str_empty(fuzz_refuted(t, env, 1e-8, text, sizeof text), "environment %d: %s", env, text);
  return status == SC_SOLVED;
}

static inline void poison_farm(int nenv, int precision) {
  test_run clean = open_run(NULL, 2, precision, 1e-8, nenv), farm = open_run(NULL, 2, precision, 1e-8, nenv);
  int *code = calloc((size_t)nenv, sizeof *code), poisoned = 0, changed = 0, solved = 0, unsolved = 0;
  for (int i = 0; i < nenv; i++) {
    test_problem q = poison_make(i);
    CALL(sc_batch_set(clean.batch, i, &q.p));
    if (is_poisoned(i)) poison_problem(&q, i);
    code[i] = sc_batch_set(farm.batch, i, &q.p);
    cr_assert(code[i] == SC_OK || is_poisoned(i), "environment %d: %s", i, sc_error_text());
    free_problem(&q);
  }
  solve_run(&clean);
  solve_run(&farm);
  for (int i = 0; i < nenv; i++)
    if (is_poisoned(i))
      poisoned++, solved += check_poisoned(&farm, i, code[i]);
    else {
      size_t m = clean.r.efc_offset[i + 1] - clean.r.efc_offset[i];
      int same = fuzz_same(&clean, i, &farm, i) && !memcmp(clean.r.efc_state + clean.r.efc_offset[i], farm.r.efc_state + farm.r.efc_offset[i], m);
      if (!same && changed++ < 10) cr_expect_fail("environment %d was changed by its neighbours", i);
      unsolved += clean.r.status[i] != SC_SOLVED;
    }
  printf("%s: %d environments, %d poisoned, of these %d solved all the same; %d others changed, %d not solved\n", precision ? "f32" : "f64", nenv, poisoned,
         solved, changed, unsolved);
  cr_expect(poisoned == nenv / 100 && changed == 0 && unsolved == 0, "%d poisoned, %d changed, %d unsolved", poisoned, changed, unsolved);
  free(code);
  close_run(&clean);
  close_run(&farm);
}

#endif
