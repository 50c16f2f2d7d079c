/* Newton's method where stiff contacts slide: the method of multipliers.
 *
 * The cost of such a contact is a narrow valley that is bent like its cone. Steps along its floor are as short as the valley is
 * narrow, so that their number grows with about the cube root of D A. But f = f(J a - aref) also solves, for any
 * 0 < sigma <= 1, the rows
 *   D^ = sigma D,   aref^ = aref - (1/D - 1/D^) l     at l = f,
 * which are as soft as one likes. Rounds of them, each with the forces l of the one before, lead to the same minimum, and the
 * error of l falls by about 1/(D^ A) in each. Between rounds a few steps are taken on the problem itself, and these end the
 * iteration. Only lanes that take many steps while a stiff contact slides come here.
 * Source: Hestenes 1969, Powell 1969; Rockafellar 1976 for what it is to the dual. */

#define SOFTEN_AFTER 10     /* steps */
#define SOFTEN_ABOVE 1e5    /* D_0 A_00 of a contact, A_00 by the diagonal of M, */
#define SOFTEN_TO 1e3       /* which becomes this */
#define HARD_STEPS 3        /* on the problem itself, between rounds */

/* In w->lane, one number for each lane: 1 where its contacts are soft now; 1 where it has ever come here; the step after which the next
 * round begins. In memory, for a device's registers are full. */
enum { SOFT_ON, SOFT_STIFF, SOFT_UNTIL };

FN mask soft_lanes(const sc_work *w, int which) {
  const real *lane = w->lane;
  return lt(splat(0), lane[which]);
}

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
PROC mask stiff_sliding(const sc_pack *p, const real *k) {
  mask stiff = never();
  CONES(p, {
    mask slides = lt(k[row], splat(0));
    if (any(slides)) stiff = either(stiff, both(slides, lt(soft_sigma(p, row), splat(1))));
  });
  return anywhere(stiff);
}

/* before the first step: no lane has come here */
FN void soften_reset(sc_work *w) {
  real *lane = w->lane;
  ONCE { lane[SOFT_ON] = lane[SOFT_STIFF] = lane[SOFT_UNTIL] = splat(0); }
  SYNC;
}

/* at first: every row as it is, and no round has ended anywhere */
PROC void soften_begin(const sc_pack *p, sc_work *w) {
  const real *D = NUM(p, D), *aref = NUM(p, aref), *cone = NUM(p, cone);
  real *Dh = soft_rows(p, w, 0), *ah = soft_rows(p, w, 1), *l = soft_rows(p, w, 2), *ch = soft_rows(p, w, 3);
  real *z = w->z, *a = w->a;
  int cones = 0;
  for (int k = 0; k < SC_NDIM; k++) cones += p->ncone[k] * CONE_COEF(SC_DIM(k));
  EACH(r, p->nefc) Dh[r] = D[r], ah[r] = aref[r], l[r] = splat(0);
  EACH(i, cones) ch[i] = cone[i];
  EACH(i, p->nv4) z[i] = a[i];
  ONCE {
    sc_pack *view = w->view;
    *view = *p;
    view->num[SC_SINGLE].D = Dh, view->num[SC_SINGLE].aref = ah, view->num[SC_SINGLE].cone = ch;
  }
  SYNC;
}

/* Other rows: soft in the lanes of `on`, of which `fresh` come here for the first time; those of the problem in `solved`, where a round
 * ends after `it` steps, with its forces as l. The trial point becomes the iterate, or w->z where a round begins anew. */
PROC void soften_rows(const sc_pack *p, sc_work *w, mask fresh, mask on, mask solved, int it) {
  const real *f = w->f, *a = w->a;
  real *a1 = w->a1, *z = w->z, *l = soft_rows(p, w, 2), *lane = w->lane;
  mask lanes = either(on, solved), anew = both(on, soft_lanes(w, SOFT_STIFF));
  EACH(r, p->nefc) l[r] = sel(solved, f[r], l[r]);
  EACH(i, p->nv4) {
    z[i] = sel(solved, a[i], z[i]);
    a1[i] = sel(anew, z[i], a[i]);
  }
  SYNC;
  CONES(p, soften_contact(p, w, d, row, coef, lanes, on));
  ONCE {
    lane[SOFT_ON] = sel(lanes, sel(on, splat(1), splat(0)), lane[SOFT_ON]);
    lane[SOFT_STIFF] = sel(fresh, splat(1), lane[SOFT_STIFF]);
    lane[SOFT_UNTIL] = sel(solved, splat(it + HARD_STEPS), lane[SOFT_UNTIL]);
  }
  SYNC;
}

/* n numbers stay as they were but in these lanes */
FN void only_in(mask lanes, int n, real *at_trial, const real *before) {
  EACH(i, n) at_trial[i] = sel(lanes, at_trial[i], before[i]);
}

/* everything at the iterate again, which is the trial point, in these lanes */
FN void soften_again(const sc_pack *p, sc_work *w, iteration *st, mask lanes) {
  recompute_trial(w->view, w);
  only_in(lanes, p->nv4, w->Ma1, w->Ma);
  only_in(lanes, p->nefc, w->x1, w->x);
  SYNC;
  row_notes notes = at_trial(w->view, w, 1);
  only_in(lanes, p->nv4, w->g1, w->g);
  only_in(lanes, p->nefc, w->f1, w->f);
  only_in(lanes, p->nefc, w->k1, w->k);
  accept(w);
  st->notes.slides = either(both(lanes, notes.slides), both(not(lanes), st->notes.slides));
  st->notes.changed = either(st->notes.changed, lanes);
  st->norm = sel(lanes, root(dot(p, w->g, w->g)), st->norm);
}

/* After step `it`; was: the lanes that were live before it. Returns the pack to go on with. */
FN const sc_pack *soften(const sc_pack *p, const sc_pack *at, sc_work *w, iteration *st, mask was, int it) {
  mask stiff = soft_lanes(w, SOFT_STIFF), soft = soft_lanes(w, SOFT_ON);
  mask fresh = both(both(st->live, not(stiff)), stiff_sliding(p, w->k));
  if (at == p && !any(fresh)) return p;
  if (at == p) soften_begin(p, w);
  const real *lane = w->lane;
  mask solved = both(both(soft, both(was, not(st->live))), finite_lane(st->norm)); /* a round has ended */
  mask again = both(both(both(st->live, stiff), not(soft)), le(lane[SOFT_UNTIL], splat(it)));
  mask on = either(fresh, again), lanes = either(on, solved);
  if (!any(lanes)) return w->view;
  EACH(e, SC_LANES) if (lane_is(solved, e)) w->end[e] = SC_END_LIMIT;
  st->live = either(st->live, solved);
  soften_rows(p, w, fresh, on, solved, it);
  soften_again(p, w, st, lanes);
  return w->view;
}
