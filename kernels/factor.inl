/* H = M + J' K J and its Cholesky factor, tile by tile, and the solve with it.
 *
 * Left-looking: a tile is made from M, the rows and the factor's earlier columns while it is in registers, and stored
 * once; H itself is never stored. Diagonal tiles keep the inverse of the factor's diagonal on their diagonal. */

/* columns of a tile handled at once: as many as the registers hold accumulators for */
#if SC_LANES == 1 || defined(__AVX512VL__) || defined(__aarch64__)
#define TILE_COLS 4
#else
#define TILE_COLS 2
#endif

/* What a factor is made of. Without `pack`: of M alone. */
typedef struct {
  const sc_tiles *tiles;
  real *L;
  const real *M;
  const sc_pack *pack;
  const real *k, *Z;      /* curvature of the rows; K J of the elliptic ones, NULL when none slides */
  const uint8_t *used;
  real *diag;             /* [4] of the column that is being made: the diagonal of H */
  scal floor;             /* smallest pivot, relative to the diagonal */
} factor_job;

/* c[r][s] += x_r y_s */
#define OUTER(c, sign, x, y)                                                                                                \
  for (int r_ = 0; r_ < TILE_ROWS; r_++)                                                                                    \
    for (int s_ = 0; s_ < TILE_COLS; s_++) c[r_][s_] sign (x)[r_] * (y)[s_];

/* add the rows' part of tile t, rows from r0, columns from s0 */
FN void tile_rows(const factor_job *job, int t, int r0, int s0, real c[TILE_ROWS][TILE_COLS]) {
  const sc_pack *p = job->pack;
  const real *J = NUM(p, J);
  int mid = job->Z ? p->termcone[t] : p->termadr[t + 1], zblock = p->jadr[p->conerow];
  for (int e = p->termadr[t]; e < mid; e++) {
    const sc_term *m = p->term + e;
    if (!job->used[m->row]) continue;
    const real *x = J + 4 * m->bi + r0, *yj = J + 4 * m->bj + s0;
    real y[TILE_COLS], k = job->k[m->row];
    for (int s = 0; s < TILE_COLS; s++) y[s] = k * yj[s];
    OUTER(c, +=, x, y)
  }
  for (int e = mid; e < p->termadr[t + 1]; e++) {
    const sc_term *m = p->term + e;
    if (!job->used[m->row]) continue;
    const real *x = J + 4 * m->bi + r0, *y = job->Z + 4 * (m->bj - zblock) + s0;
    OUTER(c, +=, x, y)
  }
}

/* rows from r0 of tile t of H minus the products of earlier columns, stored in L; of a diagonal tile also diag */
FN void tile_gather(const factor_job *job, int t, int r0, int diagonal) {
  const sc_tiles *tiles = job->tiles;
  int m = job->pack ? job->pack->mtile[t] : t;
  real *out = job->L + 16 * t + 4 * r0;
  for (int s0 = 0; s0 < 4; s0 += TILE_COLS) {
    real c[TILE_ROWS][TILE_COLS];
    for (int r = 0; r < TILE_ROWS; r++)
      for (int s = 0; s < TILE_COLS; s++) c[r][s] = m < 0 ? splat(0) : job->M[16 * m + 4 * (r0 + r) + s0 + s];
    if (job->pack) tile_rows(job, t, r0, s0, c);
    for (int r = 0; diagonal && r < TILE_ROWS; r++) {
      real own = c[r][0];
      for (int s = 1; s < TILE_COLS; s++) own = s0 + s <= r0 + r ? c[r][s] : own;
      if (s0 <= r0 + r && r0 + r < s0 + TILE_COLS) job->diag[r0 + r] = own;
    }
    for (int e = tiles->pairadr[t]; e < tiles->pairadr[t + 1]; e++) {
      const real *X = job->L + 16 * tiles->pair[e].x + 4 * r0, *Y = job->L + 16 * tiles->pair[e].y + 4 * s0;
      for (int q = 0; q < 4; q++) {
        real x[TILE_ROWS], y[TILE_COLS];
        for (int r = 0; r < TILE_ROWS; r++) x[r] = X[4 * r + q];
        for (int s = 0; s < TILE_COLS; s++) y[s] = Y[4 * s + q];
        OUTER(c, -=, x, y)
      }
    }
    for (int r = 0; r < TILE_ROWS; r++)
      for (int s = 0; s < TILE_COLS; s++) out[4 * r + s0 + s] = c[r][s];
  }
}

/* Cholesky of a diagonal tile; lanes with a pivot that is not above floor * diag are returned, their pivot raised to it */
FN mask tile_cholesky(real *A, const real *diag, scal floor) {
  mask low = never();
  for (int j = 0; j < 4; j++) {
    real d = A[5 * j], least = diag[j] * floor;
    for (int q = 0; q < j; q++) d -= A[4 * j + q] * A[4 * j + q];
    mask ok = lt(least, d);
    low = either(low, not(ok));
    real inv = splat(1) / root(sel(ok, d, least));
    A[5 * j] = inv;
    for (int i = j + 1; i < 4; i++) {
      real v = A[4 * i + j];
      for (int q = 0; q < j; q++) v -= A[4 * i + q] * A[4 * j + q];
      A[4 * i + j] = v * inv;
    }
  }
  return low;
}

/* B <- B L^-T in TILE_ROWS rows of a tile, L a factored diagonal tile */
FN void tile_solve(real *B, const real *L) {
  for (int r = 0; r < TILE_ROWS; r++)
    for (int j = 0; j < 4; j++) {
      real v = B[4 * r + j];
      for (int q = 0; q < j; q++) v -= B[4 * r + q] * L[4 * j + q];
      B[4 * r + j] = v * L[5 * j];
    }
}

/* the whole factor, to be read after the caller's next SYNC; returns the lanes in which a pivot had to be raised */
FN mask factor(const factor_job *job) {
  const sc_tiles *t = job->tiles;
  mask low = never();
  for (int j = 0; j < t->nb; j++) {
    int first = t->adr[j], n = t->adr[j + 1] - first;
    EACH(part, TILE_PARTS * n) tile_gather(job, first + PART_TILE(part), PART_ROW(part), PART_TILE(part) == 0);
    SYNC;
    real *L = job->L + 16 * first, A[16]; /* everyone factors the diagonal tile for himself */
    for (int q = 0; q < 16; q++) A[q] = L[q];
    low = either(low, tile_cholesky(A, job->diag, job->floor));
    EACH(part, TILE_PARTS * (n - 1)) tile_solve(L + 16 * (1 + PART_TILE(part)) + 4 * PART_ROW(part), A);
    SYNC;
    ONCE {
      for (int q = 0; q < 16; q++) L[q] = A[q];
    }
  }
  return low;
}

#if SC_LANES == 1 && !defined(SC_TEAM)
#include "columns.inl"
#endif

/* by lists of products where there are some */
FN mask factor_any(const factor_job *job, sc_work *w) {
#if SC_LANES == 1 && !defined(SC_TEAM)
  if (!job->tiles->pairadr) return factor_columns(job, w->tile_at);
#endif
  (void)w;
  return factor(job);
}

/* v <- L^-1 v, and w <- L^-1 w unless it is NULL: the factor is read once for both */
FN_SHARED void solve_lower_both(const sc_tiles *t, const real *L, real *v, real *w) {
  real *const vectors[2] = {v, w}; /* loops over both have a fixed length, which lets y be in registers */
  for (int j = 0; j < t->nb; j++) {
    const real *A = L + 16 * t->adr[j];
    real y[2][4];
    for (int k = 0; k < 2 && vectors[k]; k++)
      for (int r = 0; r < 4; r++) {
        y[k][r] = vectors[k][4 * j + r];
        for (int q = 0; q < r; q++) y[k][r] -= A[4 * r + q] * y[k][q];
        y[k][r] *= A[5 * r];
      }
    EACH(part, TILE_PARTS * (t->adr[j + 1] - t->adr[j] - 1)) {
      int e = t->adr[j] + 1 + PART_TILE(part), r0 = PART_ROW(part);
      const real *B = L + 16 * e + 4 * r0;
      for (int k = 0; k < 2 && vectors[k]; k++) {
        real *x = vectors[k] + 4 * t->row[e] + r0, s[TILE_ROWS];
        for (int r = 0; r < TILE_ROWS; r++) s[r] = x[r];
        for (int q = 0; q < 4; q++)
          for (int r = 0; r < TILE_ROWS; r++) s[r] -= B[4 * r + q] * y[k][q];
        for (int r = 0; r < TILE_ROWS; r++) x[r] = s[r];
      }
    }
    SYNC;
    ONCE {
      for (int k = 0; k < 2 && vectors[k]; k++)
        for (int r = 0; r < 4; r++) vectors[k][4 * j + r] = y[k][r];
    }
  }
  SYNC;
}

/* v <- L^-1 v */
FN void solve_lower(const sc_tiles *t, const real *L, real *v) { solve_lower_both(t, L, v, NULL); }

/* v <- L^-T v */
FN_SHARED void solve_upper(const sc_tiles *t, const real *L, real *v) {
  for (int i = t->nb - 1; i >= 0; i--) {
    const real *A = L + 16 * t->adr[i];
    real y[4];
    for (int r = 0; r < 4; r++) y[r] = v[4 * i + r];
    for (int r = 3; r >= 0; r--) {
      for (int q = r + 1; q < 4; q++) y[r] -= A[4 * q + r] * y[q];
      y[r] *= A[5 * r];
    }
    EACH(part, TILE_PARTS * (t->rowadr[i + 1] - t->rowadr[i])) {
      int e = t->rowadr[i] + PART_TILE(part), c0 = PART_ROW(part);
      const real *B = L + 16 * t->rowtile[e] + c0;
      real *x = v + 4 * t->rowcol[e] + c0, s[TILE_ROWS];
      for (int c = 0; c < TILE_ROWS; c++) s[c] = x[c];
      for (int q = 0; q < 4; q++)
        for (int c = 0; c < TILE_ROWS; c++) s[c] -= B[4 * q + c] * y[q];
      for (int c = 0; c < TILE_ROWS; c++) x[c] = s[c];
    }
    SYNC;
    ONCE {
      for (int r = 0; r < 4; r++) v[4 * i + r] = y[r];
    }
  }
  SYNC;
}

/* Z = K J for elliptic contacts of dim d at row; the d rows have the same blocks */
FN void cone_product(const sc_pack *p, int d, int row, const real *coef, const real *x, real *Z) {
  const real *J = NUM(p, J);
  real K[21];
  cone_zone z = cone_find(d, coef, x + row);
  cone_curvature(d, coef, NUM(p, D) + row, x + row, z, K);
  int zblock = p->jadr[p->conerow], n = p->jadr[row + 1] - p->jadr[row];
  for (int i = 0; i < d; i++) {
    real *out = Z + 4 * (p->jadr[row + i] - zblock);
    for (int e = 0; e < 4 * n; e++) {
      real s = splat(0);
      for (int j = 0; j < d; j++) s += CONE_K(K, i, j) * J[4 * p->jadr[row + j] + e];
      out[e] = s;
    }
  }
}

/* K J of elliptic contacts at the residual x, where some slide; else NULL, and their curvatures are those of scalar rows */
FN real *cone_products(const sc_pack *p, sc_work *w, const real *x, int slides) {
  real *Z = slides ? w->Z : NULL;
  if (slides) CONES(p, if (w->used[row]) cone_product(p, d, row, coef, x, Z));
  SYNC;
  return Z;
}

/* H at the rows' curvature k and residual x */
SHARED void factor_hessian(const sc_pack *p, sc_work *w, const real *x, const real *k, int slides) {
  real *Z = cone_products(p, w, x, slides);
  factor_job job = {&p->h, w->H, NUM(p, M), p, k, Z, w->used, w->pivot, 4 * SC_EPS};
  factor_any(&job, w);
}
