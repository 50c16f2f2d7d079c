/* From accelerations to forces: inverse dynamics of what is packed. */
#include "solver.h"

#include <math.h>

typedef struct {
  sc_solver *solver;
  const sc_inverse *io;
  const double *qacc;
} inverse_job;

/* Lane `lane` of a pack, and what the kernel left of it. */
typedef struct {
  const sc_work *work;
  size_t lanes, lane;
  int env;
} lane_of;

static double number(const lane_of *l, const void *array, size_t i) { return ((const double *)array)[i * l->lanes + l->lane]; }

static void no_answer(const inverse_job *job, int env) {
  const sc_results *r = &job->solver->r;
  const sc_inverse *io = job->io;
  for (size_t i = r->efc_offset[env]; i < r->efc_offset[env + 1]; i++) {
    if (io->efc_force) io->efc_force[i] = NAN;
    if (io->efc_state) io->efc_state[i] = SC_SATISFIED;
  }
  for (size_t i = r->nv_offset[env]; i < r->nv_offset[env + 1]; i++) {
    if (io->qfrc_constraint) io->qfrc_constraint[i] = NAN;
    if (io->qfrc_inverse) io->qfrc_inverse[i] = NAN;
  }
  if (io->fwdinv) io->fwdinv[2 * env] = io->fwdinv[2 * env + 1] = NAN;
}

static int finite_input(const inverse_job *job, int env) {
  const size_t *offset = job->solver->r.nv_offset;
  for (size_t i = offset[env]; i < offset[env + 1]; i++)
    if (!isfinite(job->qacc[i])) return 0;
  return 1;
}

/* the environment's qacc into its lane; of a lane without one, zeros */
static void put_lane(const inverse_job *job, const sc_slot *slot, const lane_of *l) {
  double *a = l->work->a;
  const size_t *offset = job->solver->r.nv_offset;
  size_t nv = l->env < 0 ? 0 : offset[l->env + 1] - offset[l->env];
  for (size_t i = 0; i < (size_t)slot->pack.nv4; i++) a[i * l->lanes + l->lane] = 0;
  for (size_t i = 0; i < nv; i++) a[sc_slot_position(slot, nv, i) * l->lanes + l->lane] = job->qacc[offset[l->env] + i];
}

/* + 0.0 makes a zero's sign plain, which depends on what a pack skips */
static void take_lane(const inverse_job *job, const sc_slot *slot, const lane_of *l) {
  const sc_results *r = &job->solver->r;
  const sc_inverse *io = job->io;
  size_t first = r->nv_offset[l->env], nv = r->nv_offset[l->env + 1] - first;
  double apart = 0, residual = 0;
  if (!finite_input(job, l->env)) {
    no_answer(job, l->env);
    return;
  }
  for (size_t i = r->efc_offset[l->env]; i < r->efc_offset[l->env + 1]; i++) {
    if (io->efc_force) io->efc_force[i] = number(l, l->work->f, (size_t)r->rowmap[i]) + 0.0;
    if (io->efc_state) io->efc_state[i] = (uint8_t)number(l, l->work->k, (size_t)r->rowmap[i]);
  }
  for (size_t i = 0; i < nv; i++) {
    size_t at = sc_slot_position(slot, nv, i);
    double Jf = number(l, l->work->g1, at) + 0.0, g = number(l, l->work->g, at) + 0.0;
    if (io->qfrc_constraint) io->qfrc_constraint[first + i] = Jf;
    if (io->qfrc_inverse) io->qfrc_inverse[first + i] = g;
    apart += (r->qfrc_constraint[first + i] - Jf) * (r->qfrc_constraint[first + i] - Jf);
    residual += g * g;
  }
  if (io->fwdinv) io->fwdinv[2 * l->env] = sqrt(apart), io->fwdinv[2 * l->env + 1] = sqrt(residual);
}

static void inverse_pack(void *arg, int i, int who) {
  const inverse_job *job = arg;
  const sc_solver *s = job->solver;
  const sc_slot *slot = &s->slots[i];
  sc_work *work = &s->workers[who].judge[0];
  for (int k = 0; k < slot->parts; k++) {
    sc_pack part = sc_slot_part(slot, k);
    lane_of l = {work, (size_t)slot->lanes, 0, -1};
    for (; l.lane < l.lanes; l.lane++) {
      l.env = slot->env[(size_t)k * l.lanes + l.lane];
      put_lane(job, slot, &l);
    }
    sc_slot_judge(s, slot)->inverse(&part, work);
    for (l.lane = 0; l.lane < l.lanes; l.lane++) {
      l.env = slot->env[(size_t)k * l.lanes + l.lane];
      if (l.env >= 0) take_lane(job, slot, &l);
    }
  }
}

int sc_solver_inverse(sc_solver *s, const sc_inverse *io) {
  static const char call[] = "sc_solver_inverse";
  if (!s || !io) return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s is NULL", call, s ? "inverse" : "solver");
  if (io->size != sizeof *io)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: inverse.size is %zu, not %zu: use sc_inverse_init", call, io->size, sizeof *io);
  if (!s->packed || s->solved)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: nothing is packed%s: call sc_solver_pack first", call,
                        s->solved ? " any more after sc_solve" : "");
  if ((!io->qacc || io->fwdinv) && !s->ran)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: %s: call sc_solver_run first", call,
                        io->qacc ? "fwdinv compares with a run" : "qacc is NULL");
  if (s->memory && (!io->qacc || io->fwdinv)) {
    int code = s->context->backend->device->download(s->memory);
    if (code) return code;
  }
  inverse_job job = {s, io, io->qacc ? io->qacc : s->r.qacc};
  for (int i = 0; i < s->nenv; i++) no_answer(&job, i); /* the bad ones are in no pack */
  sc_pool_each(s->context->pool, s->npack, inverse_pack, &job);
  return SC_OK;
}
