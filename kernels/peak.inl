/* What the processor can do at best: multiply and add in registers, in chains that do not wait for one another. */

#define PEAK_CHAINS 12 /* two operations may begin in each cycle and take up to six; with the factors they fit 16 registers */

/* n rounds of PEAK_CHAINS SC_LANES products and as many sums; the value is of no use, but must be computed */
static double peak(int n) {
  volatile double half = 0.5, one = 1;
  real x[PEAK_CHAINS], a = splat(half), b = splat(one), sum = splat(0);
  double out = 0;
  for (int i = 0; i < PEAK_CHAINS; i++) x[i] = splat(i);
  for (int k = 0; k < n; k++)
    for (int i = 0; i < PEAK_CHAINS; i++) x[i] = x[i] * a + b;
  for (int i = 0; i < PEAK_CHAINS; i++) sum += x[i];
  EACH(l, SC_LANES) out += (double)lane_get(sum, l);
  return out;
}
