/* The verbs that every kernel is written with.
 *
 * A `real` holds one number of SC_LANES environments side by side; a `mask` says yes or no for each of them. With
 * SC_LANES 1 both are plain scalars, so the same text is also the one-lane reference, and the law for host code.
 *
 * Set before including: SC_LANES (1, 2, 4, 8, 16; default 1) and SC_SINGLE (1: float, 0: double; default 0).
 *
 * EACH(i, n) runs over 0 .. n-1, the iterations independent of each other; SYNC stands where the results of one EACH are
 * read by the next. On the CPU they are a loop and nothing: an environment is a lane, not a group of threads. */
#ifndef SC_LANE_H
#define SC_LANE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__SSE2__) && !defined(__SSE4_1__)
#include <emmintrin.h>
#endif

#ifndef SC_LANES
#define SC_LANES 1
#endif
#ifndef SC_SINGLE
#define SC_SINGLE 0
#endif

#define FN static inline __attribute__((always_inline, unused))
#define EACH(i, n) for (int i = 0; i < (n); i++)
#define SYNC ((void)0)

#if SC_SINGLE
typedef float scal;
typedef int32_t lane_bits;
#define SC_EPS 5.9604644775390625e-08f /* 2^-24 */
#define SCAL_SQRT sqrtf
#define SCAL_POW powf
#else
typedef double scal;
typedef int64_t lane_bits;
#define SC_EPS 1.1102230246251565e-16 /* 2^-53 */
#define SCAL_SQRT sqrt
#define SCAL_POW pow
#endif

#if SC_LANES == 1

typedef scal real;
typedef int mask;
FN real splat(double x) { return (scal)x; }
FN real sel(mask m, real a, real b) { return m ? a : b; }
FN mask lt(real a, real b) { return a < b; }
FN mask le(real a, real b) { return a <= b; }
FN mask differ(real a, real b) { return a != b; }
FN mask both(mask a, mask b) { return a && b; }
FN mask either(mask a, mask b) { return a || b; }
FN mask not(mask a) { return !a; }
FN int any(mask m) { return m; }
FN int lane_is(mask m, int l) { (void)l; return m; }
FN real root(real x) { return SCAL_SQRT(x); }
FN scal lane_get(real x, int l) { (void)l; return x; }
FN void lane_set(real *x, int l, scal v) { (void)l; *x = v; }

#else

typedef scal real __attribute__((vector_size(SC_LANES * sizeof(scal))));
typedef lane_bits mask __attribute__((vector_size(SC_LANES * sizeof(scal))));

FN real splat(double x) { return (real){0} + (scal)x; }
#if defined(__SSE2__) && !defined(__SSE4_1__)
/* as intrinsics: gcc 12 makes a blend of the plain operators, which SSE2 lacks, and fails with an internal error */
#if SC_SINGLE
FN real sel(mask m, real a, real b) { return (real)_mm_or_ps(_mm_and_ps((__m128)m, (__m128)a), _mm_andnot_ps((__m128)m, (__m128)b)); }
#else
FN real sel(mask m, real a, real b) { return (real)_mm_or_pd(_mm_and_pd((__m128d)m, (__m128d)a), _mm_andnot_pd((__m128d)m, (__m128d)b)); }
#endif
#else
FN real sel(mask m, real a, real b) { return (real)((m & (mask)a) | (~m & (mask)b)); }
#endif
FN mask lt(real a, real b) { return a < b; }
FN mask le(real a, real b) { return a <= b; }
FN mask differ(real a, real b) { return a != b; }
FN mask both(mask a, mask b) { return a & b; }
FN mask either(mask a, mask b) { return a | b; }
FN mask not(mask a) { return ~a; }

FN int any(mask m) {
#if defined(__AVX__) && SC_SINGLE && SC_LANES == 8
  return __builtin_ia32_movmskps256((float __attribute__((vector_size(32))))m);
#elif defined(__AVX__) && !SC_SINGLE && SC_LANES == 4
  return __builtin_ia32_movmskpd256((double __attribute__((vector_size(32))))m);
#elif defined(__AVX512DQ__) && SC_SINGLE && SC_LANES == 16
  return __builtin_ia32_cvtd2mask512((int __attribute__((vector_size(64))))m) != 0;
#elif defined(__AVX512DQ__) && !SC_SINGLE && SC_LANES == 8
  return __builtin_ia32_cvtq2mask512((long long __attribute__((vector_size(64))))m) != 0;
#else
  lane_bits s = 0;
  for (int l = 0; l < SC_LANES; l++) s |= m[l];
  return s != 0;
#endif
}

FN int lane_is(mask m, int l) { return m[l] != 0; }
FN real root(real x) {
  real r = x;
  for (int l = 0; l < SC_LANES; l++) r[l] = SCAL_SQRT(x[l]);
  return r;
}
FN scal lane_get(real x, int l) { return x[l]; }
FN void lane_set(real *x, int l, scal v) { (*x)[l] = v; }

#endif

FN mask never(void) { return lt(splat(0), splat(0)); }
FN mask always(void) { return le(splat(0), splat(0)); }
FN real absolute(real x) { return sel(lt(x, splat(0)), -x, x); }
FN real larger(real a, real b) { return sel(lt(a, b), b, a); }
FN real smaller(real a, real b) { return sel(lt(a, b), a, b); }
/* neither NaN nor infinite: x - x is 0 */
FN mask finite_lane(real x) { return le(absolute(x - x), splat(0)); }

#endif /* SC_LANE_H */
