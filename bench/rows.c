/* How long rows take: softcon's assembly, sc_assembly_set and packing beside MuJoCo's mj_makeConstraint and
 * mj_referenceConstraint, on the same states, one core, in one run.
 *
 *     bench_rows MODEL.xml STATES.h5 [pyramidal|elliptic]
 *
 * Prints microseconds per environment and the ratio of the sums. Of MuJoCo's rows, of the assembly and of the copy the least
 * of all passes counts, environment by environment; of the packing, which takes all at once, the least of the passes: by a
 * solver that has packed the same states before, as in most steps of a simulation, and by a new one. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "mujoco_rows.h"
#include "store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PASSES 15

typedef struct { double mujoco, assemble, set; } times;

typedef struct {
  mjModel *model;
  mjData *data;
  sc_context *context;
  sc_assembly *assembly;
  sc_batch *batch;
  sc_solver *solver;
  double *states;
  times *least;              /* of each environment */
  int n, sig;
  size_t nstate;
} bench;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int code) {
  if (!code) return;
  fprintf(stderr, "%s\n", sc_error_text());
  exit(3);
}

/* one state: MuJoCo's rows, then softcon's, from the same positions and velocities */
static void run_state(bench *b, int i) {
  times *t = &b->least[i];
  mjModel *m = b->model;
  mjData *d = b->data;
  sc_problem p;
  mj_setState(m, d, b->states + (size_t)i * b->nstate, b->sig);
  mj_fwdPosition(m, d);
  mj_fwdVelocity(m, d);
  double start = now();
  mj_makeConstraint(m, d);
  mj_referenceConstraint(m, d);
  t->mujoco = fmin(t->mujoco, now() - start);
  sc_mujoco_position(m, d);
  mj_fwdVelocity(m, d);
  mj_fwdActuation(m, d);
  mj_fwdAcceleration(m, d);
  start = now();
  check(sc_mujoco_describe(m, d, b->assembly));
  double middle = now();
  sc_problem_init(&p);
  p.nv = (int)m->nv;
  p.M = d->M, p.M_rownnz = m->M_rownnz, p.M_rowadr = m->M_rowadr, p.M_colind = m->M_colind;
  p.qfrc_smooth = d->qfrc_smooth, p.qacc_smooth = d->qacc_smooth, p.qacc_warmstart = d->qacc_warmstart;
  check(sc_assembly_set(b->assembly, &p, b->batch, i));
  t->set = fmin(t->set, now() - middle), t->assemble = fmin(t->assemble, middle - start);
}

static void open_bench(bench *b, char **argv, int elliptic) {
  char error[500];
  sc_context_options o;
  sc_context_options_init(&o);
  o.threads = 1;
  b->model = mj_loadXML(argv[1], NULL, error, sizeof error);
  if (!b->model) {
    fprintf(stderr, "%s: %s\n", argv[1], error);
    exit(3);
  }
  b->model->opt.cone = elliptic ? mjCONE_ELLIPTIC : mjCONE_PYRAMIDAL;
  b->model->opt.disableflags |= mjDSBL_ISLAND;
  b->data = mj_makeData(b->model);
  check(sc_store_states_read(argv[2], &b->states, &b->n, &b->nstate, &b->sig));
  b->least = malloc((size_t)b->n * sizeof *b->least);
  if (!b->least) exit(1);
  for (int i = 0; i < b->n; i++) b->least[i] = (times){INFINITY, INFINITY, INFINITY};
  check(sc_context_create(&o, &b->context));
  check(sc_assembly_create(&b->assembly));
  check(sc_batch_create(b->context, b->n, &b->batch));
  check(sc_solver_create(b->context, NULL, &b->solver));
}

/* seconds that the packing takes in sc_solve */
static double pack(const bench *b, sc_solver *solver) {
  sc_phases phases;
  check(sc_solve(solver, b->batch));
  check(sc_solver_phases(solver, &phases));
  return phases.pack;
}

static double pack_anew(const bench *b) {
  sc_solver *solver;
  check(sc_solver_create(b->context, NULL, &solver));
  double seconds = pack(b, solver);
  sc_solver_destroy(solver);
  return seconds;
}

int main(int argc, char **argv) {
  bench b;
  double again = INFINITY, anew = INFINITY;
  times sum = {0, 0, 0};
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: %s MODEL.xml STATES.h5 [pyramidal|elliptic]\n", argv[0]);
    return 2;
  }
  open_bench(&b, argv, argc == 4 && !strcmp(argv[3], "elliptic"));
  for (int pass = 0; pass < PASSES; pass++) {
    for (int i = 0; i < b.n; i++) run_state(&b, i);
    again = fmin(again, pack(&b, b.solver)), anew = fmin(anew, pack_anew(&b));
  }
  for (int i = 0; i < b.n; i++)
    sum.mujoco += b.least[i].mujoco, sum.assemble += b.least[i].assemble, sum.set += b.least[i].set;
  double us = 1e6 / b.n, own = sum.assemble + sum.set + again;
  printf("%d environments: MuJoCo %.2f; assemble %.2f, set %.2f, pack %.2f (anew %.2f): together %.2f us/env, ratio %.2f, of the assembly alone %.2f\n",
         b.n, sum.mujoco * us, sum.assemble * us, sum.set * us, again * us, anew * us, own * us, own / sum.mujoco, sum.assemble / sum.mujoco);
  sc_solver_destroy(b.solver);
  sc_batch_destroy(b.batch);
  sc_assembly_destroy(b.assembly);
  sc_context_destroy(b.context);
  mj_deleteData(b.data);
  mj_deleteModel(b.model);
  free(b.states);
  free(b.least);
  return 0;
}
