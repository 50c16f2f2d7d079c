/* The law: what solref, solimp and a diagonal make of a row (scalar functions, one row at a time), and the cost, force and
 * curvature of a row given its residual (lane functions). Elliptic contacts as a whole are in cone.h.
 *
 * Source: MuJoCo documentation "Modeling: solver parameters" and "Computation: constraint model"; the constants are
 * mjMINVAL, mjMINIMP, mjMAXIMP, mjMINMU. */
#ifndef SC_LAW_H
#define SC_LAW_H

#include "lane.h"

#define LAW_MINVAL 1e-15
#define LAW_MINIMP 1e-4
#define LAW_MAXIMP 0.9999
#define LAW_MINMU 1e-5

/* what a clean-up did; the bits are SC_REPAIRED and SC_CLAMPED of softcon.h */
#define LAW_REPAIRED 1u
#define LAW_CLAMPED 2u

/* ------------------------------------------------------------------ parameters, one row */

FN scal law_clamp(scal x, scal lo, scal hi, unsigned *flags) {
  scal y = x < lo ? lo : x > hi ? hi : x;
  if (y != x) *flags |= LAW_CLAMPED;
  return y;
}

/* solref: a pair of mixed sign (zero counts as not positive) becomes (0.02, 1); then a positive time constant is raised
 * to two timesteps unless refsafe is off */
FN void law_clean_solref(const scal *solref, scal timestep, int refsafe, scal *out, unsigned *flags) {
  out[0] = solref[0], out[1] = solref[1];
  if ((solref[0] > 0) != (solref[1] > 0)) {
    out[0] = (scal)0.02, out[1] = 1;
    *flags |= LAW_REPAIRED;
  }
  if (refsafe && out[0] > 0 && out[0] < 2 * timestep) {
    out[0] = 2 * timestep;
    *flags |= LAW_CLAMPED;
  }
}

/* solreffriction: a pair of mixed sign counts as not given (0, 0); returns whether one is given */
FN int law_clean_solreffriction(const scal *solref, scal timestep, int refsafe, scal *out, unsigned *flags) {
  out[0] = solref[0], out[1] = solref[1];
  if ((solref[0] > 0) != (solref[1] > 0)) {
    out[0] = out[1] = 0;
    *flags |= LAW_REPAIRED;
  }
  if (refsafe && out[0] > 0 && out[0] < 2 * timestep) {
    out[0] = 2 * timestep;
    *flags |= LAW_CLAMPED;
  }
  return out[0] != 0 || out[1] != 0;
}

/* solimp (d0, dwidth, width, midpoint, power) within the bounds of the model */
FN void law_clean_solimp(const scal *solimp, scal *out, unsigned *flags) {
  out[0] = law_clamp(solimp[0], (scal)LAW_MINIMP, (scal)LAW_MAXIMP, flags);
  out[1] = law_clamp(solimp[1], (scal)LAW_MINIMP, (scal)LAW_MAXIMP, flags);
  out[2] = solimp[2] < 0 ? 0 : solimp[2];
  out[3] = law_clamp(solimp[3], (scal)LAW_MINIMP, (scal)LAW_MAXIMP, flags);
  out[4] = solimp[4] < 1 ? 1 : solimp[4];
  if (out[2] != solimp[2] || out[4] != solimp[4]) *flags |= LAW_CLAMPED;
}

/* x^p; nearly all powers are 2 or 1 */
FN scal law_power(scal x, scal p) { return p == 2 ? x * x : p == 1 ? x : SCAL_POW(x, p); }

/* impedance d(|pos|) in (0, 1) and its derivative by pos; solimp is clean.
 * x = |pos|/width; d goes from d0 at 0 to dwidth at 1 along two power curves that meet at the midpoint */
FN void law_impedance(const scal *solimp, scal pos, scal *d, scal *dp) {
  scal d0 = solimp[0], dw = solimp[1], width = solimp[2], mid = solimp[3], power = solimp[4];
  *dp = 0;
  if (d0 == dw || width <= (scal)LAW_MINVAL) {
    *d = (d0 + dw) / 2;
    return;
  }
  scal x = (pos < 0 ? -pos : pos) / width, slope = (pos < 0 ? -1 : 1) * (dw - d0) / width;
  if (x >= 1) {
    *d = dw;
  } else if (x == 0) {
    *d = d0;
  } else if (power == 1) {
    *d = d0 + x * (dw - d0);
    *dp = slope;
  } else if (x <= mid) {
    *d = d0 + (dw - d0) * law_power(x, power) / law_power(mid, power - 1);
    *dp = slope * power * law_power(x / mid, power - 1);
  } else {
    *d = d0 + (dw - d0) * (1 - law_power(1 - x, power) / law_power(1 - mid, power - 1));
    *dp = slope * power * law_power((1 - x) / (1 - mid), power - 1);
  }
}

/* stiffness K (1/s^2) and damping B (1/s) of a clean solref; dw is the clean solimp[1]:
 * (timeconst, dampratio): K = 1/(dw tc dr)^2, B = 2/(dw tc);  (-stiffness, -damping): K = k/dw^2, B = b/dw */
FN void law_stiffness(const scal *solref, scal dw, scal *K, scal *B) {
  const scal tiny = (scal)LAW_MINVAL;
  if (solref[0] > 0) {
    scal k = dw * dw * solref[0] * solref[0] * solref[1] * solref[1], b = dw * solref[0];
    *K = 1 / (k < tiny ? tiny : k);
    *B = 2 / (b < tiny ? tiny : b);
  } else {
    *K = -solref[0] / (dw * dw);
    *B = -solref[1] / dw;
  }
}

/* regularisation: R = (1-d)/d diagA, so that the force is d times that of a hard constraint */
FN scal law_regularisation(scal d, scal diagA) {
  scal R = (1 - d) / d * diagA;
  return R < (scal)LAW_MINVAL ? (scal)LAW_MINVAL : R;
}

/* the diagonal that this R has for an impedance d, as MuJoCo stores it */
FN scal law_diagonal(scal R, scal d) { return R * d / (1 - d); }

/* aref = -B vel - K d (pos - margin) - curvature */
FN scal law_aref(scal K, scal B, scal d, scal pos, scal vel, scal curvature) { return -B * vel - K * d * pos - curvature; }

/* and with a pull along the row, N */
FN scal law_pulled(scal aref, scal R, scal adhesion) { return aref + R * adhesion; }

/* a friction coefficient is at least LAW_MINMU */
FN scal law_friction(scal friction) { return friction > (scal)LAW_MINMU ? friction : (scal)LAW_MINMU; }

/* cone adjustment: R of the first friction row, and mu; every friction row follows from them (law_cone_R, law_pyramid_R) */
FN scal law_cone_mu(scal R0, scal friction, scal impratio, scal *R1) {
  const scal tiny = (scal)LAW_MINVAL;
  *R1 = R0 / (impratio < tiny ? tiny : impratio);
  return friction * SCAL_SQRT(*R1 / R0);
}
/* elliptic row of friction coefficient `friction`, the first one being friction0: R_j friction_j^2 is the same for all */
FN scal law_cone_R(scal R1, scal friction0, scal friction) { return R1 * friction0 * friction0 / (friction * friction); }
/* every edge of a pyramid */
FN scal law_pyramid_R(scal R0, scal mu) { return 2 * mu * mu * R0; }

/* residual beyond which dry friction slides */
FN scal law_edge(scal frictionloss, scal R) { return frictionloss * R; }

/* ------------------------------------------------------------------ a row at its residual x = J a - aref */

/* zones, as numbers so that they fit a lane; the values are sc_state's */
#define ZONE_SATISFIED 0
#define ZONE_QUADRATIC 1
#define ZONE_LINEARNEG 2
#define ZONE_LINEARPOS 3
#define ZONE_CONE 4

/* cost phi(x), force -phi'(x), curvature phi''(x), zone. What a caller does not read costs nothing: all is inlined. */
typedef struct { real cost, force, curv, zone; } row_value;

/* equality: phi = D x^2/2 */
FN row_value row_equality(real D, real x) {
  return (row_value){splat(0.5) * D * x * x, -D * x, D, splat(ZONE_QUADRATIC)};
}

/* dry friction, Huber: quadratic inside |x| < edge = R eta, slope eta outside */
FN row_value row_friction(real D, real eta, real edge, real x) {
  mask low = le(x, -edge), high = le(edge, x), linear = either(low, high);
  real outside = eta * (absolute(x) - splat(0.5) * edge);
  return (row_value){sel(linear, outside, splat(0.5) * D * x * x), sel(low, eta, sel(high, -eta, -D * x)), sel(linear, splat(0), D),
                     sel(low, splat(ZONE_LINEARNEG), sel(high, splat(ZONE_LINEARPOS), splat(ZONE_QUADRATIC)))};
}

/* limit, frictionless contact, edge of a pyramid: phi = D x^2/2 where x < 0, else 0 */
FN row_value row_onesided(real D, real x) {
  mask on = lt(x, splat(0));
  real k = sel(on, D, splat(0));
  return (row_value){splat(0.5) * k * x * x, -k * x, k, sel(on, splat(ZONE_QUADRATIC), splat(ZONE_SATISFIED))};
}

#endif /* SC_LAW_H */
