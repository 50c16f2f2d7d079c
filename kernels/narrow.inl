/* From double to float. A float pack has the lanes of one or two parts in double side by side. Compiled in double only. */

#if SC_LANES == 1
typedef float narrow_real;
FN narrow_real narrowed(real x) { return (float)x; }
#else
typedef float narrow_real __attribute__((vector_size(SC_LANES * sizeof(float))));
FN narrow_real narrowed(real x) { return __builtin_convertvector(x, narrow_real); }
#endif

/* element i of part k goes to (i parts + k); largest: the largest magnitude in each lane of each part */
static void narrow(const void *const *in, int parts, size_t n, void *out, double *largest) {
  narrow_real *y = out;
  for (int k = 0; k < parts; k++) {
    const real *x = in[k];
    real most = splat(0);
    for (size_t i = 0; i < n; i++) {
      y[i * (size_t)parts + (size_t)k] = narrowed(x[i]);
      most = larger(most, absolute(x[i]));
    }
    EACH(l, SC_LANES) largest[k * SC_LANES + l] = lane_get(most, l);
  }
}
