/* Problems for tests: one table of cases, each made from a seed in the ready form, with every row kind. */
#ifndef TEST_PROBLEMS_H
#define TEST_PROBLEMS_H

#include "softcon.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What a case is made of. Contacts with friction: pyramids of dim 3, elliptic ones of dim 3, 4, 6. */
typedef struct {
  const char *name;
  int nv;
  int ne, nf, nlimit, npyramid, ncone3, ncone4, ncone6;
  double spread;            /* decades over which inertias and D vary */
  int redundant;            /* 1: every second row repeats the one before it */
} problem_case;

static const problem_case problem_cases[] = {
    {"no dofs", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"no dofs, rows", 0, 1, 1, 2, 1, 1, 0, 0, 0, 0},
    {"no rows", 6, 0, 0, 0, 0, 0, 0, 0, 1, 0},
    {"one limit", 1, 0, 0, 1, 0, 0, 0, 0, 0, 0},
    {"one ball", 3, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"slider", 7, 6, 1, 1, 0, 0, 0, 0, 1, 0},
    {"dry friction", 9, 0, 9, 0, 0, 0, 0, 0, 2, 0},
    {"bilateral", 12, 9, 0, 0, 0, 0, 0, 0, 1, 0},
    {"redundant equalities", 8, 8, 0, 0, 0, 0, 0, 0, 1, 1},
    {"pyramids", 14, 0, 0, 4, 4, 0, 0, 0, 1, 0},
    {"cones of dim 3", 13, 0, 0, 2, 0, 5, 0, 0, 1, 0},
    {"cones of dim 4", 18, 0, 0, 2, 0, 0, 4, 0, 1, 0},
    {"cones of dim 6", 17, 0, 0, 0, 0, 0, 0, 4, 1, 0},
    {"everything", 27, 3, 5, 4, 2, 2, 2, 2, 1, 0},
    {"everything, wide scales", 22, 3, 3, 3, 2, 2, 1, 1, 4, 0},
    {"heavy on light", 11, 1, 2, 3, 0, 3, 0, 0, 6, 0},
    {"more rows than dofs", 6, 2, 4, 8, 6, 6, 2, 2, 1, 1},
    {"forty dofs", 40, 6, 6, 6, 3, 3, 2, 1, 1, 0},
};
#define NPROBLEM ((int)(sizeof problem_cases / sizeof *problem_cases))

/* A problem and the memory behind it. */
typedef struct {
  sc_problem p;
  double *M, *J, *tau, *s, *warm, *D, *aref, *eta, *friction, *mu;
  int *type, *dim;
} test_problem;

typedef struct { uint64_t state; } test_random;

static inline uint64_t random_bits(test_random *r) { /* splitmix64 */
  uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static inline double random_unit(test_random *r) { return (double)(random_bits(r) >> 11) * 0x1p-53; }
static inline double random_signed(test_random *r) { return 2 * random_unit(r) - 1; }
static inline double random_scale(test_random *r, double decades) { return pow(10, decades * (random_unit(r) - 0.5)); }

static inline double *test_numbers(int n) { return calloc((size_t)n + 1, sizeof(double)); }

/* M = C C' + diagonal, C the lower triangle of a random tree: a dof couples to its ancestors */
static inline void make_inertia(test_problem *t, test_random *r, int n, double spread) {
  double *C = test_numbers(n * n);
  for (int i = 0; i < n; i++)
    for (int j = i; j >= 0; j = j ? (int)(random_unit(r) * j) : -1) C[i * n + j] = random_signed(r);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      for (int k = 0; k < n; k++) t->M[i * n + j] += C[k * n + i] * C[k * n + j];
      if (i == j) t->M[i * n + j] += 0.2 + random_unit(r);
    }
  for (int i = 0; i < n; i++) t->warm[i] = random_scale(r, spread / 2);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) t->M[i * n + j] *= t->warm[i] * t->warm[j];
  free(C);
}

/* a row of J with some entries, D against the row's own inertia, and aref */
static inline void make_row(test_problem *t, test_random *r, int row, int type, double spread) {
  int n = t->p.nv;
  double weight = 1e-3;
  t->type[row] = type;
  for (int k = 0; k < 4 && n; k++) t->J[row * n + (int)(random_unit(r) * n)] = random_signed(r);
  for (int i = 0; i < n; i++) weight += t->J[row * n + i] * t->J[row * n + i] / t->M[i * n + i];
  t->D[row] = 10 * random_scale(r, 1 + spread / 2) / weight;
  t->aref[row] = 20 * random_signed(r);
  if (type == SC_FRICTION_DOF) t->eta[row] = random_unit(r) / sqrt(weight);
}

/* a contact's rows; D of an elliptic one follows from its first row: D_j = D_0 c_j^2 / mu^2 */
static inline int make_contact(test_problem *t, test_random *r, int row, int type, int dim, double spread) {
  int rows = type == SC_CONTACT_ELLIPTIC ? dim : 2 * (dim - 1), contact = t->p.ncon++;
  t->dim[contact] = dim;
  t->mu[contact] = 0.1 + random_unit(r);
  for (int k = 0; k < 5; k++) t->friction[5 * contact + k] = k < 2 ? 0.2 + random_unit(r) : 0.001 + 0.1 * random_unit(r);
  for (int k = 0; k < rows; k++) {
    make_row(t, r, row + k, type, spread);
    if (k && type == SC_CONTACT_ELLIPTIC) {
      double c = t->friction[5 * contact + k - 1];
      t->D[row + k] = t->D[row] * c * c / (t->mu[contact] * t->mu[contact]);
    } else if (k) {
      t->D[row + k] = t->D[row];
    }
  }
  return rows;
}

static inline void make_rows(test_problem *t, test_random *r, const problem_case *c) {
  int row = 0, n = c->nv;
  const struct { int type, count; } plain[] = {{SC_EQUALITY, c->ne}, {SC_FRICTION_DOF, c->nf}, {SC_LIMIT_JOINT, c->nlimit}};
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < plain[k].count; i++, row++) {
      make_row(t, r, row, plain[k].type, c->spread);
      if (c->redundant && i % 2) memcpy(t->J + row * n, t->J + (row - 1) * n, (size_t)n * sizeof(double));
    }
  const struct { int type, dim, count; } contacts[] = {{SC_CONTACT_PYRAMIDAL, 3, c->npyramid}, {SC_CONTACT_ELLIPTIC, 3, c->ncone3},
                                                       {SC_CONTACT_ELLIPTIC, 4, c->ncone4},    {SC_CONTACT_ELLIPTIC, 6, c->ncone6}};
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < contacts[k].count; i++) row += make_contact(t, r, row, contacts[k].type, contacts[k].dim, c->spread);
}

static inline test_problem make_problem(const problem_case *c, uint64_t seed) {
  test_problem t;
  test_random r = {seed * 1000003u + (uint64_t)c->nv * 7919u};
  int n = c->nv, m = c->ne + c->nf + c->nlimit + 4 * c->npyramid + 3 * c->ncone3 + 4 * c->ncone4 + 6 * c->ncone6;
  int contacts = c->npyramid + c->ncone3 + c->ncone4 + c->ncone6;
  sc_problem_init(&t.p);
  t.p.nv = n, t.p.nefc = m;
  t.M = test_numbers(n * n), t.J = test_numbers(m * n), t.tau = test_numbers(n), t.s = test_numbers(n), t.warm = test_numbers(n);
  t.D = test_numbers(m), t.aref = test_numbers(m), t.eta = test_numbers(m), t.friction = test_numbers(5 * contacts), t.mu = test_numbers(contacts);
  t.type = calloc((size_t)m + 1, sizeof(int)), t.dim = calloc((size_t)contacts + 1, sizeof(int));
  make_inertia(&t, &r, n, c->spread);
  make_rows(&t, &r, c);
  for (int i = 0; i < n; i++) t.tau[i] = 10 * random_signed(&r) * t.warm[i];
  for (int i = 0; i < n; i++) t.warm[i] = random_signed(&r);
  t.p.M = t.M, t.p.efc_J = t.J, t.p.qfrc_smooth = t.tau, t.p.efc_type = t.type, t.p.efc_D = t.D, t.p.efc_aref = t.aref;
  t.p.efc_frictionloss = t.eta, t.p.contact_dim = t.dim, t.p.contact_friction = t.friction, t.p.contact_mu = t.mu;
  return t;
}

static inline void free_problem(test_problem *t) {
  void *all[] = {t->M, t->J, t->tau, t->s, t->warm, t->D, t->aref, t->eta, t->friction, t->mu, t->type, t->dim};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

#endif
