/* softcon with MuJoCo: models and states in, batches out, and MuJoCo's own solver beside for comparison.
 *
 * A library of its own (softcon_mujoco), so that softcon itself needs no MuJoCo. Conventions, ownership and errors are
 * those of softcon.h. */
#ifndef SOFTCON_MUJOCO_H
#define SOFTCON_MUJOCO_H

#include "softcon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled model with the options of a run written into it. */
typedef struct sc_model sc_model;

/* What to override; NAN or -1 leave the model's own setting. */
typedef struct sc_model_options {
  size_t size;                /* sizeof(sc_model_options); set by sc_model_options_init */
  int cone;                   /* 0 pyramidal, 1 elliptic, -1 (default) */
  int jacobian;               /* 0 dense, 1 sparse, 2 auto, -1 (default): only which empty blocks exist */
  double impratio;            /* > 0, or NAN (default) */
  int rows;                   /* who assembles the rows: 0 softcon (default), 1 MuJoCo */
  int solver_defaults;        /* 1: MuJoCo's default solver settings (Newton, 100 iterations, tolerance 1e-8, line search 50 and
                                 0.01, no noslip, islands) in place of the model's; default 0 */
} sc_model_options;
SC_API void sc_model_options_init(sc_model_options *options);

/* Compile the MJCF (or load the .mjb) at path; MuJoCo's own message is passed on. Errors: SC_ERROR_FILE,
 * SC_ERROR_UNSUPPORTED (named: flex rows, the integrator `discrete`, sleeping). options may be NULL. */
SC_API int sc_model_load(const char *path, const sc_model_options *options, sc_model **out);
/* The same from an mjModel of the caller (const mjModel *), copied. */
SC_API int sc_model_wrap(const void *mjmodel, const sc_model_options *options, sc_model **out);
SC_API void sc_model_destroy(sc_model *model);

typedef struct sc_model_info {
  int nq, nv, nu;
  int cone;                   /* 0 pyramidal, 1 elliptic */
  int solver;                 /* the model's: 0 PGS, 1 CG, 2 Newton */
  int iterations, ls_iterations, noslip_iterations;
  double tolerance, ls_tolerance, noslip_tolerance, impratio, timestep;
  int warmstart;              /* 0: the model disables it */
  const char *mujoco_version; /* of the linked library */
} sc_model_info;
SC_API int sc_model_get(const sc_model *model, sc_model_info *info);

/* Numbers per state for a signature (mjtState bits); sig < 0: mjSTATE_INTEGRATION, whose value sc_state_integration()
 * returns. SC_ERROR_ARGUMENT for bits that MuJoCo does not know. */
SC_API int sc_state_integration(void);
SC_API int sc_state_size(const sc_model *model, int sig, size_t *nstate);

/* Called with the count done so far, from one thread at a time; a return other than 0 stops the work: the call returns
 * SC_OK, and tells how many were done. May be NULL. */
typedef int (*sc_progress)(void *arg, int done, int total);

/* nenv states (nenv x nstate, mjSTATE_INTEGRATION) made by stepping: environment i starts at qpos0 or a keyframe, slightly
 * perturbed, and takes `warmup` steps (or a little less, so that ages differ) under smooth random controls. Depends on
 * the model, seed, warmup and i alone, not on threads or nenv. */
SC_API int sc_states_make(sc_context *context, const sc_model *model, int nenv, uint64_t seed, int warmup, double *states,
                          sc_progress progress, void *arg);

/* Where the time of sc_model_batch went: seconds, added up over threads. */
typedef struct sc_model_times {
  double kinematics;          /* position, velocity and smooth acceleration stages of MuJoCo, collision included */
  double rows;                /* making the rows and copying them into the batch */
} sc_model_times;

/* Run MuJoCo's position, velocity, actuation and smooth-acceleration stages on every state and put the problems into
 * environments 0 .. nenv-1 of the batch, with softcon's own rows or MuJoCo's (sc_model_options.rows). The warm start is
 * the state's. A state with an entry that is not finite makes that environment bad. SC_ERROR_VALUE names an environment
 * whose rows could not be made (MuJoCo's memory is full, it raised an error, a parameter is not valid): that one is bad,
 * all others are filled. Rows beyond the batch's capacity are dropped as sc_batch_capacity says. times may be NULL. Row types and ids in MuJoCo's order come with sc_batch_get. */
SC_API int sc_model_batch(sc_context *context, const sc_model *model, const double *states, int sig, int nenv, sc_batch *batch,
                          sc_model_times *times, sc_progress progress, void *arg);

/* ------------------------------------------------------------------ parameters per environment */

/* One field of the model with values of its own in every environment. Fields have their names in mjModel, and
 * opt_timestep and opt_impratio are of mjOption; sc_override_field lists them. Layout and units are MuJoCo's: the whole
 * field of environment 0, then of environment 1, and so on. Bounds:
 *   > 0    opt_timestep, opt_impratio;
 *   >= 0   geom_solmix, dof_frictionloss, dof_armature, tendon_frictionloss, body_mass, body_inertia;
 *   integers of 32 bits   geom_priority;
 *   finite   all others; what MuJoCo repairs (solref, solimp, friction below 1e-5) is repaired.
 * With body_mass, body_inertia or dof_armature the weights derived from them (body_invweight0 and so on) are computed
 * anew for every environment, as mj_setConst does; geom_margin and geom_gap move the bounds of collision detection. */
typedef struct sc_override {
  size_t size;                /* sizeof(sc_override); set by sc_override_init */
  const char *field;          /* "geom_solref", ... */
  const double *values;       /* nenv x sc_model_field numbers; read during the call */
} sc_override;
SC_API void sc_override_init(sc_override *override);

SC_API const char *sc_override_field(int i); /* name of the i-th field that can be overridden; NULL past the end */

/* How many numbers a field has in this model: rows x columns, either may be NULL. SC_ERROR_ARGUMENT: no such field. */
SC_API int sc_model_field(const sc_model *model, const char *field, int *rows, int *columns);

/* sc_model_batch with noverride fields that differ from environment to environment. SC_ERROR_ARGUMENT: unknown field, one
 * given twice, NULL. SC_ERROR_VALUE names a value out of bounds: its environment is bad, all others are filled. An
 * environment depends on its own values alone, whatever the others are. */
SC_API int sc_model_batch_with(sc_context *context, const sc_model *model, const double *states, int sig, int nenv,
                               const sc_override *overrides, int noverride, sc_batch *batch, sc_model_times *times,
                               sc_progress progress, void *arg);

/* ------------------------------------------------------------------ steps */

/* Steps of many environments: kinematics, collision and integration by MuJoCo, rows and solve by softcon. A step is mj_step with
 * another solver, but for three things: sensors are not computed; mjcb_control is not called, controls are those given; and a
 * state that is not finite or beyond 1e10 is not reset, it freezes its environment. */
typedef struct sc_stepper sc_stepper;

typedef struct sc_stepper_options {
  size_t size;                /* sizeof(sc_stepper_options); set by sc_stepper_options_init */
  sc_solver_options solver;   /* default: the model's iterations, ls_iterations, tolerance, ls_tolerance, warmstart; f64 */
  int integrator;             /* 0 Euler, 1 RK4 (four solves a step), 2 implicit, 3 implicitfast; -1 (default): the model's */
  int go_on;                  /* 1: an environment that is not solved goes on if there is an answer; 0 (default): it is frozen */
} sc_stepper_options;
/* model may be NULL: then the solver's defaults are those of sc_solver_options_init */
SC_API void sc_stepper_options_init(sc_stepper_options *options, const sc_model *model);

/* Context and model must live as long; options may be NULL. SC_ERROR_UNSUPPORTED, named: sensors with a history,
 * plugins, implicitfast with a MuJoCo before 4.0. */
SC_API int sc_stepper_create(sc_context *context, const sc_model *model, const sc_stepper_options *options, sc_stepper **out);
SC_API void sc_stepper_destroy(sc_stepper *stepper);       /* NULL is allowed */

/* What became of the environments; arrays are the caller's, any may be NULL. */
typedef struct sc_step_report {
  uint8_t *status;            /* nenv, in and out: sc_status. One that is not SC_SOLVED on entry is left alone; on return it is that
                                 of the last solve, and of the one that froze it. Without the array all are taken as solved */
  uint32_t *flags;            /* nenv, in and out: sc_flag of all solves are added */
  int32_t *steps;             /* nenv: steps taken by this call; a frozen environment's state is that before the step that failed */
  int32_t *iterations;        /* nenv: of all solves of this call */
  double kinematics, rows, solve, integrate; /* seconds, added up over threads; solve: with packing and certificate */
} sc_step_report;

/* Take nsteps steps with each of nenv states (nenv x nstate, mjSTATE_INTEGRATION), in place. ctrl: nenv x nu, held during the
 * steps and written into the state; NULL: the states' own. An environment's bits depend on its own state alone. report may be
 * NULL. With go_on, status is the worst of this call's: the highest number. Progress counts groups of environments; those left
 * when it stops the work have taken no step. SC_ERROR_VALUE names an environment whose rows could not be made (it is frozen as
 * bad_input, all others are stepped). */
SC_API int sc_stepper_run(sc_stepper *stepper, double *states, int nenv, const double *ctrl, int nsteps, sc_step_report *report,
                          sc_progress progress, void *arg);

/* MuJoCo's own stepping of as many environments, on as many threads, for comparison: mjb_step of MuJoCo 4.0 with its default
 * configuration, mj_step on the context's threads with an older one. The model's settings, sensors left out as above. */
typedef struct sc_mujoco_steps sc_mujoco_steps;
SC_API int sc_mujoco_steps_create(sc_context *context, const sc_model *model, int nenv, sc_mujoco_steps **out);
SC_API void sc_mujoco_steps_destroy(sc_mujoco_steps *steps); /* NULL is allowed */
/* nsteps steps of all states, in place; seconds: of the stepping alone, by the wall's clock and by that of all threads together;
 * either may be NULL. SC_ERROR_VALUE: MuJoCo raised an error in an environment. */
SC_API int sc_mujoco_steps_run(sc_mujoco_steps *steps, double *states, int nsteps, double *wall, double *cpu);

/* ------------------------------------------------------------------ contacts */

/* The contacts of all environments with their forces; arrays belong to the struct. */
typedef struct sc_contacts {
  int nenv;
  const size_t *contact_offset; /* nenv+1: contacts of environment i are contact_offset[i] .. contact_offset[i+1]-1, in
                                   MuJoCo's order (their ids in efc_id) */
  const int *geom, *body;     /* n x 2: ids; the normal points from the first to the second */
  const double *dist;         /* n: m, negative in penetration */
  const double *pos;          /* n x 3: m, world */
  const double *frame;        /* n x 9: unit rows in the world: normal, tangents */
  const double *force;        /* n x 6: force on the second body in that frame, N: normal, tangents; torque, N m: about the
                                 normal, about the tangents. Of a pyramid, the sum of its edges. Adhesion is taken off
                                 the normal force. 0 where the contact has no rows (it is in the gap, or was dropped:
                                 sc_batch_capacity); NAN where the environment has no answer */
} sc_contacts;

/* MuJoCo's contacts of the states, and their forces from the result, which is that of the batch, which was made from the
 * states by sc_model_batch. An environment that could not be filled has none. SC_ERROR_ARGUMENT: batch, result and
 * states do not belong together. */
SC_API int sc_model_contacts(sc_context *context, const sc_model *model, const double *states, int sig, int nenv,
                             const sc_batch *batch, const sc_result *result, sc_contacts **out);
/* The same for a batch made by sc_model_batch_with. */
SC_API int sc_model_contacts_with(sc_context *context, const sc_model *model, const double *states, int sig, int nenv,
                                  const sc_override *overrides, int noverride, const sc_batch *batch,
                                  const sc_result *result, sc_contacts **out);
SC_API void sc_contacts_destroy(sc_contacts *contacts);  /* NULL is allowed */

/* ------------------------------------------------------------------ MuJoCo beside */

/* MuJoCo's own solver on the same states, and the error of an answer against the optimum. */
typedef struct sc_mujoco_compare {
  double *qacc_error;         /* nenv, filled by the call; NAN where there is no answer */
  double *force_error;        /* nenv */
  double *mujoco_error;       /* nenv: qacc error of MuJoCo's own answer at the model's settings; NAN also where the batch's
                                 capacity dropped contacts, for MuJoCo keeps them */
  double us_per_env;          /* of mj_fwdConstraint at the model's settings, islands on, the faster of dense and sparse */
  double us_dense, us_sparse;
  double iterations_mean;     /* of MuJoCo's solver at the model's settings; of the island that takes most */
} sc_mujoco_compare;

/* Optimum: MuJoCo's Newton at tolerance 1e-14 and 200 iterations, then sc_check_polish. Arrays in `compare` are the caller's; any
 * may be NULL. `repeats` >= 1: each mj_fwdConstraint is timed that many times after the stages before it, and counts
 * with its median; us_per_env is the sum over states, divided by them and by the threads.
 * Noslip is left out, for what it leaves is the optimum of nothing: MuJoCo runs without it, and environments with the flag
 * SC_NOSLIP_APPLIED get NAN; to judge them, solve without noslip. */
SC_API int sc_model_compare(sc_context *context, const sc_model *model, const double *states, int sig, int nenv, const sc_batch *batch,
                            const sc_result *result, int repeats, sc_mujoco_compare *compare, sc_progress progress, void *arg);

/* The parts of sc_model_compare alone, for measurements that take turns and for several answers to one problem.
 * Bad environments are left out, their numbers are NAN. */
typedef struct sc_mujoco_time {
  double us_dense, us_sparse; /* as above */
  double iterations_mean;
} sc_mujoco_time;
/* qacc: nenv x nv, MuJoCo's own answers at the model's settings; may be NULL */
SC_API int sc_model_time(sc_context *context, const sc_model *model, const double *states, int sig, int nenv, const sc_batch *batch,
                         int repeats, sc_mujoco_time *time, double *qacc, sc_progress progress, void *arg);
/* qacc: nenv x nv, the optimum; force: its forces, may be NULL: those of environment i begin at efc_offset[i], as in sc_result */
SC_API int sc_model_optimum(sc_context *context, const sc_model *model, const double *states, int sig, int nenv, const sc_batch *batch,
                            const size_t *efc_offset, double *qacc, double *force, sc_progress progress, void *arg);

#ifdef __cplusplus
}
#endif
#endif /* SOFTCON_MUJOCO_H */
