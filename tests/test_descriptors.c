/* Rows from descriptors, without MuJoCo: order, presence, numbers that are known, and errors. test_assemble.c compares
 * them with MuJoCo's. */
#include "softcon_rows.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static sc_assembly *assembly;
static sc_context *context;
static sc_batch *batch;

static void open_all(void) {
  cr_assert_eq(sc_assembly_create(&assembly), SC_OK);
  cr_assert_eq(sc_context_create(NULL, &context), SC_OK);
  cr_assert_eq(sc_batch_create(context, 1, &batch), SC_OK);
}

static void close_all(void) {
  sc_batch_destroy(batch);
  sc_context_destroy(context);
  sc_assembly_destroy(assembly);
}

TestSuite(descriptors, .init = open_all, .fini = close_all);

static sc_assembly_options options(int nv) {
  sc_assembly_options o;
  sc_assembly_options_init(&o);
  o.nv = nv;
  return o;
}

static void begin(const sc_assembly_options *o) {
  cr_assert_eq(sc_assembly_begin(assembly, o), SC_OK, "%s", sc_error_text());
}

static sc_problem finish(void) {
  sc_problem p;
  cr_assert_eq(sc_assembly_problem(assembly, &p), SC_OK, "%s", sc_error_text());
  return p;
}

/* the rows with M = diag(mass), evaluated */
static sc_rows evaluate(sc_problem *p, double mass) {
  static double M[64], force[8];
  sc_rows rows;
  for (int i = 0; i < p->nv; i++)
    for (int j = 0; j < p->nv; j++) M[i * p->nv + j] = i == j ? mass : 0;
  p->M = M, p->qfrc_smooth = force;
  cr_assert_eq(sc_batch_set(batch, 0, p), SC_OK, "%s", sc_error_text());
  cr_assert_eq(sc_batch_get(batch, 0, p, &rows), SC_OK);
  return rows;
}

static void near(double value, double want, double relative, const char *what) {
  cr_expect(fabs(value - want) <= relative * fmax(fabs(want), 1e-3), "%s is %.17g, not %.17g", what, value, want);
}

static const double one = 1;
static const int zero = 0;
static const sc_sparse_row first_dof = {1, &zero, &one};

/* ------------------------------------------------------------------ bodies */

/* a body with three slides and the world's axes, mass 2: the sphere of rows.md 9.2 */
static const int xyz[3] = {0, 1, 2};
static const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, still[9];

static sc_body slides(void) {
  sc_body b;
  sc_body_init(&b);
  b.n = 3, b.dof = xyz, b.Jp = unit, b.Jr = still;
  b.invweight[0] = .5;
  return b;
}

static sc_contact sphere_on_plane(const sc_body *body) {
  sc_contact c;
  sc_contact_init(&c);
  const double frame[9] = {0, 0, 1, 0, 1, 0, -1, 0, 0}, friction[5] = {.8, .4, .05, .01, .02};
  c.body[1] = body;
  c.dist = -.01, c.margin = .02, c.dim = 1;
  c.solimp[2] = .02;
  memcpy(c.frame, frame, sizeof frame);
  memcpy(c.friction, friction, sizeof friction);
  return c;
}

/* ------------------------------------------------------------------ known numbers */

Test(descriptors, frictionless_sphere) {
  const double qvel[3] = {0, 0, -.1};
  sc_assembly_options o = options(3);
  sc_body b = slides();
  sc_contact c = sphere_on_plane(&b);
  o.timestep = .005, o.qvel = qvel;
  begin(&o);
  cr_assert_eq(sc_assembly_contact(assembly, &c, NULL), SC_OK);
  sc_problem p = finish();
  cr_assert_eq(p.nefc, 1);
  cr_expect_eq(p.efc_type[0], SC_CONTACT_FRICTIONLESS);
  near(p.efc_diagA[0], .5, 1e-15, "diagonal");
  sc_rows r = evaluate(&p, 2);
  near(r.K[0], 2770.083102493075, 1e-14, "K");
  near(r.B[0], 105.26315789473685, 1e-14, "B");
  near(r.d[0], .95, 1e-15, "d");
  near(r.R[0], .02631578947368425, 1e-14, "R");
  near(p.efc_aref[0], 89.47368421052632, 1e-13, "aref");
}

Test(descriptors, cones) {
  static const struct {
    int cone, rows;
    double impratio, R[10];
  } cases[] = {{1, 6, 1, {.0263157895, .0263157895, .105263158, 6.736842105, 168.4210526, 42.10526316}},
               {1, 6, 10, {.0263157895, .00263157895, .0105263158, .6736842105, 16.84210526, 4.210526316}},
               {0,
                10,
                1,
                {.0552421053, .0552421053, .0552421053, .0552421053, .0552421053, .0552421053, .0552421053, .0552421053,
                 .0552421053, .0552421053}},
               {0,
                10,
                5,
                {.0110484211, .0110484211, .0110484211, .0110484211, .0110484211, .0110484211, .0110484211, .0110484211,
                 .0110484211, .0110484211}}};
  sc_body b = slides();
  sc_contact c = sphere_on_plane(&b);
  c.dim = 6;
  for (int i = 0; i < COUNT(cases); i++) {
    sc_assembly_options o = options(3);
    o.cone = cases[i].cone, o.impratio = cases[i].impratio, o.timestep = .005;
    begin(&o);
    cr_assert_eq(sc_assembly_contact(assembly, &c, NULL), SC_OK);
    sc_problem p = finish();
    cr_assert_eq(p.nefc, cases[i].rows);
    cr_assert_eq(p.ncon, 1);
    if (!o.cone) near(p.efc_diagA[0], .82, 1e-15, "diagonal of a pyramid's first edge");
    sc_rows r = evaluate(&p, 2);
    for (int k = 0; k < p.nefc; k++) near(r.R[k], cases[i].R[k], 1e-8, "R");
  }
}

/* equality, friction and limit on one slide: the mixed-row table of rows.md 9.2 */
Test(descriptors, mixed_rows) {
  const double qvel[1] = {.3};
  sc_assembly_options o = options(1);
  o.qvel = qvel;
  begin(&o);
  sc_limit l;
  sc_limit_init(&l);
  l.x = .11, l.J = first_dof, l.range[0] = -1, l.range[1] = .1, l.margin = .02, l.invweight = .5, l.solimp[2] = .05;
  cr_assert_eq(sc_assembly_limit(assembly, &l), SC_OK);
  sc_friction f;
  sc_friction_init(&f);
  f.J = first_dof, f.frictionloss = 2, f.invweight = .5;
  cr_assert_eq(sc_assembly_friction(assembly, &f), SC_OK);
  sc_equality e;
  sc_equality_init(&e);
  e.x1 = .11, e.J1 = first_dof, e.polycoef[0] = .15, e.invweight = .5, e.solimp[0] = .8, e.solimp[1] = .9,
  e.solimp[2] = .1;
  cr_assert_eq(sc_assembly_equality(assembly, &e), SC_OK);
  sc_problem p = finish();
  cr_assert_eq(p.nefc, 3);
  sc_rows r = evaluate(&p, 2);
  static const struct {
    int type;
    double pos, margin, J, K, B, d, dp, R, aref;
  } want[3] = {{SC_EQUALITY, -.04, 0, 1, 3086.419753086419, 111.1111111111111, .832, -1.6, .10096153846153841,
                69.38271604938268},
               {SC_FRICTION_DOF, 0, 0, 1, 0, 105.26315789473685, .9, 0, .05555555555555554, -31.578947368421055},
               {SC_LIMIT_JOINT, -.01, .02, -1, 2770.083102493075, 105.26315789473685, .934, -1.6, .03533190578158461,
                109.196675900277}};
  for (int i = 0; i < 3; i++) {
    cr_expect_eq(p.efc_type[i], want[i].type);
    near(p.efc_pos[i], want[i].pos, 1e-13, "pos");
    near(p.efc_margin[i], want[i].margin, 1e-15, "margin");
    near(p.efc_J[p.J_rowadr[i]], want[i].J, 0, "J");
    near(r.K[i], want[i].K, 1e-13, "K");
    near(r.B[i], want[i].B, 1e-13, "B");
    near(r.d[i], want[i].d, 1e-13, "d");
    near(r.dp[i], want[i].dp, 1e-12, "d'");
    near(r.R[i], want[i].R, 1e-12, "R");
    near(p.efc_aref[i], want[i].aref, 1e-12, "aref");
  }
}

/* a polynomial's residual and slope: x1 - P(x2), J1 - P'(x2) J2; dofs of both rows merged */
Test(descriptors, polynomial) {
  const int d1[2] = {1, 3}, d2[3] = {0, 3, 4};
  const double v1[2] = {2, 5}, v2[3] = {1, -1, .5}, c[5] = {.1, .7, -.3, .2, .5}, x = .4;
  const double slope = c[1] + 2 * c[2] * x + 3 * c[3] * x * x + 4 * c[4] * x * x * x;
  const int dofs[4] = {0, 1, 3, 4};
  const double values[4] = {-slope, 2, 5 + slope, -.5 * slope};
  sc_assembly_options o = options(5);
  begin(&o);
  sc_equality e;
  sc_equality_init(&e);
  e.coupled = 1, e.x1 = .3, e.x2 = x;
  e.J1 = (sc_sparse_row){2, d1, v1}, e.J2 = (sc_sparse_row){3, d2, v2};
  memcpy(e.polycoef, c, sizeof c);
  cr_assert_eq(sc_assembly_equality(assembly, &e), SC_OK);
  sc_problem p = finish();
  cr_assert_eq(p.J_rownnz[0], 4);
  for (int k = 0; k < 4; k++) {
    cr_expect_eq(p.J_colind[k], dofs[k]);
    near(p.efc_J[k], values[k], 1e-15, "J");
  }
  near(p.efc_pos[0], .3 - (.1 + .7 * x - .3 * x * x + .2 * x * x * x + .5 * x * x * x * x), 1e-15, "residual");
}

Test(descriptors, ball_angle) {
  static const struct {
    double quat[4], angle, axis[3];
  } cases[] = {{{1, 0, 0, 0}, 0, {1, 0, 0}},
               {{-1, 0, 0, 0}, 0, {1, 0, 0}},
               {{0, 0, 0, 0}, 0, {1, 0, 0}},
               {{0, 0, 2, 0}, 3.14159265358979323846, {0, 1, 0}},
               {{5, 0, 0, 5}, 1.57079632679489661923, {0, 0, 1}},
               {{-5, 0, 0, 5}, 1.57079632679489661923, {0, 0, -1}},
               {{1, 1e-9, 0, 0}, 2e-9, {1, 0, 0}},
               {{.5, -.5, .5, -.5},
                2.09439510239319549231,
                {-.57735026918962576451, .57735026918962576451, -.57735026918962576451}}};
  for (int i = 0; i < COUNT(cases); i++) {
    sc_assembly_options o = options(4);
    begin(&o);
    sc_ball_limit l;
    sc_ball_limit_init(&l);
    l.dof = 1, l.range[0] = .7, l.range[1] = .2, l.margin = 10;
    memcpy(l.quat, cases[i].quat, sizeof l.quat);
    cr_assert_eq(sc_assembly_ball_limit(assembly, &l), SC_OK);
    sc_problem p = finish();
    cr_assert_eq(p.nefc, 1);
    near(p.efc_pos[0], .7 - cases[i].angle, 1e-14, "distance");
    for (int k = 0; k < 3; k++) near(p.efc_J[k], -cases[i].axis[k], 1e-14, "J");
    cr_expect_eq(p.J_colind[0], 1);
  }
}

/* ------------------------------------------------------------------ order and presence */

/* one descriptor of a kind 0 .. 5 in MuJoCo's order, with one row */
static void add_kind(int kind, int id) {
  sc_equality e;
  sc_friction f;
  sc_limit l;
  sc_contact c;
  sc_body b = slides();
  sc_equality_init(&e);
  sc_friction_init(&f);
  sc_limit_init(&l);
  e.id = f.id = l.id = id;
  e.J1 = f.J = l.J = first_dof;
  e.x1 = 100 * kind + id;
  f.frictionloss = f.invweight = 100 * kind + id + 1;
  l.range[0] = 0, l.margin = 1000, l.x = 100 * kind + id;
  f.tendon = kind == 2, l.tendon = kind == 4;
  c = sphere_on_plane(&b);
  c.id = id, c.dim = id % 3 ? 3 : 1;
  c.dist = -(100 * kind + id);
  int code = kind == 0   ? sc_assembly_equality(assembly, &e)
             : kind <= 2 ? sc_assembly_friction(assembly, &f)
             : kind <= 4 ? sc_assembly_limit(assembly, &l)
                         : sc_assembly_contact(assembly, &c, NULL);
  cr_assert_eq(code, SC_OK, "%s", sc_error_text());
}

Test(descriptors, order) {
  enum { IDS = 17, ADDED = 6 * IDS };
  sc_assembly_options o = options(3);
  o.cone = 1;
  begin(&o);
  for (int i = 0; i < ADDED; i++) {
    int k = i * 61 % ADDED; /* every one once: 61 and 102 have no common divisor */
    add_kind(k % 6, k / 6);
    if (i == ADDED / 2) finish(); /* in between is allowed */
  }
  sc_problem p = finish();
  int row = 0, contact = 0;
  for (int kind = 0; kind < 6; kind++)
    for (int id = 0; id < IDS; id++) {
      int rows = kind == 5 && id % 3 ? 3 : 1;
      double pos = kind == 5 ? -(500 + id) : kind == 1 || kind == 2 ? 0 : 100 * kind + id;
      cr_assert_eq(p.efc_id[row], id, "row %d: id %d, not %d", row, p.efc_id[row], id);
      cr_expect_eq(p.efc_type[row], kind < 5 ? kind : rows == 1 ? SC_CONTACT_FRICTIONLESS : SC_CONTACT_ELLIPTIC);
      cr_expect_eq(p.efc_pos[row], pos);
      if (kind == 1 || kind == 2) cr_expect_eq(p.efc_frictionloss[row], 100 * kind + id + 1);
      cr_expect_eq(p.efc_J[p.J_rowadr[row]], kind == 5 ? 0 : 1);
      contact += rows == 3;
      row += rows;
    }
  cr_expect_eq(p.nefc, row);
  cr_expect_eq(p.ncon, contact);
  evaluate(&p, 1);
}

/* the second environment of the same size finds its memory */
Test(descriptors, memory_is_used_again) {
  sc_assembly_options o = options(3);
  const double *J = NULL;
  for (int round = 0; round < 3; round++) {
    begin(&o);
    for (int i = 0; i < 300; i++) add_kind(i % 6, 299 - i);
    sc_problem p = finish();
    if (round) cr_expect_eq(p.efc_J, J);
    J = p.efc_J;
  }
}

Test(descriptors, empty_blocks) {
  const double nothing = 0;
  for (int keep = 0; keep < 2; keep++) {
    sc_assembly_options o = options(2);
    o.keep_zero = keep;
    begin(&o);
    sc_friction f;
    sc_friction_init(&f);
    f.frictionloss = 1;
    cr_assert_eq(sc_assembly_friction(assembly, &f), SC_OK); /* no dofs */
    f.J = (sc_sparse_row){1, &zero, &nothing};
    cr_assert_eq(sc_assembly_friction(assembly, &f), SC_OK); /* a dof, but no motion */
    f.J = first_dof, f.frictionloss = 0;
    cr_assert_eq(sc_assembly_friction(assembly, &f), SC_OK); /* no friction */
    f.frictionloss = 1;
    cr_assert_eq(sc_assembly_friction(assembly, &f), SC_OK);
    sc_problem p = finish();
    cr_assert_eq(p.nefc, 1 + keep);
    cr_expect_eq(p.efc_id[keep], 3, "ids count descriptors without rows as well");
  }
}

Test(descriptors, contact_presence) {
  static const struct {
    double dist, adhesion;
    int body, always, exclude, rows;
  } cases[] = {{.019, 0, 1, 0, SC_INCLUDED, 4}, {.02, 0, 1, 0, SC_IN_GAP, 0},  {.02, 3, 1, 0, SC_INCLUDED, 1},
               {.07, 3, 1, 0, SC_INCLUDED, 1},  {.071, 3, 1, 0, SC_IN_GAP, 0}, {.5, 0, 1, 1, SC_INCLUDED, 4},
               {-.1, 3, 1, 0, SC_INCLUDED, 4},  {-.1, 0, 0, 0, SC_NO_DOFS, 0}, {.1, 0, 0, 0, SC_IN_GAP, 0}};
  sc_body b = slides();
  sc_contact c = sphere_on_plane(&b);
  c.dim = 3, c.gap = .05;
  for (int i = 0; i < COUNT(cases); i++) {
    sc_assembly_options o = options(3);
    int exclude = -1;
    begin(&o);
    c.dist = cases[i].dist, c.adhesion = cases[i].adhesion, c.always = cases[i].always;
    c.body[1] = cases[i].body ? &b : NULL;
    cr_assert_eq(sc_assembly_contact(assembly, &c, &exclude), SC_OK, "%s", sc_error_text());
    sc_problem p = finish();
    cr_expect_eq(exclude, cases[i].exclude, "case %d: exclude %d", i, exclude);
    cr_expect_eq(p.nefc, cases[i].rows, "case %d: %d rows", i, p.nefc);
    for (int k = 0; k < p.nefc && p.efc_adhesion; k++) near(p.efc_adhesion[k], c.adhesion / p.nefc, 1e-15, "adhesion");
  }
}

/* ------------------------------------------------------------------ Jacobians */

/* the same body in three layouts, seen from another point */
Test(descriptors, layouts) {
  enum { NV = 7 };
  const int dof[3] = {1, 4, 5};
  double Jr[9], Jp[9], dense[2][3 * NV], mixed[6 * 3];
  memset(dense, 0, sizeof dense);
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) {
      Jr[3 * i + k] = sin(3 * i + k), Jp[3 * i + k] = cos(5 * i - k);
      dense[0][NV * i + dof[k]] = mixed[6 * k + i] = Jr[3 * i + k];
      dense[1][NV * i + dof[k]] = mixed[6 * k + 3 + i] = Jp[3 * i + k];
    }
  sc_body b[3];
  for (int i = 0; i < 3; i++) sc_body_init(&b[i]), b[i].n = 3, b[i].dof = dof, b[i].point[0] = .1, b[i].point[2] = -.4;
  b[0].Jr = Jr, b[0].Jp = Jp;
  b[1].Jr = dense[0], b[1].Jp = dense[1], b[1].row_stride = NV, b[1].by_dof = 1;
  b[2].Jr = mixed, b[2].Jp = mixed + 3, b[2].row_stride = 1, b[2].dof_stride = 6;
  sc_assembly_options o = options(NV);
  o.cone = 1;
  double first[18];
  for (int i = 0; i < 3; i++) {
    begin(&o);
    sc_contact c = sphere_on_plane(&b[i]);
    c.dim = 6, c.pos[1] = .3;
    cr_assert_eq(sc_assembly_contact(assembly, &c, NULL), SC_OK, "%s", sc_error_text());
    sc_problem p = finish();
    cr_assert_eq(p.J_rownnz[0], 3);
    for (int k = 0; k < 3; k++) cr_expect_eq(p.J_colind[k], dof[k]);
    if (i) cr_expect_arr_eq(p.efc_J, first, sizeof first);
    memcpy(first, p.efc_J, sizeof first);
    /* row 0, along z: Jp + Jr x (pos - point) with pos - point = (-.1, .3, .4) */
    for (int k = 0; k < 3; k++) near(p.efc_J[k], Jp[6 + k] + Jr[k] * .3 + Jr[3 + k] * .1, 1e-14, "J");
  }
}

/* dofs above both bodies of one table are left out of a contact's rows */
Test(descriptors, common_dofs_cancel) {
  enum { NV = 4 };
  const int dofs[2][3] = {{0, 1, 2}, {0, 1, 3}};
  double Jr[3 * NV], Jp[3 * NV];
  for (int i = 0; i < 3 * NV; i++) Jr[i] = sin(i), Jp[i] = cos(i);
  sc_body b[2];
  for (int i = 0; i < 2; i++) {
    sc_body_init(&b[i]);
    b[i].n = 3, b[i].dof = dofs[i], b[i].Jr = Jr, b[i].Jp = Jp, b[i].row_stride = NV, b[i].by_dof = 1;
  }
  sc_assembly_options o = options(NV);
  begin(&o);
  sc_contact c = sphere_on_plane(&b[0]);
  c.body[0] = &b[1];
  cr_assert_eq(sc_assembly_contact(assembly, &c, NULL), SC_OK);
  sc_problem p = finish();
  cr_assert_eq(p.J_rownnz[0], 2);
  cr_expect_eq(p.J_colind[0], 2);
  cr_expect_eq(p.J_colind[1], 3);
  near(p.efc_J[0], Jp[2 * NV + 2], 1e-15, "J of the body in front");
  near(p.efc_J[1], -Jp[2 * NV + 3], 1e-15, "J of the body behind");
}

/* ------------------------------------------------------------------ errors */

#define EXPECT_ERROR(call, want, words)                                                                                \
  do {                                                                                                                 \
    int code_ = (call);                                                                                                \
    cr_expect_eq(code_, want, "%s: %d", #call, code_);                                                                 \
    cr_expect(strstr(sc_error_text(), words), "\"%s\" has no \"%s\"", sc_error_text(), words);                         \
  } while (0)

Test(descriptors, errors_of_scalars) {
  const int back[2] = {1, 0}, out = 3;
  const double values[2] = {1, 1};
  sc_assembly_options o = options(3);
  begin(&o);
  sc_friction f;
  sc_friction_init(&f);
  f.J = first_dof, f.frictionloss = -1, f.id = 5;
  EXPECT_ERROR(sc_assembly_friction(assembly, &f), SC_ERROR_VALUE,
               "sc_assembly_friction: id 5: frictionloss is -1, not finite and >= 0");
  sc_limit l;
  sc_limit_init(&l);
  l.J = (sc_sparse_row){1, &out, &one};
  EXPECT_ERROR(sc_assembly_limit(assembly, &l), SC_ERROR_ARGUMENT, "J.dof[0] is 3, not in 0 .. 2");
  l.J = (sc_sparse_row){2, back, values};
  EXPECT_ERROR(sc_assembly_limit(assembly, &l), SC_ERROR_ARGUMENT, "J.dof[1] is 0, not in 2 .. 2 (dofs ascend)");
  l.J = first_dof, l.x = NAN;
  EXPECT_ERROR(sc_assembly_limit(assembly, &l), SC_ERROR_VALUE, "x is nan");
  l.x = 0, l.range[1] = NAN;
  EXPECT_ERROR(sc_assembly_limit(assembly, &l), SC_ERROR_VALUE, "range[1] is nan");
  l.range[1] = INFINITY, l.solimp[2] = -1;
  EXPECT_ERROR(sc_assembly_limit(assembly, &l), SC_ERROR_VALUE, "solimp width is -1");
  sc_ball_limit b;
  sc_ball_limit_init(&b);
  b.dof = 1;
  EXPECT_ERROR(sc_assembly_ball_limit(assembly, &b), SC_ERROR_ARGUMENT, "dof is 1, not in 0 .. nv-3 = 0");
  sc_equality e;
  sc_equality_init(&e);
  e.J1 = first_dof, e.polycoef[3] = INFINITY;
  EXPECT_ERROR(sc_assembly_equality(assembly, &e), SC_ERROR_VALUE, "polycoef[3] is inf");
  e.polycoef[3] = 0, e.size = 1;
  EXPECT_ERROR(sc_assembly_equality(assembly, &e), SC_ERROR_ARGUMENT, "size is 1");
  sc_problem p = finish();
  cr_expect_eq(p.nefc, 0);
}

Test(descriptors, errors_of_bodies) {
  const int back[3] = {0, 2, 1};
  sc_assembly_options o = options(3);
  begin(&o);
  sc_body b = slides();
  sc_contact c = sphere_on_plane(&b);
  c.dim = 2;
  EXPECT_ERROR(sc_assembly_contact(assembly, &c, NULL), SC_ERROR_ARGUMENT, "dim is 2");
  c.dim = 3, c.friction[1] = -.5;
  EXPECT_ERROR(sc_assembly_contact(assembly, &c, NULL), SC_ERROR_VALUE, "friction[1] is -0.5");
  c.friction[1] = 1, c.dist = NAN;
  EXPECT_ERROR(sc_assembly_contact(assembly, &c, NULL), SC_ERROR_VALUE, "dist is nan");
  c.dist = 0, b.invweight[1] = -1;
  EXPECT_ERROR(sc_assembly_contact(assembly, &c, NULL), SC_ERROR_VALUE, "body[1].invweight[1] is -1");
  b.invweight[1] = 0, b.dof = back;
  EXPECT_ERROR(sc_assembly_contact(assembly, &c, NULL), SC_ERROR_ARGUMENT, "body[1].dof[2] is 1");
  b.dof = xyz, b.Jr = NULL;
  EXPECT_ERROR(sc_assembly_contact(assembly, &c, NULL), SC_ERROR_ARGUMENT, "body[1].Jr is NULL");
  sc_weld w;
  sc_weld_init(&w);
  b = slides();
  w.body[0] = &b, w.quat[1][2] = NAN;
  EXPECT_ERROR(sc_assembly_weld(assembly, &w), SC_ERROR_VALUE, "quat[1][2] is nan");
  sc_connect t;
  sc_connect_init(&t);
  t.body[1] = &b, b.bias[4] = INFINITY;
  EXPECT_ERROR(sc_assembly_connect(assembly, &t), SC_ERROR_VALUE, "body[1].bias[4] is inf");
  cr_expect_eq(finish().nefc, 0);
}

Test(descriptors, errors_of_the_assembly) {
  sc_assembly_options o = options(-1);
  sc_problem p;
  sc_equality e;
  sc_equality_init(&e);
  e.J1 = first_dof, e.id = 4;
  EXPECT_ERROR(sc_assembly_equality(assembly, &e), SC_ERROR_ARGUMENT, "sc_assembly_begin");
  EXPECT_ERROR(sc_assembly_begin(assembly, &o), SC_ERROR_ARGUMENT, "nv is -1");
  o = options(1), o.timestep = 0;
  EXPECT_ERROR(sc_assembly_begin(assembly, &o), SC_ERROR_VALUE, "timestep is 0");
  o = options(1), o.impratio = NAN;
  EXPECT_ERROR(sc_assembly_begin(assembly, &o), SC_ERROR_VALUE, "impratio is nan");
  o = options(1), o.cone = 2;
  EXPECT_ERROR(sc_assembly_begin(assembly, &o), SC_ERROR_ARGUMENT, "cone is 2");
  EXPECT_ERROR(sc_assembly_problem(assembly, &p), SC_ERROR_ARGUMENT, "sc_assembly_begin");
  o = options(1);
  begin(&o);
  cr_assert_eq(sc_assembly_equality(assembly, &e), SC_OK);
  cr_assert_eq(sc_assembly_equality(assembly, &e), SC_OK);
  EXPECT_ERROR(sc_assembly_problem(assembly, &p), SC_ERROR_ARGUMENT, "two equalities have the id 4");
  EXPECT_ERROR(sc_assembly_create(NULL), SC_ERROR_ARGUMENT, "out is NULL");
  sc_assembly_destroy(NULL);
}
