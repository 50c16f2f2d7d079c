/* Mixed precision: what an iteration in float has left is refined in double. A step is v = -H^-1 g with g in double at a
 * and the factor of H in float, as the iteration kept it, or made anew where zones have changed or a contact slides: the
 * error falls by the rounding of float times the condition of H, step by step, to that of double.
 *
 * A step is kept where |g| falls; otherwise the lane is put back and done. */

#if SC_SINGLE

/* v <- H^-1 v; stale: H is not that of w->x and w->k */
PROC void correct(const sc_pack *p, sc_work *w, int stale) {
  if (stale) factor_hessian(p, w, w->x, w->k, any(sliding_lanes(p, w->k)));
  solve_lower(&p->h, w->H, w->v);
  solve_upper(&p->h, w->H, w->v);
}

#else

/* the error of a, relative, that further steps are worth: of the next point, as the last two let it be expected; and the step
 * at which slow progress is due to rounding, and not to a factor that is too poor */
#define REFINED_ERROR 1e-14
#define REFINED_STEP 1e-12

/* element i of the part in an array of the iteration */
FN float *part_of(const sc_refinement *part, void *array, int i) { return (float *)array + (size_t)(i * part->stride + part->first); }

FN mask lanes_of(unsigned bits) {
  real on = splat(0);
  for (int l = 0; l < SC_LANES; l++) lane_set(&on, l, bits >> l & 1);
  return lt(splat(0), on);
}

/* lanes whose curvatures are not those that the factor in float was made of */
PROC mask other_zones(const sc_pack *p, const sc_work *w, const sc_refinement *part) {
  const real *k = w->k1;
  mask other = never();
  EACH(r, p->nefc) other = either(other, differ(rounded_to_float(k[r]), from_float(part_of(part, part->iterate->k, r))));
  return anywhere(other);
}

/* Newton's work for the next step: the right side, and of the stale lanes the rows of which their next factor is made */
PROC void hand_over(const sc_pack *p, const sc_work *w, const sc_refinement *part, mask live, mask stale) {
  sc_work *to = part->iterate;
  const real *g = w->g, *lane = w->lane, *k = w->k1, *x = w->x;
  real turn = splat(-1) / sel(live, lane[LANE_NORM], splat(1)); /* |v| = 1 there: no number is too small for float */
  EACH(i, p->nv4) to_float(part_of(part, to->v, i), sel(live, turn * g[i], splat(0)));
  EACH(r, any(stale) ? p->nefc : 0) {
    float *k1 = part_of(part, to->k, r), *x1 = part_of(part, to->x, r);
    to_float(k1, sel(stale, k[r], from_float(k1)));
    to_float(x1, sel(stale, x[r], from_float(x1)));
    to->used[r] |= w->used[r];
  }
  SYNC;
}

/* a <- a + v, and what there is to know of the new point; returns the lanes in which it is no better, put back */
PROC mask take_correction(const sc_pack *p, sc_work *w, const sc_refinement *part, mask live) {
  const real *s = NUM(p, s), *tau = NUM(p, tau);
  real *a = w->a, *a0 = w->a1, *Ma = w->Ma, *Ma0 = w->z, *lane = w->lane, before = lane[LANE_NORM], step = splat(0);
  EACH(i, p->nv4) {
    a0[i] = a[i], Ma0[i] = Ma[i];
    a[i] += sel(live, before * from_float(part_of(part, part->iterate->v, i)), splat(0));
  }
  SYNC;
  measure(p, w);
  EACH(i, p->nv4) step += (a[i] - a0[i]) * (Ma[i] - Ma0[i]);
  step = total(step);
  real size = larger(dot(p, a, Ma), dot(p, s, tau)), norm = root(dot(p, w->g, w->g));
  mask worse = both(live, not(lt(norm, before)));
  EACH(i, p->nv4) a[i] = sel(worse, a0[i], a[i]);
  ONCE {
    lane[LANE_STEP] = step, lane[LANE_SIZE] = size, lane[LANE_NORM] = norm;
    w->fresh = !any(worse);
  }
  SYNC;
  return worse;
}

/* After a step from where |g| was `before`, and the step before it `step_before`: the lanes that want no further one, and
 * why. At the tolerance; the next step would be v^2/v_before, too small to matter; or |g| falls too slowly though no zone
 * has changed, because of rounding or, where the step is too large for that, a factor that is too poor: stalled. */
FN mask refined(const sc_pack *p, sc_work *w, mask live, real before, real step_before, mask other, mask worse) {
  const real *lane = w->lane;
  real norm = lane[LANE_NORM], gap = lane[LANE_GAP], step = lane[LANE_STEP], size = lane[LANE_SIZE];
  real scale = *NUM(p, scale), tolerance = splat(w->task.tolerance);
  mask converged = both(both(le(scale * norm, tolerance), le(scale * gap, tolerance)), not(worse));
  mask near = both(le(step * step, splat(REFINED_ERROR * REFINED_ERROR) * step_before * size), not(other));
  mask slow = either(worse, both(le(splat(0.25) * before, norm), not(other)));
  mask stalled = both(slow, not(either(converged, le(step, splat(REFINED_STEP * REFINED_STEP) * size))));
  EACH(l, SC_LANES) {
    if (lane_is(live, l)) w->end[l] = lane_is(converged, l) ? SC_END_CONVERGED : lane_is(stalled, l) ? SC_END_STALLED : SC_END_FLOOR;
  }
  return either(converged, either(near, slow));
}

/* at the iteration's answer: the lanes that want no step at all */
FN mask good_already(const sc_pack *p, sc_work *w) {
  real *lane = w->lane, *v = w->v, *g = w->g, scale = *NUM(p, scale), norm = root(dot(p, g, g)), tolerance = splat(w->task.tolerance);
  mask good = le(scale * norm, tolerance);
  if (any(good)) {
    EACH(i, p->nv4) v[i] = g[i];
    SYNC;
    good = both(good, le(scale * half_inverse_norm(p, v), tolerance));
  }
  ONCE { lane[LANE_NORM] = norm, lane[LANE_STEP] = splat(0); }
  SYNC;
  return either(good, not(finite_lane(norm)));
}

PROC int refine(const sc_pack *p, sc_work *w, sc_refinement *part) {
  const real *lane = w->lane;
  mask live = lanes_of(part->live), other, done, behind;
  if (!part->begun) {
    unsigned stale = 0;
    plain_residual(p, w);
    ONCE { w->fresh = 0; }
    other = other_zones(p, w, part);
    done = good_already(p, w);
    for (int l = 0; l < SC_LANES; l++) stale |= (unsigned)(part->iterate->stale[part->first + l] != 0) << l;
    behind = either(lanes_of(stale), sliding_lanes(p, w->k1));
  } else {
    real before = lane[LANE_NORM], step_before = lane[LANE_STEP];
    mask worse = take_correction(p, w, part, live);
    other = other_zones(p, w, part);
    done = refined(p, w, live, before, step_before, other, worse);
    behind = both(sliding_lanes(p, w->k1), le(splat(0.05) * before, lane[LANE_NORM]));
    EACH(l, SC_LANES) w->iterations[l] += lane_is(live, l);
  }
  SYNC;
  ONCE {
    part->begun = 1, part->live = 0;
    for (int l = 0; l < SC_LANES; l++) {
      if (!lane_is(live, l) || lane_is(done, l)) continue;
      w->end[l] = SC_END_LIMIT;
      if (w->iterations[l] < w->task.iterations) part->live |= 1u << l;
    }
  }
  SYNC;
  live = lanes_of(part->live);
  mask stale = both(live, either(other, behind));
  if (part->live) hand_over(p, w, part, live, stale);
  return any(stale);
}

#endif
