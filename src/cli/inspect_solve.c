/* The solve of one state, iterate by iterate: it is done again with 0, 1, 2, ... iterations, and since the solver is
 * deterministic these are the iterates of the whole solve. */
#include "inspect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 200

/* |x - y|_M */
static double distance(const sc_problem *p, const double *x, const double *y) {
  double sum = 0;
  for (int i = 0; i < p->nv; i++)
    for (int k = p->M_rowadr[i]; k < p->M_rowadr[i] + p->M_rownnz[i]; k++) {
      int j = p->M_colind[k];
      sum += (i == j ? 1 : 2) * p->M[k] * (x[i] - y[i]) * (x[j] - y[j]);
    }
  return sqrt(fmax(sum, 0));
}

typedef struct {
  double *qacc;   /* of the iterate before */
  uint8_t *state; /* its zones */
} memory;

/* iterate k, compared with the one in memory, which it replaces */
static int take_step(inspection *s, int k, memory *before) {
  sc_solver_options o = s->solver.options;
  sc_solver *solver = NULL;
  sc_result r;
  sc_check_report report = {0};
  size_t nv = (size_t)s->nv, nefc = (size_t)s->nefc;
  o.iterations = k;
  int code = sc_solver_create(s->context, &o, &solver);
  if (!code) code = sc_solve(solver, s->job.batch);
  if (!code) code = sc_solver_result(solver, &r);
  if (!code && nv) code = sc_check(&s->problem, r.qacc, NULL, &report);
  if (!code) {
    inspect_step *step = &s->steps[k];
    *step = (inspect_step){.cost = r.objective[0], .gradient = report.gradient * report.scale};
    for (size_t i = 0; k && i < nefc; i++) step->changes += r.efc_state[i] != before->state[i];
    step->step = k ? distance(&s->problem, r.qacc, before->qacc) : 0;
    if (nv) memcpy(before->qacc, r.qacc, nv * sizeof *r.qacc);
    if (nefc) memcpy(before->state, r.efc_state, nefc);
  }
  sc_solver_destroy(solver);
  return code ? cli_fail(code) : 0;
}

static int take_steps(inspection *s) {
  memory before = {malloc(((size_t)s->nv + 1) * sizeof(double)), malloc((size_t)s->nefc + 1)};
  int n = s->solver.result.iterations[0], status = 0;
  n = n < MOST_STEPS ? n : MOST_STEPS;
  s->steps = calloc((size_t)n + 1, sizeof *s->steps);
  if (!before.qacc || !before.state || !s->steps)
    status = cli_fail_with(EXIT_INTERNAL, "no memory for %d iterations", n);
  for (int k = 0; k <= n && !status; k++) {
    status = take_step(s, k, &before);
    if (!status) s->nstep = k + 1;
  }
  free(before.qacc);
  free(before.state);
  return status;
}

int inspect_solve(inspection *s) {
  int status = timed_solver_open(&s->solver, &s->job, s->context, PRECISION_F64);
  if (status) return status;
  int code = sc_solver_run(s->solver.solver);
  if (!code) code = sc_solver_result(s->solver.solver, &s->solver.result);
  if (code) return cli_fail(code);
  s->status = s->solver.result.status[0];
  int answered = s->status != SC_BAD_INPUT && s->status != SC_NOT_SPD && s->status != SC_NOT_FINITE;
  return answered ? take_steps(s) : 0;
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
  if (!s->nstep) return;
  printf("certified  gap %.3g (rounding alone: %.2g), qacc within %.3g of the optimum (relative, in the M-norm)\n",
         r->gap[0], r->gap_floor[0], r->qacc_bound[0]);
  if (isfinite(s->condition)) printf("condition  of M + J'KJ at the answer: about %.2g\n", s->condition);
  printf("\n  %9s  %22s  %12s  %12s  %s\n", "iteration", "cost", "gradient", "step", "rows that changed their state");
  for (int k = 0; k < s->nstep; k++) {
    const inspect_step *step = &s->steps[k];
    printf("  %9d  %22.14g  %12.3g  ", k, step->cost, step->gradient);
    if (k)
      printf("%12.3g  %d\n", step->step, step->changes);
    else
      printf("%12s  %s\n", "-", "-");
  }
  printf("  (gradient: |M a - qfrc_smooth - J'f| / trace M; step: |a - a before| in the M-norm)\n");
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
  cJSON *steps = cJSON_AddArrayToObject(o, "steps");
  for (int k = 0; k < s->nstep; k++) {
    cJSON *step = cJSON_CreateObject();
    cJSON_AddNumberToObject(step, "iteration", k);
    json_number(step, "cost", s->steps[k].cost);
    json_number(step, "gradient", s->steps[k].gradient);
    json_number(step, "step", s->steps[k].step);
    cJSON_AddNumberToObject(step, "changes", s->steps[k].changes);
    cJSON_AddItemToArray(steps, step);
  }
}
