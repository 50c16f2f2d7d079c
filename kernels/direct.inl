/* Equalities alone: (A + R) f = -b, a linear system.
 *
 * Up to SC_DIRECT_ROWS rows of an environment, A + R is formed in tiles and factored, and the answer refined. Beyond that its
 * memory grows out of hand, and conjugate gradients on f need nothing but Y. They are preconditioned by R where there are more
 * rows than dofs, for I + D A has no more than nv + 1 eigenvalues then, and by the diagonal of A + R otherwise. Which of these
 * it is depends on the environment's own rows, whatever its company. */

#define REFINEMENTS 4 /* at most */
#define LOOK_AFTER 4  /* iterations of conjugate gradients from one look at the gap to the next, which costs an iteration too */
#define IDLE_LOOKS 32 /* without a better point, after which nothing more is to be had */

/* A + R of the first 4 a.nb rows; where there is no row, the identity */
PROC void make_square(const sc_pack *p, sc_work *w) {
  const sc_tiles *t = &p->a;
  const real *diag = w->k;
  real *A = w->A;
  EACH(part, TILE_PARTS * t->ntile) {
    int e = PART_TILE(part), col = 0;
    while (t->adr[col + 1] <= e) col++;
    for (int r = 4 * t->row[e] + PART_ROW(part), k = 0; k < TILE_ROWS; k++, r++)
      for (int c = 0; c < 4; c++) {
        int q = 4 * col + c, there = r < p->nefc && q < p->nefc;
        A[16 * e + 4 * (r % 4) + c] = r == q ? (there ? diag[r] : splat(1)) : there ? row_product(p, w->Y, r, q) : splat(0);
      }
  }
  SYNC;
}

/* e = b + R f + Y' z, z = Y f being there */
PROC void square_residual(const sc_pack *p, sc_work *w) {
  const real *R = w->k1, *f = w->f;
  real *e = w->f1;
  dual_residual(p, w->Y, w->Jv, w->z, e);
  EACH(r, p->nefc) e[r] += R[r] * f[r];
  SYNC;
}

/* the preconditioner of row r; by_R: lanes with more rows than dofs */
FN real square_weight(const sc_pack *p, const sc_work *w, mask by_R, int r) {
  const real *D = NUM(p, D), *diag = w->k;
  return sel(by_R, D[r], splat(1) / diag[r]);
}

/* u <- (A + R)^-1 u and v = Y u */
FN void square_solve(const sc_pack *p, sc_work *w, real *v) {
  real *u = w->u, *f1 = w->f1;
  solve_lower(&p->a, w->A, u);
  solve_upper(&p->a, w->A, u);
  EACH(r, p->nefc) f1[r] = r < 4 * p->a.nb ? u[r] : splat(0);
  SYNC;
  mul_dual(p, w->Y, f1, v);
}

/* z of the lanes in `small` by Cholesky. Equalities that contradict each other have forces D times what they disagree by, whose
 * sum is lost to rounding; so z is refined as the root of g(z) = z - Y f(b + Y' z), with steps
 *   -(I + Y D Y')^-1 g = -(g - Y (A + R)^-1 Y' g)
 * as long as |g| halves. */
PROC void square_factored(const sc_pack *p, sc_work *w, mask small) {
  real *u = w->u, *x = w->x, *b = w->Jv, *z = w->z, *g = w->z1, *v = w->a1, *best = w->g, least = splat(0);
  int n = 4 * p->a.nb;
  factor_job job = {&p->a, w->A, w->A, NULL, NULL, NULL, NULL, w->pivot, 4 * SC_EPS};
  make_square(p, w);
  factor(&job);
  EACH(r, n) u[r] = r < p->nefc ? -b[r] : splat(0);
  SYNC;
  square_solve(p, w, v);
  EACH(i, p->nv4) best[i] = z[i] = sel(small, v[i], z[i]);
  SYNC;
  mask open = small;
  for (int round = 0;; round++) {
    dual_residual(p, w->Y, b, z, x);
    law_forces(p, x);
    mul_dual(p, w->Y, x, g);
    EACH(i, p->nv4) g[i] = z[i] - g[i];
    SYNC;
    real size = dot(p, g, g);
    mask better = round ? both(open, lt(size, least)) : always();
    EACH(i, p->nv4) best[i] = sel(better, z[i], best[i]);
    open = round ? both(better, lt(size, splat(0.25) * least)) : small;
    least = sel(better, size, least);
    if (round == REFINEMENTS || !any(open)) break;
    dual_residual(p, w->Y, NULL, g, x);
    EACH(r, n) u[r] = r < p->nefc ? x[r] : splat(0);
    SYNC;
    square_solve(p, w, v);
    EACH(i, p->nv4) z[i] = sel(open, z[i] - (g[i] - v[i]), z[i]);
    SYNC;
  }
  EACH(i, p->nv4) z[i] = sel(small, best[i], z[i]);
  SYNC;
}

/* v becomes s + beta v in live lanes, s = -e times its weight, e the residual */
FN void square_direction(const sc_pack *p, sc_work *w, const iteration *st, mask by_R, real beta) {
  const real *e = w->f1;
  real *v = w->x1;
  EACH(r, p->nefc) v[r] = sel(st->live, beta * v[r] - e[r] * square_weight(p, w, by_R, r), splat(0));
  SYNC;
}

/* -e's: the slope at e along s */
FN real square_slope(const sc_pack *p, const sc_work *w, mask by_R) {
  const real *e = w->f1;
  real es = splat(0);
  EACH(r, p->nefc) es += e[r] * e[r] * square_weight(p, w, by_R, r);
  return total(es);
}

/* the step along v to the minimum, whose slope at its start is -es; z and the residual follow */
PROC void square_step(const sc_pack *p, sc_work *w, iteration *st, real es) {
  const real *R = w->k1, *v = w->x1;
  real *f = w->f, *e = w->f1, *z = w->z, *zv = w->z1, *q = w->x, curv = splat(0), moved = splat(0);
  mul_dual(p, w->Y, v, zv);
  dual_residual(p, w->Y, NULL, zv, q);
  EACH(r, p->nefc) curv += R[r] * v[r] * v[r];
  EACH(i, p->nv4) curv += zv[i] * zv[i];
  curv = total(curv);
  finish(w, st, not(both(lt(splat(0), curv), finite_lane(curv))), SC_END_FLOOR);
  real alpha = sel(st->live, es / sel(st->live, curv, splat(1)), splat(0));
  EACH(r, p->nefc) {
    f[r] += alpha * v[r];
    e[r] += alpha * (q[r] + R[r] * v[r]);
  }
  EACH(i, p->nv4) {
    z[i] += alpha * zv[i];
    moved += alpha * alpha * zv[i] * zv[i];
  }
  st->step = total(moved);
  SYNC;
}

/* The best point of conjugate gradients so far, at w->g: rounding may lead them away from it again. */
typedef struct {
  real gap;                 /* the certificate's there */
  real idle;                /* looks since then */
} square_best;

/* Lanes are done when the certificate's gap is within the tolerance, a step moved no digit of z, or no look has found a better
 * point for long. Of the others z and the residual are taken afresh. */
PROC void square_look(const sc_pack *p, sc_work *w, iteration *st, square_best *least) {
  real tiny = splat(4 * SC_EPS), *z = w->z, *fresh = w->z1, *best = w->g, gap = dual_gap(p, w);
  mask better = both(st->live, lt(gap, least->gap));
  EACH(i, p->nv4) best[i] = sel(better, z[i], best[i]);
  least->gap = sel(better, gap, least->gap);
  least->idle = sel(better, splat(0), least->idle + splat(1));
  finish(w, st, le(*(const real *)NUM(p, scale) * gap, splat(w->task.tolerance)), SC_END_CONVERGED);
  finish(w, st, le(st->step, tiny * tiny * larger(dot(p, z, z), st->smooth)), SC_END_FLOOR);
  finish(w, st, le(splat(IDLE_LOOKS), least->idle), SC_END_FLOOR);
  mul_dual(p, w->Y, w->f, fresh);
  EACH(i, p->nv4) z[i] = sel(st->live, fresh[i], z[i]);
  SYNC;
  square_residual(p, w);
}

/* z of the lanes in `large` by conjugate gradients on f, from where they are */
PROC void square_cg(const sc_pack *p, sc_work *w, mask large, mask by_R) {
  real *v = w->x1, *z = w->z, *best = w->g;
  iteration st;
  square_best least = {splat(SC_SINGLE ? 3e38 : 1e300), splat(0)};
  st.live = large;
  st.smooth = dot(p, NUM(p, s), NUM(p, tau));
  st.step = st.smooth + splat(1);
  EACH(r, p->nefc) v[r] = splat(0);
  EACH(i, p->nv4) best[i] = z[i];
  SYNC;
  square_look(p, w, &st, &least);
  real beta = splat(0), es = square_slope(p, w, by_R);
  for (int it = 1; it <= w->task.iterations && any(st.live); it++) {
    EACH(l, SC_LANES) if (lane_is(st.live, l)) w->iterations[l] = it;
    square_direction(p, w, &st, by_R, beta);
    square_step(p, w, &st, es);
    if (it % LOOK_AFTER == 0 || it == w->task.iterations) square_look(p, w, &st, &least);
    real next = square_slope(p, w, by_R);
    mask some = lt(splat(0), es);
    beta = sel(some, next / sel(some, es, splat(1)), splat(0));
    es = next;
  }
  EACH(i, p->nv4) z[i] = sel(large, best[i], z[i]);
  SYNC;
}

PROC void direct(const sc_pack *p, sc_work *w) {
  const real *D = NUM(p, D);
  real *z = w->z, rows = splat(0);
  EACH(r, p->nefc) rows += sel(lt(splat(0), D[r]), splat(1), splat(0));
  rows = total(rows);
  mask alive = lt(splat(0), *NUM(p, alive)), large = both(alive, lt(splat(SC_DIRECT_ROWS), rows));
  mask small = both(alive, both(not(large), lt(splat(0), rows)));
  EACH(l, SC_LANES) {
    w->iterations[l] = lane_is(small, l);
    w->end[l] = lane_is(large, l) ? SC_END_LIMIT : SC_END_CONVERGED;
  }
  make_dual(p, w, 1);
  EACH(i, p->nv4) z[i] = splat(0);
  SYNC;
  if (any(large)) {
    pgs_start(p, w);
    square_cg(p, w, large, lt(splat(p->nv4), rows));
  }
  EACH(i, p->nv4) z[i] = sel(large, z[i], splat(0));
  SYNC;
  if (any(small)) square_factored(p, w, small);
  dual_answer(p, w);
}
