/* Contacts and their forces against mj_contactForce, which is given softcon's rows' forces. */
#include "support/model_run.h"

#include <math.h>
#include <stdio.h>

#define TOL 1e-12 /* |difference| / max(|value|, 1e-3): sums of the same numbers */

/* every dim, both kinds of pair, contacts in the gap, adhesion and surface velocity (left out of older versions) */
static const char mixed[] =
    "<mujoco><option timestep='0.002' impratio='3'/><size memory='20M'/>"
    "<worldbody><geom name='floor' type='plane' size='5 5 1' margin='.005' gap='.05' condim='1'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' condim='3' friction='.6 .01 .001'/></body>"
    "<body pos='.6 0 .11'><freejoint/><geom type='box' size='.1 .12 .1' condim='4' friction='.9 .02 .001'/></body>"
    "<body pos='1.2 0 .1'><freejoint/><geom name='ball' size='.1' condim='6' friction='.4 .01 .02'/></body>"
    "<body pos='1.4 0 .1'><freejoint/><geom name='other' size='.1' condim='6'/></body>"
    "<body pos='-1 0 .1'><freejoint/><geom size='.1' condim='1'/></body>"
    "<body pos='-2 0 .12'><freejoint/><geom name='high' type='box' size='.1 .1 .1' condim='1'/></body>"
    "<body pos='-3 0 .13'><joint type='slide' axis='0 0 1' stiffness='1e5'/><geom size='.1'/></body>"
    "</worldbody><contact><pair geom1='ball' geom2='other' condim='4' friction='.5 .3 .02 .01 .01'/></contact></mujoco>";

#if mjVERSION_HEADER >= 3011000
static const char sticky[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='5 5 1' surfacevel='.3 .1 0 0 0 .5'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' condim='3' adhesion='4'/></body>"
    "<body pos='.6 0 .11'><freejoint/><geom size='.11' condim='6' adhesion='2' friction='.7 .02 .01'/></body>"
    "<body pos='1 0 .12'><freejoint/><geom size='.1' condim='4' adhesion='3' gap='.1'/></body>"
    "<body pos='-3 0 .13'><joint type='slide' axis='0 0 1' stiffness='1e5'/><geom size='.1' gap='.1' adhesion='1'/></body>"
    "<body pos='-1 0 .1'><freejoint/><geom size='.1' condim='1' adhesion='7'/></body></worldbody></mujoco>";
#endif

static mjModel *load(const char *xml, int cone, int sparse) {
  char error[500] = "";
  mjSpec *spec = mj_parseXMLString(xml, NULL, error, sizeof error);
  cr_assert(spec != NULL, "%s", error);
  mjModel *m = mj_compile(spec, NULL);
  cr_assert(m != NULL, "%s", mjs_getError(spec));
  mj_deleteSpec(spec);
  m->opt.cone = cone;
  m->opt.jacobian = sparse ? mjJAC_SPARSE : mjJAC_DENSE;
  return m;
}

typedef struct {
  mjModel *m;
  sc_model *model;
  test_run run;
  size_t nstate;
  double *states;
} scene;

static scene open_scene(mjModel *m, int rows, int nenv) {
  scene s = {.m = m, .run = open_states(nenv, SC_F64)};
  sc_model_options o;
  sc_model_options_init(&o);
  o.rows = rows;
  CALL(sc_model_wrap(m, &o, &s.model));
  CALL(sc_state_size(s.model, -1, &s.nstate));
  s.states = malloc((size_t)nenv * s.nstate * sizeof(double));
  CALL(sc_states_make(s.run.context, s.model, nenv, 5, 120, s.states, NULL, NULL));
  return s;
}

static void close_scene(scene *s) {
  free(s->states);
  sc_model_destroy(s->model);
  close_run(&s->run);
  mj_deleteModel(s->m);
}

static void near(int env, const char *name, int i, const double *mine, const double *theirs, int n) {
  for (int k = 0; k < n; k++)
    cr_assert(fabs(mine[k] - theirs[k]) <= TOL * fmax(fabs(theirs[k]), 1e-3),
              "environment %d: contact %d: %s[%d] is %.17g, not %.17g", env, i, name, k, mine[k], theirs[k]);
}

/* what was seen of each kind: by dim, in the gap, with adhesion */
typedef struct {
  int dim[7], gap, rows;
} seen;

static void compare(const scene *s, int env, const sc_contacts *c, seen *count) {
  mjData *d = mj_makeData(s->m);
  const sc_result *r = &s->run.r;
  sc_problem p;
  size_t first = c->contact_offset[env], rows = r->efc_offset[env + 1] - r->efc_offset[env];
  mj_setState(s->m, d, s->states + (size_t)env * s->nstate, mjSTATE_INTEGRATION);
  mj_fwdPosition(s->m, d);
  mj_fwdVelocity(s->m, d);
  mj_fwdActuation(s->m, d);
  mj_fwdAcceleration(s->m, d);
  CALL(sc_batch_get(s->run.batch, env, &p, NULL));
  near(env, "qfrc_smooth", -1, p.qfrc_smooth, d->qfrc_smooth, p.nv); /* adhesion pulls there */
  cr_assert_eq((int)rows, d->nefc);
  cr_assert_eq((int)(c->contact_offset[env + 1] - first), d->ncon);
  if (rows) memcpy(d->efc_force, r->efc_force + r->efc_offset[env], rows * sizeof(double));
  for (int i = 0; i < d->ncon; i++) {
    const mjContact *theirs = &d->contact[i];
    size_t at = first + (size_t)i;
    double force[6] = {0};
    for (int k = 0; k < 2; k++) {
      cr_assert_eq(c->geom[2 * at + (size_t)k], theirs->geom[k]);
      cr_assert_eq(c->body[2 * at + (size_t)k], s->m->geom_bodyid[theirs->geom[k]]);
    }
    near(env, "dist", i, c->dist + at, &theirs->dist, 1);
    near(env, "pos", i, c->pos + 3 * at, theirs->pos, 3);
    near(env, "frame", i, c->frame + 9 * at, theirs->frame, 9);
    mj_contactForce(s->m, d, i, force);
    near(env, "force", i, c->force + 6 * at, force, 6);
    count->dim[theirs->dim] += theirs->efc_address >= 0;
    count->gap += theirs->efc_address < 0;
  }
  mj_deleteData(d);
}

static seen check(const char *xml, int cone, int sparse, int rows) {
  enum { N = 60 };
  seen count = {.gap = 0};
  sc_contacts *c;
  scene s = open_scene(load(xml, cone, sparse), rows, N);
  CALL(sc_model_batch(s.run.context, s.model, s.states, -1, N, s.run.batch, NULL, NULL, NULL));
  solve_run(&s.run);
  CALL(sc_model_contacts(s.run.context, s.model, s.states, -1, N, s.run.batch, &s.run.r, &c));
  cr_assert(c->nenv == N && c->contact_offset[0] == 0);
  for (int e = 0; e < N; e++) compare(&s, e, c, &count);
  sc_contacts_destroy(c);
  close_scene(&s);
  return count;
}

Test(contacts, forces_are_those_of_mj_contactForce) {
  for (int k = 0; k < 8; k++) {
    seen c = check(mixed, k & 1, (k >> 1) & 1, k >> 2);
    cr_assert(c.dim[1] && c.dim[3] && c.dim[4] && c.dim[6] && c.gap, "%d %d %d %d, %d in the gap", c.dim[1], c.dim[3],
              c.dim[4], c.dim[6], c.gap);
  }
}

#if mjVERSION_HEADER >= 3011000
Test(contacts, adhesion_is_taken_off) {
  for (int k = 0; k < 8; k++) {
    seen c = check(sticky, k & 1, (k >> 1) & 1, k >> 2);
    cr_assert(c.dim[1] && c.dim[3] && c.dim[6], "%d %d %d", c.dim[1], c.dim[3], c.dim[6]);
  }
}
#endif

/* a box at rest: its contacts carry its weight */
Test(contacts, a_box_at_rest_weighs_what_it_weighs) {
  static const char xml[] = "<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 .1'><freejoint/>"
                            "<geom type='box' size='.1 .1 .1' mass='2'/></body></worldbody></mujoco>";
  for (int cone = 0; cone < 2; cone++) {
    mjModel *m = load(xml, cone, 0);
    mjData *d = mj_makeData(m);
    sc_contacts *c;
    scene s = open_scene(m, 0, 1);
    for (int k = 0; k < 3000; k++) mj_step(m, d);
    mj_getState(m, d, s.states, mjSTATE_INTEGRATION);
    CALL(sc_model_batch(s.run.context, s.model, s.states, -1, 1, s.run.batch, NULL, NULL, NULL));
    solve_run(&s.run);
    CALL(sc_model_contacts(s.run.context, s.model, s.states, -1, 1, s.run.batch, &s.run.r, &c));
    double up = 0;
    for (size_t i = 0; i < c->contact_offset[1]; i++)
      for (int k = 0; k < 3; k++) up += c->frame[9 * i + (size_t)(3 * k + 2)] * c->force[6 * i + (size_t)k];
    cr_assert(c->contact_offset[1] == 4 && fabs(up - 2 * 9.81) < 1e-6, "%zu contacts carry %.9g N", c->contact_offset[1],
              up);
    sc_contacts_destroy(c);
    mj_deleteData(d);
    close_scene(&s);
  }
}

/* environments without an answer; per-environment margins; what does not belong together */
Test(contacts, bad_environments_and_mismatches) {
  enum { N = 8 };
  scene s = open_scene(load(mixed, 0, 0), 0, N);
  sc_contacts *c;
  s.states[2 * s.nstate + 3] = NAN;
  CALL(sc_model_batch(s.run.context, s.model, s.states, -1, N, s.run.batch, NULL, NULL, NULL));
  solve_run(&s.run);
  CALL(sc_model_contacts(s.run.context, s.model, s.states, -1, N, s.run.batch, &s.run.r, &c));
  cr_assert(c->contact_offset[3] == c->contact_offset[2] && c->contact_offset[2] > 0);
  sc_contacts_destroy(c);
  int code = sc_model_contacts(s.run.context, s.model, s.states, -1, N + 1, s.run.batch, &s.run.r, &c);
  cr_assert(code == SC_ERROR_ARGUMENT && c == NULL && strstr(sc_error_text(), "nenv is 9"), "%s", sc_error_text());
  code = sc_model_contacts(s.run.context, s.model, s.states, -1, N, NULL, &s.run.r, &c);
  cr_assert(code == SC_ERROR_ARGUMENT && strstr(sc_error_text(), "batch is NULL"), "%s", sc_error_text());
  /* with margins of its own an environment has contacts of its own */
  double margin[N * 16] = {0}, gap[N * 16] = {0};
  sc_override o[2];
  for (int k = 0; k < 2; k++) sc_override_init(&o[k]);
  o[0].field = "geom_margin", o[0].values = margin, o[1].field = "geom_gap", o[1].values = gap;
  cr_assert(s.m->ngeom <= 16);
  for (int e = 0; e < N; e++) margin[e * s.m->ngeom] = e % 2 ? 10 : -10; /* m: all touch the floor, or none */
  CALL(sc_model_batch_with(s.run.context, s.model, s.states, -1, N, o, 2, s.run.batch, NULL, NULL, NULL));
  solve_run(&s.run);
  CALL(sc_model_contacts_with(s.run.context, s.model, s.states, -1, N, o, 2, s.run.batch, &s.run.r, &c));
  for (int e = 0; e < N; e++) {
    int n = (int)(c->contact_offset[e + 1] - c->contact_offset[e]), floor_contacts = 0;
    for (size_t i = c->contact_offset[e]; i < c->contact_offset[e + 1]; i++) floor_contacts += c->body[2 * i] == 0;
    if (e != 2) cr_assert(e % 2 ? floor_contacts >= 7 : floor_contacts == 0, "environment %d: %d of %d", e, floor_contacts, n);
  }
  sc_contacts_destroy(c);
  /* without them the same batch does not fit the states' contacts */
  code = sc_model_contacts(s.run.context, s.model, s.states, -1, N, s.run.batch, &s.run.r, &c);
  cr_assert(code == SC_ERROR_ARGUMENT && strstr(sc_error_text(), "not of the same states"), "%d %s", code, sc_error_text());
  sc_contacts_destroy(NULL);
  close_scene(&s);
}
