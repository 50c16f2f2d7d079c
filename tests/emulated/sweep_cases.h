/* Problems in the form of parameters, for sweeps on the device: those of problems.h with every kind of row, and parameters that need
 * every branch of the law. */
#ifndef TEST_EMULATED_SWEEP_CASES_H
#define TEST_EMULATED_SWEEP_CASES_H

#include "../support/tolerances.h"
#include "cuda_cases.h"
#include "softcon_cuda.h"

/* The parameters and the memory behind them. */
typedef struct {
  test_problem of;
  sc_problem p;
  double *solref, *solimp, *pos, *margin, *vel, *diagA, *curvature, *adhesion, *solreffriction;
  int *id;
  int which, seed;          /* of the case; of the parameters */
} sweep_problem;

/* of `kind` 0 .. 4: two of the usual form, direct, of mixed sign, and a time constant below two timesteps */
static inline void make_solref(double *solref, test_random *r, int kind) {
  solref[0] = 0.01 + 0.05 * random_unit(r), solref[1] = 0.5 + random_unit(r);
  if (kind == 2) solref[0] = -500 * random_unit(r) - 10, solref[1] = -20 * random_unit(r);
  if (kind == 3) solref[1] = -1;
  if (kind == 4) solref[0] = 1e-3;
}

/* of `kind` 0 .. 5: two usual ones, the powers 1 and 3.5, no width, out of bounds */
static inline void make_solimp(double *solimp, test_random *r, int kind) {
  solimp[0] = 0.5 + 0.4 * random_unit(r), solimp[1] = 0.9 + 0.09 * random_unit(r);
  solimp[2] = 0.001 + 0.01 * random_unit(r), solimp[3] = 0.2 + 0.6 * random_unit(r), solimp[4] = 2;
  if (kind == 2) solimp[4] = 1;
  if (kind == 3) solimp[4] = 3.5;
  if (kind == 4) solimp[2] = 0;
  if (kind == 5) solimp[0] = 0, solimp[4] = 0.5;
}

/* parameters from a seed; the structure stays */
static inline void set_parameters(sweep_problem *q, int seed) {
  test_random r = {(uint64_t)seed * 77191u + 5u};
  q->seed = seed;
  for (int i = 0; i < q->p.nefc; i++) {
    make_solref(q->solref + 2 * i, &r, (int)(random_unit(&r) * 5));
    make_solimp(q->solimp + 5 * i, &r, (int)(random_unit(&r) * 6));
    q->pos[i] = 0.008 * random_signed(&r), q->margin[i] = 0.002 * random_unit(&r), q->vel[i] = random_signed(&r);
    q->diagA[i] = 10 * (0.5 + random_unit(&r)) / q->of.D[i];
    q->curvature[i] = q->p.efc_type[i] == SC_EQUALITY ? random_signed(&r) : 0;
    q->adhesion[i] = q->p.efc_type[i] >= SC_CONTACT_FRICTIONLESS ? random_unit(&r) : 0;
  }
  for (int i = 0; i < q->p.ncon; i++) {
    double *own = q->solreffriction + 2 * i;
    int kind = (int)(random_unit(&r) * 6);
    if (kind < 5) make_solref(own, &r, kind);
    else own[0] = own[1] = 0;
    for (int k = 0; k < 5; k++) q->of.friction[5 * i + k] = k == 4 && kind == 0 ? 0 : 0.05 + random_unit(&r); /* 0 is raised */
  }
  q->p.timestep = 0.001 + 0.004 * random_unit(&r), q->p.impratio = seed % 3 ? 0.5 + 3 * random_unit(&r) : 1;
  q->p.refsafe = seed % 4 != 3;
}

/* the first three pyramids of dim 3 become two of dim 4 */
static inline void widen_pyramids(test_problem *t, sc_problem *p, int pyramids) {
  if (pyramids < 3) return;
  t->dim[0] = t->dim[1] = 4;
  p->ncon--;
  memmove(t->dim + 2, t->dim + 3, (size_t)(p->ncon - 2) * sizeof(int));
}

static inline sweep_problem make_sweep(int which, int seed) {
  sweep_problem q = {.of = make_problem(case_of(which), (uint64_t)seed), .which = which};
  q.p = q.of.p;
  widen_pyramids(&q.of, &q.p, case_of(which)->npyramid);
  int m = q.p.nefc, c = q.p.ncon, *type = q.of.type;
  double **arrays[] = {&q.solimp, &q.solref, &q.pos, &q.margin, &q.vel, &q.diagA, &q.curvature, &q.adhesion};
  for (int i = 0; i < 8; i++) *arrays[i] = test_numbers(i == 0 ? 5 * m : i == 1 ? 2 * m : m);
  q.solreffriction = test_numbers(2 * c), q.id = calloc((size_t)m + 1, sizeof(int));
  for (int i = 0; i < m; i++) { /* connects of three rows, a pair, and rows alone */
    q.id[i] = type[i] != SC_EQUALITY ? -1 : i < 6 ? i / 3 : i < 8 ? 2 : -1;
    if (type[i] == SC_FRICTION_DOF && i % 3 == 0) type[i] = SC_FRICTION_TENDON;
    if (type[i] == SC_LIMIT_JOINT && i % 3 != 0) type[i] = i % 3 == 1 ? SC_LIMIT_TENDON : SC_CONTACT_FRICTIONLESS;
  }
  q.p.efc_D = q.p.efc_aref = q.p.contact_mu = NULL;
  q.p.efc_id = q.id, q.p.efc_solref = q.solref, q.p.efc_solimp = q.solimp, q.p.efc_pos = q.pos, q.p.efc_margin = q.margin;
  q.p.efc_vel = q.vel, q.p.efc_diagA = q.diagA, q.p.efc_curvature = q.curvature, q.p.efc_adhesion = q.adhesion;
  q.p.contact_solreffriction = q.solreffriction;
  q.p.qacc_warmstart = seed % 2 ? q.of.warm : NULL;
  set_parameters(&q, seed);
  return q;
}

static inline void free_sweep(sweep_problem *q) {
  void *all[] = {q->solref, q->solimp, q->pos, q->margin, q->vel, q->diagA, q->curvature, q->adhesion, q->solreffriction, q->id};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  free_problem(&q->of);
}

/* the parameters to the device, in order of the stream; they are read until it is waited for */
static inline void put_parameters(const sc_cuda_arrays *a, int env, const sweep_problem *q, void *stream) {
  size_t row = a->efc_offset[env], m = a->efc_offset[env + 1] - row, con = a->con_offset[env], c = a->con_offset[env + 1] - con;
  const struct { double *to; const double *from; size_t n; } all[] = {
      {a->efc_solref + 2 * row, q->solref, 2 * m},     {a->efc_solimp + 5 * row, q->solimp, 5 * m}, {a->efc_pos + row, q->pos, m},
      {a->efc_margin + row, q->margin, m},             {a->efc_vel + row, q->vel, m},               {a->efc_diagA + row, q->diagA, m},
      {a->efc_curvature + row, q->curvature, m},       {a->efc_adhesion + row, q->adhesion, m},     {a->efc_frictionloss + row, q->of.eta, m},
      {a->contact_friction + 5 * con, q->of.friction, 5 * c}, {a->contact_solreffriction + 2 * con, q->solreffriction, 2 * c},
      {a->timestep + env, &q->p.timestep, 1},          {a->impratio + env, &q->p.impratio, 1}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].n) cuda_memory_put(all[i].to, all[i].from, all[i].n * sizeof(double), stream);
  cuda_memory_put(a->refsafe + env, &q->p.refsafe, sizeof(int32_t), stream);
}

static inline int sweep_cases(void) { return racing() ? NPROBLEM : NCASE; }

/* the environments of a run and the problems that they hold */
typedef struct {
  test_run t;
  int n;
  sweep_problem *q;
  void *stream;
  sc_cuda_arrays a;
} sweep;

static inline const char *name_of(const sweep *s, int env) { return case_of(s->q[env].which)->name; }

/* the cases in turn; seed of environment e: first + e */
static inline sweep open_sweep_on(void *stream, const char *backend, int device, int precision, int n, int first) {
  sweep s = {.n = n, .q = calloc((size_t)n, sizeof(sweep_problem))};
  sc_context_options c;
  sc_solver_options o;
  sc_context_options_init(&c);
  c.backend = backend, c.device = device, c.stream = stream, c.threads = 1;
  CALL(sc_context_create(&c, &s.t.context));
  CALL(sc_batch_create(s.t.context, n, &s.t.batch));
  sc_solver_options_init(&o);
  o.precision = precision, o.tolerance = precision == SC_F64 ? 1e-15 : 1e-8;
  CALL(sc_solver_create(s.t.context, &o, &s.t.solver));
  for (int i = 0; i < n; i++) s.q[i] = make_sweep(i % sweep_cases(), first + i);
  s.stream = sc_cuda_stream(s.t.context);
  return s;
}

static inline sweep open_sweep(const char *backend, int device, int precision, int n, int first) {
  return open_sweep_on(NULL, backend, device, precision, n, first);
}

static inline void set_all(sweep *s) {
  for (int i = 0; i < s->n; i++) CALL(sc_batch_set(s->t.batch, i, &s->q[i].p));
}

static inline void pack_sweep(sweep *s) {
  set_all(s);
  CALL(sc_solver_pack(s->t.solver, s->t.batch));
  CALL(sc_cuda_arrays_get(s->t.solver, &s->a));
}

static inline void run_sweep(sweep *s) {
  CALL(sc_solver_run(s->t.solver));
  CALL(sc_solver_result(s->t.solver, &s->t.r));
}

static inline sweep open_packed(int precision, int n) {
  sweep s = open_sweep("cuda", 0, precision, n, 1);
  pack_sweep(&s);
  return s;
}

static inline void close_sweep(sweep *s) {
  for (int i = 0; i < s->n; i++) free_sweep(&s->q[i]);
  free(s->q);
  close_run(&s->t);
}

/* the run's answers against those of the reference for the problems as they are now */
static inline void expect_reference(const sweep *s, int precision, const char *what) {
  sweep cpu = open_sweep("reference", 0, precision, s->n, 0);
  for (int i = 0; i < s->n; i++) CALL(sc_batch_set(cpu.t.batch, i, &s->q[i].p));
  solve_run(&cpu.t);
  for (int i = 0; i < s->n; i++) {
    sc_problem p;
    double error;
    CALL(sc_batch_get(cpu.t.batch, i, &p, NULL));
    CALL(sc_check_error(&p, run_qacc(&s->t, i), run_qacc(&cpu.t, i), NULL, NULL, &error, NULL));
    cr_expect_eq(s->t.r.status[i], SC_SOLVED, "%s: \"%s\": %s", what, name_of(s, i), sc_status_name(s->t.r.status[i]));
    double limit = precision == SC_F64 ? TOL_F64_QACC : TOL_F32_QACC_WORST;
    cr_expect(error <= limit, "%s: \"%s\": qacc differs by %g", what, name_of(s, i), error);
  }
  close_sweep(&cpu);
}

#endif
