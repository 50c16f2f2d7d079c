/* What a solver on a CUDA device reads and writes there, for softcon_cuda.h. */
#include "cuda_private.h"

#include <string.h>

/* name in sc_cuda_arrays, name inside, entries; N, n, m, c: environments, dofs, rows, contacts */
#define PARAMETERS(F)                                                                                                       \
  F(efc_solref, solref, 2 * m) F(efc_solimp, solimp, 5 * m) F(efc_pos, pos, m) F(efc_margin, margin, m) F(efc_vel, vel, m)  \
  F(efc_diagA, diagA, m) F(efc_curvature, curvature, m) F(efc_adhesion, adhesion, m) F(efc_frictionloss, frictionloss, m)   \
  F(contact_friction, friction, 5 * c) F(contact_solreffriction, solreffriction, 2 * c)                                     \
  F(timestep, timestep, N) F(impratio, impratio, N) F(refsafe, refsafe, N)
#define INPUTS(F) F(M, M) F(efc_J, J) F(qfrc_smooth, tau) F(qacc_smooth, s) F(qacc_warmstart, warm)
#define LAW(F)                                                                                                              \
  F(efc_K, K) F(efc_B, B) F(efc_d, d) F(efc_dp, dp) F(efc_R, R) F(efc_D, D) F(efc_aref, aref) F(contact_mu, mu)
#define OUTPUTS(F)                                                                                                          \
  F(qacc, n) F(qfrc_constraint, n) F(efc_force, m) F(efc_state, m) F(status, N) F(flags, N) F(iterations, N) F(gap, N)      \
  F(gap_floor, N) F(qacc_bound, N) F(objective, N)

/* the launches are handed the arrays */
static void hand_over(sc_device_memory *memory) {
  for (int k = 0; k < memory->nlaunch; k++) {
    sc_cuda_args *a = &memory->launches[k].args;
    a->rows = memory->rows, a->inputs = memory->inputs, a->out = memory->out;
  }
}

void sc_cuda_own_arrays(sc_device_memory *memory) {
  memset(&memory->inputs, 0, sizeof memory->inputs);
  memset(&memory->law, 0, sizeof memory->law);
  memory->out = memory->there;
  hand_over(memory);
}

void sc_cuda_get_arrays(const sc_device_memory *memory, sc_cuda_arrays *a) {
  const sc_device_memory *all = memory;
  a->con_offset = all->con_offset, a->M_offset = all->M_offset, a->J_offset = all->J_offset;
#define GET(name, inside, count) a->name = all->rows.inside;
  PARAMETERS(GET)
#undef GET
#define GET(name, inside) a->name = (double *)all->inputs.inside;
  INPUTS(GET)
#undef GET
#define GET(name, count) a->name = all->out.name;
  OUTPUTS(GET)
#undef GET
#define GET(name, inside) a->name = all->law.inside;
  LAW(GET)
#undef GET
}

/* ------------------------------------------------------------------ others */

#define WHERE "sc_cuda_arrays_set"

/* whether the device can access an array */
static int check_pointer(const char *name, const void *pointer, size_t align, int optional) {
  if (!pointer) return optional ? SC_OK : sc_error_set(SC_ERROR_ARGUMENT, WHERE ": %s is NULL", name);
  if ((uintptr_t)pointer % align)
    return sc_error_set(SC_ERROR_ARGUMENT, WHERE ": %s is %p, not aligned to %zu bytes", name, pointer, align);
  cudaPointerAttributes what;
  TRY(WHERE, cudaPointerGetAttributes(&what, pointer));
  if (what.devicePointer) return SC_OK;
  return sc_error_set(SC_ERROR_ARGUMENT, WHERE ": %s is %p, no memory that the device can access", name, pointer);
}

/* what was packed is there no longer: runs have put the caller's in its place */
static int not_there(const char *name) {
  return sc_error_set(SC_ERROR_ARGUMENT, WHERE ": %s is NULL, but was set: for what was packed, pack again", name);
}

static int check_all(const sc_device_memory *memory, const sc_cuda_arrays *a) {
  const sc_device_row_sizes s = memory->rows.sizes;
  size_t N = memory->sizes.N, n = memory->sizes.n, m = memory->sizes.m, c = s.c;
  int code = SC_OK;
#define CHECK(name, inside, count)                                                                        \
  if (!code && memory->rows.memory && (count)) code = check_pointer(#name, a->name, sizeof *a->name, 0);
  PARAMETERS(CHECK)
#undef CHECK
#define CHECK(name, count)                                                       \
  if (!code && (count)) code = check_pointer(#name, a->name, sizeof *a->name, 0);
  OUTPUTS(CHECK)
#undef CHECK
#define CHECK(name, inside) \
  if (!code) code = check_pointer(#name, a->name, sizeof *a->name, 1);
  INPUTS(CHECK)
  LAW(CHECK)
#undef CHECK
#define CHECK(name, inside) \
  if (!code && memory->inputs.inside && !a->name) code = not_there(#name);
  INPUTS(CHECK)
#undef CHECK
  return code;
}

/* what a run does not write, to outputs that are new */
static int copy_unwritten(const sc_device_memory *memory, const sc_cuda_arrays *a) {
  size_t N = memory->sizes.N, n = memory->sizes.n, m = memory->sizes.m;
  const sc_results *own = &memory->there;
  cudaStream_t stream = memory->device->stream;
#define COPY(name, count)                                                                                                   \
  if (a->name != memory->out.name && a->name != own->name && (count))                                                       \
    TRY(WHERE, cudaMemcpyAsync(a->name, own->name, (count) * sizeof *a->name, cudaMemcpyDeviceToDevice, stream));
  OUTPUTS(COPY)
#undef COPY
  return SC_OK;
}

int sc_cuda_set_arrays(sc_device_memory *memory, const sc_cuda_arrays *a) {
  sc_cuda_scope scope(memory->device->ordinal);
  TRY(WHERE, scope.error);
  int code = check_all(memory, a);
  if (!code) code = copy_unwritten(memory, a);
  if (code) return code;
#define SET(name, inside, count) if (memory->rows.memory) memory->rows.inside = a->name;
  PARAMETERS(SET)
#undef SET
#define SET(name, inside) memory->inputs.inside = a->name;
  INPUTS(SET)
#undef SET
#define SET(name, count) memory->out.name = a->name;
  OUTPUTS(SET)
#undef SET
#define SET(name, inside) memory->law.inside = a->name;
  LAW(SET)
#undef SET
  hand_over(memory);
  return SC_OK;
}

/* ------------------------------------------------------------------ results, and rows alone */

int sc_cuda_outputs_are_own(const sc_device_memory *memory) {
  int own = 1;
#define SAME(name, count) own = own && memory->out.name == memory->there.name;
  OUTPUTS(SAME)
#undef SAME
  return own;
}

int sc_cuda_download_bound(sc_device_memory *memory) {
  size_t N = memory->sizes.N, n = memory->sizes.n, m = memory->sizes.m;
  cudaStream_t stream = memory->device->stream;
  sc_results *to = memory->results;
  const sc_results *from = &memory->out;
#define COPY(name, count)                                                                                                   \
  if (count)                                                                                                                \
    TRY("sc_solver_result", cudaMemcpyAsync(to->name, from->name, (count) * sizeof *to->name, cudaMemcpyDeviceToHost, stream));
  OUTPUTS(COPY)
#undef COPY
  TRY("sc_solver_result", cudaStreamSynchronize(stream));
  return SC_OK;
}

int sc_cuda_evaluate_rows(sc_device_memory *memory) {
  static const char where[] = "sc_cuda_rows_eval";
  if (!memory->rows.memory)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: no environment has parameters: all rows were handed over ready", where);
  sc_cuda_scope scope(memory->device->ordinal);
  TRY(where, scope.error);
  size_t blocks = (memory->rows.sizes.b + SC_ROWS_THREADS - 1) / SC_ROWS_THREADS;
  size_t most = 16 * (size_t)memory->device->processors;
  if (!blocks) return SC_OK;
  sc_cuda_rows_args a;
  a.in = memory->rows, a.efc_offset = memory->there.efc_offset, a.out = memory->law;
  void *args[] = {&a};
  dim3 grid((unsigned)(blocks < most ? blocks : most)), threads(SC_ROWS_THREADS);
  TRY(where, cudaLaunchKernel(sc_cuda_rows, grid, threads, args, 0, memory->device->stream));
  return SC_OK;
}
