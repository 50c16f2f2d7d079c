/* What sc_batch_set refuses, and that a refusal harms nobody. */
#include "support/row_problem.h"

#include <stddef.h>
#include <stdio.h>

typedef enum { PARAMETERS, READY, SPARSE } form;

static void make_sparse(row_problem *q) {
  int n = 0;
  for (int i = 0; i < NV; i++) {
    q->M_rownnz[i] = i + 1, q->M_rowadr[i] = n;
    for (int k = 0; k <= i; k++) q->M_values[n] = q->M[i * NV + k], q->M_colind[n++] = k;
  }
  for (int i = 0; i < q->p.nefc; i++) {
    q->J_rownnz[i] = NV, q->J_rowadr[i] = i * NV;
    for (int k = 0; k < NV; k++) q->J_colind[i * NV + k] = k;
  }
  q->p.M = q->M_values, q->p.M_rownnz = q->M_rownnz, q->p.M_rowadr = q->M_rowadr, q->p.M_colind = q->M_colind;
  q->p.J_rownnz = q->J_rownnz, q->p.J_rowadr = q->J_rowadr, q->p.J_colind = q->J_colind;
}

/* a problem with all fields. Rows: 0, 1 equality, 2 dry friction, 3 limit, 4 - 6 elliptic, 7 - 10 pyramidal */
static void make_whole(const test_run *t, row_problem *q, form f) {
  static const double friction[] = {0.8, 0.4, 0.05, 0.01, 0.02};
  sc_problem p;
  sc_rows rows;
  start(q);
  for (int k = 0; k < 2; k++) q->id[add_row(q, SC_EQUALITY, k, 0.001, 0, 0.1)] = 7;
  q->loss[add_row(q, SC_FRICTION_DOF, 1, 0, 0, 0.1)] = 3;
  add_row(q, SC_LIMIT_JOINT, 2, -0.01, 0.02, 0.1);
  add_contact(q, SC_CONTACT_ELLIPTIC, 3, friction);
  add_contact(q, SC_CONTACT_PYRAMIDAL, 3, friction);
  q->p.qacc_smooth = q->s, q->p.qacc_warmstart = q->warm, q->p.efc_id = q->id, q->p.efc_curvature = q->curvature, q->p.efc_adhesion = q->adhesion;
  q->p.contact_solreffriction = q->solreffriction;
  if (f == SPARSE) make_sparse(q);
  if (f != READY) return;
  evaluate(t, q, &p, &rows);
  memcpy(q->D, p.efc_D, sizeof(double) * (size_t)p.nefc);
  memcpy(q->aref, p.efc_aref, sizeof(double) * (size_t)p.nefc);
  memcpy(q->mu, p.contact_mu, sizeof(double) * (size_t)p.ncon);
  q->p.efc_D = q->D, q->p.efc_aref = q->aref, q->p.contact_mu = q->mu;
}

/* sc_batch_set of the environment must say `code` and a text with its number and `says` in it */
static void expect_refusal(const test_run *t, int env, const row_problem *q, int code, const char *says) {
  char who[40];
  int got = sc_batch_set(t->batch, env, &q->p);
  snprintf(who, sizeof who, "environment %d:", env);
  cr_expect_eq(got, code, "\"%s\": code %d, not %d: %s", says, got, code, sc_error_text());
  cr_expect(strstr(sc_error_text(), says) && strstr(sc_error_text(), who), "\"%s %s\" is not in \"%s\"", who, says, sc_error_text());
}

#define AT(field) offsetof(row_problem, field)

/* one number put into a legal problem */
typedef struct { form form; size_t at; double value; const char *says; } number_case;

static const number_case number_cases[] = {
    {PARAMETERS, AT(M[3]), NAN, "M row 1 entry 0 is"},
    {PARAMETERS, AT(M[8]), INFINITY, "M row 2 entry 2 is inf, not finite"},
    {SPARSE, AT(M_values[4]), NAN, "M row 2 entry 1 is"},
    {PARAMETERS, AT(tau[1]), NAN, "qfrc_smooth[1] is"},
    {PARAMETERS, AT(s[2]), -INFINITY, "qacc_smooth[2] is -inf, not finite"},
    {PARAMETERS, AT(warm[0]), NAN, "qacc_warmstart[0] is"},
    {PARAMETERS, AT(J[3]), NAN, "efc_J row 1 entry 0 is"},
    {SPARSE, AT(J[32]), INFINITY, "efc_J row 10 entry 2 is inf, not finite"},
    {PARAMETERS, AT(loss[2]), NAN, "efc_frictionloss[2] is"},
    {PARAMETERS, AT(loss[2]), INFINITY, "efc_frictionloss[2] is inf, not finite"},
    {READY, AT(loss[2]), -1, "efc_frictionloss[2] is -1, not finite and >= 0"},
    {PARAMETERS, AT(p.timestep), NAN, "timestep is"},
    {PARAMETERS, AT(p.timestep), 0, "timestep is 0, not finite and > 0"},
    {PARAMETERS, AT(p.timestep), -0.002, "timestep is -0.002, not finite and > 0"},
    {PARAMETERS, AT(p.impratio), INFINITY, "impratio is inf"},
    {PARAMETERS, AT(p.impratio), 0, "impratio is 0, not finite and > 0"},
    {PARAMETERS, AT(pos[3]), NAN, "efc_pos[3] is"},
    {PARAMETERS, AT(margin[3]), NAN, "efc_margin[3] is"},
    {PARAMETERS, AT(vel[10]), NAN, "efc_vel[10] is"},
    {PARAMETERS, AT(vel[3]), -1e308, "and aref inf: its parameters overflow"},
    {PARAMETERS, AT(solref[6]), NAN, "efc_solref[3][0] is"},
    {PARAMETERS, AT(solref[7]), INFINITY, "efc_solref[3][1] is inf, not finite"},
    {PARAMETERS, AT(solimp[15]), NAN, "efc_solimp[3][0] is"},
    {PARAMETERS, AT(solimp[16]), NAN, "efc_solimp[3][1] is"},
    {PARAMETERS, AT(solimp[17]), NAN, "efc_solimp[3][2] is"},
    {PARAMETERS, AT(solimp[17]), -0.02, "efc_solimp[3][2] is -0.02, not finite and >= 0"},
    {PARAMETERS, AT(solimp[18]), NAN, "efc_solimp[3][3] is"},
    {PARAMETERS, AT(solimp[19]), NAN, "efc_solimp[3][4] is"},
    {PARAMETERS, AT(diagA[0]), NAN, "efc_diagA[0] is"},
    {PARAMETERS, AT(diagA[0]), -0.5, "efc_diagA[0] is -0.5, not finite and >= 0"},
    {PARAMETERS, AT(curvature[0]), NAN, "efc_curvature[0] is"},
    {PARAMETERS, AT(adhesion[7]), NAN, "efc_adhesion[7] is"},
    {PARAMETERS, AT(friction[3]), NAN, "contact_friction[0][3] is"},
    {READY, AT(friction[5]), -0.1, "contact_friction[1][0] is -0.1, not finite and >= 0"},
    {PARAMETERS, AT(solreffriction[1]), NAN, "contact_solreffriction[0][1] is"},
    {READY, AT(D[3]), NAN, "efc_D[3] is"},
    {READY, AT(D[3]), INFINITY, "efc_D[3] is inf, not finite and > 0"},
    {READY, AT(D[3]), 0, "efc_D[3] is 0, not finite and > 0"},
    {READY, AT(D[3]), -38, "efc_D[3] is -38, not finite and > 0"},
    {READY, AT(D[6]), 38, "efc_D[6] is 38, not D of the contact's first row"},
    {READY, AT(D[6]), 9.5001, "efc_D[6] is 9.5001, not D of the contact's first row"},
    {READY, AT(aref[0]), NAN, "efc_aref[0] is"},
    {READY, AT(mu[0]), NAN, "contact_mu[0] is"},
    {READY, AT(mu[0]), 0, "contact_mu[0] is 0, not finite and > 0"},
};

static void make_number(const test_run *t, row_problem *q, const number_case *c) {
  make_whole(t, q, c->form);
  memcpy((char *)q + c->at, &c->value, sizeof c->value);
}

/* environments 2 i + 1 of the batch are bad, the others are not and stay as they are when alone */
static void check_neighbours(const test_run *t, int env, const double *alone) {
  const char *says = number_cases[env / 2].says;
  const sc_result *r = &t->r;
  size_t v = r->nv_offset[env], n = r->nv_offset[env + 1] - v, c = r->efc_offset[env], m = r->efc_offset[env + 1] - c;
  cr_assert(n == NV && m == 11, "\"%s\": %zu dofs and %zu rows", says, n, m);
  if (env % 2 == 0) {
    cr_expect_eq(r->status[env], SC_SOLVED, "before \"%s\": %s", says, sc_status_name(r->status[env]));
    cr_expect(!memcmp(r->qacc + v, alone, n * sizeof *alone), "before \"%s\": qacc was changed by the neighbour", says);
    return;
  }
  int numbers = !isnan(r->gap[env]) + !isnan(r->gap_floor[env]) + !isnan(r->qacc_bound[env]) + !isnan(r->objective[env]);
  for (size_t k = 0; k < n; k++) numbers += !isnan(r->qacc[v + k]) + !isnan(r->qfrc_constraint[v + k]);
  for (size_t k = 0; k < m; k++) numbers += !isnan(r->efc_force[c + k]);
  cr_expect_eq(numbers, 0, "\"%s\": %d answers are not NaN", says, numbers);
  cr_expect_eq(r->status[env], SC_BAD_INPUT, "\"%s\": %s", says, sc_status_name(r->status[env]));
}

Test(refusals, numbers_that_are_not_valid_are_bad_input_and_harm_nobody) {
  const int nenv = 2 * (int)COUNT(number_cases);
  test_run one = open_run(NULL, 1, SC_F64, 1e-8, 1), t = open_run(NULL, 2, SC_F64, 1e-8, nenv);
  row_problem good, q;
  make_whole(&one, &good, PARAMETERS);
  CALL(sc_batch_set(one.batch, 0, &good.p));
  solve_run(&one);
  cr_assert_eq(one.r.status[0], SC_SOLVED, "%s", sc_status_name(one.r.status[0]));
  for (int i = 0; i < nenv; i++) {
    const number_case *c = &number_cases[i / 2];
    sc_problem p;
    sc_rows rows;
    make_number(&one, &q, c);
    if (i % 2)
      expect_refusal(&t, i, &q, SC_ERROR_VALUE, c->says);
    else
      CALL(sc_batch_set(t.batch, i, &good.p));
    CALL(sc_batch_get(t.batch, i, &p, &rows));
    cr_expect(rows.bad == i % 2 && p.nv == NV && p.nefc == 11, "\"%s\": bad is %d, nv %d, nefc %d", c->says, rows.bad, p.nv, p.nefc);
  }
  solve_run(&t);
  for (int i = 0; i < nenv; i++) check_neighbours(&t, i, run_qacc(&one, 0));
  for (int i = 0; i < nenv; i++) CALL(sc_batch_set(t.batch, i, &good.p));
  solve_run(&t);
  for (int i = 0; i < nenv; i++)
    cr_expect_eq(t.r.status[i], SC_SOLVED, "after \"%s\" was set right: %s", number_cases[i / 2].says, sc_status_name(t.r.status[i]));
  close_run(&t);
  close_run(&one);
}

/* one integer put into a legal problem */
static const struct { form form; size_t at; int value; const char *says; } integer_cases[] = {
    {PARAMETERS, AT(p.nv), -1, "nv is -1, not >= 0"},
    {PARAMETERS, AT(p.nefc), -1, "nefc is -1, not >= 0"},
    {PARAMETERS, AT(p.ncon), -1, "ncon is -1, not >= 0"},
    {PARAMETERS, AT(type[3]), 8, "efc_type[3] is 8, not in 0 .. 7"},
    {PARAMETERS, AT(type[3]), -1, "efc_type[3] is -1, not in 0 .. 7"},
    {PARAMETERS, AT(dim[0]), 5, "contact_dim[0] is 5, not 3, 4 or 6"},
    {PARAMETERS, AT(dim[0]), 1, "contact_dim[0] is 1, not 3, 4 or 6"},
    {READY, AT(dim[1]), 0, "contact_dim[1] is 0, not 3, 4 or 6"},
    {PARAMETERS, AT(dim[0]), 4, "row 4: contact 0 of dim 4 has 4 rows of type 7"},
    {PARAMETERS, AT(dim[1]), 4, "row 7: contact 1 of dim 4 has 6 rows of type 6"},
    {PARAMETERS, AT(type[5]), SC_LIMIT_JOINT, "row 4: contact 0 of dim 3 has 3 rows of type 7"},
    {PARAMETERS, AT(p.nefc), 10, "row 7: contact 1 of dim 3 has 4 rows of type 6"},
    {PARAMETERS, AT(p.nefc), 7, "ncon is 2, but the rows have 1"},
    {PARAMETERS, AT(p.nefc), 0, "ncon is 2, but the rows have 0"},
    {PARAMETERS, AT(p.ncon), 1, "row 7 begins contact 1, but ncon is 1"},
    {PARAMETERS, AT(p.ncon), 3, "ncon is 3, but the rows have 2"},
    {SPARSE, AT(M_rownnz[1]), -1, "M_rownnz[1] is -1, not in 0 .. 2"},
    {SPARSE, AT(M_rownnz[1]), 3, "M_rownnz[1] is 3, not in 0 .. 2"},
    {SPARSE, AT(M_rowadr[2]), -1, "M_rowadr[2] is -1, not >= 0"},
    {SPARSE, AT(M_colind[1]), 1, "M row 1: column 1 is not in 2 .. 1"},
    {SPARSE, AT(M_colind[2]), 2, "M row 1: column 2 is not in 1 .. 1"},
    {SPARSE, AT(M_colind[3]), 1, "M row 2: column 1 is not in 2 .. 2"},
    {SPARSE, AT(J_rownnz[10]), 4, "J_rownnz[10] is 4, not in 0 .. 3"},
    {SPARSE, AT(J_rowadr[10]), -3, "J_rowadr[10] is -3, not >= 0"},
    {SPARSE, AT(J_colind[3]), -1, "J row 1: column -1 is not in 0 .. 2"},
    {SPARSE, AT(J_colind[5]), 3, "J row 1: column 3 is not in 2 .. 2"},
    {SPARSE, AT(J_colind[3]), 2, "J row 1: column 1 is not in 3 .. 2"},
};

/* one or two pointers taken from a legal problem */
static const struct { form form; size_t at, also; const char *says; } pointer_cases[] = {
    {PARAMETERS, AT(p.M), 0, "M is NULL"},
    {PARAMETERS, AT(p.qfrc_smooth), AT(p.qacc_smooth), "qfrc_smooth (and qacc_smooth) is NULL"},
    {PARAMETERS, AT(p.efc_type), 0, "efc_type is NULL"},
    {PARAMETERS, AT(p.efc_J), 0, "efc_J is NULL"},
    {PARAMETERS, AT(p.efc_pos), 0, "efc_pos (and efc_D) is NULL"},
    {PARAMETERS, AT(p.efc_solref), 0, "efc_solref is NULL"},
    {PARAMETERS, AT(p.efc_solimp), 0, "efc_solimp is NULL"},
    {PARAMETERS, AT(p.contact_dim), 0, "contact_dim is NULL"},
    {READY, AT(p.contact_friction), 0, "contact_friction is NULL"},
    {READY, AT(p.efc_aref), 0, "efc_aref is NULL"},
    {READY, AT(p.contact_mu), 0, "contact_mu is NULL"},
    {SPARSE, AT(p.M_rowadr), 0, "M_rowadr is NULL"},
    {SPARSE, AT(p.M_colind), 0, "M_colind is NULL"},
    {SPARSE, AT(p.J_rowadr), 0, "J_rowadr is NULL"},
    {SPARSE, AT(p.J_colind), 0, "J_colind is NULL"},
};

static void take_pointer(row_problem *q, size_t at) {
  static const double *const null = NULL;
  memcpy((char *)q + at, &null, sizeof null);
}

/* environment 1 still holds the one row it was given before */
static void expect_unchanged(const test_run *t, const char *says) {
  sc_problem p;
  sc_rows rows;
  CALL(sc_batch_get(t->batch, 1, &p, &rows));
  cr_expect(p.nefc == 1 && p.efc_type[0] == SC_LIMIT_TENDON && p.efc_D[0] == 1 / rows.R[0] && !rows.bad, "\"%s\": the environment was changed", says);
}

Test(refusals, problems_that_are_not_legal_change_nothing) {
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 2);
  row_problem q;
  start(&q);
  add_row(&q, SC_LIMIT_TENDON, 2, -0.01, 0, 0);
  CALL(sc_batch_set(t.batch, 1, &q.p));
  for (size_t i = 0; i < COUNT(integer_cases); i++) {
    make_whole(&t, &q, integer_cases[i].form);
    memcpy((char *)&q + integer_cases[i].at, &integer_cases[i].value, sizeof(int));
    expect_refusal(&t, 1, &q, SC_ERROR_ARGUMENT, integer_cases[i].says);
    expect_unchanged(&t, integer_cases[i].says);
  }
  for (size_t i = 0; i < COUNT(pointer_cases); i++) {
    make_whole(&t, &q, pointer_cases[i].form);
    take_pointer(&q, pointer_cases[i].at);
    if (pointer_cases[i].also) take_pointer(&q, pointer_cases[i].also);
    expect_refusal(&t, 1, &q, SC_ERROR_ARGUMENT, pointer_cases[i].says);
    expect_unchanged(&t, pointer_cases[i].says);
  }
  make_whole(&t, &q, PARAMETERS);
  q.p.size--;
  expect_refusal(&t, 1, &q, SC_ERROR_ARGUMENT, "problem.size is");
  expect_unchanged(&t, "size");
  close_run(&t);
}

Test(refusals, calls_that_are_not_legal_are_refused) {
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 2);
  row_problem q;
  sc_problem out;
  make_whole(&t, &q, PARAMETERS);
  const struct { sc_batch *batch; int env, nothing; const char *says; } cases[] = {
      {NULL, 0, 0, "batch is NULL"},
      {t.batch, 0, 1, "problem is NULL"},
      {t.batch, -1, 0, "environment -1 is not in 0 .. 1"},
      {t.batch, 2, 0, "environment 2 is not in 0 .. 1"},
  };
  for (size_t i = 0; i < COUNT(cases); i++)
    for (int get = 0; get < 2; get++) {
      int code = get ? sc_batch_get(cases[i].batch, cases[i].env, cases[i].nothing ? NULL : &out, NULL)
                     : sc_batch_set(cases[i].batch, cases[i].env, cases[i].nothing ? NULL : &q.p);
      cr_expect_eq(code, SC_ERROR_ARGUMENT, "%s, \"%s\": code %d", get ? "get" : "set", cases[i].says, code);
      cr_expect(strstr(sc_error_text(), cases[i].says), "%s: \"%s\" is not in \"%s\"", get ? "get" : "set", cases[i].says, sc_error_text());
    }
  close_run(&t);
}

/* what may be left out, may be; and what is not read may be anything */
Test(refusals, what_is_optional_may_be_missing) {
  static const size_t optional[] = {AT(p.qfrc_smooth), AT(p.qacc_smooth), AT(p.qacc_warmstart), AT(p.efc_id), AT(p.efc_frictionloss),
                                    AT(p.efc_margin), AT(p.efc_vel), AT(p.efc_diagA), AT(p.efc_curvature), AT(p.efc_adhesion),
                                    AT(p.contact_solreffriction)};
  static const size_t unread[] = {AT(M[1]), AT(loss[3]), AT(aref[0]), AT(D[0]), AT(mu[0])};
  const double nan = NAN;
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  row_problem q;
  for (size_t i = 0; i < COUNT(optional); i++) {
    make_whole(&t, &q, PARAMETERS);
    take_pointer(&q, optional[i]);
    cr_expect_eq(sc_batch_set(t.batch, 0, &q.p), SC_OK, "optional pointer %zu: %s", i, sc_error_text());
  }
  make_whole(&t, &q, PARAMETERS);
  for (size_t i = 0; i < COUNT(unread); i++) memcpy((char *)&q + unread[i], &nan, sizeof nan);
  cr_expect_eq(sc_batch_set(t.batch, 0, &q.p), SC_OK, "%s", sc_error_text());
  solve_run(&t);
  cr_expect_eq(t.r.status[0], SC_SOLVED, "%s", sc_status_name(t.r.status[0]));
  close_run(&t);
}
