/* What the answer is worth, in double from the data as handed over:
 *
 *   g = M a - tau - J'f(J a - aref),   gap = 1/2 g' M^-1 g >= P(a) - P*,  >= 1/2 |a - a*|_M^2
 *   floor = 1/2 e' M^-1 e,   e = 4 u (|M||a| + |tau| + |J|'(|f| + D (|J||a| + |aref|))),   u the rounding of the iteration
 *   bound = sqrt(2 gap) / max(|a|_M, |s|_M)
 *
 * and, because it comes for free, the forces, zones and J'f that belong to a. Compiled in double only. */

/* What belongs to a: M a in Ma, J a - aref in x, forces in f, their curvatures in k1, J'f in g1, and the residual
 * g = M a - tau - J'f of the equation of motion. sized: also e in v; returns the lanes whose forces rounding moves */
FN mask residual(const sc_pack *p, sc_work *w, int sized) {
  const real *tau = NUM(p, tau);
  real *Ma = w->Ma, *g = w->g, *Jf = w->g1, *y = w->x1, *e = w->v;
  mask noisy = never();
  mul_sym(&p->m, NUM(p, M), w->a, Ma, sized ? e : NULL);
  mul_jac(p, w->a, NUM(p, aref), w->x, sized ? y : NULL);
  evaluate_rows(p, w->x, NULL, NULL, w->f, w->k1, w->used);
  if (sized) noisy = weigh_error(p, w, y, e);
  jac_size size = {y, e};
  mul_jac_t(p, NULL, 1, w->f, w->used, Jf, sized ? &size : NULL);
  EACH(i, p->nv4) g[i] = Ma[i] - tau[i] - Jf[i];
  if (sized) scale_error(p, w, e);
  else SYNC;
  return noisy;
}

SHARED void plain_residual(const sc_pack *p, sc_work *w) { residual(p, w, 0); }

/* What there is to know of a, beside what residual leaves; one number for each lane. */
enum { LANE_GAP, LANE_FLOOR, LANE_NOISY, LANE_NORM, LANE_STEP, LANE_SIZE, LANE_OBJECTIVE };

/* the residual, gap and floor; Ma1 is used on the way */
SHARED void measure(const sc_pack *p, sc_work *w) {
  real *lane = w->lane, *y = w->Ma1, *e = w->v, *g = w->g;
  mask noisy = residual(p, w, 1);
  EACH(i, p->nv4) y[i] = g[i];
  SYNC;
  solve_lower_both(&p->m, NUM(p, L), y, e);
  real gap = splat(0.5) * dot(p, y, y), floor = splat(0.5) * dot(p, e, e);
  ONCE { lane[LANE_GAP] = gap, lane[LANE_FLOOR] = floor, lane[LANE_NOISY] = sel(noisy, splat(1), splat(0)); }
  SYNC;
}

FN void zones_cone(int d, int row, const real *coef, const real *x, real *zone) {
  real z = cone_zone_number(cone_find(d, coef, x + row));
  for (int j = 0; j < d; j++) zone[row + j] = z;
}

/* zone number of every row */
PROC void zones(const sc_pack *p, const real *x, real *zone) {
  const real *D = NUM(p, D), *eta = NUM(p, eta), *edge = NUM(p, edge);
  int ne = p->ne, nf = ne + p->nf;
  EACH(r, ne) zone[r] = row_equality(D[r], x[r]).zone;
  EACH(i, p->nf) zone[ne + i] = row_friction(D[ne + i], eta[i], edge[i], x[ne + i]).zone;
  EACH(i, p->nu) zone[nf + i] = row_onesided(D[nf + i], x[nf + i]).zone;
  CONES(p, zones_cone(d, row, coef, x, zone));
}

PROC void store_lanes(double *out, real v) { EACH(l, SC_LANES) out[l] = lane_get(v, l); }

/* f -= K J v for an elliptic contact, in these lanes */
FN void refine_cone(const sc_pack *p, int d, int row, const real *coef, const real *x, const real *Jv, mask lanes, real *f) {
  real K[21], size = splat(0);
  cone_curvature(d, coef, NUM(p, D) + row, x + row, cone_find(d, coef, x + row), K);
  for (int i = 0; i < d; i++)
    for (int j = 0; j < d; j++) f[row + i] -= CONE_K(K, i, j) * Jv[row + j];
  /* along the tangent the cone is left by the square of the step: back onto it */
  f[row] = sel(lanes, larger(f[row], splat(0)), f[row]);
  for (int j = 1; j < d; j++) {
    real t = f[row + j] / CONE_C(coef, j);
    size += t * t;
  }
  size = root(size);
  mask beyond = both(lanes, lt(f[row], size));
  real shrink = f[row] / sel(beyond, size, splat(1));
  for (int j = 1; j < d; j++) f[row + j] = sel(beyond, f[row + j] * shrink, f[row + j]);
}

/* Forces of stiff rows, more exactly than a rounded acceleration can give them: those of the point a + v that a Newton step
 * from a would reach, f(x + J v) = f - K J v. v is too small to be added to a, but not too small to be multiplied by K.
 * slides: some contact does; w->k1 and w->used are those of a. */
PROC void refine_forces(const sc_pack *p, sc_work *w, mask lanes, int slides) {
  const real *tau = NUM(p, tau), *eta = NUM(p, eta);
  real *v = w->v, *Ma = w->Ma, *Jf = w->g1, *Jv = w->Jv, *f = w->f, *k = w->k1;
  factor_hessian(p, w, w->x, k, slides);
  EACH(i, p->nv4) v[i] = tau[i] + Jf[i] - Ma[i];
  SYNC;
  solve_lower(&p->h, w->H, v);
  solve_upper(&p->h, w->H, v);
  EACH(i, p->nv4) v[i] = sel(lanes, v[i], splat(0));
  SYNC;
  mul_jac(p, v, NULL, Jv, NULL);
  EACH(r, p->conerow) f[r] -= k[r] * Jv[r];
  SYNC;
  EACH(i, p->nf) f[p->ne + i] = smaller(larger(f[p->ne + i], -eta[i]), eta[i]);
  EACH(i, p->nu) f[p->ne + p->nf + i] = larger(f[p->ne + p->nf + i], splat(0));
  CONES(p, refine_cone(p, d, row, coef, w->x, Jv, lanes, f));
  SYNC;
  mul_jac_t(p, NULL, 1, f, w->used, Jf, NULL);
}

/* Inverse dynamics: what belongs to a, in closed form, and the rows' zones in k */
PROC void inverse(const sc_pack *p, sc_work *w) {
  plain_residual(p, w);
  zones(p, w->x, w->k);
}

/* the numbers of the certificate, from what measure leaves; returns the lanes where it holds */
PROC mask judge_lanes(const sc_pack *p, sc_work *w) {
  const real *tau = NUM(p, tau), *s = NUM(p, s);
  real *a = w->a, *Ma = w->Ma, *lane = w->lane, inertia = splat(0);
  EACH(i, p->nv4) inertia += (a[i] - s[i]) * (Ma[i] - tau[i]);
  real objective = splat(0.5) * total(inertia) + cost_rows(p, w->x);
  real gap = lane[LANE_GAP], floor = lane[LANE_FLOOR], scaled = *NUM(p, scale) * gap;
  real size = root(larger(larger(dot(p, a, Ma), dot(p, s, tau)), splat(1e-300))), bound = root(splat(2) * gap) / size;
  /* rounding of the bound itself, which is taken in double: no more than a sixteenth of the floor's, where that is large */
  real blur = root(splat(2) * floor) / size * splat(SC_EPS / w->task.rounding / 16);
  store_lanes(w->gap, gap);
  store_lanes(w->floor, floor);
  store_lanes(w->bound, bound);
  store_lanes(w->objective, objective);
  ONCE { lane[LANE_OBJECTIVE] = objective; }
  SYNC;
  mask at_floor = both(le(scaled, *NUM(p, scale) * floor), le(bound + blur, splat(1e-2)));
  mask solved = either(le(scaled, splat(w->task.tolerance)), at_floor); /* the definition of the verdict */
  EACH(l, SC_LANES) w->solved[l] = lane_is(solved, l);
  return solved;
}

/* Where rounding has led the iteration astray, the answer is qacc_smooth: it begins there or lower, and only descends. Returns the
 * lanes that have another answer now, all among these. */
PROC mask fall_back(const sc_pack *p, sc_work *w, mask lanes) {
  const real *s = NUM(p, s);
  const real *lane = w->lane;
  real *a = w->a;
  mul_jac(p, s, NUM(p, aref), w->x1, NULL);
  mask worse = both(lanes, lt(cost_rows(p, w->x1), lane[LANE_OBJECTIVE]));
  EACH(i, p->nv4) a[i] = sel(worse, s[i], a[i]);
  SYNC;
  return worse;
}

/* w->fresh: what measure leaves is there already */
PROC void certify(const sc_pack *p, sc_work *w) {
  if (!w->fresh) measure(p, w);
  mask solved = judge_lanes(p, w), astray = not(solved);
  if (w->task.descends && any(astray) && any(fall_back(p, w, astray))) {
    measure(p, w);
    solved = judge_lanes(p, w);
  }
  zones(p, w->x, w->k);
  /* only where the certificate holds is the step of refine_forces as small as it must be */
  const real *lane = w->lane;
  mask noisy = both(both(lt(splat(0), lane[LANE_NOISY]), solved), lt(splat(0), *NUM(p, alive)));
  if (p->hessian && any(noisy)) refine_forces(p, w, noisy, any(sliding_lanes(p, w->k1)));
}

/* tau = M s, s = M^-1 tau and warm = s where they are not there in themselves; v: nv4 numbers */
FN void complete(const sc_pack *p, real *v, mask have_tau, mask have_s, mask have_warm) {
  real *tau = NUM(p, tau), *s = NUM(p, s), *warm = NUM(p, warm);
  mul_sym(&p->m, NUM(p, M), s, v, NULL);
  EACH(i, p->nv4) tau[i] = sel(have_tau, tau[i], v[i]);
  SYNC;
  EACH(i, p->nv4) v[i] = tau[i];
  SYNC;
  solve_lower(&p->m, NUM(p, L), v);
  solve_upper(&p->m, NUM(p, L), v);
  EACH(i, p->nv4) {
    s[i] = sel(have_s, s[i], v[i]);
    warm[i] = sel(have_warm, warm[i], s[i]);
  }
  SYNC;
}

/* factor M, and complete what was not handed over */
PROC void prepare(const sc_pack *p, sc_work *w) {
  const real *given = NUM(p, given);
  real *alive = NUM(p, alive), zero = splat(0);
  factor_job job = {&p->m, NUM(p, L), NUM(p, M), NULL, NULL, NULL, NULL, w->pivot, 4 * SC_EPS};
  mask low = factor_any(&job, w);
  ONCE { *alive = sel(low, zero, *alive); }
  complete(p, w->v, lt(zero, given[0]), lt(zero, given[1]), lt(zero, given[2]));
}
