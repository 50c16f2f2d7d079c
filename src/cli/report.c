#include "report.h"

#include <cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ words */

/* "3 a, 2 b" of the counts that are not zero, or `none` */
static const char *list_counts(const int *counts, int n, const char *(*name)(int), const char *none, char *buffer,
                               size_t size) {
  size_t at = 0;
  buffer[0] = 0;
  for (int i = 0; i < n; i++) {
    if (!counts[i] || at >= size) continue;
    int wrote = snprintf(buffer + at, size - at, "%s%d %s", at ? ", " : "", counts[i], name(i));
    if (wrote > 0) at += (size_t)wrote;
  }
  if (!at) snprintf(buffer, size, "%s", none);
  return buffer;
}

const char *report_verdicts(const summary *s, char *buffer, size_t size) {
  return list_counts(s->status, SC_NSTATUS, sc_status_name, "none", buffer, size);
}

/* ------------------------------------------------------------------ the table */

#define INDENT "  %-15s"
#define FIRST 8 /* environments that are named */
#define REASONS 3 /* whose reasons are printed */

static void print_unsolved(const sc_result *r) {
  int listed = 0;
  for (int i = 0; i < r->nenv; i++) {
    if (r->status[i] == SC_SOLVED) continue;
    if (listed == 0) printf(INDENT, "not solved");
    if (listed == FIRST) {
      printf(", ...");
      break;
    }
    printf("%s%d (%s)", listed ? ", " : "", i, sc_status_name(r->status[i]));
    listed++;
  }
  if (listed) printf("\n");
}

/* "flags  3 repaired (first: environments 17, 4711, 4712), ..." */
static void print_flags(const report *r) {
  const sc_result *result = &r->solver->result;
  int listed = 0;
  printf(INDENT, "flags");
  for (int bit = 0; bit < SC_NFLAG; bit++) {
    int found = 0, count = r->summary->flags[bit];
    if (!count) continue;
    printf("%s%d %s (%s", listed++ ? ", " : "", count, sc_flag_name(bit), count > FIRST ? "first: " : "");
    printf("environment%s", count > 1 ? "s" : "");
    for (int i = 0; i < result->nenv && found < FIRST; i++)
      if ((result->flags[i] >> bit) & 1) printf("%s %d", found++ ? "," : "", i);
    printf("%s)", count > FIRST ? ", ..." : "");
  }
  printf("%s\n", listed ? "" : "none");
}

static int has_capacity(const report *r) { return r->job->options->max_rows > 0 || r->job->options->max_contacts > 0; }

/* "capacity  8 rows; 3 environments need more: at most 12 rows, 3 contacts" */
static void print_capacity(const report *r) {
  const cli_options *o = r->job->options;
  const summary *s = r->summary;
  int dropped = 0;
  for (int i = 0; i < s->envs; i++) dropped += (r->solver->result.flags[i] & SC_ROWS_DROPPED) != 0;
  if (!has_capacity(r)) return;
  printf(INDENT, "capacity");
  if (o->max_rows > 0) printf("%d rows%s", o->max_rows, o->max_contacts > 0 ? ", " : "");
  if (o->max_contacts > 0) printf("%d contacts", o->max_contacts);
  printf("; %d environment%s need%s more; the largest has %d rows, %d contacts\n", dropped, dropped == 1 ? "" : "s", dropped == 1 ? "s" : "",
         s->rows_needed, s->contacts_needed);
}

/* why the first environments have no valid data */
static void print_reasons(const report *r) {
  const sc_result *result = &r->solver->result;
  int found = 0;
  for (int i = 0; i < result->nenv && found < REASONS; i++) {
    sc_problem p;
    sc_rows rows;
    if (result->status[i] != SC_BAD_INPUT || sc_batch_get(r->job->batch, i, &p, &rows) || !rows.why) continue;
    printf(INDENT "environment %d: %s\n", found++ ? "" : "bad input", i, rows.why);
  }
}

static void print_problem(const report *r) {
  const job *j = r->job;
  const summary *s = r->summary;
  const sc_solver_options *o = &r->solver->options;
  printf("softcon %s, MuJoCo %s: %s\n\n", sc_version(), j->info.mujoco_version, j->path);
  printf(INDENT "%d", "environments", s->envs);
  if (j->nenv < j->asked) printf(" of %d (interrupted)", j->asked);
  printf(", %d dofs each", s->nv);
  if (s->envs) printf(", rows: mean %.1f, max %zu", s->nefc_mean, s->nefc_max);
  printf("\n");
  printf(INDENT "%s cones, impratio %g; rows by %s\n", "problem", j->info.cone ? "elliptic" : "pyramidal",
         j->info.impratio, j->options->rows == ROWS_MUJOCO ? "MuJoCo" : "softcon");
  printf(INDENT "%s, %s, tolerance %g, at most %d iterations\n", "solver", sc_method_name(j->method), r->precision, o->tolerance,
         o->iterations);
  if (o->noslip_iterations)
    printf(INDENT "at most %d iterations, tolerance %g; after the verdict: gap and bound are of the answer before it\n", "noslip",
           o->noslip_iterations, o->noslip_tolerance);
  printf(INDENT "%s (%s), %d thread%s\n\n", "device", r->device, r->backend, r->threads, r->threads > 1 ? "s" : "");
}

static void print_answer(const report *r) {
  const summary *s = r->summary;
  char text[200];
  printf(INDENT "%s\n", "verdicts", report_verdicts(s, text, sizeof text));
  print_unsolved(&r->solver->result);
  print_reasons(r);
  print_flags(r);
  print_capacity(r);
  if (!s->envs) return;
  printf(INDENT "mean %.2f, max %d\n", "iterations", s->iterations_mean, s->iterations_max);
  printf(INDENT "median %.2g, max %.2g; scaled by 1/trace M: max %.2g\n", "certified gap", s->gap.median, s->gap.max,
         s->scaled_gap.max);
  printf(INDENT "median %.2g, max %.2g (relative error of qacc that the gap guarantees)\n", "qacc bound",
         s->bound.median, s->bound.max);
  if (r->fwdinv) {
    printf(INDENT "median %.2g, max %.2g (forces against those of qacc: |J'f - J'f(qacc)|)\n", "fwdinv", s->fwdinv[0].median, s->fwdinv[0].max);
    printf(INDENT "median %.2g, max %.2g (equation of motion: |M qacc - qfrc_smooth - J'f(qacc)|)\n", "", s->fwdinv[1].median, s->fwdinv[1].max);
  }
  printf("\n" INDENT "%.3f us per environment: solve and certificate, median of %d runs\n", "time", s->us_per_env,
         r->solver->runs);
  printf(INDENT "kinematics %.2f, rows %.2f, pack %.3f, solve %.3f, certificate %.3f, unpack %.3f\n", "phases",
         s->us_kinematics, s->us_rows, s->us_pack, s->us_solve, s->us_certificate, s->us_unpack);
  printf(INDENT "(us per environment, added up over threads)\n", "");
}

static void print_spread(const char *name, spread x) {
  printf(INDENT "median %.2g, 99 %% below %.2g, max %.2g\n", name, x.median, x.p99, x.max);
}

static void print_comparison(const report *r) {
  const comparison *c = r->comparison;
  if (!c->done || !r->summary->envs) return;
  printf("\n  against the optimum%s\n", r->solver->options.noslip_iterations ? ", before noslip" : "");
  print_spread("qacc error", c->qacc);
  print_spread("force error", c->force);
  print_spread("MuJoCo's qacc", c->mujoco);
  printf("\n" INDENT "%.3f us per environment on %d thread%s, %.2f iterations; %.2f times softcon's time%s\n", "MuJoCo",
         c->us_per_env, r->threads, r->threads > 1 ? "s" : "", c->iterations_mean, c->speedup,
         r->solver->options.noslip_iterations ? " (MuJoCo's without noslip, softcon's with it)" : "");
}

void report_table(const report *r) {
  print_problem(r);
  print_answer(r);
  print_comparison(r);
  if (r->out) printf("\n" INDENT "%s\n", "written", r->out);
  const char *aside = r->job->options->set_aside;
  if (aside) printf(INDENT "%d environment%s: %s\n", "set aside", r->aside, r->aside == 1 ? "" : "s", aside);
}

/* ------------------------------------------------------------------ JSON */

/* JSON knows no NaN */
static void add_number(cJSON *object, const char *name, double value) {
  if (isfinite(value))
    cJSON_AddNumberToObject(object, name, value);
  else
    cJSON_AddNullToObject(object, name);
}

static void add_counts(cJSON *object, const char *name, const int *counts, int n, const char *(*word)(int)) {
  cJSON *inner = cJSON_AddObjectToObject(object, name);
  for (int i = 0; i < n; i++) cJSON_AddNumberToObject(inner, word(i), counts[i]);
}

/* the first environments that carry each flag */
static void add_flagged(cJSON *object, const sc_result *r) {
  cJSON *inner = cJSON_AddObjectToObject(object, "flagged");
  for (int bit = 0; bit < SC_NFLAG; bit++) {
    cJSON *list = cJSON_AddArrayToObject(inner, sc_flag_name(bit));
    for (int i = 0, found = 0; i < r->nenv && found < FIRST; i++)
      if ((r->flags[i] >> bit) & 1) cJSON_AddItemToArray(list, cJSON_CreateNumber(i)), found++;
  }
}

/* the first environments whose data are not valid, and why */
static void add_reasons(cJSON *object, const report *r) {
  const sc_result *result = &r->solver->result;
  cJSON *list = cJSON_AddArrayToObject(object, "bad_input");
  for (int i = 0, found = 0; i < result->nenv && found < FIRST; i++) {
    sc_problem p;
    sc_rows rows;
    if (result->status[i] != SC_BAD_INPUT || sc_batch_get(r->job->batch, i, &p, &rows)) continue;
    cJSON *one = cJSON_CreateObject();
    cJSON_AddNumberToObject(one, "env", i);
    cJSON_AddStringToObject(one, "why", rows.why ? rows.why : "");
    cJSON_AddItemToArray(list, one);
    found++;
  }
}

static void add_capacity(cJSON *object, const report *r) {
  const cli_options *o = r->job->options;
  cJSON *inner = cJSON_AddObjectToObject(object, "capacity");
  if (o->max_rows > 0) cJSON_AddNumberToObject(inner, "max_rows", o->max_rows);
  if (o->max_contacts > 0) cJSON_AddNumberToObject(inner, "max_contacts", o->max_contacts);
  cJSON_AddNumberToObject(inner, "rows_needed", r->summary->rows_needed);
  cJSON_AddNumberToObject(inner, "contacts_needed", r->summary->contacts_needed);
}

static void add_spread(cJSON *object, const char *name, spread x, int with_p99) {
  cJSON *inner = cJSON_AddObjectToObject(object, name);
  add_number(inner, "median", x.median);
  if (with_p99) add_number(inner, "p99", x.p99);
  add_number(inner, "max", x.max);
}

static void add_comparison(cJSON *object, const comparison *c) {
  cJSON *inner = cJSON_AddObjectToObject(object, "compare");
  add_spread(inner, "qacc_error", c->qacc, 1);
  add_spread(inner, "force_error", c->force, 1);
  add_spread(inner, "mujoco_qacc_error", c->mujoco, 1);
  add_number(inner, "mujoco_us_per_env", c->us_per_env);
  add_number(inner, "mujoco_iterations_mean", c->iterations_mean);
  add_number(inner, "speedup", c->speedup);
}

static void add_phases(cJSON *object, const summary *s) {
  cJSON *inner = cJSON_AddObjectToObject(object, "phase_us_per_env");
  add_number(inner, "kinematics", s->us_kinematics);
  add_number(inner, "rows", s->us_rows);
  add_number(inner, "pack", s->us_pack);
  add_number(inner, "solve", s->us_solve);
  add_number(inner, "certificate", s->us_certificate);
  add_number(inner, "unpack", s->us_unpack);
}

void report_json(const report *r) {
  const summary *s = r->summary;
  const job *j = r->job;
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "model", j->path);
  cJSON_AddNumberToObject(o, "envs", s->envs);
  cJSON_AddNumberToObject(o, "nv", s->nv);
  add_number(o, "nefc_mean", s->nefc_mean);
  cJSON_AddNumberToObject(o, "nefc_max", (double)s->nefc_max);
  cJSON_AddStringToObject(o, "method", sc_method_name(j->method));
  cJSON_AddStringToObject(o, "precision", r->precision);
  cJSON_AddStringToObject(o, "cone", j->info.cone ? "elliptic" : "pyramidal");
  cJSON_AddStringToObject(o, "rows", j->options->rows == ROWS_MUJOCO ? "mujoco" : "softcon");
  cJSON_AddStringToObject(o, "device", r->device);
  cJSON_AddStringToObject(o, "backend", r->backend);
  cJSON_AddNumberToObject(o, "threads", r->threads);
  add_counts(o, "status", s->status, SC_NSTATUS, sc_status_name);
  add_counts(o, "flags", s->flags, SC_NFLAG, sc_flag_name);
  add_flagged(o, &r->solver->result);
  add_reasons(o, r);
  if (has_capacity(r)) add_capacity(o, r);
  cJSON_AddNumberToObject(o, "noslip_iterations", r->solver->options.noslip_iterations);
  cJSON *iterations = cJSON_AddObjectToObject(o, "iterations");
  add_number(iterations, "mean", s->iterations_mean);
  cJSON_AddNumberToObject(iterations, "max", s->iterations_max);
  add_spread(o, "gap", s->gap, 0);
  if (r->fwdinv) {
    cJSON *inner = cJSON_AddObjectToObject(o, "fwdinv");
    add_spread(inner, "constraint", s->fwdinv[0], 0);
    add_spread(inner, "applied", s->fwdinv[1], 0);
  }
  add_number(o, "us_per_env", s->us_per_env);
  add_phases(o, s);
  if (r->comparison->done) add_comparison(o, r->comparison);
  if (j->nenv < j->asked) cJSON_AddNumberToObject(o, "interrupted_of", j->asked);
  if (r->out) cJSON_AddStringToObject(o, "out", r->out);
  if (j->options->set_aside) {
    cJSON_AddStringToObject(o, "set_aside", j->options->set_aside);
    cJSON_AddNumberToObject(o, "set_aside_envs", r->aside);
  }
  char *text = cJSON_PrintUnformatted(o);
  if (text) puts(text);
  free(text);
  cJSON_Delete(o);
}
