/* Rows of scalars: polynomial equalities, dry friction, limits. */
#include "assemble.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
#define TINY 1e-15 /* mjMINVAL */

void sc_equality_init(sc_equality *e) {
  ASSEMBLY_INIT(e);
  e->id = -1;
  e->polycoef[1] = 1;
}

void sc_friction_init(sc_friction *f) {
  ASSEMBLY_INIT(f);
  f->id = -1;
}

void sc_limit_init(sc_limit *l) {
  ASSEMBLY_INIT(l);
  l->id = -1;
  l->range[0] = -INFINITY, l->range[1] = INFINITY;
}

void sc_ball_limit_init(sc_ball_limit *l) {
  ASSEMBLY_INIT(l);
  l->id = -1;
  l->quat[0] = 1;
  l->range[1] = INFINITY;
}

static int check_row(const sc_assembly *a, const char *call, int id, const char *field, const sc_sparse_row *row) {
  int code = sc_assembly_dofs(a, call, id, field, row->n, row->dof);
  if (!code && row->n && !row->value)
    code = sc_error_set(SC_ERROR_ARGUMENT, "%s: id %d: %s.value is NULL", call, id, field);
  return code;
}

/* ------------------------------------------------------------------ one row */

/* row r of the open block: s1 J1 + s2 J2, with its velocity; J2 may be NULL */
static void write_row(sc_assembly *a, int r, const sc_sparse_row *J1, double s1, const sc_sparse_row *J2, double s2) {
  int at = assembly_row(a, r), end = at, n2 = J2 ? J2->n : 0;
  double vel = 0;
  for (int i = 0, j = 0; i < J1->n || j < n2; end++) {
    int first = i < J1->n && (j >= n2 || J1->dof[i] <= J2->dof[j]);
    int second = j < n2 && (i >= J1->n || J2->dof[j] <= J1->dof[i]);
    int dof = first ? J1->dof[i] : J2->dof[j];
    double value = 0;
    if (first) value += s1 * J1->value[i++];
    if (second) value += s2 * J2->value[j++];
    a->J[end] = value;
    a->J_colind[end] = dof;
    if (a->o.qvel) vel += value * a->o.qvel[dof];
  }
  a->J_rownnz[a->nefc + r] = end - at;
  a->vel[a->nefc + r] = vel;
}

/* ------------------------------------------------------------------ equality */

/* polynomial of degree 4 and its derivative */
static double polynomial(const double *c, double x, double *slope) {
  *slope = c[1] + x * (2 * c[2] + x * (3 * c[3] + x * 4 * c[4]));
  return c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])));
}

int sc_assembly_equality(sc_assembly *a, const sc_equality *e) {
  static const char call[] = "sc_assembly_equality";
  int code = sc_assembly_ready(call, a, e, e ? e->size : 0, sizeof *e);
  if (code) return code;
  int id = assembly_id(a, GROUP_EQUALITY, e->id);
  const assembly_field fields[] = {{"x1", &e->x1, 1, ANY_FINITE},
                                   {"polycoef", e->polycoef, 5, ANY_FINITE},
                                   {"invweight", &e->invweight, 1, AT_LEAST_0},
                                   ASSEMBLY_PARAMETERS(e),
                                   {"x2", &e->x2, 1, ANY_FINITE}};
  code = sc_assembly_numbers(call, id, fields, COUNT(fields) - !e->coupled);
  if (!code) code = check_row(a, call, id, "J1", &e->J1);
  if (!code && e->coupled) code = check_row(a, call, id, "J2", &e->J2);
  if (code) return code;
  int n = e->J1.n + (e->coupled ? e->J2.n : 0);
  const assembly_new b = {call, GROUP_EQUALITY, SC_EQUALITY, id, 1, n, e->solref, e->solimp};
  if ((code = sc_assembly_open(a, &b))) return code;
  double slope = 0, value = e->coupled ? polynomial(e->polycoef, e->x2, &slope) : e->polycoef[0];
  write_row(a, 0, &e->J1, 1, e->coupled ? &e->J2 : NULL, -slope);
  a->pos[a->nefc] = e->x1 - value;
  a->diagA[a->nefc] = e->invweight;
  sc_assembly_close(a, &b, -1);
  return SC_OK;
}

/* ------------------------------------------------------------------ dry friction */

static int check_friction(const sc_assembly *a, const char *call, int id, const sc_friction *f) {
  const size_t begin = offsetof(sc_friction, frictionloss), n = (sizeof *f - begin) / sizeof(double);
  if (!assembly_finite((const char *)f + begin, n) || f->frictionloss < 0 || f->invweight < 0 || f->solimp[2] < 0) {
    const assembly_field fields[] = {{"frictionloss", &f->frictionloss, 1, AT_LEAST_0},
                                     {"invweight", &f->invweight, 1, AT_LEAST_0},
                                     ASSEMBLY_PARAMETERS(f)};
    return sc_assembly_numbers(call, id, fields, COUNT(fields));
  }
  return check_row(a, call, id, "J", &f->J);
}

int sc_assembly_friction(sc_assembly *a, const sc_friction *f) {
  static const char call[] = "sc_assembly_friction";
  int code = sc_assembly_ready(call, a, f, f ? f->size : 0, sizeof *f);
  if (code) return code;
  assembly_group group = f->tendon ? GROUP_FRICTION_TENDON : GROUP_FRICTION_DOF;
  int id = assembly_id(a, group, f->id);
  code = check_friction(a, call, id, f);
  if (code || f->frictionloss == 0) return code;
  int type = f->tendon ? SC_FRICTION_TENDON : SC_FRICTION_DOF;
  const assembly_new b = {call, group, type, id, 1, f->J.n, f->solref, f->solimp};
  if ((code = sc_assembly_open(a, &b))) return code;
  write_row(a, 0, &f->J, 1, NULL, 0);
  a->frictionloss[a->nefc] = f->frictionloss;
  a->diagA[a->nefc] = f->invweight;
  sc_assembly_close(a, &b, -1);
  return SC_OK;
}

/* ------------------------------------------------------------------ limits */

/* a row at this distance, unless that is beyond the margin */
static int limit_row(sc_assembly *a, const assembly_new *b, const sc_sparse_row *J, double sign, double dist,
                     double margin, double invweight) {
  if (!(dist < margin)) return SC_OK;
  int code = sc_assembly_open(a, b);
  if (code) return code;
  write_row(a, 0, J, sign, NULL, 0);
  a->pos[a->nefc] = dist;
  a->margin[a->nefc] = margin;
  a->diagA[a->nefc] = invweight;
  sc_assembly_close(a, b, -1);
  return SC_OK;
}

static int check_limit(const sc_assembly *a, const char *call, int id, const sc_limit *l) {
  const size_t begin = offsetof(sc_limit, margin), n = (sizeof *l - begin) / sizeof(double);
  if (!assembly_finite((const char *)l + begin, n) || !isfinite(l->x) || isnan(l->range[0]) || isnan(l->range[1]) ||
      l->invweight < 0 || l->solimp[2] < 0) {
    const assembly_field fields[] = {{"x", &l->x, 1, ANY_FINITE},
                                     {"range", l->range, 2, NOT_NAN},
                                     {"margin", &l->margin, 1, ANY_FINITE},
                                     {"invweight", &l->invweight, 1, AT_LEAST_0},
                                     ASSEMBLY_PARAMETERS(l)};
    return sc_assembly_numbers(call, id, fields, COUNT(fields));
  }
  return check_row(a, call, id, "J", &l->J);
}

int sc_assembly_limit(sc_assembly *a, const sc_limit *l) {
  static const char call[] = "sc_assembly_limit";
  int code = sc_assembly_ready(call, a, l, l ? l->size : 0, sizeof *l);
  if (code) return code;
  assembly_group group = l->tendon ? GROUP_LIMIT_TENDON : GROUP_LIMIT_JOINT;
  int id = assembly_id(a, group, l->id);
  if ((code = check_limit(a, call, id, l))) return code;
  int type = l->tendon ? SC_LIMIT_TENDON : SC_LIMIT_JOINT;
  const assembly_new b = {call, group, type, id, 1, l->J.n, l->solref, l->solimp};
  code = limit_row(a, &b, &l->J, 1, l->x - l->range[0], l->margin, l->invweight);
  if (!code) code = limit_row(a, &b, &l->J, -1, l->range[1] - l->x, l->margin, l->invweight);
  return code;
}

/* rotation angle of a quaternion in 0 .. pi, and the axis that goes with it */
static double ball_angle(const double *quat, double *axis) {
  double q[4] = {1, 0, 0, 0},
         norm = sqrt(quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3]);
  for (int i = 0; i < 4 && norm >= TINY; i++) q[i] = quat[i] / norm;
  double sine = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), angle = 2 * atan2(sine, q[0]);
  if (angle > PI) angle -= 2 * PI;
  int free = sine < TINY || fabs(angle) < TINY; /* no axis: the first one by convention */
  for (int i = 0; i < 3; i++) axis[i] = free ? i == 0 : (angle < 0 ? -q[1 + i] : q[1 + i]) / sine;
  return fabs(angle);
}

int sc_assembly_ball_limit(sc_assembly *a, const sc_ball_limit *l) {
  static const char call[] = "sc_assembly_ball_limit";
  int code = sc_assembly_ready(call, a, l, l ? l->size : 0, sizeof *l);
  if (code) return code;
  int id = assembly_id(a, GROUP_LIMIT_JOINT, l->id);
  const assembly_field fields[] = {{"quat", l->quat, 4, ANY_FINITE},
                                   {"range", l->range, 2, NOT_NAN},
                                   {"margin", &l->margin, 1, ANY_FINITE},
                                   {"invweight", &l->invweight, 1, AT_LEAST_0},
                                   ASSEMBLY_PARAMETERS(l)};
  code = sc_assembly_numbers(call, id, fields, COUNT(fields));
  if (code) return code;
  if (l->dof < 0 || l->dof > a->o.nv - 3)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: id %d: dof is %d, not in 0 .. nv-3 = %d", call, id, l->dof,
                        a->o.nv - 3);
  double axis[3], dist = fmax(l->range[0], l->range[1]) - ball_angle(l->quat, axis);
  const int dof[3] = {l->dof, l->dof + 1, l->dof + 2};
  const sc_sparse_row J = {3, dof, axis};
  const assembly_new b = {call, GROUP_LIMIT_JOINT, SC_LIMIT_JOINT, id, 1, 3, l->solref, l->solimp};
  return limit_row(a, &b, &J, -1, dist, l->margin, l->invweight);
}
