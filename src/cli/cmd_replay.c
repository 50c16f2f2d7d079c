/* One environment that a run has set aside, solved alone. */
#include "blame.h"
#include "inspect.h"
#include "store_aside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const cli_options *options;
  const char *path;
  sc_aside_entry *list;
  int n, entry;
  sc_aside aside;
  sc_context *context;
  sc_batch *batch;
  sc_problem problem; /* as the batch holds it */
  sc_rows rows;
  sc_solver_options asked;
  sc_solver *solver;
  sc_result result;
  trace trace, retry; /* retry: the second solve, in double, of what float left unsolved */
  blame blame;
  int blamed;
} replay;

/* what the file holds is not what the library takes: the file is to blame */
static int fail_of_file(const replay *s, int code) {
  if (code != SC_ERROR_ARGUMENT) return cli_fail(code);
  return cli_fail_with(EXIT_INPUT, "%s: environment %d: %s", s->path, s->aside.env, sc_error_text());
}

/* ------------------------------------------------------------------ which one */

/* of the last run that has set it aside; without --env, the first of the last run */
static int choose(replay *s) {
  int env = s->options->env, last;
  int code = sc_aside_list(s->path, &s->list, &s->n);
  if (code) return cli_fail(code);
  if (!s->n) return cli_fail_with(EXIT_INPUT, "%s: no environment was set aside: all were solved", s->path);
  last = s->list[s->n - 1].run;
  s->entry = -1;
  for (int i = s->n; i-- > 0 && (env < 0 || s->entry < 0);)
    if (env < 0 ? s->list[i].run == last : s->list[i].env == env) s->entry = i;
  if (s->entry >= 0) return 0;
  return cli_fail_with(EXIT_INPUT, "--env %d: %s does not hold it; it holds %d environment%s, the first of them %d", env,
                       s->path, s->n, s->n > 1 ? "s" : "", s->list[0].env);
}

/* ------------------------------------------------------------------ the solve */

/* the settings of its run, or those of the command line */
static void take_settings(replay *s) {
  const cli_options *o = s->options;
  sc_solver_options *x = &s->asked;
  *x = s->aside.options;
  if (o->method >= 0) x->method = o->method;
  if (o->precision >= 0) x->precision = o->precision;
  if (o->iterations >= 0) x->iterations = o->iterations;
  if (o->ls_iterations >= 1) x->ls_iterations = o->ls_iterations;
  if (o->noslip >= 0) x->noslip_iterations = o->noslip;
  if (!isnan(o->tolerance)) x->tolerance = o->tolerance;
}

/* A bad environment stays bad, with the reason that was stored: what it lacks is not in the file. Not so one that was only
 * too large for its run's capacity. */
static int load(replay *s) {
  int code = sc_aside_read(s->path, s->entry, &s->aside);
  if (!code) code = sc_batch_create(s->context, 1, &s->batch);
  if (code) return cli_fail(code);
  if (s->aside.bad && !(s->aside.flags & SC_ROWS_DROPPED))
    code = sc_batch_set_bad(s->batch, 0, s->aside.problem.nv, s->aside.why);
  else
    code = sc_batch_set(s->batch, 0, &s->aside.problem);
  if (code && code != SC_ERROR_VALUE) return fail_of_file(s, code);
  code = sc_batch_get(s->batch, 0, &s->problem, &s->rows);
  return code ? cli_fail(code) : 0;
}

/* the iterates, of both solves where there were two: the result counts the iterations of both together */
static int trace_both(replay *s) {
  sc_solver_options o = s->asked;
  sc_solver *first = NULL;
  sc_result r;
  int n = s->result.iterations[0], n_first = n;
  if (s->result.flags[0] & SC_RETRIED_F64) {
    o.retry = 0;
    int code = sc_solver_create(s->context, &o, &first);
    if (!code) code = sc_solve(first, s->batch);
    if (!code) code = sc_solver_result(first, &r);
    if (!code) n_first = r.iterations[0];
    sc_solver_destroy(first);
    if (code) return cli_fail(code);
  }
  int status = trace_solve(&s->trace, s->context, s->batch, &o, n_first);
  o.precision = SC_F64;
  if (!status && n_first < n) status = trace_solve(&s->retry, s->context, s->batch, &o, n - n_first);
  return status;
}

static int solve(replay *s) {
  const sc_result *r = &s->result;
  take_settings(s);
  int code = sc_solver_create(s->context, &s->asked, &s->solver);
  if (code) return fail_of_file(s, code);
  code = sc_solve(s->solver, s->batch);
  if (!code) code = sc_solver_result(s->solver, &s->result);
  if (code) return cli_fail(code);
  int answered = r->status[0] <= SC_STALLED, status = 0;
  if (answered) status = trace_both(s);
  if (status || s->rows.bad) return status;
  if (!blame_find(&s->problem, answered ? r->qacc : NULL, r->efc_state, &s->blame))
    return cli_fail_with(EXIT_INTERNAL, "no memory for a matrix of %d x %d", s->problem.nv, s->problem.nv);
  s->blamed = 1;
  return 0;
}

/* ------------------------------------------------------------------ output */

static void print_settings(const char *label, const sc_solver_options *o) {
  char method[20], precision[20];
  printf("%-10s %s, %s, at most %d iterations, tolerance %g", label, options_word("method", o->method, method, sizeof method),
         options_word("precision", o->precision, precision, sizeof precision), o->iterations, o->tolerance);
  if (o->noslip_iterations) printf(", noslip %d", o->noslip_iterations);
  printf("\n");
}

/* What a solve came to. */
typedef struct {
  int status, iterations;
  unsigned flags;
  double gap, gap_floor, qacc_bound, objective;
} verdict;

static verdict verdict_before(const sc_aside *a) {
  return (verdict){a->status, a->iterations, a->flags, a->gap, a->gap_floor, a->qacc_bound, a->objective};
}

static verdict verdict_now(const sc_result *r) {
  return (verdict){r->status[0], r->iterations[0], r->flags[0], r->gap[0], r->gap_floor[0], r->qacc_bound[0], r->objective[0]};
}

static void print_verdict(verdict v) {
  printf("%-10s %s", "", sc_status_name(v.status));
  for (int bit = 0; bit < SC_NFLAG; bit++)
    if (v.flags >> bit & 1) printf(", %s", sc_flag_name(bit));
  printf("; %d iteration%s", v.iterations, v.iterations == 1 ? "" : "s");
  if (isfinite(v.gap))
    printf(", gap %.3g (rounding alone: %.2g), qacc bound %.3g, cost %.10g", v.gap, v.gap_floor, v.qacc_bound, v.objective);
  printf("\n");
}

static void print_table(const replay *s) {
  const sc_aside *a = &s->aside;
  printf("softcon %s: environment %d of %s\n", sc_version(), a->env, a->model);
  printf("%s holds %d environment%s:", s->path, s->n, s->n > 1 ? "s" : "");
  for (int i = 0; i < s->n && i < 12; i++) printf(" %d%s", s->list[i].env, i == s->entry ? " (this)" : "");
  printf("%s\n\n%d dofs, %d rows made by %s\n", s->n > 12 ? " ..." : "", s->problem.nv, s->problem.nefc,
         a->rows_by_mujoco ? "MuJoCo" : "softcon");
  print_settings("its run", &a->options);
  print_verdict(verdict_before(a));
  print_settings("now", &s->asked);
  print_verdict(verdict_now(&s->result));
  if (s->rows.why) printf("because    %s\n", s->rows.why);
  if (s->trace.n) trace_table(&s->trace);
  if (s->retry.n) {
    printf("\nagain in double, since float left it unsolved");
    trace_table(&s->retry);
  }
  if (s->blamed) blame_table(&s->blame, a->row_name, a->dof_name);
}

static void add_verdict(cJSON *o, verdict v, const sc_solver_options *options) {
  char word[20];
  cJSON_AddStringToObject(o, "status", sc_status_name(v.status));
  cJSON *list = cJSON_AddArrayToObject(o, "flags");
  for (int bit = 0; bit < SC_NFLAG; bit++)
    if (v.flags >> bit & 1) cJSON_AddItemToArray(list, cJSON_CreateString(sc_flag_name(bit)));
  cJSON_AddNumberToObject(o, "iterations", v.iterations);
  json_number(o, "gap", v.gap);
  json_number(o, "gap_floor", v.gap_floor);
  json_number(o, "qacc_bound", v.qacc_bound);
  json_number(o, "objective", v.objective);
  cJSON_AddStringToObject(o, "method", options_word("method", options->method, word, sizeof word));
  cJSON_AddStringToObject(o, "precision", options_word("precision", options->precision, word, sizeof word));
  json_number(o, "tolerance", options->tolerance);
  cJSON_AddNumberToObject(o, "max_iterations", options->iterations);
}

static int print_json(const replay *s) {
  const sc_aside *a = &s->aside;
  cJSON *o = cJSON_CreateObject(), *list;
  cJSON_AddStringToObject(o, "file", s->path);
  cJSON_AddNumberToObject(o, "env", a->env);
  cJSON_AddStringToObject(o, "model", a->model);
  list = cJSON_AddArrayToObject(o, "envs");
  for (int i = 0; i < s->n; i++) cJSON_AddItemToArray(list, cJSON_CreateNumber(s->list[i].env));
  cJSON_AddNumberToObject(o, "nv", s->problem.nv);
  cJSON_AddNumberToObject(o, "nefc", s->problem.nefc);
  add_verdict(o, verdict_now(&s->result), &s->asked);
  if (s->rows.why) cJSON_AddStringToObject(o, "why", s->rows.why);
  json_numbers(o, "qacc", s->result.qacc, s->problem.nv);
  add_verdict(cJSON_AddObjectToObject(o, "its_run"), verdict_before(a), &a->options);
  trace_json(&s->trace, "steps", o);
  if (s->retry.n) trace_json(&s->retry, "retry_steps", o);
  if (s->blamed) blame_json(&s->blame, a->row_name, a->dof_name, o);
  return json_print(o);
}

/* ------------------------------------------------------------------ the command */

static void close_replay(replay *s) {
  trace_free(&s->trace);
  trace_free(&s->retry);
  sc_solver_destroy(s->solver);
  sc_batch_destroy(s->batch);
  sc_context_destroy(s->context);
  sc_aside_free(&s->aside);
  free(s->list);
}

int cmd_replay(const cli_options *o) {
  replay s = {.options = o};
  if (o->nmodel != 1)
    return cli_fail_with(EXIT_USAGE, "replay: one file is needed, not %d; softcon replay --help tells more", o->nmodel);
  s.path = o->models[0];
  int status = choose(&s);
  if (!status) status = job_context(1, o->backend, &s.context);
  if (!status) status = load(&s);
  if (!status) status = solve(&s);
  int solved = !status && s.result.status[0] == SC_SOLVED;
  if (!status && o->json)
    status = print_json(&s);
  else if (!status)
    print_table(&s);
  close_replay(&s);
  return status ? status : solved ? EXIT_SOLVED : EXIT_NOT_SOLVED;
}
