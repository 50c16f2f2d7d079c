/* How many floating-point operations an environment needs: the yardstick for what a solve reaches of the processor's
 * peak. Counted by the environment's own sparsity, entry by entry: what a pack does beyond that (padding, company,
 * waiting) and what the line search does is not needed in this sense. Products and sums count one each, as in
 * sc_context_peak. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

typedef uint64_t word;

/* The lower triangle of H = M + J'KJ in the order of elimination, last dof first: a set of rows per column. */
typedef struct {
  const sc_problem *p;
  int nv, words;
  word *cols, *support;
} pattern;

static void add(word *set, int i) { set[i / 64] |= (word)1 << (i % 64); }

static int count(const word *set, int words) {
  int n = 0;
  for (int w = 0; w < words; w++) n += __builtin_popcountll(set[w]);
  return n;
}

/* out |= members of in that are >= from */
static void join(word *out, const word *in, int words, int from) {
  int w = from / 64;
  out[w] |= in[w] & (~(word)0 << (from % 64));
  for (w++; w < words; w++) out[w] |= in[w];
}

static int first_from(const word *set, int words, int from) {
  for (int i = from; i < 64 * words; i++)
    if (set[i / 64] >> (i % 64) & 1) return i;
  return -1;
}

/* the dofs of `rows` rows from r on, reversed, in a->support; how many */
static int find_support(pattern *a, int r, int rows) {
  const sc_problem *p = a->p;
  memset(a->support, 0, (size_t)a->words * sizeof *a->support);
  for (int i = r; i < r + rows; i++)
    for (int k = 0; k < p->J_rownnz[i]; k++) add(a->support, a->nv - 1 - p->J_colind[p->J_rowadr[i] + k]);
  return count(a->support, a->words);
}

static void add_clique(pattern *a) {
  for (int i = first_from(a->support, a->words, 0); i >= 0 && i < a->nv; i = first_from(a->support, a->words, i + 1))
    join(a->cols + (size_t)i * (size_t)a->words, a->support, a->words, i);
}

/* entries below the diagonal, and the operations of the factorisation */
static double factor(pattern *a, double *entries) {
  double flops = 0;
  for (int j = 0; j < a->nv; j++) {
    word *col = a->cols + (size_t)j * (size_t)a->words;
    int parent = first_from(col, a->words, j + 1);
    double n = count(col, a->words) - 1;
    if (parent >= 0) join(a->cols + (size_t)parent * (size_t)a->words, col, a->words, parent);
    *entries += n;
    flops += n * (n + 1) + n + 2; /* products onto the columns to the right, division, root */
  }
  return flops;
}

/* operations of J'KJ, over the rows that push */
static double hessian(pattern *a, const uint8_t *state) {
  const sc_problem *p = a->p;
  double flops = 0;
  for (int r = 0, contact = 0; r < p->nefc;) {
    int type = p->efc_type[r], cone = type == SC_CONTACT_PYRAMIDAL || type == SC_CONTACT_ELLIPTIC;
    int d = type == SC_CONTACT_ELLIPTIC ? p->contact_dim[contact] : 1, slides = d > 1 && state[r] == SC_CONE;
    int rows = cone ? type == SC_CONTACT_ELLIPTIC ? d : 2 * (p->contact_dim[contact] - 1) : 1;
    for (int k = 0; k < rows; k += d)
      if (state[r + k] == SC_QUADRATIC || slides) {
        double n = find_support(a, r + k, d);
        add_clique(a);
        flops += d * n * (n + 1) + (slides ? 2.0 * d * d * n : d * n);
      }
    r += rows, contact += cone;
  }
  return flops;
}

static double entries_of(const int *rownnz, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += rownnz[i];
  return sum;
}

#define ROW_FLOPS 8  /* force, curvature, cost's slope of a row */
#define DOF_FLOPS 14 /* sums and inner products over the dofs */

int bench_flops(const sc_problem *p, const uint8_t *state, double *once, double *each) {
  pattern a = {.p = p, .nv = p->nv, .words = p->nv / 64 + 1};
  size_t set = (size_t)a.words;
  word *memory = calloc(((size_t)p->nv + 1) * set, sizeof *memory);
  if (!memory) return 0;
  a.cols = memory, a.support = memory + (size_t)p->nv * set;
  for (int i = 0; i < p->nv; i++) {
    add(a.cols + (size_t)i * set, i);
    for (int k = 0; k < p->M_rownnz[i]; k++)
      add(a.cols + (size_t)(p->nv - 1 - i) * set, p->nv - 1 - p->M_colind[p->M_rowadr[i] + k]);
  }
  double fill = 0, form = hessian(&a, state), cholesky = factor(&a, &fill);
  double inertia = 2 * (2 * entries_of(p->M_rownnz, p->nv) - p->nv), jacobian = 2 * entries_of(p->J_rownnz, p->nefc);
  double rows = ROW_FLOPS * (double)p->nefc, dofs = DOF_FLOPS * (double)p->nv, solve = 4 * fill + 2 * (double)p->nv;
  *each = form + cholesky + solve + inertia + 2 * jacobian + rows + dofs;
  *once = 3 * jacobian + inertia + 2 * rows + dofs; /* residuals at both starting points, a gradient */
  free(memory);
  return 1;
}
