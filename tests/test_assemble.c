/* softcon's rows against MuJoCo's own: order, types and ids identical, numbers within LIMIT. With the environment
 * variable SOFTCON_STATES, also on the recorded states in that folder (bench/record_states.py). */
#include <criterion/criterion.h>

#include <cjson/cJSON.h>
#include <hdf5.h>

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mujoco_rows.h"

#include "assemble_models.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* |difference| / max(|value|, 1e-3) for fields whose entries cancel, |difference| / |value| for the others */
#define LIMIT 1e-10

/* ------------------------------------------------------------------ the worst offender */

typedef struct {
  char state[160]; /* what is being compared */
  double error;
  char text[400]; /* where the largest error was */
  long rows;
  int types; /* bits: row types met */
} report;

static void worse(report *r, double error, const char *field, int row, int entry, double ours, double theirs) {
  if (error <= r->error) return;
  r->error = error;
  snprintf(r->text, sizeof r->text, "%s: %s of row %d, entry %d: softcon %.17g, MuJoCo %.17g, error %.3g", r->state,
           field, row, entry, ours, theirs, error);
}

/* n numbers of each of `rows` rows */
static void compare(report *r, const char *field, int rows, int n, const double *ours, const double *theirs,
                    double floor) {
  for (int i = 0; i < rows; i++)
    for (int k = 0; k < n; k++) {
      double a = ours[i * n + k], b = theirs[i * n + k], e = a == b ? 0 : fabs(a - b) / fmax(fabs(b), floor);
      worse(r, isnan(e) ? INFINITY : e, field, i, k, a, b);
    }
}

/* ------------------------------------------------------------------ one state */

typedef struct {
  sc_context *context;
  sc_batch *batch;
  sc_assembly *assembly;
  report report;
} fixture;

static void ignore(const char *message) { (void)message; }

static void open_fixture(fixture *f) {
  mju_user_warning = ignore; /* mixed solref formats are on purpose */
  memset(f, 0, sizeof *f);
  cr_assert_eq(sc_context_create(NULL, &f->context), SC_OK);
  cr_assert_eq(sc_batch_create(f->context, 1, &f->batch), SC_OK);
  cr_assert_eq(sc_assembly_create(&f->assembly), SC_OK);
}

static void close_fixture(fixture *f) {
  sc_assembly_destroy(f->assembly);
  sc_batch_destroy(f->batch);
  sc_context_destroy(f->context);
  fprintf(stderr, "%ld rows, worst error %.2e%s%s\n", f->report.rows, f->report.error, f->report.text[0] ? ": " : "",
          f->report.text);
  cr_expect(f->report.error < LIMIT, "%s", f->report.text);
}

static double *dense(int rows, int cols, const double *val, const int *nnz, const int *adr, const int *col) {
  double *out = calloc((size_t)rows * (size_t)cols + 1, sizeof *out);
  for (int r = 0; r < rows; r++)
    for (int k = 0; k < (nnz ? nnz[r] : cols); k++)
      out[r * cols + (nnz ? col[adr[r] + k] : k)] = nnz ? val[adr[r] + k] : val[r * cols + k];
  return out;
}

/* what identifies the rows; 0 where they differ */
static int same_rows(report *r, const sc_problem *p, const mjData *d) {
  if (p->nefc != d->nefc) {
    worse(r, INFINITY, "nefc", 0, 0, p->nefc, d->nefc);
    return 0;
  }
  for (int i = 0; i < d->nefc; i++) {
    if (p->efc_type[i] != d->efc_type[i]) worse(r, INFINITY, "type", i, 0, p->efc_type[i], d->efc_type[i]);
    if (p->efc_id[i] != d->efc_id[i]) worse(r, INFINITY, "id", i, 0, p->efc_id[i], d->efc_id[i]);
    r->types |= 1 << d->efc_type[i];
  }
  compare(r, "margin", d->nefc, 1, p->efc_margin, d->efc_margin, 1e-300);
  compare(r, "frictionloss", d->nefc, 1, p->efc_frictionloss, d->efc_frictionloss, 1e-300);
  return 1;
}

/* Velocities, or aref: sums whose terms may cancel to less than the rounding of each. What rounding leaves of the
 * terms, by a generous count of 16 units, is no error; MuJoCo's own dense and sparse sums differ by as much. */
static void compare_sums(report *r, const char *field, const mjModel *m, const mjData *d, const double *ours,
                         const double *theirs) {
  int nv = (int)m->nv, sparse = mj_isSparse(m), aref = theirs == d->efc_aref;
  double *J = dense(d->nefc, nv, d->efc_J, sparse ? d->efc_J_rownnz : NULL, d->efc_J_rowadr, d->efc_J_colind);
  for (int i = 0; i < d->nefc; i++) {
    const double *kbip = d->efc_KBIP + 4 * i;
    double terms = 0;
    for (int k = 0; k < nv; k++) terms += fabs(J[i * nv + k] * d->qvel[k]);
    if (aref) terms = kbip[1] * terms + kbip[0] * kbip[2] * fabs(d->efc_pos[i] - d->efc_margin[i]);
    double e = fabs(ours[i] - theirs[i]) - 16 * DBL_EPSILON * terms;
    worse(r, isnan(e) ? INFINITY : fmax(0, e) / fmax(fabs(theirs[i]), 1e-3), field, i, 0, ours[i], theirs[i]);
  }
  free(J);
}

static void compare_jacobian(report *r, const mjModel *m, const mjData *d, const sc_problem *p) {
  int nv = (int)m->nv, sparse = mj_isSparse(m);
  double *ours = dense(d->nefc, nv, p->efc_J, p->J_rownnz, p->J_rowadr, p->J_colind);
  double *theirs = dense(d->nefc, nv, d->efc_J, sparse ? d->efc_J_rownnz : NULL, d->efc_J_rowadr, d->efc_J_colind);
  compare(r, "J", d->nefc, nv, ours, theirs, 1e-3);
  free(ours);
  free(theirs);
}

/* what the batch made of the parameters */
static void compare_evaluated(fixture *f, const mjModel *m, const mjData *d) {
  report *r = &f->report;
  sc_problem e;
  sc_rows rows;
  cr_assert_eq(sc_batch_get(f->batch, 0, &e, &rows), SC_OK);
  for (int i = 0; i < d->nefc; i++) {
    const double kbip[4] = {rows.K[i], rows.B[i], rows.d[i], rows.dp[i]};
    for (int k = 0; k < 4; k++) {
      double b = d->efc_KBIP[4 * i + k];
      worse(r, fabs(kbip[k] - b) / fmax(fabs(b), 1e-3), "KBIP", i, k, kbip[k], b);
    }
  }
  compare(r, "R", d->nefc, 1, rows.R, d->efc_R, 1e-300);
  compare(r, "D", d->nefc, 1, e.efc_D, d->efc_D, 1e-300);
  compare(r, "diagA", d->nefc, 1, rows.diagA, d->efc_diagA, 1e-300);
  compare_sums(r, "aref", m, d, e.efc_aref, d->efc_aref);
  for (int i = 0, c = 0; i < d->nefc; i += e.efc_type[i] == SC_CONTACT_PYRAMIDAL  ? 2 * (e.contact_dim[c - 1] - 1)
                                           : e.efc_type[i] == SC_CONTACT_ELLIPTIC ? e.contact_dim[c - 1]
                                                                                  : 1)
    if (e.efc_type[i] >= SC_CONTACT_PYRAMIDAL) {
      double mu = d->contact[e.efc_id[i]].mu;
      worse(r, fabs(e.contact_mu[c] - mu) / mu, "contact mu", i, 0, e.contact_mu[c], mu);
      c++;
    }
}

/* the state that mj_forward has left in d */
static void compare_state(fixture *f, const mjModel *m, mjData *d) {
  sc_problem p;
  int code = sc_mujoco_assemble(m, d, f->assembly, &p);
  cr_assert_eq(code, SC_OK, "%s: %s", f->report.state, sc_error_text());
  if (!same_rows(&f->report, &p, d)) return;
  f->report.rows += d->nefc;
  compare(&f->report, "pos", d->nefc, 1, p.efc_pos, d->efc_pos, 1e-3);
  compare_sums(&f->report, "vel", m, d, p.efc_vel, d->efc_vel);
  compare_jacobian(&f->report, m, d, &p);
  p.M = d->M, p.M_rownnz = m->M_rownnz, p.M_rowadr = m->M_rowadr, p.M_colind = m->M_colind;
  p.qfrc_smooth = d->qfrc_smooth;
  code = sc_batch_set(f->batch, 0, &p);
  cr_assert_eq(code, SC_OK, "%s: %s", f->report.state, sc_error_text());
  if (d->nefc) compare_evaluated(f, m, d);
}

/* ------------------------------------------------------------------ models */

static uint64_t seed;

static double uniform(void) { /* -1 .. 1, xorshift64* */
  seed ^= seed >> 12, seed ^= seed << 25, seed ^= seed >> 27;
  return (double)(int64_t)(seed * 0x2545F4914F6CDD1Du) / 9223372036854775808.0;
}

static mjModel *compile(const char *xml) {
  char error[500] = "";
  mjSpec *spec = mj_parseXMLString(xml, NULL, error, sizeof error);
  cr_assert_not_null(spec, "%s", error);
  mjModel *m = mj_compile(spec, NULL);
  cr_assert_not_null(m, "%s", mjs_getError(spec));
  mj_deleteSpec(spec);
  return m;
}

/* state k: the first is the initial position; then random steps from it; always moving */
static void random_state(const mjModel *m, mjData *d, int k) {
  double *step = calloc((size_t)m->nv + 1, sizeof *step);
  if (k == 0) mj_resetData(m, d);
  for (int i = 0; i < m->nv; i++) d->qvel[i] = 2 * uniform(), step[i] = .2 * uniform();
  if (k) mj_integratePos(m, d->qpos, step, 1);
  for (int i = 0; k && i < m->nmocap; i++) {
    for (int j = 0; j < 4; j++) d->mocap_quat[4 * i + j] += .1 * uniform();
    d->mocap_pos[3 * i] += .05 * uniform();
  }
  free(step);
  mj_forward(m, d);
}

/* All settings that rows depend on. `bit` numbers them. */
static void settings(mjModel *m, int bit, double impratio) {
  m->opt.cone = bit & 1 ? mjCONE_ELLIPTIC : mjCONE_PYRAMIDAL;
  m->opt.jacobian = bit & 2 ? mjJAC_SPARSE : mjJAC_DENSE;
  m->opt.impratio = impratio;
  m->opt.enableflags = (m->opt.enableflags & ~mjENBL_DIAGEXACT) | (bit & 4 ? mjENBL_DIAGEXACT : 0);
}

static const double impratios[] = {.3, 1, 10};

Test(assemble, models) {
  fixture f;
  open_fixture(&f);
  seed = 20240607;
  for (size_t i = 0; i < COUNT(models); i++) {
    mjModel *m = compile(models[i].xml);
    mjData *d = mj_makeData(m);
    m->opt.disableflags |= mjDSBL_ISLAND;
    for (int setting = 0; setting < 8 * (int)COUNT(impratios); setting++)
      for (int k = 0; k < 4; k++) {
        settings(m, setting % 8, impratios[setting / 8]);
        snprintf(f.report.state, sizeof f.report.state, "model %s, %s, %s, %s diagonal, impratio %g, state %d",
                 models[i].name, m->opt.cone ? "elliptic" : "pyramidal", mj_isSparse(m) ? "sparse" : "dense",
                 setting & 4 ? "exact" : "approximate", m->opt.impratio, k);
        random_state(m, d, k);
        compare_state(&f, m, d);
      }
    mj_deleteData(d);
    mj_deleteModel(m);
  }
  cr_expect_eq(f.report.types, 0xff, "row types that occurred: %x", (unsigned)f.report.types);
  close_fixture(&f);
}

/* every flag that takes rows away or changes them */
Test(assemble, flags) {
  static const int flags[] = {mjDSBL_CONSTRAINT, mjDSBL_EQUALITY, mjDSBL_FRICTIONLOSS,
                              mjDSBL_LIMIT,      mjDSBL_CONTACT,  mjDSBL_REFSAFE};
  fixture f;
  open_fixture(&f);
  seed = 7;
  for (size_t i = 0; i < COUNT(models); i++) {
    mjModel *m = compile(models[i].xml);
    mjData *d = mj_makeData(m);
    int before = m->opt.disableflags | mjDSBL_ISLAND;
    for (size_t k = 0; k < 2 * COUNT(flags); k++) {
      m->opt.disableflags = before ^ flags[k / 2];
      m->opt.jacobian = k % 2 ? mjJAC_SPARSE : mjJAC_DENSE;
      snprintf(f.report.state, sizeof f.report.state, "model %s, disable flags %x, %s", models[i].name,
               (unsigned)m->opt.disableflags, mj_isSparse(m) ? "sparse" : "dense");
      random_state(m, d, 0);
      compare_state(&f, m, d);
    }
    mj_deleteData(d);
    mj_deleteModel(m);
  }
  close_fixture(&f);
}

/* the stages without MuJoCo's rows leave the same forces and accelerations, and the same rows of ours */
Test(assemble, stages) {
  fixture f;
  open_fixture(&f);
  seed = 11;
  for (size_t i = 0; i < COUNT(models); i++) {
    mjModel *m = compile(models[i].xml);
    mjData *d = mj_makeData(m), *e = mj_makeData(m);
    size_t nv = (size_t)m->nv;
    m->opt.disableflags |= mjDSBL_ISLAND;
    for (int k = 0; k < 4; k++) {
      if (k == 3) m->opt.disableflags |= mjDSBL_CONTACT;
      for (int u = 0; u < m->nu; u++) d->ctrl[u] = fabs(uniform());
      random_state(m, d, k);
      mj_copyData(e, m, d); /* with the rows of this state, and then of the next */
      sc_mujoco_position(m, e);
      mj_fwdVelocity(m, e);
      mj_fwdActuation(m, e);
      mj_fwdAcceleration(m, e);
      cr_expect_arr_eq(d->qfrc_smooth, e->qfrc_smooth, nv * sizeof(double), "model %s, state %d", models[i].name, k);
      cr_expect_arr_eq(d->qacc_smooth, e->qacc_smooth, nv * sizeof(double), "model %s, state %d", models[i].name, k);
      sc_problem p;
      cr_assert_eq(sc_mujoco_assemble(m, e, f.assembly, &p), SC_OK, "%s", sc_error_text());
      snprintf(f.report.state, sizeof f.report.state, "model %s, state %d, own stages", models[i].name, k);
      if (same_rows(&f.report, &p, d)) compare_jacobian(&f.report, m, d, &p);
    }
    mj_deleteData(d);
    mj_deleteData(e);
    mj_deleteModel(m);
  }
  close_fixture(&f);
}

/* ------------------------------------------------------------------ mixing */

static sc_geom describe_geom(const mjModel *m, const mjData *d, int g) {
  sc_geom out;
  sc_geom_init(&out);
  out.condim = m->geom_condim[g], out.priority = m->geom_priority[g];
  out.solmix = m->geom_solmix[g], out.margin = m->geom_margin[g], out.gap = m->geom_gap[g];
  memcpy(out.friction, m->geom_friction + 3 * g, sizeof out.friction);
  memcpy(out.solref, m->geom_solref + mjNREF * g, sizeof out.solref);
  memcpy(out.solimp, m->geom_solimp + mjNIMP * g, sizeof out.solimp);
  memcpy(out.pos, d->geom_xpos + 3 * g, sizeof out.pos);
  memcpy(out.mat, d->geom_xmat + 9 * g, sizeof out.mat);
#if mjVERSION_HEADER >= 3011000
  out.adhesion = m->geom_adhesion[g];
  memcpy(out.surfacevel, m->geom_surfacevel + 6 * g, sizeof out.surfacevel);
#endif
  return out;
}

/* random parameters with many coincidences: equal priorities, zero weights, direct solref */
static void random_parameters(mjModel *m) {
  for (int g = 0; g < m->ngeom; g++) {
    static const int dims[] = {1, 3, 4, 6};
    m->geom_condim[g] = dims[(int)(2 * uniform() + 2)];
    m->geom_priority[g] = uniform() > .4;
    m->geom_solmix[g] = fmax(0, uniform());
    for (int k = 0; k < 3; k++) m->geom_friction[3 * g + k] = fmax(0, uniform());
    double sign = uniform() > -.6 ? 1 : -100;
    for (int k = 0; k < mjNREF; k++) m->geom_solref[mjNREF * g + k] = sign * fabs(uniform());
    for (int k = 0; k < mjNIMP; k++) m->geom_solimp[mjNIMP * g + k] = uniform();
    m->geom_margin[g] = .1 + .1 * uniform(), m->geom_gap[g] = .1 + .1 * uniform();
#if mjVERSION_HEADER >= 3011000
    m->geom_adhesion[g] = fmax(0, uniform());
    for (int k = 0; k < 6; k++) m->geom_surfacevel[6 * g + k] = uniform();
    m->flg_surfacevel = m->flg_adhesion = 1;
#endif
  }
}

static void compare_mixed(report *r, const mjModel *m, const mjData *d, const mjContact *c,
                          const sc_contact_override *override) {
  sc_geom g0 = describe_geom(m, d, c->geom[0]), g1 = describe_geom(m, d, c->geom[1]);
  sc_contact ours;
  sc_contact_init(&ours);
  cr_assert_eq(sc_contact_mix(&g0, &g1, override, &ours), SC_OK);
  memcpy(ours.pos, c->pos, sizeof ours.pos);
  memcpy(ours.frame, c->frame, sizeof ours.frame);
  cr_assert_eq(sc_contact_surface(&g0, &g1, &ours), SC_OK);
  compare(r, "mixed friction", 1, 5, ours.friction, c->friction, 1e-3);
  compare(r, "mixed solref", 1, 2, ours.solref, c->solref, 1e-3);
  compare(r, "mixed solreffriction", 1, 2, ours.solreffriction, c->solreffriction, 1e-3);
  compare(r, "mixed solimp", 1, 5, ours.solimp, c->solimp, 1e-3);
  compare(r, "mixed margin", 1, 1, &ours.margin, &c->includemargin, 1e-3);
#if mjVERSION_HEADER >= 3011000
  compare(r, "mixed adhesion", 1, 1, &ours.adhesion, &c->adhesion, 1e-3);
  compare(r, "surface velocity", 1, 3, ours.surfacevel, c->surfacevel, 1e-3);
#endif
  int far = c->dist >= c->includemargin, sticks = far && ours.adhesion != 0;
  cr_expect_eq(sticks ? 1 : ours.dim, c->dim, "dim %d, MuJoCo %d, dist %g, adhesion %g", ours.dim, c->dim, c->dist,
               ours.adhesion);
  cr_expect_eq(far && !sticks ? SC_IN_GAP : SC_INCLUDED, c->exclude);
  cr_expect_eq(sc_contact_tangents(&ours), SC_OK);
  compare(r, "contact frame", 1, 9, ours.frame, c->frame, 1e-3);
}

Test(assemble, mixing) {
  fixture f;
  open_fixture(&f);
  seed = 5;
  mjModel *m = compile(
      "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='.1 0 .2'><freejoint/><geom size='.2'/></body>"
      "<body pos='.3 .1 .3'><freejoint/><geom size='.2'/></body></worldbody></mujoco>");
  mjData *d = mj_makeData(m);
  int contacts = 0;
  for (int k = 0; k < 400; k++) {
    sc_contact_override o;
    sc_contact_override_init(&o);
    random_parameters(m);
    m->opt.enableflags = k % 4 ? 0 : mjENBL_OVERRIDE;
    m->opt.o_margin = o.margin = .1 * uniform() + .1;
    for (int i = 0; i < 2; i++) m->opt.o_solref[i] = o.solref[i] = fabs(uniform());
    for (int i = 0; i < 5; i++) m->opt.o_solimp[i] = o.solimp[i] = fabs(uniform());
    for (int i = 0; i < 5; i++) m->opt.o_friction[i] = o.friction[i] = fabs(uniform());
    random_state(m, d, 1);
    if (k % 10 == 9) mj_resetData(m, d);
    for (int i = 0; i < d->ncon; i++, contacts++) {
      snprintf(f.report.state, sizeof f.report.state, "mixing, state %d, contact %d", k, i);
      compare_mixed(&f.report, m, d, &d->contact[i], k % 4 ? NULL : &o);
    }
  }
  cr_expect(contacts > 200, "%d contacts", contacts);
  mj_deleteData(d);
  mj_deleteModel(m);
  close_fixture(&f);
}

/* ------------------------------------------------------------------ recorded states */

/* rows x cols numbers of /states and its signature; NULL: the file cannot be read */
static double *read_states(const char *path, size_t *rows, size_t *cols, int *sig) {
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return NULL;
  hid_t set = H5Dopen2(file, "/states", H5P_DEFAULT), space = H5Dget_space(set),
        attr = H5Aopen(set, "sig", H5P_DEFAULT);
  hsize_t n[2] = {0, 0};
  H5Sget_simple_extent_dims(space, n, NULL);
  double *x = malloc((size_t)(n[0] * n[1]) * sizeof *x + 1);
  int ok =
      H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0 && H5Aread(attr, H5T_NATIVE_INT, sig) >= 0;
  H5Aclose(attr);
  H5Sclose(space);
  H5Dclose(set);
  H5Fclose(file);
  *rows = (size_t)n[0], *cols = (size_t)n[1];
  if (!ok) free(x);
  return ok ? x : NULL;
}

/* every `stride`-th state of one recording, with one setting each */
static void compare_recorded(fixture *f, const char *name, const char *xml, const char *file, int elliptic,
                             size_t stride) {
  char error[500] = "";
  size_t n = 0, width = 0;
  int sig = 0;
  mjModel *m = mj_loadXML(xml, NULL, error, sizeof error);
  cr_assert_not_null(m, "%s: %s", xml, error);
  double *x = read_states(file, &n, &width, &sig);
  cr_assert_not_null(x, "%s cannot be read", file);
  mjData *d = mj_makeData(m);
  m->opt.disableflags |= mjDSBL_ISLAND;
  if (sig >> mjNSTATE) cr_skip("%s was recorded with another version of MuJoCo", file);
  cr_assert_eq((size_t)mj_stateSize(m, sig), width, "%s has %zu numbers per state", file, width);
  for (size_t i = 0; i < n; i += stride) {
    settings(m, elliptic + 2 * (int)(i / stride % 4), m->opt.impratio);
    snprintf(f->report.state, sizeof f->report.state, "model %s, %s, %s, %s diagonal, state %zu", name,
             elliptic ? "elliptic" : "pyramidal", mj_isSparse(m) ? "sparse" : "dense",
             m->opt.enableflags & mjENBL_DIAGEXACT ? "exact" : "approximate", i);
    mj_setState(m, d, x + i * width, sig);
    mj_forward(m, d);
    compare_state(f, m, d);
  }
  free(x);
  mj_deleteData(d);
  mj_deleteModel(m);
}

static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  size_t n = (size_t)ftell(file);
  rewind(file);
  char *text = calloc(n + 1, 1);
  cr_assert_eq(fread(text, 1, n, file), n);
  fclose(file);
  return text;
}

Test(assemble, recorded) {
  static const char *const cones[] = {"pyramidal", "elliptic"};
  const char *folder = getenv("SOFTCON_STATES");
  char path[1000];
  if (!folder) cr_skip("SOFTCON_STATES is not set");
  fixture f;
  open_fixture(&f);
  snprintf(path, sizeof path, "%s/manifest.json", folder);
  char *text = read_text(path);
  cr_assert_not_null(text, "%s cannot be read", path);
  cJSON *manifest = cJSON_Parse(text), *model;
  cr_assert_not_null(manifest, "%s is not JSON", path);
  cJSON_ArrayForEach(model, manifest) {
    for (int cone = 0; cone < 2; cone++) {
      const cJSON *xml = cJSON_GetObjectItem(model, "xml"), *file = cJSON_GetObjectItem(model, cones[cone]);
      if (!file) continue;
      snprintf(path, sizeof path, "%s/%s", folder, file->valuestring);
      compare_recorded(&f, model->string, xml->valuestring, path, cone, 1);
    }
  }
  cJSON_Delete(manifest);
  free(text);
  close_fixture(&f);
}
