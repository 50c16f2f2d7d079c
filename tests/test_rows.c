/* sc_batch_set: rows evaluated from parameters against numbers known beforehand, and what it refuses. */
#include "support/near.h"
#include "support/solve.h"

#include <stddef.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define MOST 16             /* rows */
#define NV 3
#define K_BALL 2770.083102493075
#define B_BALL 105.26315789473685
#define R_BALL 0.02631578947368425

/* ------------------------------------------------------------------ building */

/* Rows on a body of 2 kg on three slides, and the memory behind the problem. Do not copy: p points into it. */
typedef struct {
  sc_problem p;
  double M[NV * NV], tau[NV], s[NV], warm[NV], J[MOST * NV];
  double pos[MOST], margin[MOST], vel[MOST], solref[2 * MOST], solimp[5 * MOST], diagA[MOST], curvature[MOST], adhesion[MOST], loss[MOST];
  double D[MOST], aref[MOST], friction[15], solreffriction[6], mu[3];
  int type[MOST], id[MOST], dim[3];
  double M_values[6];
  int M_rownnz[NV], M_rowadr[NV], M_colind[6], J_rownnz[MOST], J_rowadr[MOST], J_colind[MOST * NV];
} row_problem;

static void start(row_problem *q) {
  memset(q, 0, sizeof *q);
  sc_problem_init(&q->p);
  q->p.nv = NV, q->p.timestep = 0.005;
  for (int i = 0; i < NV; i++) q->M[i * NV + i] = 2;
  q->tau[2] = -2 * 9.81, q->s[2] = -9.81;
  q->p.M = q->M, q->p.qfrc_smooth = q->tau, q->p.efc_type = q->type, q->p.efc_J = q->J, q->p.efc_frictionloss = q->loss;
  q->p.efc_pos = q->pos, q->p.efc_margin = q->margin, q->p.efc_vel = q->vel, q->p.efc_solref = q->solref, q->p.efc_solimp = q->solimp;
  q->p.efc_diagA = q->diagA, q->p.contact_dim = q->dim, q->p.contact_friction = q->friction;
}

/* append a row with the parameters of the base case; J is the unit vector of `axis`; returns its number */
static int add_row(row_problem *q, int type, int axis, double pos, double margin, double vel) {
  static const double solimp[] = {0.9, 0.95, 0.02, 0.5, 2};
  int r = q->p.nefc++;
  cr_assert_lt(r, MOST);
  q->type[r] = type, q->pos[r] = pos, q->margin[r] = margin, q->vel[r] = vel, q->diagA[r] = 0.5;
  q->solref[2 * r] = 0.02, q->solref[2 * r + 1] = 1;
  memcpy(q->solimp + 5 * r, solimp, sizeof solimp);
  q->J[r * NV + axis] = 1;
  return r;
}

/* append the ball's contact: 0.01 m deep, margin 0.02, sinking by 0.1 and sliding by 0.3 m/s; spin and rolls are not there */
static int add_contact(row_problem *q, int type, int dim, const double *friction) {
  int first = q->p.nefc, c = q->p.ncon++, pyramid = type == SC_CONTACT_PYRAMIDAL;
  q->dim[c] = dim;
  memcpy(q->friction + 5 * c, friction, 5 * sizeof *friction);
  for (int k = 0; k < (pyramid ? 2 * (dim - 1) : dim); k++) {
    int along = pyramid ? k / 2 : k - 1; /* of the five coefficients */
    double mu = along < 0 ? 0 : fmax(1e-5, friction[along]) * (k % 2 ? -1 : 1);
    int r = add_row(q, type, 2, pyramid || k == 0 ? -0.01 : 0, pyramid || k == 0 ? 0.02 : 0, k == 0 || pyramid ? -0.1 : 0.3);
    if (pyramid && along < 2) q->vel[r] += mu * 0.3, q->J[r * NV + along] = mu;
    if (!pyramid && k > 0) q->J[r * NV + 2] = 0;
    if (!pyramid && (k == 1 || k == 2)) q->J[r * NV + k - 1] = 1;
    q->diagA[r] = pyramid ? 0.5 + mu * mu * (along < 2 ? 0.5 : 0) : k < 3 ? 0.5 : 0;
  }
  return first;
}

/* what the batch makes of the problem in its environment 0 */
static void evaluate(const test_run *t, const row_problem *q, sc_problem *p, sc_rows *rows) {
  CALL(sc_batch_set(t->batch, 0, &q->p));
  CALL(sc_batch_get(t->batch, 0, p, rows));
  cr_assert(p->nefc == q->p.nefc && rows->K && rows->diagA && !rows->bad);
}

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

/* ------------------------------------------------------------------ refusals */

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

Test(rows, numbers_that_are_not_valid_are_bad_input_and_harm_nobody) {
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

Test(rows, problems_that_are_not_legal_change_nothing) {
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

Test(rows, calls_that_are_not_legal_are_refused) {
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
Test(rows, what_is_optional_may_be_missing) {
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
