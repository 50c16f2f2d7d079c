/* The optimum of a problem to rounding, slowly: Newton's method in dense extended precision with an exact line search. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A point and what belongs to it. */
typedef struct { wide *a, *g, *x, *f, *K; } point;

/* H = M + J' K J, lower triangle */
static void hessian(const check_data *d, const wide *K, wide *H) {
  size_t n = (size_t)d->n;
  memcpy(H, d->M, n * n * sizeof *H);
  for (int r = 0; r < d->m;) {
    int dim = d->kind[r] == CONE ? check_cone_rows(d, r) : 1;
    for (int i = 0; i < dim; i++)
      for (int j = 0; j < dim; j++) {
        wide k = K[6 * (r + i) + j];
        if (k == 0) continue;
        const wide *Ji = d->J + (size_t)(r + i) * n, *Jj = d->J + (size_t)(r + j) * n;
        for (int p = d->nzadr[r + i]; p < d->nzadr[r + i + 1]; p++) {
          size_t row = (size_t)d->nz[p];
          wide left = k * Ji[row];
          for (int q = d->nzadr[r + j]; q < d->nzadr[r + j + 1]; q++)
            if ((size_t)d->nz[q] <= row) H[row * n + (size_t)d->nz[q]] += left * Jj[d->nz[q]];
        }
      }
    r += dim;
  }
}

static wide dot(const wide *x, const wide *y, int n) {
  wide s = 0;
  for (int i = 0; i < n; i++) s += x[i] * y[i];
  return s;
}

/* slope of P along v at p.a + alpha v; everything there is left in q */
static wide slope(const check_data *d, const point *p, const wide *v, wide alpha, point *q) {
  for (int i = 0; i < d->n; i++) q->a[i] = p->a[i] + alpha * v[i];
  check_residual(d, q->a, q->g, q->x, q->f, q->K);
  return dot(q->g, v, d->n);
}

/* the root of the slope by bracketing and the rule of Illinois, q at it; slope0 < 0 */
static void search(const check_data *d, const point *p, const wide *v, wide slope0, point *q) {
  wide lo = 0, slo = slope0, hi = 1, shi = slope(d, p, v, 1, q);
  if (fabsl(shi) <= 1e-3L * -slope0) return;
  while (shi < 0 && hi < 1e6L) {
    lo = hi, slo = shi;
    hi *= 2;
    shi = slope(d, p, v, hi, q);
  }
  for (int n = 0, side = 0; n < 60; n++) {
    wide at = (lo * shi - hi * slo) / (shi - slo);
    if (!(at > lo && at < hi)) at = (lo + hi) / 2;
    wide s = slope(d, p, v, at, q);
    if (fabsl(s) <= 1e-3L * -slope0 || hi - lo <= 1e-17L * hi) return;
    if (s < 0) {
      lo = at, slo = s;
      if (side < 0) shi /= 2;
      side = -1;
    } else {
      hi = at, shi = s;
      if (side > 0) slo /= 2;
      side = 1;
    }
  }
}

/* |g| with each dof weighed by its inertia */
static wide weight(const check_data *d, const wide *g) {
  wide s = 0;
  for (int i = 0; i < d->n; i++) s += g[i] * g[i] / d->M[(size_t)i * (size_t)d->n + (size_t)i];
  return sqrtl(s);
}

/* |v|_M against the larger of |a|_M and |s|_M */
static wide relative(const check_data *d, const wide *v, const wide *a) {
  return check_norm(d, v) / fmaxl(fmaxl(check_norm(d, a), check_norm(d, d->s)), 1e-300L);
}

#define MOST_STEPS 3000

/* Newton from best.a. Far away with a line search; once steps are below 1e-8 they are taken whole, until three in turn did
 * not halve the gradient. The point of the smallest gradient is left in best. Very stiff contacts that slide take hundreds
 * of steps. NULL, or what went wrong */
static const char *newton(const check_data *d, point *best, point *p, point *q, wide *v, wide *H) {
  size_t n = (size_t)d->n, m = (size_t)d->m;
  check_residual(d, best->a, best->g, best->x, best->f, best->K);
  wide least = weight(d, best->g);
#define COPY(to, from)                                                                                    \
  memcpy((to)->a, (from)->a, n * sizeof(wide)), memcpy((to)->g, (from)->g, n * sizeof(wide)),             \
      memcpy((to)->f, (from)->f, m * sizeof(wide)), memcpy((to)->K, (from)->K, 6 * m * sizeof(wide))
  COPY(p, best);
  int it = 0;
  for (int worse = 0; it < MOST_STEPS && worse < 3 && least > 0; it++) {
    hessian(d, p->K, H);
    if (!check_factor(H, d->n)) return "M + J'KJ lost its positive definiteness to rounding";
    for (size_t i = 0; i < n; i++) v[i] = -p->g[i];
    check_lower(H, d->n, v);
    check_upper(H, d->n, v);
    wide slope0 = dot(p->g, v, d->n), step = relative(d, v, p->a);
    if (!(slope0 < 0) || step < 1e-19L) break;
    if (step < 1e-8L)
      slope(d, p, v, 1, q);
    else
      search(d, p, v, slope0, q);
    COPY(p, q);
    wide size = weight(d, p->g);
    worse = size < least / 2 || step > 1e-8L ? 0 : worse + 1;
    if (size < least || step > 1e-8L) { /* far away the cost falls, not always the gradient */
      COPY(best, p);
      least = size;
    }
  }
#undef COPY
  return it < MOST_STEPS ? NULL : "Newton's method did not reach the optimum";
}

static wide *take_point(point *p, wide *at, size_t n, size_t m) {
  *p = (point){at, at + n, at + 2 * n, at + 2 * n + m, at + 2 * n + 2 * m};
  return at + 2 * n + 8 * m;
}

int sc_check_polish(const sc_problem *problem, double *qacc, double *efc_force) {
  check_data d;
  if (!qacc && problem && problem->nv) return sc_error_set(SC_ERROR_ARGUMENT, "sc_check_polish: qacc is NULL");
  int code = check_load(&d, problem, "sc_check_polish");
  if (code) return code;
  size_t n = (size_t)d.n, m = (size_t)d.m;
  wide *memory = malloc((7 * n + 24 * m + n * n + 8) * sizeof *memory);
  if (!memory) {
    check_free(&d);
    return sc_error_set(SC_ERROR_MEMORY, "sc_check_polish: no memory");
  }
  point best, p, q;
  wide *v = take_point(&q, take_point(&p, take_point(&best, memory, n, m), n, m), n, m), *H = v + n;
  for (size_t i = 0; i < n; i++) {
    best.a[i] = qacc[i];
    if (!isfinite(qacc[i])) code = sc_error_set(SC_ERROR_VALUE, "sc_check_polish: qacc[%zu] is %g, not finite", i, qacc[i]);
  }
  if (!code && n && !(d.L[0] > 0)) code = sc_error_set(SC_ERROR_VALUE, "sc_check_polish: M is not positive definite");
  const char *failure = code ? NULL : newton(&d, &best, &p, &q, v, H);
  if (failure) code = sc_error_set(SC_ERROR_VALUE, "sc_check_polish: %s", failure);
  if (!code) {
    for (size_t i = 0; i < n; i++) qacc[i] = (double)best.a[i];
    for (size_t i = 0; efc_force && i < m; i++) efc_force[i] = (double)best.f[i];
  }
  free(memory);
  check_free(&d);
  return code;
}
