/* Newton's method of a large system in rounds: two of these functions, and between them batched dense routines for all
 * environments (src/cuda_dense.cu) that make H = M + J' (K J), its factor, and the direction from what stands in a sc_cuda_dense.
 * Compiled for CUDA only, in float and double. */

/* The iteration between two steps; SC_NEWTON_BYTES at most. */
typedef struct newton_state {
  iteration st;
  int softened;             /* rows of w->view are read */
} newton_state;
static_assert(sizeof(newton_state) <= SC_NEWTON_BYTES, "SC_NEWTON_BYTES is too small");

/* H <- M, where there is no dof the identity */
FN void dense_inertia(const sc_pack *p, const sc_cuda_dense *dense) {
  const real *M = NUM(p, M);
  real *H = dense->H;
  int n = dense->n;
  EACH(i, n * n) H[i] = splat(0);
  SYNC;
  for (int j = 0; j < p->nb; j++) {
    int first = p->m.adr[j];
    EACH(part, TILE_PARTS * (p->m.adr[j + 1] - first)) {
      int e = first + PART_TILE(part), r = PART_ROW(part);
      for (int c = 0; c < 4; c++) H[(4 * j + c) * n + 4 * p->m.row[e] + r] = M[16 * e + 4 * r + c];
    }
  }
  EACH(i, n - p->nv4) H[(p->nv4 + i) * (n + 1)] = splat(1);
}

/* J', and zeros for K J, which has the same pattern */
FN void dense_jacobian(const sc_pack *p, const sc_cuda_dense *dense) {
  const real *J = NUM(p, J);
  real *to = dense->J, *Z = dense->Z;
  EACH(i, dense->n * dense->m) to[i] = Z[i] = splat(0);
  SYNC;
  EACH(r, p->nefc) {
    for (int e = p->jadr[r]; e < p->jadr[r + 1]; e++)
      for (int c = 0; c < 4; c++) to[r * dense->n + 4 * p->jcol[e] + c] = J[4 * e + c];
  }
}

/* K J at the iterate */
FN void dense_curvature(const sc_pack *p, sc_work *w, const sc_cuda_dense *dense, int slides) {
  const real *J = NUM(p, J), *k = w->k, *cones = cone_products(p, w, w->x, slides);
  real *Z = dense->Z;
  int zblock = p->jadr[p->conerow];
  EACH(r, p->nefc) {
    int coupled = cones && r >= p->conerow;
    for (int e = p->jadr[r]; e < p->jadr[r + 1]; e++)
      for (int c = 0; c < 4; c++) {
        real z = !w->used[r] ? splat(0) : coupled ? cones[4 * (e - zblock) + c] : k[r] * J[4 * e + c];
        Z[r * dense->n + 4 * p->jcol[e] + c] = z;
      }
  }
}

/* what the routines make the direction from */
FN void dense_fill(const sc_pack *p, sc_work *w, const sc_cuda_dense *dense, int slides) {
  const real *g = w->g;
  real *v = dense->v;
  dense_inertia(p, dense);
  dense_curvature(p, w, dense, slides);
  EACH(i, dense->n) v[i] = i < p->nv4 ? -g[i] : splat(0);
}

/* whether a pivot of the factor is one that factor.inl would have raised: not above 4 u H_jj, H_jj = sum over k of L_jk^2 */
FN int dense_pivot_is_low(const sc_cuda_dense *dense) {
  const real *L = dense->H;
  int n = dense->n;
  mask low = never();
  EACH(j, n) {
    real pivot = L[j * (n + 1)] * L[j * (n + 1)], diag = pivot;
    for (int k = 0; k < j; k++) diag += L[k * n + j] * L[k * n + j];
    low = either(low, not(lt(splat(4 * SC_EPS) * diag, pivot)));
  }
  return any(anywhere(low));
}

/* v from the routines; where their factor is none, from that of factor.inl, which raises the pivots */
FN void dense_direction(const sc_pack *p, sc_work *w, const sc_cuda_dense *dense, iteration *st) {
  real *v = w->v;
  const real *from = dense->v;
  if (*dense->info || dense_pivot_is_low(dense)) {
    factor_hessian(p, w, w->x, w->k, any(st->notes.slides));
    newton_direction(p, w, st);
    return;
  }
  EACH(i, p->nv4) v[i] = from[i];
  newton_descent(p, w, st);
}

FN void dense_keep(sc_cuda_rounds *r, const iteration *st, int softened, int taken, int ended) {
  ONCE {
    newton_state *kept = (newton_state *)r->newton;
    kept->st = *st, kept->softened = softened;
    r->taken = taken, r->ended = ended;
  }
}

/* before the first round */
PROC void dense_begin(const sc_pack *p, sc_cuda_rounds *r, const sc_cuda_dense *dense, int valid) {
  sc_work *w = &r->block.iterate;
  EACH(i, SC_NEWTON_BYTES) r->newton[i] = 0; /* structures are copied with their gaps */
  soften_reset(w);
  iteration st = start(p, w);
  if (!valid) st.live = never();
  newton_stop(p, w, &st, 0);
  dense_jacobian(p, dense);
  dense_fill(p, w, dense, any(st.notes.slides));
  dense_keep(r, &st, 0, 0, !any(st.live));
}

/* a step, and what the next one is made from; last: there is none in this way */
PROC void dense_step(const sc_pack *p, sc_cuda_rounds *r, const sc_cuda_dense *dense, int last) {
  sc_work *w = &r->block.iterate;
  const newton_state *kept = (const newton_state *)r->newton;
  const sc_pack *at = kept->softened ? w->view : p;
  iteration st = kept->st;
  int it = r->taken + 1;
  mask was = st.live;
  dense_direction(at, w, dense, &st);
  at = newton_take(p, at, w, &st, it, was);
  int ended = !any(st.live) || it >= w->task.iterations;
  if (!ended && !last) dense_fill(at, w, dense, any(st.notes.slides));
  dense_keep(r, &st, at != p, it, ended);
}
