/* Newton's method with an exact line search, for every row kind.
 *
 * A step is tried at alpha = 1 first: there M a and J a - aref are computed afresh, so no rounding accumulates, and the
 * new gradient gives the slope at no cost. Only lanes whose slope is too large search along the line.
 * A lane that has finished is frozen: its step is zero from then on. */

#define SWAP(p, q)                                                                                                          \
  do {                                                                                                                      \
    void *t_ = p;                                                                                                           \
    p = q;                                                                                                                  \
    q = t_;                                                                                                                 \
  } while (0)

/* squared length of a step, relative to the iterate's, after which the next, quadratically smaller, is below rounding */
#if SC_SINGLE
#define SMALL_STEP 1e-9
#else
#define SMALL_STEP 1e-15
#endif

typedef struct {
  mask live;
  real slope0, slope1; /* along the step, at its start and at alpha = 1 */
  real step, size;     /* squared lengths in the metric M: of the step; of the iterate or qacc_smooth, the larger */
  real smooth;         /* that of qacc_smooth */
  real norm;           /* |g| */
  row_notes notes;
  mask full;           /* the step was taken whole, or nearly */
} newton_state;

/* the rows' costs are quadratic along the step, or as good as that */
FN mask one_quadratic(const newton_state *st) { return either(not(st->notes.slides), le(st->step, splat(SMALL_STEP) * st->size)); }

/* forces and gradient at the trial point, from x1 and Ma1 there; first: there is no iterate to compare with */
FN row_notes at_trial(const sc_pack *p, sc_work *w, int first) {
  row_notes n = evaluate_rows(p, w->x1, first ? NULL : w->f, first ? NULL : w->k, w->f1, w->k1, w->used);
  mul_jac_t(p, w->Ma1, -1, w->f1, w->used, w->g1, 0);
  const real *tau = NUM(p, tau);
  real *g = w->g1;
  EACH(i, p->nv4) g[i] -= tau[i];
  SYNC;
  return n;
}

/* the starting point in the trial arrays: qacc_warmstart where its cost is not above that of qacc_smooth, else the latter */
PROC void start(const sc_pack *p, sc_work *w) {
  const real *s = NUM(p, s), *tau = NUM(p, tau), *warm = NUM(p, warm), *aref = NUM(p, aref);
  real *a = w->a1, *Ma = w->Ma1, *x = w->x1, *xw = w->x;
  mask use = never();
  mul_jac(p, s, aref, x, 0);
  if (w->task.warmstart) {
    real smooth = cost_rows(p, x), inertia = splat(0);
    mul_sym(&p->m, NUM(p, M), warm, Ma, 0);
    mul_jac(p, warm, aref, xw, 0);
    EACH(i, p->nv4) inertia += (warm[i] - s[i]) * (Ma[i] - tau[i]);
    use = le(splat(0.5) * total(inertia) + cost_rows(p, xw), smooth);
    EACH(r, p->nefc) x[r] = sel(use, xw[r], x[r]);
  }
  EACH(i, p->nv4) {
    a[i] = sel(use, warm[i], s[i]);
    Ma[i] = sel(use, Ma[i], tau[i]); /* M s = tau */
  }
  SYNC;
}

/* the lanes' Newton direction in v, zero in finished ones; their slope at the start in st */
FN void direction(const sc_pack *p, sc_work *w, newton_state *st) {
  real *v = w->v, *g = w->g;
  EACH(i, p->nv4) v[i] = -g[i];
  SYNC;
  solve_lower(&p->h, w->H, v);
  solve_upper(&p->h, w->H, v);
  st->slope0 = dot(p, v, g);
  /* no descent: nothing left but rounding, or broken numbers; either way the lane ends where it is */
  mask stuck = both(st->live, not(lt(st->slope0, splat(0))));
  EACH(l, SC_LANES) if (lane_is(stuck, l)) w->end[l] = SC_END_STALLED;
  st->live = both(st->live, not(stuck));
  EACH(i, p->nv4) v[i] = sel(st->live, v[i], splat(0));
  SYNC;
}

/* shorten or lengthen the step of the lanes in `need` */
FN void search(const sc_pack *p, sc_work *w, newton_state *st, mask need) {
  const real *tau = NUM(p, tau);
  real *a = w->a, *a1 = w->a1, *Ma = w->Ma, *Ma1 = w->Ma1, *x = w->x, *x1 = w->x1, *Jv = w->Jv, *v = w->v;
  EACH(r, p->nefc) Jv[r] = x1[r] - x[r];
  SYNC;
  real alpha = line_search(p, w, st->slope0, dot_minus(p, v, Ma, tau), dot_minus(p, v, Ma1, Ma), need);
  EACH(i, p->nv4) {
    a1[i] = sel(need, a[i] + alpha * v[i], a1[i]);
    Ma1[i] = sel(need, Ma[i] + alpha * (Ma1[i] - Ma[i]), Ma1[i]);
  }
  EACH(r, p->nefc) x1[r] = sel(need, x[r] + alpha * Jv[r], x1[r]);
  SYNC;
  mask none = both(need, not(lt(splat(0), alpha)));
  EACH(l, SC_LANES) if (lane_is(none, l)) w->end[l] = SC_END_STALLED;
  st->live = both(st->live, not(none));
  st->full = both(st->full, either(not(need), lt(absolute(alpha - splat(1)), splat(0.05))));
  st->notes = at_trial(p, w, 0);
}

/* the trial point becomes the iterate */
FN void accept(sc_work *w) {
  SYNC;
  ONCE {
    SWAP(w->a, w->a1);
    SWAP(w->Ma, w->Ma1);
    SWAP(w->x, w->x1);
    SWAP(w->f, w->f1);
    SWAP(w->k, w->k1);
    SWAP(w->g, w->g1);
  }
  SYNC;
}

/* one step of every live lane */
PROC void take_step(const sc_pack *p, sc_work *w, newton_state *st) {
  real *a = w->a, *a1 = w->a1, *v = w->v;
  EACH(i, p->nv4) a1[i] = a[i] + v[i];
  SYNC;
  mul_sym(&p->m, NUM(p, M), a1, w->Ma1, 0);
  mul_jac(p, a1, NUM(p, aref), w->x1, 0);
  st->notes = at_trial(p, w, 0);
  st->slope1 = dot(p, v, w->g1);
  st->step = dot_minus(p, v, w->Ma1, w->Ma);
  st->size = larger(st->smooth, dot(p, a1, w->Ma1));
  st->full = always();
  /* on one quadratic alpha = 1 is exact: what the slope shows there is rounding */
  mask exact = both(not(st->notes.changed), one_quadratic(st));
  mask steep = lt(splat(w->task.ls_tolerance) * -st->slope0, absolute(st->slope1));
  mask need = both(both(st->live, steep), not(exact));
  if (any(need)) search(p, w, st, need);
  accept(w);
}

/* Which lanes are done. Converged: scale |g| <= tolerance (then the gap is far below it). Floor, what rounding allows:
 * a whole step that left every zone as it was has reached the minimum of the quadratic it stands on, or, with sliding
 * contacts, was so small that the next one would be below rounding; in float that is all that can be had, in double
 * further steps refine it while the gradient falls. Or a step that is itself nothing but rounding. */
FN void stop_test(const sc_pack *p, sc_work *w, newton_state *st, int it) {
  real before = st->norm, scale = *NUM(p, scale);
  st->norm = root(dot(p, w->g, w->g));
  mask converged = le(scale * st->norm, splat(w->task.tolerance)), floor = never();
  if (it > 0) {
    floor = both(both(st->full, not(st->notes.changed)), one_quadratic(st));
    if (!SC_SINGLE) floor = both(floor, le(splat(0.25) * before, st->norm));
    floor = either(floor, le(st->step, splat(64 * SC_EPS * 64 * SC_EPS) * st->size));
  }
  mask done = both(st->live, either(converged, floor));
  EACH(l, SC_LANES) {
    if (lane_is(st->live, l)) w->iterations[l] = it;
    if (lane_is(done, l)) w->end[l] = lane_is(converged, l) ? SC_END_CONVERGED : SC_END_FLOOR;
  }
  st->live = both(st->live, not(done));
}

PROC void newton(const sc_pack *p, sc_work *w) {
  start(p, w);
  newton_state st;
  st.live = lt(splat(0), *NUM(p, alive));
  st.full = never();
  st.step = st.size = st.norm = splat(0);
  st.smooth = dot(p, NUM(p, s), NUM(p, tau));
  EACH(l, SC_LANES) w->iterations[l] = 0, w->end[l] = SC_END_LIMIT;
  st.notes = at_trial(p, w, 1);
  accept(w);
  stop_test(p, w, &st, 0);
  int stale = 1; /* the factor is not that of the live lanes' zones */
  for (int it = 1; it <= w->task.iterations && any(st.live); it++) {
    if (stale) factor_hessian(p, w, w->x, w->k, any(both(st.live, st.notes.slides)));
    direction(p, w, &st);
    take_step(p, w, &st);
    stop_test(p, w, &st, it);
    stale = any(both(st.live, either(st.notes.changed, st.notes.slides)));
  }
}
