#define _POSIX_C_SOURCE 200809L
#include "report.h"
#include "store.h"

#include <cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_MODELS 64
#define NPRECISION 2
static const char *const precisions[NPRECISION] = {"f64", "f32"};

/* A line of the table: one scene in one precision. */
typedef struct {
  char scene[40], verdicts[120];
  int elliptic, method, precision;
  summary s;
  comparison c;
} line;

typedef struct {
  const cli_options *options;
  sc_context *all, *timing; /* all cores make states; what is timed has as many threads as asked for, default 1 */
  const char *folder;
  const char *models[MOST_MODELS];
  char paths[4][4096]; /* of the default scenes */
  int nmodel;
  progress p;
  line lines[NPRECISION * MOST_MODELS];
  int nline, solved;
  double seconds[4]; /* making states, problems, solving, comparing */
} bench;

/* ------------------------------------------------------------------ scenes and folders */

static int default_models(bench *b) {
  static const char *const names[] = {"legged", "humanoid", "gripper", "boxes"};
#ifdef SOFTCON_SCENES
  static const char *const folders[] = {SOFTCON_SCENES, "scenes"};
#else
  static const char *const folders[] = {"scenes"};
#endif
  for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
    int found = 0;
    for (int i = 0; i < 4; i++) {
      snprintf(b->paths[i], sizeof b->paths[i], "%.4000s/%s.xml", folders[f], names[i]);
      found += access(b->paths[i], R_OK) == 0;
      b->models[i] = b->paths[i];
    }
    b->nmodel = 4;
    if (found == 4) return 0;
  }
  return cli_fail_with(EXIT_INPUT, "bench: no scenes in %s: name the models to measure", folders[0]);
}

/* file name without folder and ending */
static void scene_name(const char *path, char *name, size_t size) {
  const char *slash = strrchr(path, '/');
  snprintf(name, size, "%s", slash ? slash + 1 : path);
  char *dot = strrchr(name, '.');
  if (dot && dot != name) *dot = 0;
}

static int make_folder(const char *path) {
  char part[4096];
  size_t n = strlen(path);
  if (n >= sizeof part) return cli_fail_with(EXIT_INPUT, "--out %.60s...: the path is too long", path);
  for (size_t i = 1; i <= n; i++) {
    if (path[i] != '/' && path[i]) continue;
    memcpy(part, path, i);
    part[i] = 0;
    if (mkdir(part, 0777) && errno != EEXIST) return cli_fail_with(EXIT_INPUT, "--out %s: %s", part, strerror(errno));
  }
  return access(path, W_OK | X_OK) ? cli_fail_with(EXIT_INPUT, "--out %s: %s", path, strerror(errno)) : 0;
}

static int write_result(const bench *b, const job *j, const timed_solver *t, const line *l) {
  char path[4200];
  snprintf(path, sizeof path, "%.4000s/%s-%s.h5", b->folder, l->scene, precisions[l->precision]);
  sc_store_run run = {.model = j->path,
                      .mujoco_version = j->info.mujoco_version,
                      .method = sc_method_name(j->method),
                      .precision = precisions[l->precision],
                      .cone = j->info.cone ? "elliptic" : "pyramidal",
                      .device = "cpu",
                      .backend = sc_context_backend(b->timing),
                      .impratio = j->info.impratio,
                      .tolerance = t->options.tolerance,
                      .iterations = t->options.iterations};
  int code = sc_store_result_write(path, &run, j->info.nv, &t->result, j->batch);
  return code ? cli_fail(code) : 0;
}

/* ------------------------------------------------------------------ JSON */

static void add_number(cJSON *object, const char *name, double value) {
  if (isfinite(value))
    cJSON_AddNumberToObject(object, name, value);
  else
    cJSON_AddNullToObject(object, name);
}

static void print_object(cJSON *o) {
  char *text = cJSON_PrintUnformatted(o);
  if (text) puts(text);
  fflush(stdout);
  free(text);
  cJSON_Delete(o);
}

static void print_json_line(const bench *b, const line *l) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "scene", l->scene);
  cJSON_AddStringToObject(o, "cone", l->elliptic ? "elliptic" : "pyramidal");
  cJSON_AddStringToObject(o, "precision", precisions[l->precision]);
  cJSON_AddStringToObject(o, "method", sc_method_name(l->method));
  cJSON_AddNumberToObject(o, "nv", l->s.nv);
  add_number(o, "nefc_mean", l->s.nefc_mean);
  cJSON_AddNumberToObject(o, "envs", l->s.envs);
  cJSON_AddNumberToObject(o, "threads", sc_context_threads(b->timing));
  cJSON_AddStringToObject(o, "backend", sc_context_backend(b->timing));
  cJSON *status = cJSON_AddObjectToObject(o, "status");
  for (int i = 0; i < SC_NSTATUS; i++) cJSON_AddNumberToObject(status, sc_status_name(i), l->s.status[i]);
  add_number(o, "mujoco_us_per_env", l->c.us_per_env);
  add_number(o, "softcon_us_per_env", l->s.us_per_env);
  add_number(o, "speedup", l->c.speedup);
  add_number(o, "scaled_gap_max", l->s.scaled_gap.max);
  add_number(o, "qacc_error_median", l->c.qacc.median);
  add_number(o, "qacc_error_max", l->c.qacc.max);
  add_number(o, "mujoco_qacc_error_max", l->c.mujoco.max);
  add_number(o, "iterations_mean", l->s.iterations_mean);
  add_number(o, "mujoco_iterations_mean", l->c.iterations_mean);
  cJSON_AddNullToObject(o, "peak_share"); /* measured on a GPU only */
  cJSON_AddNullToObject(o, "bytes_per_env");
  print_object(o);
}

/* geometric mean of the speed-ups in one precision; NaN without any */
static double geomean(const bench *b, int precision) {
  double sum = 0;
  int n = 0;
  for (int i = 0; i < b->nline; i++)
    if (b->lines[i].precision == precision && b->lines[i].c.speedup > 0) sum += log(b->lines[i].c.speedup), n++;
  return n ? exp(sum / n) : (double)NAN;
}

static void print_json_end(const bench *b) {
  cJSON *o = cJSON_CreateObject(), *inner = cJSON_AddObjectToObject(o, "geomean_speedup");
  for (int k = 0; k < NPRECISION; k++)
    if (!isnan(geomean(b, k))) add_number(inner, precisions[k], geomean(b, k));
  print_object(o);
}

/* ------------------------------------------------------------------ the table */

static const char legend[] =
    "  rows        constraint rows of an environment (limits, contacts, equalities, dry friction), mean\n"
    "  verdicts    solved: a bound computed in double from the problem's own data proves the answer good enough\n"
    "  iterations  steps of the method, mean; MuJoCo's: of its largest island. Both start at the state's warm start\n"
    "  gap         worst certified distance of the cost from its minimum, times 1/trace M as MuJoCo's tolerance is\n"
    "  qacc error  distance of the acceleration from the optimum, relative, in the norm of M: median and worst;\n"
    "              the optimum is MuJoCo's Newton at tolerance 1e-14, polished until nothing improves\n"
    "  us/env      microseconds per environment. softcon: solve and certificate of packed problems. MuJoCo:\n"
    "              mj_fwdConstraint at the model's settings, islands on, the faster of its dense and sparse forms\n"
    "  speed-up    MuJoCo's time over softcon's, same states, same threads, same run\n";

static int verdict_width(const bench *b) {
  size_t width = strlen("verdicts");
  for (int i = 0; i < b->nline; i++)
    if (strlen(b->lines[i].verdicts) > width) width = strlen(b->lines[i].verdicts);
  return (int)width;
}

static void print_table(const bench *b) {
  int w = verdict_width(b), threads = sc_context_threads(b->timing);
  if (b->nline == 0) return;
  printf("softcon %s on %d thread%s (%s)\n\n", sc_version(), threads, threads > 1 ? "s" : "",
         sc_context_backend(b->timing));
  printf("%-12s %-9s %-5s %6s %4s %6s  %-*s  %11s  %7s  %17s %8s  %16s\n", "", "", "", "", "", "", w, "", "iterations",
         "gap", "qacc error", "MuJoCo's", "us/env");
  printf("%-12s %-9s %-5s %6s %4s %6s  %-*s  %5s %5s  %7s  %8s %8s %8s  %8s %7s  %8s\n", "scene", "cone", "prec",
         "envs", "nv", "rows", w, "verdicts", "own", "MJ", "worst", "median", "worst", "worst", "softcon", "MuJoCo",
         "speed-up");
  for (int i = 0; i < b->nline; i++) {
    const line *l = &b->lines[i];
    printf("%-12.12s %-9s %-5s %6d %4d %6.1f  %-*s  %5.2f %5.2f  %7.1e  %8.1e %8.1e %8.1e  %8.3f %7.3f  %7.2fx\n",
           l->scene, l->elliptic ? "elliptic" : "pyramidal", precisions[l->precision], l->s.envs, l->s.nv,
           l->s.nefc_mean, w, l->verdicts, l->s.iterations_mean, l->c.iterations_mean, l->s.scaled_gap.max,
           l->c.qacc.median, l->c.qacc.max, l->c.mujoco.max, l->s.us_per_env, l->c.us_per_env, l->c.speedup);
  }
  printf("\n");
  for (int k = 0; k < NPRECISION; k++)
    if (!isnan(geomean(b, k))) printf("geometric mean of the speed-ups, %s: %.2fx\n", precisions[k], geomean(b, k));
  printf("\n%s", legend);
  printf("\nresults in %s/; %.1f s: making states %.1f, problems %.1f, solving %.1f, comparing %.1f\n", b->folder,
         seconds_now() - b->p.began, b->seconds[0], b->seconds[1], b->seconds[2], b->seconds[3]);
}

/* ------------------------------------------------------------------ one model */

/* seconds since *mark, which moves on */
static double lap(double *mark) {
  double now = seconds_now(), passed = now - *mark;
  *mark = now;
  return passed;
}

static int finish_line(bench *b, job *j, timed_solver *t, const comparison *c, int precision) {
  line *l = &b->lines[b->nline];
  *l = (line){.elliptic = j->info.cone != 0, .method = j->method, .precision = precision, .c = *c};
  scene_name(j->path, l->scene, sizeof l->scene);
  int status = summarise(j, t, &l->s, &l->c);
  if (!status) status = write_result(b, j, t, l);
  if (status) return status;
  report_verdicts(&l->s, l->verdicts, sizeof l->verdicts);
  b->solved = b->solved && all_solved(&l->s);
  if (b->options->json) {
    progress_clear(&b->p);
    print_json_line(b, l);
  }
  b->nline++;
  return 0;
}

static int measure(bench *b, job *j, timed_solver *t, const char *path) {
  const cli_options *o = b->options;
  comparison c[NPRECISION];
  char scene[24];
  int first = o->precision == PRECISION_F32, n = o->precision < 0 ? 2 : 1;
  double part = 1.0 / b->nmodel, mark = seconds_now();
  scene_name(path, scene, sizeof scene);
  int status = job_open(j, o, path);
  progress_stage(&b->p, 0.6 * part, "%s: states", scene);
  if (!status) status = job_states(j, b->all, 4096, &b->p);
  b->seconds[0] += lap(&mark);
  progress_stage(&b->p, 0.05 * part, "%s: problems", scene);
  if (!status) status = job_batch(j, b->all, &b->p);
  b->seconds[1] += lap(&mark);
  progress_stage(&b->p, 0.05 * part, "%s: solving", scene);
  for (int k = 0; k < n && !status; k++) status = timed_solver_open(&t[k], j, b->timing, first + k);
  if (!status) status = timed_solver_run(t, n, 1, &b->p);
  b->seconds[2] += lap(&mark);
  for (int k = 0; k < n && !status; k++) {
    progress_stage(&b->p, 0.25 * part / n, "%s: MuJoCo, %s", scene, precisions[first + k]);
    status = compare_with_mujoco(j, b->timing, &t[k], 5, &b->p, &c[k]);
  }
  b->seconds[3] += lap(&mark);
  progress_stage(&b->p, 0.05 * part, "%s: solving again", scene);
  if (!status) status = timed_solver_run(t, n, 1, &b->p);
  for (int k = 0; k < n && !status; k++) status = finish_line(b, j, &t[k], &c[k], first + k);
  b->seconds[2] += lap(&mark);
  return status;
}

/* ------------------------------------------------------------------ the command */

static int run(bench *b) {
  int status = 0;
  for (int i = 0; i < b->nmodel && !status && !interrupted(); i++) {
    job j = {.options = b->options};
    timed_solver t[NPRECISION] = {{.solver = NULL}, {.solver = NULL}};
    status = measure(b, &j, t, b->models[i]);
    for (int k = 0; k < NPRECISION; k++) timed_solver_close(&t[k]);
    job_close(&j);
  }
  progress_clear(&b->p);
  if (status && !b->nline) return status;
  if (interrupted()) cli_note(b->options, "interrupted: not all of %d models were measured to the end", b->nmodel);
  if (b->options->json)
    print_json_end(b);
  else
    print_table(b);
  return status ? status : b->solved && !interrupted() ? EXIT_SOLVED : EXIT_NOT_SOLVED;
}

int cmd_bench(const cli_options *o) {
  bench *b = calloc(1, sizeof *b);
  if (!b) return cli_fail_with(EXIT_INTERNAL, "bench: no memory");
  b->options = o, b->solved = 1, b->folder = o->out ? o->out : "results";
  int status = cli_refuse(o);
  if (!status && o->nmodel > MOST_MODELS)
    status = cli_fail_with(EXIT_USAGE, "bench: %d models, at most %d", o->nmodel, MOST_MODELS);
  if (!status && o->states && o->nmodel != 1)
    status = cli_fail_with(EXIT_USAGE, "bench: --states goes with one model, not %d", o->nmodel);
  for (b->nmodel = 0; !status && b->nmodel < o->nmodel; b->nmodel++) b->models[b->nmodel] = o->models[b->nmodel];
  if (!status && !o->nmodel) status = default_models(b);
  if (!status) status = make_folder(b->folder);
  if (!status) status = job_context(o->threads > 0 ? o->threads : 1, o->backend, &b->timing);
  if (!status) status = job_context(0, NULL, &b->all);
  if (!status) {
    interrupt_catch();
    progress_begin(&b->p, o->quiet);
    status = run(b);
  }
  sc_context_destroy(b->timing);
  sc_context_destroy(b->all);
  free(b);
  return status;
}
