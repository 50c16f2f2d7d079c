/* A million random descriptors: every row must be what the one-row law (sc_row_eval) makes of its numbers. */
#include "softcon_rows.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NV = 12, PER_ENVIRONMENT = 500 };
#ifdef SOFTCON_SANITIZED
enum { ENVIRONMENTS = 20 };
#else
enum { ENVIRONMENTS = 2000 };
#endif

static uint64_t seed = 88172645463325252u;

static double uniform(void) { /* -1 .. 1 */
  seed ^= seed >> 12, seed ^= seed << 25, seed ^= seed >> 27;
  return (double)(int64_t)(seed * 0x2545F4914F6CDD1Du) / 9223372036854775808.0;
}

static int below(int n) { return (int)((uniform() + 1) / 2 * n) % n; }

static double magnitude(double lo, double hi) { return lo * pow(hi / lo, (uniform() + 1) / 2); }

/* both formats, mixed signs and zeros; in and out of bounds */
static void parameters(double *solref, double *solimp) {
  int kind = below(8);
  for (int i = 0; i < 2; i++) {
    double x = kind < 4 ? magnitude(1e-4, 1e2) : -magnitude(1e-3, 1e4);
    solref[i] = kind == 6 && i == below(2) ? -x : kind == 7 && below(2) ? 0 : x;
  }
  for (int i = 0; i < 2; i++) solimp[i] = below(6) ? magnitude(.01, .999) : 2 * uniform();
  if (!below(6)) solimp[1] = solimp[0];
  solimp[2] = below(6) ? magnitude(1e-4, 10) : below(2) ? 0 : 1e-16;
  solimp[3] = below(6) ? .5 + .5 * uniform() : 2 * uniform();
  solimp[4] = below(4) ? 1 + below(3) : magnitude(.5, 8);
}

/* ------------------------------------------------------------------ random descriptors */

static double values[NV], Jr[3 * NV], Jp[3 * NV], qvel[NV];
static int dofs[NV];

static sc_sparse_row random_row(void) {
  int n = 0;
  for (int i = 0; i < NV; i++)
    if (below(3) == 0) dofs[n] = i, values[n++] = uniform();
  if (!n) dofs[0] = 0, values[n++] = 1;
  return (sc_sparse_row){n, dofs, values};
}

static sc_body random_body(int *chain) {
  sc_body b;
  sc_body_init(&b);
  for (int i = 0; i < NV; i++)
    if (below(2)) chain[b.n++] = i;
  for (int i = 0; i < 3 * NV; i++) Jr[i] = uniform(), Jp[i] = uniform();
  for (int i = 0; i < 6; i++) b.bias[i] = uniform();
  b.dof = chain, b.Jr = Jr, b.Jp = Jp, b.row_stride = NV, b.by_dof = 1;
  b.invweight[0] = magnitude(1e-3, 1e3), b.invweight[1] = magnitude(1e-3, 1e3);
  return b;
}

static int add_bodies(sc_assembly *a, int kind) {
  int chain[2][NV];
  sc_body b[2] = {random_body(chain[0]), random_body(chain[1])};
  b[1].point[0] = uniform();
  if (kind == 4) {
    sc_connect c;
    sc_connect_init(&c);
    parameters(c.solref, c.solimp);
    for (int k = 0; k < 2; k++) c.body[k] = &b[k];
    for (int i = 0; i < 6; i++) c.point[i / 3][i % 3] = uniform();
    return sc_assembly_connect(a, &c);
  }
  sc_contact c;
  static const int dims[] = {1, 3, 4, 6};
  sc_contact_init(&c);
  parameters(c.solref, c.solimp);
  c.dim = dims[below(4)];
  for (int k = 0; k < 2; k++) c.body[k] = &b[k];
  for (int i = 0; i < 5; i++) c.friction[i] = below(5) ? magnitude(1e-3, 2) : 0;
  c.dist = -magnitude(1e-5, 1), c.adhesion = below(3) ? 0 : uniform();
  for (int i = 0; i < 3; i++) c.surfacevel[i] = uniform();
  return sc_assembly_contact(a, &c, NULL);
}

static int add_random(sc_assembly *a) {
  int kind = below(7);
  sc_equality e;
  sc_friction f;
  sc_limit l;
  switch (kind) {
  case 0:
    sc_equality_init(&e);
    parameters(e.solref, e.solimp);
    e.J1 = random_row(), e.x1 = magnitude(1e-5, 1), e.invweight = magnitude(1e-3, 1e3);
    return sc_assembly_equality(a, &e);
  case 1:
    sc_friction_init(&f);
    parameters(f.solref, f.solimp);
    f.J = random_row(), f.frictionloss = magnitude(.01, 10), f.tendon = below(2), f.invweight = magnitude(1e-3, 1e3);
    return sc_assembly_friction(a, &f);
  case 2:
  case 3:
    sc_limit_init(&l);
    parameters(l.solref, l.solimp);
    l.J = random_row(), l.tendon = below(2), l.invweight = below(9) ? magnitude(1e-3, 1e3) : 0;
    l.x = uniform(), l.range[0] = uniform(), l.range[1] = uniform(), l.margin = magnitude(1e-3, .1);
    return sc_assembly_limit(a, &l);
  default:
    return add_bodies(a, kind);
  }
}

/* ------------------------------------------------------------------ against the law */

typedef struct {
  double error;
  char text[200];
} worst_case;

static void compare(worst_case *w, int environment, int row, const char *field, double value, double want) {
  double e = value == want ? 0 : fabs(value - want) / fmax(fabs(want), 1e-300);
  if (!isnan(e) && e <= w->error) return;
  w->error = isnan(e) ? INFINITY : e;
  snprintf(w->text, sizeof w->text, "environment %d, row %d: %s is %.17g, the law's %.17g", environment, row, field,
           value, want);
}

static int block_rows(const sc_problem *p, int r, int contact) {
  int n = 1;
  if (p->efc_type[r] == SC_CONTACT_PYRAMIDAL) return 2 * (p->contact_dim[contact] - 1);
  if (p->efc_type[r] == SC_CONTACT_ELLIPTIC) return p->contact_dim[contact];
  while (p->efc_type[r] == SC_EQUALITY && r + n < p->nefc && p->efc_type[r + n] == SC_EQUALITY &&
         p->efc_id[r + n] == p->efc_id[r])
    n++;
  return n;
}

/* rows r .. r+n-1 of `given`, evaluated in `p` and `rows` */
static void check_block(worst_case *w, int env, const sc_problem *given, const sc_problem *p, const sc_rows *rows,
                        int r, int n, int contact) {
  double norm = 0, R0 = 0;
  int cone = p->efc_type[r] >= SC_CONTACT_PYRAMIDAL;
  for (int k = 0; k < n; k++) norm += given->efc_pos[r + k] * given->efc_pos[r + k];
  for (int i = r; i < r + n; i++) {
    const double *friction = given->contact_friction + 5 * contact;
    sc_row_input in;
    sc_row_output out;
    sc_row_init(&in);
    in.type = p->efc_type[i];
    in.refsafe = given->refsafe, in.timestep = given->timestep;
    in.pos = n == 1 || cone ? given->efc_pos[r] : sqrt(norm);
    in.margin = given->efc_margin[r];
    in.vel = given->efc_vel[i], in.diagA = given->efc_diagA[i];
    memcpy(in.solref, given->efc_solref + 2 * i, sizeof in.solref);
    memcpy(in.solimp, given->efc_solimp + 5 * i, sizeof in.solimp);
    cr_assert_eq(sc_row_eval(&in, &out), SC_OK, "%s", sc_error_text());
    if (i == r) R0 = out.R;
    if (i > r && p->efc_type[i] == SC_CONTACT_ELLIPTIC) out.K = 0; /* the contact's impedance without its spring */
    double R = out.R, mu = friction[0];
    if (p->efc_type[i] == SC_CONTACT_PYRAMIDAL) R = 2 * mu * mu * R0 / given->impratio;
    if (p->efc_type[i] == SC_CONTACT_ELLIPTIC && i > r)
      R = R0 / given->impratio * mu * mu / (friction[i - r - 1] * friction[i - r - 1]);
    double pos = given->efc_pos[i] - given->efc_margin[i];
    const double terms[4] = {-out.B * in.vel, -out.K * out.d * pos, given->efc_curvature ? -given->efc_curvature[i] : 0,
                             given->efc_adhesion ? R * given->efc_adhesion[i] : 0};
    double aref = terms[0] + terms[1] + terms[2] + terms[3], scale = 0; /* of the terms, which may cancel */
    for (int k = 0; k < 4; k++) scale += fabs(terms[k]);
    compare(w, env, i, "K", rows->K[i], out.K);
    compare(w, env, i, "B", rows->B[i], out.B);
    compare(w, env, i, "d", rows->d[i], out.d);
    compare(w, env, i, "d'", rows->dp[i], out.dp);
    compare(w, env, i, "R", rows->R[i], R);
    compare(w, env, i, "D", p->efc_D[i], 1 / R);
    if (fabs(p->efc_aref[i] - aref) > 4e-16 * scale) compare(w, env, i, "aref", p->efc_aref[i], aref);
  }
}

Test(assemble, million) {
  worst_case w = {0};
  sc_context *context;
  sc_batch *batch;
  sc_assembly *assembly;
  double M[NV * NV] = {0}, force[NV] = {0};
  for (int i = 0; i < NV; i++) M[i * NV + i] = 1;
  cr_assert_eq(sc_context_create(NULL, &context), SC_OK);
  cr_assert_eq(sc_batch_create(context, 1, &batch), SC_OK);
  cr_assert_eq(sc_assembly_create(&assembly), SC_OK);
  for (int env = 0; env < ENVIRONMENTS; env++) {
    sc_assembly_options o;
    sc_assembly_options_init(&o);
    o.nv = NV, o.cone = below(2), o.refsafe = below(2);
    o.timestep = magnitude(1e-4, .05), o.impratio = magnitude(.01, 100), o.qvel = qvel;
    for (int i = 0; i < NV; i++) qvel[i] = 5 * uniform();
    cr_assert_eq(sc_assembly_begin(assembly, &o), SC_OK);
    for (int i = 0; i < PER_ENVIRONMENT; i++) cr_assert_eq(add_random(assembly), SC_OK, "%s", sc_error_text());
    sc_problem given, p;
    sc_rows rows;
    cr_assert_eq(sc_assembly_problem(assembly, &given), SC_OK);
    given.M = M, given.qfrc_smooth = force;
    cr_assert_eq(sc_batch_set(batch, 0, &given), SC_OK, "%s", sc_error_text());
    cr_assert_eq(sc_batch_get(batch, 0, &p, &rows), SC_OK);
    for (int r = 0, contact = 0, n; r < p.nefc; r += n) {
      n = block_rows(&p, r, contact);
      check_block(&w, env, &given, &p, &rows, r, n, contact);
      contact += p.efc_type[r] >= SC_CONTACT_PYRAMIDAL;
    }
  }
  fprintf(stderr, "%d descriptors, worst relative error %.2e: %s\n", ENVIRONMENTS * PER_ENVIRONMENT, w.error, w.text);
  cr_expect(w.error < 1e-13, "%s", w.text);
  sc_assembly_destroy(assembly);
  sc_batch_destroy(batch);
  sc_context_destroy(context);
}
