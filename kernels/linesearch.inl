/* The step length along v: root of the slope phi'(alpha) = g(a + alpha v)' v, which is increasing.
 * No cost is evaluated: costs are differences of large numbers, slopes are not. */

typedef struct { real slope, curv; } along;

FN void along_cone(int d, const real *coef, const real *D, const real *x, const real *Jv, real alpha, along *s) {
  real y[6], f[6];
  for (int j = 0; j < d; j++) y[j] = x[j] + alpha * Jv[j];
  cone_zone z = cone_find(d, coef, y);
  cone_force(d, coef, D, y, z, f);
  for (int j = 0; j < d; j++) s->slope -= f[j] * Jv[j];
  s->curv += cone_curvature_along(d, coef, D, y, z, Jv);
}

/* slope and curvature of the rows' cost at x + alpha Jv, and of the inertia's: q1 + alpha q2 */
PROC along slope_at(const sc_pack *p, const real *x, const real *Jv, real alpha, real q1, real q2) {
  const real *D = NUM(p, D), *eta = NUM(p, eta), *edge = NUM(p, edge);
  int ne = p->ne, nf = ne + p->nf;
  along s = {once(q1 + alpha * q2), once(q2)};
#define ADD(value)                                                                                                          \
  do {                                                                                                                      \
    row_value v_ = (value);                                                                                                 \
    s.slope -= v_.force * Jv[r];                                                                                            \
    s.curv += v_.curv * Jv[r] * Jv[r];                                                                                      \
  } while (0)
  EACH(r, ne) ADD(row_equality(D[r], x[r] + alpha * Jv[r]));
  EACH(i, p->nf) {
    int r = ne + i;
    ADD(row_friction(D[r], eta[i], edge[i], x[r] + alpha * Jv[r]));
  }
  EACH(i, p->nu) {
    int r = nf + i;
    ADD(row_onesided(D[r], x[r] + alpha * Jv[r]));
  }
#undef ADD
  CONES(p, along_cone(d, coef, D + row, x + row, Jv + row, alpha, &s));
  s.slope = total(s.slope);
  s.curv = total(s.curv);
  return s;
}

#define LS_MORE 40 /* evaluations at most beyond the limit, to find any step */

/* Step length of the lanes in `need`, 1 in the others. slope0 < 0: phi'(0). Newton from alpha = 1 inside a bracket that
 * starts as [0, infinity); where Newton leaves it, or the slope did not halve, bisect it, or double while it is open.
 * When evaluations run out the lower end is taken: it always descends. As long as that is 0 the search goes on, for without a
 * step the solve would end. */
PROC real line_search(const sc_pack *p, sc_work *w, real slope0, real q1, real q2, mask need) {
  const real zero = splat(0), one = splat(1);
  real lo = zero, hi = splat(-1), alpha = one, last = -slope0;
  real enough = splat(w->task.ls_tolerance) * -slope0;
  mask open = need;
  for (int n = 0; n < w->task.ls_iterations + LS_MORE && any(open); n++) {
    if (n >= w->task.ls_iterations) open = both(open, le(lo, zero));
    along s = slope_at(p, w->x, w->Jv, alpha, q1, q2);
    real size = absolute(s.slope);
    mask found = le(size, enough), below = lt(s.slope, zero);
    lo = sel(both(open, either(below, found)), alpha, lo);
    open = both(open, not(found));
    hi = sel(both(open, not(below)), alpha, hi);
    mask bounded = lt(zero, hi);
    real next = alpha - s.slope / s.curv;
    mask inside = both(lt(lo, next), either(not(bounded), lt(next, hi)));
    mask slow = both(bounded, lt(splat(0.5) * last, size));
    real other = sel(bounded, splat(0.5) * (lo + hi), splat(2) * alpha);
    next = sel(both(inside, not(slow)), next, other);
    open = both(open, both(differ(next, lo), differ(next, hi))); /* the bracket is down to rounding */
    alpha = sel(open, next, alpha);
    last = size;
  }
  return sel(need, lo, one);
}
