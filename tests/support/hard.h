/* Problems that are hard for arithmetic: stiff cones, friction that is nearly none, masses of six decades, R at its floor, huge
 * and tiny units; each from a seed, for rows of each kind. */
#ifndef TEST_HARD_H
#define TEST_HARD_H

#include "solve.h"

#include <stdio.h>

/* What makes a problem hard. Units: masses and forces are multiplied by `unit`. */
typedef struct {
  const char *name;
  double impratio, dmin, dmax; /* of all rows */
  double friction;             /* >= 0: of all contacts; -1: as they are */
  double diagA;                /* factor of the rows' diagonal: 0 takes R to its floor */
  double timeconst, depth;     /* solref, and position - margin, m */
  double masses;               /* decades over which they spread */
  double unit;
  int beyond;                  /* D times the inverse inertia is more than the certificate can resolve in double */
} hard_case;

static const hard_case hard_cases[] = {
    {"as usual", 1, 0.9, 0.95, -1, 1, 0.02, -0.01, 0, 1, 0},
    {"stiff cones", 1e4, 0.9, 0.9999, -1, 1, 0.02, -0.01, 0, 1, 0},
    {"stiff cones, hard contacts", 1e4, 0.9999, 0.9999, -1, 1, 0.004, -0.05, 0, 1, 0},
    {"soft cones", 1e-4, 0.1, 0.5, -1, 1, 0.2, -0.01, 0, 1, 0},
    {"no friction", 1, 0.9, 0.95, 0, 1, 0.02, -0.01, 0, 1, 0},
    {"no friction, stiff cones", 1e4, 0.9, 0.9999, 0, 1, 0.02, -0.01, 0, 1, 1},
    {"tiny friction", 10, 0.9, 0.99, 2e-5, 1, 0.02, -0.01, 0, 1, 0},
    {"much friction", 10, 0.9, 0.99, 1e3, 1, 0.02, -0.01, 0, 1, 0},
    {"masses of six decades", 1, 0.9, 0.95, -1, 1, 0.02, -0.01, 6, 1, 0},
    {"masses of six decades, stiff cones", 1e3, 0.99, 0.9999, -1, 1, 0.02, -0.01, 6, 1, 0},
    {"R at its floor", 1, 0.9, 0.9999, -1, 0, 0.02, -0.01, 0, 1, 1},
    {"nearly no R", 1, 0.9999, 0.9999, -1, 1e-6, 0.02, -0.01, 0, 1, 1},
    {"nearly no impedance", 1, 1e-4, 1e-4, -1, 1, 0.02, -0.01, 0, 1, 0},
    {"huge units", 1, 0.9, 0.95, -1, 1, 0.02, -0.01, 0, 1e8, 0},
    {"tiny units", 1, 0.9, 0.95, -1, 1, 0.02, -0.01, 0, 1e-8, 0},
    {"too large for float", 1, 0.9, 0.95, -1, 1, 0.02, -0.01, 0, 1e37, 0},
    {"too small for float", 1, 0.9, 0.95, -1, 1, 0.02, -0.01, 0, 1e-37, 0},
    {"far apart", 1, 0.9, 0.95, -1, 1, 0.02, -1e3, 0, 1, 0},
};
#define NHARD ((int)(sizeof hard_cases / sizeof *hard_cases))

/* what of it becomes hard: rows of each kind, alone and together */
static const problem_case hard_bodies[] = {
    {"cones of dim 3", 12, 0, 0, 2, 0, 4, 0, 0, 0, 0},       {"cones of dim 4 and 6", 14, 0, 0, 0, 0, 0, 2, 2, 0, 0},
    {"pyramids", 12, 0, 0, 2, 4, 0, 0, 0, 0, 0},             {"equalities and friction", 16, 5, 6, 0, 0, 0, 0, 0, 0, 0},
    {"everything", 24, 3, 4, 3, 2, 2, 1, 1, 0, 0},
};
#define HARD_BODIES ((int)(sizeof hard_bodies / sizeof *hard_bodies))
#define HARD_SEEDS 3
#define HARD_ENVS (NHARD * HARD_BODIES * HARD_SEEDS)

static inline const hard_case *hard_of(int env) { return &hard_cases[env / (HARD_BODIES * HARD_SEEDS)]; }
static inline const char *hard_text(int env) {
  static char text[200];
  snprintf(text, sizeof text, "\"%s\", %s, seed %d", hard_of(env)->name, hard_bodies[env / HARD_SEEDS % HARD_BODIES].name,
           env % HARD_SEEDS);
  return text;
}

/* masses, and with them forces, over so many decades */
static inline void spread_masses(test_problem *q, const hard_case *h) {
  int n = q->p.nv;
  for (int i = 0; i < n; i++) {
    double s = pow(10, h->masses * ((double)i / n - 0.5) / 2) * sqrt(h->unit);
    for (int j = 0; j < n; j++) q->M[i * n + j] *= s, q->M[j * n + i] *= s;
    q->tau[i] *= s * s;
  }
}

/* environment `env` of HARD_ENVS as environment `to`; every second one with a warm start */
static inline void set_hard(sc_batch *batch, int to, int env) {
  const hard_case *h = hard_of(env);
  test_problem q = make_problem(&hard_bodies[env / HARD_SEEDS % HARD_BODIES], (uint64_t)(100 + env % HARD_SEEDS));
  int m = q.p.nefc, n = q.p.nv;
  double *pos = test_numbers(m), *vel = test_numbers(m), *solref = test_numbers(2 * m), *solimp = test_numbers(5 * m), *diagA = test_numbers(m);
  spread_masses(&q, h);
  for (int r = 0; r < m; r++) {
    for (int i = 0; i < n; i++) diagA[r] += h->diagA * q.J[r * n + i] * q.J[r * n + i] / q.M[i * n + i];
    pos[r] = q.type[r] == SC_FRICTION_DOF ? 0 : h->depth, vel[r] = q.aref[r] / 20;
    solref[2 * r] = h->timeconst, solref[2 * r + 1] = 1;
    memcpy(solimp + 5 * r, (double[]){h->dmin, h->dmax, 0.001, 0.5, 2}, 5 * sizeof *solimp);
    q.eta[r] *= h->unit;
  }
  for (int k = 0; h->friction >= 0 && k < 5 * q.p.ncon; k++) q.friction[k] = h->friction;
  q.p.efc_D = q.p.efc_aref = NULL, q.p.contact_mu = NULL;
  q.p.efc_pos = pos, q.p.efc_vel = vel, q.p.efc_solref = solref, q.p.efc_solimp = solimp, q.p.efc_diagA = diagA;
  q.p.timestep = 0.002, q.p.impratio = h->impratio;
  q.p.qacc_warmstart = env % 2 ? q.warm : NULL;
  CALL(sc_batch_set(batch, to, &q.p));
  double *own[] = {pos, vel, solref, solimp, diagA};
  for (int k = 0; k < 5; k++) free(own[k]);
  free_problem(&q);
}

#endif
