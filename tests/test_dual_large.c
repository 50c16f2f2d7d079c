/* The dual methods and noslip on one large system, which goes through other packing and factors than small ones do: many
 * problems that share no dof, side by side, must have the answers that they have alone. */
#include "support/solve.h"
#include "support/tolerances.h"

#define PARTS 12

typedef struct {
  test_problem part[PARTS];
  sc_problem p;
  double *M, *J, *tau, *D, *aref, *eta, *friction, *mu;
  int *type, *dim;
} large_problem;

/* `c` from seeds 0 .. PARTS-1, their dofs and rows one after another */
static large_problem make_large(const problem_case *c) {
  large_problem q;
  int nv = 0, nefc = 0, ncon = 0;
  for (int i = 0; i < PARTS; i++) {
    q.part[i] = make_problem(c, (uint64_t)i);
    nv += q.part[i].p.nv, nefc += q.part[i].p.nefc, ncon += q.part[i].p.ncon;
  }
  sc_problem_init(&q.p);
  q.M = test_numbers(nv * nv), q.J = test_numbers(nefc * nv), q.tau = test_numbers(nv), q.D = test_numbers(nefc), q.aref = test_numbers(nefc);
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
  q.p.nv = nv, q.p.nefc = nefc, q.p.ncon = ncon, q.p.M = q.M, q.p.efc_J = q.J, q.p.qfrc_smooth = q.tau, q.p.efc_D = q.D, q.p.efc_aref = q.aref;
  q.p.efc_type = q.type, q.p.efc_frictionloss = q.eta, q.p.contact_dim = q.dim, q.p.contact_friction = q.friction, q.p.contact_mu = q.mu;
  return q;
}

static void free_large(large_problem *q) {
  void *all[] = {q->M, q->J, q->tau, q->D, q->aref, q->eta, q->friction, q->mu, q->type, q->dim};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  for (int i = 0; i < PARTS; i++) free_problem(&q->part[i]);
}

/* the large system in environment 0, its parts in 1 .. PARTS; the largest differences, relative */
static void check_large(const problem_case *c, const sc_solver_options *o, double most) {
  large_problem q = make_large(c);
  test_run t = open_run(NULL, 2, o->precision, o->tolerance, PARTS + 1);
  double qacc = 0, force = 0, a = 1, f = 1;
  use_solver(&t, o);
  CALL(sc_batch_set(t.batch, 0, &q.p));
  for (int i = 0; i < PARTS; i++) CALL(sc_batch_set(t.batch, i + 1, &q.part[i].p));
  solve_run(&t);
  for (size_t i = 0; i < t.r.nv_offset[1]; i++) {
    qacc = fmax(qacc, fabs(t.r.qacc[i] - t.r.qacc[t.r.nv_offset[1] + i])), a = fmax(a, fabs(t.r.qacc[i]));
    cr_assert(isfinite(t.r.qacc[i]));
  }
  for (size_t i = 0; i < t.r.efc_offset[1]; i++)
    force = fmax(force, fabs(t.r.efc_force[i] - t.r.efc_force[t.r.efc_offset[1] + i])), f = fmax(f, fabs(t.r.efc_force[i]));
  cr_expect_leq(qacc, most * a, "%s, method %d, noslip %d, precision %d: accelerations differ by %g of %g", c->name, o->method, o->noslip_iterations,
                o->precision, qacc, a);
  cr_expect_leq(force, most * f, "%s, method %d, noslip %d, precision %d: forces differ by %g of %g", c->name, o->method, o->noslip_iterations, o->precision,
                force, f);
  cr_expect_eq(t.r.status[0], SC_SOLVED, "%s, method %d: %s after %d", c->name, o->method, sc_status_name(t.r.status[0]), t.r.iterations[0]);
  int flags = 0;
  for (int i = 1; i <= PARTS; i++) flags |= (int)t.r.flags[i] & SC_NOSLIP_APPLIED;
  cr_expect_eq((int)t.r.flags[0] & SC_NOSLIP_APPLIED, flags, "%s, method %d: the flag of noslip", c->name, o->method);
  close_run(&t);
  free_large(&q);
}

/* more than 192 dofs; pyramids behind an odd number of limits, cones of one size, for these are visited size by size */
static const problem_case pyramids = {"pyramids, friction, limits", 19, 1, 3, 3, 4, 0, 0, 0, 1, 0}, cones = {"cones", 18, 2, 2, 1, 0, 3, 0, 0, 1, 0};
static const problem_case large_cones = {"cones of dim 6", 18, 2, 2, 1, 0, 0, 0, 2, 1, 0}, bilateral = {"equalities", 20, 15, 0, 0, 0, 0, 0, 0, 1, 0};
static const problem_case very_bilateral = {"many equalities", 20, 40, 0, 0, 0, 0, 0, 0, 1, 0};

Test(dual_large, noslip) {
  const problem_case *all[] = {&pyramids, &cones, &large_cones};
  for (int k = 0; k < 3; k++)
    for (int method = SC_NEWTON; method <= SC_CG; method++) {
      sc_solver_options o;
      sc_solver_options_init(&o);
      o.method = method, o.tolerance = 1e-15, o.iterations = 20000, o.noslip_iterations = 4, o.noslip_tolerance = 0;
      check_large(all[k], &o, method == SC_NEWTON ? 1e-8 : 1e-5);
    }
}

Test(dual_large, pgs) {
  const problem_case *all[] = {&pyramids, &cones, &large_cones};
  for (int k = 0; k < 3; k++) {
    sc_solver_options o;
    sc_solver_options_init(&o);
    o.method = SC_PGS, o.tolerance = 1e-14, o.iterations = 20000;
    check_large(all[k], &o, 1e-4);
  }
}

Test(dual_large, direct) {
  const problem_case *all[] = {&bilateral, &very_bilateral}; /* 180 and 480 rows */
  for (int precision = SC_F64; precision <= SC_F32; precision++) for (int k = 0; k < 2; k++) {
    sc_solver_options o;
    sc_solver_options_init(&o);
    o.method = SC_DIRECT, o.precision = precision, o.tolerance = precision == SC_F64 ? 1e-15 : 1e-8, o.iterations = 5000;
    check_large(all[k], &o, precision == SC_F64 ? 1e-7 : 1e-3);
  }
}
