/* What `bench` measured, as tables for people and as JSON lines for programs. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_precisions[SC_NPRECISION] = {"f64", "f32", "mixed"};

/* geometric mean of the speed-ups in one precision; NaN without any */
double bench_geomean(const bench *b, int precision, int packed) {
  double sum = 0;
  int n = 0;
  for (int i = 0; i < b->nline; i++) {
    const bench_line *l = &b->lines[i];
    double x = packed ? l->speedup_packed.median : l->speedup.median;
    if (l->precision == precision && x > 0) sum += log(x), n++;
  }
  return n ? exp(sum / n) : (double)NAN;
}

/* the line with the smallest speed-up in one precision, or NULL */
static const bench_line *slowest(const bench *b, int precision) {
  const bench_line *least = NULL;
  for (int i = 0; i < b->nline; i++) {
    const bench_line *l = &b->lines[i];
    if (l->precision == precision && l->speedup.median > 0 && (!least || l->speedup.median < least->speedup.median))
      least = l;
  }
  return least;
}

/* ------------------------------------------------------------------ JSON */

void bench_add_number(cJSON *object, const char *name, double value) {
  if (isfinite(value))
    cJSON_AddNumberToObject(object, name, value);
  else
    cJSON_AddNullToObject(object, name);
}

void bench_print_object(cJSON *o) {
  char *text = cJSON_PrintUnformatted(o);
  if (text) puts(text);
  fflush(stdout);
  free(text);
  cJSON_Delete(o);
}

/* [a quarter below, three quarters below] */
static void add_range(cJSON *object, const char *name, quartiles q) {
  cJSON *list = cJSON_AddArrayToObject(object, name);
  const double x[] = {q.low, q.high};
  for (int k = 0; k < 2; k++)
    cJSON_AddItemToArray(list, isfinite(x[k]) ? cJSON_CreateNumber(x[k]) : cJSON_CreateNull());
}

static void add_times(cJSON *o, const bench_line *l) {
  bench_add_number(o, "mujoco_us_per_env", l->mujoco_us.median);
  add_range(o, "mujoco_us_quartiles", l->mujoco_us);
  cJSON_AddStringToObject(o, "mujoco_jacobian", l->mujoco_layout ? l->mujoco_layout : "");
  bench_add_number(o, "softcon_us_per_env", l->us.median);
  add_range(o, "softcon_us_quartiles", l->us);
  bench_add_number(o, "speedup", l->speedup.median);
  add_range(o, "speedup_quartiles", l->speedup);
  bench_add_number(o, "packed_us_per_env", l->packed_us.median);
  bench_add_number(o, "speedup_packed", l->speedup_packed.median);
  add_range(o, "speedup_packed_quartiles", l->speedup_packed);
  cJSON_AddNumberToObject(o, "rounds", l->rounds);
  cJSON *phases = cJSON_AddObjectToObject(o, "phase_us_per_env");
  bench_add_number(phases, "kinematics", l->s.us_kinematics);
  bench_add_number(phases, "rows", l->s.us_rows);
  bench_add_number(phases, "pack", l->s.us_pack);
  bench_add_number(phases, "solve", l->s.us_solve);
  bench_add_number(phases, "certificate", l->s.us_certificate);
  bench_add_number(phases, "unpack", l->s.us_unpack);
}

void bench_json_line(const bench *b, const bench_line *l) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "scene", l->scene);
  cJSON_AddStringToObject(o, "cone", l->elliptic ? "elliptic" : "pyramidal");
  cJSON_AddStringToObject(o, "precision", bench_precisions[l->precision]);
  cJSON_AddStringToObject(o, "method", sc_method_name(l->method));
  cJSON_AddNumberToObject(o, "nv", l->s.nv);
  bench_add_number(o, "nefc_mean", l->s.nefc_mean);
  cJSON_AddNumberToObject(o, "envs", l->s.envs);
  cJSON_AddNumberToObject(o, "threads", sc_context_threads(b->timing));
  cJSON_AddStringToObject(o, "backend", sc_context_backend(b->timing));
  cJSON *status = cJSON_AddObjectToObject(o, "status");
  for (int i = 0; i < SC_NSTATUS; i++) cJSON_AddNumberToObject(status, sc_status_name(i), l->s.status[i]);
  add_times(o, l);
  bench_add_number(o, "scaled_gap_max", l->s.scaled_gap.max);
  bench_add_number(o, "qacc_error_median", l->qacc.median);
  bench_add_number(o, "qacc_error_max", l->qacc.max);
  bench_add_number(o, "mujoco_qacc_error_max", l->mujoco.max);
  bench_add_number(o, "iterations_mean", l->s.iterations_mean);
  bench_add_number(o, "mujoco_iterations_mean", l->mujoco_iterations);
  bench_add_number(o, "flops_per_env", l->flops);
  bench_add_number(o, "peak_gflops", 1e-9 * l->peak);
  bench_add_number(o, "peak_share", l->peak_share);
  bench_add_number(o, "bytes_per_env", l->bytes);
  bench_add_number(o, "packed_bytes_per_env", l->packed_bytes);
  bench_print_object(o);
}

void bench_json_end(const bench *b) {
  cJSON *o = cJSON_CreateObject(), *mean = cJSON_AddObjectToObject(o, "geomean_speedup");
  cJSON *packed = cJSON_AddObjectToObject(o, "geomean_speedup_packed"),
        *least = cJSON_AddObjectToObject(o, "least_speedup");
  for (int k = 0; k < SC_NPRECISION; k++) {
    const bench_line *l = slowest(b, k);
    if (!l) continue;
    bench_add_number(mean, bench_precisions[k], bench_geomean(b, k, 0));
    bench_add_number(packed, bench_precisions[k], bench_geomean(b, k, 1));
    bench_add_number(least, bench_precisions[k], l->speedup.median);
  }
  bench_print_object(o);
}

/* ------------------------------------------------------------------ tables, at most 100 columns wide */

static const char legend[] =
    "  rows        constraint rows of an environment (limits, contacts, equalities, dry friction), mean\n"
    "  us/env      microseconds per environment, medians. softcon: solve, certificate and results of\n"
    "              packed problems. MuJoCo: mj_fwdConstraint at its settings, islands on, the faster of\n"
    "              its dense and sparse forms; both start at the state's warm start and take turns in\n"
    "              rounds\n"
    "  speed-up    MuJoCo's time over softcon's, same states, same threads, same round: median, and\n"
    "              where half of the rounds lie; packed: packing, solve, certificate and results at once\n"
    "  peak        share of the processor's measured peak that the operations reach which an\n"
    "              environment's own sparsity needs, in the solve's time\n"
    "  iterations  Newton steps, mean; MuJoCo's: of its largest island\n"
    "  qacc error  distance of the acceleration from the optimum, relative, in the norm of M: median\n"
    "              and worst; the optimum is MuJoCo's Newton at tolerance 1e-14, polished until nothing\n"
    "              improves\n"
    "  gap         worst certified distance of the cost from its minimum, times 1/trace M as MuJoCo's\n"
    "              tolerance is; solved: a bound from the problem's own data proves the answer good\n"
    "              enough\n"
    "  memory      kB per environment, of the problems and of a solver that packs, solves and forgets\n";

static void print_scene(const bench_line *l) {
  printf("%-12.12s %-4s %-5s", l->scene, l->elliptic ? "ell" : "pyr", bench_precisions[l->precision]);
}

static void print_speeds(const bench *b) {
  printf("%-12s %-4s %-5s %6s %4s %6s  %8s %8s  %8s %13s %8s %5s\n", "scene", "cone", "prec", "envs", "nv", "rows",
         "us/env", "MuJoCo", "speed-up", "", "packed", "peak");
  for (int i = 0; i < b->nline; i++) {
    const bench_line *l = &b->lines[i];
    char range[40];
    snprintf(range, sizeof range, "(%.2f-%.2f)", l->speedup.low, l->speedup.high);
    print_scene(l);
    printf(" %6d %4d %6.1f  %8.3f %8.3f  %7.2fx %13s %7.2fx %4.0f%%\n", l->s.envs, l->s.nv, l->s.nefc_mean,
           l->us.median, l->mujoco_us.median, l->speedup.median, range, l->speedup_packed.median, 100 * l->peak_share);
  }
}

static void print_answers(const bench *b) {
  printf("\n%-12s %-4s %-5s %11s  %17s %8s  %7s  %s\n", "", "", "", "iterations", "qacc error", "MuJoCo's", "gap", "");
  printf("%-12s %-4s %-5s %5s %5s  %8s %8s %8s  %7s  %s\n", "scene", "cone", "prec", "own", "MJ", "median", "worst",
         "worst", "worst", "verdicts");
  for (int i = 0; i < b->nline; i++) {
    const bench_line *l = &b->lines[i];
    print_scene(l);
    printf(" %5.2f %5.2f  %8.1e %8.1e %8.1e  %7.1e  %s\n", l->s.iterations_mean, l->mujoco_iterations, l->qacc.median,
           l->qacc.max, l->mujoco.max, l->s.scaled_gap.max, l->verdicts);
  }
}

static void print_phases(const bench *b) {
  printf("\n%-12s %-4s %-5s %10s %8s %8s %8s %8s %8s   %s\n", "us/env", "", "", "kinematics", "rows", "pack", "solve",
         "certif.", "results", "memory");
  for (int i = 0; i < b->nline; i++) {
    const bench_line *l = &b->lines[i];
    print_scene(l);
    printf(" %10.2f %8.3f %8.3f %8.3f %8.3f %8.3f   %6.1f\n", l->s.us_kinematics, l->s.us_rows, l->s.us_pack,
           l->s.us_solve, l->s.us_certificate, l->s.us_unpack, 1e-3 * l->bytes);
  }
}

void bench_table(const bench *b) {
  int threads = sc_context_threads(b->timing);
  if (b->nline == 0) return;
  printf("softcon %s on %d thread%s (%s)\n\n", sc_version(), threads, threads > 1 ? "s" : "",
         sc_context_backend(b->timing));
  print_speeds(b);
  print_answers(b);
  print_phases(b);
  printf("\n");
  for (int k = 0; k < SC_NPRECISION; k++) {
    const bench_line *l = slowest(b, k);
    if (l)
      printf("geometric mean of the speed-ups, %s: %.2fx, packed %.2fx; least %.2fx (%s, %s)\n", bench_precisions[k],
             bench_geomean(b, k, 0), bench_geomean(b, k, 1), l->speedup.median, l->scene,
             l->elliptic ? "elliptic" : "pyramidal");
  }
  printf("\n%s", legend);
  printf("\nresults in %s/; %.1f s: making states %.1f, problems %.1f, rounds %.1f, errors %.1f\n", b->folder,
         seconds_now() - b->p.began, b->seconds[0], b->seconds[1], b->seconds[2], b->seconds[3]);
}
