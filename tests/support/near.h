/* Numbers against expected ones: of many comparisons the worst is kept, with its name, and reported once. */
#ifndef TEST_NEAR_H
#define TEST_NEAR_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define NEAR_EXACT 1e-13    /* relative tolerance of numbers known to all digits */

/* All zero at the start. */
typedef struct {
  int seen;                 /* how many comparisons */
  double error;             /* of the worst, in units of its bound */
  char text[320];           /* which it is */
} near_worst;

__attribute__((format(printf, 5, 0))) static inline void near_keep(near_worst *w, double got, double want, double bound, const char *format,
                                                                   va_list list) {
  double error = got == want ? 0 : fabs(got - want) / bound;
  if (isnan(error)) error = INFINITY;
  if (w->seen++ && error <= w->error) return;
  w->error = error;
  int n = vsnprintf(w->text, sizeof w->text, format, list);
  if (n < 0 || n >= (int)sizeof w->text) return;
  snprintf(w->text + n, sizeof w->text - (size_t)n, " is %.17g, not %.17g (%.3g off, %.3g allowed)", got, want, fabs(got - want), bound);
}

/* |got - want| <= bound */
__attribute__((format(printf, 5, 6))) static inline void near_absolute(near_worst *w, double got, double want, double bound,
                                                                       const char *format, ...) {
  va_list list;
  va_start(list, format);
  near_keep(w, got, want, bound, format, list);
  va_end(list);
}

/* |got - want| <= tolerance |want|; a wanted zero must be met exactly */
__attribute__((format(printf, 5, 6))) static inline void near_relative(near_worst *w, double got, double want, double tolerance,
                                                                       const char *format, ...) {
  va_list list;
  va_start(list, format);
  near_keep(w, got, want, tolerance * fabs(want), format, list);
  va_end(list);
}

/* fails where the worst is out of its bound, and where nothing was compared */
static inline void near_report(const near_worst *w) {
  cr_expect(w->seen > 0, "nothing was compared");
  cr_expect(w->error <= 1, "%s: the worst of %d", w->text, w->seen);
}

#endif
