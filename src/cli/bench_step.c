/* Whole steps: MuJoCo's kinematics and integration around softcon's solve, beside MuJoCo's own stepping of as many. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 9
#define STEPS 10 /* of a round, each from the same states */

static double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One solver's stepper, and seconds of every round: the wall's, and all threads' together. */
typedef struct {
  sc_stepper *stepper;
  double wall[ROUNDS], cpu[ROUNDS];
  double least, phase[4]; /* of the round that was disturbed least: the library times phases by the wall's clock */
  int status[SC_NSTATUS];
} step_rival;

typedef struct {
  sc_mujoco_steps *steps;
  double wall[ROUNDS], cpu[ROUNDS];
} mujoco_rival;

static const char *const phases[] = {"kinematics", "rows", "solve", "integrate"};

/* STEPS steps from a copy of the states */
static int step_round(const job *j, step_rival *r, double *copy, size_t bytes, int round) {
  uint8_t *status = calloc((size_t)j->nenv, 1);
  if (!status) return cli_fail_with(EXIT_INTERNAL, "bench: no memory");
  sc_step_report told = {.status = status};
  memcpy(copy, j->states, bytes);
  double cpu = cpu_now(), wall = seconds_now();
  int code = sc_stepper_run(r->stepper, copy, j->nenv, NULL, STEPS, &told, NULL, NULL);
  r->wall[round] = seconds_now() - wall, r->cpu[round] = cpu_now() - cpu;
  if (round == 0 || r->wall[round] < r->least) {
    r->least = r->wall[round];
    r->phase[0] = told.kinematics, r->phase[1] = told.rows, r->phase[2] = told.solve, r->phase[3] = told.integrate;
  }
  memset(r->status, 0, sizeof r->status);
  for (int i = 0; i < j->nenv; i++) r->status[status[i] < SC_NSTATUS ? status[i] : SC_NSTATUS - 1]++;
  free(status);
  return code && code != SC_ERROR_VALUE ? cli_fail(code) : 0;
}

/* quartiles of over/x, round by round */
static quartiles ratio(const double *over, const double *x) {
  double q[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) q[i] = over[i] / x[i];
  return bench_quartiles(q, ROUNDS);
}

static double middle(const double *x) {
  double copy[ROUNDS];
  memcpy(copy, x, sizeof copy);
  return quantile(copy, ROUNDS, 0.5);
}

static void add_quartiles(cJSON *o, const char *name, quartiles q) {
  const double x[] = {q.low, q.high};
  cJSON_AddItemToObject(o, name, cJSON_CreateDoubleArray(x, 2));
}

static void tell(bench *b, const bench_scene *scene, const job *j, int precision, const step_rival *r,
                 const mujoco_rival *m) {
  double us = 1e6 / ((double)j->nenv * STEPS), threads = sc_context_threads(b->stepping);
  quartiles wall = ratio(m->wall, r->wall), cpu = ratio(m->cpu, r->cpu);
  cJSON *o = cJSON_CreateObject();
  cJSON_AddBoolToObject(o, "step", 1);
  cJSON_AddStringToObject(o, "scene", scene->name);
  cJSON_AddStringToObject(o, "cone", j->info.cone ? "elliptic" : "pyramidal");
  cJSON_AddStringToObject(o, "precision", bench_precisions[precision]);
  cJSON_AddNumberToObject(o, "nv", j->info.nv);
  cJSON_AddNumberToObject(o, "envs", j->nenv);
  cJSON_AddNumberToObject(o, "threads", threads);
  cJSON_AddNumberToObject(o, "steps", STEPS);
  cJSON *status = cJSON_AddObjectToObject(o, "status");
  for (int i = 0; i < SC_NSTATUS; i++) cJSON_AddNumberToObject(status, sc_status_name(i), r->status[i]);
  bench_add_number(o, "mujoco_us_per_step", us * middle(m->wall));
  bench_add_number(o, "softcon_us_per_step", us * middle(r->wall));
  bench_add_number(o, "speedup", wall.median);
  add_quartiles(o, "speedup_quartiles", wall);
  bench_add_number(o, "speedup_cpu", cpu.median);
  add_quartiles(o, "speedup_cpu_quartiles", cpu);
  bench_add_number(o, "mujoco_cpu_us_per_step", us * middle(m->cpu));
  bench_add_number(o, "softcon_cpu_us_per_step", us * middle(r->cpu));
  cJSON *phase = cJSON_AddObjectToObject(o, "phase_us_per_step");
  for (int k = 0; k < 4; k++) bench_add_number(phase, phases[k], us * r->phase[k]);
  for (int i = 1; i < SC_NSTATUS; i++) b->solved = b->solved && !r->status[i];
  if (b->options->json) {
    progress_clear(&b->p);
    bench_print_object(cJSON_Duplicate(o, 1));
  }
  cJSON_AddItemToArray(b->steps, o);
}

static int measure(bench *b, const bench_scene *scene, job *j, step_rival *rivals, mujoco_rival *m) {
  size_t nstate = 0;
  double part = 1.0 / b->nscene, *copy = NULL;
  int status = job_open(j, &scene->options, scene->model);
  progress_stage(&b->p, (scene->states[0] ? 0.05 : 0.5) * part, "%.24s: states", scene->name);
  if (!status) status = job_states(j, b->all, 1024, &b->p);
  if (!status && !j->nenv) status = cli_fail_with(EXIT_USAGE, "bench: --step needs environments");
  for (int k = 0; k < b->nprecision && !status; k++) {
    sc_stepper_options o;
    sc_stepper_options_init(&o, j->model);
    o.solver.precision = b->precisions[k], o.go_on = 1;
    int code = sc_stepper_create(b->stepping, j->model, &o, &rivals[k].stepper);
    if (code) status = cli_fail(code);
  }
  int code = status ? SC_OK : sc_mujoco_steps_create(b->stepping, j->model, j->nenv, &m->steps);
  if (!status && !code) code = sc_state_size(j->model, -1, &nstate);
  if (code) status = cli_fail(code);
  size_t bytes = (size_t)j->nenv * nstate * sizeof *copy;
  if (!status && !(copy = malloc(bytes)))
    status = cli_fail_with(EXIT_INTERNAL, "bench: no memory for %d states", j->nenv);
  progress_stage(&b->p, (scene->states[0] ? 0.95 : 0.5) * part, "%.24s: steps", scene->name);
  for (int round = 0; round < ROUNDS && !status; round++) {
    for (int k = 0; k < b->nprecision && !status; k++) status = step_round(j, &rivals[k], copy, bytes, round);
    memcpy(copy, j->states, bytes);
    code = status ? SC_OK : sc_mujoco_steps_run(m->steps, copy, STEPS, &m->wall[round], &m->cpu[round]);
    if (code) status = cli_fail(code);
    progress_update(&b->p, round + 1, ROUNDS);
  }
  for (int k = 0; k < b->nprecision && !status; k++) tell(b, scene, j, b->precisions[k], &rivals[k], m);
  free(copy);
  return status;
}

int bench_step(bench *b, const bench_scene *scene) {
  job j = {.options = &scene->options};
  step_rival *rivals = calloc(SC_NPRECISION, sizeof *rivals);
  mujoco_rival m = {.steps = NULL};
  int status = rivals ? measure(b, scene, &j, rivals, &m) : cli_fail_with(EXIT_INTERNAL, "bench: no memory");
  for (int k = 0; rivals && k < SC_NPRECISION; k++) sc_stepper_destroy(rivals[k].stepper);
  sc_mujoco_steps_destroy(m.steps);
  job_close(&j);
  free(rivals);
  return status;
}

/* ------------------------------------------------------------------ the table */

static double number(const cJSON *o, const char *name) {
  const cJSON *x = cJSON_GetObjectItemCaseSensitive(o, name);
  return cJSON_IsNumber(x) ? x->valuedouble : (double)NAN;
}

static const char *text(const cJSON *o, const char *name) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));
}

static const char legend[] =
    "  us/step     microseconds per step of an environment, all threads at work: wall time over environments\n"
    "  speed-up    MuJoCo's time over softcon's, round by round from the same states; cpu: of the time that\n"
    "              all threads together had a core\n"
    "  phases      microseconds per step, added up over threads; solve: with packing and certificate\n";

void bench_step_table(const bench *b) {
  const cJSON *o;
  int n = sc_context_threads(b->stepping);
  printf("softcon %s on %d thread%s (%s): whole steps beside MuJoCo's own\n\n", sc_version(), n, n > 1 ? "s" : "",
         sc_context_backend(b->stepping));
  printf("%-12s %-4s %-5s %5s %8s %8s %8s %8s   %6s %6s %6s %6s\n", "scene", "cone", "prec", "envs", "us/step",
         "MuJoCo", "speed-up", "cpu", "kinem.", "rows", "solve", "integ.");
  cJSON_ArrayForEach(o, b->steps) {
    const cJSON *phase = cJSON_GetObjectItem(o, "phase_us_per_step");
    printf("%-12.12s %-4.3s %-5s %5.0f %8.3f %8.3f %7.2fx %7.2fx   %6.2f %6.2f %6.2f %6.2f\n", text(o, "scene"),
           text(o, "cone"), text(o, "precision"), number(o, "envs"), number(o, "softcon_us_per_step"),
           number(o, "mujoco_us_per_step"), number(o, "speedup"), number(o, "speedup_cpu"), number(phase, "kinematics"),
           number(phase, "rows"), number(phase, "solve"), number(phase, "integrate"));
  }
  printf("\n%s", legend);
}
