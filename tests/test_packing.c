/* Ways of packing are ways of being fast, not of being different: pack by pack or all at once, with structures that were
 * found before or not, the bits are the same; and rows that go straight from the assembly into a batch are those that go
 * through a problem. */
#include "support/solve.h"

#include "mujoco_rows.h"

#include "assemble_models.h"

#include <stdio.h>

/* ------------------------------------------------------------------ pack by pack */

enum { NENV = 3 * NPROBLEM, ROUNDS = 12 };

/* environment i of round k: some problem, with some seed */
static void set_round(test_run *t, int k) {
  for (int i = 0; i < NENV; i++) {
    test_problem q = make_problem(&problem_cases[(i * 7 + k * k) % NPROBLEM], (uint64_t)(i + 31 * k));
    q.p.qacc_warmstart = (i + k) % 2 ? q.warm : NULL;
    CALL(sc_batch_set(t->batch, i, &q.p));
    free_problem(&q);
  }
}

static void same_results(const sc_result *a, const sc_result *b, const char *what, int round) {
  size_t n = a->nv_offset[NENV], m = a->efc_offset[NENV], e = NENV;
  const struct { const char *name; const void *a, *b; size_t bytes; } fields[] = {
      {"qacc", a->qacc, b->qacc, n * sizeof(double)},
      {"qfrc_constraint", a->qfrc_constraint, b->qfrc_constraint, n * sizeof(double)},
      {"efc_force", a->efc_force, b->efc_force, m * sizeof(double)},
      {"efc_state", a->efc_state, b->efc_state, m},
      {"status", a->status, b->status, e},
      {"flags", a->flags, b->flags, e * sizeof *a->flags},
      {"iterations", a->iterations, b->iterations, e * sizeof *a->iterations},
      {"gap", a->gap, b->gap, e * sizeof(double)},
      {"gap_floor", a->gap_floor, b->gap_floor, e * sizeof(double)},
      {"qacc_bound", a->qacc_bound, b->qacc_bound, e * sizeof(double)},
      {"objective", a->objective, b->objective, e * sizeof(double)}};
  cr_assert(n == b->nv_offset[NENV] && m == b->efc_offset[NENV], "%s, round %d: sizes", what, round);
  for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
    cr_expect(!memcmp(fields[k].a, fields[k].b, fields[k].bytes), "%s, round %d: %s has other bits", what, round, fields[k].name);
}

/* a solver of its own, which has kept nothing, that packs all and then runs */
static void check_fresh(const test_run *t, int precision, const char *what, int round) {
  sc_solver_options o;
  sc_solver *fresh;
  sc_result r;
  sc_solver_options_init(&o);
  o.precision = precision, o.tolerance = 1e-10;
  CALL(sc_solver_create(t->context, &o, &fresh));
  CALL(sc_solver_pack(fresh, t->batch));
  CALL(sc_solver_run(fresh));
  CALL(sc_solver_result(fresh, &r));
  same_results(&t->r, &r, what, round);
  sc_solver_destroy(fresh);
}

/* rounds come back, so that structures are found again, among them some of which others were pushed out by */
Test(packing, pack_by_pack_and_all_at_once) {
  EACH_BACKEND(backend) EACH_PRECISION(precision) for (int threads = 1; threads <= 2; threads++) {
    test_run t = open_run(backend, threads, precision, 1e-10, NENV);
    for (int round = 0; round < ROUNDS; round++) {
      set_round(&t, round % 5);
      if (round % 3 == 2) CALL(sc_solver_pack(t.solver, t.batch)); /* in between: its packs are forgotten */
      solve_run(&t);
      CALL(sc_solver_run(t.solver)); /* nothing is left to do */
      CALL(sc_solver_result(t.solver, &t.r));
      check_fresh(&t, precision, backend, round);
    }
    close_run(&t);
  }
}

/* More structures than are kept, one pack each. */
Test(packing, structures_that_are_forgotten) {
  enum { MOST = 700 };
  test_run t = open_run(NULL, 1, SC_F64, 1e-10, 1);
  double first[64];
  for (int round = 0; round < 2; round++)
    for (int nefc = 1; nefc < MOST; nefc++) {
      double M[1] = {2}, force[1] = {-1};
      double *J = malloc((size_t)nefc * sizeof *J), *D = malloc((size_t)nefc * sizeof *D), *aref = malloc((size_t)nefc * sizeof *aref);
      int *type = malloc((size_t)nefc * sizeof *type);
      cr_assert(J && D && aref && type);
      for (int i = 0; i < nefc; i++) J[i] = 1, D[i] = 1. / (1 + i), aref[i] = 0.1 * (i % 3), type[i] = SC_LIMIT_JOINT;
      sc_problem p;
      sc_problem_init(&p);
      p.nv = 1, p.M = M, p.qfrc_smooth = force, p.nefc = nefc, p.efc_type = type, p.efc_J = J, p.efc_D = D, p.efc_aref = aref;
      CALL(sc_batch_set(t.batch, 0, &p));
      solve_run(&t);
      cr_expect_eq(t.r.status[0], SC_SOLVED, "%d rows: %s", nefc, sc_status_name(t.r.status[0]));
      if (nefc < 64 && !round) first[nefc] = t.r.qacc[0];
      if (nefc < 64 && round) cr_expect(!memcmp(&first[nefc], t.r.qacc, sizeof(double)), "%d rows: %.17g, before %.17g", nefc, t.r.qacc[0], first[nefc]);
      free(J), free(D), free(aref), free(type);
    }
  close_run(&t);
}

/* ------------------------------------------------------------------ straight from the assembly */

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void same_array(const char *model, const char *name, const void *a, const void *b, size_t bytes) {
  cr_expect(!a == !b && (!a || !bytes || !memcmp(a, b, bytes)), "%s: %s differs", model, name);
}

/* what two batches hold of environment 0 */
static void same_problem(const char *model, const sc_batch *x, const sc_batch *y) {
  sc_problem a, b;
  sc_rows r, s;
  CALL(sc_batch_get(x, 0, &a, &r));
  CALL(sc_batch_get(y, 0, &b, &s));
  cr_assert(a.nv == b.nv && a.nefc == b.nefc && a.ncon == b.ncon, "%s: sizes", model);
  size_t n = (size_t)a.nv, m = (size_t)a.nefc, c = (size_t)a.ncon, d = sizeof(double), i = sizeof(int);
  size_t j = m ? (size_t)(a.J_rowadr[m - 1] + a.J_rownnz[m - 1]) : 0, e = n ? (size_t)(a.M_rowadr[n - 1] + a.M_rownnz[n - 1]) : 0;
#define SAME(field, bytes) same_array(model, #field, a.field, b.field, bytes)
  SAME(M, e * d), SAME(M_rownnz, n * i), SAME(M_rowadr, n * i), SAME(M_colind, e * i), SAME(qfrc_smooth, n * d), SAME(qacc_smooth, n * d);
  SAME(qacc_warmstart, n * d), SAME(efc_type, m * i), SAME(efc_id, m * i), SAME(J_rownnz, m * i), SAME(J_rowadr, m * i), SAME(J_colind, j * i);
  SAME(efc_J, j * d), SAME(efc_frictionloss, m * d), SAME(efc_pos, m * d), SAME(efc_margin, m * d), SAME(efc_vel, m * d), SAME(efc_D, m * d);
  SAME(efc_aref, m * d), SAME(contact_dim, c * i), SAME(contact_friction, 5 * c * d), SAME(contact_mu, c * d);
#undef SAME
#define SAME(field) same_array(model, #field, r.field, s.field, m * d)
  SAME(K), SAME(B), SAME(d), SAME(dp), SAME(R), SAME(diagA);
#undef SAME
  cr_expect(r.flags == s.flags && r.bad == s.bad, "%s: flags", model);
}

typedef struct {
  sc_context *context;
  sc_assembly *assembly;
  sc_batch *straight, *round;
} two_ways;

/* the state in d, both ways; the codes must be the same, and what is said of a bad number */
static void set_both(const two_ways *t, const char *name, const mjModel *m, mjData *d) {
  sc_problem p, rest;
  char text[500];
  mj_fwdPosition(m, d);
  mj_fwdVelocity(m, d);
  mj_fwdActuation(m, d);
  mj_fwdAcceleration(m, d);
  sc_problem_init(&rest);
  rest.nv = (int)m->nv;
  rest.M = d->M, rest.M_rownnz = m->M_rownnz, rest.M_rowadr = m->M_rowadr, rest.M_colind = m->M_colind;
  rest.qfrc_smooth = d->qfrc_smooth, rest.qacc_smooth = d->qacc_smooth, rest.qacc_warmstart = d->qacc_warmstart;
  CALL(sc_mujoco_assemble(m, d, t->assembly, &p));
  p.M = rest.M, p.M_rownnz = rest.M_rownnz, p.M_rowadr = rest.M_rowadr, p.M_colind = rest.M_colind;
  p.qfrc_smooth = rest.qfrc_smooth, p.qacc_smooth = rest.qacc_smooth, p.qacc_warmstart = rest.qacc_warmstart;
  int round = sc_batch_set(t->round, 0, &p);
  snprintf(text, sizeof text, "%s", round ? sc_error_text() : "");
  CALL(sc_mujoco_describe(m, d, t->assembly));
  int straight = sc_assembly_set(t->assembly, &rest, t->straight, 0);
  cr_expect(straight == round && (!round || !strcmp(text, sc_error_text())), "%s: %d \"%s\", not %d \"%s\"", name, straight, sc_error_text(), round, text);
  same_problem(name, t->straight, t->round);
}

static void ignore(const char *message) { (void)message; }

/* states of a model in both cones, some with a number that is bad */
static void run_model(const two_ways *t, const char *name, const char *xml) {
  char error[500], what[600];
  mjVFS *vfs = calloc(1, sizeof *vfs);
  cr_assert(vfs);
  mj_defaultVFS(vfs);
  mj_addBufferVFS(vfs, "model.xml", xml, (int)strlen(xml));
  mjModel *m = mj_loadXML("model.xml", vfs, error, sizeof error);
  cr_assert(m, "%s: %s", name, error);
  mjData *d = mj_makeData(m);
  for (int step = 0; step < 24; step++) {
    m->opt.cone = step % 2, m->opt.impratio = step % 3 ? 1 : 5;
    m->opt.enableflags = step % 8 == 6 ? m->opt.enableflags | mjENBL_DIAGEXACT : m->opt.enableflags & ~mjENBL_DIAGEXACT;
    for (int i = 0; i < m->nv; i++) d->qvel[i] = 0.3 * ((i * 5 + step) % 7 - 3);
    mj_integratePos(m, d->qpos, d->qvel, 0.02);
    snprintf(what, sizeof what, "%s, step %d", name, step);
    set_both(t, what, m, d);
    if (step % 6 == 5 && m->nv) {
      double was = d->qvel[0];
      d->qvel[0] = step % 12 == 5 ? 1e300 : 1e160;
      set_both(t, what, m, d);
      d->qvel[0] = was;
    }
  }
  mj_deleteData(d);
  mj_deleteModel(m);
  mj_deleteVFS(vfs);
  free(vfs);
}

Test(packing, straight_from_the_assembly) {
  two_ways t;
  mju_user_warning = ignore; /* mixed solref formats are on purpose */
  CALL(sc_context_create(NULL, &t.context));
  CALL(sc_assembly_create(&t.assembly));
  for (size_t k = 0; k < COUNT(models); k++) {
    CALL(sc_batch_create(t.context, 1, &t.straight));
    CALL(sc_batch_create(t.context, 1, &t.round));
    run_model(&t, models[k].name, models[k].xml);
    sc_batch_destroy(t.straight);
    sc_batch_destroy(t.round);
  }
  sc_assembly_destroy(t.assembly);
  sc_context_destroy(t.context);
}

/* Calls that are refused name what is wrong. */
Test(packing, straight_calls_that_are_refused) {
  sc_context *context;
  sc_assembly *assembly;
  sc_assembly_options o;
  sc_batch *batch;
  sc_problem rest;
  double M[4] = {1, 0, 0, 1}, force[2] = {0, 0};
  CALL(sc_context_create(NULL, &context));
  CALL(sc_assembly_create(&assembly));
  CALL(sc_batch_create(context, 2, &batch));
  sc_problem_init(&rest);
  sc_assembly_options_init(&o);
#define REFUSED(call, code, says) cr_expect((call) == (code) && strstr(sc_error_text(), says), "%s: \"%s\"", #call, sc_error_text())
  rest.nv = o.nv = 2;
  REFUSED(sc_assembly_set(assembly, &rest, batch, 0), SC_ERROR_ARGUMENT, "sc_assembly_begin");
  CALL(sc_assembly_begin(assembly, &o));
  REFUSED(sc_assembly_set(NULL, &rest, batch, 0), SC_ERROR_ARGUMENT, "the assembly is NULL");
  REFUSED(sc_assembly_set(assembly, NULL, batch, 0), SC_ERROR_ARGUMENT, "rest is NULL");
  REFUSED(sc_assembly_set(assembly, &rest, NULL, 0), SC_ERROR_ARGUMENT, "batch is NULL");
  REFUSED(sc_assembly_set(assembly, &rest, batch, 2), SC_ERROR_ARGUMENT, "environment 2");
  REFUSED(sc_assembly_set(assembly, &rest, batch, 0), SC_ERROR_ARGUMENT, "M is NULL");
  rest.M = M;
  REFUSED(sc_assembly_set(assembly, &rest, batch, 0), SC_ERROR_ARGUMENT, "qfrc_smooth");
  rest.qfrc_smooth = force;
  CALL(sc_assembly_set(assembly, &rest, batch, 0)); /* dense is well, too */
  rest.nv = 1;
  REFUSED(sc_assembly_set(assembly, &rest, batch, 0), SC_ERROR_ARGUMENT, "rest.nv is 1");
  rest.nv = 2, rest.size = 0;
  REFUSED(sc_assembly_set(assembly, &rest, batch, 0), SC_ERROR_ARGUMENT, "rest.size is 0");
  rest.size = sizeof rest, force[1] = (double)NAN;
  REFUSED(sc_assembly_set(assembly, &rest, batch, 1), SC_ERROR_VALUE, "qfrc_smooth[1]");
  sc_batch_destroy(batch);
  sc_assembly_destroy(assembly);
  sc_context_destroy(context);
}
