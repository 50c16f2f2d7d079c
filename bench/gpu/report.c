/* The results of scripts/gpu-check as one JSON object and as a page.
 *
 * STEPS has lines `name TAB passed|failed|left out TAB seconds TAB text`, and `fact TAB name TAB value`; TIMES those of
 * `bench_gpu time`, and in the same columns those of other solvers. */
#include "gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS 12
#define MOST_LINES 4096

typedef struct { char *field[FIELDS]; int n; } line;
typedef struct {
  char *text;
  line *lines;
  int n;
} table;

static char *read_text(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  size_t capacity = 1 << 20, n;
  char *text = calloc(capacity + 1, 1);
  n = text ? fread(text, 1, capacity, f) : 0;
  fclose(f);
  if (text) text[n] = 0;
  return text;
}

static line split(char *s) {
  line l = {{NULL}, 0};
  while (s && l.n < FIELDS) {
    char *tab = strchr(s, '\t');
    l.field[l.n++] = s;
    if (tab) *tab = 0;
    s = tab ? tab + 1 : NULL;
  }
  for (int i = l.n; i < FIELDS; i++) l.field[i] = "";
  return l;
}

static int read_table(const char *path, table *t) {
  memset(t, 0, sizeof *t);
  t->text = read_text(path), t->lines = calloc(MOST_LINES, sizeof *t->lines);
  if (!t->text || !t->lines) return fprintf(stderr, "bench_gpu: %s cannot be read\n", path), 0;
  for (char *s = t->text; s && *s && t->n < MOST_LINES;) {
    char *end = strchr(s, '\n');
    if (end) *end = 0;
    if (*s) t->lines[t->n++] = split(s);
    s = end ? end + 1 : NULL;
  }
  return 1;
}

static void free_table(table *t) { free(t->text), free(t->lines); }

static int is(const line *l, const char *word) { return !strcmp(l->field[0], word); }
static double number(const line *l, int i) { return atof(l->field[i]); }

static const char *fact(const table *steps, const char *name, const char *otherwise) {
  for (int i = 0; i < steps->n; i++)
    if (is(&steps->lines[i], "fact") && !strcmp(steps->lines[i].field[1], name)) return steps->lines[i].field[2];
  return otherwise;
}

/* ------------------------------------------------------------------ the roofline */

typedef struct { double bandwidth, flops[2]; } roof; /* bytes/s, measured; operations/s in double and float, 0: unknown */

/* every multiprocessor adds and multiplies 128 numbers in float or 64 in double a cycle (compute capability 8.0, 9.0, 10.0) */
static roof roof_of(const table *steps, const table *times) {
  roof r = {0, {0, 0}};
  double clock = 1e6 * atof(fact(steps, "clock MHz", "0"));
  for (int i = 0; i < times->n; i++)
    if (is(&times->lines[i], "device")) {
      r.bandwidth = number(&times->lines[i], 2);
      for (int k = 0; k < 2; k++) r.flops[k] = number(&times->lines[i], 1) * clock * 2 * (k ? 128 : 64);
    }
  return r;
}

/* the least nanoseconds of an environment that memory and arithmetic allow */
static double least_time(const roof *r, const line *l) {
  double flops = r->flops[!strcmp(l->field[3], "f32")], memory = 1e9 * number(l, 9) / r->bandwidth;
  return flops > 0 ? fmax(memory, 1e9 * number(l, 10) / flops) : memory;
}

/* mujoco_warp's time of the same states and batch, in float; 0: none */
static double warp_time(const table *times, const line *l) {
  for (int i = 0; i < times->n; i++) {
    const line *w = &times->lines[i];
    int same = is(w, "mujoco_warp");
    for (int k = 1; k <= 4; k++) same = same && (k == 3 || !strcmp(w->field[k], l->field[k]));
    if (same) return number(w, 5);
  }
  return 0;
}

/* ------------------------------------------------------------------ JSON */

static void quote(FILE *f, const char *s) {
  fputc('"', f);
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') fprintf(f, "\\%c", *s);
    else if ((unsigned char)*s < 32) fprintf(f, "\\u%04x", (unsigned)*s);
    else fputc(*s, f);
  }
  fputc('"', f);
}

static void json_number(FILE *f, const char *name, double x) {
  if (isfinite(x)) fprintf(f, ", \"%s\": %.6g", name, x);
  else fprintf(f, ", \"%s\": null", name);
}

static void json_step(FILE *f, const line *l, int first) {
  fprintf(f, "%s\n  {\"step\": ", first ? "" : ",");
  quote(f, l->field[0]), fputs(", \"result\": ", f), quote(f, l->field[1]);
  json_number(f, "seconds", number(l, 2));
  fputs(", \"text\": ", f), quote(f, l->field[3]), fputc('}', f);
}

static void json_time(FILE *f, const roof *r, const line *l, int first) {
  static const char *const names[] = {"ns_per_env", "pack_ns_per_env", "iterations", "solved", "least_bytes", "least_operations"};
  fprintf(f, "%s\n  {\"solver\": ", first ? "" : ",");
  quote(f, l->field[0]), fputs(", \"scene\": ", f), quote(f, l->field[1]), fputs(", \"states\": ", f), quote(f, l->field[2]);
  fputs(", \"precision\": ", f), quote(f, l->field[3]);
  json_number(f, "envs", number(l, 4));
  for (int k = 0; k < 6 && 5 + k < l->n; k++) json_number(f, names[k], number(l, 5 + k));
  if (is(l, "softcon")) json_number(f, "roofline_ns_per_env", least_time(r, l));
  fputc('}', f);
}

static int is_time(const line *l) { return is(l, "softcon") || is(l, "mujoco_warp"); }

static void write_json(FILE *f, const table *steps, const table *times, const roof *r) {
  int first = 1;
  fputs("{\"facts\": {", f);
  for (int i = 0; i < steps->n; i++)
    if (is(&steps->lines[i], "fact")) {
      fputs(first ? "" : ", ", f), quote(f, steps->lines[i].field[1]), fputs(": ", f), quote(f, steps->lines[i].field[2]);
      first = 0;
    }
  fprintf(f, "},\n \"bandwidth\": %.6g", r->bandwidth);
  fputs(",\n \"steps\": [", f);
  first = 1;
  for (int i = 0; i < steps->n; i++)
    if (!is(&steps->lines[i], "fact")) json_step(f, &steps->lines[i], first), first = 0;
  fputs("],\n \"times\": [", f);
  first = 1;
  for (int i = 0; i < times->n; i++)
    if (is_time(&times->lines[i])) json_time(f, r, &times->lines[i], first), first = 0;
  fputs("]}\n", f);
}

/* ------------------------------------------------------------------ the page */

static void page_steps(FILE *f, const table *steps) {
  fputs("| step | result | seconds | |\n|---|---|---|---|\n", f);
  for (int i = 0; i < steps->n; i++) {
    const line *l = &steps->lines[i];
    if (!is(l, "fact")) fprintf(f, "| %s | %s | %s | %s |\n", l->field[0], l->field[1], l->field[2], l->field[3]);
  }
}

static void page_times(FILE *f, const table *times, const roof *r) {
  fputs("| scene | states | precision | environments | ns/env | roofline | share | packing | iterations | solved | mujoco_warp |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n", f);
  for (int i = 0; i < times->n; i++) {
    const line *l = &times->lines[i];
    if (!is(l, "softcon") && !is(l, "left out")) continue;
    for (int k = 1; k <= 4; k++) fprintf(f, "| %s ", l->field[k]);
    if (is(l, "left out")) {
      fputs("| left out: no time | | | | | | |\n", f);
      continue;
    }
    double ns = number(l, 5), least = least_time(r, l), warp = warp_time(times, l);
    fprintf(f, "| %.4g | %.3g | %.2g ", ns, least, least / ns);
    fprintf(f, "| %.4g | %.3g | %.4g | ", number(l, 6), number(l, 7), number(l, 8));
    if (warp > 0) fprintf(f, "%.3g |\n", warp / ns);
    else fputs("- |\n", f);
  }
}

static void write_page(FILE *f, const table *steps, const table *times, const roof *r) {
  const char *emulated = fact(steps, "emulated", "");
  fprintf(f, "# softcon on %s\n\n", fact(steps, "device", "an unknown device"));
  if (*emulated) fprintf(f, "**Emulated on the CPU: no figure here says anything about a GPU.** %s\n\n", emulated);
  for (int i = 0; i < steps->n; i++)
    if (is(&steps->lines[i], "fact")) fprintf(f, "- %s: %s\n", steps->lines[i].field[1], steps->lines[i].field[2]);
  fprintf(f, "- copies within the device's memory: %.3g GB/s, measured\n\n", 1e-9 * r->bandwidth);
  page_steps(f, steps);
  fputs("\nTimes of one solve, certificate included, of packed environments, per environment, in ns: median of five rounds. Roofline: the\n"
        "least that the problems' own numbers, read once, and Newton's operations allow; share: its part of the time. mujoco_warp: its\n"
        "solver's time on the same states over ours", f);
  fputs(r->flops[0] > 0 ? ".\n\n" : " (memory alone: the clock is not known).\n\n", f);
  page_times(f, times, r);
}

int gpu_report(const char *steps_path, const char *times_path, const char *json, const char *page) {
  table steps, times;
  int ok = read_table(steps_path, &steps);
  ok = read_table(times_path, &times) && ok;
  FILE *f = ok ? fopen(json, "wb") : NULL, *g = ok ? fopen(page, "wb") : NULL;
  if (ok && f && g) {
    roof r = roof_of(&steps, &times);
    write_json(f, &steps, &times, &r);
    write_page(g, &steps, &times, &r);
  } else if (ok) {
    fprintf(stderr, "bench_gpu: %s and %s cannot be written\n", json, page);
  }
  int written = f && g;
  if (f && fclose(f)) written = 0;
  if (g && fclose(g)) written = 0;
  free_table(&steps), free_table(&times);
  return written ? 0 : 3;
}
