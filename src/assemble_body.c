/* Rows of two bodies: connect, weld, contact. */
#include "../kernels/law.h"
#include "assemble.h"

#include <math.h>
#include <string.h>

void sc_body_init(sc_body *b) {
  memset(b, 0, sizeof *b);
  b->size = sizeof *b;
}

void sc_connect_init(sc_connect *c) {
  ASSEMBLY_INIT(c);
  c->id = -1;
}

void sc_weld_init(sc_weld *w) {
  ASSEMBLY_INIT(w);
  w->id = -1;
  w->quat[0][0] = w->quat[1][0] = w->torquescale = 1;
}

void sc_contact_init(sc_contact *c) {
  ASSEMBLY_INIT(c);
  c->id = -1;
  c->dim = 3;
  c->frame[0] = c->frame[4] = c->frame[8] = 1;
  c->friction[0] = c->friction[1] = 1;
  c->friction[2] = 0.005;
  c->friction[3] = c->friction[4] = 0.0001;
}

/* ------------------------------------------------------------------ vectors, quaternions */

static inline double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline void cross(const double *a, const double *b, double *out) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

/* a b, w first */
static void quat_mul(const double *a, const double *b, double *out) {
  double v[3];
  cross(a + 1, b + 1, v);
  out[0] = a[0] * b[0] - dot(a + 1, b + 1);
  for (int i = 0; i < 3; i++) out[1 + i] = a[0] * b[1 + i] + b[0] * a[1 + i] + v[i];
}

/* s Im(left v right), v a vector, added to out */
static void add_sandwich(double s, const double *left, const double *v, const double *right, double *out) {
  double pure[4] = {0, v[0], v[1], v[2]}, t[4], u[4];
  quat_mul(left, pure, t);
  quat_mul(t, right, u);
  for (int i = 0; i < 3; i++) out[i] += s * u[1 + i];
}

/* ------------------------------------------------------------------ a body at a point */

/* a body's Jacobian, ready to be read at a point; n = 0 for the static world */
typedef struct {
  const sc_body *body;
  int n;
  const int *dof;
  size_t row, step; /* strides */
  double r[3];      /* from the body's own point to the point at hand */
} body_view;

static int check_body(const sc_assembly *a, const char *call, int id, int side, const sc_body *b) {
  static const char *const names[] = {"body[0]", "body[1]"};
  if (!b) return SC_OK;
  const char *name = names[side];
  if (b->size != sizeof *b)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: id %d: %s.size is %zu, not %zu: use sc_body_init", call, id, name,
                        b->size, sizeof *b);
  const size_t begin = offsetof(sc_body, point), end = offsetof(sc_body, invweight) + sizeof b->invweight;
  int code = SC_OK;
  if (!assembly_finite((const char *)b + begin, (end - begin) / sizeof(double)) || b->invweight[0] < 0 ||
      b->invweight[1] < 0) {
    const assembly_field fields[] = {{side ? "body[1].invweight" : "body[0].invweight", b->invweight, 2, AT_LEAST_0},
                                     {side ? "body[1].point" : "body[0].point", b->point, 3, ANY_FINITE},
                                     {side ? "body[1].bias" : "body[0].bias", b->bias, 6, ANY_FINITE}};
    code = sc_assembly_numbers(call, id, fields, COUNT(fields));
  }
  if (!code) code = sc_assembly_dofs(a, call, id, name, b->n, b->dof);
  if (code || !b->n) return code;
  if (!b->Jr || !b->Jp)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: id %d: %s.%s is NULL", call, id, name, b->Jr ? "Jp" : "Jr");
  if (b->row_stride < 0 || b->dof_stride < 0)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: id %d: %s.%s is %d, not >= 0", call, id, name,
                        b->row_stride < 0 ? "row_stride" : "dof_stride",
                        b->row_stride < 0 ? b->row_stride : b->dof_stride);
  return SC_OK;
}

static inline body_view view(const sc_body *b, const double *point) {
  body_view v = {.body = b};
  if (!b) return v;
  v.n = b->n, v.dof = b->dof;
  v.row = (size_t)(b->row_stride ? b->row_stride : b->n);
  v.step = (size_t)(b->dof_stride ? b->dof_stride : 1);
  for (int i = 0; i < 3; i++) v.r[i] = point[i] - b->point[i];
  return v;
}

/* one dof's part in the velocity of the point, m[0..2], and in the rotation, m[3..5] */
static inline void motion(const body_view *v, int k, double *m) {
  const sc_body *b = v->body;
  size_t at = (size_t)(b->by_dof ? v->dof[k] : k) * v->step;
  const double *Jr = b->Jr + at, *Jp = b->Jp + at;
  m[3] = Jr[0], m[4] = Jr[v->row], m[5] = Jr[2 * v->row];
  cross(m + 3, v->r, m);
  m[0] += Jp[0], m[1] += Jp[v->row], m[2] += Jp[2 * v->row];
}

/* do the bodies read their columns from one table, seen from one point? */
static int one_table(const sc_body *a, const sc_body *b) {
  return a && b && a->by_dof && b->by_dof && a->Jr == b->Jr && a->Jp == b->Jp && a->row_stride == b->row_stride &&
         a->dof_stride == b->dof_stride && !memcmp(a->point, b->point, sizeof a->point);
}

/* Relative motion, first minus second, over the dofs of either: in a->col, a->qvel, and a->rel, whose row of part i
 * begins at i nv. skip: leave out the dofs of both, whose parts are equal. Returns the number of dofs. */
static int relative(sc_assembly *a, const body_view *first, const body_view *second, int skip) {
  size_t n = 0, nv = (size_t)a->o.nv;
  for (int i = 0, j = 0; i < first->n || j < second->n;) {
    int in1 = i < first->n && (j >= second->n || first->dof[i] <= second->dof[j]);
    int in2 = j < second->n && (i >= first->n || second->dof[j] <= first->dof[i]);
    int dof = in1 ? first->dof[i] : second->dof[j];
    double m[6] = {0}, *out = a->rel + n;
    if (in1 && in2 && skip) {
      i++, j++;
      continue;
    }
    if (in2) {
      motion(second, j++, m);
      for (size_t k = 0; k < 6; k++) out[k * nv] = -m[k];
    }
    if (in1) {
      motion(first, i++, m);
      for (size_t k = 0; k < 6; k++) out[k * nv] = in2 ? out[k * nv] + m[k] : m[k];
    }
    a->qvel[n] = a->o.qvel ? a->o.qvel[dof] : 0;
    a->col[n++] = dof;
  }
  return (int)n;
}

/* part i of n motions along the dofs' velocities */
static double velocity(const sc_assembly *a, const double *row, int n) {
  double v = 0;
  for (int k = 0; k < n; k++) v += row[k] * a->qvel[k];
  return v;
}

/* the columns of n entries from `at` on, as many as a->col has; short enough not to be worth a call */
static inline void write_columns(sc_assembly *a, int at, int n) {
  for (int k = 0; k < n; k++) a->J_colind[at + k] = a->col[k];
}

/* row r of the open block: n numbers over a->col */
static void write_part(sc_assembly *a, int r, int n, const double *row) {
  int at = assembly_row(a, r);
  for (int k = 0; k < n; k++) a->J[at + k] = row[k];
  write_columns(a, at, n);
  a->J_rownnz[a->nefc + r] = n;
  a->vel[a->nefc + r] = velocity(a, row, n);
}

/* the same without the entries that are 0 */
static void write_nonzero(sc_assembly *a, int r, int n, const double *row) {
  int at = assembly_row(a, r), end = at;
  for (int k = 0; k < n; k++)
    if (row[k] != 0) a->J[end] = row[k], a->J_colind[end++] = a->col[k];
  a->J_rownnz[a->nefc + r] = end - at;
  a->vel[a->nefc + r] = velocity(a, row, n);
}

/* ------------------------------------------------------------------ connect, weld */

/* where a body is held: its point, and how that moves by itself */
typedef struct {
  body_view view;
  const double *point;
  double omega[3]; /* angular velocity of the body */
  double acc[3];   /* acceleration of the point at qacc = 0: bias + alpha x r + omega x (omega x r) */
  double alpha[3]; /* angular acceleration of the body then */
} anchor;

static anchor make_anchor(const sc_assembly *a, const sc_body *body, const double *point) {
  anchor x = {.view = view(body, point), .point = point};
  if (!x.view.n) return x;
  for (int k = 0; k < x.view.n && a->o.qvel; k++) {
    double m[6], qvel = a->o.qvel[x.view.dof[k]];
    motion(&x.view, k, m);
    for (int i = 0; i < 3; i++) x.omega[i] += m[3 + i] * qvel;
  }
  double t[3], u[3], w[3];
  memcpy(x.alpha, body->bias, sizeof x.alpha);
  cross(x.alpha, x.view.r, t);
  cross(x.omega, x.view.r, u);
  cross(x.omega, u, w);
  for (int i = 0; i < 3; i++) x.acc[i] = body->bias[3 + i] + t[i] + w[i];
  return x;
}

/* rows 0 .. 2 of connect and weld, from the relative motions */
static void anchor_rows(sc_assembly *a, const anchor *first, const anchor *second, int n) {
  for (int r = 0; r < 3; r++) {
    int i = a->nefc + r;
    write_part(a, r, n, a->rel + (size_t)(r * a->o.nv));
    a->pos[i] = first->point[r] - second->point[r];
    a->curvature[i] = first->acc[r] - second->acc[r];
  }
  a->curvature_given = 1;
}

/* sums of the bodies' weights in the rows' inverse inertia: three for translation, three for rotation */
static void weights(sc_assembly *a, int rows, const sc_body *const body[2]) {
  for (int r = 0; r < rows; r++)
    for (int k = 0; k < 2; k++) a->diagA[a->nefc + r] += body[k] ? body[k]->invweight[r / 3] : 0;
}

int sc_assembly_connect(sc_assembly *a, const sc_connect *c) {
  static const char call[] = "sc_assembly_connect";
  int code = sc_assembly_ready(call, a, c, c ? c->size : 0, sizeof *c);
  if (code) return code;
  int id = assembly_id(a, GROUP_EQUALITY, c->id);
  const assembly_field fields[] = {
      {"point[0]", c->point[0], 3, ANY_FINITE}, {"point[1]", c->point[1], 3, ANY_FINITE}, ASSEMBLY_PARAMETERS(c)};
  code = sc_assembly_numbers(call, id, fields, COUNT(fields));
  for (int k = 0; k < 2 && !code; k++) code = check_body(a, call, id, k, c->body[k]);
  if (code) return code;
  const anchor first = make_anchor(a, c->body[0], c->point[0]), second = make_anchor(a, c->body[1], c->point[1]);
  int n = relative(a, &first.view, &second.view, 0);
  const assembly_new b = {call, GROUP_EQUALITY, SC_EQUALITY, id, 3, 3 * n, c->solref, c->solimp};
  if ((code = sc_assembly_open(a, &b))) return code;
  anchor_rows(a, &first, &second, n);
  weights(a, 3, c->body);
  sc_assembly_close(a, &b, -1);
  return SC_OK;
}

/* the rotational curvature of a weld (4): s/2 Im[X Omega Q1 + Q2* alpha Q1 + Q2* Omega Y] with Y = 1/2 omega1 Q1 and
 * X = -1/2 Q2* omega2 */
static void weld_curvature(const double *Q1, const double *conj2, double half, const anchor *first,
                           const anchor *second, double *out) {
  double Omega[3], alpha[3], X[4], Y[4];
  double p1[4] = {0, first->omega[0], first->omega[1], first->omega[2]};
  double p2[4] = {0, second->omega[0], second->omega[1], second->omega[2]};
  for (int i = 0; i < 3; i++) {
    Omega[i] = first->omega[i] - second->omega[i];
    alpha[i] = first->alpha[i] - second->alpha[i];
    out[i] = 0;
  }
  quat_mul(p1, Q1, Y);
  quat_mul(conj2, p2, X);
  for (int i = 0; i < 4; i++) Y[i] *= 0.5, X[i] *= -0.5;
  add_sandwich(half, X, Omega, Q1, out);
  add_sandwich(half, conj2, alpha, Q1, out);
  add_sandwich(half, conj2, Omega, Y, out);
}

/* rows 3 .. 5 of a weld: residual s Im(Q2* Q1), Jacobian s/2 Im(Q2* w Q1) of each dof's rotation w */
static void rotation_rows(sc_assembly *a, const sc_weld *w, const anchor *first, const anchor *second, int n) {
  const double *Q1 = w->quat[0], *Q2 = w->quat[1], half = 0.5 * w->torquescale;
  double conj2[4] = {Q2[0], -Q2[1], -Q2[2], -Q2[3]}, q[4], curvature[3], map[3][3] = {{0}};
  for (int i = 0; i < 3; i++) {
    double axis[3] = {i == 0, i == 1, i == 2};
    add_sandwich(half, conj2, axis, Q1, map[i]);
  }
  size_t nv = (size_t)a->o.nv;
  for (int k = 0; k < n; k++) {
    double *w3 = a->rel + 3 * nv + k, v[3] = {w3[0], w3[nv], w3[2 * nv]};
    for (size_t i = 0; i < 3; i++) w3[i * nv] = map[0][i] * v[0] + map[1][i] * v[1] + map[2][i] * v[2];
  }
  quat_mul(conj2, Q1, q);
  weld_curvature(Q1, conj2, half, first, second, curvature);
  for (int r = 3; r < 6; r++) {
    write_nonzero(a, r, n, a->rel + (size_t)r * nv);
    a->pos[a->nefc + r] = w->torquescale * q[r - 2];
    a->curvature[a->nefc + r] = curvature[r - 3];
  }
}

int sc_assembly_weld(sc_assembly *a, const sc_weld *w) {
  static const char call[] = "sc_assembly_weld";
  int code = sc_assembly_ready(call, a, w, w ? w->size : 0, sizeof *w);
  if (code) return code;
  int id = assembly_id(a, GROUP_EQUALITY, w->id);
  const assembly_field fields[] = {
      {"point[0]", w->point[0], 3, ANY_FINITE},        {"point[1]", w->point[1], 3, ANY_FINITE},
      {"quat[0]", w->quat[0], 4, ANY_FINITE},          {"quat[1]", w->quat[1], 4, ANY_FINITE},
      {"torquescale", &w->torquescale, 1, ANY_FINITE}, ASSEMBLY_PARAMETERS(w)};
  code = sc_assembly_numbers(call, id, fields, COUNT(fields));
  for (int k = 0; k < 2 && !code; k++) code = check_body(a, call, id, k, w->body[k]);
  if (code) return code;
  const anchor first = make_anchor(a, w->body[0], w->point[0]), second = make_anchor(a, w->body[1], w->point[1]);
  int n = relative(a, &first.view, &second.view, 0);
  const assembly_new b = {call, GROUP_EQUALITY, SC_EQUALITY, id, 6, 6 * n, w->solref, w->solimp};
  if ((code = sc_assembly_open(a, &b))) return code;
  anchor_rows(a, &first, &second, n);
  rotation_rows(a, w, &first, &second, n);
  weights(a, 6, w->body);
  sc_assembly_close(a, &b, -1);
  return SC_OK;
}

/* ------------------------------------------------------------------ contact */

/* the number out of bounds */
static int name_number(const char *call, int id, const sc_contact *c) {
  const assembly_field fields[] = {{"pos", c->pos, 3, ANY_FINITE},
                                   {"frame", c->frame, 9, ANY_FINITE},
                                   {"dist", &c->dist, 1, ANY_FINITE},
                                   {"margin", &c->margin, 1, ANY_FINITE},
                                   {"gap", &c->gap, 1, ANY_FINITE},
                                   {"friction", c->friction, 5, AT_LEAST_0},
                                   {"solreffriction", c->solreffriction, 2, ANY_FINITE},
                                   {"surfacevel", c->surfacevel, 3, ANY_FINITE},
                                   {"adhesion", &c->adhesion, 1, ANY_FINITE},
                                   ASSEMBLY_PARAMETERS(c)};
  return sc_assembly_numbers(call, id, fields, COUNT(fields));
}

static int check_contact(const sc_assembly *a, const char *call, int id, const sc_contact *c) {
  if (c->dim != 1 && c->dim != 3 && c->dim != 4 && c->dim != 6)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: id %d: dim is %d, not 1, 3, 4 or 6", call, id, c->dim);
  const size_t begin = offsetof(sc_contact, pos), end = offsetof(sc_contact, adhesion) + sizeof c->adhesion;
  int valid = assembly_finite((const char *)c + begin, (end - begin) / sizeof(double)) && c->solimp[2] >= 0;
  for (int i = 0; i < 5; i++) valid &= c->friction[i] >= 0;
  for (int k = 0; k < 2; k++) {
    int code = check_body(a, call, id, k, c->body[k]);
    if (code) return code;
  }
  return valid ? SC_OK : name_number(call, id, c);
}

/* the relative motions along axis r of the contact frame: normal, tangents, spin, rolls */
static inline void along_axis(const sc_assembly *a, int n, const double *frame, int r, double *out) {
  const size_t nv = (size_t)a->o.nv;
  const double *f = frame + 3 * (r % 3), *x = a->rel + (size_t)(r / 3 * 3) * nv, *y = x + nv, *z = y + nv;
  for (int k = 0; k < n; k++) out[k] = f[0] * x[k] + f[1] * y[k] + f[2] * z[k];
}

/* dim rows, or 1 of a frictionless contact */
static void direct_rows(sc_assembly *a, const sc_contact *c, int n, int dim, const double *surface) {
  for (int r = 0; r < dim; r++) {
    int i = a->nefc + r, at = a->nJ + r * n;
    double *J = a->J + at;
    along_axis(a, n, c->frame, r, J);
    write_columns(a, at, n);
    a->J_rowadr[i] = at, a->J_rownnz[i] = n;
    a->vel[i] = velocity(a, J, n) + surface[r];
  }
  a->pos[a->nefc] = c->dist;
  a->margin[a->nefc] = c->margin;
  a->adhesion[a->nefc] = c->adhesion;
}

/* edges normal + friction_k direction_k, normal - friction_k direction_k for k = 1 .. dim-1 */
static void pyramid_rows(sc_assembly *a, const sc_contact *c, int n, const double *friction, const double *surface) {
  int rows = 2 * (c->dim - 1);
  double *normal = a->dir, *tangent = a->dir + a->o.nv, slide = 0;
  along_axis(a, n, c->frame, 0, normal);
  const double along = velocity(a, normal, n);
  for (int r = 0; r < rows; r++) {
    int k = r / 2 + 1, at = a->nJ + r * n, i = a->nefc + r;
    double mu = r % 2 ? -friction[k - 1] : friction[k - 1], *J = a->J + at;
    if (r % 2 == 0) {
      along_axis(a, n, c->frame, k, tangent);
      slide = velocity(a, tangent, n) + surface[k];
    }
    for (int j = 0; j < n; j++) J[j] = normal[j] + mu * tangent[j];
    write_columns(a, at, n);
    a->J_rowadr[i] = at;
    a->J_rownnz[i] = n;
    a->vel[i] = along + mu * slide;
    a->pos[i] = c->dist;
    a->margin[i] = c->margin;
    a->adhesion[i] = c->adhesion / rows;
  }
}

/* inverse inertia of the rows: translational for the first three directions, rotational for the others (6.1) */
static void contact_weights(sc_assembly *a, const sc_contact *c, const assembly_new *b, const double *friction) {
  double weight[2] = {0, 0};
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < 2 && c->body[k]; i++) weight[i] += c->body[k]->invweight[i];
  for (int r = 0; r < b->rows; r++) {
    double *out = &a->diagA[a->nefc + r];
    int k = r / 2; /* of the edge's friction */
    if (b->type != SC_CONTACT_PYRAMIDAL)
      *out = weight[r > 2];
    else
      *out = weight[0] + friction[k] * friction[k] * weight[k > 1];
  }
}

static int add_contact(sc_assembly *a, const sc_contact *c, const char *call, int id, int dim) {
  const body_view first = view(c->body[1], c->pos), second = view(c->body[0], c->pos);
  int pyramid = dim > 1 && !a->o.cone, index = dim > 1 ? a->ncon : -1;
  int type = dim == 1 ? SC_CONTACT_FRICTIONLESS : pyramid ? SC_CONTACT_PYRAMIDAL : SC_CONTACT_ELLIPTIC;
  int n = relative(a, &first, &second, one_table(c->body[0], c->body[1])), rows = pyramid ? 2 * (dim - 1) : dim;
  const assembly_new b = {call, GROUP_CONTACT, type, id, rows, rows * n, c->solref, c->solimp};
  int code = sc_assembly_open(a, &b);
  if (!code && dim > 1) code = sc_assembly_open_contact(a, call);
  if (code) return code;
  double friction[5], surface[6] = {0, c->surfacevel[0], c->surfacevel[1], c->surfacevel[2], 0, 0};
  for (int i = 0; i < 5; i++) friction[i] = c->friction[i] < LAW_MINMU ? LAW_MINMU : c->friction[i];
  if (pyramid)
    pyramid_rows(a, c, n, friction, surface);
  else
    direct_rows(a, c, n, dim, surface);
  contact_weights(a, c, &b, friction);
  a->adhesion_given |= c->adhesion != 0;
  sc_assembly_close(a, &b, index);
  if (dim == 1) return SC_OK;
  a->ncon++;
  a->dim[index] = dim;
  memcpy(a->friction + 5 * (size_t)index, friction, sizeof friction);
  memcpy(a->solreffriction + 2 * (size_t)index, c->solreffriction, sizeof c->solreffriction);
  a->solreffriction_given |= c->solreffriction[0] != 0 || c->solreffriction[1] != 0;
  return SC_OK;
}

int sc_assembly_contact(sc_assembly *a, const sc_contact *c, int *exclude) {
  static const char call[] = "sc_assembly_contact";
  int code = sc_assembly_ready(call, a, c, c ? c->size : 0, sizeof *c), reason = SC_INCLUDED;
  if (code) return code;
  int id = assembly_id(a, GROUP_CONTACT, c->id), far = !c->always && c->dist >= c->margin;
  if ((code = check_contact(a, call, id, c))) return code;
  int sticks = c->adhesion != 0 && c->dist <= c->margin + c->gap;
  if (far && !sticks)
    reason = SC_IN_GAP;
  else if (!(c->body[0] && c->body[0]->n) && !(c->body[1] && c->body[1]->n))
    reason = SC_NO_DOFS;
  else
    code = add_contact(a, c, call, id, far ? 1 : c->dim);
  if (exclude && !code) *exclude = reason;
  return code;
}
