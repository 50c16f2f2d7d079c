/* The solve of one state, and the linear algebra at its answer. */
#include "inspect.h"
#include "linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int inspect_linear(inspection *s) {
  const sc_result *r = &s->solver.result;
  size_t n = (size_t)s->nv;
  s->condition = (double)NAN;
  for (int i = 0; i < s->nefc; i++) s->A[i] = (double)NAN;
  if (!n || s->rows.bad || s->status == SC_BAD_INPUT) return 0;
  double *L = malloc((2 * n * n + 6 * n) * sizeof *L);
  if (!L) return cli_fail_with(EXIT_INTERNAL, "no memory for a matrix of %zu x %zu", n, n);
  double *H = L + n * n, *y = H + n * n;
  linear_M(&s->problem, L);
  if (linear_factor(L, n)) {
    linear_A(&s->problem, L, s->A, y);
    if (isfinite(r->qacc[0])) {
      linear_hessian(&s->problem, r->qacc, r->efc_state, H, y);
      memcpy(L, H, n * n * sizeof *L);
      if (linear_factor(L, n)) s->condition = linear_condition(H, L, n, y);
    }
  }
  free(L);
  return 0;
}

int inspect_solve(inspection *s) {
  int status = timed_solver_open(&s->solver, &s->job, s->context, PRECISION_F64);
  if (status) return status;
  int code = sc_solver_run(s->solver.solver);
  if (!code) code = sc_solver_result(s->solver.solver, &s->solver.result);
  if (code) return cli_fail(code);
  s->status = s->solver.result.status[0];
  int answered = s->status != SC_BAD_INPUT && s->status != SC_NOT_SPD && s->status != SC_NOT_FINITE;
  return answered ? trace_solve(&s->trace, s->context, s->job.batch, &s->solver.options, s->solver.result.iterations[0]) : 0;
}

/* ------------------------------------------------------------------ output */

static void print_flags(unsigned flags) {
  for (int bit = 0; bit < SC_NFLAG; bit++)
    if (flags >> bit & 1) printf(", %s", sc_flag_name(bit));
}

void inspect_solve_table(const inspection *s) {
  const sc_result *r = &s->solver.result;
  printf("solve      %s", sc_status_name(s->status));
  print_flags(r->flags[0]);
  printf("; %s, f64, %d iteration%s of at most %d, tolerance %g\n", sc_method_name(s->job.method), r->iterations[0],
         r->iterations[0] == 1 ? "" : "s", s->solver.options.iterations, s->solver.options.tolerance);
  if (!s->trace.n) return;
  printf("certified  gap %.3g (rounding alone: %.2g), qacc within %.3g of the optimum (relative, in the M-norm)\n",
         r->gap[0], r->gap_floor[0], r->qacc_bound[0]);
  if (isfinite(s->condition)) printf("condition  of M + J'KJ at the answer: about %.2g\n", s->condition);
  trace_table(&s->trace);
}

void inspect_solve_json(const inspection *s, cJSON *object) {
  const sc_result *r = &s->solver.result;
  cJSON *o = cJSON_AddObjectToObject(object, "solve");
  cJSON_AddStringToObject(o, "status", sc_status_name(s->status));
  cJSON *flags = cJSON_AddArrayToObject(o, "flags");
  for (int bit = 0; bit < SC_NFLAG; bit++)
    if (r->flags[0] >> bit & 1) cJSON_AddItemToArray(flags, cJSON_CreateString(sc_flag_name(bit)));
  cJSON_AddNumberToObject(o, "iterations", r->iterations[0]);
  json_number(o, "tolerance", s->solver.options.tolerance);
  json_number(o, "objective", r->objective[0]);
  json_number(o, "gap", r->gap[0]);
  json_number(o, "gap_floor", r->gap_floor[0]);
  json_number(o, "qacc_bound", r->qacc_bound[0]);
  json_number(o, "condition", s->condition);
  json_numbers(o, "qacc", r->qacc, s->nv);
  trace_json(&s->trace, "steps", o);
}
