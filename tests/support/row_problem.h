/* Problems in the parameters form on one body, row by row, for the tests of sc_batch_set. */
#ifndef TEST_ROW_PROBLEM_H
#define TEST_ROW_PROBLEM_H

#include "solve.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define MOST 16             /* rows */
#define NV 3

/* Rows on a body of 2 kg on three slides, and the memory behind the problem. Do not copy: p points into it. */
typedef struct {
  sc_problem p;
  double M[NV * NV], tau[NV], s[NV], warm[NV], J[MOST * NV];
  double pos[MOST], margin[MOST], vel[MOST], solref[2 * MOST], solimp[5 * MOST], diagA[MOST], curvature[MOST], adhesion[MOST], loss[MOST];
  double D[MOST], aref[MOST], friction[15], solreffriction[6], mu[3];
  int type[MOST], id[MOST], dim[3];
  double M_values[6];
  int M_rownnz[NV], M_rowadr[NV], M_colind[6], J_rownnz[MOST], J_rowadr[MOST], J_colind[MOST * NV];
} row_problem;

static inline void start(row_problem *q) {
  memset(q, 0, sizeof *q);
  sc_problem_init(&q->p);
  q->p.nv = NV, q->p.timestep = 0.005;
  for (int i = 0; i < NV; i++) q->M[i * NV + i] = 2;
  q->tau[2] = -2 * 9.81, q->s[2] = -9.81;
  q->p.M = q->M, q->p.qfrc_smooth = q->tau, q->p.efc_type = q->type, q->p.efc_J = q->J, q->p.efc_frictionloss = q->loss;
  q->p.efc_pos = q->pos, q->p.efc_margin = q->margin, q->p.efc_vel = q->vel, q->p.efc_solref = q->solref, q->p.efc_solimp = q->solimp;
  q->p.efc_diagA = q->diagA, q->p.contact_dim = q->dim, q->p.contact_friction = q->friction;
}

/* append a row with the parameters of the base case; J is the unit vector of `axis`; returns its number */
static inline int add_row(row_problem *q, int type, int axis, double pos, double margin, double vel) {
  static const double solimp[] = {0.9, 0.95, 0.02, 0.5, 2};
  int r = q->p.nefc++;
  cr_assert_lt(r, MOST);
  q->type[r] = type, q->pos[r] = pos, q->margin[r] = margin, q->vel[r] = vel, q->diagA[r] = 0.5;
  q->solref[2 * r] = 0.02, q->solref[2 * r + 1] = 1;
  memcpy(q->solimp + 5 * r, solimp, sizeof solimp);
  q->J[r * NV + axis] = 1;
  return r;
}

/* append the ball's contact: 0.01 m deep, margin 0.02, sinking by 0.1 and sliding by 0.3 m/s; spin and rolls are not there */
static inline int add_contact(row_problem *q, int type, int dim, const double *friction) {
  int first = q->p.nefc, c = q->p.ncon++, pyramid = type == SC_CONTACT_PYRAMIDAL;
  q->dim[c] = dim;
  memcpy(q->friction + 5 * c, friction, 5 * sizeof *friction);
  for (int k = 0; k < (pyramid ? 2 * (dim - 1) : dim); k++) {
    int along = pyramid ? k / 2 : k - 1; /* of the five coefficients */
    double mu = along < 0 ? 0 : fmax(1e-5, friction[along]) * (k % 2 ? -1 : 1);
    int r = add_row(q, type, 2, pyramid || k == 0 ? -0.01 : 0, pyramid || k == 0 ? 0.02 : 0, k == 0 || pyramid ? -0.1 : 0.3);
    if (pyramid && along < 2) q->vel[r] += mu * 0.3, q->J[r * NV + along] = mu;
    if (!pyramid && k > 0) q->J[r * NV + 2] = 0;
    if (!pyramid && (k == 1 || k == 2)) q->J[r * NV + k - 1] = 1;
    q->diagA[r] = pyramid ? 0.5 + mu * mu * (along < 2 ? 0.5 : 0) : k < 3 ? 0.5 : 0;
  }
  return first;
}

/* what the batch makes of the problem in its environment 0 */
static inline void evaluate(const test_run *t, const row_problem *q, sc_problem *p, sc_rows *rows) {
  CALL(sc_batch_set(t->batch, 0, &q->p));
  CALL(sc_batch_get(t->batch, 0, p, rows));
  cr_assert(p->nefc == q->p.nefc && rows->K && rows->diagA && !rows->bad);
}

#endif
