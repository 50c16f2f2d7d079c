/* One large system in the ready form: many problems that share no dof, side by side. */
#ifndef TEST_LARGE_PROBLEM_H
#define TEST_LARGE_PROBLEM_H

#include "problems.h"

#define PARTS 12

typedef struct {
  test_problem part[PARTS];
  sc_problem p;
  double *M, *J, *tau, *D, *aref, *eta, *friction, *mu;
  int *type, *dim;
} large_problem;

/* `c` from seeds 0 .. PARTS-1, their dofs and rows one after another */
static inline large_problem make_large(const problem_case *c) {
  large_problem q;
  int nv = 0, nefc = 0, ncon = 0;
  for (int i = 0; i < PARTS; i++) {
    q.part[i] = make_problem(c, (uint64_t)i);
    nv += q.part[i].p.nv, nefc += q.part[i].p.nefc, ncon += q.part[i].p.ncon;
  }
  sc_problem_init(&q.p);
  q.M = test_numbers(nv * nv), q.J = test_numbers(nefc * nv), q.tau = test_numbers(nv), q.D = test_numbers(nefc),
      q.aref = test_numbers(nefc);
  q.eta = test_numbers(nefc), q.friction = test_numbers(5 * ncon), q.mu = test_numbers(ncon);
  q.type = calloc((size_t)nefc + 1, sizeof(int)), q.dim = calloc((size_t)ncon + 1, sizeof(int));
  for (int i = 0, v = 0, m = 0, k = 0; i < PARTS; i++) {
    const test_problem *t = &q.part[i];
    int n = t->p.nv;
    for (int r = 0; r < n; r++) memcpy(q.M + (v + r) * nv + v, t->M + r * n, (size_t)n * sizeof(double));
    for (int r = 0; r < t->p.nefc; r++) memcpy(q.J + (m + r) * nv + v, t->J + r * n, (size_t)n * sizeof(double));
#define COPY(field, at, count) memcpy(q.field + (at), t->field, (size_t)(count) * sizeof *q.field)
    COPY(tau, v, n), COPY(D, m, t->p.nefc), COPY(aref, m, t->p.nefc), COPY(eta, m, t->p.nefc), COPY(type, m, t->p.nefc);
    COPY(friction, 5 * k, 5 * t->p.ncon), COPY(mu, k, t->p.ncon), COPY(dim, k, t->p.ncon);
#undef COPY
    v += n, m += t->p.nefc, k += t->p.ncon;
  }
  q.p.nv = nv, q.p.nefc = nefc, q.p.ncon = ncon, q.p.M = q.M, q.p.efc_J = q.J, q.p.qfrc_smooth = q.tau, q.p.efc_D = q.D,
      q.p.efc_aref = q.aref;
  q.p.efc_type = q.type, q.p.efc_frictionloss = q.eta, q.p.contact_dim = q.dim, q.p.contact_friction = q.friction,
      q.p.contact_mu = q.mu;
  return q;
}

static inline void free_large(large_problem *q) {
  void *all[] = {q->M, q->J, q->tau, q->D, q->aref, q->eta, q->friction, q->mu, q->type, q->dim};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  for (int i = 0; i < PARTS; i++) free_problem(&q->part[i]);
}

#endif
