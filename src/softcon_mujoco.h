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
  double tolerance, ls_tolerance, impratio, timestep;
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
  double kinematics;          /* position and velocity stages of MuJoCo, collision included */
  double rows;                /* copying the rows into the batch */
} sc_model_times;

/* Run MuJoCo's position, velocity, actuation and smooth-acceleration stages on every state and put the problems, with
 * MuJoCo's own rows, into environments 0 .. nenv-1 of the batch. The warm start is the state's. A state with an entry
 * that is not finite makes that environment bad. SC_ERROR_VALUE names an environment whose rows MuJoCo could not make (its
 * memory is full, or it raised an error): that one is bad, all others are filled. times may be NULL. */
SC_API int sc_model_batch(sc_context *context, const sc_model *model, const double *states, int sig, int nenv, sc_batch *batch,
                          sc_model_times *times, sc_progress progress, void *arg);

/* Row types and ids of environment env in MuJoCo's order come with sc_batch_get (efc_type, efc_id). */

/* MuJoCo's own solver on the same states, and the error of an answer against the optimum. */
typedef struct sc_mujoco_compare {
  double *qacc_error;         /* nenv, filled by the call; NAN where there is no answer */
  double *force_error;        /* nenv */
  double *mujoco_error;       /* nenv: qacc error of MuJoCo's own answer at the model's settings */
  double us_per_env;          /* of mj_fwdConstraint at the model's settings, islands on, the faster of dense and sparse */
  double us_dense, us_sparse;
  double iterations_mean;     /* of MuJoCo's solver at the model's settings; of the island that takes most */
} sc_mujoco_compare;

/* Optimum: MuJoCo's Newton at tolerance 1e-14 and 200 iterations, then sc_check_polish. Arrays in `compare` are the caller's; any
 * may be NULL. `repeats` >= 1: each mj_fwdConstraint is timed that many times after the stages before it, and counts
 * with its median; us_per_env is the sum over states, divided by them and by the threads. Noslip is left out. */
SC_API int sc_model_compare(sc_context *context, const sc_model *model, const double *states, int sig, int nenv, const sc_batch *batch,
                            const sc_result *result, int repeats, sc_mujoco_compare *compare, sc_progress progress, void *arg);

#ifdef __cplusplus
}
#endif
#endif /* SOFTCON_MUJOCO_H */
