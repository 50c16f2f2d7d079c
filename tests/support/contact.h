/* One elliptic contact by itself, of any mass, and environments that are compared bit by bit. */
#ifndef TEST_CONTACT_H
#define TEST_CONTACT_H

#include "solve.h"

/* A body of mass m with as many dofs as its contact has rows, J the identity; rows pushed by b = a_smooth - aref. */
typedef struct {
  sc_problem p;
  double M[36], J[36], s[6], aref[6], D[6], friction[5], mu;
  int type[6], dim;
} contact_alone;

static inline void make_contact_alone(contact_alone *c, int dim, double mass, const double *b) {
  static const double friction[5] = {0.8, 0.6, 0.05, 0.01, 0.02};
  memset(c, 0, sizeof *c);
  sc_problem_init(&c->p);
  c->dim = dim, c->mu = 0.8;
  memcpy(c->friction, friction, sizeof friction);
  for (int i = 0; i < dim; i++) {
    double share = i ? friction[i - 1] / c->mu : 1;
    c->M[i * dim + i] = mass * (i < 3 ? 1 : 0.004), c->J[i * dim + i] = 1, c->type[i] = SC_CONTACT_ELLIPTIC;
    c->s[i] = b[i], c->D[i] = 20 * mass * share * share;
  }
  c->p.nv = c->p.nefc = dim, c->p.ncon = 1;
  c->p.M = c->M, c->p.efc_J = c->J, c->p.qacc_smooth = c->s, c->p.efc_aref = c->aref, c->p.efc_D = c->D, c->p.efc_type = c->type;
  c->p.contact_dim = &c->dim, c->p.contact_friction = c->friction, c->p.contact_mu = &c->mu;
}

/* qacc, forces, states, verdict, flags and iterations of an environment of a and of one of b */
static inline int same_bits(const test_run *a, int e, const test_run *b, int f) {
  size_t n = a->r.nv_offset[e + 1] - a->r.nv_offset[e], m = a->r.efc_offset[e + 1] - a->r.efc_offset[e];
  return !memcmp(run_qacc(a, e), run_qacc(b, f), n * sizeof(double)) && !memcmp(run_force(a, e), run_force(b, f), m * sizeof(double)) &&
         (!m || !memcmp(a->r.efc_state + a->r.efc_offset[e], b->r.efc_state + b->r.efc_offset[f], m)) && a->r.status[e] == b->r.status[f] &&
         a->r.flags[e] == b->r.flags[f] && a->r.iterations[e] == b->r.iterations[f];
}

#endif
