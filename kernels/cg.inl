/* Nonlinear conjugate gradients, preconditioned by M, for every row kind: z = M^-1 g, v = -z + beta v, an exact line search.
 *
 * beta is that of Hager and Zhang, as in MuJoCo: with y = g - g_old, u = z - z_old and the step v that led here,
 *   beta = (y'z - 2 (y'u)/(v'y) v'g) / (v'y),   not below -1/(|v| min(0.01, |g|)).
 * It does not depend on the length of v, which is therefore the step to the minimum of the quadratic at its start.
 *
 * H is never made. What the answer is worth stands beside the iteration: 1/2 g'z is the certificate's gap. */

/* steps after which M a and J a - aref are computed afresh: between them they gather rounding */
#if SC_SINGLE
#define FRESH_AFTER 4
#else
#define FRESH_AFTER 16
#endif
/* steps after which what rounding allows is estimated anew, and within which the gap must halve to go on at that level; a
 * multiple of FRESH_AFTER, so that it is judged by a gap as the certificate will find it */
#define FLOOR_AFTER 16

typedef struct {
  mask plain;          /* v is -z: there is no better direction left to try */
  real gap;            /* 1/2 g' M^-1 g */
  real best, past;     /* smallest gap so far; and as it was at the last estimate of the floor */
  real floor;          /* gap that rounding can leave */
} cg_state;

/* v <- -z + beta v in live lanes, zero in finished ones; lanes in `plain` begin anew with -z. z1, g1: z and g before the step */
FN void cg_direction(const sc_pack *p, sc_work *w, iteration *st, cg_state *cg, mask plain) {
  real *v = w->v, *g = w->g, *g1 = w->g1, *z = w->z, *z1 = w->z1;
  const real zero = splat(0);
  real yz = dot_minus(p, z, g, g1), vy = dot_minus(p, v, g, g1), vg = dot(p, v, g), vv = dot(p, v, v), yu = zero;
  EACH(i, p->nv4) yu += (g[i] - g1[i]) * (z[i] - z1[i]);
  yu = total(yu);
  mask curved = both(lt(zero, vy), not(plain));
  real safe = sel(curved, vy, splat(1));
  real beta = (yz - splat(2) * (yu / safe) * vg) / safe;
  real least = splat(-1) / larger(root(vv) * smaller(st->norm, splat(0.01)), splat(1e-15));
  beta = sel(both(curved, finite_lane(beta)), larger(beta, least), zero);
  real vz = beta * vg - splat(2) * cg->gap; /* slope of the new direction; g'z = 2 gap */
  cg->plain = not(both(differ(beta, zero), lt(vz, zero)));
  beta = sel(cg->plain, zero, beta);
  EACH(i, p->nv4) v[i] = sel(st->live, beta * v[i] - z[i], zero);
  SYNC;
  st->slope0 = dot(p, v, g);
}

/* one step of every live lane; the lanes that found none in another direction than -z are returned */
FN mask cg_step(const sc_pack *p, sc_work *w, iteration *st, const cg_state *cg, int fresh) {
  const real *tau = NUM(p, tau), one = splat(1);
  real *a = w->a, *a1 = w->a1, *Ma = w->Ma, *Ma1 = w->Ma1, *x = w->x, *x1 = w->x1, *Jv = w->Jv, *v = w->v, alpha;
  mul_sym(&p->m, NUM(p, M), v, Ma1, NULL);
  mul_jac(p, v, NULL, Jv, NULL);
  real q2 = dot(p, v, Ma1);
  along s = slope_at(p, x, Jv, splat(0), dot_minus(p, v, Ma, tau), q2);
  mask down = both(st->live, both(lt(st->slope0, splat(0)), lt(splat(0), s.curv)));
  real t = sel(down, -st->slope0 / sel(down, s.curv, one), splat(0));
  SYNC;
  EACH(i, p->nv4) {
    v[i] *= t;
    Ma1[i] = Ma[i] + t * Ma1[i];
    a1[i] = a[i] + v[i];
  }
  EACH(r, p->nefc) {
    Jv[r] *= t;
    x1[r] = x[r] + Jv[r];
  }
  SYNC;
  st->slope0 *= t;
  q2 *= t * t;
  mask none = either(both(st->live, not(down)), search(p, w, st, down, q2, &alpha));
  finish(w, st, both(none, cg->plain), SC_END_STALLED);
  st->step = sel(down, alpha * alpha * q2, splat(0));
  if (fresh) recompute_trial(p, w);
  st->size = larger(st->smooth, dot(p, a1, Ma1));
  st->notes = at_trial(p, w, 0);
  accept(w);
  return none;
}

/* z = M^-1 g and the gap at the iterate */
FN void cg_precondition(const sc_pack *p, sc_work *w, iteration *st, cg_state *cg) {
  real *z = w->z, *g = w->g;
  EACH(i, p->nv4) z[i] = g[i];
  SYNC;
  solve_lower(&p->m, NUM(p, L), z);
  cg->gap = splat(0.5) * dot(p, z, z);
  solve_upper(&p->m, NUM(p, L), z);
  st->norm = root(dot(p, g, g));
}

/* Which lanes are done. Converged: scale gap within the tolerance, by a factor of two for what rounding does to the gap.
 * Floor: the gap is one that rounding can leave, and the step was nothing but rounding or the gap falls no more. */
FN void cg_stop(const sc_pack *p, sc_work *w, iteration *st, cg_state *cg, int it) {
  mask done = le(splat(2) * *NUM(p, scale) * cg->gap, splat(w->task.tolerance));
  EACH(l, SC_LANES) if (lane_is(st->live, l)) w->iterations[l] = it;
  finish(w, st, done, SC_END_CONVERGED);
  cg->best = it ? smaller(cg->best, cg->gap) : cg->gap;
  if (it % FLOOR_AFTER || !it || !any(st->live)) return;
  rounding_error(p, w, w->H);
  cg->floor = half_inverse_norm(p, w->H);
  mask tiny = le(st->step, splat(64 * SC_EPS * 64 * SC_EPS) * st->size);
  mask idle = either(tiny, le(splat(0.5) * cg->past, cg->best));
  finish(w, st, either(le(cg->gap, splat(1. / 256) * cg->floor), both(idle, le(cg->gap, splat(0.5) * cg->floor))), SC_END_FLOOR);
  cg->past = cg->best;
}

PROC void cg(const sc_pack *p, sc_work *w) {
  iteration st = start(p, w);
  cg_state state;
  real *v = w->v, *z1 = w->z1, *g1 = w->g1;
  state.plain = never();
  state.floor = splat(0);
  mask plain = always();
  EACH(i, p->nv4) v[i] = z1[i] = g1[i] = splat(0); /* no step before the first */
  cg_precondition(p, w, &st, &state);
  cg_stop(p, w, &st, &state, 0);
  state.past = state.best;
  for (int it = 1; it <= w->task.iterations && any(st.live); it++) {
    cg_direction(p, w, &st, &state, plain);
    plain = cg_step(p, w, &st, &state, it % FRESH_AFTER == 0);
    ONCE SWAP(w->z, w->z1);
    SYNC;
    cg_precondition(p, w, &st, &state);
    cg_stop(p, w, &st, &state, it);
  }
}
