/* Force, curvature and zone of every row at a residual x. */

/* Run `call` for every elliptic contact; it may use d (a constant: 3, 4 or 6), row and coef. */
#define CONES(p, call)                                                                                                      \
  do {                                                                                                                      \
    int first = (p)->conerow;                                                                                               \
    const real *coefs = NUM(p, cone);                                                                                       \
    CONES_OF(p, 0, 3, call) CONES_OF(p, 1, 4, call) CONES_OF(p, 2, 6, call)                                                 \
    (void)first, (void)coefs;                                                                                               \
  } while (0)
#define CONES_OF(p, kind, dim, call)                                                                                        \
  EACH(c_, (p)->ncone[kind]) {                                                                                              \
    enum { d = dim };                                                                                                       \
    int row = first + c_ * dim;                                                                                             \
    const real *coef __attribute__((unused)) = coefs + c_ * CONE_COEF(dim);                                                                         \
    (void)coef;                                                                                                             \
    call;                                                                                                                   \
  }                                                                                                                         \
  first += (p)->ncone[kind] * dim, coefs += (p)->ncone[kind] * CONE_COEF(dim);

/* What a change of x did to the rows of each lane. */
typedef struct {
  mask changed; /* some row's curvature jumped: another zone */
  mask slides;  /* some elliptic contact slides: its curvature depends on x */
} row_notes;

/* k of an elliptic contact's rows: D or 0, or this where it slides */
#define SLIDING (-1)

FN void cone_rows(int d, int row, const real *coef, const real *D, const real *x, real *f, real *k) {
  cone_zone z = cone_find(d, coef, x + row);
  cone_force(d, coef, D + row, x + row, z, f + row);
  for (int j = 0; j < d; j++) k[row + j] = sel(z.top, splat(0), sel(z.middle, splat(SLIDING), D[row + j]));
}

/* f, k of all rows at x; f0, k0: those at the point before, or NULL; used: rows with a force in some lane */
PROC row_notes evaluate_rows(const sc_pack *p, const real *x, const real *f0, const real *k0, real *f, real *k, uint8_t *used) {
  const real *D = NUM(p, D), *eta = NUM(p, eta), *edge = NUM(p, edge);
  row_notes n = {never(), never()};
  int ne = p->ne, nf = ne + p->nf;
  EACH(r, ne) f[r] = -D[r] * x[r], k[r] = D[r], used[r] = 1;
  EACH(i, p->nf) {
    int r = ne + i;
    row_value v = row_friction(D[r], eta[i], edge[i], x[r]);
    f[r] = v.force, k[r] = v.curv, used[r] = 1;
  }
  EACH(i, p->nu) {
    int r = nf + i;
    row_value v = row_onesided(D[r], x[r]);
    f[r] = v.force, k[r] = v.curv;
    used[r] = any(differ(v.curv, splat(0))) != 0;
  }
  CONES(p, {
    cone_rows(d, row, coef, D, x, f, k);
    mask slides = lt(k[row], splat(0));
    n.slides = either(n.slides, slides);
    int on = any(differ(k[row], splat(0))) != 0;
    for (int j = 0; j < d; j++) used[row + j] = (uint8_t)on;
  });
  n.slides = anywhere(n.slides);
  SYNC;
  if (!k0) return n;
  EACH(r, p->nefc) n.changed = either(n.changed, differ(k[r], k0[r]));
  EACH(i, p->nf) { /* from one saturated side to the other */
    int r = ne + i;
    n.changed = either(n.changed, both(le(k[r], splat(0)), differ(f[r], f0[r])));
  }
  n.changed = anywhere(n.changed);
  return n;
}

/* lanes in which some elliptic contact slides */
FN mask sliding_lanes(const sc_pack *p, const real *k) {
  mask slides = never();
  CONES(p, slides = either(slides, lt(k[row], splat(0))));
  return anywhere(slides);
}

/* cost of all rows at x */
PROC real cost_rows(const sc_pack *p, const real *x) {
  const real *D = NUM(p, D), *eta = NUM(p, eta), *edge = NUM(p, edge);
  real cost = splat(0);
  int ne = p->ne, nf = ne + p->nf;
  EACH(r, ne) cost += row_equality(D[r], x[r]).cost;
  EACH(i, p->nf) cost += row_friction(D[ne + i], eta[i], edge[i], x[ne + i]).cost;
  EACH(i, p->nu) cost += row_onesided(D[nf + i], x[nf + i]).cost;
  CONES(p, {
    cone_zone z = cone_find(d, coef, x + row);
    cost += cone_cost(d, coef, D + row, x + row, z);
  });
  return total(cost);
}
