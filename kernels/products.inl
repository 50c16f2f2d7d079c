/* Products with M and J, and the gradient. */

/* A tile is handled in parts of TILE_ROWS rows; part i of a list of tiles is part PART_ROW(i) / TILE_ROWS of tile PART_TILE(i). */
#define TILE_PARTS (4 / TILE_ROWS)
#define PART_TILE(i) ((i) / TILE_PARTS)
#define PART_ROW(i) ((i) % TILE_PARTS * TILE_ROWS)

#define NUM(p, field) ((real *)(p)->num[SC_SINGLE].field)

/* y = A x for a symmetric A in tiles; absolute: |A| |x| */
FN_SHARED void mul_sym(const sc_tiles *t, const real *A, const real *x, real *y, int absolute_value) {
#define ENTRY(e) (absolute_value ? absolute(e) : (e))
  EACH(part, TILE_PARTS * t->nb) {
    int i = PART_TILE(part), r0 = PART_ROW(part);
    real s[TILE_ROWS];
    for (int r = 0; r < TILE_ROWS; r++) s[r] = splat(0);
    for (int e = t->rowadr[i]; e < t->rowadr[i + 1]; e++) { /* A_ij, j < i */
      const real *a = A + 16 * t->rowtile[e] + 4 * r0, *xj = x + 4 * t->rowcol[e];
      for (int c = 0; c < 4; c++)
        for (int r = 0; r < TILE_ROWS; r++) s[r] += ENTRY(a[4 * r + c]) * ENTRY(xj[c]);
    }
    const real *d = A + 16 * t->adr[i] + 4 * r0, *xi = x + 4 * i;
    for (int c = 0; c < 4; c++)
      for (int r = 0; r < TILE_ROWS; r++) s[r] += ENTRY(d[4 * r + c]) * ENTRY(xi[c]);
    for (int e = t->adr[i] + 1; e < t->adr[i + 1]; e++) { /* A_ji', j > i */
      const real *a = A + 16 * e + r0, *xj = x + 4 * t->row[e];
      for (int c = 0; c < 4; c++)
        for (int r = 0; r < TILE_ROWS; r++) s[r] += ENTRY(a[4 * c + r]) * ENTRY(xj[c]);
    }
    for (int r = 0; r < TILE_ROWS; r++) y[4 * i + r0 + r] = s[r];
  }
  SYNC;
}

/* y = J x - sub, sub NULL: 0;  absolute: |J| |x| + |sub| */
FN_SHARED void mul_jac(const sc_pack *p, const real *x, const real *sub, real *y, int absolute_value) {
  const real *J = NUM(p, J);
  EACH(r, p->nefc) {
    real s[4] = {splat(0), splat(0), splat(0), splat(0)};
    for (int e = p->jadr[r]; e < p->jadr[r + 1]; e++) {
      const real *j = J + 4 * e, *xj = x + 4 * p->jcol[e];
      for (int c = 0; c < 4; c++) s[c] += ENTRY(j[c]) * ENTRY(xj[c]);
    }
    real sum = (s[0] + s[1]) + (s[2] + s[3]);
    real less = sub ? sub[r] : splat(0);
    y[r] = absolute_value ? sum + absolute(less) : sum - less;
  }
  SYNC;
#undef ENTRY
}

/* y = base + sign J' f over the rows that are in use; base may be NULL. The rows of a block column are the terms of its
 * diagonal tile in the Hessian */
FN_SHARED void mul_jac_t(const sc_pack *p, const real *base, double sign, const real *f, const uint8_t *used, real *y, int absolute_value) {
  const real *J = NUM(p, J);
  EACH(part, TILE_PARTS * p->nb) {
    int i = PART_TILE(part), r0 = PART_ROW(part), tile = p->h.adr[i];
    real s[TILE_ROWS];
    for (int c = 0; c < TILE_ROWS; c++) s[c] = splat(0);
    for (int e = p->termadr[tile]; e < p->termadr[tile + 1]; e++) {
      const sc_term *term = p->term + e;
      if (!used[term->row]) continue;
      const real *j = J + 4 * term->bi + r0;
      for (int c = 0; c < TILE_ROWS; c++) s[c] += (absolute_value ? absolute(j[c]) : j[c]) * f[term->row];
    }
    for (int c = r0; c < r0 + TILE_ROWS; c++) y[4 * i + c] = (base ? base[4 * i + c] : splat(0)) + splat(sign) * s[c - r0];
  }
  SYNC;
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
