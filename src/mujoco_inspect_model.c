/* A model's settings for people: where rows take their parameters from, filters, joints, actuators. */
#include "mujoco_private.h"
#include "softcon_inspect.h"

#include <string.h>

static int null_error(const char *call, const void *model) {
  return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, model ? "the result" : "model");
}

static int range_error(const char *call, const char *what, int id, int count) {
  return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is %d, not in 0 .. %d", call, what, id, count - 1);
}

int sc_inspect_flags(const sc_model *model, sc_flags_info *info) {
  if (!model || !info) return null_error("sc_inspect_flags", model);
  const mjOption *o = &model->own->opt;
  int off = o->disableflags, on = o->enableflags;
  *info = (sc_flags_info){.refsafe = !(off & mjDSBL_REFSAFE),
                          .override_contacts = (on & mjENBL_OVERRIDE) != 0,
                          .filter_parent = !(off & mjDSBL_FILTERPARENT),
                          .clamp_controls = !(off & mjDSBL_CLAMPCTRL)};
  return SC_OK;
}

/* ------------------------------------------------------------------ sources of parameters */

static void parameters(sc_source_info *s, const mjtNum *solref, const mjtNum *solimp) {
  memcpy(s->solref, solref, sizeof s->solref);
  memcpy(s->solimp, solimp, sizeof s->solimp);
}

static void geom_source(const mjModel *m, int i, sc_source_info *s) {
  const mjtNum *f = m->geom_friction + 3 * i;
  s->object = SC_OBJECT_GEOM;
  s->contype = m->geom_contype[i], s->conaffinity = m->geom_conaffinity[i], s->priority = m->geom_priority[i];
  s->active = s->contype || s->conaffinity;
  s->body = m->geom_bodyid[i], s->dim = m->geom_condim[i];
  s->margin = m->geom_margin[i], s->gap = m->geom_gap[i];
  s->friction[0] = s->friction[1] = f[0], s->friction[2] = f[1], s->friction[3] = s->friction[4] = f[2];
  parameters(s, m->geom_solref + mjNREF * i, m->geom_solimp + mjNIMP * i);
}

static void pair_source(const mjModel *m, int i, sc_source_info *s) {
  s->object = SC_OBJECT_PAIR, s->active = 1, s->dim = m->pair_dim[i];
  s->margin = m->pair_margin[i], s->gap = m->pair_gap[i];
  memcpy(s->friction, m->pair_friction + 5 * i, sizeof s->friction);
  memcpy(s->solreffriction, m->pair_solreffriction + mjNREF * i, sizeof s->solreffriction);
  parameters(s, m->pair_solref + mjNREF * i, m->pair_solimp + mjNIMP * i);
}

static void tendon_source(const mjModel *m, int i, int limit, sc_source_info *s) {
  s->object = SC_OBJECT_TENDON;
  if (limit) {
    s->active = m->tendon_limited[i], s->margin = m->tendon_margin[i];
    parameters(s, m->tendon_solref_lim + mjNREF * i, m->tendon_solimp_lim + mjNIMP * i);
  } else {
    s->active = m->tendon_frictionloss[i] > 0;
    parameters(s, m->tendon_solref_fri + mjNREF * i, m->tendon_solimp_fri + mjNIMP * i);
  }
}

static void override_source(const mjModel *m, sc_source_info *s) {
  s->object = SC_OBJECT_NONE;
  s->active = (m->opt.enableflags & mjENBL_OVERRIDE) != 0;
  s->margin = m->opt.o_margin;
  memcpy(s->friction, m->opt.o_friction, sizeof s->friction);
  parameters(s, m->opt.o_solref, m->opt.o_solimp);
}

int sc_inspect_sources(const sc_model *model, int source) {
  static const int object[SC_NSOURCE] = {SC_OBJECT_GEOM,   SC_OBJECT_PAIR,   SC_OBJECT_JOINT,    SC_OBJECT_DOF,
                                         SC_OBJECT_TENDON, SC_OBJECT_TENDON, SC_OBJECT_EQUALITY, SC_OBJECT_NONE};
  if (!model || source < 0 || source >= SC_NSOURCE) return 0;
  return source == SC_SOURCE_OVERRIDE ? 1 : sc_model_count(model, object[source]);
}

int sc_inspect_source(const sc_model *model, int source, int id, sc_source_info *s) {
  static const char call[] = "sc_inspect_source";
  if (!model || !s) return null_error(call, model);
  if (source < 0 || source >= SC_NSOURCE) return range_error(call, "source", source, SC_NSOURCE);
  int n = sc_inspect_sources(model, source);
  if (id < 0 || id >= n) return range_error(call, "id", id, n);
  const mjModel *m = model->own;
  *s = (sc_source_info){.id = id, .body = -1};
  switch (source) {
  case SC_SOURCE_GEOM:
    geom_source(m, id, s);
    break;
  case SC_SOURCE_PAIR:
    pair_source(m, id, s);
    break;
  case SC_SOURCE_LIMIT_JOINT:
    s->object = SC_OBJECT_JOINT, s->active = m->jnt_limited[id], s->margin = m->jnt_margin[id];
    parameters(s, m->jnt_solref + mjNREF * id, m->jnt_solimp + mjNIMP * id);
    break;
  case SC_SOURCE_FRICTION_DOF:
    s->object = SC_OBJECT_DOF, s->active = m->dof_frictionloss[id] != 0;
    parameters(s, m->dof_solref + mjNREF * id, m->dof_solimp + mjNIMP * id);
    break;
  case SC_SOURCE_EQUALITY:
    s->object = SC_OBJECT_EQUALITY, s->active = 1;
    parameters(s, m->eq_solref + mjNREF * id, m->eq_solimp + mjNIMP * id);
    break;
  case SC_SOURCE_OVERRIDE:
    override_source(m, s);
    break;
  default:
    tendon_source(m, id, source == SC_SOURCE_LIMIT_TENDON, s);
  }
  return SC_OK;
}

/* ------------------------------------------------------------------ filters and joints */

static int excluded(const mjModel *m, int body1, int body2) {
  int low = body1 < body2 ? body1 : body2, high = body1 < body2 ? body2 : body1;
  for (int i = 0; i < m->nexclude; i++) {
    int a = m->exclude_signature[i] >> 16, b = m->exclude_signature[i] & 0xffff;
    if ((a == low && b == high) || (a == high && b == low)) return 1;
  }
  return 0;
}

static int is_pair(const mjModel *m, int geom1, int geom2) {
  for (int i = 0; i < m->npair; i++)
    if ((m->pair_geom1[i] == geom1 && m->pair_geom2[i] == geom2) ||
        (m->pair_geom1[i] == geom2 && m->pair_geom2[i] == geom1))
      return 1;
  return 0;
}

int sc_inspect_filter(const sc_model *model, int geom1, int geom2, sc_filter *filter) {
  static const char call[] = "sc_inspect_filter";
  if (!model || !filter) return null_error(call, model);
  const mjModel *m = model->own;
  if (geom1 < 0 || geom1 >= m->ngeom) return range_error(call, "geom1", geom1, (int)m->ngeom);
  if (geom2 < 0 || geom2 >= m->ngeom) return range_error(call, "geom2", geom2, (int)m->ngeom);
  int body1 = m->geom_bodyid[geom1], body2 = m->geom_bodyid[geom2];
  int weld1 = m->body_weldid[body1], weld2 = m->body_weldid[body2];
  int parent1 = m->body_weldid[m->body_parentid[weld1]], parent2 = m->body_weldid[m->body_parentid[weld2]];
  int meet =
      (m->geom_contype[geom1] & m->geom_conaffinity[geom2]) || (m->geom_contype[geom2] & m->geom_conaffinity[geom1]);
  int parents =
      !(m->opt.disableflags & mjDSBL_FILTERPARENT) && weld1 && weld2 && (parent1 == weld2 || parent2 == weld1);
  if (is_pair(m, geom1, geom2))
    *filter = SC_FILTER_PAIR;
  else if (weld1 == weld2)
    *filter = SC_FILTER_BODY;
  else if (parents)
    *filter = SC_FILTER_PARENT;
  else if (!meet)
    *filter = SC_FILTER_MASK;
  else
    *filter = excluded(m, body1, body2) ? SC_FILTER_EXCLUDE : SC_FILTER_NONE;
  return SC_OK;
}

int sc_inspect_joint(const sc_model *model, int joint, sc_joint_info *info) {
  static const char call[] = "sc_inspect_joint";
  static const int ndof[] = {6, 3, 1, 1};
  if (!model || !info) return null_error(call, model);
  const mjModel *m = model->own;
  if (joint < 0 || joint >= m->njnt) return range_error(call, "joint", joint, (int)m->njnt);
  int dof = m->jnt_dofadr[joint];
  *info = (sc_joint_info){.type = m->jnt_type[joint],
                          .body = m->jnt_bodyid[joint],
                          .qposadr = m->jnt_qposadr[joint],
                          .dofadr = dof,
                          .ndof = ndof[m->jnt_type[joint]],
                          .limited = m->jnt_limited[joint],
                          .range = {m->jnt_range[2 * joint], m->jnt_range[2 * joint + 1]},
                          .qpos0 = m->qpos0[m->jnt_qposadr[joint]],
                          .armature = m->dof_armature[dof],
                          .inertia = m->dof_M0[dof],
                          .invweight = m->dof_invweight0[dof]};
  return SC_OK;
}

/* ------------------------------------------------------------------ actuators */

typedef struct {
  int value;
  const char *word;
} word;

static const word transmissions[] = {{mjTRN_JOINT, "joint"},
                                     {mjTRN_JOINTINPARENT, "jointinparent"},
                                     {mjTRN_SLIDERCRANK, "slidercrank"},
                                     {mjTRN_TENDON, "tendon"},
                                     {mjTRN_SITE, "site"},
                                     {mjTRN_BODY, "body"},
#if mjVERSION_HEADER >= 4000000
                                     {mjTRN_SO3, "so3"},
#endif
                                     {-1, "unknown"}};
static const word gains[] = {{mjGAIN_FIXED, "fixed"},     {mjGAIN_AFFINE, "affine"},
                             {mjGAIN_MUSCLE, "muscle"},
#if mjVERSION_HEADER >= 4000000
                             {mjGAIN_DCMOTOR, "dcmotor"}, {mjGAIN_SO3, "so3"},
                             {mjGAIN_PID, "pid"},
#endif
                             {mjGAIN_USER, "user"},       {-1, "unknown"}};
static const word biases[] = {{mjBIAS_NONE, "none"},       {mjBIAS_AFFINE, "affine"},
                              {mjBIAS_MUSCLE, "muscle"},
#if mjVERSION_HEADER >= 4000000
                              {mjBIAS_DCMOTOR, "dcmotor"}, {mjBIAS_SO3, "so3"},
#endif
                              {mjBIAS_USER, "user"},       {-1, "unknown"}};
static const word dynamics[] = {{mjDYN_NONE, "none"},       {mjDYN_INTEGRATOR, "integrator"},
                                {mjDYN_FILTER, "filter"},   {mjDYN_FILTEREXACT, "filterexact"},
                                {mjDYN_MUSCLE, "muscle"},
#if mjVERSION_HEADER >= 4000000
                                {mjDYN_DCMOTOR, "dcmotor"}, {mjDYN_PID, "pid"},
#endif
                                {mjDYN_USER, "user"},       {-1, "unknown"}};

static const char *word_of(const word *words, int value) {
  while (words->value >= 0 && words->value != value) words++;
  return words->word;
}

static int near(double a, double b) { return a - b <= 1e-12 * (a < 0 ? -a : a) && b - a <= 1e-12 * (a < 0 ? -a : a); }

/* What MJCF's shortcuts compile to, backwards. */
static const char *kind_of(const sc_actuator_info *a, int gain, int bias, int dyn) {
  const double *g = a->gainprm, *b = a->biasprm;
  if (gain == mjGAIN_MUSCLE || dyn == mjDYN_MUSCLE) return "muscle";
  if (gain != mjGAIN_FIXED && gain != mjGAIN_AFFINE) return a->gain;
  if (gain == mjGAIN_AFFINE)
    return bias == mjBIAS_NONE && dyn == mjDYN_NONE && g[0] == 0 && g[1] == 0 && g[2] <= 0 ? "damper" : "general";
  if (bias == mjBIAS_NONE) {
    if (!strcmp(a->transmission, "body")) return "adhesion";
    return dyn == mjDYN_NONE ? "motor" : "general";
  }
  if (bias != mjBIAS_AFFINE) return "general";
  if (b[0] == 0 && g[0] != 0 && near(b[1], -g[0])) {
    if (dyn == mjDYN_INTEGRATOR) return "intvelocity";
    return dyn == mjDYN_NONE || dyn == mjDYN_FILTEREXACT ? "position" : "general";
  }
  if (b[0] == 0 && b[1] == 0 && g[0] != 0 && near(b[2], -g[0]) && dyn == mjDYN_NONE) return "velocity";
  return dyn == mjDYN_FILTER ? "cylinder" : "general";
}

static void targets(const mjModel *m, int i, sc_actuator_info *a) {
  int type = m->actuator_trntype[i], object = SC_OBJECT_JOINT;
  if (type == mjTRN_TENDON) object = SC_OBJECT_TENDON;
  if (type == mjTRN_BODY) object = SC_OBJECT_BODY;
  if (type == mjTRN_SITE || type == mjTRN_SLIDERCRANK) object = SC_OBJECT_SITE;
  for (int k = 0; k < 2; k++) {
    int id = m->actuator_trnid[2 * i + k], used = id >= 0 && (k == 0 || object == SC_OBJECT_SITE);
#if mjVERSION_HEADER >= 4000000
    used = used && type != mjTRN_SO3;
#endif
    a->object[k] = used ? object : SC_OBJECT_NONE, a->object_id[k] = used ? id : -1;
  }
}

/* 1: its group is switched off, or all actuation */
static int disabled(const mjModel *m, int i) {
  int group = m->actuator_group[i];
  int off = group >= 0 && group < 31 && (m->opt.disableactuator & (1 << group));
  return off || (m->opt.disableflags & mjDSBL_ACTUATION);
}

static void numbers(const mjModel *m, int i, sc_actuator_info *a) {
  int control = i, output = i;
  a->controls = 1;
#if mjVERSION_HEADER >= 4000000
  control = m->actuator_ctrladr[i], a->controls = m->actuator_ctrlnum[i], output = m->actuator_outadr[i];
#endif
  a->activations = m->actuator_actadr[i] >= 0 ? m->actuator_actnum[i] : 0;
  memcpy(a->gainprm, m->actuator_gainprm + mjNGAIN * i, sizeof a->gainprm);
  memcpy(a->biasprm, m->actuator_biasprm + mjNBIAS * i, sizeof a->biasprm);
  memcpy(a->dynprm, m->actuator_dynprm + mjNDYN * i, sizeof a->dynprm);
  memcpy(a->gear, m->actuator_gear + 6 * output, sizeof a->gear);
  if (a->controls > 0) {
    a->ctrl_limited = m->actuator_ctrllimited[control] && !(m->opt.disableflags & mjDSBL_CLAMPCTRL);
    memcpy(a->ctrlrange, m->actuator_ctrlrange + 2 * control, sizeof a->ctrlrange);
  }
  a->force_limited = m->actuator_forcelimited[i], a->act_limited = m->actuator_actlimited[i];
  memcpy(a->forcerange, m->actuator_forcerange + 2 * i, sizeof a->forcerange);
  memcpy(a->actrange, m->actuator_actrange + 2 * i, sizeof a->actrange);
}

_Static_assert(SC_ACTUATOR_PRM == mjNGAIN && SC_ACTUATOR_PRM == mjNBIAS && SC_ACTUATOR_PRM == mjNDYN,
               "numbers of parameters");

int sc_inspect_actuator(const sc_model *model, int actuator, sc_actuator_info *info) {
  static const char call[] = "sc_inspect_actuator";
  if (!model || !info) return null_error(call, model);
  const mjModel *m = model->own;
  int n = sc_model_count(model, SC_OBJECT_ACTUATOR);
  if (actuator < 0 || actuator >= n) return range_error(call, "actuator", actuator, n);
  int gain = m->actuator_gaintype[actuator], bias = m->actuator_biastype[actuator], dyn = m->actuator_dyntype[actuator];
  *info = (sc_actuator_info){.transmission = word_of(transmissions, m->actuator_trntype[actuator]),
                             .gain = word_of(gains, gain),
                             .bias = word_of(biases, bias),
                             .dynamics = word_of(dynamics, dyn),
                             .disabled = disabled(m, actuator) != 0};
  targets(m, actuator, info);
  numbers(m, actuator, info);
  info->kind = m->actuator_plugin[actuator] >= 0 ? "plugin" : kind_of(info, gain, bias, dyn);
  return SC_OK;
}
