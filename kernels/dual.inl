/* The dual problem: minimise 1/2 f'(A + R) f + b'f over the forces that the rows allow, A = J M^-1 J', b = J s - aref.
 *
 * A is never stored. Y = L^-1 J' with M = L L' has the blocks of J and those between them and the root of the kinematic tree,
 * so that memory grows with the rows and not with their square. With z = Y f:
 *   A f = Y' z,   residual e = b + R f + Y' z,   a = s + L^-T z.
 *
 * Tangents of an elliptic contact are turned and scaled once, f_t = C V y with C = diag(c_1 ..) and V the eigenvectors of
 * C A_tt C. Then the cone is |y| <= f_0 and the tangential block of A is diagonal; R stays a multiple of the identity,
 * for R_j c_j^2 is the same for all j. Every array over rows below holds y in the place of f_t.
 *
 * Where things are in the workspace: Y, B; f forces, Jv b, k1 R, k the diagonal of A + R; z, and z1 for another one. */

/* numbers of a contact of dim d in B: the normal's (A + R)_00, its coupling with each tangent, the tangents' A + R, V */
#define DUAL_COEF(d) ((d) * (d))
#define DUAL_COUPLING(B, j) ((B)[j])                     /* j = 1 .. d-1 */
#define DUAL_TANGENT(B, d, j) ((B)[(d) - 1 + (j)])
#define DUAL_V(B, d, i, j) ((B)[2 * (d) - 1 + ((i) - 1) * ((d) - 1) + (j) - 1])

/* a tangent whose A is below this part of the largest is one without motion */
#define NO_MOTION (256 * (double)SC_EPS)

/* those of the contact of dim d at `row` */
FN real *dual_coef(const sc_pack *p, const sc_work *w, int d, int row) {
  real *B = w->B;
  for (int k = 0, first = p->conerow; k < SC_NDIM; first += p->ncone[k] * SC_DIM(k), k++) {
    if (SC_DIM(k) == d) return B + (row - first) / d * DUAL_COEF(d);
    B += p->ncone[k] * DUAL_COEF(SC_DIM(k));
  }
  return NULL;
}

/* Run `call` for every elliptic contact, one after another; it may use d (a constant) and row. */
#define CONES_IN_TURN(p, call)                                                                                              \
  do {                                                                                                                      \
    int row = (p)->conerow;                                                                                                 \
    CONES_IN_TURN_OF(p, 0, 3, call) CONES_IN_TURN_OF(p, 1, 4, call) CONES_IN_TURN_OF(p, 2, 6, call)                         \
    (void)row;                                                                                                              \
  } while (0)
#define CONES_IN_TURN_OF(p, kind, dim, call)                                                                                \
  for (int c_ = 0; c_ < (p)->ncone[kind]; c_++, row += dim) {                                                               \
    enum { d = dim };                                                                                                       \
    call;                                                                                                                   \
  }

/* ------------------------------------------------------------------ Y */

/* y_r = L^-1 J_r', in place: its blocks are those of J_r and all that the forward substitution reaches from them */
FN void make_row(const sc_pack *p, int r, real *y) {
  const sc_tiles *t = &p->m;
  const real *L = NUM(p, L), *J = NUM(p, J);
  const int32_t *col = p->ycol + p->yadr[r];
  int n = p->yadr[r + 1] - p->yadr[r];
  for (int i = 0, at = p->jadr[r]; i < n; i++) {
    int given = at < p->jadr[r + 1] && p->jcol[at] == col[i];
    for (int c = 0; c < 4; c++) y[4 * i + c] = given ? J[4 * at + c] : splat(0);
    at += given;
  }
  for (int i = 0; i < n; i++) {
    const real *A = L + 16 * t->adr[col[i]];
    real *x = y + 4 * i;
    for (int c = 0; c < 4; c++) {
      for (int q = 0; q < c; q++) x[c] -= A[4 * c + q] * x[q];
      x[c] *= A[5 * c];
    }
    for (int e = t->adr[col[i]] + 1, k = i + 1; e < t->adr[col[i] + 1]; e++, k++) {
      while (col[k] != t->row[e]) k++;
      for (int q = 0; q < 4; q++)
        for (int c = 0; c < 4; c++) y[4 * k + c] -= L[16 * e + 4 * c + q] * x[q];
    }
  }
}

/* y_r . z, taken together */
FN real row_dot(const sc_pack *p, const real *Y, int r, const real *z) {
  real s[4] = {splat(0), splat(0), splat(0), splat(0)};
  const real *y = Y + 4 * p->yadr[r];
  const int32_t *col = p->ycol + p->yadr[r];
  EACH(e, p->yadr[r + 1] - p->yadr[r])
    for (int c = 0; c < 4; c++) s[c] += y[4 * e + c] * z[4 * col[e] + c];
  return total((s[0] + s[1]) + (s[2] + s[3]));
}

/* z += y_r f, together */
FN void row_add(const sc_pack *p, const real *Y, int r, real f, real *z) {
  const real *y = Y + 4 * p->yadr[r];
  const int32_t *col = p->ycol + p->yadr[r];
  EACH(e, p->yadr[r + 1] - p->yadr[r])
    for (int c = 0; c < 4; c++) z[4 * col[e] + c] += y[4 * e + c] * f;
}

/* z = Y f */
PROC void mul_dual(const sc_pack *p, const real *Y, const real *f, real *z) {
  EACH(i, p->nv4) z[i] = splat(0);
  for (int r = 0; r < p->nefc; r++) {
    SYNC;
    row_add(p, Y, r, f[r], z);
  }
  SYNC;
}

/* x = b + Y' z, b NULL: 0; with it the rows' residual J a - aref at a = s + L^-T z */
PROC void dual_residual(const sc_pack *p, const real *Y, const real *b, const real *z, real *x) {
  EACH(r, p->nefc) {
    real s[4] = {splat(0), splat(0), splat(0), splat(0)};
    for (int e = p->yadr[r]; e < p->yadr[r + 1]; e++)
      for (int c = 0; c < 4; c++) s[c] += Y[4 * e + c] * z[4 * p->ycol[e] + c];
    real sum = (s[0] + s[1]) + (s[2] + s[3]);
    x[r] = b ? b[r] + sum : sum;
  }
  SYNC;
}

/* y_r . y_q */
FN real row_product(const sc_pack *p, const real *Y, int r, int q) {
  real s[4] = {splat(0), splat(0), splat(0), splat(0)};
  for (int e = p->yadr[r], o = p->yadr[q]; e < p->yadr[r + 1]; e++) {
    while (o < p->yadr[q + 1] && p->ycol[o] < p->ycol[e]) o++;
    if (o == p->yadr[q + 1]) break;
    if (p->ycol[o] != p->ycol[e]) continue;
    for (int c = 0; c < 4; c++) s[c] += Y[4 * e + c] * Y[4 * o + c];
  }
  return (s[0] + s[1]) + (s[2] + s[3]);
}

/* ------------------------------------------------------------------ contacts */

/* one rotation of Jacobi's method: A_pq becomes 0; lanes where it is nothing beside the diagonal are left alone */
FN mask rotate(int n, int p, int q, real *A, real *V) {
  real apq = A[p * n + q], app = A[p * n + p], aqq = A[q * n + q];
  mask on = lt(splat((double)SC_EPS * (double)SC_EPS) * absolute(app) * absolute(aqq), apq * apq);
  if (!any(on)) return on;
  real theta = (aqq - app) / sel(on, splat(2) * apq, splat(1));
  real t = splat(1) / (absolute(theta) + root(theta * theta + splat(1)));
  t = sel(on, sel(lt(theta, splat(0)), -t, t), splat(0));
  real c = splat(1) / root(t * t + splat(1)), s = t * c;
  for (int i = 0; i < n; i++) {
    real x = A[i * n + p], y = A[i * n + q], u = V[i * n + p], v = V[i * n + q];
    A[i * n + p] = A[p * n + i] = c * x - s * y;
    A[i * n + q] = A[q * n + i] = s * x + c * y;
    V[i * n + p] = c * u - s * v;
    V[i * n + q] = s * u + c * v;
  }
  A[p * n + p] = app - t * apq;
  A[q * n + q] = aqq + t * apq;
  A[p * n + q] = A[q * n + p] = sel(on, splat(0), apq);
  return on;
}

/* eigenvalues of the symmetric A (n x n) on its diagonal, eigenvectors in the columns of V */
FN_SHARED void eigenvectors(int n, real *A, real *V) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) V[i * n + j] = splat(i == j);
  for (int round = 0; round < 12; round++) {
    mask turned = never();
    for (int p = 0; p < n; p++)
      for (int q = p + 1; q < n; q++) turned = either(turned, rotate(n, p, q, A, V));
    if (!any(turned)) break;
  }
}

/* the tangents' rows of Y and b become those of y; B receives the contact's part of A + R */
FN_SHARED void turn_contact(const sc_pack *p, sc_work *w, int d, int row, const real *coef, real *B) {
  enum { MOST = 5 };
  real A[MOST * MOST], V[MOST * MOST], *Y = w->Y, *b = w->Jv, *R = w->k1;
  int k = d - 1, n = 4 * (p->yadr[row + 1] - p->yadr[row]);
  for (int i = 0; i < k; i++)
    for (int j = 0; j <= i; j++)
      A[i * k + j] = A[j * k + i] = CONE_C(coef, i + 1) * CONE_C(coef, j + 1) * row_product(p, Y, row + 1 + i, row + 1 + j);
  eigenvectors(k, A, V);
  for (int e = 0; e <= n; e++) { /* the last one stands for b */
    real old[MOST];
    for (int i = 0; i < k; i++) old[i] = CONE_C(coef, i + 1) * (e < n ? Y[4 * p->yadr[row + 1 + i] + e] : b[row + 1 + i]);
    for (int j = 0; j < k; j++) {
      real s = splat(0);
      for (int i = 0; i < k; i++) s += V[i * k + j] * old[i];
      *(e < n ? &Y[4 * p->yadr[row + 1 + j] + e] : &b[row + 1 + j]) = s;
    }
  }
  real Rt = R[row + 1] * CONE_C(coef, 1) * CONE_C(coef, 1);
  mask there = lt(splat(0), NUM(p, D)[row]);
  B[0] = sel(there, row_product(p, Y, row, row) + R[row], splat(1));
  for (int j = 1; j < d; j++) {
    R[row + j] = Rt;
    DUAL_COUPLING(B, j) = row_product(p, Y, row, row + j);
    DUAL_TANGENT(B, d, j) = sel(there, row_product(p, Y, row + j, row + j) + Rt, splat(1));
    for (int i = 1; i < d; i++) DUAL_V(B, d, i, j) = V[(i - 1) * k + j - 1];
  }
}

/* y = V' C^-1 f_t, and back f_t = C V y; f: the contact's forces */
FN void turn_force(int d, const real *coef, const real *B, real *f) {
  real t[6];
  for (int i = 1; i < d; i++) t[i] = f[i] / CONE_C(coef, i);
  for (int j = 1; j < d; j++) {
    f[j] = splat(0);
    for (int i = 1; i < d; i++) f[j] += DUAL_V(B, d, i, j) * t[i];
  }
}
FN void turn_force_back(int d, const real *coef, const real *B, real *f) {
  real t[6];
  for (int j = 1; j < d; j++) t[j] = f[j];
  for (int i = 1; i < d; i++) {
    f[i] = splat(0);
    for (int j = 1; j < d; j++) f[i] += DUAL_V(B, d, i, j) * t[j];
    f[i] *= CONE_C(coef, i);
  }
}

/* Y, b, R, B and the diagonal of A + R; with_R 0: of A alone */
PROC void make_dual(const sc_pack *p, sc_work *w, int with_R) {
  const real *D = NUM(p, D);
  real *Y = w->Y, *R = w->k1, *diag = w->k, *b = w->Jv;
  mul_jac(p, NUM(p, s), NUM(p, aref), b, NULL);
  EACH(r, p->nefc) {
    mask there = lt(splat(0), D[r]);
    R[r] = sel(there, splat(with_R) / sel(there, D[r], splat(1)), splat(0));
    make_row(p, r, Y + 4 * p->yadr[r]);
  }
  SYNC;
  CONES(p, turn_contact(p, w, d, row, coef, dual_coef(p, w, d, row)));
  SYNC;
  EACH(r, p->nefc) diag[r] = sel(lt(splat(0), D[r]), row_product(p, Y, r, r) + R[r], splat(1));
  SYNC;
}

/* ------------------------------------------------------------------ the disk */

/* y: the minimum of sum_j w_j y_j^2/2 + g_j y_j over |y| <= r, n <= 5, w > 0 but where there is no motion: no force there.
 * On the rim y_j = -g_j/(w_j + l) with |y| = r: Newton for 1/r - 1/|y(l)| = 0, which is convex, from the left of its root */
FN_SHARED void disk_minimum(int n, const real *w, const real *g, real r, real *y) {
  real most = splat(0), gg = splat(0), h[5], l;
  for (int j = 0; j < n; j++) most = larger(most, w[j]);
  mask moves = lt(splat(0), most), held = le(r, splat(0));
  for (int j = 0; j < n; j++) {
    mask on = lt(splat(NO_MOTION) * most, w[j]);
    h[j] = sel(on, g[j], splat(0));
    gg += h[j] * h[j];
  }
  real radius = sel(held, splat(1), r), bottom = splat(NO_MOTION) * sel(moves, most, splat(1));
  l = larger(root(gg) / radius - most, splat(0));
  mask open = both(not(held), lt(splat(0), gg)), rim = lt(splat(0), l);
  for (int it = 0; it < 40; it++) {
    real yy = splat(0), slope = splat(0);
    for (int j = 0; j < n; j++) {
      real v = larger(w[j], bottom) + l;
      y[j] = -h[j] / v;
      yy += y[j] * y[j];
      slope += y[j] * y[j] / v;
    }
    real size = root(yy);
    open = both(open, lt(radius * splat(1 + 4 * SC_EPS), size));
    if (!any(open)) break;
    rim = either(rim, open);
    l = sel(open, l + (size - radius) / radius * yy / sel(open, slope, splat(1)), l);
  }
  real yy = splat(0);
  for (int j = 0; j < n; j++) yy += y[j] * y[j];
  real shrink = radius / root(sel(lt(splat(0), yy), yy, splat(1)));
  mask cut = both(rim, lt(shrink, splat(1)));
  for (int j = 0; j < n; j++) y[j] = sel(held, splat(0), sel(cut, y[j] * shrink, y[j]));
}

/* ------------------------------------------------------------------ and the primal problem */

/* the force that a row's law gives at the residual x, in place of it */
FN_SHARED void law_cone(const sc_pack *p, int d, int row, const real *coef, real *x) {
  real unit[CONE_COEF(6)], Dt[6], f[6];
  const real *D = NUM(p, D) + row;
  unit[0] = coef[0], unit[1] = coef[1], Dt[0] = D[0];
  for (int j = 1; j < d; j++) CONE_C(unit, j) = splat(1), Dt[j] = D[0] / coef[0];
  cone_force(d, unit, Dt, x + row, cone_find(d, unit, x + row), f);
  for (int j = 0; j < d; j++) x[row + j] = f[j];
}

PROC void law_forces(const sc_pack *p, real *x) {
  const real *D = NUM(p, D), *eta = NUM(p, eta), *edge = NUM(p, edge);
  int ne = p->ne, nf = ne + p->nf;
  EACH(r, ne) x[r] = row_equality(D[r], x[r]).force;
  EACH(i, p->nf) x[ne + i] = row_friction(D[ne + i], eta[i], edge[i], x[ne + i]).force;
  EACH(i, p->nu) x[nf + i] = row_onesided(D[nf + i], x[nf + i]).force;
  CONES(p, law_cone(p, d, row, coef, x));
  SYNC;
}

/* the certificate's gap at a = s + L^-T z: 1/2 |z - Y f(J a - aref)|^2 */
PROC real dual_gap(const sc_pack *p, sc_work *w) {
  real *z = w->z, *other = w->z1, *x = w->x, gap = splat(0);
  dual_residual(p, w->Y, w->Jv, z, x);
  law_forces(p, x);
  mul_dual(p, w->Y, x, other);
  EACH(i, p->nv4) gap += (z[i] - other[i]) * (z[i] - other[i]);
  return splat(0.5) * total(gap);
}

/* a = s + L^-T z */
PROC void dual_answer(const sc_pack *p, sc_work *w) {
  const real *s = NUM(p, s);
  real *z = w->z, *v = w->v, *a = w->a;
  EACH(i, p->nv4) v[i] = z[i];
  SYNC;
  solve_upper(&p->m, NUM(p, L), v);
  EACH(i, p->nv4) a[i] = s[i] + v[i];
  SYNC;
}
