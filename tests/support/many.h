/* Random problems by the hundred thousand: up to forty dofs, every row kind, extreme scales. What is called solved must be so
 * by the independent verifier. */
#ifndef TEST_MANY_H
#define TEST_MANY_H

#include "fuzz.h"

enum { MANY_DOFS = 40, MANY_ROWS = 200, MANY_CONTACTS = 24, MANY_BATCH = 500 };

/* a number whose size is drawn from so many decades, both ways */
static inline double extreme(test_random *r, double decades) { return random_signed(r) * random_scale(r, 2 * decades); }

/* rows from `row` on of one more object; how many there are */
static inline int add_any(test_problem *t, test_random *r, int row, double spread) {
  static const int scalar[] = {SC_EQUALITY,     SC_EQUALITY,     SC_FRICTION_DOF, SC_FRICTION_TENDON,      SC_LIMIT_JOINT,
                               SC_LIMIT_TENDON, SC_LIMIT_JOINT,  SC_FRICTION_DOF, SC_CONTACT_FRICTIONLESS, SC_CONTACT_FRICTIONLESS};
  static const int dims[] = {3, 3, 4, 6};
  int n = t->p.nv;
  if (random_one_in(r, 3) && t->p.ncon < MANY_CONTACTS)
    return make_contact(t, r, row, random_one_in(r, 2) ? SC_CONTACT_PYRAMIDAL : SC_CONTACT_ELLIPTIC, dims[random_below(r, 4)], spread);
  int type = scalar[random_below(r, (int)(sizeof scalar / sizeof *scalar))], friction = type == SC_FRICTION_DOF || type == SC_FRICTION_TENDON;
  make_row(t, r, row, friction ? SC_FRICTION_DOF : type, spread);
  t->type[row] = type;
  if (row && random_one_in(r, 4)) memcpy(t->J + row * n, t->J + (row - 1) * n, (size_t)n * sizeof(double)); /* redundant, or contradictory */
  if (random_one_in(r, 30)) memset(t->J + row * n, 0, (size_t)n * sizeof(double));
  return 1;
}

/* scale what may be scaled without breaking what a problem promises: D_j of an elliptic contact follows its first */
static inline void make_extreme(test_problem *t, test_random *r) {
  double hard = random_one_in(r, 3) ? 5 : 0, wild = random_one_in(r, 3) ? 5 : 0;
  for (int row = 0, contact = 0, rows; row < t->p.nefc; row += rows) {
    int type = t->type[row], cone = type == SC_CONTACT_PYRAMIDAL || type == SC_CONTACT_ELLIPTIC, dim = cone ? t->dim[contact] : 1;
    rows = type == SC_CONTACT_PYRAMIDAL ? 2 * (dim - 1) : dim;
    double scale = random_scale(r, 2 * hard), tiny = random_one_in(r, 8) ? 1e-5 : 1;
    if (cone && random_one_in(r, 4)) t->mu[contact] *= random_scale(r, 4);
    for (int k = 0; cone && k < 5; k++) t->friction[5 * contact + k] = fmax(1e-5, t->friction[5 * contact + k] * tiny);
    for (int k = 0; k < rows; k++) {
      t->D[row + k] = k && cone ? t->D[row] : t->D[row + k] * scale;
      if (k && type == SC_CONTACT_ELLIPTIC) t->D[row + k] *= pow(t->friction[5 * contact + k - 1] / t->mu[contact], 2);
      t->aref[row + k] *= random_scale(r, 2 * wild), t->eta[row + k] *= random_scale(r, 2 * wild);
    }
    contact += cone;
  }
  for (int i = 0; i < t->p.nv; i++) {
    t->tau[i] *= random_scale(r, wild);
    if (random_one_in(r, 4)) t->warm[i] = extreme(r, 4);
  }
}

static inline test_problem any_problem(uint64_t seed) {
  test_random r = random_stream(seed, 7);
  int n = 1 + random_below(&r, random_one_in(&r, 3) ? MANY_DOFS : 12), objects = random_below(&r, 2 + n);
  double spread = random_one_in(&r, 2) ? 1 : 10 * random_unit(&r);
  test_problem t;
  sc_problem_init(&t.p);
  t.p.nv = n;
  t.M = test_numbers(n * n), t.J = test_numbers(MANY_ROWS * n), t.tau = test_numbers(n), t.s = test_numbers(n), t.warm = test_numbers(n);
  t.D = test_numbers(MANY_ROWS), t.aref = test_numbers(MANY_ROWS), t.eta = test_numbers(MANY_ROWS);
  t.friction = test_numbers(5 * MANY_CONTACTS), t.mu = test_numbers(MANY_CONTACTS);
  t.type = calloc(MANY_ROWS + 1, sizeof(int)), t.dim = calloc(MANY_CONTACTS + 1, sizeof(int));
  make_inertia(&t, &r, n, spread);
  for (int k = 0; k < objects && t.p.nefc + 10 <= MANY_ROWS; k++) t.p.nefc += add_any(&t, &r, t.p.nefc, fmin(spread, 6));
  for (int i = 0; i < n; i++) t.tau[i] = 10 * random_signed(&r) * t.warm[i];
  for (int i = 0; i < n; i++) t.warm[i] = random_signed(&r);
  make_extreme(&t, &r);
  t.p.M = t.M, t.p.efc_J = t.J, t.p.qfrc_smooth = t.tau, t.p.efc_type = t.type, t.p.efc_D = t.D, t.p.efc_aref = t.aref;
  t.p.efc_frictionloss = t.eta, t.p.contact_dim = t.dim, t.p.contact_friction = t.friction, t.p.contact_mu = t.mu;
  if (random_one_in(&r, 2)) t.p.qacc_warmstart = t.warm;
  return t;
}

/* How many there were, and of them solved, by each way of solving; and of what they are made. */
typedef struct {
  long long problems, solved[4], tried[4];
  unsigned types;
  int most_dofs;
} many_count;

/* the ways: Newton and CG, each in double and in float */
static inline test_run many_open(int way, double tolerance) {
  test_run t = open_run(NULL, 2, way & 1, tolerance, MANY_BATCH);
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.precision = way & 1, o.method = way & 2 ? SC_CG : SC_NEWTON, o.tolerance = tolerance;
  if (way & 2) o.iterations = 200;
  sc_solver_destroy(t.solver);
  CALL(sc_solver_create(t.context, &o, &t.solver));
  return t;
}

/* MANY_BATCH problems from seed `first` on, solved in one of the ways */
static inline void many_batch(uint64_t first, int way, many_count *count) {
  double tolerance = first / MANY_BATCH % 3 ? 1e-8 : 1e-12;
  test_run t = many_open(way, tolerance);
  char text[300];
  for (int i = 0; i < MANY_BATCH; i++) {
    test_problem q = any_problem(first + (uint64_t)i);
    for (int k = 0; k < q.p.nefc; k++) count->types |= 1u << q.type[k];
    if (q.p.nv > count->most_dofs) count->most_dofs = q.p.nv;
    CALL(sc_batch_set(t.batch, i, &q.p));
    free_problem(&q);
  }
  solve_run(&t);
  for (int i = 0; i < MANY_BATCH; i++) {
    int solved = t.r.status[i] == SC_SOLVED;
    count->problems++, count->tried[way]++, count->solved[way] += solved;
    if (solved && *fuzz_refuted(&t, i, tolerance, text, sizeof text))
      cr_expect_fail("seed %llu, %s, %s: called solved: %s", (unsigned long long)first + (unsigned)i, way & 2 ? "CG" : "Newton", way & 1 ? "f32" : "f64", text);
  }
  close_run(&t);
}

static inline void many_problems(uint64_t first, long long n) {
  many_count c = {0};
  for (long long i = 0; i < n; i += MANY_BATCH) many_batch(first + (uint64_t)i, (int)(i / MANY_BATCH % 4), &c);
  for (int way = 0; way < 4; way++)
    printf("%s, %s: %lld of %lld solved\n", way & 2 ? "CG" : "Newton", way & 1 ? "f32" : "f64", c.solved[way], c.tried[way]);
  cr_expect_eq(c.types, (1u << SC_NTYPE) - 1, "row kinds that occur: %x", c.types);
  cr_expect_eq(c.most_dofs, MANY_DOFS, "at most %d dofs", c.most_dofs);
  for (int way = 0; way < 2; way++) /* most are solved, or the test would say little */
    cr_expect((double)c.solved[way] >= 0.8 * (double)c.tried[way], "way %d: only %lld of %lld are solved", way, c.solved[way], c.tried[way]);
}

#endif
