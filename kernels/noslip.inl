/* Noslip: the friction forces of an answer once more, without regularisation, while everything else stays: dry friction rows,
 * the difference of each pair of opposite edges of a pyramid at their sum, the tangents of an elliptic contact at its normal
 * force. Blocks are visited one after another, as in MuJoCo: dry friction, pairs, contacts of dim 3, 4, 6.
 *
 * It solves no one problem: the certificate's verdict is taken before it. Compiled in double only.
 * On entry f, k, g1, a are what certify leaves; on return they belong to the new forces in the lanes where some force moved,
 * which are those of w->changed. What is measured against a scale is relative, so that heavy bodies are treated like light ones. */

typedef struct {
  mask live, moved;
  real gain; /* decrease of 1/2 f'A f + b'f in a sweep */
} noslip_state;

/* the force of row r moves by step */
FN void noslip_move(const sc_pack *p, sc_work *w, noslip_state *st, int r, real step) {
  real *f = w->f, next = f[r] + step;
  st->moved = either(st->moved, differ(step, splat(0)));
  SYNC;
  ONCE { f[r] = next; }
  row_add(p, w->Y, r, step, w->z);
}

FN_SHARED void noslip_row(const sc_pack *p, sc_work *w, noslip_state *st, int r, real eta) {
  const real *b = w->Jv, *diag = w->k, *f = w->f;
  mask moves = both(st->live, lt(splat(0), diag[r]));
  real e = b[r] + row_dot(p, w->Y, r, w->z), next = f[r] - e / sel(moves, diag[r], splat(1));
  real step = sel(moves, smaller(larger(next, -eta), eta) - f[r], splat(0));
  st->gain -= step * (e + splat(0.5) * diag[r] * step);
  noslip_move(p, w, st, r, step);
  SYNC;
}

/* edges r and r + 1 with forces m + y and m - y, in the lanes `on`; bend: A_rr + A_ss - 2 A_rs */
FN_SHARED void noslip_pair(const sc_pack *p, sc_work *w, noslip_state *st, int r, mask on, real bend) {
  const real *b = w->Jv, *diag = w->k, *f = w->f;
  on = both(on, st->live);
  if (!any(on)) return;
  mask moves = lt(splat(NO_MOTION) * (diag[r] + diag[r + 1]), bend);
  real m = splat(0.5) * (f[r] + f[r + 1]), y = splat(0.5) * (f[r] - f[r + 1]);
  real e = b[r] - b[r + 1] + (row_dot(p, w->Y, r, w->z) - row_dot(p, w->Y, r + 1, w->z));
  real next = sel(moves, y - e / sel(moves, bend, splat(1)), splat(0));
  real step = sel(on, smaller(larger(next, -m), m) - y, splat(0));
  st->gain -= step * (e + splat(0.5) * bend * step);
  noslip_move(p, w, st, r, step);
  noslip_move(p, w, st, r + 1, -step);
  SYNC;
}

FN_SHARED void noslip_contact(const sc_pack *p, sc_work *w, noslip_state *st, int d, int row) {
  const real *b = w->Jv, *B = dual_coef(p, w, d, row), *f = (real *)w->f + row;
  real e[6], g[5], y[5], step[6], change = splat(0), noise = splat(0);
  for (int j = 1; j < d; j++) {
    e[j] = b[row + j] + row_dot(p, w->Y, row + j, w->z);
    g[j - 1] = e[j] - DUAL_TANGENT(B, d, j) * f[j];
  }
  disk_minimum(d - 1, &DUAL_TANGENT(B, d, 1), g, f[0], y);
  for (int j = 1; j < d; j++) {
    step[j] = y[j - 1] - f[j];
    change += step[j] * (e[j] + splat(0.5) * DUAL_TANGENT(B, d, j) * step[j]);
    noise += absolute(e[j]) * f[0];
  }
  mask take = both(st->live, le(change, splat(32 * SC_EPS) * noise));
  st->gain -= sel(take, change, splat(0));
  for (int j = 1; j < d; j++) noslip_move(p, w, st, row + j, sel(take, step[j], splat(0)));
  SYNC;
}

PROC void noslip_sweep(const sc_pack *p, sc_work *w, noslip_state *st) {
  const real *eta = NUM(p, eta), *pair = NUM(p, pair), *bend = w->k1;
  int nf = p->ne + p->nf;
  for (int i = 0; i < p->nf; i++) noslip_row(p, w, st, p->ne + i, eta[i]);
  for (int i = 0; i + 1 < p->nu; i++) noslip_pair(p, w, st, nf + i, lt(splat(0), pair[i]), bend[nf + i]);
  CONES_IN_TURN(p, noslip_contact(p, w, st, d, row));
}

/* zones as the forces show them: on a bound or not */
FN void noslip_zone_cone(int d, int row, const real *f, real *zone) {
  real yy = splat(0);
  for (int j = 1; j < d; j++) yy += f[row + j] * f[row + j];
  mask none = le(f[row], splat(0)), rim = le(f[row] * splat(1 - 1e-12), root(yy));
  real z = sel(none, splat(ZONE_SATISFIED), sel(rim, splat(ZONE_CONE), splat(ZONE_QUADRATIC)));
  for (int j = 0; j < d; j++) zone[row + j] = z;
}

/* f: with y in the place of an elliptic contact's tangents */
PROC void noslip_zones(const sc_pack *p, const real *f, real *zone) {
  const real *eta = NUM(p, eta);
  int ne = p->ne, nf = ne + p->nf;
  EACH(r, ne) zone[r] = splat(ZONE_QUADRATIC);
  EACH(i, p->nf) {
    mask low = le(eta[i], f[ne + i]), high = le(f[ne + i], -eta[i]);
    zone[ne + i] = sel(low, splat(ZONE_LINEARNEG), sel(high, splat(ZONE_LINEARPOS), splat(ZONE_QUADRATIC)));
  }
  EACH(i, p->nu) zone[nf + i] = sel(lt(splat(0), f[nf + i]), splat(ZONE_QUADRATIC), splat(ZONE_SATISFIED));
  CONES(p, noslip_zone_cone(d, row, f, zone));
  SYNC;
}

/* before: the dual problem of A alone, the curvature of pairs in k1, z; and what regularisation costs at these forces */
PROC real noslip_begin(const sc_pack *p, sc_work *w) {
  const real *D = NUM(p, D);
  real *f = w->f, *k = w->k, *bend = w->k1, *f0 = w->x1, *zone0 = w->f1, *a0 = w->a1, *Jf0 = w->Ma1, *a = w->a, *Jf = w->g1, cost = splat(0);
  EACH(r, p->nefc) {
    mask there = lt(splat(0), D[r]);
    f0[r] = f[r], zone0[r] = k[r];
    cost += splat(0.5) * f[r] * f[r] / sel(there, D[r], splat(1));
  }
  EACH(i, p->nv4) a0[i] = a[i], Jf0[i] = Jf[i];
  SYNC;
  make_dual(p, w, 0);
  EACH(i, p->nu - 1) {
    int r = p->ne + p->nf + i;
    bend[r] = k[r] + k[r + 1] - splat(2) * row_product(p, w->Y, r, r + 1);
  }
  CONES(p, turn_force(d, coef, dual_coef(p, w, d, row), f + row));
  SYNC;
  mul_dual(p, w->Y, f, w->z);
  return total(cost);
}

/* after: everything that belongs to the new forces, and what was there in the lanes where none moved */
PROC void noslip_end(const sc_pack *p, sc_work *w, mask moved) {
  real *f = w->f, *k = w->k, *f0 = w->x1, *zone0 = w->f1, *a0 = w->a1, *Jf0 = w->Ma1, *a = w->a, *Jf = w->g1;
  mul_dual(p, w->Y, f, w->z);
  dual_answer(p, w);
  noslip_zones(p, f, k);
  CONES(p, turn_force_back(d, coef, dual_coef(p, w, d, row), f + row));
  EACH(r, p->nefc) w->used[r] = 1;
  SYNC;
  EACH(r, p->nefc) {
    f[r] = sel(moved, f[r], f0[r]);
    k[r] = sel(moved, k[r], zone0[r]);
  }
  SYNC;
  mul_jac_t(p, NULL, 1, f, w->used, Jf, NULL);
  EACH(i, p->nv4) {
    a[i] = sel(moved, a[i], a0[i]);
    Jf[i] = sel(moved, Jf[i], Jf0[i]);
  }
  SYNC;
  EACH(l, SC_LANES) w->changed[l] = lane_is(moved, l);
}

PROC void noslip(const sc_pack *p, sc_work *w) {
  noslip_state st;
  real scale = *NUM(p, scale), first = noslip_begin(p, w);
  st.live = lt(splat(0), *NUM(p, alive));
  st.moved = never();
  for (int it = 0; it < w->task.noslip_iterations && any(st.live); it++) {
    st.gain = it ? splat(0) : first;
    noslip_sweep(p, w, &st);
    st.live = both(st.live, not(lt(scale * st.gain, splat(w->task.noslip_tolerance))));
  }
  noslip_end(p, w, st.moved);
}
