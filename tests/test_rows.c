/* sc_batch_set: rows evaluated from parameters against numbers known beforehand. */
#include "support/near.h"
#include "support/row_problem.h"

#define K_BALL 2770.083102493075
#define B_BALL 105.26315789473685
#define R_BALL 0.02631578947368425

/* ------------------------------------------------------------------ contacts */

#define FRICTION6 {0.8, 0.4, 0.05, 0.01, 0.02}
#define FRICTION3 {1, 1, 0.005, 0.0001, 0.0001}
#define SIX(x) {x, x, x, x, x, x}
#define ALIKE(x) {x, x, x, x, x, x, x, x, x, x}

typedef struct {
  const char *name;
  int type, dim, refsafe, given; /* given: solreffriction is handed over */
  double friction[5], impratio, solreffriction[2];
  double K, B;              /* of the rows but the first; that one has the ball's */
  double R[10], mu, tolerance;
  unsigned flags;
} contact_case;

static const contact_case contact_cases[] = {
    {"elliptic 6", SC_CONTACT_ELLIPTIC, 6, 1, 0, FRICTION6, 1, {0}, 0, B_BALL,
     {R_BALL, R_BALL, 4 * R_BALL, 6.736842105, 168.4210526, 42.10526316}, 0.8, 1e-9, 0},
    {"elliptic 6, impratio 10", SC_CONTACT_ELLIPTIC, 6, 1, 0, FRICTION6, 10, {0}, 0, B_BALL,
     {R_BALL, R_BALL / 10, 0.4 * R_BALL, 0.6736842105, 16.84210526, 4.210526316}, 0.2529822128, 1e-9, 0},
    {"elliptic 4", SC_CONTACT_ELLIPTIC, 4, 1, 0, FRICTION6, 1, {0}, 0, B_BALL, {R_BALL, R_BALL, 4 * R_BALL, 6.736842105}, 0.8, 1e-9, 0},
    {"elliptic 3", SC_CONTACT_ELLIPTIC, 3, 1, 0, FRICTION3, 1, {0}, 0, B_BALL, {R_BALL, R_BALL, R_BALL}, 1, 1e-12, 0},
    {"solreffriction", SC_CONTACT_ELLIPTIC, 3, 1, 1, FRICTION3, 1, {0.05, 1}, 0, 42.10526315789474, ALIKE(R_BALL), 1, 1e-12, 0},
    {"direct solreffriction", SC_CONTACT_ELLIPTIC, 3, 1, 1, FRICTION3, 1, {-3, -5}, 0, 5.263157894736842, ALIKE(R_BALL), 1, 1e-12, 0},
    {"undamped solreffriction", SC_CONTACT_ELLIPTIC, 3, 1, 1, FRICTION3, 1, {-3, 0}, 0, 0, ALIKE(R_BALL), 1, 1e-12, 0},
    {"solreffriction of mixed sign", SC_CONTACT_ELLIPTIC, 3, 1, 1, FRICTION3, 1, {0.05, -1}, 0, B_BALL, ALIKE(R_BALL), 1, 1e-12, SC_REPAIRED},
    {"solreffriction below refsafe", SC_CONTACT_ELLIPTIC, 3, 1, 1, FRICTION3, 1, {0.001, 1}, 0, 210.5263157894737, ALIKE(R_BALL), 1, 1e-12, SC_CLAMPED},
    {"the same, refsafe off", SC_CONTACT_ELLIPTIC, 3, 0, 1, FRICTION3, 1, {0.001, 1}, 0, 2105.263157894737, ALIKE(R_BALL), 1, 1e-12, 0},
    {"solreffriction of zeros", SC_CONTACT_ELLIPTIC, 3, 1, 1, FRICTION3, 1, {0, 0}, 0, B_BALL, ALIKE(R_BALL), 1, 1e-12, 0},
    {"pyramidal 3 has no solreffriction", SC_CONTACT_PYRAMIDAL, 3, 1, 1, FRICTION3, 1, {0.05, 1}, K_BALL, B_BALL, ALIKE(4 * R_BALL), 1, 1e-12, 0},
    {"nor does it repair it", SC_CONTACT_PYRAMIDAL, 3, 1, 1, FRICTION3, 1, {0.05, -1}, K_BALL, B_BALL, ALIKE(4 * R_BALL), 1, 1e-12, 0},
    {"pyramidal 6", SC_CONTACT_PYRAMIDAL, 6, 1, 0, FRICTION6, 1, {0}, K_BALL, B_BALL, ALIKE(0.0552421053), 0.8, 1e-9, 0},
    {"pyramidal 6, impratio 5", SC_CONTACT_PYRAMIDAL, 6, 1, 0, FRICTION6, 5, {0}, K_BALL, B_BALL, ALIKE(0.0110484211), 0.357770876399966, 5e-9, 0},
    {"pyramidal 6, impratio 10", SC_CONTACT_PYRAMIDAL, 6, 1, 0, FRICTION6, 10, {0}, K_BALL, B_BALL, ALIKE(0.00552421053), 0.2529822128, 1e-9, 0},
    {"pyramidal 4", SC_CONTACT_PYRAMIDAL, 4, 1, 0, FRICTION6, 1, {0}, K_BALL, B_BALL, ALIKE(0.0552421053), 0.8, 1e-9, 0},
    {"elliptic without friction", SC_CONTACT_ELLIPTIC, 6, 1, 0, {0}, 1, {0}, 0, B_BALL, ALIKE(R_BALL), 1e-5, 1e-12, 0},
    {"elliptic with one coefficient", SC_CONTACT_ELLIPTIC, 3, 1, 0, {0.8, 0}, 1, {0}, 0, B_BALL, {R_BALL, R_BALL, 6.4e9 * R_BALL}, 0.8, 1e-12, 0},
    {"pyramidal without friction", SC_CONTACT_PYRAMIDAL, 3, 1, 0, {0}, 1, {0}, K_BALL, B_BALL, ALIKE(2e-10 * (1 + 1e-10) * R_BALL), 1e-5, 1e-12, 0},
    {"solreffriction of damping only", SC_CONTACT_ELLIPTIC, 3, 1, 1, FRICTION3, 1, {0, -5}, 0, 5.263157894736842, ALIKE(R_BALL), 1, 1e-12, 0},
};

/* contact `contact` of the problem, rows from `first` on, against its case; d is 0.95 throughout */
static void compare_contact(near_worst *w, const contact_case *c, const row_problem *q, const sc_problem *p, const sc_rows *rows, int first,
                            int contact) {
  int n = c->type == SC_CONTACT_PYRAMIDAL ? 2 * (c->dim - 1) : c->dim;
  near_relative(w, p->contact_mu[contact], c->mu, c->tolerance, "%s: contact_mu", c->name);
  for (int k = 0; k < n; k++) {
    int i = first + k;
    double K = k ? c->K : K_BALL, B = k ? c->B : B_BALL, R = c->R[k];
    near_relative(w, rows->K[i], K, NEAR_EXACT, "%s: K of row %d", c->name, k);
    near_relative(w, rows->B[i], B, NEAR_EXACT, "%s: B of row %d", c->name, k);
    near_relative(w, rows->d[i], 0.95, NEAR_EXACT, "%s: d of row %d", c->name, k);
    near_relative(w, rows->dp[i], 0, 0, "%s: dp of row %d", c->name, k);
    near_relative(w, rows->R[i], R, c->tolerance, "%s: R of row %d", c->name, k);
    near_relative(w, p->efc_D[i], 1 / R, c->tolerance, "%s: D of row %d", c->name, k);
    near_relative(w, rows->diagA[i], 19 * R, c->tolerance, "%s: stored diagA of row %d", c->name, k);
    near_relative(w, p->efc_aref[i], -B * q->vel[i] - K * 0.95 * (q->pos[i] - q->margin[i]), NEAR_EXACT, "%s: aref of row %d", c->name, k);
  }
  for (int k = 0; k < 5; k++)
    near_relative(w, p->contact_friction[5 * contact + k], fmax(1e-5, c->friction[k]), 0, "%s: coefficient %d", c->name, k);
}

static void make_ball(row_problem *q, const contact_case *c) {
  start(q);
  add_contact(q, c->type, c->dim, c->friction);
  q->p.impratio = c->impratio, q->p.refsafe = c->refsafe;
  memcpy(q->solreffriction, c->solreffriction, sizeof c->solreffriction);
  if (c->given) q->p.contact_solreffriction = q->solreffriction;
}

Test(rows, contacts_have_the_numbers_of_the_specification) {
  near_worst worst = {0};
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  for (size_t i = 0; i < COUNT(contact_cases); i++) {
    row_problem q;
    sc_problem p;
    sc_rows rows;
    make_ball(&q, &contact_cases[i]);
    evaluate(&t, &q, &p, &rows);
    compare_contact(&worst, &contact_cases[i], &q, &p, &rows, 0, 0);
    cr_expect_eq(rows.flags, contact_cases[i].flags, "%s: flags are %#x, not %#x", contact_cases[i].name, rows.flags, contact_cases[i].flags);
  }
  near_report(&worst);
  close_run(&t);
}

/* solref, solimp and diagonal of a contact's other rows have no effect */
Test(rows, a_contact_has_the_parameters_of_its_first_row) {
  near_worst worst = {0};
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  for (size_t i = 0; i < COUNT(contact_cases); i++) {
    row_problem q;
    sc_problem p;
    sc_rows rows;
    make_ball(&q, &contact_cases[i]);
    for (int r = 1; r < q.p.nefc; r++) q.solref[2 * r] = -7 * r, q.solref[2 * r + 1] = -r, q.solimp[5 * r] = q.solimp[5 * r + 1] = 0.3, q.diagA[r] = 11;
    evaluate(&t, &q, &p, &rows);
    compare_contact(&worst, &contact_cases[i], &q, &p, &rows, 0, 0);
    cr_expect_eq(rows.flags, contact_cases[i].flags, "%s: flags are %#x, not %#x", contact_cases[i].name, rows.flags, contact_cases[i].flags);
  }
  near_report(&worst);
  close_run(&t);
}

Test(rows, each_contact_has_its_own_friction) {
  static const int chosen[] = {4, 16, 9}; /* alike in impratio; the second is the pyramid of dim 4 */
  near_worst worst = {0};
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  row_problem q;
  sc_problem p;
  sc_rows rows;
  int first[3];
  start(&q);
  q.p.refsafe = 0, q.p.contact_solreffriction = q.solreffriction;
  for (int i = 0; i < 3; i++) {
    const contact_case *c = &contact_cases[chosen[i]];
    add_row(&q, SC_LIMIT_JOINT, i, 0, 0, 0);
    first[i] = add_contact(&q, c->type, c->dim, c->friction);
    memcpy(q.solreffriction + 2 * i, c->solreffriction, sizeof c->solreffriction);
  }
  evaluate(&t, &q, &p, &rows);
  for (int i = 0; i < 3; i++) {
    compare_contact(&worst, &contact_cases[chosen[i]], &q, &p, &rows, first[i], i);
    near_relative(&worst, rows.R[first[i] - 1], 0.5 / 9, NEAR_EXACT, "R of the limit before contact %d", i);
  }
  near_report(&worst);
  close_run(&t);
}

/* ------------------------------------------------------------------ one impedance for a block of equality rows */

typedef struct {
  const char *name;
  int n, ids, id[6], limit; /* ids: handed over; limit: number of the row that is a limit, or -1 */
  double pos[6], d[6], dp[6];
} block_case;

static const block_case block_cases[] = {
    {"connect", 3, 1, {4, 4, 4}, -1, {0.003, -0.004, 0.012}, {0.93775, 0.93775, 0.93775}, {3.5, 3.5, 3.5}},
    {"weld", 6, 1, {4, 4, 4, 4, 4, 4}, -1, {0.003, -0.004, 0, 0, -0.012, 0}, SIX(0.93775), SIX(3.5)},
    {"id 0 is an id", 3, 1, {0}, -1, {0.003, -0.004, 0.012}, {0.93775, 0.93775, 0.93775}, {3.5, 3.5, 3.5}},
    {"violation along the axes", 2, 1, {4, 4}, -1, {0, -0.004}, {0.904, 0.904}, {2, 2}},
    {"no ids", 3, 0, {0}, -1, {0.003, -0.004, 0.012}, {0.90225, 0.904, 0.934}, {1.5, -2, 4}},
    {"different ids", 3, 1, {4, 5, 6}, -1, {0.003, -0.004, 0.012}, {0.90225, 0.904, 0.934}, {1.5, -2, 4}},
    {"two of one, one of another", 3, 1, {4, 4, 5}, -1, {0.003, -0.004, 0.012}, {0.90625, 0.90625, 0.934}, {2.5, 2.5, 4}},
    {"one of one, two of another", 3, 1, {5, 4, 4}, -1, {0.012, -0.004, 0.003}, {0.934, 0.90625, 0.90625}, {4, 2.5, 2.5}},
    {"a limit between", 3, 1, {4, 4, 4}, 1, {0.003, -0.004, 0.012}, {0.90225, 0.904, 0.934}, {1.5, -2, 4}},
    {"a limit after", 3, 1, {4, 4, 4}, 2, {0.003, -0.004, 0.012}, {0.90625, 0.90625, 0.934}, {2.5, 2.5, 4}},
    {"outside the width", 2, 1, {4, 4}, -1, {0.016, 0.012}, {0.95, 0.95}, {0, 0}},
};

Test(rows, equality_rows_of_one_id_share_an_impedance) {
  near_worst worst = {0};
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  for (size_t i = 0; i < COUNT(block_cases); i++) {
    const block_case *c = &block_cases[i];
    row_problem q;
    sc_problem p;
    sc_rows rows;
    start(&q);
    for (int k = 0; k < c->n; k++) add_row(&q, k == c->limit ? SC_LIMIT_JOINT : SC_EQUALITY, k % NV, c->pos[k], 0, 0.3);
    memcpy(q.id, c->id, sizeof c->id);
    if (c->ids) q.p.efc_id = q.id;
    evaluate(&t, &q, &p, &rows);
    for (int k = 0; k < c->n; k++) {
      near_relative(&worst, rows.d[k], c->d[k], NEAR_EXACT, "%s: d of row %d", c->name, k);
      near_relative(&worst, rows.dp[k], c->dp[k], NEAR_EXACT, "%s: dp of row %d", c->name, k);
      near_relative(&worst, rows.R[k], 0.5 * (1 - c->d[k]) / c->d[k], 1e-12, "%s: R of row %d", c->name, k);
      near_relative(&worst, p.efc_aref[k], -B_BALL * 0.3 - K_BALL * c->d[k] * c->pos[k], NEAR_EXACT, "%s: aref of row %d", c->name, k);
    }
  }
  near_report(&worst);
  close_run(&t);
}

/* rows of one block may differ in solref and solimp, and do so without effect on each other */
Test(rows, equality_rows_of_one_id_keep_their_own_solref) {
  static const double K[] = {K_BALL, 1108.033240997230, K_BALL}, B[] = {B_BALL, 0, B_BALL}, d[] = {0.93775, 0.93775, 0.8};
  near_worst worst = {0};
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  row_problem q;
  sc_problem p;
  sc_rows rows;
  start(&q);
  for (int k = 0; k < 3; k++) add_row(&q, SC_EQUALITY, k, k == 0 ? 0.013 : 0, 0, 0);
  q.p.efc_id = q.id;
  q.solref[2] = -1000, q.solref[3] = 0;
  q.solimp[10] = 0.65, q.solimp[12] = 0; /* flat: the mean of 0.65 and 0.95 */
  evaluate(&t, &q, &p, &rows);
  for (int k = 0; k < 3; k++) {
    near_relative(&worst, rows.K[k], K[k], NEAR_EXACT, "K of row %d", k);
    near_relative(&worst, rows.B[k], B[k], NEAR_EXACT, "B of row %d", k);
    near_relative(&worst, rows.d[k], d[k], NEAR_EXACT, "d of row %d", k);
  }
  near_report(&worst);
  close_run(&t);
}

/* ------------------------------------------------------------------ single rows */

typedef struct {
  const char *name;
  int type;
  double pos, margin, J, solimp[5], K, B, d, dp, R, aref; /* vel = 0.3 J */
} single_case;

static const single_case single_cases[] = {
    {"equality", SC_EQUALITY, -0.04, 0, 1, {0.8, 0.9, 0.1, 0.5, 2}, 3086.419753086419, 111.1111111111111, 0.832, -1.6, 0.10096153846153841,
     69.38271604938268},
    {"dry friction", SC_FRICTION_DOF, 0, 0, 1, {0.9, 0.95, 0.001, 0.5, 2}, 0, B_BALL, 0.9, 0, 0.05555555555555554, -31.578947368421055},
    {"dry friction anywhere", SC_FRICTION_TENDON, -0.04, 0.3, 1, {0.9, 0.95, 0.001, 0.5, 2}, 0, B_BALL, 0.9, 0, 0.05555555555555554, -31.578947368421055},
    {"upper limit", SC_LIMIT_JOINT, -0.01, 0.02, -1, {0.9, 0.95, 0.05, 0.5, 2}, K_BALL, B_BALL, 0.934, -1.6, 0.03533190578158461, 109.196675900277},
    {"tendon limit", SC_LIMIT_TENDON, -0.01, 0.02, -1, {0.9, 0.95, 0.05, 0.5, 2}, K_BALL, B_BALL, 0.934, -1.6, 0.03533190578158461, 109.196675900277},
    {"contact", SC_CONTACT_FRICTIONLESS, -0.01, 0.02, -1, {0.9, 0.95, 0.05, 0.5, 2}, K_BALL, B_BALL, 0.934, -1.6, 0.03533190578158461, 109.196675900277},
};

static void compare_singles(near_worst *w, const char *how, const sc_problem *p, const sc_rows *rows) {
  for (int i = 0; i < (int)COUNT(single_cases); i++) {
    const single_case *c = &single_cases[i];
    near_relative(w, rows->K[i], c->K, NEAR_EXACT, "%s, %s: K", c->name, how);
    near_relative(w, rows->B[i], c->B, NEAR_EXACT, "%s, %s: B", c->name, how);
    near_relative(w, rows->d[i], c->d, NEAR_EXACT, "%s, %s: d", c->name, how);
    near_relative(w, rows->dp[i], c->dp, NEAR_EXACT * 10, "%s, %s: dp", c->name, how);
    near_relative(w, rows->R[i], c->R, 1e-12, "%s, %s: R", c->name, how);
    near_relative(w, p->efc_D[i], 1 / c->R, 1e-12, "%s, %s: D", c->name, how);
    near_relative(w, rows->diagA[i], 0.5, 1e-12, "%s, %s: stored diagA", c->name, how);
    near_relative(w, p->efc_aref[i], c->aref, 1e-12, "%s, %s: aref", c->name, how);
  }
}

Test(rows, single_rows_have_the_numbers_of_the_specification) {
  near_worst worst = {0};
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  row_problem q;
  sc_problem p;
  sc_rows rows;
  start(&q);
  q.p.timestep = 0.002, q.p.impratio = 10; /* which is the business of cones only */
  for (size_t i = 0; i < COUNT(single_cases); i++) {
    const single_case *c = &single_cases[i];
    int r = add_row(&q, c->type, 2, c->pos, c->margin, 0.3 * c->J);
    q.J[r * NV + 2] = c->J;
    memcpy(q.solimp + 5 * r, c->solimp, sizeof c->solimp);
  }
  evaluate(&t, &q, &p, &rows);
  compare_singles(&worst, "diagA given", &p, &rows);
  q.p.efc_diagA = NULL;
  evaluate(&t, &q, &p, &rows);
  compare_singles(&worst, "diagA exact", &p, &rows);
  cr_expect_eq(rows.flags, 0, "flags are %#x", rows.flags);
  near_report(&worst);
  close_run(&t);
}

Test(rows, the_ball_bounces_as_in_the_specification) {
  near_worst worst = {0};
  EACH_BACKEND(backend) {
    test_run t = open_run(backend, 1, SC_F64, 1e-15, 1);
    row_problem q;
    start(&q);
    add_row(&q, SC_CONTACT_FRICTIONLESS, 2, -0.01, 0.02, -0.1);
    CALL(sc_batch_set(t.batch, 0, &q.p));
    solve_run(&t);
    cr_expect_eq(t.r.status[0], SC_SOLVED, "%s: %s", backend, sc_status_name(t.r.status[0]));
    near_relative(&worst, run_force(&t, 0)[0], 188.639, 1e-6, "%s: force", backend);
    near_relative(&worst, run_qacc(&t, 0)[2], 84.5095, 1e-6, "%s: acceleration", backend);
    close_run(&t);
  }
  near_report(&worst);
}

/* numbers of any kind: the batch makes of a row what sc_row_eval makes of it */
static void random_row(row_problem *q, test_random *random, sc_row_input *in) {
  int type = (int)(random_bits(random) % SC_CONTACT_PYRAMIDAL), direct = random_unit(random) < 0.3;
  start(q);
  sc_row_init(in);
  add_row(q, type, 0, 0.1 * random_signed(random) * random_scale(random, 4), 0.05 * random_unit(random), random_signed(random));
  for (int i = 0; i < 2; i++) q->solref[i] = direct ? random_signed(random) * random_scale(random, 6) : random_scale(random, 6);
  const double imp[] = {1.1 * random_unit(random), 1.1 * random_unit(random), random_scale(random, 4), random_unit(random), 4 * random_unit(random)};
  memcpy(q->solimp, imp, sizeof imp);
  q->diagA[0] = random_scale(random, 8), q->curvature[0] = random_signed(random), q->p.efc_curvature = q->curvature;
  q->p.timestep = random_scale(random, 4), q->p.refsafe = random_unit(random) < 0.5;
  in->type = type, in->refsafe = q->p.refsafe, in->pos = q->pos[0], in->margin = q->margin[0], in->vel = q->vel[0], in->timestep = q->p.timestep;
  in->diagA = q->diagA[0], in->curvature = q->curvature[0];
  memcpy(in->solref, q->solref, sizeof in->solref);
  memcpy(in->solimp, q->solimp, sizeof in->solimp);
}

Test(rows, a_row_is_the_same_alone_and_in_a_batch) {
  near_worst worst = {0};
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  test_random random = {42};
  unsigned seen = 0;
  for (int i = 0; i < 2000; i++) {
    row_problem q;
    sc_row_input in;
    sc_row_output out;
    sc_problem p;
    sc_rows rows;
    random_row(&q, &random, &in);
    CALL(sc_row_eval(&in, &out));
    evaluate(&t, &q, &p, &rows);
    const struct { const char *name; double batch, alone; } fields[] = {{"K", rows.K[0], out.K}, {"B", rows.B[0], out.B},   {"d", rows.d[0], out.d},
                                                                        {"dp", rows.dp[0], out.dp}, {"R", rows.R[0], out.R}, {"D", p.efc_D[0], out.D},
                                                                        {"aref", p.efc_aref[0], out.aref}};
    for (size_t k = 0; k < COUNT(fields); k++) near_relative(&worst, fields[k].batch, fields[k].alone, 1e-14, "row %d: %s", i, fields[k].name);
    cr_expect_eq(rows.flags, out.flags, "row %d: flags are %#x in the batch, %#x alone", i, rows.flags, out.flags);
    seen |= 1u << out.flags;
  }
  cr_expect_eq(seen, 0xf, "of the four combinations of flags some never occurred: %#x", seen);
  near_report(&worst);
  close_run(&t);
}

/* ------------------------------------------------------------------ diagonal, curvature, adhesion */

/* J M^-1 J' by hand: det M = 41/8, and the adjoint is (47 -24 2; -24 96 -8; 2 -8 28)/16 */
static const struct { int type; double J[NV], diagA; } exact_cases[] = {
    {SC_EQUALITY, {1, -1, 0.5}, 104.0 / 41},
    {SC_LIMIT_JOINT, {0, 0, 2}, 56.0 / 41},
    {SC_FRICTION_DOF, {0, 1, 0}, 48.0 / 41},
    {SC_CONTACT_FRICTIONLESS, {-1, 0, 0}, 23.5 / 41},
};

static void make_exact(row_problem *q, int sparse) {
  static const double M[] = {2, 0.5, 0, 0.5, 1, 0.25, 0, 0.25, 3}, lower[] = {2, 0.5, 1, 0.25, 3};
  static const int nnz[] = {1, 2, 2}, adr[] = {0, 1, 3}, col[] = {0, 0, 1, 1, 2};
  start(q);
  memcpy(q->M, M, sizeof M);
  q->M[1] = q->M[2] = q->M[5] = NAN; /* the upper triangle is not read */
  for (size_t i = 0; i < COUNT(exact_cases); i++) memcpy(q->J + NV * add_row(q, exact_cases[i].type, 0, 0, 0, 0), exact_cases[i].J, sizeof(double) * NV);
  q->p.efc_diagA = NULL;
  if (sparse) q->p.M = lower, q->p.M_rownnz = nnz, q->p.M_rowadr = adr, q->p.M_colind = col;
}

Test(rows, without_diagA_it_is_exact) {
  near_worst worst = {0};
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  for (int sparse = 0; sparse < 2; sparse++) {
    row_problem q;
    sc_problem p;
    sc_rows rows;
    make_exact(&q, sparse);
    evaluate(&t, &q, &p, &rows);
    for (int i = 0; i < q.p.nefc; i++) {
      near_relative(&worst, rows.R[i], exact_cases[i].diagA / 9, NEAR_EXACT, "M %s: R of row %d", sparse ? "sparse" : "dense", i);
      near_relative(&worst, rows.diagA[i], exact_cases[i].diagA, NEAR_EXACT, "M %s: diagA of row %d", sparse ? "sparse" : "dense", i);
    }
  }
  near_report(&worst);
  close_run(&t);
}

/* the final R of a contact follows from the exact diagonal of its first row; a row of zeros has the floor */
Test(rows, without_diagA_contacts_have_that_of_their_first_row) {
  static const double friction[] = {0.5, 0.25, 0, 0, 0};
  near_worst worst = {0};
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  row_problem q;
  sc_problem p;
  sc_rows rows;
  start(&q);
  add_contact(&q, SC_CONTACT_ELLIPTIC, 3, friction);
  add_contact(&q, SC_CONTACT_PYRAMIDAL, 3, friction);
  memset(q.J + NV * add_row(&q, SC_LIMIT_JOINT, 0, 0, 0, 0), 0, sizeof(double) * NV);
  q.M[8] = 4; /* the normal's; J M^-1 J' is 1/4, and 1/4 + 0.25/2 for an edge */
  q.p.efc_diagA = NULL;
  evaluate(&t, &q, &p, &rows);
  const double want[] = {0.25, 0.25, 1, 0.1875, 0.1875, 0.1875, 0.1875};
  for (int i = 0; i < 7; i++) near_relative(&worst, rows.R[i], want[i] / 19, 1e-12, "R of row %d", i);
  near_relative(&worst, rows.R[7], 1e-15, 0, "R of the row of zeros");
  near_report(&worst);
  close_run(&t);
}

Test(rows, an_inertia_that_is_not_positive_is_left_to_the_verdict) {
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  row_problem q;
  make_exact(&q, 0);
  q.M[8] = -3;
  cr_expect_eq(sc_batch_set(t.batch, 0, &q.p), SC_OK, "%s", sc_error_text());
  solve_run(&t);
  cr_expect_eq(t.r.status[0], SC_NOT_SPD, "%s", sc_status_name(t.r.status[0]));
  close_run(&t);
}

Test(rows, curvature_and_adhesion_are_added_to_aref) {
  static const double friction[] = FRICTION6;
  near_worst worst = {0};
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  row_problem q;
  sc_problem plain, pulled;
  sc_rows rows;
  double aref[MOST];
  start(&q);
  add_row(&q, SC_CONTACT_FRICTIONLESS, 2, -0.01, 0.02, -0.1);
  add_row(&q, SC_EQUALITY, 0, 0.003, 0, 0.1);
  add_contact(&q, SC_CONTACT_ELLIPTIC, 3, friction);
  add_contact(&q, SC_CONTACT_PYRAMIDAL, 3, friction);
  q.p.impratio = 5;
  evaluate(&t, &q, &plain, &rows);
  memcpy(aref, plain.efc_aref, sizeof(double) * (size_t)q.p.nefc);
  for (int i = 0; i < q.p.nefc; i++) q.adhesion[i] = 100 + i, q.curvature[i] = 5 - i;
  q.p.efc_adhesion = q.adhesion, q.p.efc_curvature = q.curvature;
  evaluate(&t, &q, &pulled, &rows);
  for (int i = 0; i < q.p.nefc; i++)
    near_relative(&worst, pulled.efc_aref[i], aref[i] + rows.R[i] * (100 + i) - (5 - i), NEAR_EXACT, "aref of row %d", i);
  near_relative(&worst, rows.R[0], R_BALL, NEAR_EXACT, "R of the frictionless contact");
  near_relative(&worst, rows.R[5], 0.0110484211, 5e-9, "R of the pyramid");
  near_report(&worst);
  close_run(&t);
}
