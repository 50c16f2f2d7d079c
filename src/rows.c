/* From parameters to rows: K, B, d, R, D, aref of every row by the law (kernels/law.h), and the one-row form. */
#include "batch.h"

#include "../kernels/law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(LAW_REPAIRED == SC_REPAIRED && LAW_CLAMPED == SC_CLAMPED, "the law speaks the API's flags");

/* ------------------------------------------------------------------ one row */

/* whether they are others than before */
static int clean_up(sc_parameters *c, const double *solref, const double *solimp, double timestep, int refsafe, unsigned *flags) {
  if (c->known && !memcmp(c->solref, solref, sizeof c->solref) && !memcmp(c->solimp, solimp, sizeof c->solimp)) return 0;
  double ref[2];
  memcpy(c->solref, solref, sizeof c->solref);
  memcpy(c->solimp, solimp, sizeof c->solimp);
  law_clean_solref(solref, timestep, refsafe, ref, flags);
  law_clean_solimp(solimp, c->clean, flags);
  law_stiffness(ref, c->clean[1], &c->K, &c->B);
  c->known = 1;
  return 1;
}

/* K, B, d, dp of a row whose impedance is taken at `at` */
static void evaluate(const sc_parameters *c, double at, int spring, sc_row_output *out) {
  law_impedance(c->clean, at, &out->d, &out->dp);
  out->K = spring ? c->K : 0, out->B = c->B;
}

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
  double pos = in->pos - in->margin;
  int friction = sc_type_is_friction(in->type); /* its impedance is that at 0 */
  sc_parameters c = {.known = 0};
  clean_up(&c, in->solref, in->solimp, in->timestep, in->refsafe, &out->flags);
  evaluate(&c, friction ? 0 : pos, !friction, out);
  out->R = law_regularisation(out->d, in->diagA);
  out->D = 1 / out->R;
  out->aref = law_aref(out->K, out->B, out->d, pos, in->vel, in->curvature);
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

/* rows that share one impedance, from row r on: a contact, or consecutive equality rows of one id */
static int block_rows(const sc_env *e, int r, int contact) {
  if (sc_type_has_cone(e->type[r])) return sc_contact_rows(e->type[r], e->dim[contact]);
  int n = 1;
  if (e->type[r] == SC_EQUALITY && e->id[r] >= 0)
    while (r + n < e->nefc && e->type[r + n] == SC_EQUALITY && e->id[r + n] == e->id[r]) n++;
  return n;
}

/* where the block's impedance is taken: at its row, at the contact's distance, at the norm of an equality's residuals */
static double impedance_at(const sc_env *e, int r, int n) {
  if (sc_type_is_friction(e->type[r])) return 0;
  if (e->type[r] != SC_EQUALITY || n == 1) return e->pos[r] - e->margin[r];
  double s = 0;
  for (int k = 0; k < n; k++) s += (e->pos[r + k] - e->margin[r + k]) * (e->pos[r + k] - e->margin[r + k]);
  return sqrt(s);
}

/* final R of a contact's rows, and its mu */
static void adjust_cone(sc_env *e, int r, int n, int contact, double impratio) {
  const double *friction = e->friction + 5 * contact;
  double R1, R0 = e->R[r];
  e->mu[contact] = law_cone_mu(R0, friction[0], impratio, &R1);
  for (int k = 0; k < n; k++)
    if (e->type[r] == SC_CONTACT_PYRAMIDAL)
      e->R[r + k] = law_pyramid_R(R0, e->mu[contact]);
    else if (k > 0)
      e->R[r + k] = law_cone_R(R1, friction[0], friction[k - 1]);
}

void sc_rows_block(sc_env *e, const sc_row_source *s, sc_parameters *c, int r, int n, int contact) {
  double at = impedance_at(e, r, n), ref[2] = {0, 0};
  int cone = sc_type_has_cone(e->type[r]), elliptic = e->type[r] == SC_CONTACT_ELLIPTIC, spring = !sc_type_is_friction(e->type[r]);
  sc_row_output out = {.flags = e->flags};
  int own = elliptic && s->solreffriction &&
            law_clean_solreffriction(s->solreffriction + 2 * contact, s->timestep, s->refsafe, ref, &out.flags);
  for (int k = 0; k < n; k++) {
    int i = r + k, tangent = elliptic && k > 0;
    /* contacts have one solref and solimp, those of their first row */
    size_t row = cone ? 0 : s->step * (size_t)k;
    int others = 0;
    if (k == 0 || row || (tangent && own && k == 1))
      others = clean_up(c, tangent && own ? ref : s->solref + 2 * row, s->solimp + 5 * row, s->timestep, s->refsafe, &out.flags);
    if (k == 0 || others) evaluate(c, at, spring, &out);
    e->K[i] = tangent ? 0 : out.K, e->B[i] = out.B, e->d[i] = out.d, e->dp[i] = out.dp;
    e->R[i] = law_regularisation(out.d, e->diagA[i]);
  }
  if (cone) adjust_cone(e, r, n, contact, s->impratio);
  e->flags = out.flags;
}

int sc_rows_finish(sc_env *e, const double *curvature, const double *adhesion) {
  size_t m = (size_t)e->nefc;
  for (size_t i = 0; i < m; i++) {
    e->D[i] = 1 / e->R[i];
    e->diagA[i] = e->R[i] * e->d[i] / (1 - e->d[i]);
    e->aref[i] = law_aref(e->K[i], e->B[i], e->d[i], e->pos[i] - e->margin[i], e->vel[i], 0);
  }
  for (size_t i = 0; curvature && i < m; i++) e->aref[i] -= curvature[i];
  for (size_t i = 0; adhesion && i < m; i++) e->aref[i] += e->R[i] * adhesion[i];
  return sc_all_finite(e->R, m) && sc_all_finite(e->D, m) && sc_all_finite(e->aref, m);
}

int sc_rows_evaluate(sc_env *e, const sc_problem *p, int index, sc_inertia *factor) {
  size_t m = (size_t)e->nefc;
  sc_parameters c = {.known = 0};
  sc_row_source s = {.solreffriction = p->contact_solreffriction, .timestep = p->timestep, .impratio = p->impratio, .refsafe = p->refsafe, .step = 1};
  if (m && !p->efc_diagA) exact_diagonal(e, factor);
  if (m && p->efc_diagA) memcpy(e->diagA, p->efc_diagA, m * sizeof *e->diagA);
  for (int r = 0, contact = 0, n; r < e->nefc; r += n) {
    n = block_rows(e, r, contact);
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
