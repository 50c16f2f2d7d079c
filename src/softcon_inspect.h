/* softcon with MuJoCo, for people: what a model's rows, actuators and points are, by name and with the settings behind
 * them.
 *
 * Part of softcon_mujoco; conventions, ownership and errors are those of softcon.h. Nothing here is fast. */
#ifndef SOFTCON_INSPECT_H
#define SOFTCON_INSPECT_H

#include "softcon_mujoco.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ names */

typedef enum sc_object {
  SC_OBJECT_NONE = 0,
  SC_OBJECT_BODY,
  SC_OBJECT_JOINT,
  SC_OBJECT_DOF,              /* its name is its joint's */
  SC_OBJECT_GEOM,
  SC_OBJECT_SITE,
  SC_OBJECT_PAIR,
  SC_OBJECT_EXCLUDE,
  SC_OBJECT_EQUALITY,
  SC_OBJECT_TENDON,
  SC_OBJECT_ACTUATOR,
  SC_OBJECT_KEY,
  SC_NOBJECT
} sc_object;

SC_API const char *sc_object_word(int object); /* "body", "joint", ...; "" for none and out of range */

/* How many there are, what one is called ("" without a name or out of range), and which one is called so (-1: none). */
SC_API int sc_model_count(const sc_model *model, int object);
SC_API const char *sc_model_name(const sc_model *model, int object, int id);
SC_API int sc_model_find(const sc_model *model, int object, const char *name);

/* ------------------------------------------------------------------ a state */

/* The state (nstate numbers of mjSTATE_INTEGRATION) of a keyframe, or of qpos0 for key -1, after `steps` steps under
 * the keyframe's controls. SC_ERROR_VALUE: it diverged. */
SC_API int sc_state_start(const sc_model *model, int key, int steps, double *state);

/* ------------------------------------------------------------------ rows */

/* One row as MuJoCo makes it. solref, solimp, solreffriction and friction are the settings as given, mixed for a
 * contact but not repaired. */
typedef struct sc_row_info {
  int type, id;               /* sc_type; efc_id */
  int object[2], object_id[2]; /* sc_object of the two sides; SC_OBJECT_NONE for a side that there is not */
  int equality;               /* of an equality: 0 connect, 1 weld, 2 joint, 3 tendon; else -1 */
  int upper;                  /* of a hinge's, slide's or tendon's limit: 1 upper, 0 lower; else -1 */
  int block_row, block_rows;  /* place among the rows of its equality or contact */
  int dim;                    /* of a contact; else 0 */
  double friction[5];
  double pos, margin, vel, K, B, d, dp, R, diagA, aref, frictionloss;
  double solref[2], solimp[5], solreffriction[2];
} sc_row_info;

/* All rows of a state (numbers for `sig`, as for sc_model_batch) in MuJoCo's order: *nrow is how many there are, of which
 * at most `capacity` are written. J (nrow x nv, dense) may be NULL, rows with capacity 0. */
SC_API int sc_inspect_rows(const sc_model *model, const double *state, int sig, int capacity, sc_row_info *rows,
                           double *J, int *nrow);

/* ------------------------------------------------------------------ settings */

typedef struct sc_flags_info {
  int refsafe;                /* 1: time constants are raised to 2 timesteps */
  int override_contacts;      /* 1: the options' contact parameters replace those of geoms and pairs */
  int filter_parent;          /* 1: a body does not touch its parent */
  int clamp_controls;         /* 0: ctrlrange is not applied */
} sc_flags_info;
SC_API int sc_inspect_flags(const sc_model *model, sc_flags_info *info);

/* Where a row's parameters come from. */
typedef enum sc_source {
  SC_SOURCE_GEOM = 0,
  SC_SOURCE_PAIR,
  SC_SOURCE_LIMIT_JOINT,
  SC_SOURCE_FRICTION_DOF,
  SC_SOURCE_LIMIT_TENDON,
  SC_SOURCE_FRICTION_TENDON,
  SC_SOURCE_EQUALITY,
  SC_SOURCE_OVERRIDE,         /* the options' contact parameters: one */
  SC_NSOURCE
} sc_source;

typedef struct sc_source_info {
  int object, id;             /* whose settings they are; SC_OBJECT_NONE: the options' */
  int active;                 /* 1: it can make rows (limited, friction loss, not excluded by its masks, ...) */
  double solref[2], solimp[5], solreffriction[2];
  double margin, gap;
  double friction[5];         /* of geom, pair and override; else 0 */
  int dim;                    /* condim of geom and pair; else 0 */
  int contype, conaffinity, priority, body; /* of a geom */
} sc_source_info;

/* How many of a kind there are (ids 0 ..), and one of them. */
SC_API int sc_inspect_sources(const sc_model *model, int source);
SC_API int sc_inspect_source(const sc_model *model, int source, int id, sc_source_info *info);

/* What keeps two geoms from touching. */
typedef enum sc_filter {
  SC_FILTER_NONE = 0,         /* nothing: contacts are looked for */
  SC_FILTER_PAIR,             /* nothing: they are an explicit pair */
  SC_FILTER_BODY,             /* they belong to one body, or to bodies welded together */
  SC_FILTER_PARENT,           /* their bodies are parent and child */
  SC_FILTER_MASK,             /* contype and conaffinity do not meet */
  SC_FILTER_EXCLUDE           /* their bodies are excluded */
} sc_filter;
SC_API int sc_inspect_filter(const sc_model *model, int geom1, int geom2, sc_filter *filter);

typedef struct sc_joint_info {
  int type;                   /* 0 free, 1 ball, 2 slide, 3 hinge */
  int body, qposadr, dofadr, ndof;
  int limited;
  double range[2], qpos0;     /* qpos0: of a hinge or slide */
  double armature;            /* of its first dof, and so below */
  double inertia, invweight;  /* dof_M0, dof_invweight0 */
} sc_joint_info;
SC_API int sc_inspect_joint(const sc_model *model, int joint, sc_joint_info *info);

/* ------------------------------------------------------------------ actuators */

#define SC_ACTUATOR_PRM 10

typedef struct sc_actuator_info {
  const char *transmission, *gain, *bias, *dynamics; /* MJCF's words: "joint", "fixed", "affine", "none", ...; borrowed */
  const char *kind;           /* what these make it: "motor", "position", "velocity", "damper", "intvelocity", "cylinder",
                                 "muscle", "adhesion", ..., or "general" */
  int object[2], object_id[2]; /* what it acts on */
  int controls, activations;  /* how many */
  double gainprm[SC_ACTUATOR_PRM], biasprm[SC_ACTUATOR_PRM], dynprm[SC_ACTUATOR_PRM];
  double gear[6];
  int ctrl_limited, force_limited, act_limited; /* 1: the range is applied */
  double ctrlrange[2], forcerange[2], actrange[2]; /* of its first control */
  int disabled;               /* 1: its group, or all actuation, is switched off */
} sc_actuator_info;
SC_API int sc_inspect_actuator(const sc_model *model, int actuator, sc_actuator_info *info);

/* ------------------------------------------------------------------ a point */

/* What one dof does to a site. */
typedef struct sc_site_dof {
  int joint, type;            /* type as in sc_joint_info */
  int qposadr, dofadr;        /* dofadr: of this dof */
  int above;                  /* 1: the joint lies between the world and the site */
  double column[3];           /* of the site's Jacobian: m/rad or 1 */
  double norm;                /* of the column */
  double arm;                 /* distance of the site from the axis, m; NAN for a dof that does not turn */
  double chord;               /* displacement that turning by the angle (rad; m where it slides) makes: 2 arm sin(angle/2) */
  double linear;              /* the same by the Jacobian: norm angle */
  double moved;               /* the same by MuJoCo's kinematics */
} sc_site_dof;

/* All nv dofs against one site; position (3) receives where it is, and may be NULL. */
SC_API int sc_inspect_site(const sc_model *model, const double *state, int sig, int site, double angle,
                           sc_site_dof *dofs, double *position);

#ifdef __cplusplus
}
#endif
#endif /* SOFTCON_INSPECT_H */
