/* softcon's rows from descriptors: equalities, dry friction, limits and contacts in, the rows of a problem out.
 *
 * For callers who have a simulator of their own. One struct describes one equality, limit, ... by its bodies'
 * Jacobians, positions and parameters; the assembly combines them into rows in MuJoCo's order and puts them into a
 * batch (sc_assembly_set), or hands out an sc_problem in the parameters form, for sc_batch_set. Conventions, ownership and errors are those of softcon.h.
 * Sections are those of the row specification (rows.md), which was checked against MuJoCo.
 *
 * An error's text names the call, the descriptor's id, the field, its value and its bound; nothing was added then.
 * SC_ERROR_ARGUMENT: pointers, sizes, dofs, dimensions. SC_ERROR_VALUE: a number that is not finite or out of bounds.
 */
#ifndef SOFTCON_ROWS_H
#define SOFTCON_ROWS_H

#include "softcon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ the assembly */

/* Collects the rows of one environment at a time. Its memory grows to the largest one and is used again, so that one
 * assembly per thread serves any number of environments without further allocation. */
typedef struct sc_assembly sc_assembly;

typedef struct sc_assembly_options {
  size_t size;        /* sizeof(sc_assembly_options); set by sc_assembly_options_init */
  int nv;             /* degrees of freedom, >= 0; default 0 */
  int cone;           /* rows of contacts with friction: 0 (default) pyramidal, 1 elliptic (1.1) */
  int diagexact;      /* 1: every row's inverse inertia is J M^-1 J', made from M by sc_batch_set; 0 (default): the
                         approximate one from the descriptors' invweight (6.1, 6.5) */
  int keep_zero;      /* 1: an equality, friction or limit is left out when it has no dofs; 0 (default): also when
                         all its Jacobian's values are 0. MuJoCo's sparse and dense matrices do this (1.3) */
  int refsafe;        /* 1 (default): time constants are raised to 2 timesteps (5.1) */
  double timestep;    /* s, > 0; default 0.002 */
  double impratio;    /* ratio of frictional to normal impedance, > 0; default 1 (6.3) */
  const double *qvel; /* nv, rad/s or m/s; NULL (default): at rest. Read until sc_assembly_problem returns */
} sc_assembly_options;

SC_API void sc_assembly_options_init(sc_assembly_options *options);

SC_API int sc_assembly_create(sc_assembly **out);
SC_API void sc_assembly_destroy(sc_assembly *assembly); /* NULL is allowed */

/* Forget all rows and begin an environment. Pointers in problems handed out before become invalid. */
SC_API int sc_assembly_begin(sc_assembly *assembly, const sc_assembly_options *options);

/* The rows added since sc_assembly_begin as a problem in the parameters form, J sparse. Everything about rows and
 * contacts is set, and nv, timestep, impratio, refsafe; M and qfrc_smooth or qacc_smooth (and qacc_warmstart) are the
 * caller's to set. Rows stand in MuJoCo's order, whatever the order of the calls: equalities, dry friction of dofs and
 * of tendons, limits of joints and of tendons, contacts; among them by ascending id, and with equal ids as added (1.1).
 * Borrowed until the next call that adds rows or begins. SC_ERROR_ARGUMENT: two equalities of one id. */
SC_API int sc_assembly_problem(sc_assembly *assembly, sc_problem *problem);

/* Set environment `env` of the batch to these rows: as sc_batch_set with the problem above, the same bits and the same
 * errors, but without the way through its arrays and without checking again what the assembly has checked. Of `rest`
 * M and its pattern, qfrc_smooth, qacc_smooth and qacc_warmstart are read; nv must be the assembly's. */
SC_API int sc_assembly_set(sc_assembly *assembly, const sc_problem *rest, sc_batch *batch, int env);

/* ------------------------------------------------------------------ Jacobians */

/* One row: the derivative of a scalar by the dofs. */
typedef struct sc_sparse_row {
  int n;               /* entries */
  const int *dof;      /* n, ascending, in 0 .. nv-1 */
  const double *value; /* n: m/rad, 1, ... */
} sc_sparse_row;

/* How the dofs move one body (or site): the Jacobian of its rotation and of one of its points.
 *
 * Entry (axis i, dof dof[k]) is at Jr[i * row_stride + k * dof_stride], and so in Jp; with by_dof, dof[k] takes the
 * place of k. So Jr and Jp may be 3 x n (the default), 3 x nv with by_dof as MuJoCo's mj_jac makes them, or
 * interleaved. Bodies of one tree may share one table (by_dof, same pointers and point): then the dofs above both
 * cancel exactly in a contact's rows and in a weld's rotational rows, and are left out of them. */
typedef struct sc_body {
  size_t size;         /* sizeof(sc_body); set by sc_body_init */
  int n;               /* dofs that move it; 0 (default): it is static, and of the rest only invweight counts */
  const int *dof;      /* n, ascending, in 0 .. nv-1 */
  const double *Jr;    /* angular velocity per dof velocity, world axes: rad/m or 1 */
  const double *Jp;    /* velocity of the body's point that is now at `point`, world axes: 1 or m/rad */
  int row_stride;      /* 0 (default): n */
  int dof_stride;      /* 0 (default): 1 */
  int by_dof;          /* 1: the tables are indexed by dof; default 0 */
  double point[3];     /* m, world; default 0 0 0 */
  double bias[6];      /* read by connect and weld: angular acceleration, rad/s^2, and acceleration of that point,
                          m/s^2, at qacc = 0 without gravity: dJr/dt qvel, dJp/dt qvel; default 0 (4) */
  double invweight[2]; /* mean inverse inertia of the body for translation, 1/kg, and rotation, 1/(kg m^2), >= 0;
                          default 0. Not read with diagexact (6.1) */
} sc_body;

SC_API void sc_body_init(sc_body *body);

/* ------------------------------------------------------------------ equalities (3.1 - 3.3) */

/* One scalar x1 held at a constant, or coupled to another by a polynomial:
 * residual x1 - (a0 + a1 x2 + a2 x2^2 + a3 x2^3 + a4 x2^4). x1, x2: positions of joints or lengths of tendons relative
 * to their reference, or any other scalars. One row. */
typedef struct sc_equality {
  size_t size;          /* sizeof(sc_equality); set by sc_equality_init */
  int id;               /* >= 0 and unique; -1 (default): the number of equalities so far */
  int coupled;          /* 1: there is an x2; 0 (default): the residual is x1 - a0 */
  double x1, x2;        /* m or rad; default 0 */
  sc_sparse_row J1, J2; /* their derivatives; default empty */
  double polycoef[5];   /* a0 .. a4; default 0 1 0 0 0 */
  double invweight;     /* sum of the inverse inertias of the joints or tendons, >= 0; default 0 */
  double solref[2];     /* default 0.02 1; here and below as in sc_row_input (5) */
  double solimp[5];     /* default 0.9 0.95 0.001 0.5 2 */
} sc_equality;

/* A point of one body held at a point of another: residual point[0] - point[1], rows J(body 0) - J(body 1). 3 rows. */
typedef struct sc_connect {
  size_t size;            /* sizeof(sc_connect); set by sc_connect_init */
  int id;                 /* as in sc_equality */
  const sc_body *body[2]; /* NULL (default): the static world; read during the call */
  double point[2][3];     /* m, world: where each body's anchor is now; default 0 */
  double solref[2];       /* default 0.02 1 */
  double solimp[5];       /* default 0.9 0.95 0.001 0.5 2 */
} sc_connect;

/* A frame of one body held at a frame of another: the rows of connect, then those of
 * s Im(conj(quat[1]) quat[0]), which is s sin(angle/2) axis. 6 rows with one impedance. */
typedef struct sc_weld {
  size_t size;            /* sizeof(sc_weld); set by sc_weld_init */
  int id;                 /* as in sc_equality */
  const sc_body *body[2]; /* NULL (default): the static world; read during the call */
  double point[2][3];     /* m, world: origins of the frames; default 0 */
  double quat[2][4];      /* orientations of the frames in the world, w first, of unit length; default 1 0 0 0 */
  double torquescale;     /* s, m/rad: weight of rotation; default 1 */
  double solref[2];       /* default 0.02 1 */
  double solimp[5];       /* default 0.9 0.95 0.001 0.5 2 */
} sc_weld;

SC_API void sc_equality_init(sc_equality *equality);
SC_API void sc_connect_init(sc_connect *connect);
SC_API void sc_weld_init(sc_weld *weld);
SC_API int sc_assembly_equality(sc_assembly *assembly, const sc_equality *equality);
SC_API int sc_assembly_connect(sc_assembly *assembly, const sc_connect *connect);
SC_API int sc_assembly_weld(sc_assembly *assembly, const sc_weld *weld);

/* ------------------------------------------------------------------ dry friction (3.4) */

/* One row; none where frictionloss is 0. */
typedef struct sc_friction {
  size_t size;         /* sizeof(sc_friction); set by sc_friction_init */
  int id;              /* of the dof or tendon, >= 0; -1 (default): the number of its kind so far */
  int tendon;          /* 0 (default): SC_FRICTION_DOF, 1: SC_FRICTION_TENDON */
  sc_sparse_row J;     /* of the dof (one entry, 1) or of the tendon's length; default empty */
  double frictionloss; /* largest force, N or N m, >= 0; default 0 */
  double invweight;    /* inverse inertia, >= 0; default 0 */
  double solref[2];    /* default 0.02 1 */
  double solimp[5];    /* default 0.9 0.95 0.001 0.5 2 */
} sc_friction;

SC_API void sc_friction_init(sc_friction *friction);
SC_API int sc_assembly_friction(sc_assembly *assembly, const sc_friction *friction);

/* ------------------------------------------------------------------ limits (3.5) */

/* A scalar kept in a range: a row for each side that is nearer than the margin, the lower first; distance and Jacobian
 * are x - range[0], J and range[1] - x, -J. */
typedef struct sc_limit {
  size_t size;      /* sizeof(sc_limit); set by sc_limit_init */
  int id;           /* of the joint or tendon, >= 0; -1 (default): the number of its kind so far */
  int tendon;       /* 0 (default): SC_LIMIT_JOINT, 1: SC_LIMIT_TENDON */
  double x;         /* position of the joint, length of the tendon: m or rad; default 0 */
  sc_sparse_row J;  /* of x; default empty */
  double range[2];  /* -INFINITY, INFINITY (default): no limit on that side */
  double margin;    /* m or rad; default 0 */
  double invweight; /* inverse inertia, >= 0; default 0 */
  double solref[2]; /* default 0.02 1 */
  double solimp[5]; /* default 0.9 0.95 0.001 0.5 2 */
} sc_limit;

/* The rotation angle of a ball joint kept below max(range); one row of type SC_LIMIT_JOINT, where nearer than the
 * margin. The joint's three dofs are angular velocity in the frame that the quaternion turns. */
typedef struct sc_ball_limit {
  size_t size;      /* sizeof(sc_ball_limit); set by sc_ball_limit_init */
  int id;           /* of the joint, >= 0; -1 (default): the number of joint limits so far */
  int dof;          /* first of its three dofs; default 0 */
  double quat[4];   /* position of the joint, w first; need not be of unit length; default 1 0 0 0 */
  double range[2];  /* rad; default 0, INFINITY (no limit) */
  double margin;    /* rad; default 0 */
  double invweight; /* inverse inertia, >= 0; default 0 */
  double solref[2]; /* default 0.02 1 */
  double solimp[5]; /* default 0.9 0.95 0.001 0.5 2 */
} sc_ball_limit;

SC_API void sc_limit_init(sc_limit *limit);
SC_API void sc_ball_limit_init(sc_ball_limit *limit);
SC_API int sc_assembly_limit(sc_assembly *assembly, const sc_limit *limit);
SC_API int sc_assembly_ball_limit(sc_assembly *assembly, const sc_ball_limit *limit);

/* ------------------------------------------------------------------ contacts (3.6) */

/* One contact point of two bodies. Rows of relative motion (body 1 minus body 0) in the contact frame: along the
 * normal, and with dim > 1 along the tangents, about the normal (dim >= 4), about the tangents (dim 6): dim elliptic
 * rows, or the 2 (dim - 1) edges normal +- friction_k direction_k of a pyramid; with dim 1 one frictionless row.
 *
 * It has rows where dist < margin. Where not, but dist <= margin + gap and adhesion is not 0, it has the one
 * frictionless row (8). Between bodies without dofs it has none. */
typedef struct sc_contact {
  size_t size;            /* sizeof(sc_contact); set by sc_contact_init */
  int id;                 /* >= 0; -1 (default): the number of contacts so far */
  int dim;                /* 1, 3 (default), 4 or 6 */
  int always;             /* 1: it has all its rows at any distance, as a speculative contact has; default 0 */
  const sc_body *body[2]; /* NULL (default): the static world; read during the call */
  double pos[3];          /* m, world; default 0 */
  double frame[9]; /* unit rows in the world: normal from body 0 to body 1, tangents; default the identity (2.4) */
  double dist;     /* m, negative in penetration; default 0 */
  double margin;   /* m; default 0 (1.4) */
  double gap;      /* m; default 0 (1.4) */
  double
      friction[5];  /* tangent 1, tangent 2, spin, roll 1, roll 2, >= 0, raised to 1e-5; default 1 1 .005 .0001 .0001 */
  double solref[2]; /* default 0.02 1 */
  double solreffriction[2]; /* of an elliptic contact's friction rows; default 0 0: solref (5.3) */
  double solimp[5];         /* default 0.9 0.95 0.001 0.5 2 */
  double surfacevel[3];     /* surface velocity of body 1 against body 0 along the tangents, m/s, and about the normal,
                               rad/s; default 0 (8) */
  double adhesion;          /* pull along the normal, N; default 0. The pull itself belongs into qfrc_smooth (8) */
} sc_contact;

/* Why a contact has no rows; the numbers are those of mjContact.exclude. */
typedef enum sc_exclude {
  SC_INCLUDED = 0, /* it has rows */
  SC_IN_GAP = 1,   /* dist >= margin */
  SC_NO_DOFS = 3   /* neither body has dofs */
} sc_exclude;

SC_API void sc_contact_init(sc_contact *contact);

/* exclude (may be NULL) receives an sc_exclude. */
SC_API int sc_assembly_contact(sc_assembly *assembly, const sc_contact *contact, int *exclude);

/* What a geom brings into its contacts. */
typedef struct sc_geom {
  size_t size;          /* sizeof(sc_geom); set by sc_geom_init */
  int condim;           /* 1, 3 (default), 4 or 6 */
  int priority;         /* default 0 */
  double friction[3];   /* sliding, spin, rolling, >= 0; default 1 0.005 0.0001 */
  double solmix;        /* weight in the average, >= 0; default 1 */
  double solref[2];     /* default 0.02 1 */
  double solimp[5];     /* default 0.9 0.95 0.001 0.5 2 */
  double margin;        /* m; default 0 */
  double gap;           /* m; default 0 */
  double adhesion;      /* N; default 0 */
  double pos[3];        /* m, world; default 0. This and the next two are read by sc_contact_surface only */
  double mat[9];        /* orientation in the world; default the identity */
  double surfacevel[6]; /* velocity of its surface in its own frame: linear m/s, angular rad/s; default 0 */
} sc_geom;

/* Contact parameters that replace all others (2.3). */
typedef struct sc_contact_override {
  size_t size;        /* sizeof(sc_contact_override); set by sc_contact_override_init */
  double margin;      /* m; default 0 */
  double solref[2];   /* also solreffriction; default 0.02 1 */
  double solimp[5];   /* default 0.9 0.95 0.001 0.5 2 */
  double friction[5]; /* default 1 1 0.005 0.0001 0.0001 */
} sc_contact_override;

SC_API void sc_geom_init(sc_geom *geom);
SC_API void sc_contact_override_init(sc_contact_override *override);

/* Set dim, friction, solref, solreffriction, solimp, margin, gap, adhesion of a contact between two geoms (2.1): those
 * of the geom of higher priority; with equal priorities the larger dim and frictions and the solmix-weighted average of
 * solref (the smaller ones, if one of them is in the direct form) and solimp, and the sum of adhesions. margin and gap
 * are sums in any case. override may be NULL. The pair is detected where dist <= margin + gap. */
SC_API int sc_contact_mix(const sc_geom *geom0, const sc_geom *geom1, const sc_contact_override *override,
                          sc_contact *contact);

/* Set surfacevel of a contact, whose pos and frame are set (8). */
SC_API int sc_contact_surface(const sc_geom *geom0, const sc_geom *geom1, sc_contact *contact);

/* Set frame[3 .. 8] of a contact, whose normal frame[0 .. 2] is set and not zero; the normal is scaled to unit length
 * (2.4). */
SC_API int sc_contact_tangents(sc_contact *contact);

#ifdef __cplusplus
}
#endif
#endif /* SOFTCON_ROWS_H */
