/* Which width of packs is the fastest on this processor, by solving the same small batch in each. */
#include "context.h"
#include "solver.h"

#include <stdlib.h>

/* Robots of a trunk with six dofs and seven limbs of three, on four pyramidal contacts each: enough for the widest packs in
 * float, and small enough to stay in the cache. */
enum { ENVS = 64, TRUNK = 6, LIMB = 3, LIMBS = 7, NV = TRUNK + LIMB * LIMBS, CONTACTS = 4, EDGES = 4, ROWS = CONTACTS * EDGES };
#define ROUNDS 7
#define CLEARLY 0.95 /* a later one must take less than this share of the time: noise decides nothing */

typedef struct {
  double M[NV * NV], tau[NV], J[ROWS * NV], D[ROWS], aref[ROWS], friction[5 * CONTACTS];
  int type[ROWS], dim[CONTACTS];
} robot;

/* in -1 .. 1, the next of a linear congruential sequence */
static double next(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return (double)(int)*state * 0x1p-31;
}

static int limb_of(int dof) { return dof < TRUNK ? -1 : (dof - TRUNK) / LIMB; }

static void make_robot(robot *b, unsigned seed) {
  unsigned s = seed;
  for (int i = 0; i < NV; i++) {
    b->tau[i] = 20 * next(&s);
    for (int j = 0; j <= i; j++) {
      int coupled = i != j && (limb_of(j) < 0 || limb_of(i) == limb_of(j));
      b->M[NV * i + j] = b->M[NV * j + i] = i == j ? 3 + next(&s) : coupled ? 0.1 * next(&s) : 0;
    }
  }
  for (int c = 0; c < CONTACTS; c++) {
    int limb = (int)(seed + (unsigned)c) % LIMBS;
    double normal[NV] = {0};
    b->dim[c] = 3;
    for (int k = 0; k < 5; k++) b->friction[5 * c + k] = 1;
    for (int j = 0; j < NV; j++) normal[j] = j < TRUNK || limb_of(j) == limb ? next(&s) : 0;
    for (int r = EDGES * c; r < EDGES * (c + 1); r++) {
      b->type[r] = SC_CONTACT_PYRAMIDAL, b->D[r] = 50 + 40 * next(&s), b->aref[r] = 10 * next(&s);
      for (int j = 0; j < NV; j++) b->J[NV * r + j] = normal[j] != 0 ? normal[j] + next(&s) : 0;
    }
  }
}

static int fill(sc_batch *batch) {
  for (int i = 0; i < ENVS; i++) {
    robot b;
    sc_problem p;
    make_robot(&b, (unsigned)i);
    sc_problem_init(&p);
    p.nv = NV, p.nefc = ROWS, p.ncon = CONTACTS, p.M = b.M, p.qfrc_smooth = b.tau;
    p.efc_type = b.type, p.efc_J = b.J, p.efc_D = b.D, p.efc_aref = b.aref, p.contact_dim = b.dim, p.contact_friction = b.friction;
    if (sc_batch_set(batch, i, &p)) return 0;
  }
  return 1;
}

/* One candidate: a context of its own, and a packed solver of each precision. */
typedef struct {
  sc_context context;
  sc_batch *batch;
  sc_solver *solver[2];
  double best[2];           /* seconds */
} runner;

static int start(runner *r, const sc_backend *backend) {
  *r = (runner){.context = {.backend = backend, .pool = sc_pool_create(1)}, .best = {1e9, 1e9}};
  if (!r->context.pool || sc_batch_create(&r->context, ENVS, &r->batch) || !fill(r->batch)) return 0;
  for (int k = 0; k < 2; k++) {
    sc_solver_options o;
    sc_solver_options_init(&o);
    o.precision = k ? SC_F32 : SC_F64;
    if (sc_solver_create(&r->context, &o, &r->solver[k]) || sc_solver_pack(r->solver[k], r->batch)) return 0;
  }
  return 1;
}

static void stop(runner *r) {
  for (int k = 0; k < 2; k++) sc_solver_destroy(r->solver[k]);
  sc_batch_destroy(r->batch);
  if (r->context.pool) sc_pool_destroy(r->context.pool);
}

static void time_once(runner *r) {
  for (int k = 0; k < 2; k++) {
    double began = sc_now();
    if (sc_solver_run(r->solver[k])) continue;
    double passed = sc_now() - began;
    if (passed < r->best[k]) r->best[k] = passed;
  }
}

const sc_backend *sc_backend_fastest(const sc_backend *const *candidates, int n) {
  int fastest = 0;
  runner *all = n > 1 ? calloc((size_t)n, sizeof *all) : NULL;
  int ok = all != NULL;
  for (int i = 0; all && i < n; i++) ok &= start(&all[i], candidates[i]);
  for (int round = 0; ok && round < ROUNDS; round++) /* in turns: what disturbs one disturbs all */
    for (int i = 0; i < n; i++) time_once(&all[i]);
  for (int i = 1; ok && i < n; i++)
    if (all[i].best[0] + all[i].best[1] < CLEARLY * (all[fastest].best[0] + all[fastest].best[1])) fastest = i;
  for (int i = 0; all && i < n; i++) stop(&all[i]);
  free(all);
  return candidates[fastest];
}
