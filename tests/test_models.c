/* Recorded states of real robots, every one of them, in double, float and mixed precision: one test for each model and cone. */
#include "support/recorded.h"
#include "support/tolerances.h"

#include "store.h"

/* ------------------------------------------------------------------ errors */

/* how the states are solved; conjugate gradients without MuJoCo's limit of 100 iterations, which they often need */
enum { F64, F32, MIXED, CG_F64, CG_F32, CG_MIXED, NWAY };
static const char *const ways[NWAY] = {"f64", "f32", "mixed", "cg f64", "cg f32", "cg mixed"};

/* the optimum is found once for all ways, for that is what takes the time */
typedef struct {
  test_run run[NWAY];
  double *error[NWAY];
} all_ways;

static test_run open_way(int way, int nenv) {
  int precision = way % SC_NPRECISION;
  test_run t = open_states(nenv, precision);
  sc_solver_options o;
  if (way < CG_F64) return t;
  sc_solver_options_init(&o);
  o.method = SC_CG, o.precision = precision, o.iterations = 10000;
  use_solver(&t, &o);
  return t;
}

static void find_error(void *arg, int env, int worker) {
  const all_ways *b = arg;
  sc_problem p;
  (void)worker;
  for (int k = 0; k < NWAY; k++) b->error[k][env] = INFINITY;
  if (sc_batch_get(b->run[F64].batch, env, &p, NULL)) return;
  double *best = test_numbers(p.nv);
  memcpy(best, run_qacc(&b->run[F64], env), (size_t)p.nv * sizeof *best);
  int code = sc_check_polish(&p, best, NULL);
  for (int k = 0; k < NWAY && !code; k++) {
    double *error = &b->error[k][env];
    if (sc_check_error(&p, run_qacc(&b->run[k], env), best, NULL, NULL, error, NULL) || isnan(*error))
      *error = INFINITY;
  }
  free(best);
}

typedef struct {
  int solved, unsolved, retried; /* how many; the first that is not, or -1; how many in double after all */
  int worst, beyond;             /* which: of the largest error of the solved; furthest beyond its bound, or -1 */
  double error, median, excess;  /* the error of `worst`; of all; how far `beyond` is beyond */
} summary;

static int ascending(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* sorts the errors */
static summary summarise(const sc_result *r, double *error) {
  summary s = {.unsolved = -1, .beyond = -1};
  for (int i = 0; i < r->nenv; i++) {
    s.retried += (r->flags[i] & SC_RETRIED_F64) != 0;
    if (r->status[i] != SC_SOLVED) {
      if (s.unsolved < 0) s.unsolved = i;
      continue;
    }
    double excess = error[i] - (r->qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC);
    s.solved++;
    if (error[i] >= s.error) s.error = error[i], s.worst = i;
    if (!(excess <= s.excess)) s.excess = excess, s.beyond = i;
  }
  qsort(error, (size_t)r->nenv, sizeof *error, ascending);
  s.median = error[r->nenv / 2];
  return s;
}

/* ------------------------------------------------------------------ one model */

static void check(const char *name, const char *precision, const summary *s, const sc_result *r, double most,
                  double share) {
  cr_expect(s->error <= most, "%s, %s: error %g of state %d is more than %g", name, precision, s->error, s->worst,
            most);
  cr_expect(s->beyond < 0, "%s, %s: the error of state %d is %g beyond its bound %g", name, precision, s->beyond,
            s->excess, r->qacc_bound[s->beyond < 0 ? 0 : s->beyond]);
  cr_expect(s->solved >= share * r->nenv, "%s, %s: %d of %d solved; state %d is %s", name, precision, s->solved,
            r->nenv, s->unsolved, sc_status_name(r->status[s->unsolved < 0 ? 0 : s->unsolved]));
}

static void check_ways(const char *name, all_ways *b) {
  /* conjugate gradients stop at the tolerance: their certificate is what bounds the error */
  static const double most[NWAY] = {TOL_F64_QACC, TOL_F32_QACC_WORST, TOL_F64_QACC, TOL_CG_QACC, TOL_CG_QACC, TOL_CG_QACC};
  static const double share[NWAY] = {1, TOL_F32_SOLVED, 1, 1, TOL_F32_SOLVED, 1};
  int n = b->run[F64].r.nenv;
  for (int k = 0; k < NWAY; k++) b->error[k] = test_numbers(n);
  sc_context_each(b->run[F64].context, n, find_error, b);
  for (int k = 0; k < NWAY; k++) {
    summary s = summarise(&b->run[k].r, b->error[k]);
    printf("%-24s %4d states, %s: error median %.1e, worst of the solved %.1e; solved %.1f %%, %d of them in double "
           "after all\n",
           name, n, ways[k], s.median, s.error, 100.0 * s.solved / n, s.retried);
    check(name, ways[k], &s, &b->run[k].r, most[k], share[k]);
    cr_expect(k != F32 || s.median <= TOL_F32_QACC_MEDIAN, "%s, f32: median error %g is more than %g", name, s.median,
              TOL_F32_QACC_MEDIAN);
    cr_expect(k != MIXED || s.retried <= 1 + (1 - TOL_F32_SOLVED) * n, "%s, mixed: %d of %d were solved again in double",
              name, s.retried, n);
    free(b->error[k]);
  }
}

static void check_model(const cJSON *entry, int elliptic) {
  recorded r = open_recorded(entry, elliptic);
  all_ways b;
  for (int k = 0; k < NWAY; k++) {
    b.run[k] = open_way(k, r.n);
    batch_states(&b.run[k], r.model, r.states, r.sig, r.n);
    solve_run(&b.run[k]);
  }
  check_ways(r.name, &b);
  for (int k = 0; k < NWAY; k++) close_run(&b.run[k]);
  close_recorded(&r);
}

/* ------------------------------------------------------------------ all */

ParameterizedTestParameters(models, all) { return recorded_indices(); }

ParameterizedTest(int *index, models, all, .timeout = 600) { each_recorded(*index, check_model); }
