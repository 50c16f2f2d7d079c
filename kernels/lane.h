/* The verbs that every kernel is written with.
 *
 * A `real` holds one number of SC_LANES environments side by side; a `mask` says yes or no for each of them. With
 * SC_LANES 1 both are plain scalars, so the same text is also the one-lane reference, and the law for host code.
 *
 * Set before including: SC_LANES (1, 2, 4, 8, 16; default 1) and SC_SINGLE (1: float, 0: double; default 0).
 *
 * EACH(i, n) runs over 0 .. n-1, the iterations independent of each other; SYNC stands where the results of one EACH are
 * read, or what it read is overwritten, by others. A sum over an EACH is total(s), a largest value largest(s), a yes or no
 * anywhere(m); once(x) is what such a sum begins with. ONCE { } is done once for the environment. Everything else is done
 * by all alike, so that branches outside EACH go one way.
 *
 * On the CPU an environment is a lane: EACH is a loop and the others are nothing. With SC_TEAM (CUDA) it is a team of
 * SC_TEAM threads, a block of its own: EACH deals i to the threads in turn, SYNC is their barrier, and sums are taken in a
 * fixed order, after which every thread holds the same value. */
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

#ifndef SC_TEAM

#define FN static inline __attribute__((always_inline, unused)) /* a function that is copied to its calls */
#define FN_SHARED FN                                            /* there only on the CPU: with SC_TEAM it is one of these */
#define PROC static                                             /* a long one, that is called */
/* and one that must be called: the same code, and so the same rounding, whoever calls it */
#ifdef __clang__
#define SHARED static __attribute__((noinline, unused))
#else
#define SHARED static __attribute__((noinline, noclone, unused))
#endif
#define EACH(i, n) for (int i = 0; i < (n); i++)
#define SYNC ((void)0)
#define ONCE
#define TILE_ROWS 4 /* rows of a tile of a matrix that are handled at once */

#else

#define FN static __device__ __forceinline__
#define FN_SHARED static __device__ __attribute__((noinline))
#define PROC static __device__ __attribute__((noinline))
#define SHARED PROC
#define RANK ((int)threadIdx.x)
#define EACH(i, n) for (int i = RANK; i < (n); i += SC_TEAM)
#define ONCE if (RANK == 0)
#if SC_TEAM == 32
#define SYNC __syncwarp()
#else
#define SYNC __syncthreads()
#endif
#define TILE_ROWS 1 /* a thread each */

#endif

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
#ifndef __cplusplus /* there it is a word of the language, for the same */
FN mask not(mask a) { return !a; }
#endif
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

/* SC_LANES numbers in float, beside each other, as an iteration in float keeps them */
#if !SC_SINGLE
#if SC_LANES == 1
FN real from_float(const float *p) { return *p; }
FN void to_float(float *p, real v) { *p = (float)v; }
FN real rounded_to_float(real v) { return (float)v; }
#else
typedef float narrow_lanes __attribute__((vector_size(SC_LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
FN real from_float(const float *p) { return __builtin_convertvector(*(const narrow_lanes *)p, real); }
FN void to_float(float *p, real v) { *(narrow_lanes *)p = __builtin_convertvector(v, narrow_lanes); }
FN real rounded_to_float(real v) { return __builtin_convertvector(__builtin_convertvector(v, narrow_lanes), real); }
#endif
#endif

FN mask never(void) { return lt(splat(0), splat(0)); }
FN mask always(void) { return le(splat(0), splat(0)); }
FN real absolute(real x) { return sel(lt(x, splat(0)), -x, x); }
FN real larger(real a, real b) { return sel(lt(a, b), b, a); }
FN real smaller(real a, real b) { return sel(lt(a, b), a, b); }
/* neither NaN nor infinite: x - x is 0 */
FN mask finite_lane(real x) { return le(absolute(x - x), splat(0)); }

#ifndef SC_TEAM

FN real total(real x) { return x; }
FN real largest(real x) { return x; }
FN mask anywhere(mask m) { return m; }
FN real once(real x) { return x; }

#else

FN real once(real x) { return RANK == 0 ? x : 0; }

/* x of the thread whose rank differs in the bit `distance`: both then do the same to the same pair */
#define PARTNER(x, distance) __shfl_xor_sync(0xffffffffu, x, distance)
FN real warp_total(real x) {
  for (int d = 16; d; d /= 2) x += PARTNER(x, d);
  return x;
}
FN real warp_largest(real x) {
  for (int d = 16; d; d /= 2) x = larger(x, PARTNER(x, d));
  return x;
}

#if SC_TEAM == 32
FN real total(real x) { return warp_total(x); }
FN real largest(real x) { return warp_largest(x); }
FN mask anywhere(mask m) { return __any_sync(0xffffffffu, m); }
#else
/* what each warp found, for all until the next SYNC */
FN const real *of_warps(real x) {
  static __shared__ real found[SC_TEAM / 32];
  if (RANK % 32 == 0) found[RANK / 32] = x;
  SYNC;
  return found;
}
FN real total(real x) {
  const real *found = of_warps(warp_total(x));
  x = found[0];
  for (int k = 1; k < SC_TEAM / 32; k++) x += found[k];
  SYNC;
  return x;
}
FN real largest(real x) {
  const real *found = of_warps(warp_largest(x));
  x = found[0];
  for (int k = 1; k < SC_TEAM / 32; k++) x = larger(x, found[k]);
  SYNC;
  return x;
}
FN mask anywhere(mask m) { return __syncthreads_or(m); }
#endif

#endif

#endif /* SC_LANE_H */
