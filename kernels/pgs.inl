/* Projected Gauss-Seidel on the dual: block after block takes the force that is best while the others stay.
 *
 * A block is a scalar row or an elliptic contact, which takes two steps: along its ray, f times t >= 0, and then its tangents
 * at a fixed normal force, on the disk |y| <= f_0. Without a force there is no ray: then the normal force alone where e_0 < 0,
 * or along z = (1, -e_t/|e_t|) where that descends, e_0 < |e_t|. Without this the tip holds contacts that should slide.
 *
 * Before a sweep the forces are extrapolated (Nesterov), and back onto what the rows allow; the momentum starts anew when a sweep
 * turns back or goes uphill. The order is that of the pack: equalities, dry friction, one-sided rows, contacts.
 * Sources: MuJoCo documentation, "Computation: constraint solver"; O'Donoghue and Candes 2015 for the restart. */

typedef struct {
  real gain, rise; /* what the sweep took off the dual's cost, what the extrapolation before it added */
  real since;      /* sweeps since the momentum began */
  real wait;       /* sweeps until the gap is looked at again */
  mask pushed;     /* the sweep began with an extrapolation */
} pgs_state;

/* the force of a scalar row between its bounds */
FN_SHARED void pgs_scalar(const sc_pack *p, sc_work *w, const iteration *st, pgs_state *pg, int r, real least, real most) {
  const real *b = w->Jv, *R = w->k1, *diag = w->k, *Y = w->Y;
  real *f = w->f, *z = w->z;
  real e = b[r] + R[r] * f[r] + row_dot(p, Y, r, z);
  real next = smaller(larger(f[r] - e / diag[r], least), most), step = sel(st->live, next - f[r], splat(0));
  pg->gain -= step * (e + splat(0.5) * diag[r] * step);
  next = sel(st->live, next, f[r]);
  SYNC;
  ONCE { f[r] = next; }
  row_add(p, Y, r, step, z);
  SYNC;
}

/* f moved along its ray, or off the tip; e: the residual at f */
FN void pgs_ray(int d, const real *B, const real *e, const real *f, real *next) {
  real T = splat(0), fe = f[0] * e[0], fBf = f[0] * f[0] * B[0], zBz = B[0];
  for (int j = 1; j < d; j++) {
    T += e[j] * e[j];
    fe += f[j] * e[j];
    fBf += f[j] * (splat(2) * f[0] * DUAL_COUPLING(B, j) + f[j] * DUAL_TANGENT(B, d, j));
  }
  T = root(T);
  real over = splat(1) / sel(lt(splat(0), T), T, splat(1));
  for (int j = 1; j < d; j++) {
    real u = e[j] * over;
    zBz += u * (u * DUAL_TANGENT(B, d, j) - splat(2) * DUAL_COUPLING(B, j));
  }
  mask tip = either(le(f[0] * B[0], splat(SC_EPS) * (absolute(e[0]) + T)), le(fBf, splat(0)));
  real t = larger(splat(1) - fe / sel(tip, splat(1), fBf), splat(0));
  mask press = lt(e[0], splat(0));
  real out = sel(press, -e[0] / B[0], larger(T - e[0], splat(0)) / sel(lt(splat(0), zBz), zBz, B[0]));
  next[0] = sel(tip, out, f[0] * t);
  for (int j = 1; j < d; j++) next[j] = sel(tip, sel(press, splat(0), -out * (e[j] * over)), f[j] * t);
}

FN_SHARED void pgs_contact(const sc_pack *p, sc_work *w, const iteration *st, pgs_state *pg, int d, int row) {
  const real *b = w->Jv, *R = w->k1, *Y = w->Y, *B = dual_coef(p, w, d, row);
  real *f = (real *)w->f + row, *z = w->z, e[6], next[6], g[5], step[6];
  for (int j = 0; j < d; j++) e[j] = b[row + j] + R[row + j] * f[j] + row_dot(p, Y, row + j, z);
  pgs_ray(d, B, e, f, next);
  step[0] = next[0] - f[0];
  for (int j = 1; j < d; j++) g[j - 1] = e[j] + DUAL_COUPLING(B, j) * step[0] - DUAL_TANGENT(B, d, j) * f[j];
  disk_minimum(d - 1, &DUAL_TANGENT(B, d, 1), g, next[0], next + 1);
  real change = step[0] * (e[0] + splat(0.5) * B[0] * step[0]), noise = absolute(e[0]) * (f[0] + next[0]);
  for (int j = 1; j < d; j++) {
    step[j] = next[j] - f[j];
    noise += absolute(e[j]) * (f[0] + next[0]);
    change += step[j] * (e[j] + DUAL_COUPLING(B, j) * step[0] + splat(0.5) * DUAL_TANGENT(B, d, j) * step[j]);
  }
  /* both steps descend; across the rim the cost has a slope, so that rounding of the force shows in it */
  mask take = both(st->live, le(change, splat(16 * SC_EPS) * noise));
  pg->gain -= sel(take, change, splat(0));
  for (int j = 0; j < d; j++) next[j] = sel(take, next[j], f[j]);
  for (int j = 0; j < d; j++) {
    SYNC;
    ONCE { f[j] = next[j]; }
    row_add(p, Y, row + j, sel(take, step[j], splat(0)), z);
  }
  SYNC;
}

/* all blocks, one after another */
PROC void pgs_sweep(const sc_pack *p, sc_work *w, const iteration *st, pgs_state *pg) {
  const real *eta = NUM(p, eta), zero = splat(0), far = splat(SC_SINGLE ? 3e38 : 1e300);
  int r = 0;
  pg->gain = zero;
  for (; r < p->ne; r++) pgs_scalar(p, w, st, pg, r, -far, far);
  for (int i = 0; i < p->nf; i++, r++) pgs_scalar(p, w, st, pg, r, -eta[i], eta[i]);
  for (; r < p->conerow; r++) pgs_scalar(p, w, st, pg, r, zero, far);
  CONES_IN_TURN(p, pgs_contact(p, w, st, pg, d, row));
}

FN void project_cone(int d, int row, real *f) {
  real s = splat(0);
  for (int j = 1; j < d; j++) s += f[row + j] * f[row + j];
  s = root(s);
  mask out = lt(f[row], splat(0)), beyond = lt(f[row], s);
  real shrink = sel(out, splat(0), f[row] / sel(beyond, s, splat(1)));
  for (int j = 1; j < d; j++) f[row + j] = sel(beyond, f[row + j] * shrink, f[row + j]);
  f[row] = larger(f[row], splat(0));
}

/* f to what the rows allow */
PROC void project(const sc_pack *p, real *f) {
  const real *eta = NUM(p, eta);
  int ne = p->ne, nf = ne + p->nf;
  EACH(i, p->nf) f[ne + i] = smaller(larger(f[ne + i], -eta[i]), eta[i]);
  EACH(i, p->nu) f[nf + i] = larger(f[nf + i], splat(0));
  CONES(p, project_cone(d, row, f));
  SYNC;
}

/* f(J warm - aref) where that is better than none */
PROC void pgs_start(const sc_pack *p, sc_work *w) {
  real *f = w->f, *x = w->x, *z = w->z, cost = splat(0);
  const real *R = w->k1, *b = w->Jv;
  EACH(r, p->nefc) f[r] = splat(0);
  EACH(i, p->nv4) z[i] = splat(0);
  SYNC;
  if (!w->task.warmstart) return;
  mul_jac(p, NUM(p, warm), NUM(p, aref), x, NULL);
  evaluate_rows(p, x, NULL, NULL, f, w->x1, w->used);
  CONES(p, turn_force(d, coef, dual_coef(p, w, d, row), f + row));
  SYNC;
  mul_dual(p, w->Y, f, z);
  EACH(r, p->nefc) cost += f[r] * (b[r] + splat(0.5) * R[r] * f[r]);
  EACH(i, p->nv4) cost += splat(0.5) * z[i] * z[i];
  mask use = le(total(cost), splat(0));
  EACH(r, p->nefc) f[r] = sel(use, f[r], splat(0));
  EACH(i, p->nv4) z[i] = sel(use, z[i], splat(0));
  SYNC;
}

/* The momentum's step from f, back onto what the rows allow: where the sweep starts. before: f there; g1: its z. */
PROC void pgs_extrapolate(const sc_pack *p, sc_work *w, const iteration *st, pgs_state *pg) {
  const real *b = w->Jv, *R = w->k1;
  real *f = w->f, *before = w->x1, *start = w->f1, *z = w->z, *z0 = w->g1, *zs = w->z1, rise = splat(0);
  real beta = larger((pg->since - splat(1)) / (pg->since + splat(2)), splat(0));
  pg->pushed = lt(splat(0), beta);
  mask push = both(st->live, pg->pushed);
  EACH(r, p->nefc) start[r] = f[r] + beta * (f[r] - before[r]);
  SYNC;
  project(p, start);
  EACH(r, p->nefc) {
    before[r] = f[r];
    f[r] = start[r] = sel(push, start[r], f[r]);
  }
  SYNC;
  mul_dual(p, w->Y, f, zs);
  EACH(i, p->nv4) {
    z0[i] = z[i];
    z[i] = sel(st->live, zs[i], z[i]);
    rise += splat(0.5) * (z[i] - z0[i]) * (z[i] + z0[i]);
  }
  EACH(r, p->nefc) rise += (f[r] - before[r]) * (b[r] + splat(0.5) * R[r] * (f[r] + before[r]));
  pg->rise = total(rise);
  SYNC;
}

/* After a sweep. The momentum begins anew where the sweep turned against it, or where both together went uphill: without the
 * second, stiff contacts under friction run away. Done at what rounding allows: the sweep moved no digit of z. */
PROC void pgs_after(const sc_pack *p, sc_work *w, iteration *st, pgs_state *pg, int it) {
  const real *f = w->f, *before = w->x1, *start = w->f1, *z = w->z, *z0 = w->g1;
  real turn = splat(0), moved = splat(0), tiny = splat(4 * SC_EPS);
  EACH(r, p->nefc) turn += (f[r] - start[r]) * (start[r] - before[r]);
  EACH(i, p->nv4) moved += (z[i] - z0[i]) * (z[i] - z0[i]);
  turn = total(turn), moved = total(moved);
  mask against = both(pg->pushed, either(lt(turn, splat(0)), lt(pg->gain, pg->rise)));
  pg->since = sel(against, splat(0), pg->since + splat(1));
  pg->wait -= splat(1);
  EACH(l, SC_LANES) if (lane_is(st->live, l)) w->iterations[l] = it;
  finish(w, st, not(finite_lane(moved)), SC_END_STALLED);
  finish(w, st, le(moved, tiny * tiny * larger(dot(p, z, z), st->smooth)), SC_END_FLOOR);
}

/* The lanes in `look` whose gap, that of the certificate, is within the tolerance are done. It costs what a sweep costs, so
 * that it is taken only when sweeps gain no more than the tolerance, and then ever more seldom. */
PROC void pgs_look(const sc_pack *p, sc_work *w, iteration *st, pgs_state *pg, mask look, int it) {
  if (!any(look)) return;
  mask done = both(look, le(*(const real *)NUM(p, scale) * dual_gap(p, w), splat(w->task.tolerance)));
  finish(w, st, done, SC_END_CONVERGED);
  pg->wait = sel(look, splat(it / 8), pg->wait);
}

PROC void pgs(const sc_pack *p, sc_work *w) {
  real *f = w->f, *before = w->x1, scale = *NUM(p, scale);
  iteration st;
  pgs_state pg;
  st.live = lt(splat(0), *NUM(p, alive));
  st.smooth = dot(p, NUM(p, s), NUM(p, tau));
  pg.gain = pg.rise = pg.since = pg.wait = splat(0);
  pg.pushed = never();
  EACH(l, SC_LANES) w->iterations[l] = 0, w->end[l] = SC_END_LIMIT;
  make_dual(p, w, 1);
  pgs_start(p, w);
  EACH(r, p->nefc) before[r] = f[r];
  SYNC;
  pgs_look(p, w, &st, &pg, st.live, 0);
  for (int it = 1; it <= w->task.iterations && any(st.live); it++) {
    pgs_extrapolate(p, w, &st, &pg);
    pgs_sweep(p, w, &st, &pg);
    pgs_after(p, w, &st, &pg, it);
    mask small = lt(scale * (pg.gain - pg.rise), splat(w->task.tolerance));
    pgs_look(p, w, &st, &pg, both(both(st.live, small), le(pg.wait, splat(0))), it);
  }
  dual_answer(p, w);
}
