/* Newton's method with an exact line search, for every row kind.
 *
 * A step is tried at alpha = 1 first: there M a and J a - aref are computed afresh, so no rounding accumulates, and the
 * new gradient gives the slope at no cost. Only lanes whose slope is too large search along the line. */

/* squared length of a step, relative to the iterate's, after which the next, quadratically smaller, is below rounding */
#if SC_SINGLE
#define SMALL_STEP 1e-9
#else
#define SMALL_STEP 1e-15
#endif

/* the rows' costs are quadratic along the step, or as good as that */
FN mask one_quadratic(const iteration *st) { return either(not(st->notes.slides), le(st->step, splat(SMALL_STEP) * st->size)); }

/* v is the lanes' Newton direction; it becomes zero in finished ones. Their slope at the start in st */
FN void newton_descent(const sc_pack *p, sc_work *w, iteration *st) {
  real *v = w->v, *g = w->g;
  st->slope0 = dot(p, v, g);
  /* no descent: nothing left but rounding, or broken numbers; either way the lane ends where it is */
  finish(w, st, not(lt(st->slope0, splat(0))), SC_END_STALLED);
  EACH(i, p->nv4) v[i] = sel(st->live, v[i], splat(0));
  SYNC;
}

/* v from the factor of H */
FN void newton_direction(const sc_pack *p, sc_work *w, iteration *st) {
  real *v = w->v, *g = w->g;
  EACH(i, p->nv4) v[i] = -g[i];
  SYNC;
  solve_lower(&p->h, w->H, v);
  solve_upper(&p->h, w->H, v);
  newton_descent(p, w, st);
}

/* one step of every live lane */
FN void newton_step(const sc_pack *p, sc_work *w, iteration *st) {
  real *a = w->a, *a1 = w->a1, *v = w->v;
  EACH(i, p->nv4) a1[i] = a[i] + v[i];
  SYNC;
  recompute_trial(p, w);
  st->notes = at_trial(p, w, 0);
  st->slope1 = dot(p, v, w->g1);
  st->step = dot_minus(p, v, w->Ma1, w->Ma);
  st->size = larger(st->smooth, dot(p, a1, w->Ma1));
  st->full = always();
  /* on one quadratic alpha = 1 is exact: what the slope shows there is rounding */
  mask exact = both(not(st->notes.changed), one_quadratic(st));
  mask steep = lt(splat(w->task.ls_tolerance) * -st->slope0, absolute(st->slope1));
  mask need = both(both(st->live, steep), not(exact));
  if (any(need)) {
    real alpha, *x = w->x, *x1 = w->x1, *Jv = w->Jv;
    EACH(r, p->nefc) Jv[r] = x1[r] - x[r];
    SYNC;
    finish(w, st, search(p, w, st, need, st->step, &alpha), SC_END_STALLED);
    st->full = either(not(need), lt(absolute(alpha - splat(1)), splat(0.05)));
    st->notes = at_trial(p, w, 0);
  }
  accept(w);
}

/* Which lanes are done. Converged: scale |g| <= tolerance, and in double, where the factor of M is at hand, the scaled gap
 * 1/2 g' M^-1 g as well: of the lightest dofs it can be the larger. Floor, what rounding allows:
 * a whole step that left every zone as it was has reached the minimum of the quadratic it stands on, or, with sliding
 * contacts, was so small that the next one would be below rounding; in float that is all that can be had, in double
 * further steps refine it while the gradient falls. Or a step that is itself nothing but rounding; where stiff contacts
 * slide, in double, such steps still matter while the gradient falls. */
FN void newton_stop(const sc_pack *p, sc_work *w, iteration *st, int it) {
  real before = st->norm, scale = *NUM(p, scale);
  st->norm = root(dot(p, w->g, w->g));
  mask converged = le(scale * st->norm, splat(w->task.tolerance)), floor = never();
  if (!SC_SINGLE && any(both(st->live, converged))) {
    real *v = w->v, *g = w->g;
    EACH(i, p->nv4) v[i] = g[i];
    SYNC;
    converged = both(converged, le(scale * half_inverse_norm(p, v), splat(w->task.tolerance)));
  }
  if (it > 0) {
    floor = both(both(st->full, not(st->notes.changed)), one_quadratic(st));
    mask idle = le(splat(0.25) * before, st->norm), tiny = le(st->step, splat(64 * SC_EPS * 64 * SC_EPS) * st->size);
    if (!SC_SINGLE) floor = both(floor, idle), tiny = both(tiny, either(idle, not(soft_lanes(w, SOFT_STIFF))));
    floor = either(floor, tiny);
  }
  mask done = both(st->live, either(converged, floor));
  EACH(l, SC_LANES) {
    if (lane_is(st->live, l)) w->iterations[l] = it;
    if (lane_is(done, l)) w->end[l] = lane_is(converged, l) ? SC_END_CONVERGED : SC_END_FLOOR;
  }
  st->live = both(st->live, not(done));
}

/* Step `it` along v, and what follows from it: the pack to go on with, p itself or p with softened rows. at: that of this step;
 * was: the lanes that were live before the direction was known */
FN const sc_pack *newton_take(const sc_pack *p, const sc_pack *at, sc_work *w, iteration *st, int it, mask was) {
  newton_step(at, w, st);
  newton_stop(at, w, st, it);
  return it >= SOFTEN_AFTER ? soften(p, at, w, st, was, it) : at;
}

PROC void newton(const sc_pack *p, sc_work *w) {
  const sc_pack *at = p;
  soften_reset(w);
  iteration st = start(p, w);
  newton_stop(p, w, &st, 0);
  int stale = 1; /* the factor is not that of the live lanes' zones */
  mask behind = always(); /* by lane, also of those that have finished */
  for (int it = 1; it <= w->task.iterations && any(st.live); it++) {
    mask was = st.live;
    if (stale) factor_hessian(at, w, w->x, w->k, any(both(st.live, st.notes.slides)));
    newton_direction(at, w, &st);
    mask moves = st.live;
    at = newton_take(p, at, w, &st, it, was);
    mask left = either(st.notes.changed, st.notes.slides);
    behind = either(both(moves, left), both(not(moves), behind));
    stale = any(both(st.live, left));
  }
  EACH(l, SC_LANES) w->stale[l] = lane_is(behind, l);
}
