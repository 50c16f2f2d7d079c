/* softcon on a CUDA device, from the device's side: the arrays that a solver reads and writes there, so that a sweep over
 * parameters changes device memory and nothing else. Needs no CUDA header.
 *
 * After sc_solver_pack, a solver of a context of backend "cuda" has the batch on the device. Before each solve, in the same
 * launch, sc_solver_run evaluates the rows of every environment that was handed over as parameters (softcon.h, sc_problem)
 * from the arrays below, by the law that sc_batch_set uses. So one changes them in place and runs again:
 *
 *     sc_cuda_arrays a;
 *     sc_solver_pack(solver, batch);
 *     sc_cuda_arrays_get(solver, &a);
 *     my_kernel<<<..., stream>>>(a.efc_solref, ...);      // on the context's stream: sc_cuda_stream
 *     sc_solver_run(solver);                              // enqueued behind it
 *     my_other_kernel<<<..., stream>>>(a.qacc, ...);      // and this behind that
 *
 * or replays a CUDA graph in which sc_solver_run was captured. Or one has the solver read and write arrays of one's own
 * (sc_cuda_arrays_set): input and output then need no copy. Nothing is allocated and nothing is waited for but by
 * sc_solver_pack, sc_solver_wait and sc_solver_result.
 *
 * What cannot change on the device: which entries of M and J there are, kinds and numbers of rows, which environments there
 * are, and D and aref of environments that were handed over in the ready form. For these, pack again. sc_solver_inverse and
 * sc_batch_get know what was packed.
 *
 * An environment with a number that is not valid (sc_batch_set says which are; of a contact with friction the solref, solimp
 * and diagA of its first row count) gets the verdict SC_BAD_INPUT and NaN; the others keep their bits. One that was bad when
 * it was packed remains so. */
#ifndef SOFTCON_CUDA_H
#define SOFTCON_CUDA_H

#include "softcon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The arrays of a solver. Pointers are to device memory where nothing else is said. Environment e has entries
 * nv_offset[e] .. nv_offset[e+1]-1 of arrays over dofs, efc_offset[e] .. of those over rows, con_offset[e] .. of those over
 * contacts with friction; dofs, rows and contacts stand in the order in which they were handed over, what sc_batch_capacity
 * has dropped left out. Matrices are row-major: solref of row r is at 2 r and 2 r + 1. Units: softcon.h. */
typedef struct sc_cuda_arrays {
  size_t size;                /* sizeof(sc_cuda_arrays); set by sc_cuda_arrays_init */
  int nenv;
  const size_t *nv_offset, *efc_offset, *con_offset; /* nenv + 1 each, in host memory, borrowed until the solver packs again;
                                 con_offset is NULL where no environment has parameters */
  const size_t *M_offset, *J_offset; /* nenv + 1 each, likewise: environment e has entries M_offset[e] .. of M, nv x nv, and
                                 J_offset[e] .. of efc_J, rows x nv */

  /* Read by sc_solver_run and sc_cuda_rows_eval, NULL where no environment has parameters. Those of environments in the ready
   * form are there and not read. */
  double *efc_solref;         /* rows x 2 */
  double *efc_solimp;         /* rows x 5 */
  double *efc_pos, *efc_margin, *efc_vel; /* rows */
  double *efc_diagA;          /* rows: as handed over, or the exact diagonal of packing */
  double *efc_curvature, *efc_adhesion;   /* rows; 0 where none was given */
  double *efc_frictionloss;   /* rows, read of dry friction */
  double *contact_friction;   /* contacts x 5 */
  double *contact_solreffriction; /* contacts x 2; 0 0: none */
  double *timestep, *impratio;/* nenv */
  int32_t *refsafe;           /* nenv: 0 or 1 */

  /* Read by sc_solver_run; NULL (default): what was packed. Once set they stay so until the solver packs again. Dense, whatever
   * form was packed. Entries that packing knows to be 0, by blocks of four dofs, must be 0 here, or the verdict is
   * SC_BAD_INPUT; of M the lower triangle is read, and factored in the launch. With M alone or J alone the other is what was
   * packed. */
  double *M, *efc_J;

  /* Read by sc_solver_run, dofs of all environments; NULL (default) and setting as above. With qfrc_smooth alone qacc_smooth
   * follows from it, and the other way round; without qacc_warmstart an environment that was packed without one starts at
   * qacc_smooth. qacc_warmstart may be qacc: each run starts where the last one ended. */
  double *qfrc_smooth, *qacc_smooth, *qacc_warmstart;

  /* Written by sc_solver_run: see sc_result. Environments that were bad when they were packed are not written: they have
   * their NaN and SC_BAD_INPUT from packing, or from sc_cuda_arrays_set. */
  double *qacc, *qfrc_constraint; /* dofs */
  double *efc_force;          /* rows */
  uint8_t *efc_state;         /* rows: sc_state */
  uint8_t *status;            /* nenv: sc_status */
  uint32_t *flags;            /* nenv: sc_flag; repaired and clamped are those of the parameters of the run */
  int32_t *iterations;        /* nenv */
  double *gap, *gap_floor, *qacc_bound, *objective; /* nenv */

  /* Written by sc_cuda_rows_eval where not NULL (default); of environments in the ready form and bad ones nothing is written. */
  double *efc_K, *efc_B;      /* rows: stiffness 1/s^2 and damping 1/s of the reference */
  double *efc_d, *efc_dp;     /* rows: impedance and its derivative by pos */
  double *efc_R, *efc_D;      /* rows: regularisation after the cone adjustment, and 1/R */
  double *efc_aref;           /* rows: reference acceleration */
  double *contact_mu;         /* contacts */
} sc_cuda_arrays;

SC_API void sc_cuda_arrays_init(sc_cuda_arrays *arrays);

/* The arrays that runs read and write: those of sc_solver_pack, which belong to the solver and last until it packs again or
 * is destroyed, or those of sc_cuda_arrays_set. Errors: argument (NULL, nothing is packed); SC_ERROR_UNSUPPORTED: the solver's
 * context is not one of backend "cuda". */
SC_API int sc_cuda_arrays_get(const sc_solver *solver, sc_cuda_arrays *arrays);

/* Have runs read and write these, all of which must be memory that the context's device can access, of the sizes above, until
 * the solver packs again: then its own are back. Begin with what sc_cuda_arrays_get gives and replace pointers; nenv and
 * offsets are not read. What a run does not write (see above) is copied to outputs that are new, once, on the stream. Runs
 * that are enqueued or captured in a graph keep the arrays that they had. Errors: as above; argument (size) names a pointer
 * that is NULL where that has no meaning (M, efc_J and vectors: that was set before), is not aligned, or cannot be accessed by
 * the device; SC_ERROR_DEVICE: whatever CUDA reports. Runs are as before then. */
SC_API int sc_cuda_arrays_set(sc_solver *solver, const sc_cuda_arrays *arrays);

/* Enqueue the law alone, of all rows at once: efc_K .. contact_mu from the parameters. What is not valid gives what the
 * arithmetic gives. Errors: as above; argument where no environment has parameters. */
SC_API int sc_cuda_rows_eval(sc_solver *solver);

/* The cudaStream_t on which everything of this context is ordered: the caller's (sc_context_options.stream) or the context's
 * own. NULL for another backend than "cuda". */
SC_API void *sc_cuda_stream(const sc_context *context);

#ifdef __cplusplus
}
#endif

#endif /* SOFTCON_CUDA_H */
