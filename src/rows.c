/* From parameters to rows: K, B, d, R, D, aref of every row by the law (kernels/law.h), and the one-row form. */
#include "batch.h"

#include "../kernels/law_block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(LAW_REPAIRED == SC_REPAIRED && LAW_CLAMPED == SC_CLAMPED, "the law speaks the API's flags");

/* ------------------------------------------------------------------ one row */

int sc_row_eval(const sc_row_input *in, sc_row_output *out) {
  if (!in || !out) return sc_error_set(SC_ERROR_ARGUMENT, "sc_row_eval: %s is NULL", in ? "out" : "in");
  if (in->size != sizeof *in)
    return sc_error_set(SC_ERROR_ARGUMENT, "sc_row_eval: in.size is %zu, not %zu: use sc_row_init", in->size, sizeof *in);
  if (in->type < 0 || in->type >= SC_NTYPE) return sc_error_set(SC_ERROR_ARGUMENT, "sc_row_eval: type is %d, not in 0 .. 7", in->type);
  const struct { const char *name; double value, least; } fields[] = {
      {"pos", in->pos, -INFINITY},           {"margin", in->margin, -INFINITY},       {"vel", in->vel, -INFINITY},
      {"diagA", in->diagA, 0},               {"curvature", in->curvature, -INFINITY}, {"solref[0]", in->solref[0], -INFINITY},
      {"solref[1]", in->solref[1], -INFINITY}, {"solimp[0]", in->solimp[0], -INFINITY}, {"solimp[1]", in->solimp[1], -INFINITY},
      {"solimp[2]", in->solimp[2], 0},       {"solimp[3]", in->solimp[3], -INFINITY}, {"solimp[4]", in->solimp[4], -INFINITY}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (!isfinite(fields[i].value) || fields[i].value < fields[i].least)
      return sc_error_set(SC_ERROR_VALUE, "sc_row_eval: %s is %g, not finite%s", fields[i].name, fields[i].value, fields[i].least == 0 ? " and >= 0" : "");
  if (!isfinite(in->timestep) || in->timestep <= 0)
    return sc_error_set(SC_ERROR_VALUE, "sc_row_eval: timestep is %g, not finite and > 0", in->timestep);
  memset(out, 0, sizeof *out);
  int type = in->type < SC_CONTACT_FRICTIONLESS ? in->type : SC_CONTACT_FRICTIONLESS; /* alone it has no cone */
  law_block b = {.type = type, .rows = 1, .solref = in->solref, .solimp = in->solimp, .pos = &in->pos, .margin = &in->margin,
                 .diagA = &in->diagA, .timestep = in->timestep, .refsafe = in->refsafe};
  law_parameters c = {.known = 0};
  law_row v = law_block_begin(&b, &out->flags);
  law_block_row(&b, 0, &c, &v, &out->flags);
  out->K = v.K, out->B = v.B, out->d = v.d, out->dp = v.dp, out->R = v.R, out->D = 1 / v.R;
  out->aref = law_aref(v.K, v.B, v.d, in->pos - in->margin, in->vel, in->curvature);
  if (!isfinite(out->R) || !isfinite(out->D) || !isfinite(out->aref))
    return sc_error_set(SC_ERROR_VALUE, "sc_row_eval: R is %g, D %g and aref %g: the parameters overflow", out->R, out->D, out->aref);
  return SC_OK;
}

double sc_row_force(int type, double A, double R, double aref, double a0, double frictionloss) {
  double f = (aref - a0) / (A + R);
  if (type == SC_EQUALITY || isnan(f)) return f;
  if (sc_type_is_friction(type)) return fmin(fmax(f, -frictionloss), frictionloss);
  return fmax(f, 0);
}

/* ------------------------------------------------------------------ exact diagonal */

/* diagonal of J M^-1 J' in e->diagA. Where M is not positive definite it is 1: the verdict will say not_spd */
static void exact_diagonal(sc_env *e, sc_inertia *factor) {
  for (int r = 0; r < e->nefc; r++) e->diagA[r] = sc_inertia_inverse(factor, e->J_rownnz[r], e->J_colind + e->J_rowadr[r], e->J + e->J_rowadr[r]);
}

/* ------------------------------------------------------------------ all rows of an environment */

int sc_rows_in_block(const sc_env *e, int r, int contact) {
  if (sc_type_has_cone(e->type[r])) return sc_contact_rows(e->type[r], e->dim[contact]);
  int n = 1;
  if (e->type[r] == SC_EQUALITY && e->id[r] >= 0)
    while (r + n < e->nefc && e->type[r + n] == SC_EQUALITY && e->id[r + n] == e->id[r]) n++;
  return n;
}

/* the block's parameters as handed over, for a device */
static void keep(sc_env *e, const law_block *b, int r, int contact) {
  int cone = sc_type_has_cone(b->type);
  for (int k = 0; k < b->rows; k++) {
    size_t row = cone ? 0 : b->step * (size_t)k;
    memcpy(e->solref + 2 * (r + k), b->solref + 2 * row, 2 * sizeof *e->solref);
    memcpy(e->solimp + 5 * (r + k), b->solimp + 5 * row, 5 * sizeof *e->solimp);
  }
  if (cone) sc_copy_finite(e->solreffriction + 2 * contact, b->solreffriction, 2);
}

void sc_rows_block(sc_env *e, const sc_row_source *s, law_parameters *c, int r, int n, int contact) {
  int cone = sc_type_has_cone(e->type[r]);
  law_block b = {.type = e->type[r], .rows = n, .step = s->step, .solref = s->solref, .solimp = s->solimp,
                 .solreffriction = cone && s->solreffriction ? s->solreffriction + 2 * contact : NULL,
                 .friction = cone ? e->friction + 5 * contact : NULL, .pos = e->pos + r, .margin = e->margin + r,
                 .diagA = e->diagA + r, .timestep = s->timestep, .impratio = s->impratio, .refsafe = s->refsafe};
  unsigned flags = e->flags;
  law_row v = law_block_begin(&b, &flags);
  for (int k = 0, i = r; k < n; k++, i++) {
    law_block_row(&b, k, c, &v, &flags);
    e->K[i] = v.K, e->B[i] = v.B, e->d[i] = v.d, e->dp[i] = v.dp, e->R[i] = v.R;
  }
  if (cone) e->mu[contact] = v.mu;
  if (e->kept) keep(e, &b, r, contact);
  e->flags = flags;
}

int sc_rows_finish(sc_env *e, const double *curvature, const double *adhesion) {
  size_t m = (size_t)e->nefc;
  if (e->kept) {
    sc_copy_finite(e->diagonal, e->diagA, m);
    sc_copy_finite(e->curvature, curvature, m);
    sc_copy_finite(e->adhesion, adhesion, m);
  }
  for (size_t i = 0; i < m; i++) {
    e->D[i] = 1 / e->R[i];
    e->diagA[i] = law_diagonal(e->R[i], e->d[i]);
    e->aref[i] = law_aref(e->K[i], e->B[i], e->d[i], e->pos[i] - e->margin[i], e->vel[i], 0);
  }
  for (size_t i = 0; curvature && i < m; i++) e->aref[i] -= curvature[i];
  for (size_t i = 0; adhesion && i < m; i++) e->aref[i] = law_pulled(e->aref[i], e->R[i], adhesion[i]);
  return sc_all_finite(e->R, m) && sc_all_finite(e->D, m) && sc_all_finite(e->aref, m);
}

int sc_rows_evaluate(sc_env *e, const sc_problem *p, int index, sc_inertia *factor) {
  size_t m = (size_t)e->nefc;
  law_parameters c = {.known = 0};
  sc_row_source s = {.solreffriction = p->contact_solreffriction, .timestep = p->timestep, .impratio = p->impratio, .refsafe = p->refsafe, .step = 1};
  e->timestep = p->timestep, e->impratio = p->impratio, e->refsafe = p->refsafe;
  if (m && !p->efc_diagA) exact_diagonal(e, factor);
  if (m && p->efc_diagA) memcpy(e->diagA, p->efc_diagA, m * sizeof *e->diagA);
  for (int r = 0, contact = 0, n; r < e->nefc; r += n) {
    n = sc_rows_in_block(e, r, contact);
    s.solref = p->efc_solref + 2 * (size_t)r, s.solimp = p->efc_solimp + 5 * (size_t)r;
    sc_rows_block(e, &s, &c, r, n, contact);
    contact += sc_type_has_cone(e->type[r]);
  }
  if (sc_rows_finish(e, p->efc_curvature, p->efc_adhesion)) return SC_OK;
  for (size_t i = 0; i < m; i++)
    if (!isfinite(e->R[i]) || !isfinite(e->D[i]) || !isfinite(e->aref[i]))
      return sc_error_set(SC_ERROR_VALUE, "sc_batch_set: environment %d: row %zu: R is %g, D %g and aref %g: its parameters overflow", index, i, e->R[i],
                          e->D[i], e->aref[i]);
  return SC_OK;
}
