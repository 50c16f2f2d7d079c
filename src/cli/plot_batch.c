/* Pictures of a solved batch. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void subtitle_of(const job *j, const timed_solver *t, char *text, size_t size) {
  char model[64];
  snprintf(text, size, "%s, %d environment%s, %s cones, %s in %s", plot_model_name(j->path, model, sizeof model),
           j->nenv, j->nenv == 1 ? "" : "s", j->info.cone ? "elliptic" : "pyramidal", sc_method_name(j->method),
           t->options.precision == SC_F32 ? "f32" : t->options.precision == SC_MIXED ? "mixed" : "f64");
}

/* ------------------------------------------------------------------ gaps */

#define BINS_PER_DECADE 4
#define FIRST_DECADE (-40)
#define NBIN (80 * BINS_PER_DECADE)

static double trace_M(const sc_batch *batch, int env) {
  sc_problem p;
  double trace = 0;
  if (sc_batch_get(batch, env, &p, NULL)) return (double)NAN;
  for (int i = 0; i < p.nv; i++)
    for (int k = p.M_rowadr[i]; k < p.M_rowadr[i] + p.M_rownnz[i]; k++)
      if (p.M_colind[k] == i) trace += p.M[k];
  return trace;
}

/* A gap at the rounding's own level counts as solved even above the tolerance. */
enum { WITHIN, ROUNDING, UNSOLVED, NCLASS };

typedef struct {
  int count[NBIN][NCLASS], of[NCLASS];
  int zero, none; /* gap of 0; without an answer */
  int first, last, most;
} gap_bins;

static void count_gaps(const job *j, const timed_solver *t, gap_bins *b) {
  const sc_result *r = &t->result;
  *b = (gap_bins){.first = NBIN, .last = -1};
  for (int i = 0; i < r->nenv; i++) {
    double trace = trace_M(j->batch, i), gap = trace > 0 ? r->gap[i] / trace : r->gap[i];
    int class = r->status[i] != SC_SOLVED ? UNSOLVED : gap <= t->options.tolerance ? WITHIN : ROUNDING, sum = 0;
    if (!isfinite(gap)) {
      b->none++;
      continue;
    }
    b->of[class]++;
    double at = gap > 0 ? floor((log10(gap) - FIRST_DECADE) * BINS_PER_DECADE) : -1;
    if (at < 0) {
      b->zero++;
      continue;
    }
    int k = at < NBIN ? (int)at : NBIN - 1;
    b->count[k][class]++;
    if (k < b->first) b->first = k;
    if (k > b->last) b->last = k;
    for (int c = 0; c < NCLASS; c++) sum += b->count[k][c];
    if (sum > b->most) b->most = sum;
  }
}

static double bin_edge(int k) { return pow(10, FIRST_DECADE + (double)k / BINS_PER_DECADE); }

static void gap_data(FILE *f, const gap_bins *b) {
  fputs("$gaps << EOD\n", f);
  for (int k = b->first; k <= b->last; k++) {
    const int *n = b->count[k];
    if (n[WITHIN] + n[ROUNDING] + n[UNSOLVED])
      fprintf(f, "%.9g %.9g %.9g %d %d %d\n", bin_edge(k) * pow(10, 0.5 / BINS_PER_DECADE), bin_edge(k),
              bin_edge(k + 1), n[WITHIN], n[WITHIN] + n[ROUNDING], n[WITHIN] + n[ROUNDING] + n[UNSOLVED]);
  }
  fputs("EOD\n", f);
}

static void gap_boxes(FILE *f, const gap_bins *b) {
  static const char *const lower[] = {"(0)", "4", "5"};
  static const char *const words[] = {"solved, within the tolerance", "solved, down to rounding", "not solved"};
  static const int types[] = {1, 3, 2};
  const char *separator = "plot ";
  for (int c = 0; c < NCLASS; c++) {
    if (!b->of[c]) continue;
    fprintf(f, "%s$gaps using 1:%d:2:3:%s:%d with boxxyerror lt %d lw 0.5 title '%s: %d'", separator, c + 4, lower[c],
            c + 4, types[c], words[c], b->of[c]);
    separator = ", ";
  }
  fputc('\n', f);
}

/* 1e-8, not 1e-08 */
static const char *power(double x, char *text, size_t size) {
  snprintf(text, size, "%.3g", x);
  char *e = strchr(text, 'e');
  if (e) snprintf(e + 1, size - (size_t)(e + 1 - text), "%d", atoi(e + 1));
  return text;
}

static int draw_gaps(const job *j, const timed_solver *t) {
  picture p;
  gap_bins b;
  char first[PLOT_TEXT], second[PLOT_TEXT] = "", word[48];
  double tolerance = t->options.tolerance, low, high;
  count_gaps(j, t, &b);
  subtitle_of(j, t, first, sizeof first);
  if (b.zero) snprintf(second, sizeof second, "not shown: %d with a gap of 0", b.zero);
  size_t used = strlen(second);
  if (b.none)
    snprintf(second + used, sizeof second - used, "%s%d without an answer", used ? ", " : "not shown: ", b.none);
  int status = picture_begin(&p, j->options->plot, "batch_gap", "Certified gaps", first, *second ? second : NULL, 1);
  if (status) return status;
  gap_data(p.data, &b);
  low = b.last >= 0 ? bin_edge(b.first) : 1e-16, high = b.last >= 0 ? bin_edge(b.last + 1) : 1;
  if (tolerance > 0) low = fmin(low, tolerance), high = fmax(high, tolerance);
  fprintf(p.script,
          "set logscale x\nset format x '10^{%%L}'\nset xrange [%.6g:%.6g]\nset yrange [0:%.6g]\n"
          "set xlabel 'gap / trace M, what the tolerance bounds (m²/s⁴; rad²/s⁴)' offset 0,0.3\nset ylabel "
          "'environments' offset 0.5,0\n"
          "set style fill solid 0.85 border lc rgb '#ffffff'\nset key maxrows 1\n",
          low / 10, high * 10, b.most ? 1.15 * b.most : 1);
  if (b.most < 8) fputs("set ytics 1\n", p.script);
  if (tolerance > 0)
    fprintf(p.script,
            "set arrow 1 from first %.9g, graph 0 to first %.9g, graph 1 nohead lt 2 lw 1.5 dt (6,4) front\n"
            "set label 4 'tolerance %s' at first %.9g, graph 0.96 right offset -0.8,0 textcolor rgb '#d55e00' boxed "
            "front\n",
            tolerance, tolerance, power(tolerance, word, sizeof word), tolerance);
  if (b.last < 0) {
    fputs("set label 5 'no gap above 0' at graph 0.5,0.5 center\nplot NaN notitle\n", p.script);
    return picture_end(&p);
  }
  gap_boxes(p.script, &b);
  return picture_end(&p);
}

/* ------------------------------------------------------------------ iterations */

#define MOST_BARS 50

static int draw_iterations(const job *j, const timed_solver *t) {
  const sc_result *r = &t->result;
  picture p;
  char first[PLOT_TEXT];
  int least = r->iterations[0], most = r->iterations[0], count[2 * MOST_BARS] = {0}, highest = 0;
  double sum = 0;
  for (int i = 0; i < r->nenv; i++) {
    if (r->iterations[i] > most) most = r->iterations[i];
    if (r->iterations[i] < least) least = r->iterations[i];
    sum += r->iterations[i];
  }
  int width = 1 + (most - least) / MOST_BARS, bars = (most - least) / width + 1;
  for (int i = 0; i < r->nenv; i++) {
    int k = (r->iterations[i] - least) / width;
    if (++count[k] > highest) highest = count[k];
  }
  subtitle_of(j, t, first, sizeof first);
  int status = picture_begin(&p, j->options->plot, "batch_iterations", "Iterations", first, NULL, 0);
  if (status) return status;
  fputs("$bars << EOD\n", p.data);
  for (int k = 0; k < bars; k++)
    if (count[k]) fprintf(p.data, "%.9g %d\n", least + (k + 0.5) * width - 0.5, count[k]);
  fputs("EOD\n", p.data);
  int wide = bars < 12 ? (12 - bars) / 2 : 0; /* a few bars are not blown up over the whole width */
  fprintf(p.script,
          "set xrange [%.6g:%.6g]\nset yrange [0:%.6g]\nset boxwidth %.6g\nset style fill solid 0.85 noborder\n"
          "set xlabel 'iterations of an environment%s' offset 0,0.3\nset ylabel 'environments' offset 0.5,0\n",
          fmax(least - 0.5 - wide, -0.5), most + 0.5 + wide, 1.15 * highest, 0.86 * width,
          width > 1 ? ", in groups" : "");
  if (most - least + 2 * wide < 24) fputs("set xtics 1\n", p.script);
  if (highest < 8) fputs("set ytics 1\n", p.script);
  fprintf(p.script,
          "set arrow 1 from first %.9g, graph 0 to first %.9g, graph 1 nohead lt 2 lw 1.5 dt (6,4) front\n"
          "set label 4 'mean %.2f' at first %.9g, graph 0.96 left offset 0.8,0 textcolor rgb '#d55e00' boxed front\n"
          "unset key\nplot $bars using 1:2 with boxes lt 1\n",
          sum / r->nenv, sum / r->nenv, sum / r->nenv, sum / r->nenv);
  return picture_end(&p);
}

/* ------------------------------------------------------------------ force against depth */

#define MOST_POINTS 5000 /* shown: more only make files that no viewer likes */
#define MOST_STATES 2048 /* looked at: MuJoCo makes the rows of each once more */

typedef struct {
  double depth, force; /* m, N; or rad, N m */
  int kind;            /* 0 contact, 1 limit of what slides or of a tendon, 2 limit of what turns */
} pressed;

typedef struct {
  pressed *at;
  size_t n, room;
  size_t of[3];
  size_t idle; /* those without force, left out */
} pressed_list;

static int add_pressed(pressed_list *l, pressed x) {
  if (l->n == l->room) {
    size_t room = l->room ? 2 * l->room : 1024;
    pressed *more = realloc(l->at, room * sizeof *more);
    if (!more) return 0;
    l->at = more, l->room = room;
  }
  l->at[l->n++] = x;
  l->of[x.kind]++;
  return 1;
}

/* of one environment; 0: no memory */
static int add_state(const job *j, const sc_result *r, int env, size_t nstate, pressed_list *l) {
  size_t offset = r->efc_offset[env], n = r->efc_offset[env + 1] - offset;
  int nrow = 0, ok = 1;
  if (!n || !isfinite(r->efc_force[offset])) return 1;
  sc_row_info *rows = malloc(n * sizeof *rows);
  if (!rows) return 0;
  plot_rows w = {.model = j->model, .rows = rows, .n = (int)n};
  int code = sc_inspect_rows(j->model, j->states + (size_t)env * nstate, j->sig, (int)n, rows, NULL, &nrow);
  for (int i = 0; !code && (size_t)nrow == n && i < nrow && ok; i++) {
    plot_block b;
    if (!plot_block_at(&w, i, &b)) continue;
    pressed x = {.depth = rows[i].margin - rows[i].pos,
                 .kind = rows[i].type >= SC_CONTACT_FRICTIONLESS ? 0
                         : b.angular                             ? 2
                                                                 : 1};
    for (int k = 0; k < b.edges; k++) x.force += r->efc_force[offset + (size_t)(i + k)];
    if (x.force > 0)
      ok = add_pressed(l, x);
    else
      l->idle++;
  }
  free(rows);
  return ok;
}

static int collect(const job *j, const sc_result *r, pressed_list *l, int *looked) {
  size_t nstate;
  *looked = r->nenv < MOST_STATES ? r->nenv : MOST_STATES;
  int code = sc_state_size(j->model, j->sig, &nstate);
  if (code) return cli_fail(code);
  for (int k = 0; k < *looked; k++)
    if (!add_state(j, r, (int)((int64_t)k * r->nenv / *looked), nstate, l))
      return cli_fail_with(EXIT_INTERNAL, "no memory for the points of a picture");
  return 0;
}

/* every step-th of a kind, so that what is shown is a fair sample */
static void pressed_data(FILE *f, const pressed_list *l, int kind, size_t step) {
  fprintf(f, "$kind%d << EOD\n", kind);
  for (size_t i = 0, seen = 0; i < l->n; i++)
    if (l->at[i].kind == kind && seen++ % step == 0) fprintf(f, "%.9g %.9g\n", 1e3 * l->at[i].depth, l->at[i].force);
  fputs("EOD\n", f);
}

/* Most contacts of a batch lie still and a few are hit: where that is so, a linear axis would show nothing. */
static void set_ranges(FILE *f, const pressed_list *l, int turning) {
  double *x = malloc(2 * l->n * sizeof *x), range[2][2];
  int n = 0, wide = 0;
  if (!x) return;
  for (size_t i = 0; i < l->n; i++)
    if ((l->at[i].kind == 2) == turning && l->at[i].depth > 0 && l->at[i].force > 0) {
      x[n] = 1e3 * l->at[i].depth;
      x[l->n + (size_t)n++] = l->at[i].force;
    }
  for (int k = 0; k < 2; k++) {
    double *at = x + (k ? l->n : 0), low = quantile(at, n, 0.005), middle = quantile(at, n, 0.5),
           high = quantile(at, n, 1);
    range[k][0] = fmax(low, middle * 1e-5) / 2, range[k][1] = high * 2;
    wide |= n > 0 && high > 30 * middle;
  }
  free(x);
  if (wide)
    fprintf(f, "set logscale xy\nset format '10^{%%L}'\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n", range[0][0],
            range[0][1], range[1][0], range[1][1]);
  else
    fputs("unset logscale\nset format '%g'\nset xrange [0:*]\nset yrange [0:*]\n"
          "set offsets 0,graph 0.04,graph 0.06,0\n",
          f);
}

static void depth_panel(FILE *f, const pressed_list *l, int turning, double left, double right) {
  static const char *const words[] = {"contact", "sliding or tendon limit", "turning limit"};
  static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73"};
  const char *separator = "plot ";
  fprintf(f,
          "set lmargin at screen %g\nset rmargin at screen %g\nset xlabel 'depth, margin - pos (%s)' offset 0,0.3\n"
          "set ylabel '%s' offset 0.5,0\nset key at screen %g,0.02\n"
          "unset offsets\n",
          left, right, turning ? "mrad" : "mm", turning ? "limit torque (N m)" : "normal force (N)",
          (left + right) / 2);
  set_ranges(f, l, turning);
  for (int kind = turning ? 2 : 0; kind <= (turning ? 2 : 1); kind++) {
    if (!l->of[kind]) continue;
    fprintf(f,
            "%s$kind%d using 1:2 with points pt 7 ps 0.35 lc rgb '#80%s' notitle, NaN with points pt 7 ps 0.8 lc rgb "
            "'%s' title '%s%s'",
            separator, kind, colours[kind] + 1, colours[kind], words[kind], l->of[kind] == 1 ? "" : "s");
    separator = ", ";
  }
  fputc('\n', f);
}

static int draw_depth(const job *j, const timed_solver *t) {
  picture p;
  pressed_list l = {0};
  char first[PLOT_TEXT], second[PLOT_TEXT];
  int looked, status = collect(j, &t->result, &l, &looked);
  size_t step = l.n / MOST_POINTS + 1, plain = l.of[0] + l.of[1];
  if (!status && !l.n)
    cli_note(j->options, "--plot: no contact or limit in the batch: there is no force against depth");
  if (status || !l.n) return free(l.at), status;
  subtitle_of(j, t, first, sizeof first);
  snprintf(second, sizeof second, "%zu contacts and %zu limits with a force in %d environments%s", l.of[0],
           l.of[1] + l.of[2], looked, looked < j->nenv ? " taken at even steps" : "");
  size_t used = strlen(second);
  if (step > 1) snprintf(second + used, sizeof second - used, "; one in %zu is shown", step);
  used = strlen(second);
  if (l.idle) snprintf(second + used, sizeof second - used, "; %zu have none", l.idle);
  status = picture_begin(&p, j->options->plot, "batch_force_depth", "Normal force against depth", first, second,
                         l.of[0] && l.of[1] ? 2 : 1);
  if (!status) {
    for (int kind = 0; kind < 3; kind++) pressed_data(p.data, &l, kind, step);
    int both = plain && l.of[2];
    if (both) fputs("set multiplot\n", p.script);
    if (plain) depth_panel(p.script, &l, 0, 0.115, both ? 0.475 : 0.965);
    if (both) fputs("unset label 1\nunset label 2\nunset label 3\n", p.script);
    if (l.of[2]) depth_panel(p.script, &l, 1, both ? 0.6 : 0.115, 0.965);
    if (both) fputs("unset multiplot\n", p.script);
    status = picture_end(&p);
  }
  free(l.at);
  return status;
}

int plot_batch(const job *j, const timed_solver *t) {
  int status = draw_gaps(j, t);
  if (!status) status = draw_iterations(j, t);
  return status ? status : draw_depth(j, t);
}
