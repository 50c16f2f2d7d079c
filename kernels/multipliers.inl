/* Newton's method where stiff contacts slide: the method of multipliers.
 *
 * The cost of such a contact is a narrow valley that is bent like its cone. Steps along its floor are as short as the valley is
 * narrow, so that their number grows with about the cube root of D A. But f = f(J a - aref) also
 * solves, for any 0 < sigma <= 1, the rows
 *   D^ = sigma D,   aref^ = aref - (1/D - 1/D^) l     at l = f,
 * which are as soft as one likes. Rounds of them, each with the forces l of the one before, lead to the same minimum, and the
 * error of l falls by about 1/(D^ A) in each. Between rounds a few steps are taken on the problem itself, and these end the
 * iteration. Only lanes that take many steps while a stiff contact slides come here.
 * Source: Hestenes 1969, Powell 1969; Rockafellar 1976 for what it is to the dual. */

#define SOFTEN_AFTER 10     /* steps */
#define SOFTEN_ABOVE 1e5    /* D_0 A_00 of a contact, A_00 by the diagonal of M, */
#define SOFTEN_TO 1e3       /* which becomes this */
#define HARD_STEPS 3        /* on the problem itself, between rounds */

typedef struct {
  sc_pack view;             /* the pack with the rows of `soft` in place of its own */
  mask on;                  /* lanes whose contacts are soft now, of those in `stiff` of the iteration */
  real left;                /* steps on the problem itself before the next round */
} softening;

/* in w->soft: D, aref, multipliers, and the contacts' numbers */
FN real *soft_rows(const sc_pack *p, const sc_work *w, int which) { return (real *)w->soft + which * p->nefc; }

/* sigma of the contact at `row` */
FN real soft_sigma(const sc_pack *p, int row) {
  const real *J = NUM(p, J), *M = NUM(p, M);
  real A = splat(0);
  for (int e = p->jadr[row]; e < p->jadr[row + 1]; e++)
    for (int c = 0; c < 4; c++) A += J[4 * e + c] * J[4 * e + c] / M[16 * p->m.adr[p->jcol[e]] + 5 * c];
  real DA = NUM(p, D)[row] * A;
  mask stiff = lt(splat(SOFTEN_ABOVE), DA);
  return sel(stiff, splat(SOFTEN_TO) / sel(stiff, DA, splat(1)), splat(1));
}

/* the rows of a contact of dim d in these lanes: soft, or its own */
FN void soften_contact(const sc_pack *p, sc_work *w, int d, int row, const real *coef, mask lanes, mask on) {
  const real *D = NUM(p, D), *aref = NUM(p, aref), *l = soft_rows(p, w, 2);
  real *Dh = soft_rows(p, w, 0), *ah = soft_rows(p, w, 1), *ch = soft_rows(p, w, 3) + (coef - (const real *)NUM(p, cone));
  real sigma = sel(on, soft_sigma(p, row), splat(1));
  for (int j = 0; j < d; j++) {
    mask some = both(lt(sigma, splat(1)), lt(splat(0), D[row + j]));
    real more = (splat(1) / sel(some, sigma * D[row + j], splat(1))) * (splat(1) - sigma); /* 1/D^ - 1/D */
    Dh[row + j] = sel(lanes, sigma * D[row + j], Dh[row + j]);
    ah[row + j] = sel(lanes, sel(some, aref[row + j] + more * l[row + j], aref[row + j]), ah[row + j]);
  }
  ch[1] = sel(lanes, sigma * coef[1], ch[1]);
}

/* lanes with a stiff contact that slides */
FN mask stiff_sliding(const sc_pack *p, const real *k) {
  mask stiff = never();
  CONES(p, {
    mask slides = lt(k[row], splat(0));
    if (any(slides)) stiff = either(stiff, both(slides, lt(soft_sigma(p, row), splat(1))));
  });
  return anywhere(stiff);
}

/* the pack with the rows of `soft` */
FN void soften_view(const sc_pack *p, const sc_work *w, softening *soft) {
  soft->view = *p;
  soft->view.num[SC_SINGLE].D = soft_rows(p, w, 0), soft->view.num[SC_SINGLE].aref = soft_rows(p, w, 1);
  soft->view.num[SC_SINGLE].cone = soft_rows(p, w, 3);
}

/* at first: every row as it is, and no round has ended anywhere */
PROC void soften_begin(const sc_pack *p, sc_work *w, softening *soft) {
  const real *D = NUM(p, D), *aref = NUM(p, aref), *cone = NUM(p, cone);
  real *Dh = soft_rows(p, w, 0), *ah = soft_rows(p, w, 1), *l = soft_rows(p, w, 2), *ch = soft_rows(p, w, 3);
  real *z = w->z, *a = w->a;
  int cones = 0;
  for (int k = 0; k < SC_NDIM; k++) cones += p->ncone[k] * CONE_COEF(SC_DIM(k));
  EACH(r, p->nefc) Dh[r] = D[r], ah[r] = aref[r], l[r] = splat(0);
  EACH(i, cones) ch[i] = cone[i];
  EACH(i, p->nv4) z[i] = a[i];
  SYNC;
  soften_view(p, w, soft);
}

/* other rows in these lanes: soft in those of `on`. Everything at the iterate again, which is w->z where a round begins anew */
PROC void soften_switch(const sc_pack *p, sc_work *w, iteration *st, softening *soft, mask lanes, mask on) {
  const sc_pack *view = &soft->view;
  real *a = w->a, *a1 = w->a1, *z = w->z, *x = w->x, *x1 = w->x1, *Ma = w->Ma, *Ma1 = w->Ma1, *f = w->f, *f1 = w->f1;
  real *k = w->k, *k1 = w->k1, *g = w->g, *g1 = w->g1;
  mask anew = both(both(lanes, on), st->stiff);
  CONES(p, soften_contact(p, w, d, row, coef, lanes, on));
  EACH(i, p->nv4) a1[i] = sel(anew, z[i], a[i]);
  SYNC;
  recompute_trial(view, w);
  EACH(i, p->nv4) Ma1[i] = sel(lanes, Ma1[i], Ma[i]);
  EACH(r, p->nefc) x1[r] = sel(lanes, x1[r], x[r]);
  SYNC;
  row_notes notes = at_trial(view, w, 1);
  EACH(i, p->nv4) g1[i] = sel(lanes, g1[i], g[i]);
  EACH(r, p->nefc) f1[r] = sel(lanes, f1[r], f[r]), k1[r] = sel(lanes, k1[r], k[r]);
  accept(w);
  st->notes.slides = either(both(lanes, notes.slides), both(not(lanes), st->notes.slides));
  st->notes.changed = either(st->notes.changed, lanes);
  st->norm = sel(lanes, root(dot(p, w->g, w->g)), st->norm);
}

/* After a step; was: the lanes that were live before it. Returns the pack to go on with. */
PROC const sc_pack *soften(const sc_pack *p, const sc_pack *at, sc_work *w, iteration *st, softening *soft, mask was) {
  mask fresh = both(both(st->live, not(st->stiff)), stiff_sliding(p, w->k));
  if (at == p && !any(fresh)) return p;
  if (at == p) soften_begin(p, w, soft);
  mask solved = both(both(soft->on, both(was, not(st->live))), finite_lane(st->norm)); /* a round has ended */
  mask hard = both(both(st->live, st->stiff), not(soft->on));
  soft->left -= splat(1);
  mask again = both(hard, le(soft->left, splat(0)));
  mask on = either(fresh, again), lanes = either(on, solved);
  if (!any(lanes)) return &soft->view;
  const real *f = w->f, *a = w->a;
  real *l = soft_rows(p, w, 2), *z = w->z;
  EACH(r, p->nefc) l[r] = sel(solved, f[r], l[r]);
  EACH(i, p->nv4) z[i] = sel(solved, a[i], z[i]);
  SYNC;
  EACH(e, SC_LANES) if (lane_is(solved, e)) w->end[e] = SC_END_LIMIT;
  st->live = either(st->live, solved);
  soften_switch(p, w, st, soft, lanes, on);
  st->stiff = either(st->stiff, fresh);
  soft->on = either(both(soft->on, not(lanes)), on);
  soft->left = sel(solved, splat(HARD_STEPS), soft->left);
  return &soft->view;
}
