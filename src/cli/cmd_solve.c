#include "plot.h"
#include "report.h"
#include "set_aside.h"
#include "store.h"
#include "store_aside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------ output */

static int same_file(const char *a, const char *b) {
  struct stat x, y;
  return a && b && (!strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino));
}

/* Results must not replace what they are made from, nor each other. */
static int check_outputs(const cli_options *o) {
  const char *const outputs[] = {o->out, o->set_aside}, *const names[] = {"out", "set-aside"};
  for (int i = 0; i < 2; i++)
    if (same_file(outputs[i], o->models[0]) || same_file(outputs[i], o->states))
      return cli_fail_with(EXIT_USAGE, "solve: --%s %s is a file that is read", names[i], outputs[i]);
  if (same_file(o->out, o->set_aside)) return cli_fail_with(EXIT_USAGE, "solve: --out and --set-aside are one file: %s", o->out);
  int code = o->out ? sc_store_can_write(o->out) : SC_OK;
  if (!code && o->set_aside) code = sc_aside_can_add(o->set_aside);
  return code ? cli_fail(code) : 0;
}

static int write_result(const job *j, sc_context *context, const timed_solver *t, const report *r) {
  sc_store_run run = {.model = j->path,
                      .mujoco_version = j->info.mujoco_version,
                      .method = sc_method_name(j->method),
                      .precision = r->precision,
                      .cone = j->info.cone ? "elliptic" : "pyramidal",
                      .device = r->device,
                      .backend = r->backend,
                      .impratio = j->info.impratio,
                      .tolerance = t->options.tolerance,
                      .iterations = t->options.iterations,
                      .noslip_iterations = t->options.noslip_iterations,
                      .rows = j->options->rows == ROWS_MUJOCO ? "mujoco" : "softcon",
                      .save_rows = j->options->save_rows};
  sc_contacts *contacts = NULL;
  int code = SC_OK;
  if (j->options->save_contacts)
    code = sc_model_contacts(context, j->model, j->states, j->sig, j->nenv, j->batch, &t->result, &contacts);
  run.contacts = contacts, run.fwdinv = r->fwdinv;
  if (!code) code = sc_store_result_write(r->out, &run, j->info.nv, &t->result, j->batch);
  sc_contacts_destroy(contacts);
  return code ? cli_fail(code) : 0;
}

/* ------------------------------------------------------------------ the command */

/* write, print and draw what came out; an exit status */
static int deliver(const cli_options *o, sc_context *context, const job *j, timed_solver *t, report *r) {
  char precision[32];
  r->precision = options_word("precision", o->precision > 0 ? o->precision : 0, precision, sizeof precision);
  r->threads = sc_context_threads(context);
  int status = o->out ? write_result(j, context, t, r) : 0;
  if (!status && o->set_aside) status = set_aside(j, t, o->set_aside, &r->aside);
  if (status) return status;
  if (o->json)
    report_json(r);
  else
    report_table(r);
  if (o->plot && (status = plot_solve(j, t))) return status;
  return all_solved(r->summary) && j->nenv == j->asked ? EXIT_SOLVED : EXIT_NOT_SOLVED;
}

/* everything after the context; the caller closes job and solver */
static int solve(const cli_options *o, sc_context *context, job *j, timed_solver *t, progress *p) {
  summary s;
  comparison c = {.done = 0};
  report r = {.job = j, .solver = t, .summary = &s, .comparison = &c, .device = job_device(context), .backend = sc_context_backend(context), .out = o->out};
  double compare_share = o->compare >= 0 ? 0.3 : 0, states_share = o->states ? 0 : 0.9 - compare_share;
  int status = job_open(j, o, o->models[0]);
  progress_stage(p, states_share, "states");
  if (!status) status = job_states(j, context, 1024, p);
  progress_stage(p, 0.95 - compare_share - states_share, "problems");
  if (!status) status = job_batch(j, context, p);
  progress_stage(p, 0.05, "solving");
  if (!status) status = timed_solver_open(t, j, context, o->precision);
  if (!status) status = timed_solver_run(t, 1, 0.8, p);
  progress_stage(p, compare_share, "MuJoCo");
  if (!status && o->compare >= 0 && !interrupted()) {
    status = compare_with_mujoco(j, context, t, 5, p, &c);
    if (!status) status = timed_solver_run(t, 1, 0.8, p);
  }
  progress_clear(p);
  if (!status && o->fwdinv && !(r.fwdinv = fwdinv_numbers(t))) status = EXIT_INTERNAL;
  if (!status) status = summarise(j, t, r.fwdinv, &s, &c);
  if (!status && interrupted() && o->compare >= 0)
    cli_note(o, "interrupted: the comparison was %s", c.done ? "cut short" : "left out");
  if (!status) status = deliver(o, context, j, t, &r);
  free(r.fwdinv);
  return status;
}

int cmd_solve(const cli_options *o) {
  sc_context *context = NULL;
  job j = {.options = o};
  timed_solver t = {.solver = NULL};
  progress p;
  if (o->nmodel != 1)
    return cli_fail_with(EXIT_USAGE, "solve: one model is needed, not %d; softcon solve --help tells more", o->nmodel);
  int status = check_outputs(o);
  if (!status && o->plot) status = plot_check(o->plot);
  if (!status) status = job_device_context(o, o->threads, &context);
  if (status) return status;
  interrupt_catch();
  progress_begin(&p, o->quiet);
  status = solve(o, context, &j, &t, &p);
  progress_clear(&p);
  timed_solver_close(&t);
  job_close(&j);
  sc_context_destroy(context);
  return status;
}
