#include "trace.h"

#include "cli.h"
#include "inspect.h"
#include "linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
  sc_problem problem;
  double *qacc;   /* of the iterate before */
  uint8_t *state; /* its zones */
} memory;

/* the solver's answer is iterate k; compared with the one in memory, which it replaces */
static int keep_step(trace *t, int k, sc_solver *solver, memory *before) {
  const sc_problem *p = &before->problem;
  sc_result r;
  sc_inverse inverse;
  double fwdinv[2];
  int code = sc_solver_result(solver, &r);
  sc_inverse_init(&inverse);
  inverse.fwdinv = fwdinv;
  if (!code) code = sc_solver_inverse(solver, &inverse);
  if (code) return code;
  trace_step *step = &t->steps[k];
  *step = (trace_step){.cost = r.objective[0], .gradient = p->nv ? fwdinv[1] * linear_scale(p) : 0, .gap = r.gap[0]};
  for (int i = 0; k && i < p->nefc; i++) step->changes += r.efc_state[i] != before->state[i];
  step->step = k ? distance(p, r.qacc, before->qacc) : 0;
  if (p->nv) memcpy(before->qacc, r.qacc, (size_t)p->nv * sizeof *r.qacc);
  if (p->nefc) memcpy(before->state, r.efc_state, (size_t)p->nefc);
  return SC_OK;
}

static int take_step(trace *t, int k, sc_context *context, const sc_batch *batch, const sc_solver_options *options,
                     memory *before) {
  sc_solver_options o = *options;
  sc_solver *solver = NULL;
  o.iterations = k, o.retry = 0, o.noslip_iterations = 0;
  int code = sc_solver_create(context, &o, &solver);
  if (!code) code = sc_solver_pack(solver, batch);
  if (!code) code = sc_solver_run(solver);
  if (!code) code = keep_step(t, k, solver, before);
  sc_solver_destroy(solver);
  return code ? cli_fail(code) : 0;
}

int trace_solve(trace *t, sc_context *context, const sc_batch *batch, const sc_solver_options *options, int iterations) {
  memory before = {.qacc = NULL};
  int n = iterations < TRACE_MOST ? iterations : TRACE_MOST, status = 0;
  int code = sc_batch_get(batch, 0, &before.problem, NULL);
  if (code) return cli_fail(code);
  before.qacc = malloc(((size_t)before.problem.nv + 1) * sizeof *before.qacc);
  before.state = malloc((size_t)before.problem.nefc + 1);
  t->steps = calloc((size_t)n + 1, sizeof *t->steps);
  if (!before.qacc || !before.state || !t->steps) status = cli_fail_with(EXIT_INTERNAL, "no memory for %d iterations", n);
  for (int k = 0; k <= n && !status; k++) {
    status = take_step(t, k, context, batch, options, &before);
    if (!status) t->n = k + 1;
  }
  free(before.qacc);
  free(before.state);
  return status;
}

void trace_free(trace *t) {
  free(t->steps);
  *t = (trace){NULL, 0};
}

/* ------------------------------------------------------------------ output */

void trace_table(const trace *t) {
  printf("\n  %9s  %22s  %12s  %12s  %12s  %s\n", "iteration", "cost", "gradient", "gap", "step", "rows that changed their state");
  for (int k = 0; k < t->n; k++) {
    const trace_step *step = &t->steps[k];
    printf("  %9d  %22.14g  %12.3g  %12.3g  ", k, step->cost, step->gradient, step->gap);
    if (k)
      printf("%12.3g  %d\n", step->step, step->changes);
    else
      printf("%12s  %s\n", "-", "-");
  }
  printf("  (gradient: |M a - qfrc_smooth - J'f| / trace M; gap: bound on cost - optimum; step: |a - a before| in the M-norm)\n");
}

void trace_json(const trace *t, const char *name, cJSON *object) {
  cJSON *steps = cJSON_AddArrayToObject(object, name);
  for (int k = 0; k < t->n; k++) {
    cJSON *step = cJSON_CreateObject();
    cJSON_AddNumberToObject(step, "iteration", k);
    json_number(step, "cost", t->steps[k].cost);
    json_number(step, "gradient", t->steps[k].gradient);
    json_number(step, "gap", t->steps[k].gap);
    json_number(step, "step", t->steps[k].step);
    cJSON_AddNumberToObject(step, "changes", t->steps[k].changes);
    cJSON_AddItemToArray(steps, step);
  }
}
