/* bench: speed and accuracy beside MuJoCo's own solver, on the same states, in one run. */
#include "bench.h"
#include "plot.h"

#include <math.h>
#include <stdlib.h>

#define PEAK_LOOKS 8 /* before anything is measured */

/* the precisions that this version has, or the one asked for */
static int find_precisions(bench *b) {
  for (int k = 0; k < SC_NPRECISION; k++) {
    sc_solver_options o;
    sc_solver *solver;
    sc_solver_options_init(&o);
    o.precision = k;
    int code = sc_solver_create(b->timing, &o, &solver);
    if (!code) sc_solver_destroy(solver);
    if (code && code != SC_ERROR_UNSUPPORTED) return cli_fail(code);
    if (!code && (b->options->precision < 0 || b->options->precision == k)) b->precisions[b->nprecision++] = k;
  }
  for (int i = 0; i < PEAK_LOOKS * b->nprecision; i++) {
    int status = bench_peak(b, b->precisions[i % b->nprecision]);
    if (status) return status;
  }
  return b->nprecision ? 0 : cli_fail(SC_ERROR_UNSUPPORTED);
}

static int run_scenes(bench *b) {
  int status = 0;
  for (int i = 0; i < b->nscene && !status && !interrupted(); i++) status = bench_measure(b, &b->scenes[i]);
  progress_clear(&b->p);
  if (status && !b->nline) return status;
  int grown = !status && b->options->growth && !interrupted() ? bench_growth(b) : 0;
  if (grown) status = grown;
  if (interrupted()) cli_note(b->options, "interrupted: not all of %d scenes were measured to the end", b->nscene);
  if (b->options->json)
    bench_json_end(b);
  else
    bench_table(b);
  return status ? status : b->solved && !interrupted() ? EXIT_SOLVED : EXIT_NOT_SOLVED;
}

/* --step: whole steps instead of solves alone */
static int run_steps(bench *b) {
  int status = job_context(b->options->threads, b->options->backend, &b->stepping);
  for (int i = 0; i < b->nscene && !status && !interrupted(); i++) status = bench_step(b, &b->scenes[i]);
  progress_clear(&b->p);
  if (interrupted()) cli_note(b->options, "interrupted: not all of %d scenes were measured to the end", b->nscene);
  if (!status && !b->options->json) bench_step_table(b);
  return status ? status : b->solved && !interrupted() ? EXIT_SOLVED : EXIT_NOT_SOLVED;
}

static int run(bench *b) {
  int status = b->options->step ? run_steps(b) : run_scenes(b);
  if ((status == EXIT_SOLVED || status == EXIT_NOT_SOLVED) && b->options->plot && !b->options->step) {
    int drawn = bench_plot(b);
    if (drawn) status = drawn;
  }
  return status;
}

int cmd_bench(const cli_options *o) {
  bench *b = calloc(1, sizeof *b);
  if (!b) return cli_fail_with(EXIT_INTERNAL, "bench: no memory");
  b->curves = cJSON_CreateArray(), b->steps = cJSON_CreateArray();
  b->options = o, b->solved = 1, b->folder = o->out ? o->out : "results";
  int status = 0;
  if (o->step && o->device == DEVICE_CUDA)
    status = cli_fail_with(EXIT_USAGE, "bench: --step and --device cuda exclude each other");
  if (!status && o->step && (o->growth || o->plot))
    status = cli_fail_with(EXIT_USAGE, "bench: --step and --%s exclude each other", o->growth ? "growth" : "plot");
  if (!status) status = bench_find_scenes(b);
  if (!status && o->plot) status = plot_check(o->plot);
  if (!status) status = bench_make_folder(b->folder);
  if (!status) status = job_device_context(o, o->threads > 0 ? o->threads : 1, &b->timing);
  if (!status) status = job_context(0, NULL, &b->all);
  if (!status) status = find_precisions(b);
  if (!status) {
    interrupt_catch();
    progress_begin(&b->p, o->quiet);
    status = run(b);
  }
  sc_context_destroy(b->timing);
  sc_context_destroy(b->all);
  sc_context_destroy(b->stepping);
  cJSON_Delete(b->curves);
  cJSON_Delete(b->steps);
  free(b->scenes);
  free(b);
  return status;
}
