/* One state of a model for people: names, rows with the settings behind them, and what moves a point. */
#include "mujoco_private.h"
#include "softcon_inspect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ names */

static const struct {
  const char *word;
  int type; /* mjtObj */
} objects[SC_NOBJECT] = {
    {"", mjOBJ_UNKNOWN},          {"body", mjOBJ_BODY},     {"joint", mjOBJ_JOINT},       {"dof", mjOBJ_DOF},
    {"geom", mjOBJ_GEOM},         {"site", mjOBJ_SITE},     {"pair", mjOBJ_PAIR},         {"exclude", mjOBJ_EXCLUDE},
    {"equality", mjOBJ_EQUALITY}, {"tendon", mjOBJ_TENDON}, {"actuator", mjOBJ_ACTUATOR}, {"keyframe", mjOBJ_KEY},
};

const char *sc_object_word(int object) { return object > 0 && object < SC_NOBJECT ? objects[object].word : ""; }

int sc_model_count(const sc_model *model, int object) {
  if (!model) return 0;
  const mjModel *m = model->own;
  switch (object) {
  case SC_OBJECT_BODY:
    return (int)m->nbody;
  case SC_OBJECT_JOINT:
    return (int)m->njnt;
  case SC_OBJECT_DOF:
    return (int)m->nv;
  case SC_OBJECT_GEOM:
    return (int)m->ngeom;
  case SC_OBJECT_SITE:
    return (int)m->nsite;
  case SC_OBJECT_PAIR:
    return (int)m->npair;
  case SC_OBJECT_EXCLUDE:
    return (int)m->nexclude;
  case SC_OBJECT_EQUALITY:
    return (int)m->neq;
  case SC_OBJECT_TENDON:
    return (int)m->ntendon;
  case SC_OBJECT_ACTUATOR:
#if mjVERSION_HEADER >= 4000000
    return (int)m->nactuator;
#else
    return (int)m->nu;
#endif
  case SC_OBJECT_KEY:
    return (int)m->nkey;
  default:
    return 0;
  }
}

const char *sc_model_name(const sc_model *model, int object, int id) {
  if (id < 0 || id >= sc_model_count(model, object)) return "";
  const mjModel *m = model->own;
  if (object == SC_OBJECT_DOF) return sc_model_name(model, SC_OBJECT_JOINT, m->dof_jntid[id]);
  const char *name = mj_id2name(m, objects[object].type, id);
  return name ? name : "";
}

int sc_model_find(const sc_model *model, int object, const char *name) {
  if (!model || !name || object <= 0 || object >= SC_NOBJECT) return -1;
  return mj_name2id(model->own, objects[object].type, name);
}

/* ------------------------------------------------------------------ one mjData */

typedef struct {
  const mjModel *model;
  mjData *data;
  int key, steps;
  double *state;
  int finite;
} start_job;

static void make_data(void *arg) {
  start_job *job = arg;
  job->data = mj_makeData(job->model);
}

static void run_start(void *arg) {
  start_job *job = arg;
  const mjModel *m = job->model;
  if (job->key >= 0)
    mj_resetDataKeyframe(m, job->data, job->key);
  else
    mj_resetData(m, job->data);
  for (int k = 0; k < job->steps; k++) mj_step(m, job->data);
  mj_getState(m, job->data, job->state, mjSTATE_INTEGRATION);
  job->finite = !job->data->warning[mjWARN_BADQPOS].number && !job->data->warning[mjWARN_BADQVEL].number &&
                !job->data->warning[mjWARN_BADQACC].number;
}

int sc_state_start(const sc_model *model, int key, int steps, double *state) {
  static const char call[] = "sc_state_start";
  char text[SC_MJ_TEXT];
  if (!model || !state) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, model ? "state" : "model");
  if (key < -1 || key >= model->own->nkey)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: key is %d, not in -1 .. %d", call, key, (int)model->own->nkey - 1);
  if (steps < 0) return sc_error_set(SC_ERROR_ARGUMENT, "%s: steps is %d, not >= 0", call, steps);
  start_job job = {.model = model->own, .key = key, .steps = steps, .state = state};
  if (sc_mj_guard(make_data, &job, text) || !job.data)
    return sc_error_set(SC_ERROR_MEMORY, "%s: no mjData: %s", call, text);
  int failed = sc_mj_guard(run_start, &job, text);
  mj_deleteData(job.data);
  if (failed) return sc_error_set(SC_ERROR_VALUE, "%s: MuJoCo: %s", call, text);
  if (!job.finite || !sc_mj_finite(state, (size_t)mj_stateSize(model->own, mjSTATE_INTEGRATION)))
    return sc_error_set(SC_ERROR_VALUE, "%s: the simulation diverges within %d steps%s%s", call, steps,
                        text[0] ? ": " : "", text);
  return SC_OK;
}

/* mjData of `model` after the stages of a state; the caller deletes it */
static int open_state(const char *call, const sc_model *model, const mjModel *m, const double *state, int sig,
                      mjData **out) {
  char text[SC_MJ_TEXT];
  size_t n;
  *out = NULL;
  if (!model || !state) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, model ? "state" : "model");
  int code = sc_mj_signature(call, model, &sig, &n);
  if (code) return code;
  if (!sc_mj_finite(state, n))
    return sc_error_set(SC_ERROR_VALUE, "%s: the state has an entry that is not finite", call);
  start_job job = {.model = m};
  if (sc_mj_guard(make_data, &job, text) || !job.data)
    return sc_error_set(SC_ERROR_MEMORY, "%s: no mjData: %s", call, text);
  sc_mj_stages stages = {m, job.data, state, sig};
  const char *incomplete = "";
  if (sc_mj_guard(sc_mj_run_stages, &stages, text))
    code = sc_error_set(SC_ERROR_VALUE, "%s: MuJoCo: %s", call, text);
  else if ((incomplete = sc_mj_incomplete(job.data))[0])
    code = sc_error_set(SC_ERROR_VALUE, "%s: %s", call, incomplete);
  if (code)
    mj_deleteData(job.data);
  else
    *out = job.data;
  return code;
}

/* ------------------------------------------------------------------ rows */

static void parameters(sc_row_info *r, const mjtNum *solref, const mjtNum *solimp) {
  memcpy(r->solref, solref, sizeof r->solref);
  memcpy(r->solimp, solimp, sizeof r->solimp);
}

static void sides(sc_row_info *r, int object, int id1, int id2) {
  r->object[0] = object, r->object_id[0] = id1;
  r->object[1] = id2 >= 0 ? object : SC_OBJECT_NONE, r->object_id[1] = id2;
}

static void describe_equality(const mjModel *m, sc_row_info *r) {
  static const int rows[] = {3, 6, 1, 1};
  int i = r->id, type = m->eq_type[i], object = SC_OBJECT_BODY;
  if (type == mjEQ_JOINT) object = SC_OBJECT_JOINT;
  if (type == mjEQ_TENDON) object = SC_OBJECT_TENDON;
  if (m->eq_objtype[i] == mjOBJ_SITE) object = SC_OBJECT_SITE;
  sides(r, object, m->eq_obj1id[i], m->eq_obj2id[i]);
  r->equality = type <= mjEQ_TENDON ? type : -1;
  r->block_rows = type <= mjEQ_TENDON ? rows[type] : 1;
  parameters(r, m->eq_solref + mjNREF * i, m->eq_solimp + mjNIMP * i);
}

static int is_upper(double x, const mjtNum *range, double pos) {
  return fabs(range[1] - x - pos) < fabs(x - range[0] - pos);
}

static void describe_limit(const mjModel *m, const mjData *d, sc_row_info *r) {
  int i = r->id;
  if (r->type == mjCNSTR_LIMIT_TENDON) {
    sides(r, SC_OBJECT_TENDON, i, -1);
    r->upper = is_upper(d->ten_length[i], m->tendon_range + 2 * i, r->pos);
    parameters(r, m->tendon_solref_lim + mjNREF * i, m->tendon_solimp_lim + mjNIMP * i);
    return;
  }
  sides(r, SC_OBJECT_JOINT, i, -1);
  if (m->jnt_type[i] != mjJNT_BALL) r->upper = is_upper(d->qpos[m->jnt_qposadr[i]], m->jnt_range + 2 * i, r->pos);
  parameters(r, m->jnt_solref + mjNREF * i, m->jnt_solimp + mjNIMP * i);
}

static void describe_contact(const mjData *d, sc_row_info *r) {
  const mjContact *c = &d->contact[r->id];
  sides(r, SC_OBJECT_GEOM, c->geom[0], c->geom[1]);
  r->dim = c->dim;
  if (r->type == mjCNSTR_CONTACT_ELLIPTIC) r->block_rows = c->dim;
  if (r->type == mjCNSTR_CONTACT_PYRAMIDAL) r->block_rows = 2 * (c->dim - 1);
  memcpy(r->friction, c->friction, sizeof r->friction);
  memcpy(r->solreffriction, c->solreffriction, sizeof r->solreffriction);
  parameters(r, c->solref, c->solimp);
}

static void describe_row(const mjModel *m, const mjData *d, int i, sc_row_info *r) {
  const mjtNum *kbip = d->efc_KBIP + 4 * i;
  *r = (sc_row_info){.type = d->efc_type[i], .id = d->efc_id[i], .equality = -1, .upper = -1, .block_rows = 1};
  r->pos = d->efc_pos[i], r->margin = d->efc_margin[i], r->vel = d->efc_vel[i];
  r->K = kbip[0], r->B = kbip[1], r->d = kbip[2], r->dp = kbip[3];
  r->R = d->efc_R[i], r->diagA = d->efc_diagA[i], r->aref = d->efc_aref[i], r->frictionloss = d->efc_frictionloss[i];
  switch (r->type) {
  case mjCNSTR_EQUALITY:
    describe_equality(m, r);
    return;
  case mjCNSTR_FRICTION_DOF:
    sides(r, SC_OBJECT_DOF, r->id, -1);
    parameters(r, m->dof_solref + mjNREF * r->id, m->dof_solimp + mjNIMP * r->id);
    return;
  case mjCNSTR_FRICTION_TENDON:
    sides(r, SC_OBJECT_TENDON, r->id, -1);
    parameters(r, m->tendon_solref_fri + mjNREF * r->id, m->tendon_solimp_fri + mjNIMP * r->id);
    return;
  case mjCNSTR_LIMIT_JOINT:
  case mjCNSTR_LIMIT_TENDON:
    describe_limit(m, d, r);
    return;
  default:
    describe_contact(d, r);
  }
}

static void copy_jacobian(const mjModel *m, const mjData *d, int i, double *J) {
  size_t nv = (size_t)m->nv, row = (size_t)i;
  if (!mj_isSparse(m)) {
    memcpy(J + row * nv, d->efc_J + row * nv, nv * sizeof *J);
    return;
  }
  memset(J + row * nv, 0, nv * sizeof *J);
  for (int k = d->efc_J_rowadr[i]; k < d->efc_J_rowadr[i] + d->efc_J_rownnz[i]; k++)
    J[row * nv + (size_t)d->efc_J_colind[k]] = d->efc_J[k];
}

int sc_inspect_rows(const sc_model *model, const double *state, int sig, int capacity, sc_row_info *rows, double *J,
                    int *nrow) {
  static const char call[] = "sc_inspect_rows";
  mjData *d;
  if (!model || !nrow || (!rows && capacity > 0))
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, !model ? "model" : nrow ? "rows" : "nrow");
  const mjModel *m = model->rows;
  *nrow = 0;
  int code = open_state(call, model, m, state, sig, &d);
  if (code) return code;
  *nrow = d->nefc;
  for (int i = 0; i < d->nefc && i < capacity; i++) {
    describe_row(m, d, i, &rows[i]);
    /* one object's rows are contiguous */
    if (i && rows[i - 1].type == rows[i].type && rows[i - 1].id == rows[i].id && rows[i].block_rows > 1)
      rows[i].block_row = rows[i - 1].block_row + 1;
    if (J) copy_jacobian(m, d, i, J);
  }
  mj_deleteData(d);
  return SC_OK;
}

/* ------------------------------------------------------------------ a point */

/* where the axis of a turning dof is, in the world; 0: the dof does not turn */
static int turning_axis(const mjModel *m, const mjData *d, int dof, double *axis, double *anchor) {
  int j = m->dof_jntid[dof], k = dof - m->jnt_dofadr[j], type = m->jnt_type[j], body = m->jnt_bodyid[j];
  if (type == mjJNT_SLIDE || (type == mjJNT_FREE && k < 3)) return 0;
  memcpy(anchor, d->xanchor + 3 * j, 3 * sizeof *anchor);
  if (type == mjJNT_HINGE) {
    memcpy(axis, d->xaxis + 3 * j, 3 * sizeof *axis);
    return 1;
  }
  int column = type == mjJNT_FREE ? k - 3 : k; /* of the body's orientation */
  for (int i = 0; i < 3; i++) axis[i] = d->xmat[9 * body + 3 * i + column];
  return 1;
}

/* |axis x (point - anchor)|, axis of unit length */
static double distance(const double *axis, const double *anchor, const double *point) {
  double x[3], c[3];
  mju_sub3(x, point, anchor);
  mju_cross(c, axis, x);
  return mju_norm3(c);
}

typedef struct {
  const mjModel *model;
  mjData *data;
  int site;
  double angle;
  sc_site_dof *dofs;
  double *scratch; /* 3 nv: Jacobian; nq: qpos; nv: velocity */
} site_job;

/* how far MuJoCo moves the site when one dof alone goes by the angle */
static double moved(const site_job *job, int dof, const double *qpos, double *velocity) {
  const mjModel *m = job->model;
  double before[3], after[3];
  memcpy(before, job->data->site_xpos + 3 * job->site, sizeof before);
  memset(velocity, 0, (size_t)m->nv * sizeof *velocity);
  velocity[dof] = 1;
  mj_integratePos(m, job->data->qpos, velocity, job->angle);
  mj_kinematics(m, job->data);
  memcpy(after, job->data->site_xpos + 3 * job->site, sizeof after);
  memcpy(job->data->qpos, qpos, (size_t)m->nq * sizeof *qpos);
  mj_kinematics(m, job->data);
  mju_subFrom3(after, before);
  return mju_norm3(after);
}

static int lies_above(const mjModel *m, int joint, int body) {
  for (; body > 0; body = m->body_parentid[body])
    if (m->jnt_bodyid[joint] == body) return 1;
  return 0;
}

static void run_site(void *arg) {
  const site_job *job = arg;
  const mjModel *m = job->model;
  mjData *d = job->data;
  size_t nv = (size_t)m->nv;
  double *J = job->scratch, *qpos = J + 3 * nv, *velocity = qpos + m->nq;
  memcpy(qpos, d->qpos, (size_t)m->nq * sizeof *qpos);
  mj_jacSite(m, d, J, NULL, job->site);
  for (int i = 0; i < m->nv; i++) {
    int j = m->dof_jntid[i];
    double axis[3], anchor[3];
    sc_site_dof *out = &job->dofs[i];
    *out = (sc_site_dof){.joint = j, .type = m->jnt_type[j], .qposadr = m->jnt_qposadr[j], .dofadr = i};
    out->above = lies_above(m, j, m->site_bodyid[job->site]);
    for (size_t k = 0; k < 3; k++) out->column[k] = J[k * nv + (size_t)i];
    out->norm = mju_norm3(out->column);
    int turns = turning_axis(m, d, i, axis, anchor);
    out->arm = turns ? distance(axis, anchor, d->site_xpos + 3 * job->site) : (double)NAN;
    out->chord = !out->above ? 0 : turns ? 2 * out->arm * fabs(sin(job->angle / 2)) : fabs(job->angle) * out->norm;
    out->linear = out->norm * fabs(job->angle);
    out->moved = moved(job, i, qpos, velocity);
  }
}

int sc_inspect_site(const sc_model *model, const double *state, int sig, int site, double angle, sc_site_dof *dofs,
                    double *position) {
  static const char call[] = "sc_inspect_site";
  char text[SC_MJ_TEXT];
  site_job job = {.site = site, .angle = angle, .dofs = dofs};
  if (!model) return sc_error_set(SC_ERROR_ARGUMENT, "%s: model is NULL", call);
  job.model = model->rows;
  if (site < 0 || site >= job.model->nsite)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: site is %d, not in 0 .. %d", call, site, (int)job.model->nsite - 1);
  if (!dofs && job.model->nv > 0) return sc_error_set(SC_ERROR_ARGUMENT, "%s: dofs is NULL", call);
  if (!isfinite(angle)) return sc_error_set(SC_ERROR_VALUE, "%s: angle is %g, not finite", call, angle);
  int code = open_state(call, model, job.model, state, sig, &job.data);
  if (code) return code;
  job.scratch = malloc((size_t)(4 * job.model->nv + job.model->nq + 1) * sizeof *job.scratch);
  if (!job.scratch)
    code = sc_error_set(SC_ERROR_MEMORY, "%s: no memory for %d dofs", call, (int)job.model->nv);
  else if (sc_mj_guard(run_site, &job, text))
    code = sc_error_set(SC_ERROR_VALUE, "%s: MuJoCo: %s", call, text);
  else if (position)
    memcpy(position, job.data->site_xpos + 3 * site, 3 * sizeof *position);
  free(job.scratch);
  mj_deleteData(job.data);
  return code;
}
