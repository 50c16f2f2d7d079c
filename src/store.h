/* Files of states and results (HDF5). */
#ifndef SC_STORE_H
#define SC_STORE_H

#include "softcon_mujoco.h"

/* The states file: dataset /states, n x nstate, with the signature in its attribute `sig` (absent: -1). *states belongs
 * to the caller (free). Functions return an sc_code with an error text that names file and field. */
int sc_store_states_read(const char *path, double **states, int *n, size_t *nstate, int *sig);
int sc_store_states_write(const char *path, const double *states, int n, size_t nstate, int sig);

/* What stands in the attributes of a result file beside the counts of flags. */
typedef struct sc_store_run {
  const char *model, *mujoco_version, *method, *precision, *cone, *device, *backend;
  double impratio, tolerance;
  int iterations, noslip_iterations;
  const char *rows;            /* who assembled them; NULL: not said */
  int save_rows;               /* 1: the rows' parameters and Jacobian too, NaN where the batch has none */
  const sc_contacts *contacts; /* written too; NULL: none */
  const double *fwdinv;        /* nenv x 2: both parts of the diagnostic, written too; NULL: none */
} sc_store_run;

/* The result file of `solve`; nv: dofs of every environment. The batch gives types and ids of rows. It is written
 * beside path and renamed at the end, so that a failed write leaves what was there. */
int sc_store_result_write(const char *path, const sc_store_run *run, int nv, const sc_result *result,
                          const sc_batch *batch);

/* Whether a file could be made at path, before the work that is to be stored there. */
int sc_store_can_write(const char *path);

#endif
