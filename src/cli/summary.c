#include "linear.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ one solve */

static spread spread_of(double *x, int n) {
  return (spread){quantile(x, n, 0.5), quantile(x, n, 0.99), quantile(x, n, 1)};
}

/* 1/trace M of an environment */
static double scale_of(const sc_batch *batch, int env) {
  sc_problem p;
  return sc_batch_get(batch, env, &p, NULL) ? (double)NAN : linear_scale(&p);
}

static void count(const sc_result *r, summary *s) {
  double iterations = 0;
  for (int i = 0; i < r->nenv; i++) {
    size_t rows = r->efc_offset[i + 1] - r->efc_offset[i];
    if (rows > s->nefc_max) s->nefc_max = rows;
    if (r->status[i] < SC_NSTATUS) s->status[r->status[i]]++;
    for (int bit = 0; bit < SC_NFLAG; bit++) s->flags[bit] += (int)((r->flags[i] >> bit) & 1);
    iterations += r->iterations[i];
    if (r->rows_needed[i] > s->rows_needed) s->rows_needed = r->rows_needed[i];
    if (r->contacts_needed[i] > s->contacts_needed) s->contacts_needed = r->contacts_needed[i];
    if (r->iterations[i] > s->iterations_max) s->iterations_max = r->iterations[i];
  }
  s->nefc_mean = (double)r->efc_offset[r->nenv] / r->nenv;
  s->iterations_mean = iterations / r->nenv;
}

int summarise(const job *j, timed_solver *t, const double *fwdinv, summary *s, comparison *c) {
  const sc_result *r = &t->result;
  int n = r->nenv;
  double per_env = 1e6 / n;
  double *x = malloc((size_t)n * sizeof *x + 1);
  *s = (summary){.envs = n, .nv = j->info.nv};
  if (!x) return cli_fail_with(EXIT_INTERNAL, "no memory for a summary of %d environments", n);
  if (n) {
    count(r, s);
    s->us_per_env = quantile(t->seconds, t->runs, 0.5) * per_env;
    s->us_kinematics = j->times.kinematics * per_env, s->us_rows = j->times.rows * per_env;
    s->us_pack = t->phases.pack * per_env, s->us_solve = t->phases.solve * per_env;
    s->us_certificate = t->phases.certificate * per_env, s->us_unpack = t->phases.unpack * per_env;
  } else {
    s->nefc_mean = s->iterations_mean = s->us_per_env = s->us_kinematics = s->us_rows = (double)NAN;
    s->us_pack = s->us_solve = s->us_certificate = s->us_unpack = (double)NAN;
  }
  if (n) memcpy(x, r->gap, (size_t)n * sizeof *x);
  s->gap = spread_of(x, n);
  for (int i = 0; i < n; i++) x[i] = r->gap[i] * scale_of(j->batch, i);
  s->scaled_gap = spread_of(x, n);
  if (n) memcpy(x, r->qacc_bound, (size_t)n * sizeof *x);
  s->bound = spread_of(x, n);
  for (int k = 0; fwdinv && k < 2; k++) {
    for (int i = 0; i < n; i++) x[i] = fwdinv[2 * i + k];
    s->fwdinv[k] = spread_of(x, n);
  }
  free(x);
  if (c) c->speedup = c->us_per_env / s->us_per_env;
  return 0;
}

double *fwdinv_numbers(const timed_solver *t) {
  size_t n = (size_t)t->result.nenv;
  sc_inverse io;
  sc_inverse_init(&io);
  io.fwdinv = malloc(2 * n * sizeof *io.fwdinv + 1);
  if (!io.fwdinv) {
    cli_fail_with(EXIT_INTERNAL, "no memory for the inverse dynamics of %zu environments", n);
    return NULL;
  }
  int code = sc_solver_inverse(t->solver, &io);
  if (!code) return io.fwdinv;
  cli_fail(code);
  free(io.fwdinv);
  return NULL;
}

int all_solved(const summary *s) { return s->status[SC_SOLVED] == s->envs; }

/* ------------------------------------------------------------------ beside MuJoCo */

/* The answers before noslip, which alone have an optimum to be judged by: solved once more, in `plain`, where there was noslip. */
static int before_noslip(const job *j, sc_context *context, const timed_solver *t, sc_solver **plain, sc_result *result) {
  sc_solver_options o = t->options;
  *plain = NULL, *result = t->result;
  if (!o.noslip_iterations) return SC_OK;
  o.noslip_iterations = 0;
  int code = sc_solver_create(context, &o, plain);
  if (!code) code = sc_solve(*plain, j->batch);
  return code ? code : sc_solver_result(*plain, result);
}

int compare_with_mujoco(const job *j, sc_context *context, const timed_solver *t, int repeats, progress *p,
                        comparison *c) {
  size_t n = (size_t)j->nenv;
  double *x = malloc(3 * n * sizeof *x + 1);
  *c = (comparison){.done = 1};
  if (!x) return cli_fail_with(EXIT_INTERNAL, "no memory for the errors of %d environments", j->nenv);
  for (size_t i = 0; i < 3 * n; i++) x[i] = (double)NAN;
  sc_mujoco_compare m = {.qacc_error = x, .force_error = x + n, .mujoco_error = x + 2 * n};
  sc_solver *plain;
  sc_result result;
  int code = before_noslip(j, context, t, &plain, &result);
  if (!code)
    code = sc_model_compare(context, j->model, j->states, j->sig, j->nenv, j->batch, &result, repeats, &m, progress_update, p);
  sc_solver_destroy(plain);
  progress_clear(p);
  if (code == SC_ERROR_VALUE) {
    cli_note(j->options, "%s", sc_error_text());
    code = SC_OK;
  }
  c->qacc = spread_of(m.qacc_error, j->nenv);
  c->force = spread_of(m.force_error, j->nenv);
  c->mujoco = spread_of(m.mujoco_error, j->nenv);
  c->us_per_env = m.us_per_env, c->iterations_mean = m.iterations_mean;
  free(x);
  return code ? cli_fail(code) : 0;
}
