#include "inspect.h"
#include "lint.h"
#include "plot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the state */

/* number of the keyframe called so, or of that number; -1: none (an exit status was printed) */
static int find_key(const inspection *s) {
  const char *key = s->options->key;
  int n = sc_model_count(s->job.model, SC_OBJECT_KEY), found = sc_model_find(s->job.model, SC_OBJECT_KEY, key);
  char *end;
  if (found >= 0) return found;
  errno = 0;
  long number = strtol(key, &end, 10);
  if (end != key && !*end && !errno && number >= 0 && number < n) return (int)number;
  if (n)
    cli_fail_with(EXIT_INPUT, "--key %s: %s has no such keyframe; it has %d (0 .. %d)", key, s->job.path, n, n - 1);
  else
    cli_fail_with(EXIT_INPUT, "--key %s: %s has no keyframes", key, s->job.path);
  return -1;
}

/* one state of a file as the job's only one */
static int read_state(inspection *s, progress *p) {
  job *j = &s->job;
  int env = s->options->env < 0 ? 0 : s->options->env, status = job_states(j, s->context, 1, p);
  size_t nstate = 0;
  if (status) return status;
  if (env >= j->nenv) return cli_fail_with(EXIT_INPUT, "--env %d: %s has %d states", env, s->options->states, j->nenv);
  int code = sc_state_size(j->model, j->sig, &nstate);
  if (code) return cli_fail(code);
  memmove(j->states, j->states + (size_t)env * nstate, nstate * sizeof *j->states);
  j->nenv = j->asked = 1;
  snprintf(s->from, sizeof s->from, "state %d of %.90s", env, s->options->states);
  return 0;
}

static int make_state(inspection *s) {
  job *j = &s->job;
  size_t nstate;
  int steps = s->options->warmup < 0 ? 0 : s->options->warmup;
  int code = sc_state_size(j->model, -1, &nstate);
  if (code) return cli_fail(code);
  if (s->options->key && (s->key = find_key(s)) < 0) return EXIT_INPUT;
  j->sig = -1, j->nenv = j->asked = 1;
  j->states = malloc((nstate + 1) * sizeof *j->states);
  if (!j->states) return cli_fail_with(EXIT_INTERNAL, "no memory for a state");
  code = sc_state_start(j->model, s->key, steps, j->states);
  if (code) return cli_fail(code);
  char name[80] = "qpos0", after[40] = "";
  if (s->key >= 0) object_label(j->model, SC_OBJECT_KEY, s->key, name, sizeof name);
  if (steps) snprintf(after, sizeof after, " after %d steps", steps);
  snprintf(s->from, sizeof s->from, "%s%s", name, after);
  return 0;
}

/* ------------------------------------------------------------------ the command */

static int check_usage(const cli_options *o) {
  const char *what = o->actuators && o->site   ? "--actuators and --jacobian"
                     : o->actuators && o->lint ? "--actuators and --lint"
                     : o->site && o->lint      ? "--jacobian and --lint"
                     : o->states && o->key     ? "--states and --key"
                                               : NULL;
  if (o->nmodel != 1)
    return cli_fail_with(EXIT_USAGE, "inspect: one model is needed, not %d; softcon inspect --help tells more",
                         o->nmodel);
  if (what) return cli_fail_with(EXIT_USAGE, "inspect: %s exclude each other", what);
  if (o->plot && (o->actuators || o->site || o->lint))
    return cli_fail_with(EXIT_USAGE,
                         "inspect: --plot draws rows: it goes with none of --actuators, --jacobian, --lint");
  if (o->env >= 0 && !o->states)
    return cli_fail_with(EXIT_USAGE, "inspect: --env %d needs --states, whose row it is", o->env);
  return 0;
}

static int open_inspection(inspection *s, progress *p) {
  int status = job_context(1, NULL, &s->context);
  if (!status) status = job_open(&s->job, s->options, s->options->models[0]);
  if (status) return status;
  job_leave_out_noslip(&s->job);
  int code = sc_inspect_flags(s->job.model, &s->flags);
  if (code) return cli_fail(code);
  s->nv = s->job.info.nv;
  if (s->options->lint || s->options->actuators) return 0;
  return s->options->states ? read_state(s, p) : make_state(s);
}

static void close_inspection(inspection *s) {
  timed_solver_close(&s->solver);
  free(s->info);
  free(s->A);
  trace_free(&s->trace);
  job_close(&s->job);
  sc_context_destroy(s->context);
}

int cmd_inspect(const cli_options *o) {
  inspection s = {.options = o, .key = -1, .status = SC_BAD_INPUT};
  progress p;
  int status = check_usage(o);
  if (!status && o->plot) status = plot_check(o->plot);
  if (status) return status;
  progress_begin(&p, 1);
  status = open_inspection(&s, &p);
  if (!status && o->lint)
    status = lint_model(&s);
  else if (!status && o->actuators)
    status = inspect_actuators(&s);
  else if (!status && o->site)
    status = inspect_site(&s);
  else if (!status)
    status = inspect_rows(&s);
  close_inspection(&s);
  return status;
}
