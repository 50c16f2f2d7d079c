/* Parameters that differ from environment to environment, against an mjModel that is changed by hand for each of them. */
#include "support/model_run.h"
#include "support/tolerances.h"

#include <math.h>
#include <stdio.h>

#define TOL 1e-10 /* |difference| / max(|value|, 1e-3); D relative */

static const char xml[] =
    "<mujoco><option timestep='0.002' impratio='2'/>"
    "<worldbody><geom name='floor' type='plane' size='5 5 1'/>"
    "<body name='box' pos='0 0 .11'><freejoint/><geom type='box' size='.1 .08 .1' condim='4'/></body>"
    "<body name='ball' pos='.5 0 .1'><freejoint/><geom name='ball' size='.1' condim='6' margin='.01' gap='.01'/></body>"
    "<body name='arm' pos='-.5 0 .4'><joint name='a' axis='0 1 0' range='-20 30' limited='true' frictionloss='.1' armature='.01'/>"
    " <geom name='arm' type='capsule' fromto='0 0 0 .3 0 0' size='.04'/>"
    " <body pos='.3 0 0'><joint name='b' axis='0 1 0' range='-40 20' limited='true' margin='.05' frictionloss='.05'/>"
    "  <geom name='hand' type='capsule' fromto='0 0 0 .2 0 -.3' size='.04'/></body></body>"
    "<body name='car' pos='1 0 .05'><joint type='slide' axis='0 0 1'/><geom type='box' size='.05 .05 .05' mass='.5'/></body>"
    "</worldbody>"
    "<contact><pair geom1='hand' geom2='floor' condim='3'/><pair geom1='arm' geom2='ball' margin='.02'/></contact>"
    "<tendon><fixed name='t' limited='true' range='-.1 .1' margin='.05' frictionloss='.2'><joint joint='a' coef='1'/>"
    " <joint joint='b' coef='-.5'/></fixed></tendon>"
    "<equality><joint joint1='a' joint2='b' polycoef='0 .5 0 0 0'/></equality></mujoco>";

static mjModel *load(int cone) {
  char error[500] = "";
  mjSpec *spec = mj_parseXMLString(xml, NULL, error, sizeof error);
  cr_assert(spec != NULL, "%s", error);
  mjModel *m = mj_compile(spec, NULL);
  cr_assert(m != NULL, "%s", mjs_getError(spec));
  mj_deleteSpec(spec);
  m->opt.cone = cone;
  return m;
}

/* ------------------------------------------------------------------ values */

static uint64_t random_state = 1;

static double uniform(double low, double high) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return low + (high - low) * (double)(random_state >> 11) * 0x1p-53;
}

static int has(const char *name, const char *part) { return strstr(name, part) != NULL; }

static void draw_solref(double *x, int n) {
  for (int i = 0; i < n; i += 2) {
    int direct = uniform(0, 1) < 0.2;
    x[i] = direct ? uniform(-3000, -100) : uniform(0.002, 0.05);
    x[i + 1] = direct ? uniform(-100, -5) : uniform(0.3, 1.5);
  }
}

static void draw_solimp(double *x, int n) {
  for (int i = 0; i < n; i += 5) {
    x[i] = uniform(0.3, 0.96), x[i + 1] = uniform(0.9, 0.99), x[i + 2] = uniform(-0.001, 0.01);
    x[i + 3] = uniform(0.2, 0.8), x[i + 4] = uniform(0.8, 3);
  }
}

/* n values of a field; base: the model's own */
static void draw(const char *name, const double *base, double *x, int n) {
  double factor = uniform(0.5, 2);
  if (has(name, "solref")) draw_solref(x, n);
  if (has(name, "solimp")) draw_solimp(x, n);
  if (has(name, "solref") || has(name, "solimp")) return;
  for (int i = 0; i < n; i++)
    if (has(name, "frictionloss"))
      x[i] = fmax(0, uniform(-0.1, 0.4));
    else if (has(name, "friction"))
      x[i] = uniform(-0.1, 1.2);
    else if (has(name, "range"))
      x[i] = i % 2 ? uniform(0.01, 0.4) : uniform(-0.4, -0.01);
    else if (has(name, "margin"))
      x[i] = uniform(-0.005, 0.03);
    else if (has(name, "gap"))
      x[i] = uniform(0, 0.02);
    else if (has(name, "priority"))
      x[i] = floor(uniform(0, 2.5));
    else if (has(name, "solmix"))
      x[i] = fmax(0, uniform(-0.2, 2));
    else if (has(name, "armature"))
      x[i] = uniform(0, 0.1);
    else if (has(name, "timestep"))
      x[i] = uniform(0.001, 0.01);
    else if (has(name, "impratio"))
      x[i] = uniform(0.5, 20);
    else
      x[i] = base[i] * factor; /* mass, inertia */
}

/* ------------------------------------------------------------------ the reference */

/* the field in an mjModel, by the names of MuJoCo; NULL for integers */
static double *place(mjModel *m, const char *name) {
#define NAME(field) if (!strcmp(name, #field)) return m->field;
  NAME(geom_solref) NAME(geom_solimp) NAME(geom_solmix) NAME(geom_friction) NAME(geom_margin) NAME(geom_gap)
  NAME(pair_solref) NAME(pair_solreffriction) NAME(pair_solimp) NAME(pair_friction) NAME(pair_margin) NAME(pair_gap)
  NAME(jnt_solref) NAME(jnt_solimp) NAME(jnt_margin) NAME(jnt_range)
  NAME(dof_solref) NAME(dof_solimp) NAME(dof_frictionloss) NAME(dof_armature)
  NAME(tendon_solref_lim) NAME(tendon_solimp_lim) NAME(tendon_solref_fri) NAME(tendon_solimp_fri)
  NAME(tendon_margin) NAME(tendon_range) NAME(tendon_frictionloss) NAME(eq_solref) NAME(eq_solimp)
  NAME(body_mass) NAME(body_inertia)
#undef NAME
  if (!strcmp(name, "opt_timestep")) return &m->opt.timestep;
  if (!strcmp(name, "opt_impratio")) return &m->opt.impratio;
  cr_assert_str_eq(name, "geom_priority");
  return NULL;
}

#define MOST 64

typedef struct {
  int n, nenv;
  sc_override list[MOST];
  double *values[MOST];
  int numbers[MOST];
} set;

static set open_set(const sc_model *model, mjModel *m, int nenv) {
  set s = {.nenv = nenv};
  for (; sc_override_field(s.n); s.n++) {
    const char *name = sc_override_field(s.n);
    int rows, columns;
    CALL(sc_model_field(model, name, &rows, &columns));
    s.numbers[s.n] = rows * columns;
    cr_assert(rows > 0, "%s: the model should have one", name);
    s.values[s.n] = malloc((size_t)nenv * (size_t)s.numbers[s.n] * sizeof(double));
    for (int e = 0; e < nenv; e++)
      draw(name, place(m, name), s.values[s.n] + (size_t)e * (size_t)s.numbers[s.n], s.numbers[s.n]);
    sc_override_init(&s.list[s.n]);
    s.list[s.n].field = name, s.list[s.n].values = s.values[s.n];
  }
  cr_assert(s.n > 30);
  return s;
}

static void close_set(set *s) {
  for (int i = 0; i < s->n; i++) free(s->values[i]);
}

static double *values_of(const set *s, const char *name, int env) {
  for (int i = 0; i < s->n; i++)
    if (!strcmp(s->list[i].field, name)) return s->values[i] + (size_t)env * (size_t)s->numbers[i];
  return NULL;
}

/* a copy of m with the values of an environment */
static mjModel *change(const mjModel *m, const set *s, int env) {
  mjModel *copy = mj_copyModel(NULL, m);
  for (int i = 0; i < s->n; i++) {
    const double *x = s->values[i] + (size_t)env * (size_t)s->numbers[i];
    double *at = place(copy, s->list[i].field);
    for (int k = 0; k < s->numbers[i]; k++)
      if (at)
        at[k] = x[k];
      else
        copy->geom_priority[k] = (int)x[k];
  }
  for (int b = 0; b < copy->nbody; b++) copy->body_margin[b] = 1; /* m: the broad phase drops nothing */
  mjData *d = mj_makeData(copy);
  mj_setConst(copy, d);
  mj_deleteData(d);
  return copy;
}

/* ------------------------------------------------------------------ comparison */

static void near(const char *name, int env, int i, double mine, double theirs, double least) {
  cr_assert(fabs(mine - theirs) <= TOL * fmax(fabs(theirs), least), "environment %d: %s[%d] is %.17g, not %.17g", env,
            name, i, mine, theirs);
}

static void dense_row(const double *x, const int *nnz, const int *adr, const int *col, int r, int n, double *out) {
  memset(out, 0, (size_t)n * sizeof *out);
  for (int k = 0; k < nnz[r]; k++) out[col[adr[r] + k]] = x[adr[r] + k];
}

static void compare_matrices(const sc_problem *p, const mjModel *m, const mjData *d, int env) {
  double mine[64], theirs[64];
  int nv = p->nv;
  cr_assert(nv == m->nv && nv <= 64 && !mj_isSparse(m));
  for (int r = 0; r < nv; r++) {
    dense_row(p->M, p->M_rownnz, p->M_rowadr, p->M_colind, r, nv, mine);
    dense_row(d->M, m->M_rownnz, m->M_rowadr, m->M_colind, r, nv, theirs);
    for (int k = 0; k <= r; k++) near("M", env, r * nv + k, mine[k], theirs[k], 1e-3);
    near("qfrc_smooth", env, r, p->qfrc_smooth[r], d->qfrc_smooth[r], 1e-3);
  }
  for (int r = 0; r < p->nefc; r++) {
    dense_row(p->efc_J, p->J_rownnz, p->J_rowadr, p->J_colind, r, nv, mine);
    for (int k = 0; k < nv; k++) near("J", env, r * nv + k, mine[k], d->efc_J[r * nv + k], 1e-3);
  }
}

/* the batch's environment against MuJoCo's rows of a changed model */
static void compare_rows(const sc_batch *batch, int env, const mjModel *m, const double *state) {
  mjData *d = mj_makeData(m);
  sc_problem p;
  sc_rows rows;
  mj_setState(m, d, state, mjSTATE_INTEGRATION);
  mj_fwdPosition(m, d);
  mj_fwdVelocity(m, d);
  mj_fwdActuation(m, d);
  mj_fwdAcceleration(m, d);
  CALL(sc_batch_get(batch, env, &p, &rows));
  cr_assert(!rows.bad);
  cr_assert_eq(p.nefc, d->nefc, "environment %d: %d rows, not %d", env, p.nefc, d->nefc);
  compare_matrices(&p, m, d, env);
  for (int r = 0; r < p.nefc; r++) {
    cr_assert(p.efc_type[r] == d->efc_type[r] && p.efc_id[r] == d->efc_id[r], "environment %d: row %d", env, r);
    near("D", env, r, p.efc_D[r], d->efc_D[r], 0);
    near("R", env, r, rows.R[r], d->efc_R[r], 0);
    near("aref", env, r, p.efc_aref[r], d->efc_aref[r], 1e-3);
    near("pos", env, r, p.efc_pos[r], d->efc_pos[r], 1e-3);
    near("margin", env, r, p.efc_margin[r], d->efc_margin[r], 1e-3);
    near("frictionloss", env, r, p.efc_frictionloss[r], d->efc_frictionloss[r], 1e-3);
    const double *const mine[] = {rows.K, rows.B, rows.d, rows.dp};
    for (int k = 0; k < 4; k++) near("KBIP", env, 4 * r + k, mine[k][r], d->efc_KBIP[4 * r + k], 1e-3);
  }
  mj_deleteData(d);
}

/* An answer, and the optimum of its rows, against the optimum of MuJoCo's rows of a changed model. What the answer's own
 * certificate admits is allowed it. */
static void compare_answer(const test_run *t, int env, const mjModel *m, const double *state) {
  sc_model_options o;
  sc_model *model;
  sc_batch *batch;
  sc_problem p;
  double best[64], own[64], error;
  sc_model_options_init(&o);
  o.rows = 1;
  CALL(sc_model_wrap(m, &o, &model));
  CALL(sc_batch_create(t->context, 1, &batch));
  CALL(sc_model_batch(t->context, model, state, -1, 1, batch, NULL, NULL, NULL));
  CALL(sc_batch_get(t->batch, env, &p, NULL));
  memcpy(own, run_qacc(t, env), (size_t)p.nv * sizeof *own);
  memcpy(best, own, sizeof own);
  CALL(sc_check_polish(&p, own, NULL));
  CALL(sc_batch_get(batch, 0, &p, NULL));
  CALL(sc_check_polish(&p, best, NULL));
  CALL(sc_check_error(&p, own, best, NULL, NULL, &error, NULL));
  cr_assert(error <= TOL, "environment %d: optimum error %g", env, error);
  CALL(sc_check_error(&p, run_qacc(t, env), best, NULL, NULL, &error, NULL));
  cr_assert(error <= fmax(TOL, t->r.qacc_bound[env] * (1 + TOL_BOUND)), "environment %d: qacc error %g", env, error);
  sc_batch_destroy(batch);
  sc_model_destroy(model);
}

/* ------------------------------------------------------------------ tests */

enum { NENV = 5000, NSTATE = 50, WRONG = 4711 };

typedef struct {
  mjModel *m;
  sc_model *model;
  test_run run;
  size_t nstate;
  double *states;
} scene;

static scene open_scene(int cone, int nenv) {
  scene s = {.m = load(cone), .run = open_states(nenv, SC_F64)};
  CALL(sc_model_wrap(s.m, NULL, &s.model));
  CALL(sc_state_size(s.model, -1, &s.nstate));
  s.states = malloc((size_t)nenv * s.nstate * sizeof(double));
  int made = nenv < NSTATE ? nenv : NSTATE;
  CALL(sc_states_make(s.run.context, s.model, made, 3, 200, s.states, NULL, NULL));
  for (int e = made; e < nenv; e++)
    memcpy(s.states + (size_t)e * s.nstate, s.states + (size_t)(e % made) * s.nstate, s.nstate * sizeof(double));
  return s;
}

static void close_scene(scene *s) {
  free(s->states);
  sc_model_destroy(s->model);
  close_run(&s->run);
  mj_deleteModel(s->m);
}

static void fill(scene *s, int nenv, const set *v) {
  CALL(sc_model_batch_with(s->run.context, s->model, s->states, -1, nenv, v->list, v->n, s->run.batch, NULL, NULL, NULL));
}

static void silent(const char *message) { (void)message; }

static void many(int cone) {
  mju_user_warning = silent; /* the reference's of the mixed solref */
  scene s = open_scene(cone, NENV);
  set v = open_set(s.model, s.m, NENV);
  double *wrong = values_of(&v, "geom_solref", WRONG);
  for (int g = 0; g < s.m->ngeom; g++) wrong[2 * g] = 0.02, wrong[2 * g + 1] = -1;
  fill(&s, NENV, &v);
  solve_run(&s.run);
  int contacts = 0, solved = 0;
  for (int e = 0; e < NENV; e++) {
    sc_problem p;
    CALL(sc_batch_get(s.run.batch, e, &p, NULL));
    contacts += p.ncon > 0;
    solved += s.run.r.status[e] == SC_SOLVED;
    cr_assert(s.run.r.status[e] < SC_BAD_INPUT, "environment %d: %s", e, sc_status_name(s.run.r.status[e]));
    cr_assert_eq(s.run.r.flags[e] & SC_REPAIRED, e == WRONG ? SC_REPAIRED : 0, "environment %d: flags %u", e,
                 s.run.r.flags[e]);
  }
  cr_assert(contacts > NENV / 2, "only %d environments have contacts", contacts);
  cr_assert(solved >= NENV * 99 / 100, "%d of %d solved", solved, NENV); /* to rounding: tolerance 1e-15 */
  for (int e = 0; e < NENV; e += e == WRONG ? 4 : e + 31 > WRONG && e < WRONG ? WRONG - e : 31) {
    const double *state = s.states + (size_t)e * s.nstate;
    mjModel *changed = change(s.m, &v, e);
    compare_rows(s.run.batch, e, changed, state);
    compare_answer(&s.run, e, changed, state);
    mj_deleteModel(changed);
  }
  close_set(&v);
  close_scene(&s);
}

Test(overrides, five_thousand_pyramidal) { many(0); }
Test(overrides, five_thousand_elliptic) { many(1); }

/* the numbers of an environment, bit by bit */
static void same_bits(const sc_batch *one, int e1, const sc_batch *other, int e2) {
  sc_problem p, q;
  sc_rows r, s;
  CALL(sc_batch_get(one, e1, &p, &r));
  CALL(sc_batch_get(other, e2, &q, &s));
  size_t n = (size_t)p.nefc * sizeof(double);
  cr_assert(p.nefc == q.nefc && p.ncon == q.ncon && r.bad == s.bad && r.flags == s.flags, "environment %d", e1);
  cr_assert(!memcmp(p.qfrc_smooth, q.qfrc_smooth, (size_t)p.nv * sizeof(double)), "environment %d", e1);
  if (!n) return;
  cr_assert(!memcmp(p.efc_D, q.efc_D, n) && !memcmp(p.efc_aref, q.efc_aref, n), "environment %d", e1);
}

/* whatever came before on the same worker, and however many workers there are */
Test(overrides, an_environment_depends_on_its_own_values_alone) {
  enum { N = 60 };
  scene s = open_scene(1, N);
  set v = open_set(s.model, s.m, N);
  fill(&s, N, &v);
  sc_context_options o;
  sc_context *alone;
  sc_batch *batch;
  sc_context_options_init(&o);
  o.threads = 1;
  CALL(sc_context_create(&o, &alone));
  CALL(sc_batch_create(alone, N, &batch));
  set reversed = v;
  double *states = malloc(N * s.nstate * sizeof *states);
  for (size_t e = 0; e < N; e++)
    memcpy(states + e * s.nstate, s.states + (N - 1 - e) * s.nstate, s.nstate * sizeof *states);
  for (int i = 0; i < v.n; i++) {
    size_t n = (size_t)v.numbers[i];
    reversed.values[i] = malloc(N * n * sizeof(double));
    for (size_t e = 0; e < N; e++)
      memcpy(reversed.values[i] + e * n, v.values[i] + (N - 1 - e) * n, n * sizeof(double));
    reversed.list[i].values = reversed.values[i];
  }
  CALL(sc_model_batch_with(alone, s.model, states, -1, N, reversed.list, v.n, batch, NULL, NULL, NULL));
  for (int e = 0; e < N; e++) same_bits(s.run.batch, e, batch, N - 1 - e);
  sc_batch_destroy(batch);
  sc_context_destroy(alone);
  free(states);
  close_set(&reversed);
  close_set(&v);
  close_scene(&s);
}

/* whatever an earlier call wrote, which a model keeps: each field alone after all others, against a new model */
Test(overrides, nothing_is_left_of_an_earlier_call) {
  enum { N = 6 };
  scene s = open_scene(1, N);
  set v = open_set(s.model, s.m, N);
  sc_batch *fresh;
  CALL(sc_batch_create(s.run.context, N, &fresh));
  for (int i = 0; i < v.n; i++) {
    fill(&s, N, &v);
    CALL(sc_model_batch_with(s.run.context, s.model, s.states, -1, N, &v.list[i], 1, s.run.batch, NULL, NULL, NULL));
    sc_model *model;
    CALL(sc_model_wrap(s.m, NULL, &model));
    CALL(sc_model_batch_with(s.run.context, model, s.states, -1, N, &v.list[i], 1, fresh, NULL, NULL, NULL));
    for (int e = 0; e < N; e++) same_bits(s.run.batch, e, fresh, e);
    sc_model_destroy(model);
  }
  sc_batch_destroy(fresh);
  close_set(&v);
  close_scene(&s);
}

/* the model's own values change nothing, and the model itself is not written */
Test(overrides, own_values_are_no_change) {
  enum { N = 20 };
  scene s = open_scene(1, N);
  set v = open_set(s.model, s.m, N);
  for (int i = 0; i < v.n; i++)
    for (int k = 0; k < N * v.numbers[i]; k++) {
      const double *own = place(s.m, v.list[i].field);
      v.values[i][k] = own ? own[k % v.numbers[i]] : s.m->geom_priority[k % v.numbers[i]];
    }
  fill(&s, N, &v);
  sc_batch *plain;
  CALL(sc_batch_create(s.run.context, N, &plain));
  CALL(sc_model_batch(s.run.context, s.model, s.states, -1, N, plain, NULL, NULL, NULL));
  for (int e = 0; e < N; e++) same_bits(s.run.batch, e, plain, e);
  sc_batch_destroy(plain);
  close_set(&v);
  close_scene(&s);
}

/* ------------------------------------------------------------------ what is refused */

Test(overrides, a_value_out_of_bounds_is_that_environments) {
  static const struct {
    const char *field, *says;
    int at;
    double value;
  } wrong[] = {{"geom_friction", "environment 7: geom_friction[1][2] is nan, not finite", 5, NAN},
               {"geom_solref", "environment 7: geom_solref[0][1] is inf, not finite", 1, INFINITY},
               {"body_mass", "environment 7: body_mass[2] is -1, not finite and >= 0", 2, -1},
               {"dof_armature", "environment 7: dof_armature[0] is -1, not", 0, -1},
               {"opt_impratio", "environment 7: opt_impratio is 0, not finite and > 0", 0, 0},
               {"opt_timestep", "environment 7: opt_timestep is nan, not finite and > 0", 0, NAN},
               {"geom_priority", "environment 7: geom_priority[1] is 0.5, not an integer", 1, 0.5}};
  enum { N = 12 };
  scene s = open_scene(0, N);
  set v = open_set(s.model, s.m, N);
  sc_batch *good;
  CALL(sc_batch_create(s.run.context, N, &good));
  CALL(sc_model_batch_with(s.run.context, s.model, s.states, -1, N, v.list, v.n, good, NULL, NULL, NULL));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    double *x = values_of(&v, wrong[i].field, 7) + wrong[i].at, before = *x;
    *x = wrong[i].value;
    int code = sc_model_batch_with(s.run.context, s.model, s.states, -1, N, v.list, v.n, s.run.batch, NULL, NULL, NULL);
    cr_assert_eq(code, SC_ERROR_VALUE, "%s: %d", wrong[i].field, code);
    cr_assert(strstr(sc_error_text(), wrong[i].says), "%s", sc_error_text());
    solve_run(&s.run);
    for (int e = 0; e < N; e++) {
      cr_assert_eq(s.run.r.status[e] == SC_BAD_INPUT, e == 7, "%s: environment %d", wrong[i].field, e);
      if (e != 7) same_bits(s.run.batch, e, good, e);
    }
    *x = before;
  }
  sc_batch_destroy(good);
  close_set(&v);
  close_scene(&s);
}

static void refused(scene *s, const sc_override *list, int n, const char *says) {
  int code = sc_model_batch_with(s->run.context, s->model, s->states, -1, 2, list, n, s->run.batch, NULL, NULL, NULL);
  cr_assert_eq(code, SC_ERROR_ARGUMENT, "%s: %d", says, code);
  cr_assert(strstr(sc_error_text(), says), "\"%s\" is not in: %s", says, sc_error_text());
}

Test(overrides, illegal_lists_are_refused) {
  scene s = open_scene(0, 2);
  double values[200] = {0};
  sc_override o[2];
  for (int k = 0; k < 2; k++) sc_override_init(&o[k]), o[k].field = "geom_solmix", o[k].values = values;
  refused(&s, NULL, 1, "overrides is NULL");
  refused(&s, o, -1, "noverride is -1");
  refused(&s, o, 2, "overrides[1].field: \"geom_solmix\" is already overrides[0]");
  o[0].field = NULL;
  refused(&s, o, 1, "overrides[0].field is NULL");
  o[0].field = "geom_color";
  refused(&s, o, 1, "no field \"geom_color\" can be overridden");
  o[0].field = "geom_solmix", o[0].values = NULL;
  refused(&s, o, 1, "overrides[0].values is NULL");
  o[0].values = values, o[0].size = 1;
  refused(&s, o, 1, "overrides[0].size is 1");
  int rows = 0, columns = 0;
  cr_assert_eq(sc_model_field(s.model, "geom_color", &rows, &columns), SC_ERROR_ARGUMENT);
  CALL(sc_model_field(s.model, "body_inertia", &rows, &columns));
  cr_assert(rows == s.m->nbody && columns == 3);
  close_scene(&s);
}
