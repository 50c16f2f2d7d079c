/* What the answer is worth, in double from the data as handed over:
 *
 *   g = M a - tau - J'f(J a - aref),   gap = 1/2 g' M^-1 g >= P(a) - P*,  >= 1/2 |a - a*|_M^2
 *   floor = 1/2 e' M^-1 e,   e = 4 u (|M||a| + |tau| + |J|'(|f| + D (|J||a| + |aref|))),   u the rounding of the iteration
 *   bound = sqrt(2 gap) / max(|a|_M, |s|_M)
 *
 * and, because it comes for free, the forces, zones and J'f that belong to a. Compiled in double only. */

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
 * slides: some contact does; w->k1 and w->used are those of certify. */
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
  mul_jac(p, v, NULL, Jv, 0);
  EACH(r, p->conerow) f[r] -= k[r] * Jv[r];
  SYNC;
  EACH(i, p->nf) f[p->ne + i] = smaller(larger(f[p->ne + i], -eta[i]), eta[i]);
  EACH(i, p->nu) f[p->ne + p->nf + i] = larger(f[p->ne + p->nf + i], splat(0));
  CONES(p, refine_cone(p, d, row, coef, w->x, Jv, lanes, f));
  SYNC;
  mul_jac_t(p, NULL, 1, f, w->used, Jf, 0);
}

/* Inverse dynamics: what belongs to a, in closed form. M a in Ma, J a - aref in x, forces in f, their zones in k and
 * curvatures in k1, J'f in g1, and the residual M a - tau - J'f of the equation of motion in g */
PROC row_notes forces_at(const sc_pack *p, sc_work *w) {
  const real *tau = NUM(p, tau);
  real *Ma = w->Ma, *g = w->g, *Jf = w->g1;
  mul_sym(&p->m, NUM(p, M), w->a, Ma, 0);
  mul_jac(p, w->a, NUM(p, aref), w->x, 0);
  row_notes notes = evaluate_rows(p, w->x, NULL, NULL, w->f, w->k1, w->used);
  zones(p, w->x, w->k);
  mul_jac_t(p, NULL, 1, w->f, w->used, Jf, 0);
  EACH(i, p->nv4) g[i] = Ma[i] - tau[i] - Jf[i];
  SYNC;
  return notes;
}

PROC void inverse(const sc_pack *p, sc_work *w) { forces_at(p, w); }

PROC void certify(const sc_pack *p, sc_work *w) {
  const real *tau = NUM(p, tau), *s = NUM(p, s);
  real *a = w->a, *Ma = w->Ma, *g = w->g, inertia = splat(0);
  row_notes notes = forces_at(p, w);
  EACH(i, p->nv4) inertia += (a[i] - s[i]) * (Ma[i] - tau[i]);
  real gap = half_inverse_norm(p, g);
  real size = larger(larger(dot(p, a, Ma), dot(p, s, tau)), splat(1e-300));
  store_lanes(w->gap, gap);
  real bound = root(splat(2) * gap) / root(size);
  store_lanes(w->bound, bound);
  store_lanes(w->objective, splat(0.5) * total(inertia) + cost_rows(p, w->x));
  mask noisy = both(rounding_error(p, w, w->v), lt(splat(0), *NUM(p, alive)));
  real floor = half_inverse_norm(p, w->v);
  store_lanes(w->floor, floor);
  /* the definition of the verdict; and only there is the step of refine_forces as small as it must be */
  real scaled = *NUM(p, scale) * gap;
  mask solved = either(le(scaled, splat(w->task.tolerance)), both(le(scaled, *NUM(p, scale) * floor), le(bound, splat(1e-2))));
  EACH(l, SC_LANES) w->solved[l] = lane_is(solved, l);
  if (p->hessian && any(both(noisy, solved))) refine_forces(p, w, both(noisy, solved), any(notes.slides));
}

/* factor M, and complete what was not handed over: tau = M s, s = M^-1 tau, warm = s */
PROC void prepare(const sc_pack *p, sc_work *w) {
  real *tau = NUM(p, tau), *s = NUM(p, s), *warm = NUM(p, warm), *given = NUM(p, given), *alive = NUM(p, alive), *v = w->v;
  factor_job job = {&p->m, NUM(p, L), NUM(p, M), NULL, NULL, NULL, NULL, w->pivot, 4 * SC_EPS};
  mask low = factor_any(&job, w);
  ONCE { *alive = sel(low, splat(0), *alive); }
  mul_sym(&p->m, NUM(p, M), s, v, 0);
  mask have = lt(splat(0), given[0]);
  EACH(i, p->nv4) tau[i] = sel(have, tau[i], v[i]);
  SYNC;
  EACH(i, p->nv4) v[i] = tau[i];
  SYNC;
  solve_lower(&p->m, NUM(p, L), v);
  solve_upper(&p->m, NUM(p, L), v);
  mask have_s = lt(splat(0), given[1]), have_warm = lt(splat(0), given[2]);
  EACH(i, p->nv4) {
    s[i] = sel(have_s, s[i], v[i]);
    warm[i] = sel(have_warm, warm[i], s[i]);
  }
  SYNC;
}
