/* The factor of one large system, column by column: without the lists of terms and products by which factor.inl makes a tile in
 * registers, for they would be many times larger than the factor. A column is made in place from M and the rows, then takes
 * from the earlier columns; `at` (nb numbers) tells where in the column in hand a row's tile is. One lane only. */

/* a row of a tile, as a vector; memory need not be aligned for it */
typedef scal tile_row __attribute__((vector_size(4 * sizeof(scal))));
typedef scal tile_row_at __attribute__((vector_size(4 * sizeof(scal)), aligned(sizeof(scal)), may_alias));
#define ROW_OF(A, r) (*(tile_row_at *)((A) + 4 * (r)))
#define CONST_ROW_OF(A, r) (*(const tile_row_at *)((A) + 4 * (r)))

/* C += sum over n of x_n y_n', for the tiles of block x of N rows that touch the same blocks: together, because then a tile is
 * read and written once for all. block[n]: the row's block of column j */
FN void rows_add(const factor_job *job, int N, const int32_t *block, int blocks, const tile_row *y, const int32_t *at) {
  const int32_t *col = job->pack->jcol + block[0];
  const real *J = NUM(job->pack, J);
  for (int b = 0; b < blocks; b++) {
    real *C = job->L + 16 * at[col[b]];
    tile_row c0 = ROW_OF(C, 0), c1 = ROW_OF(C, 1), c2 = ROW_OF(C, 2), c3 = ROW_OF(C, 3);
    for (int n = 0; n < N; n++) {
      const real *x = J + 4 * (block[n] + b);
      c0 += x[0] * y[n], c1 += x[1] * y[n], c2 += x[2] * y[n], c3 += x[3] * y[n];
    }
    ROW_OF(C, 0) = c0, ROW_OF(C, 1) = c1, ROW_OF(C, 2) = c2, ROW_OF(C, 3) = c3;
  }
}

/* whether n numbers are the same */
FN int alike(const int32_t *a, const int32_t *b, int n) {
  int i = 0;
  while (i < n && a[i] == b[i]) i++;
  return i == n;
}

/* the rows' part of column j; its diagonal tile has the terms of all rows that touch it */
FN void column_rows(const factor_job *job, int first, const int32_t *at) {
  const sc_pack *p = job->pack;
  const real *J = NUM(p, J);
  int32_t block[4];
  tile_row y[4];
  for (int e = p->termadr[first], end = p->termadr[first + 1]; e < end;) {
    int n = 0, blocks = 0;
    for (; e < end && n < 4; e++) { /* up to four rows alike */
      int row = p->term[e].row, b = p->term[e].bi, left = p->jadr[row + 1] - b;
      if (!job->used[row]) continue;
      if (n && (left != blocks || !alike(p->jcol + b, p->jcol + block[0], left))) break;
      int sliding = job->Z && row >= p->conerow;
      const real *from = sliding ? job->Z + 4 * (b - p->jadr[p->conerow]) : J + 4 * b;
      y[n] = (sliding ? 1 : job->k[row]) * CONST_ROW_OF(from, 0);
      block[n++] = b, blocks = left;
    }
    if (n == 4)
      rows_add(job, 4, block, blocks, y, at);
    else
      for (int i = 0; i < n; i++) rows_add(job, 1, block + i, blocks, y + i, at);
  }
}

/* Subtract the products with N earlier columns k that have the same rows from row j on: X Y' from tile (i, j), X = (i, k) and
 * Y = (j, k). from[n]: tile (j, k) of the n-th. Together, because then a tile is read and written once for all. */
FN void column_take(const factor_job *job, int N, const int32_t *from, int tiles, const int32_t *at) {
  const int32_t *row = job->tiles->row + from[0];
  tile_row turned[4][4];
  for (int n = 0; n < N; n++) {
    const real *Y = job->L + 16 * from[n];
    for (int q = 0; q < 4; q++) turned[n][q] = (tile_row){Y[q], Y[4 + q], Y[8 + q], Y[12 + q]};
  }
  for (int e = 0; e < tiles; e++) {
    real *C = job->L + 16 * at[row[e]];
    tile_row c0 = ROW_OF(C, 0), c1 = ROW_OF(C, 1), c2 = ROW_OF(C, 2), c3 = ROW_OF(C, 3);
    for (int n = 0; n < N; n++) {
      const real *X = job->L + 16 * (from[n] + e);
      for (int q = 0; q < 4; q++, X++) c0 -= X[0] * turned[n][q], c1 -= X[4] * turned[n][q], c2 -= X[8] * turned[n][q], c3 -= X[12] * turned[n][q];
    }
    ROW_OF(C, 0) = c0, ROW_OF(C, 1) = c1, ROW_OF(C, 2) = c2, ROW_OF(C, 3) = c3;
  }
}

/* how many tiles of the column of tile e stand at or below it */
FN int tiles_from(const sc_tiles *t, int e) { return t->adr[t->rowcol[e] + 1] - t->rowtile[e]; }

/* whether the columns of row j's entries e .. e+3 have the same rows from j on */
FN int four_alike(const sc_tiles *t, int e, int end) {
  if (e + 4 > end) return 0;
  int n = tiles_from(t, e);
  const int32_t *row = t->row + t->rowtile[e];
  for (int k = 1; k < 4; k++)
    if (tiles_from(t, e + k) != n || !alike(row, t->row + t->rowtile[e + k], n)) return 0;
  return 1;
}

/* everything that earlier columns take from column j */
FN void column_products(const factor_job *job, int j, const int32_t *at) {
  const sc_tiles *t = job->tiles;
  int end = t->rowadr[j + 1];
  for (int e = t->rowadr[j]; e < end;) {
    if (four_alike(t, e, end)) {
      column_take(job, 4, t->rowtile + e, tiles_from(t, e), at);
      e += 4;
    } else {
      column_take(job, 1, t->rowtile + e, tiles_from(t, e), at);
      e++;
    }
  }
}

/* the whole factor; returns the lanes in which a pivot had to be raised */
PROC mask factor_columns(const factor_job *job, int32_t *at) {
  const sc_tiles *t = job->tiles;
  mask low = never();
  for (int j = 0; j < t->nb; j++) {
    int first = t->adr[j], end = t->adr[j + 1];
    real *L = job->L + 16 * first;
    for (int e = first; e < end; e++) {
      int m = job->pack ? job->pack->mtile[e] : e;
      at[t->row[e]] = e;
      for (int i = 0; i < 16; i++) job->L[16 * e + i] = m < 0 ? splat(0) : job->M[16 * m + i];
    }
    if (job->pack) column_rows(job, first, at);
    for (int s = 0; s < 4; s++) job->diag[s] = L[5 * s];
    column_products(job, j, at);
    low = either(low, tile_cholesky(L, job->diag, job->floor));
    for (int e = first + 1; e < end; e++) tile_solve(job->L + 16 * e, L);
  }
  return low;
}
