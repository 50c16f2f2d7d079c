/* Elliptic contacts of dim d = 3, 4 or 6: residual x = (normal, tangents, spin, rolls), the rows coupled by the cone
 * sqrt(sum_j (f_j/c_j)^2) <= f_0.
 *
 * With T = sqrt(sum_j (c_j x_j)^2), rho = x_0 - T, q = D_0/(1 + mu^2), t_j = c_j^2 x_j / T:
 *   top     x_0 >= T             no force
 *   bottom  mu^2 x_0 + T <= 0    every row quadratic, f_j = -D_j x_j
 *   middle  otherwise            cost q/2 rho^2,  f_0 = -q rho,  f_j = q rho t_j  (on the cone: it slides)
 * This is MuJoCo's cost with the common factor mu cancelled: no digit is lost to it.
 * Rows are adjusted so that D_j = D_0 c_j^2/mu^2, which makes the force continuous. */
#ifndef SC_CONE_H
#define SC_CONE_H

#include "law.h"

/* numbers of a contact in a pack: mu^2, q, c_1 .. c_{d-1} */
#define CONE_COEF(d) ((d) + 1)
#define CONE_C(coef, j) ((coef)[1 + (j)])
/* entry of a symmetric matrix whose lower triangle is kept row by row */
#define CONE_K(K, i, j) ((K)[(i) > (j) ? (i) * ((i) + 1) / 2 + (j) : (j) * ((j) + 1) / 2 + (i)])

/* those numbers, from a contact's mu, the D of its first row and its friction coefficients c */
FN void cone_coefficients(int d, scal mu, scal D0, const scal *c, scal *coef) {
  coef[0] = mu * mu;
  coef[1] = D0 / (1 + coef[0]);
  for (int j = 1; j < d; j++) CONE_C(coef, j) = law_friction(c[j - 1]);
}

typedef struct {
  mask top, middle;
  real T; /* 1 where the contact does not slide, so that it can be divided by */
} cone_zone;

FN cone_zone cone_find(int d, const real *coef, const real *x) {
  real s = splat(0);
  for (int j = 1; j < d; j++) {
    real u = CONE_C(coef, j) * x[j];
    s += u * u;
  }
  real T = root(s);
  cone_zone z;
  z.top = le(T, x[0]);
  z.middle = both(not(z.top), lt(splat(0), coef[0] * x[0] + T));
  z.T = sel(z.middle, T, splat(1));
  return z;
}

FN real cone_zone_number(cone_zone z) {
  return sel(z.top, splat(ZONE_SATISFIED), sel(z.middle, splat(ZONE_CONE), splat(ZONE_QUADRATIC)));
}

/* forces f_0 .. f_{d-1} */
FN void cone_force(int d, const real *coef, const real *D, const real *x, cone_zone z, real *f) {
  real p = coef[1] * (x[0] - z.T); /* q rho */
  f[0] = sel(z.top, splat(0), sel(z.middle, -p, -D[0] * x[0]));
  p /= z.T;
  for (int j = 1; j < d; j++) {
    real c = CONE_C(coef, j);
    f[j] = sel(z.top, splat(0), sel(z.middle, p * (c * (c * x[j])), -D[j] * x[j]));
  }
}

FN real cone_cost(int d, const real *coef, const real *D, const real *x, cone_zone z) {
  real stick = splat(0), rho = x[0] - z.T;
  for (int j = 0; j < d; j++) stick += D[j] * x[j] * x[j];
  return splat(0.5) * sel(z.top, splat(0), sel(z.middle, coef[1] * rho * rho, stick));
}

/* curvature K = q [ w w' + (-rho/T) (0 (+) (C - t t')) ], w = (1, -t), C = diag(c_j^2), in the middle zone; diag(D) at the
 * bottom; 0 on top. Lower triangle, row by row: K[j (j+1)/2 + i], i <= j */
FN void cone_curvature(int d, const real *coef, const real *D, const real *x, cone_zone z, real *K) {
  real q = coef[1], r = (z.T - x[0]) / z.T, t[6]; /* r = -rho/T */
  K[0] = sel(z.top, splat(0), sel(z.middle, q, D[0]));
  for (int j = 1; j < d; j++) {
    real c = CONE_C(coef, j), *Kj = K + j * (j + 1) / 2;
    t[j] = c * (c * x[j]) / z.T;
    Kj[0] = sel(z.middle, -q * t[j], splat(0));
    for (int i = 1; i < j; i++) Kj[i] = sel(z.middle, q * (splat(1) - r) * t[i] * t[j], splat(0));
    /* t_j^2 + r (c_j^2 - t_j^2), both terms >= 0 since |t_j| <= c_j */
    Kj[j] = sel(z.top, splat(0), sel(z.middle, q * (t[j] * t[j] + r * (c - t[j]) * (c + t[j])), D[j]));
  }
}

/* v' K v, without forming K */
FN real cone_curvature_along(int d, const real *coef, const real *D, const real *x, cone_zone z, const real *v) {
  real uv = splat(0), vv = splat(0), stick = D[0] * v[0] * v[0];
  for (int j = 1; j < d; j++) {
    real c = CONE_C(coef, j), cv = c * v[j];
    uv += c * x[j] * cv;
    vv += cv * cv;
    stick += D[j] * v[j] * v[j];
  }
  real Tp = uv / z.T, bend = larger(vv - Tp * Tp, splat(0)), w = v[0] - Tp;
  real slide = coef[1] * (w * w + (z.T - x[0]) / z.T * bend);
  return sel(z.top, splat(0), sel(z.middle, slide, stick));
}

#endif /* SC_CONE_H */
