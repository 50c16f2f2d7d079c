/* What the iterations of every method share: the iterate and a trial point beside it, the starting point, the way along a
 * step, and what rounding allows at an iterate.
 *
 * A lane that has finished is frozen: its step is zero from then on. */

#define SWAP(p, q)                                                                                                          \
  do {                                                                                                                      \
    void *t_ = p;                                                                                                           \
    p = q;                                                                                                                  \
    q = t_;                                                                                                                 \
  } while (0)

typedef struct {
  mask live;
  real slope0, slope1; /* along the step, at its start and at alpha = 1 */
  real step, size;     /* squared lengths in the metric M: of the step; of the iterate or qacc_smooth, the larger */
  real smooth;         /* that of qacc_smooth */
  real norm;           /* |g| */
  row_notes notes;
  mask full;           /* the step was taken whole, or nearly */
} iteration;

/* forces and gradient at the trial point, from x1 and Ma1 there; for others to read after the next SYNC. first: there is no
 * iterate to compare with */
FN row_notes at_trial(const sc_pack *p, sc_work *w, int first) {
  row_notes n = evaluate_rows(p, w->x1, first ? NULL : w->f, first ? NULL : w->k, w->f1, w->k1, w->used);
  mul_jac_t(p, w->Ma1, -1, w->f1, w->used, w->g1, NULL);
  const real *tau = NUM(p, tau);
  real *g = w->g1;
  EACH(i, p->nv4) g[i] -= tau[i];
  return n;
}

/* M a and J a - aref at the trial point a1, afresh */
FN void recompute_trial(const sc_pack *p, sc_work *w) {
  mul_sym(&p->m, NUM(p, M), w->a1, w->Ma1, NULL);
  mul_jac(p, w->a1, NUM(p, aref), w->x1, NULL);
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

/* the starting point in the trial arrays: qacc_warmstart where its cost is not above that of qacc_smooth, else the latter */
PROC void starting_point(const sc_pack *p, sc_work *w) {
  const real *s = NUM(p, s), *tau = NUM(p, tau), *warm = NUM(p, warm), *aref = NUM(p, aref);
  real *a = w->a1, *Ma = w->Ma1, *x = w->x1, *xw = w->x;
  mask use = never();
  mul_jac(p, s, aref, x, NULL);
  if (w->task.warmstart) {
    real smooth = cost_rows(p, x), inertia = splat(0);
    mul_sym(&p->m, NUM(p, M), warm, Ma, NULL);
    mul_jac(p, warm, aref, xw, NULL);
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

/* before the first step: the starting point, and what is there */
FN iteration start(const sc_pack *p, sc_work *w) {
  iteration it;
  starting_point(p, w);
  it.live = lt(splat(0), *NUM(p, alive));
  it.full = never();
  it.step = it.size = it.norm = it.slope0 = it.slope1 = splat(0);
  it.smooth = dot(p, NUM(p, s), NUM(p, tau));
  EACH(l, SC_LANES) w->iterations[l] = 0, w->end[l] = SC_END_LIMIT;
  it.notes = at_trial(p, w, 1);
  accept(w);
  return it;
}

/* these lanes are done, for this reason */
FN void finish(sc_work *w, iteration *st, mask done, int end) {
  done = both(st->live, done);
  EACH(l, SC_LANES) if (lane_is(done, l)) w->end[l] = end;
  st->live = both(st->live, not(done));
}

/* Shorten or lengthen the step v of the lanes in `need` and move the trial point, which is a + v, along with it: x1 and Ma1 by
 * Jv and the differences that are there. q2: v' M v. Returns the lanes of `need` that are left without a step. */
FN mask search(const sc_pack *p, sc_work *w, iteration *st, mask need, real q2, real *alpha) {
  real t = line_search(p, w, st->slope0, dot_minus(p, w->v, w->Ma, NUM(p, tau)), q2, need);
  real *a = w->a, *a1 = w->a1, *Ma = w->Ma, *Ma1 = w->Ma1, *x = w->x, *x1 = w->x1, *Jv = w->Jv, *v = w->v;
  EACH(i, p->nv4) {
    a1[i] = sel(need, a[i] + t * v[i], a1[i]);
    Ma1[i] = sel(need, Ma[i] + t * (Ma1[i] - Ma[i]), Ma1[i]);
  }
  EACH(r, p->nefc) x1[r] = sel(need, x[r] + t * Jv[r], x1[r]);
  SYNC;
  *alpha = t;
  return both(need, not(lt(splat(0), t)));
}

/* 1/2 v' M^-1 v; v is overwritten */
FN real half_inverse_norm(const sc_pack *p, real *v) {
  solve_lower(&p->m, NUM(p, L), v);
  return splat(0.5) * dot(p, v, v);
}

/* What rounding can do to the gradient at the iterate:
 *   e = 4 u (|M||a| + |tau| + |J|'(|f| + D (|J||a| + |aref|))),   u the rounding of the iteration.
 * Made in three steps, so that each can go along with the product whose size it needs: e = |M||a| and y = |J||a| + |aref|;
 * then this, which makes y the weight of |J|'; then e += |J|' y and scale_error. Returns the lanes whose forces rounding of a
 * alone moves by more than force_noise: stiff rows, f = -D x */
FN mask weigh_error(const sc_pack *p, const sc_work *w, real *y, real *e) {
  const real *tau = NUM(p, tau), *D = NUM(p, D), *f = w->f;
  real noise = splat(0), size = splat(0);
  EACH(r, p->nefc) {
    y[r] *= D[r];
    noise = larger(noise, sel(differ(f[r], splat(0)), y[r], splat(0)));
    size = larger(size, absolute(f[r]));
    y[r] += absolute(f[r]);
  }
  EACH(i, p->nv4) e[i] += absolute(tau[i]);
  SYNC;
  return lt(splat(w->task.force_noise) * largest(size), splat(w->task.rounding) * largest(noise));
}

FN void scale_error(const sc_pack *p, const sc_work *w, real *e) {
  EACH(i, p->nv4) e[i] *= splat(4 * w->task.rounding);
  SYNC;
}

/* e alone; x1 is used on the way */
PROC void rounding_error(const sc_pack *p, sc_work *w, real *e) {
  real *y = w->x1;
  mul_sym(&p->m, NUM(p, M), w->a, NULL, e);
  mul_jac(p, w->a, NUM(p, aref), NULL, y);
  weigh_error(p, w, y, e);
  jac_size size = {y, e};
  mul_jac_t(p, NULL, 1, NULL, NULL, NULL, &size);
  scale_error(p, w, e);
}
