/* The verifier itself: numbers worked out by hand, optima known beforehand, and what it refuses. */
#include "support/near.h"
#include "support/problems.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define TOL_HAND 1e-15      /* of numbers worked out by hand, relative */

/* M = I, no forces: at a = 0 the residual of row i is -aref_i, and J = I */
typedef struct {
  const char *name;
  int type, n;
  double D[3], loss, residual[3], force[3], cost;
} row_case;

/* the contact: mu 1/2, friction (1/2, 1/4), and so D_j = D_0 friction_j^2/mu^2; sliding has q = D_0/(1 + mu^2) = 4 */
#define CONE SC_CONTACT_ELLIPTIC, 3, {5, 5, 1.25}, 0

static const row_case row_cases[] = {
    {"equality pulled", SC_EQUALITY, 1, {4}, 0, {0.5}, {-2}, 0.5},
    {"equality pushed", SC_EQUALITY, 1, {4}, 0, {-0.5}, {2}, 0.5},
    {"limit within", SC_LIMIT_JOINT, 1, {4}, 0, {0.5}, {0}, 0},
    {"limit beyond", SC_LIMIT_TENDON, 1, {4}, 0, {-0.5}, {2}, 0.5},
    {"frictionless contact", SC_CONTACT_FRICTIONLESS, 1, {4}, 0, {-0.5}, {2}, 0.5},
    {"dry friction sticks", SC_FRICTION_DOF, 1, {4}, 1, {0.125}, {-0.5}, 0.03125},
    {"dry friction slides up", SC_FRICTION_DOF, 1, {4}, 1, {0.5}, {-1}, 0.375},
    {"dry friction slides down", SC_FRICTION_TENDON, 1, {4}, 1, {-0.5}, {1}, 0.375},
    {"cone slides along 1", CONE, {-1, 6, 0}, {16, -8, 0}, 32},
    {"cone slides along 2", CONE, {-1, 0, -12}, {16, 0, 4}, 32},
    {"cone slides obliquely", CONE, {-5, 6, 16}, {40, -12, -8}, 200},
    {"cone slides when parting", CONE, {1, 6, 0}, {8, -4, 0}, 8},
    {"cone sticks", CONE, {-4, 0.5, 1}, {20, -2.5, -1.25}, 41.25},
    {"cone parts", CONE, {3, 4, 4}, {0, 0, 0}, 0},
};

static const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, zeros[3], friction[5] = {0.5, 0.25, 1, 1, 1}, mu = 0.5;
static const int dim = 3;

/* the case's problem; its numbers are in `memory` */
typedef struct { double M[9], aref[3], loss[3]; int type[3]; } row_memory;

static sc_problem make_rows_of(const row_case *c, row_memory *memory) {
  sc_problem p;
  sc_problem_init(&p);
  p.nv = p.nefc = c->n, p.ncon = c->n == 3;
  for (int i = 0; i < c->n; i++) memory->aref[i] = -c->residual[i], memory->loss[i] = c->loss, memory->type[i] = c->type;
  p.M = p.efc_J = unit, p.qfrc_smooth = zeros, p.efc_D = c->D, p.efc_aref = memory->aref, p.efc_frictionloss = memory->loss;
  p.efc_type = memory->type, p.contact_dim = &dim, p.contact_friction = friction, p.contact_mu = &mu;
  return p;
}

/* at a = 0: cost 0 + phi, g = -f, gap |f|^2/2 */
Test(check, rows_have_the_forces_and_costs_worked_out_by_hand) {
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(row_cases); i++) {
    const row_case *c = &row_cases[i];
    row_memory memory;
    sc_check_report r;
    sc_problem p = make_rows_of(c, &memory);
    cr_assert_eq(sc_check(&p, zeros, c->force, &r), SC_OK, "%s: %s", c->name, sc_error_text());
    double square = 0;
    for (int k = 0; k < c->n; k++) square += c->force[k] * c->force[k];
    near_relative(&worst, r.objective, c->cost, TOL_HAND, "%s: objective", c->name);
    near_relative(&worst, r.gap, square / 2, TOL_HAND, "%s: gap", c->name);
    near_relative(&worst, r.gradient, sqrt(square), TOL_HAND, "%s: gradient", c->name);
    near_absolute(&worst, r.force_error, 0, TOL_HAND, "%s: force_error", c->name);
    near_absolute(&worst, r.cone_error, 0, TOL_HAND, "%s: cone_error", c->name);
  }
  near_report(&worst);
}

/* forces that are not those of the acceleration, or not allowed, are found; and where */
Test(check, wrong_forces_are_measured) {
  static const struct { int which; double force[3], error, outside; int row; } cases[] = {
      {3, {3}, 0.5, 0, 0},              /* of 2 N */
      {3, {-1}, 1.5, 0.5, 0},           /* pulls */
      {7, {1.25}, 0.25, 0.25, 0},       /* beyond its friction loss of 1 */
      {8, {16, -12, 0}, 0.25, 0.5, 0},  /* tangent 12/0.5 over 16, of 16 */
      {8, {16, -8, 2}, 0.125, 0.11803398874989485, 2}, /* sqrt(16^2 + 8^2) over 16 */
  };
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(cases); i++) {
    const row_case *c = &row_cases[cases[i].which];
    row_memory memory;
    sc_check_report r;
    sc_problem p = make_rows_of(c, &memory);
    cr_assert_eq(sc_check(&p, zeros, cases[i].force, &r), SC_OK, "%s", sc_error_text());
    near_relative(&worst, r.force_error, cases[i].error, 1e-14, "%s: force_error of %g", c->name, cases[i].force[0]);
    near_relative(&worst, r.cone_error, cases[i].outside, 1e-14, "%s: cone_error of %g", c->name, cases[i].force[0]);
    cr_expect_eq(r.worst_row, cases[i].row, "%s: worst row %d", c->name, r.worst_row);
  }
  near_report(&worst);
}

/* 2 kg that would accelerate by -3 against a limit (D 4, aref 1): a = (2 (-3) + 4)/(2 + 4), and at a = 1/2 all numbers */
Test(check, one_dof_by_hand) {
  const double M = 2, s = -3, one = 1, D = 4, start = 0.5;
  const int type = SC_LIMIT_JOINT;
  near_worst worst = {0};
  sc_check_report r;
  sc_problem p;
  sc_problem_init(&p);
  p.nv = p.nefc = 1, p.M = &M, p.qacc_smooth = &s, p.efc_J = p.efc_aref = &one, p.efc_D = &D, p.efc_type = &type;
  cr_assert_eq(sc_check(&p, &start, NULL, &r), SC_OK, "%s", sc_error_text());
  near_relative(&worst, r.gradient, 5, TOL_HAND, "gradient");
  near_relative(&worst, r.gap, 6.25, TOL_HAND, "gap");
  near_relative(&worst, r.qacc_bound, 2.5 / 3, TOL_HAND, "bound"); /* sqrt(12.5)/(3 sqrt 2) */
  near_relative(&worst, r.scale, 0.5, TOL_HAND, "scale");
  near_relative(&worst, r.objective, 12.75, TOL_HAND, "objective");
  double a = start, force, qacc_error, force_error;
  cr_assert_eq(sc_check_polish(&p, &a, &force), SC_OK, "%s", sc_error_text());
  near_relative(&worst, a, -1.0 / 3, TOL_HAND, "optimum");
  near_relative(&worst, force, 16.0 / 3, TOL_HAND, "its force");
  const double given = 4;
  cr_assert_eq(sc_check_error(&p, &start, &a, &given, &force, &qacc_error, &force_error), SC_OK, "%s", sc_error_text());
  near_relative(&worst, qacc_error, 2.5 / 9, TOL_HAND, "error of 1/2 beside |a_smooth| = 3");
  near_relative(&worst, force_error, 0.25, TOL_HAND, "error of 4 N");
  near_report(&worst);
}

/* The optimum of stiff sliding contacts takes Newton's method hundreds of steps; whatever the start, it must be reached,
 * or an error told: what is left is the rounding of the entries, far below these bounds. */
Test(check, polish_reaches_the_optimum_of_stiff_problems) {
  near_worst worst = {0};
  for (int k = 3; k < NPROBLEM; k++)
    for (uint64_t seed = 7000; seed < 7006; seed++)
      for (int stiff = 0; stiff < 2; stiff++) {
        test_problem q = make_problem(&problem_cases[k], seed);
        double *a = test_numbers(q.p.nv), *b = test_numbers(q.p.nv), error;
        sc_check_report r;
        for (int i = 0; stiff && i < q.p.nefc; i++) q.D[i] *= 1e6;
        for (int i = 0; i < q.p.nv; i++) b[i] = 100 * q.warm[i];
        cr_assert_eq(sc_check_polish(&q.p, a, NULL), SC_OK, "%s", sc_error_text());
        cr_assert_eq(sc_check_polish(&q.p, b, NULL), SC_OK, "%s", sc_error_text());
        cr_assert_eq(sc_check(&q.p, a, NULL, &r), SC_OK, "%s", sc_error_text());
        cr_assert_eq(sc_check_error(&q.p, b, a, NULL, NULL, &error, NULL), SC_OK, "%s", sc_error_text());
        near_absolute(&worst, r.qacc_bound, 0, stiff ? 1e-7 : 1e-12, "\"%s\" seed %d, stiff %d: bound", problem_cases[k].name, (int)seed, stiff);
        near_absolute(&worst, error, 0, stiff ? 1e-11 : 1e-14, "\"%s\" seed %d, stiff %d: another start's optimum", problem_cases[k].name, (int)seed, stiff);
        free(a);
        free(b);
        free_problem(&q);
      }
  near_report(&worst);
}

/* gap >= |a - a*|^2/2 in the metric M, and >= P(a) - P*, wherever a is */
Test(check, the_gap_is_a_bound_everywhere) {
  static const double distances[] = {1e-6, 1e-3, 1e-1, 1, 30};
  int seen = 0;
  for (int k = 2; k < NPROBLEM; k++)
    for (size_t n = 0; n < COUNT(distances); n++) {
      test_problem q = make_problem(&problem_cases[k], 4000 + n);
      double *best = test_numbers(q.p.nv), *a = test_numbers(q.p.nv), error;
      sc_check_report here, there;
      cr_assert_eq(sc_check_polish(&q.p, best, NULL), SC_OK, "%s", sc_error_text());
      for (int i = 0; i < q.p.nv; i++) a[i] = best[i] + distances[n] * q.warm[i];
      cr_assert_eq(sc_check(&q.p, best, NULL, &there), SC_OK, "%s", sc_error_text());
      cr_assert_eq(sc_check(&q.p, a, NULL, &here), SC_OK, "%s", sc_error_text());
      cr_assert_eq(sc_check_error(&q.p, a, best, NULL, NULL, &error, NULL), SC_OK, "%s", sc_error_text());
      double rounding = 1e-13 * fabs(there.objective), square = 0;
      for (int i = 0; i < q.p.nv; i++)
        for (int j = 0; j < q.p.nv; j++) square += (a[i] - best[i]) * q.M[i * q.p.nv + j] * (a[j] - best[j]);
      cr_expect(here.gap * (1 + 1e-9) >= square / 2, "\"%s\" at %g: gap %g, |a - a*|^2/2 %g", problem_cases[k].name, distances[n], here.gap, square / 2);
      cr_expect(here.gap * (1 + 1e-9) + rounding >= here.objective - there.objective, "\"%s\" at %g: gap %g, P - P* %g", problem_cases[k].name, distances[n],
                here.gap, here.objective - there.objective);
      cr_expect(there.objective <= here.objective + rounding, "\"%s\" at %g: the optimum costs more", problem_cases[k].name, distances[n]);
      cr_expect(error > 0, "\"%s\" at %g: no error", problem_cases[k].name, distances[n]);
      seen++;
      free(best);
      free(a);
      free_problem(&q);
    }
  cr_expect_gt(seen, 50);
}

/* ------------------------------------------------------------------ refusals */

static void expect_refusal(int got, int code, const char *says) {
  cr_expect_eq(got, code, "\"%s\": code %d", says, got);
  cr_expect(strstr(sc_error_text(), says) != NULL, "\"%s\" is not in \"%s\"", says, sc_error_text());
}

Test(check, what_cannot_be_judged_is_refused) {
  test_problem q = make_problem(&problem_cases[13], 1);
  double *a = test_numbers(q.p.nv), *f = test_numbers(q.p.nefc), error;
  sc_check_report r;
  sc_problem parameters = q.p, unsized = q.p, bad = q.p, no_force = q.p;
  expect_refusal(sc_check(NULL, a, f, &r), SC_ERROR_ARGUMENT, "problem is NULL");
  expect_refusal(sc_check(&q.p, NULL, f, &r), SC_ERROR_ARGUMENT, "qacc is NULL");
  expect_refusal(sc_check(&q.p, a, f, NULL), SC_ERROR_ARGUMENT, "report is NULL");
  expect_refusal(sc_check_polish(&q.p, NULL, NULL), SC_ERROR_ARGUMENT, "qacc is NULL");
  expect_refusal(sc_check_error(&q.p, a, NULL, NULL, NULL, &error, NULL), SC_ERROR_ARGUMENT, "is NULL");
  unsized.size++;
  expect_refusal(sc_check(&unsized, a, f, &r), SC_ERROR_ARGUMENT, "size");
  parameters.efc_D = NULL;
  expect_refusal(sc_check(&parameters, a, f, &r), SC_ERROR_ARGUMENT, "ready form");
  no_force.qfrc_smooth = NULL;
  expect_refusal(sc_check(&no_force, a, f, &r), SC_ERROR_ARGUMENT, "qfrc_smooth");
  bad.efc_type = q.type;
  q.type[0] = SC_NTYPE;
  expect_refusal(sc_check_polish(&bad, a, f), SC_ERROR_ARGUMENT, "efc_type[0] is 8");
  q.type[0] = SC_EQUALITY;
  a[3] = NAN;
  expect_refusal(sc_check(&q.p, a, f, &r), SC_ERROR_VALUE, "qacc");
  expect_refusal(sc_check_polish(&q.p, a, f), SC_ERROR_VALUE, "qacc[3]");
  a[3] = 0, f[2] = INFINITY;
  expect_refusal(sc_check(&q.p, a, f, &r), SC_ERROR_VALUE, "efc_force[2]");
  f[2] = 0, q.D[4] = NAN;
  expect_refusal(sc_check(&q.p, a, f, &r), SC_ERROR_VALUE, "efc_D");
  q.D[4] = 1, q.M[0] = -1;
  expect_refusal(sc_check_polish(&q.p, a, f), SC_ERROR_VALUE, "not positive definite");
  cr_expect_eq(sc_check(&q.p, a, NULL, &r), SC_OK, "%s", sc_error_text());
  cr_expect(!r.spd && isinf(r.gap) && isinf(r.qacc_bound), "without an inverse of M nothing is bounded: spd %d, gap %g", r.spd, r.gap);
  free(a);
  free(f);
  free_problem(&q);
}
