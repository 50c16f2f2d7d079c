/* Contact parameters of two geoms. */
#include "../kernels/law.h"
#include "assemble.h"

#include <math.h>
#include <string.h>

#define TINY 1e-15 /* mjMINVAL */

void sc_geom_init(sc_geom *g) {
  ASSEMBLY_INIT(g);
  g->condim = 3;
  g->friction[0] = 1, g->friction[1] = 0.005, g->friction[2] = 0.0001;
  g->solmix = 1;
  g->mat[0] = g->mat[4] = g->mat[8] = 1;
}

void sc_contact_override_init(sc_contact_override *o) {
  ASSEMBLY_INIT(o);
  o->friction[0] = o->friction[1] = 1, o->friction[2] = 0.005, o->friction[3] = o->friction[4] = 0.0001;
}

static int check(const char *call, const sc_geom *const geom[2], const sc_contact *c) {
  for (int k = 0; k < 2; k++) {
    if (!geom[k]) return sc_error_set(SC_ERROR_ARGUMENT, "%s: geom%d is NULL", call, k);
    if (geom[k]->size != sizeof *geom[k])
      return sc_error_set(SC_ERROR_ARGUMENT, "%s: geom%d.size is %zu, not %zu: use sc_geom_init", call, k,
                          geom[k]->size, sizeof *geom[k]);
  }
  if (!c) return sc_error_set(SC_ERROR_ARGUMENT, "%s: contact is NULL", call);
  if (c->size != sizeof *c)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: contact.size is %zu, not %zu: use sc_contact_init", call, c->size,
                        sizeof *c);
  return SC_OK;
}

/* ------------------------------------------------------------------ mixing */

/* all parameters of one geom, the one of higher priority */
static void take(const sc_geom *g, double friction[3], sc_contact *c) {
  c->dim = g->condim;
  c->adhesion = g->adhesion;
  memcpy(c->solref, g->solref, sizeof c->solref);
  memcpy(c->solimp, g->solimp, sizeof c->solimp);
  memcpy(friction, g->friction, sizeof g->friction);
}

/* weight of the first geom in averages */
static double weight(double s0, double s1) {
  if (s0 < TINY) return s1 < TINY ? 0.5 : 0;
  return s1 < TINY ? 1 : s0 / (s0 + s1);
}

/* parameters of two geoms of one priority */
static void average(const sc_geom *g0, const sc_geom *g1, double friction[3], sc_contact *c) {
  double w = weight(g0->solmix, g1->solmix);
  int direct = !(g0->solref[0] > 0 && g1->solref[0] > 0);
  c->dim = g0->condim > g1->condim ? g0->condim : g1->condim;
  c->adhesion = g0->adhesion + g1->adhesion;
  for (int i = 0; i < 3; i++) friction[i] = fmax(g0->friction[i], g1->friction[i]);
  for (int i = 0; i < 5; i++) c->solimp[i] = w * g0->solimp[i] + (1 - w) * g1->solimp[i];
  for (int i = 0; i < 2; i++)
    c->solref[i] = direct ? fmin(g0->solref[i], g1->solref[i]) : w * g0->solref[i] + (1 - w) * g1->solref[i];
}

int sc_contact_mix(const sc_geom *g0, const sc_geom *g1, const sc_contact_override *o, sc_contact *c) {
  static const char call[] = "sc_contact_mix";
  int code = check(call, (const sc_geom *const[]){g0, g1}, c);
  if (!code && o && o->size != sizeof *o)
    code = sc_error_set(SC_ERROR_ARGUMENT, "%s: override.size is %zu, not %zu: use sc_contact_override_init", call,
                        o->size, sizeof *o);
  if (code) return code;
  double f[3];
  if (g0->priority == g1->priority)
    average(g0, g1, f, c);
  else
    take(g0->priority > g1->priority ? g0 : g1, f, c);
  const double five[5] = {f[0], f[0], f[1], f[2], f[2]};
  for (int i = 0; i < 5; i++) c->friction[i] = fmax(LAW_MINMU, o ? o->friction[i] : five[i]);
  c->solreffriction[0] = c->solreffriction[1] = 0;
  c->margin = g0->margin + g1->margin;
  c->gap = g0->gap + g1->gap;
  if (!o) return SC_OK;
  c->margin = o->margin;
  memcpy(c->solref, o->solref, sizeof c->solref);
  memcpy(c->solreffriction, o->solref, sizeof c->solreffriction);
  memcpy(c->solimp, o->solimp, sizeof c->solimp);
  return SC_OK;
}

/* ------------------------------------------------------------------ geometry */

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double *a, const double *b, double *out) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

/* velocity of the geom's surface at the point, and its angular velocity: R lin + (R ang) x (point - pos), R ang */
static void surface(const sc_geom *g, const double *point, double *lin, double *ang) {
  double r[3];
  for (int i = 0; i < 3; i++) {
    lin[i] = dot(g->mat + 3 * i, g->surfacevel);
    ang[i] = dot(g->mat + 3 * i, g->surfacevel + 3);
    r[i] = point[i] - g->pos[i];
  }
  double t[3];
  cross(ang, r, t);
  for (int i = 0; i < 3; i++) lin[i] += t[i];
}

int sc_contact_surface(const sc_geom *g0, const sc_geom *g1, sc_contact *c) {
  int code = check("sc_contact_surface", (const sc_geom *const[]){g0, g1}, c);
  if (code) return code;
  double lin[2][3], ang[2][3], rel[3], spin[3];
  surface(g0, c->pos, lin[0], ang[0]);
  surface(g1, c->pos, lin[1], ang[1]);
  for (int i = 0; i < 3; i++) rel[i] = lin[1][i] - lin[0][i], spin[i] = ang[1][i] - ang[0][i];
  c->surfacevel[0] = dot(c->frame + 3, rel);
  c->surfacevel[1] = dot(c->frame + 6, rel);
  c->surfacevel[2] = dot(c->frame, spin);
  return SC_OK;
}

int sc_contact_tangents(sc_contact *c) {
  static const char call[] = "sc_contact_tangents";
  if (!c) return sc_error_set(SC_ERROR_ARGUMENT, "%s: contact is NULL", call);
  if (c->size != sizeof *c)
    return sc_error_set(SC_ERROR_ARGUMENT, "%s: contact.size is %zu, not %zu: use sc_contact_init", call, c->size,
                        sizeof *c);
  double *n = c->frame, *t = n + 3, norm = sqrt(dot(n, n));
  if (!isfinite(norm) || norm < TINY)
    return sc_error_set(SC_ERROR_VALUE, "%s: the normal's length is %g, not finite and > 0", call, norm);
  for (int i = 0; i < 3; i++) n[i] /= norm;
  int y = fabs(n[1]) < 0.5; /* begin with the axis that is not near the normal */
  t[0] = 0, t[1] = y, t[2] = !y;
  double along = dot(n, t);
  for (int i = 0; i < 3; i++) t[i] -= along * n[i];
  norm = sqrt(dot(t, t));
  for (int i = 0; i < 3; i++) t[i] /= norm;
  cross(n, t, n + 6);
  return SC_OK;
}
