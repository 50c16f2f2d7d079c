/* Products with M and J, and the gradient. */

/* A tile is handled in parts of TILE_ROWS rows; part i of a list of tiles is part PART_ROW(i) / TILE_ROWS of tile PART_TILE(i). */
#define TILE_PARTS (4 / TILE_ROWS)
#define PART_TILE(i) ((i) / TILE_PARTS)
#define PART_ROW(i) ((i) % TILE_PARTS * TILE_ROWS)

#define NUM(p, field) ((real *)(p)->num[SC_SINGLE].field)

/* The products below also have a size, the sum of what they add up without its signs. y or size may be NULL. */

/* s += A x and, if sized, size += |A| |x|, for TILE_ROWS rows of a tile or of its transpose: entry (r, c) is at
 * a[r * down + c * across] */
FN void mul_tile(const real *a, int down, int across, const real *x, int sized, real *s, real *size) {
  for (int c = 0; c < 4; c++)
    for (int r = 0; r < TILE_ROWS; r++) {
      real entry = a[r * down + c * across];
      s[r] += entry * x[c];
      if (sized) size[r] += absolute(entry) * absolute(x[c]);
    }
}

/* y = A x, size = |A| |x| for a symmetric A in tiles; for others to read after the caller's next SYNC */
FN_SHARED void mul_sym(const sc_tiles *t, const real *A, const real *x, real *y, real *size) {
  EACH(part, TILE_PARTS * t->nb) {
    int i = PART_TILE(part), r0 = PART_ROW(part);
    real s[TILE_ROWS], z[TILE_ROWS];
    for (int r = 0; r < TILE_ROWS; r++) s[r] = z[r] = splat(0);
    for (int e = t->rowadr[i]; e < t->rowadr[i + 1]; e++) /* A_ij, j < i */
      mul_tile(A + 16 * t->rowtile[e] + 4 * r0, 4, 1, x + 4 * t->rowcol[e], size != NULL, s, z);
    mul_tile(A + 16 * t->adr[i] + 4 * r0, 4, 1, x + 4 * i, size != NULL, s, z);
    for (int e = t->adr[i] + 1; e < t->adr[i + 1]; e++) /* A_ji', j > i */
      mul_tile(A + 16 * e + r0, 1, 4, x + 4 * t->row[e], size != NULL, s, z);
    for (int r = 0; r < TILE_ROWS; r++) {
      if (y) y[4 * i + r0 + r] = s[r];
      if (size) size[4 * i + r0 + r] = z[r];
    }
  }
}

/* y = J x - sub, sub NULL: 0;  size = |J| |x| + |sub| */
FN_SHARED void mul_jac(const sc_pack *p, const real *x, const real *sub, real *y, real *size) {
  const real *J = NUM(p, J);
  EACH(r, p->nefc) {
    real s[4] = {splat(0), splat(0), splat(0), splat(0)}, z[4] = {splat(0), splat(0), splat(0), splat(0)};
    for (int e = p->jadr[r]; e < p->jadr[r + 1]; e++) {
      const real *j = J + 4 * e, *xj = x + 4 * p->jcol[e];
      for (int c = 0; c < 4; c++) {
        if (y) s[c] += j[c] * xj[c];
        if (size) z[c] += absolute(j[c]) * absolute(xj[c]);
      }
    }
    real less = sub ? sub[r] : splat(0);
    if (y) y[r] = (s[0] + s[1]) + (s[2] + s[3]) - less;
    if (size) size[r] = (z[0] + z[1]) + (z[2] + z[3]) + absolute(less);
  }
  SYNC;
}

/* A sum |J|' weight over all rows that is added to `sum`. */
typedef struct { const real *weight; real *sum; } jac_size;

/* The rows of a block column are the terms of its diagonal tile in the Hessian. */
FN_SHARED void jac_t_sums(const sc_pack *p, const real *base, double sign, const real *f, const uint8_t *used, real *y,
                          const real *weight, real *sum) {
  const real *J = NUM(p, J);
  EACH(part, TILE_PARTS * p->nb) {
    int i = PART_TILE(part), r0 = PART_ROW(part), tile = p->h.adr[i];
    real s[TILE_ROWS], z[TILE_ROWS];
    for (int c = 0; c < TILE_ROWS; c++) s[c] = z[c] = splat(0);
    for (int e = p->termadr[tile]; e < p->termadr[tile + 1]; e++) {
      const sc_term *term = p->term + e;
      if (!sum && !used[term->row]) continue;
      const real *j = J + 4 * term->bi + r0;
      for (int c = 0; c < TILE_ROWS; c++) {
        if (y) s[c] += j[c] * f[term->row];
        if (sum) z[c] += absolute(j[c]) * weight[term->row];
      }
    }
    for (int c = 0; c < TILE_ROWS; c++) {
      if (y) y[4 * i + r0 + c] = (base ? base[4 * i + r0 + c] : splat(0)) + splat(sign) * s[c];
      if (sum) sum[4 * i + r0 + c] += z[c];
    }
  }
  SYNC;
}

/* y = base + sign J' f over the rows that are in use; base may be NULL. size: besides, and then over all rows */
FN void mul_jac_t(const sc_pack *p, const real *base, double sign, const real *f, const uint8_t *used, real *y, const jac_size *size) {
  jac_t_sums(p, base, sign, f, used, y, size ? size->weight : NULL, size ? size->sum : NULL);
}

/* x . y over dofs */
FN real dot(const sc_pack *p, const real *x, const real *y) {
  real s = splat(0);
  EACH(i, p->nv4) s += x[i] * y[i];
  return total(s);
}

/* x . (y - z) over dofs */
FN real dot_minus(const sc_pack *p, const real *x, const real *y, const real *z) {
  real s = splat(0);
  EACH(i, p->nv4) s += x[i] * (y[i] - z[i]);
  return total(s);
}
