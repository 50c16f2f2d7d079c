/* The law of a block: rows that share one impedance, which are a contact with friction, the consecutive rows of a connect or
 * weld, or one row. Host and device evaluate rows with this text (rows.c, cuda_rows.inl). */
#ifndef SC_LAW_BLOCK_H
#define SC_LAW_BLOCK_H

#include "law.h"
#include "softcon.h"

/* Solver parameters, cleaned up, and what follows from them alone: most rows have those of the row before. known: 0 to begin. */
typedef struct law_parameters {
  scal solref[2], solimp[5]; /* as given */
  scal clean[5], K, B;       /* of solimp */
  int known;
} law_parameters;

/* What the rows of a block are made from; arrays begin at its first row. */
typedef struct law_block {
  int type, rows;            /* sc_type; how many */
  size_t step;               /* solref and solimp of row k are at 2 k step and 5 k step; a contact has those of its first row */
  const scal *solref, *solimp;
  const scal *solreffriction;/* 2: of an elliptic contact's friction rows; NULL: none */
  const scal *friction;      /* 5: of a contact with friction */
  const scal *pos, *margin, *diagA;
  scal timestep, impratio;
  int refsafe;
} law_block;

/* The row at hand, and what later rows of the block need. */
typedef struct law_row {
  scal K, B, d, dp, R;       /* R after the cone adjustment */
  scal mu;                   /* of a contact with friction: contact_mu */
  scal at;                   /* the impedance is taken here */
  scal R0, R1, ref[2];       /* of the contact; a solref of its friction rows */
  int own;                   /* which is given */
} law_row;

FN int block_is_dry(const law_block *b) { return b->type == SC_FRICTION_DOF || b->type == SC_FRICTION_TENDON; }
FN int block_has_cone(const law_block *b) { return b->type == SC_CONTACT_PYRAMIDAL || b->type == SC_CONTACT_ELLIPTIC; }

/* whether they are others than before */
FN int law_clean(law_parameters *c, const scal *solref, const scal *solimp, scal timestep, int refsafe, unsigned *flags) {
  scal ref[2];
  int same = c->known && c->solref[0] == solref[0] && c->solref[1] == solref[1];
  for (int i = 0; i < 5; i++) same = same && c->solimp[i] == solimp[i];
  if (same) return 0;
  for (int i = 0; i < 2; i++) c->solref[i] = solref[i];
  for (int i = 0; i < 5; i++) c->solimp[i] = solimp[i];
  law_clean_solref(solref, timestep, refsafe, ref, flags);
  law_clean_solimp(solimp, c->clean, flags);
  law_stiffness(ref, c->clean[1], &c->K, &c->B);
  c->known = 1;
  return 1;
}

/* at the row, at the contact's distance, at the norm of an equality's residuals; dry friction at 0 */
FN scal law_block_at(const law_block *b) {
  if (block_is_dry(b)) return 0;
  if (b->type != SC_EQUALITY || b->rows == 1) return b->pos[0] - b->margin[0];
  scal s = 0;
  for (int k = 0; k < b->rows; k++) s += (b->pos[k] - b->margin[k]) * (b->pos[k] - b->margin[k]);
  return SCAL_SQRT(s);
}

FN law_row law_block_begin(const law_block *b, unsigned *flags) {
  law_row v = {0, 0, 0, 0, 0, 0, law_block_at(b), 0, 0, {0, 0}, 0};
  v.own = b->type == SC_CONTACT_ELLIPTIC && b->solreffriction &&
          law_clean_solreffriction(b->solreffriction, b->timestep, b->refsafe, v.ref, flags);
  return v;
}

/* the final R of row k of a contact, and its mu with the first */
FN void law_block_cone(const law_block *b, int k, law_row *v) {
  scal first = law_friction(b->friction[0]);
  if (k == 0) v->R0 = v->R, v->mu = law_cone_mu(v->R0, first, b->impratio, &v->R1);
  if (b->type == SC_CONTACT_PYRAMIDAL) v->R = law_pyramid_R(v->R0, v->mu);
  else if (k > 0) v->R = law_cone_R(v->R1, first, law_friction(b->friction[k - 1]));
}

/* the block's rows, one after the other: k = 0, 1, ...; c: of the row before */
FN void law_block_row(const law_block *b, int k, law_parameters *c, law_row *v, unsigned *flags) {
  if (k && b->type == SC_CONTACT_PYRAMIDAL) return; /* all edges are alike */
  int cone = block_has_cone(b), tangent = b->type == SC_CONTACT_ELLIPTIC && k > 0, own = tangent && v->own, others = 0;
  size_t row = cone ? 0 : b->step * (size_t)k;
  if (k == 0 || row || (own && k == 1)) {
    scal ref[2] = {own ? v->ref[0] : b->solref[2 * row], own ? v->ref[1] : b->solref[2 * row + 1]};
    others = law_clean(c, ref, b->solimp + 5 * row, b->timestep, b->refsafe, flags);
  }
  if (k == 0 || others) law_impedance(c->clean, v->at, &v->d, &v->dp);
  v->K = tangent || block_is_dry(b) ? 0 : c->K, v->B = c->B;
  if (k == 0 || !cone) v->R = law_regularisation(v->d, b->diagA[k]);
  if (cone) law_block_cone(b, k, v);
}

#endif /* SC_LAW_BLOCK_H */
