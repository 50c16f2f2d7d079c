/* A capacity on rows and contacts: whole contacts go, in the stated order, and nobody else notices. */
#include "support/model_run.h"

#include <stdio.h>

/* ------------------------------------------------------------------ the order, written a second time */

typedef struct { int row, rows, friction; double asks; int kept; } contact;

static int rows_of(const sc_problem *p, int r, int friction) {
  int type = p->efc_type[r];
  return type == SC_CONTACT_ELLIPTIC ? p->contact_dim[friction] : type == SC_CONTACT_PYRAMIDAL ? 2 * (p->contact_dim[friction] - 1) : 1;
}

static int list(const sc_problem *p, contact *c, int *rest) {
  int n = 0, friction = 0;
  *rest = 0;
  for (int r = 0, rows; r < p->nefc; r += rows) {
    int type = p->efc_type[r], with = type == SC_CONTACT_PYRAMIDAL || type == SC_CONTACT_ELLIPTIC;
    rows = rows_of(p, r, friction);
    if (type < SC_CONTACT_FRICTIONLESS) {
      (*rest)++;
      continue;
    }
    c[n++] = (contact){r, rows, with ? friction : -1, type == SC_CONTACT_PYRAMIDAL ? (p->efc_aref[r] + p->efc_aref[r + 1]) / 2 : p->efc_aref[r], 0};
    friction += with;
  }
  return n;
}

/* the best that was not looked at yet, again and again */
static void keep(contact *c, int n, int rows, int contacts) {
  char seen[64] = {0};
  for (int k = 0; k < n; k++) {
    int best = -1;
    for (int i = 0; i < n; i++)
      if (!seen[i] && (best < 0 || c[i].asks > c[best].asks)) best = i;
    seen[best] = 1;
    if (contacts > 0 && c[best].rows <= rows) c[best].kept = 1, rows -= c[best].rows, contacts--;
  }
}

/* the problem without the contacts that are not kept, in the memory of t */
static void remove_contacts(test_problem *t, const contact *c, int n) {
  int rows = 0, with = 0, nv = t->p.nv;
  for (int r = 0, i = 0; r < t->p.nefc;) {
    const contact *at = i < n && c[i].row == r ? &c[i++] : NULL;
    int size = at ? at->rows : 1, kept = !at || at->kept;
    for (int k = 0; k < size && kept; k++, rows++) {
      memmove(t->J + rows * nv, t->J + (r + k) * nv, (size_t)nv * sizeof(double));
      t->D[rows] = t->D[r + k], t->aref[rows] = t->aref[r + k], t->eta[rows] = t->eta[r + k], t->type[rows] = t->type[r + k];
    }
    if (at && kept && at->friction >= 0) {
      memmove(t->friction + 5 * with, t->friction + 5 * at->friction, 5 * sizeof(double));
      t->dim[with] = t->dim[at->friction], t->mu[with++] = t->mu[at->friction];
    }
    r += size;
  }
  t->p.nefc = rows, t->p.ncon = with;
}

/* ------------------------------------------------------------------ given rows */

static void same_bits(const test_run *a, int i, const test_run *b, int k, const char *what) {
  size_t n = a->r.nv_offset[i + 1] - a->r.nv_offset[i], m = a->r.efc_offset[i + 1] - a->r.efc_offset[i];
  cr_assert(m == b->r.efc_offset[k + 1] - b->r.efc_offset[k], "%s, environment %d: %zu rows, not %zu", what, i, m, b->r.efc_offset[k + 1] - b->r.efc_offset[k]);
  cr_expect(!memcmp(run_qacc(a, i), run_qacc(b, k), n * sizeof(double)), "%s, environment %d: qacc", what, i);
  cr_expect(!m || !memcmp(run_force(a, i), run_force(b, k), m * sizeof(double)), "%s, environment %d: efc_force", what, i);
  cr_expect(a->r.status[i] == b->r.status[k] && !memcmp(&a->r.gap[i], &b->r.gap[k], sizeof(double)), "%s, environment %d: verdict", what, i);
}

enum { N = 24 };

/* every environment with this capacity is the problem from which the contacts were removed by hand, and one that fits keeps
 * the bits that it has without a capacity */
static void check_capacity(const problem_case *c, int max_rows, int max_contacts, int precision) {
  test_run limited = open_run(NULL, 2, precision, 1e-10, N), by_hand = open_run(NULL, 1, precision, 1e-10, N);
  char what[200];
  int expected_drops = 0;
  snprintf(what, sizeof what, "\"%s\", %d rows, %d contacts", c->name, max_rows, max_contacts);
  CALL(sc_batch_capacity(limited.batch, max_rows, max_contacts));
  for (int i = 0; i < N; i++) {
    contact all[64];
    int rest;
    test_problem t = make_problem(c, (uint64_t)i);
    CALL(sc_batch_set(limited.batch, i, &t.p));
    int n = list(&t.p, all, &rest), needs = t.p.nefc;
    keep(all, n, max_rows ? max_rows - rest : needs, max_contacts ? max_contacts : n);
    remove_contacts(&t, all, n);
    CALL(sc_batch_set(by_hand.batch, i, &t.p));
    sc_problem p;
    sc_rows rows;
    CALL(sc_batch_get(limited.batch, i, &p, &rows));
    cr_expect(rows.rows_needed == needs && rows.contacts_needed == n, "%s: needs %d rows and %d contacts, not %d and %d", what, rows.rows_needed,
              rows.contacts_needed, needs, n);
    cr_expect_eq((rows.flags & SC_ROWS_DROPPED) != 0, p.nefc < needs, "%s: flags %u", what, rows.flags);
    cr_expect(p.nefc == t.p.nefc && p.ncon == t.p.ncon && (!max_rows || p.nefc <= max_rows), "%s: %d rows, not %d", what, p.nefc, t.p.nefc);
    expected_drops += t.p.nefc < needs;
    free_problem(&t);
  }
  solve_run(&limited);
  solve_run(&by_hand);
  for (int i = 0; i < N; i++) {
    same_bits(&limited, i, &by_hand, i, what);
    cr_expect(limited.r.rows_needed[i] >= (int)(limited.r.efc_offset[i + 1] - limited.r.efc_offset[i]), "%s", what);
  }
  cr_expect_eq(expected_drops, N, "%s: only %d environments drop anything", what, expected_drops);
  close_run(&limited);
  close_run(&by_hand);
}

Test(capacity, whole_contacts_in_the_stated_order) {
  const problem_case many = {"contacts of every kind", 20, 3, 2, 2, 4, 4, 3, 2, 1, 0};
  const int tried[][2] = {{55, 0}, {40, 0}, {23, 0}, {10, 0}, {7, 0}, {0, 12}, {0, 5}, {0, 1}, {30, 4}, {50, 3}};
  EACH_PRECISION(precision)
    for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) check_capacity(&many, tried[k][0], tried[k][1], precision);
}

Test(capacity, environments_that_fit_keep_their_bits) {
  EACH_PRECISION(precision) {
    test_run free_run = open_run(NULL, 1, precision, 1e-10, NPROBLEM), limited = open_run(NULL, 2, precision, 1e-10, NPROBLEM);
    int fit = 0;
    CALL(sc_batch_capacity(limited.batch, 20, 0));
    for (int i = 0; i < NPROBLEM; i++) {
      test_problem t = make_problem(&problem_cases[i], 3);
      CALL(sc_batch_set(free_run.batch, i, &t.p));
      CALL(sc_batch_set(limited.batch, i, &t.p));
      free_problem(&t);
    }
    solve_run(&free_run);
    solve_run(&limited);
    for (int i = 0; i < NPROBLEM; i++)
      if (free_run.r.rows_needed[i] <= 20) same_bits(&limited, i, &free_run, i, problem_cases[i].name), fit++;
    cr_expect(fit > 3 && fit < NPROBLEM, "%d fit", fit);
    close_run(&free_run);
    close_run(&limited);
  }
}

Test(capacity, rows_that_are_no_contacts_are_never_dropped) {
  const problem_case c = {"equalities", 12, 6, 2, 1, 2, 0, 0, 0, 1, 0};
  test_run t = open_run(NULL, 1, SC_F64, 1e-10, 2);
  test_problem q = make_problem(&c, 1);
  sc_problem p;
  sc_rows rows;
  CALL(sc_batch_capacity(t.batch, 8, 0));
  cr_assert_eq(sc_batch_set(t.batch, 0, &q.p), SC_ERROR_VALUE);
  cr_expect_str_eq(sc_error_text(), "sc_batch_set: environment 0: its equalities, dry friction and limits alone have 9 rows, more than max_rows 8; it needs "
                                    "17 rows and 2 contacts");
  CALL(sc_batch_get(t.batch, 0, &p, &rows));
  cr_expect(rows.bad && (rows.flags & SC_ROWS_DROPPED) && rows.rows_needed == 17 && rows.contacts_needed == 2 && p.nefc == 17);
  cr_expect_str_eq(rows.why, "its equalities, dry friction and limits alone have 9 rows, more than max_rows 8; it needs 17 rows and 2 contacts");
  CALL(sc_batch_capacity(t.batch, 9, 0));
  CALL(sc_batch_set(t.batch, 1, &q.p));
  solve_run(&t);
  cr_expect(t.r.status[0] == SC_BAD_INPUT && (t.r.flags[0] & SC_ROWS_DROPPED) && t.r.rows_needed[0] == 17);
  cr_expect(t.r.status[1] == SC_SOLVED && t.r.efc_offset[2] - t.r.efc_offset[1] == 9);
  /* set again without the capacity, it is good again */
  CALL(sc_batch_capacity(t.batch, 0, 0));
  CALL(sc_batch_set(t.batch, 0, &q.p));
  CALL(sc_batch_get(t.batch, 0, &p, &rows));
  cr_expect(!rows.bad && !rows.flags && !rows.why && p.nefc == 17);
  free_problem(&q);
  close_run(&t);
}

Test(capacity, arguments) {
  test_run t = open_run(NULL, 1, SC_F64, 1e-10, 1);
  cr_expect_eq(sc_batch_capacity(NULL, 1, 1), SC_ERROR_ARGUMENT);
  cr_expect_eq(sc_batch_capacity(t.batch, -1, 1), SC_ERROR_ARGUMENT);
  cr_expect_str_eq(sc_error_text(), "sc_batch_capacity: max_rows is -1, not >= 0");
  cr_expect_eq(sc_batch_capacity(t.batch, 1, -2), SC_ERROR_ARGUMENT);
  cr_expect_eq(sc_batch_set_bad(t.batch, 1, 3, "x"), SC_ERROR_ARGUMENT);
  cr_expect_eq(sc_batch_set_bad(t.batch, 0, -1, "x"), SC_ERROR_ARGUMENT);
  cr_expect_eq(sc_batch_set_bad(t.batch, 0, 3, NULL), SC_ERROR_ARGUMENT);
  CALL(sc_batch_set_bad(t.batch, 0, 3, "nothing came"));
  sc_problem p;
  sc_rows rows;
  CALL(sc_batch_get(t.batch, 0, &p, &rows));
  cr_expect(p.nv == 3 && p.nefc == 0 && rows.bad && !strcmp(rows.why, "nothing came"));
  solve_run(&t);
  cr_expect(t.r.status[0] == SC_BAD_INPUT && isnan(t.r.qacc[2]));
  close_run(&t);
}

/* ------------------------------------------------------------------ a model's rows */

static const char pile[] =
    "<mujoco><option cone='%s'/><size memory='20M'/><worldbody><geom type='plane' size='5 5 1'/>"
    "<body pos='0 0 .12'><freejoint/><geom type='box' size='.1 .1 .1' condim='4'/></body>"
    "<body pos='.02 .03 .34'><freejoint/><geom type='box' size='.1 .1 .1' condim='3'/></body>"
    "<body pos='.5 0 .1'><freejoint/><geom size='.1' condim='1'/></body>"
    "<body pos='1 0 .3'><joint axis='0 1 0' range='-5 5' limited='true' frictionloss='.1'/>"
    " <geom type='capsule' fromto='0 0 0 .3 0 -.24' size='.05' condim='6'/></body></worldbody></mujoco>";

static int dropped_contacts(const sc_contacts *c, const sc_batch *batch, int env) {
  sc_problem p;
  int dropped = 0;
  CALL(sc_batch_get(batch, env, &p, NULL));
  for (size_t i = c->contact_offset[env]; i < c->contact_offset[env + 1]; i++) {
    int found = 0, id = (int)(i - c->contact_offset[env]);
    for (int r = 0; r < p.nefc; r++) found |= p.efc_type[r] >= SC_CONTACT_FRICTIONLESS && p.efc_id[r] == id;
    dropped += !found;
    for (int k = 0; k < 6 && !found; k++) cr_expect_eq(c->force[6 * i + (size_t)k], 0, "a dropped contact has a force");
  }
  return dropped;
}

/* softcon's rows and MuJoCo's lose the same contacts; the others of the bridge's calls know it */
static void check_model(const char *cone, int max_rows) {
  enum { STATES = 40 };
  char xml[2000], error[300];
  snprintf(xml, sizeof xml, pile, cone);
  mjSpec *spec = mj_parseXMLString(xml, NULL, error, sizeof error);
  mjModel *m = mj_compile(spec, NULL);
  cr_assert(m != NULL, "%s", error);
  test_run t[2] = {open_states(STATES, SC_F64), open_states(STATES, SC_F64)};
  double *states = NULL, errors[2][STATES];
  int flagged = 0, dropped = 0;
  for (int rows = 0; rows < 2; rows++) {
    sc_model *model;
    sc_model_options o;
    sc_model_options_init(&o);
    o.rows = rows;
    CALL(sc_model_wrap(m, &o, &model));
    if (!rows) {
      size_t n;
      CALL(sc_state_size(model, -1, &n));
      states = malloc(STATES * n * sizeof *states);
      CALL(sc_states_make(t[0].context, model, STATES, 3, 200, states, NULL, NULL));
    }
    CALL(sc_batch_capacity(t[rows].batch, max_rows, 9));
    CALL(sc_model_batch(t[rows].context, model, states, -1, STATES, t[rows].batch, NULL, NULL, NULL));
    solve_run(&t[rows]);
    sc_contacts *contacts;
    CALL(sc_model_contacts(t[rows].context, model, states, -1, STATES, t[rows].batch, &t[rows].r, &contacts));
    for (int i = 0; i < STATES; i++) dropped += dropped_contacts(contacts, t[rows].batch, i);
    sc_contacts_destroy(contacts);
    sc_mujoco_compare compare = {.qacc_error = errors[0], .mujoco_error = errors[1]};
    CALL(sc_model_compare(t[rows].context, model, states, -1, STATES, t[rows].batch, &t[rows].r, 1, &compare, NULL, NULL));
    for (int i = 0; i < STATES; i++) {
      int lost = (t[rows].r.flags[i] & SC_ROWS_DROPPED) != 0;
      flagged += lost;
      cr_expect(errors[0][i] <= 1e-9, "environment %d: error %g", i, errors[0][i]);
      cr_expect_eq(isnan(errors[1][i]) != 0, lost, "environment %d: MuJoCo's error is %g", i, errors[1][i]);
    }
    sc_model_destroy(model);
  }
  cr_expect(flagged > STATES / 2 && flagged < 2 * STATES && dropped > flagged, "%d flagged, %d contacts dropped", flagged, dropped);
  for (int i = 0; i < STATES; i++) {
    sc_problem p[2];
    for (int k = 0; k < 2; k++) CALL(sc_batch_get(t[k].batch, i, &p[k], NULL));
    cr_assert_eq(p[0].nefc, p[1].nefc, "environment %d: %d rows of softcon, %d of MuJoCo", i, p[0].nefc, p[1].nefc);
    for (int r = 0; r < p[0].nefc; r++) cr_expect(p[0].efc_id[r] == p[1].efc_id[r] && p[0].efc_type[r] == p[1].efc_type[r], "environment %d, row %d", i, r);
    cr_expect(p[0].nefc <= max_rows && t[0].r.rows_needed[i] == t[1].r.rows_needed[i] && t[0].r.contacts_needed[i] == t[1].r.contacts_needed[i]);
  }
  free(states);
  close_run(&t[0]);
  close_run(&t[1]);
  mj_deleteModel(m);
  mj_deleteSpec(spec);
}

Test(capacity, of_models) {
  check_model("pyramidal", 40);
  check_model("elliptic", 33);
}
