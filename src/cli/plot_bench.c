/* Pictures of what bench measured. */
#include "bench.h"
#include "plot.h"

#include <math.h>
#include <string.h>

static const char *const colours[SC_NPRECISION] = {"#0072b2", "#d55e00", "#009e73"};
#define MUJOCO_COLOUR "#606060"

static const char *subtitle(const bench *b, char *text, size_t size) {
  int threads = sc_context_threads(b->timing);
  snprintf(text, size, "softcon %s (%s) beside MuJoCo's own solver, %d thread%s each, same states and warm starts",
           sc_version(), sc_context_backend(b->timing), threads, threads > 1 ? "s" : "");
  return text;
}

/* ------------------------------------------------------------------ speed-up per scene */

/* number of a scene among those of a cone, in order of appearance; -1: another cone */
static int place_of(const bench *b, int line) {
  int n = 0;
  for (int i = 0; i < line; i++) {
    if (b->lines[i].elliptic != b->lines[line].elliptic) continue;
    if (!strcmp(b->lines[i].scene, b->lines[line].scene)) return place_of(b, i);
    n += i == 0 || place_of(b, i) >= n; /* a new one */
  }
  return n;
}

static int scenes_of(const bench *b, int elliptic) {
  int n = 0;
  for (int i = 0; i < b->nline; i++)
    if (b->lines[i].elliptic == elliptic && place_of(b, i) >= n) n = place_of(b, i) + 1;
  return n;
}

/* one block per cone and precision: place, speed-up, quartiles, packed */
static void speedup_data(const bench *b, FILE *f) {
  for (int cone = 0; cone < 2; cone++)
    for (int k = 0; k < b->nprecision; k++) {
      double shift = 0.22 * (k - 0.5 * (b->nprecision - 1));
      fprintf(f, "$s%d%d << EOD\n", cone, b->precisions[k]);
      for (int i = 0; i < b->nline; i++) {
        const bench_line *l = &b->lines[i];
        if (l->elliptic == cone && l->precision == b->precisions[k] && l->speedup.median > 0)
          fprintf(f, "%.9g %.9g %.9g %.9g %.9g\n", place_of(b, i) + shift, l->speedup.median, l->speedup.low,
                  l->speedup.high, l->speedup_packed.median);
      }
      fputs("EOD\n", f);
    }
}

static void speedup_panel(const bench *b, FILE *f, int cone, double left, double right, int named, double most) {
  char name[100];
  int n = scenes_of(b, cone);
  fprintf(f, "set lmargin at screen %g\nset rmargin at screen %g\nset xlabel '%s cones' offset 0,0.3\n", left, right,
          cone ? "elliptic" : "pyramidal");
  fprintf(f, "set yrange [%d.6:-0.6]\nset xrange [0:%g]\nset ytics scale 0 (", n - 1, most);
  for (int i = 0, next = 0; i < b->nline; i++)
    if (b->lines[i].elliptic == cone && place_of(b, i) == next) {
      fprintf(f, "%s'%s' %d", next ? ", " : "", named ? plot_escape(b->lines[i].scene, name, sizeof name) : "", next);
      next++;
    }
  fputs(")\nset arrow 1 from first 1,graph 0 to first 1,graph 1 nohead lw 1 lc rgb '#606060' dt (6,4)\nplot ", f);
  for (int k = 0; k < b->nprecision; k++) {
    int p = b->precisions[k];
    fprintf(f,
            "%s$s%d%d using 2:1:3:4 with xerrorbars dt 1 pt 7 ps 0.9 lw 1.5 lc rgb '%s' notitle, NaN with points pt 7 "
            "ps 0.9 lc rgb '%s' title '%s', "
            "$s%d%d using 5:1 with points pt 6 ps 0.9 lw 1.2 lc rgb '%s' notitle, NaN with points pt 6 ps 0.9 lc rgb "
            "'%s' title '%s, packing "
            "included'",
            k ? ", " : "", cone, p, colours[p], colours[p], bench_precisions[p], cone, p, colours[p], colours[p],
            bench_precisions[p]);
  }
  fputs("\n", f);
}

static int draw_speedups(const bench *b) {
  picture p;
  char first[PLOT_TEXT];
  int two = scenes_of(b, 0) && scenes_of(b, 1);
  double most = 1;
  for (int i = 0; i < b->nline; i++)
    most = fmax(most, fmax(b->lines[i].speedup.high, b->lines[i].speedup_packed.median));
  int status = picture_begin(
      &p, b->options->plot, "bench_speedup", "Speed beside MuJoCo", subtitle(b, first, sizeof first),
      "MuJoCo's time over softcon's, solve and certificate; medians over rounds, bars hold half of them", 2);
  if (status) return status;
  speedup_data(b, p.data);
  fputs("set key maxrows 2 at screen 0.54,0.015\nset grid noytics\nset multiplot\n", p.script);
  if (scenes_of(b, 0)) speedup_panel(b, p.script, 0, 0.17, two ? 0.553 : 0.965, 1, 1.06 * most);
  if (two) fputs("unset key\nunset label 1\nunset label 2\nunset label 3\n", p.script);
  if (scenes_of(b, 1)) speedup_panel(b, p.script, 1, two ? 0.582 : 0.17, 0.965, !two, 1.06 * most);
  fputs("unset multiplot\n", p.script);
  return picture_end(&p);
}

/* ------------------------------------------------------------------ growth */

static double number(const cJSON *o, const char *name) {
  const cJSON *x = cJSON_GetObjectItemCaseSensitive(o, name);
  return cJSON_IsNumber(x) ? x->valuedouble : (double)NAN;
}

static const char *text_of(const cJSON *o, const char *name) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));
  return text ? text : "";
}

/* The first point of a curve; NULL: it was not measured. */
static const cJSON *first_of(const bench *b, const char *curve) {
  const cJSON *o;
  cJSON_ArrayForEach(o, b->curves) if (!strcmp(text_of(o, "curve"), curve)) return o;
  return NULL;
}

/* x and two numbers of every point of a curve, a block per precision */
static void curve_data(const bench *b, FILE *f, const char *curve, const char *x, const char *y1, const char *y2) {
  const cJSON *o;
  for (int k = 0; k < b->nprecision; k++) {
    fprintf(f, "$c%d << EOD\n", b->precisions[k]);
    cJSON_ArrayForEach(o, b->curves) if (!strcmp(text_of(o, "curve"), curve) &&
                                         !strcmp(text_of(o, "precision"), bench_precisions[b->precisions[k]]))
        fprintf(f, "%.9g %.9g %.9g\n", number(o, x), number(o, y1), number(o, y2));
    fputs("EOD\n", f);
  }
}

#define TICS "0.05,0.1,0.2,0.5,1,2,5,10,20,50,100,200,500,1000,2000,5000,10000"

typedef struct {
  const char *curve, *name, *title, *x, *label, *tics;
  int mujoco; /* 1: MuJoCo's time beside; 0: the time with packing */
} growth_picture;

static int draw_growth(const bench *b, const growth_picture *g, const char *about) {
  picture p;
  const char *other = g->mujoco ? "mujoco_us_per_env" : "packed_us_per_env";
  int status = picture_begin(&p, b->options->plot, g->name, g->title, about, NULL, 2);
  if (status) return status;
  curve_data(b, p.data, g->curve, g->x, "softcon_us_per_env", other);
  fprintf(
      p.script,
      "set logscale xy\nset format '%%g'\nset autoscale xfix\nset offsets graph 0.03,graph 0.03,graph 0.05,graph 0.05\n"
      "set xtics (%s)\nset ytics (" TICS
      ")\nset xlabel '%s' offset 0,0.3\nset ylabel 'µs per environment' offset 0.5,0\n"
      "set key maxrows 2\nplot ",
      g->tics, g->label);
  for (int k = 0; k < b->nprecision; k++) {
    int q = b->precisions[k];
    fprintf(p.script, "%s$c%d using 1:2 with linespoints lw 2 pt 7 ps 0.8 lc rgb '%s' title 'softcon %s'",
            k ? ", " : "", q, colours[q], bench_precisions[q]);
    if (!g->mujoco)
      fprintf(p.script,
              ", $c%d using 1:3 with linespoints lw 1.5 dt (6,4) pt 6 ps 0.8 lc rgb '%s' title '%s, packing included'",
              q, colours[q], bench_precisions[q]);
  }
  if (g->mujoco)
    fprintf(p.script, ", $c%d using 1:3 with linespoints lw 2 pt 5 ps 0.7 lc rgb '%s' title 'MuJoCo'", b->precisions[0],
            MUJOCO_COLOUR);
  fputs("\n", p.script);
  return picture_end(&p);
}

static int draw_threads(const bench *b, const char *about) {
  picture p;
  int most = sc_context_threads(b->all);
  int status =
      picture_begin(&p, b->options->plot, "bench_threads", "Gain of threads", about,
                    "dashed: a loop that only computes, in the same rounds; dotted: as many times as threads", 2);
  if (status) return status;
  curve_data(b, p.data, "threads", "threads", "gain", "compute_gain");
  fprintf(
      p.script,
      "set xrange [0.8:%g]\nset yrange [0:*]\nset offsets 0,0,graph 0.1,0\nset xtics 1\nset xlabel 'threads' offset "
      "0,0.3\n"
      "set ylabel 'throughput over that of one thread' offset 0.5,0\nset key maxrows 2\nplot x with lines lt 6 notitle",
      most + 0.2);
  for (int k = 0; k < b->nprecision; k++) {
    int q = b->precisions[k];
    fprintf(p.script,
            ", $c%d using 1:2 with linespoints lw 2 pt 7 lc rgb '%s' title 'solve %s', $c%d using 1:3 with linespoints "
            "lw 1.5 dt (6,4) pt 6 lc rgb "
            "'%s' title 'compute loop %s'",
            q, colours[q], bench_precisions[q], q, colours[q], bench_precisions[q]);
  }
  fputs("\n", p.script);
  return picture_end(&p);
}

int bench_plot(const bench *b) {
  static const growth_picture pictures[] = {{"batch", "bench_batch", "Time against the number of environments", "envs",
                                             "environments in the batch", "1,4,16,64,256,1024,4096,16384,65536", 0},
                                            {"chain", "bench_nv", "Time against the number of dofs", "nv",
                                             "dofs of a chain of hinged links over a floor", "4,8,16,32,64,128", 1},
                                            {"pile", "bench_rows", "Time against the number of rows", "nefc_mean",
                                             "rows of a wall of loose bricks, mean", TICS, 1}};
  int status = b->nline ? draw_speedups(b) : 0;
  for (size_t i = 0; i < sizeof pictures / sizeof *pictures && !status; i++) {
    const cJSON *first = first_of(b, pictures[i].curve);
    char about[PLOT_TEXT];
    if (!first) continue;
    snprintf(about, sizeof about, "%s%s%s cones, 1 thread; %s", pictures[i].mujoco ? "" : text_of(first, "scene"),
             pictures[i].mujoco ? "" : ", ", text_of(first, "cone"),
             pictures[i].mujoco ? "solve and certificate beside MuJoCo's own solver" : "solve and certificate");
    status = draw_growth(b, &pictures[i], about);
  }
  const cJSON *threads = first_of(b, "threads");
  char about[PLOT_TEXT];
  if (threads)
    snprintf(about, sizeof about, "%s, %s cones, %.0f environments", text_of(threads, "scene"),
             text_of(threads, "cone"), number(threads, "envs"));
  return status || !threads ? status : draw_threads(b, about);
}
