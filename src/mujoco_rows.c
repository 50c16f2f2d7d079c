/* softcon's rows from MuJoCo's positions and contacts: descriptors of everything that the model constrains. */
#include "mujoco_rows.h"

#include <math.h>
#include <string.h>

#if mjVERSION_HEADER >= 3011000
#define HAS_SURFACE 1 /* surface velocity and adhesion */
#else
#define HAS_SURFACE 0
#endif

#if mjVERSION_HEADER >= 4000000
#define ACTUATORS(m) (m)->nactuator
#else
#define ACTUATORS(m) (m)->nu
#endif

/* solver parameters as MuJoCo accepts them: a negative width counts as 0 */
static void parameters(double *solref, double *solimp, const mjtNum *ref, const mjtNum *imp) {
  memcpy(solref, ref, mjNREF * sizeof *solref);
  memcpy(solimp, imp, mjNIMP * sizeof *solimp);
  if (solimp[2] < 0) solimp[2] = 0;
}

/* ------------------------------------------------------------------ Jacobians */

/* The dofs that move a body, ascending: a row of the inertia's pattern, which holds a dof and all above it. Dofs of
 * simple bodies have rows of their own only, but these lie one behind another. */
static int chain(const mjModel *m, int body, const int **dof) {
  int b = m->body_weldid[body], n = m->body_dofnum[b], first = m->body_dofadr[b];
  *dof = NULL;
  if (n == 0) return 0;
  int row = m->dof_simplenum[first] ? first : first + n - 1;
  *dof = m->M_colind + m->M_rowadr[row];
  return m->dof_simplenum[first] ? n : m->M_rownnz[row];
}

/* The body's motion by MuJoCo's table of motion axes (angular, linear), which all bodies of a tree share, seen from the
 * tree's centre of mass. */
static void describe_body(const mjModel *m, const mjData *d, int body, sc_body *out) {
  out->n = chain(m, body, &out->dof);
  out->Jr = d->cdof, out->Jp = d->cdof + 3;
  out->row_stride = 1, out->dof_stride = 6, out->by_dof = 1;
  memcpy(out->point, d->subtree_com + 3 * m->body_rootid[body], sizeof out->point);
  memcpy(out->invweight, m->body_invweight0 + 2 * body, sizeof out->invweight);
}

/* Its acceleration at qacc = 0: the sum of cdof_dot qvel is that of the point fixed in space; the body's own point
 * there has omega x v more. */
static void describe_bias(const mjData *d, int body, sc_body *out) {
  const mjtNum *v = d->cvel + 6 * body;
  if (!out->n) return;
  for (int k = 0; k < out->n; k++)
    for (int i = 0; i < 6; i++) out->bias[i] += d->cdof_dot[6 * out->dof[k] + i] * d->qvel[out->dof[k]];
  out->bias[3] += v[1] * v[5] - v[2] * v[4];
  out->bias[4] += v[2] * v[3] - v[0] * v[5];
  out->bias[5] += v[0] * v[4] - v[1] * v[3];
}

static sc_sparse_row tendon_row(const mjModel *m, const mjData *d, int t) {
  int at = m->ten_J_rowadr[t];
  return (sc_sparse_row){m->ten_J_rownnz[t], m->ten_J_colind + at, d->ten_J + at};
}

/* ------------------------------------------------------------------ equalities */

/* p = xmat local + xpos, rounded as MuJoCo does: whether a Jacobian is exactly 0 may hang on it */
static void body_point(const mjData *d, int body, const mjtNum *local, double *p) {
  mju_mulMatVec3(p, d->xmat + 9 * body, local);
  mju_addTo3(p, d->xpos + 3 * body);
}

/* bodies, anchors and orientations of a connect (quat NULL) or weld; the two keep their anchors in opposite places */
static void ends(const mjModel *m, const mjData *d, int i, int body[2], double point[2][3], double quat[2][4]) {
  const mjtNum *data = m->eq_data + mjNEQDATA * i;
  const int object[2] = {m->eq_obj1id[i], m->eq_obj2id[i]};
  int site = m->eq_objtype[i] == mjOBJ_SITE;
  for (int k = 0; k < 2; k++) {
    int b = body[k] = site ? m->site_bodyid[object[k]] : object[k];
    if (site)
      memcpy(point[k], d->site_xpos + 3 * object[k], 3 * sizeof(double));
    else
      body_point(d, b, data + (quat ? 3 - 3 * k : 3 * k), point[k]);
    if (!quat) continue;
    if (site)
      mju_mulQuat(quat[k], d->xquat + 4 * b, m->site_quat + 4 * object[k]);
    else if (k == 0)
      mju_mulQuat(quat[k], d->xquat + 4 * b, data + 6);
    else
      memcpy(quat[k], d->xquat + 4 * b, 4 * sizeof(double));
  }
}

static int add_connect(const mjModel *m, const mjData *d, sc_assembly *a, int i) {
  sc_connect c;
  sc_body bodies[2];
  int body[2];
  sc_connect_init(&c);
  ends(m, d, i, body, c.point, NULL);
  for (int k = 0; k < 2; k++) {
    sc_body_init(&bodies[k]);
    describe_body(m, d, body[k], &bodies[k]);
    describe_bias(d, body[k], &bodies[k]);
    c.body[k] = &bodies[k];
  }
  c.id = i;
  parameters(c.solref, c.solimp, m->eq_solref + mjNREF * i, m->eq_solimp + mjNIMP * i);
  return sc_assembly_connect(a, &c);
}

static int add_weld(const mjModel *m, const mjData *d, sc_assembly *a, int i) {
  sc_weld w;
  sc_body bodies[2];
  int body[2];
  sc_weld_init(&w);
  ends(m, d, i, body, w.point, w.quat);
  for (int k = 0; k < 2; k++) {
    sc_body_init(&bodies[k]);
    describe_body(m, d, body[k], &bodies[k]);
    describe_bias(d, body[k], &bodies[k]);
    w.body[k] = &bodies[k];
  }
  w.id = i;
  w.torquescale = m->eq_data[mjNEQDATA * i + 10];
  parameters(w.solref, w.solimp, m->eq_solref + mjNREF * i, m->eq_solimp + mjNIMP * i);
  return sc_assembly_weld(a, &w);
}

static const double one = 1;

/* a joint's or tendon's position against its reference, and its derivative */
static double scalar(const mjModel *m, const mjData *d, int tendon, int object, sc_sparse_row *J, double *invweight) {
  if (tendon) {
    *J = tendon_row(m, d, object);
    *invweight += m->tendon_invweight0[object];
    return d->ten_length[object] - m->tendon_length0[object];
  }
  const int *dof = m->jnt_dofadr + object, q = m->jnt_qposadr[object];
  *J = (sc_sparse_row){1, dof, &one};
  *invweight += m->dof_invweight0[*dof];
  return d->qpos[q] - m->qpos0[q];
}

static int add_scalar(const mjModel *m, const mjData *d, sc_assembly *a, int i) {
  sc_equality e;
  sc_equality_init(&e);
  int tendon = m->eq_type[i] == mjEQ_TENDON;
  e.id = i;
  e.x1 = scalar(m, d, tendon, m->eq_obj1id[i], &e.J1, &e.invweight);
  e.coupled = m->eq_obj2id[i] >= 0;
  if (e.coupled) e.x2 = scalar(m, d, tendon, m->eq_obj2id[i], &e.J2, &e.invweight);
  memcpy(e.polycoef, m->eq_data + mjNEQDATA * i, sizeof e.polycoef);
  parameters(e.solref, e.solimp, m->eq_solref + mjNREF * i, m->eq_solimp + mjNIMP * i);
  return sc_assembly_equality(a, &e);
}

static int add_equalities(const mjModel *m, const mjData *d, sc_assembly *a) {
  int code = SC_OK;
  for (int i = 0; i < m->neq && !code; i++) {
    if (!d->eq_active[i]) continue;
    switch (m->eq_type[i]) {
    case mjEQ_CONNECT:
      code = add_connect(m, d, a, i);
      break;
    case mjEQ_WELD:
      code = add_weld(m, d, a, i);
      break;
    case mjEQ_JOINT:
    case mjEQ_TENDON:
      code = add_scalar(m, d, a, i);
      break;
    default:
      code = sc_error_set(SC_ERROR_UNSUPPORTED,
                          "sc_mujoco_assemble: equality %d has type %d, not connect, weld, joint or tendon", i,
                          m->eq_type[i]);
    }
  }
  return code;
}

/* ------------------------------------------------------------------ dry friction */

static int add_friction(const mjModel *m, const mjData *d, sc_assembly *a) {
  int code = SC_OK;
  sc_friction f;
  sc_friction_init(&f);
  for (int i = 0; i < m->nv && !code; i++) {
    if (m->dof_frictionloss[i] == 0) continue;
    f.id = i;
    f.J = (sc_sparse_row){1, &f.id, &one};
    f.frictionloss = m->dof_frictionloss[i];
    f.invweight = m->dof_invweight0[i];
    parameters(f.solref, f.solimp, m->dof_solref + mjNREF * i, m->dof_solimp + mjNIMP * i);
    code = sc_assembly_friction(a, &f);
  }
  f.tendon = 1;
  for (int i = 0; i < m->ntendon && !code; i++) {
    if (!(m->tendon_frictionloss[i] > 0)) continue;
    f.id = i;
    f.J = tendon_row(m, d, i);
    f.frictionloss = m->tendon_frictionloss[i];
    f.invweight = m->tendon_invweight0[i];
    parameters(f.solref, f.solimp, m->tendon_solref_fri + mjNREF * i, m->tendon_solimp_fri + mjNIMP * i);
    code = sc_assembly_friction(a, &f);
  }
  return code;
}

/* ------------------------------------------------------------------ limits */

static int add_ball_limit(const mjModel *m, const mjData *d, sc_assembly *a, int i) {
  sc_ball_limit l;
  sc_ball_limit_init(&l);
  l.id = i;
  l.dof = m->jnt_dofadr[i];
  memcpy(l.quat, d->qpos + m->jnt_qposadr[i], sizeof l.quat);
  memcpy(l.range, m->jnt_range + 2 * i, sizeof l.range);
  l.margin = m->jnt_margin[i];
  l.invweight = m->dof_invweight0[l.dof];
  parameters(l.solref, l.solimp, m->jnt_solref + mjNREF * i, m->jnt_solimp + mjNIMP * i);
  return sc_assembly_ball_limit(a, &l);
}

/* whether neither side of a range is near; most limits of most states */
static int far(double x, const mjtNum *range, double margin) {
  return x - range[0] >= margin && range[1] - x >= margin;
}

/* l: of a joint, set up before */
static int add_joint_limit(const mjModel *m, const mjData *d, sc_assembly *a, int i, sc_limit *l) {
  const int *dof = m->jnt_dofadr + i;
  double x = d->qpos[m->jnt_qposadr[i]];
  if (far(x, m->jnt_range + 2 * i, m->jnt_margin[i])) return SC_OK;
  l->id = i;
  l->x = x;
  l->J = (sc_sparse_row){1, dof, &one};
  memcpy(l->range, m->jnt_range + 2 * i, sizeof l->range);
  l->margin = m->jnt_margin[i];
  l->invweight = m->dof_invweight0[*dof];
  parameters(l->solref, l->solimp, m->jnt_solref + mjNREF * i, m->jnt_solimp + mjNIMP * i);
  return sc_assembly_limit(a, l);
}

static int add_tendon_limit(const mjModel *m, const mjData *d, sc_assembly *a, int i) {
  sc_limit l;
  sc_limit_init(&l);
  l.id = i;
  l.tendon = 1;
  l.x = d->ten_length[i];
  l.J = tendon_row(m, d, i);
  memcpy(l.range, m->tendon_range + 2 * i, sizeof l.range);
  l.margin = m->tendon_margin[i];
  l.invweight = m->tendon_invweight0[i];
  parameters(l.solref, l.solimp, m->tendon_solref_lim + mjNREF * i, m->tendon_solimp_lim + mjNIMP * i);
  return sc_assembly_limit(a, &l);
}

static int add_limits(const mjModel *m, const mjData *d, sc_assembly *a) {
  int code = SC_OK;
  sc_limit l;
  sc_limit_init(&l);
  for (int i = 0; i < m->njnt && !code; i++) {
    if (!m->jnt_limited[i]) continue;
    if (m->jnt_type[i] == mjJNT_BALL)
      code = add_ball_limit(m, d, a, i);
    else if (m->jnt_type[i] != mjJNT_FREE)
      code = add_joint_limit(m, d, a, i, &l);
  }
  for (int i = 0; i < m->ntendon && !code; i++)
    if (m->tendon_limited[i]) code = add_tendon_limit(m, d, a, i);
  return code;
}

/* ------------------------------------------------------------------ contacts */

/* set what differs from contact to contact in c, whose bodies are `bodies` */
static void describe_contact(const mjModel *m, const mjData *d, int i, sc_contact *c, sc_body bodies[2]) {
  const mjContact *from = &d->contact[i];
  for (int k = 0; k < 2; k++) describe_body(m, d, m->geom_bodyid[from->geom[k]], &bodies[k]);
  c->id = i;
  c->dim = from->dim;
  c->dist = from->dist;
  c->margin = from->includemargin;
  memcpy(c->pos, from->pos, sizeof c->pos);
  memcpy(c->frame, from->frame, sizeof c->frame);
  memcpy(c->friction, from->friction, sizeof c->friction);
  memcpy(c->solreffriction, from->solreffriction, sizeof c->solreffriction);
  parameters(c->solref, c->solimp, from->solref, from->solimp);
#if HAS_SURFACE
  memcpy(c->surfacevel, from->surfacevel, sizeof c->surfacevel);
  c->adhesion = from->adhesion;
#endif
}

static int add_contacts(const mjModel *m, const mjData *d, sc_assembly *a) {
  int code = SC_OK;
  sc_contact c;
  sc_body bodies[2];
  sc_contact_init(&c);
  c.always = 1; /* MuJoCo has decided */
  for (int k = 0; k < 2; k++) sc_body_init(&bodies[k]), c.body[k] = &bodies[k];
  for (int i = 0; i < d->ncon && !code; i++) {
    const mjContact *from = &d->contact[i];
    if (from->exclude) continue;
    if (from->geom[0] < 0 || from->geom[1] < 0)
      return sc_error_set(SC_ERROR_UNSUPPORTED, "sc_mujoco_assemble: contact %d is one of a flex", i);
    describe_contact(m, d, i, &c, bodies);
    code = sc_assembly_contact(a, &c, NULL);
  }
  return code;
}

/* ------------------------------------------------------------------ all */

int sc_mujoco_describe(const mjModel *m, mjData *d, sc_assembly *a) {
  sc_assembly_options o;
  if (!m || !d) return sc_error_set(SC_ERROR_ARGUMENT, "sc_mujoco_assemble: %s is NULL", m ? "the data" : "the model");
  int off = m->opt.disableflags;
  sc_assembly_options_init(&o);
  o.nv = (int)m->nv;
  o.cone = m->opt.cone == mjCONE_ELLIPTIC;
  o.diagexact = (m->opt.enableflags & mjENBL_DIAGEXACT) != 0;
  o.keep_zero = mj_isSparse(m);
  o.refsafe = !(off & mjDSBL_REFSAFE);
  o.timestep = m->opt.timestep;
  o.impratio = fmax(mjMINVAL, m->opt.impratio);
  o.qvel = d->qvel;
  int code = sc_assembly_begin(a, &o);
  if (!code && !(off & mjDSBL_CONSTRAINT)) {
    if (!(off & mjDSBL_EQUALITY)) code = add_equalities(m, d, a);
    if (!code && !(off & mjDSBL_FRICTIONLOSS)) code = add_friction(m, d, a);
    if (!code && !(off & mjDSBL_LIMIT)) code = add_limits(m, d, a);
    if (!code && !(off & mjDSBL_CONTACT)) code = add_contacts(m, d, a);
  }
  return code;
}

int sc_mujoco_assemble(const mjModel *m, mjData *d, sc_assembly *a, sc_problem *problem) {
  int code = sc_mujoco_describe(m, d, a);
  return code ? code : sc_assembly_problem(a, problem);
}

static void position(const mjModel *m, mjData *d, int factor) {
  int from_rows = 0;
  for (int i = 0; i < ACTUATORS(m); i++) from_rows |= m->actuator_trntype[i] == mjTRN_BODY;
  if (from_rows) {
    mj_fwdPosition(m, d);
    return;
  }
  mj_fwdKinematics(m, d);
  mj_makeM(m, d);
  if (factor) mj_factorM(m, d);
  mj_collision(m, d);
  d->ne = d->nf = d->nl = d->nefc = 0; /* rows of an earlier state */
  mj_transmission(m, d);
}

void sc_mujoco_position(const mjModel *m, mjData *d) { position(m, d, 1); }

/* what mj_fwdAcceleration adds up */
static void smooth_force(const mjModel *m, mjData *d) {
  for (mjtSize i = 0; i < m->nv; i++)
    d->qfrc_smooth[i] = d->qfrc_passive[i] - d->qfrc_bias[i] + d->qfrc_applied[i] + d->qfrc_actuator[i];
  for (mjtSize i = 1; i < m->nbody; i++) {
    const mjtNum *force = d->xfrc_applied + 6 * i;
    if (!mju_isZero(force, 6)) mj_applyFT(m, d, force, force + 3, d->xipos + 3 * i, (int)i, d->qfrc_smooth);
  }
}

void sc_mujoco_smooth(const mjModel *m, mjData *d) {
  position(m, d, 0);
  mj_fwdVelocity(m, d);
  mj_fwdActuation(m, d);
  smooth_force(m, d);
}
