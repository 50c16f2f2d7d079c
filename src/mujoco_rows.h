/* softcon's rows from MuJoCo's positions and contacts. */
#ifndef SC_MUJOCO_ROWS_H
#define SC_MUJOCO_ROWS_H

#include "mujoco_private.h"
#include "softcon_rows.h"

/* The rows of d's configuration as a problem in the parameters form, borrowed from the assembly. Reads what MuJoCo's
 * position and velocity stages leave in d, its contacts included, and no row array (efc_*): of mj_fwdPosition,
 * mj_kinematics, mj_comPos, mj_tendon, mj_collision; of mj_fwdVelocity, mj_comVel. Flags, integrator and matrix form
 * (mj_isSparse: which empty rows exist) are the model's; flexes, sleeping and the discrete integrator are not supported
 * and not looked for. M, qfrc_smooth, qacc_smooth, qacc_warmstart stay NULL. */
SC_API int sc_mujoco_assemble(const mjModel *m, mjData *d, sc_assembly *assembly, sc_problem *problem);

/* The same without the problem: the rows stay in the assembly, for sc_assembly_set. */
SC_API int sc_mujoco_describe(const mjModel *m, mjData *d, sc_assembly *assembly);

/* mj_fwdPosition without MuJoCo's rows: nefc is 0 afterwards, and mj_fwdVelocity and what follows it may be called.
 * Where an actuator's transmission is made of contact rows (mjTRN_BODY), it is mj_fwdPosition. */
SC_API void sc_mujoco_position(const mjModel *m, mjData *d);

/* The same and the stages after it up to qfrc_smooth, without the factor of M and qacc_smooth: a solver makes both for
 * itself, and integration needs neither. */
SC_API void sc_mujoco_smooth(const mjModel *m, mjData *d);

#endif
