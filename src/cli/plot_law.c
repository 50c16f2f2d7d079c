/* The laws of one row. Every curve is made of sc_row_eval and sc_row_force, so that a picture shows what is solved. */
#include "inspect.h"
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 400

/* One block as if it were alone, on the position error r = pos - margin. */
typedef struct {
  const plot_rows *rows;
  plot_block block;
  const sc_row_info *info; /* of its first row */
  sc_row_input in;         /* all but pos and vel */
  double A, a0;            /* inverse inertia seen along it; its acceleration without the force */
  double r, vel;           /* of the state */
  double load, rest;       /* force that holds it still, and where the row gives it at vel = 0; NAN without */
  const char *length, *push, *acceleration, *inverse; /* units */
  char subtitle[PLOT_TEXT];
} law;

/* ------------------------------------------------------------------ the row alone */

static sc_row_output eval(const law *l, double r, double vel) {
  sc_row_input in = l->in;
  sc_row_output out = {0};
  in.pos = r, in.vel = vel;
  sc_row_eval(&in, &out);
  return out;
}

/* there is no row beyond its margin */
static double force(const law *l, double r, double vel) {
  sc_row_output o = eval(l, r, vel);
  return r < 0 ? sc_row_force(l->in.type, l->A, o.R, o.aref, l->a0, 0) : 0;
}

static double acceleration(const law *l, double r, double vel) { return l->a0 + l->A * force(l, r, vel); }

/* A / (A + R) as the share of the reference in the acceleration of a row that is not limited */
static double effective(double A, double R) { return A * sc_row_force(SC_EQUALITY, A, R, 1, 0, 0); }

static double find_rest(const law *l) {
  double low = -1e-9, high = 0;
  while (acceleration(l, low, 0) < 0) {
    low *= 2;
    if (low < -1e3) return (double)NAN;
  }
  for (int k = 0; k < 200; k++) {
    double middle = 0.5 * (low + high);
    *(acceleration(l, middle, 0) >= 0 ? &low : &high) = middle;
  }
  return low;
}

/* mean Jacobian of the block's rows: a pyramid's edges leave the normal */
static void block_jacobian(const law *l, double *J) {
  const sc_problem *p = l->rows->problem;
  memset(J, 0, (size_t)p->nv * sizeof *J);
  for (int i = l->block.first; i < l->block.first + l->block.edges; i++)
    for (int k = 0; k < (p->J_rownnz ? p->J_rownnz[i] : p->nv); k++) {
      int at = p->J_rownnz ? p->J_rowadr[i] + k : i * p->nv + k;
      J[p->J_rownnz ? p->J_colind[at] : k] += p->efc_J[at] / l->block.edges;
    }
}

/* A and a0; 0: there are none. M^-1 J' is the unconstrained acceleration under the force J'. */
static int measure(law *l) {
  const sc_problem *p = l->rows->problem;
  size_t n = (size_t)p->nv;
  double *J = calloc(2 * n + 1, sizeof *J), *x = J ? J + n : NULL;
  sc_problem alone;
  sc_problem_init(&alone);
  alone.nv = p->nv, alone.M = p->M, alone.M_rownnz = p->M_rownnz, alone.M_rowadr = p->M_rowadr;
  alone.M_colind = p->M_colind, alone.qfrc_smooth = J;
  if (!J || !p->qacc_smooth) return free(J), 0;
  block_jacobian(l, J);
  int code = sc_check_polish(&alone, x, NULL);
  for (size_t i = 0; i < n; i++) l->A += J[i] * x[i], l->a0 += J[i] * p->qacc_smooth[i];
  free(J);
  return !code && l->A > 0 && isfinite(l->A) && isfinite(l->a0);
}

static void describe(law *l) {
  const sc_row_info *w = l->info;
  char model[64], kind[64], side[2][64], together[64] = "", joined[140] = "";
  for (int k = 0; k < 2; k++)
    if (w->object[k] != SC_OBJECT_NONE)
      object_label(l->rows->model, w->object[k], w->object_id[k], side[k], sizeof side[k]);
    else
      side[k][0] = 0;
  snprintf(joined, sizeof joined, "%.60s%s%.60s", side[0], *side[1] ? " - " : "", side[1]);
  if (l->block.edges > 1) snprintf(together, sizeof together, ", %d edges of its pyramid together", l->block.edges);
  const char *what = is_contact(w->type) ? "contact" : row_kind(w, kind, sizeof kind);
  snprintf(l->subtitle, sizeof l->subtitle, "%s, %.40s: %.30s %.60s%s",
           plot_model_name(l->rows->path, model, sizeof model), l->rows->from, what, joined, together);
}

/* 0: no law can be drawn (of a contact between what cannot move, say) */
static int law_open(law *l, const plot_rows *rows, plot_block block) {
  const sc_row_info *w = &rows->rows[block.first];
  *l = (law){.rows = rows, .block = block, .info = w, .rest = (double)NAN};
  sc_row_init(&l->in);
  l->in.type = w->type < SC_CONTACT_FRICTIONLESS ? w->type : SC_CONTACT_FRICTIONLESS;
  l->in.timestep = rows->timestep, l->in.refsafe = rows->refsafe;
  memcpy(l->in.solref, w->solref, sizeof w->solref);
  memcpy(l->in.solimp, w->solimp, sizeof w->solimp);
  if (l->in.solimp[2] < 0) l->in.solimp[2] = 0; /* as MuJoCo does */
  l->in.diagA = w->diagA / block.edges;         /* n equal springs side by side: a n-th of the regularisation */
  l->r = w->pos - w->margin;
  for (int i = block.first; i < block.first + block.edges; i++) l->vel += rows->rows[i].vel / block.edges;
  l->length = block.angular ? "mrad" : "mm", l->push = block.angular ? "N m" : "N";
  l->acceleration = block.angular ? "rad/s²" : "m/s²", l->inverse = block.angular ? "1/(kg m²)" : "1/kg";
  describe(l);
  if (!measure(l)) return 0;
  l->load = -l->a0 / l->A;
  if (l->load > 0) l->rest = find_rest(l);
  return 1;
}

static void settings(const law *l, char *text, size_t size) {
  const double *f = l->info->solref, *m = l->info->solimp;
  snprintf(text, size, "solref %.6g %.6g, solimp %.6g %.6g %.6g %.6g %.6g; A = %.4g %s", f[0], f[1], m[0], m[1], m[2],
           m[3], m[4], l->A, l->inverse);
}

/* ------------------------------------------------------------------ impedance */

#define MOST_CURVES 4

typedef struct {
  double solimp[5];
  int rows, angular;
} setting;

/* Distinct solimp of the rows, that of row `first` before others; returns how many there are, of which the first
 * MOST_CURVES are kept. */
static int find_settings(const plot_rows *r, int first, setting *s) {
  double seen[64][5];
  int n = 0;
  for (int i = -1; i < r->n; i++) {
    const sc_row_info *row = &r->rows[i < 0 ? first : i];
    int k = 0;
    while (k < n && memcmp(seen[k], row->solimp, sizeof seen[k])) k++;
    if (k == 64) continue;
    if (k == n) {
      memcpy(seen[n++], row->solimp, sizeof seen[k]);
      if (k < MOST_CURVES) {
        s[k] = (setting){.angular = plot_row_angular(r->model, row)};
        memcpy(s[k].solimp, row->solimp, sizeof s[k].solimp);
      }
    }
    if (k < MOST_CURVES && i >= 0) s[k].rows++;
  }
  return n;
}

static void impedance_curve(FILE *f, int k, const setting *s, double from, double to, int logarithmic) {
  sc_row_input in;
  sc_row_output out = {0};
  sc_row_init(&in);
  memcpy(in.solimp, s->solimp, sizeof in.solimp);
  if (in.solimp[2] < 0) in.solimp[2] = 0;
  fprintf(f, "$curve%d << EOD\n", k);
  for (int i = 0; i <= SAMPLES; i++) {
    double u = (double)i / SAMPLES;
    in.pos = logarithmic ? from * pow(to / from, u) : from + u * (to - from);
    sc_row_eval(&in, &out);
    fprintf(f, "%.12g %.12g %.12g\n", 1e3 * in.pos, out.d, out.dp);
  }
  fputs("EOD\n", f);
}

/* span of |pos| in which all curves show what they do */
static void impedance_span(const setting *s, int n, double *from, double *to, int *logarithmic) {
  double least = INFINITY, most = 0;
  for (int k = 0; k < n; k++) {
    double w = s[k].solimp[2];
    if (w > 1e-12 && w < least) least = w;
    if (w > 1e-12 && w > most) most = w;
  }
  if (!(most > 0)) least = most = 1e-3;
  *logarithmic = most > 8 * least;
  *from = *logarithmic ? least / 20 : most * 1e-6;
  *to = 1.3 * most;
}

static void impedance_title(const plot_rows *r, int all, char *text, size_t size) {
  char model[64], settings[80];
  if (all > MOST_CURVES)
    snprintf(settings, sizeof settings, "%d of %d%s settings of solimp", MOST_CURVES, all, all == 64 ? " or more" : "");
  else
    snprintf(settings, sizeof settings, "%d setting%s of solimp", all, all == 1 ? "" : "s");
  snprintf(text, size, "%s, %.60s: %d row%s, %s", plot_model_name(r->path, model, sizeof model), r->from, r->n,
           r->n == 1 ? "" : "s", settings);
}

/* two panels above each other, d and d' */
static void impedance_panels(FILE *f, const setting *s, int n, double bottom, const char *d_point,
                             const char *point_title) {
  int turning = 0, sliding = 0;
  for (int k = 0; k < n; k++) *(s[k].angular ? &turning : &sliding) = 1;
  const char *unit = turning && sliding ? "mm or mrad" : turning ? "mrad" : "mm";
  const char *inverse = turning && sliding ? "1/m or 1/rad" : turning ? "1/rad" : "1/m";
  double middle = (0.865 + bottom) / 2;
  fprintf(f,
          "set multiplot\nset bmargin at screen %g\nset format x ''\nset offsets 0,0,graph 0.12,graph 0.06\n"
          "set ylabel 'impedance d' offset 0.5,0\nunset key\nplot ",
          middle + 0.03);
  for (int k = 0; k < n; k++) fprintf(f, "$curve%d using 1:2 with lines lt %d, ", k, k + 1);
  fprintf(f,
          "%s\nunset label 1\nunset label 2\nset tmargin at screen %g\nset bmargin at screen %g\nset format x '%%g'\n"
          "set xlabel '|pos - margin| (%s)' offset 0,0.3\nset ylabel 'd′ (%s)' offset 0.5,0\nset key maxrows %d\nplot ",
          d_point, middle - 0.03, bottom, unit, inverse, n > 2 ? 3 : 2);
  for (int k = 0; k < n; k++) {
    const double *m = s[k].solimp;
    fprintf(f, "$curve%d using 1:3 with lines lt %d title 'solimp %.6g %.6g %.6g %.6g %.6g: %d row%s', ", k, k + 1,
            m[0], m[1], m[2], m[3], m[4], s[k].rows, s[k].rows == 1 ? "" : "s");
  }
  fprintf(f, "%s\nunset multiplot\n", point_title);
}

/* l: whose impedance now is marked; NULL: none */
static int draw_impedance(const plot_rows *r, const law *l) {
  picture p;
  setting s[MOST_CURVES];
  int all = find_settings(r, l ? l->block.first : 0, s), n = all < MOST_CURVES ? all : MOST_CURVES, logarithmic;
  char subtitle[PLOT_TEXT], point[120] = "", point_title[120] = "";
  double from, to, now = l ? fabs(l->r) : 0;
  impedance_title(r, all, subtitle, sizeof subtitle);
  int key_rows = n > 2 ? 3 : 2;
  int status = picture_begin(&p, r->folder, "law_impedance", "Impedance and its derivative", subtitle, NULL, key_rows);
  if (status) return status;
  impedance_span(s, n, &from, &to, &logarithmic);
  for (int k = 0; k < n; k++) impedance_curve(p.data, k, &s[k], from, to, logarithmic);
  if (logarithmic) fputs("set logscale x\n", p.script);
  fprintf(p.script, "set xrange [%.9g:%.9g]\n", logarithmic ? 1e3 * from : 0, 1e3 * to);
  if (l && now < to && (!logarithmic || now > from)) {
    snprintf(point, sizeof point, "'+' using (%.12g):(%.12g) every ::0::0 with points lt 6 ps 0.8", 1e3 * now,
             eval(l, l->r, 0).d);
    snprintf(point_title, sizeof point_title, "NaN with points lt 6 ps 0.8 title 'the %s now'",
             is_contact(l->info->type) ? "contact" : "limit");
  }
  impedance_panels(p.script, s, n, plot_bottom(key_rows), point, point_title);
  return picture_end(&p);
}

/* ------------------------------------------------------------------ effective impedance */

static void ratio_data(FILE *f, const law *l, double from, double to) {
  fputs("$ratio << EOD\n", f);
  for (int i = 0; i <= SAMPLES; i++) {
    law other = *l;
    double ratio = from * pow(to / from, (double)i / SAMPLES);
    other.in.diagA = ratio * l->A;
    sc_row_output o = eval(&other, l->r, 0);
    fprintf(f, "%.12g %.12g %.12g\n", ratio, o.d, effective(l->A, o.R));
  }
  fputs("EOD\n$share << EOD\n", f);
  const double ratios[] = {0.5, 1, 2, l->in.diagA / l->A};
  for (int i = 0; i <= SAMPLES; i++) {
    law other = *l;
    other.in.solimp[0] = other.in.solimp[1] = (double)i / SAMPLES;
    sc_row_output o = eval(&other, l->r, 0);
    fprintf(f, "%.12g", o.d);
    for (int k = 0; k < 4; k++) {
      other.in.diagA = ratios[k] * l->A;
      fprintf(f, " %.12g", effective(l->A, eval(&other, l->r, 0).R));
    }
    fputc('\n', f);
  }
  fputs("EOD\n", f);
}

static int draw_effective(const law *l) {
  picture p;
  char second[PLOT_TEXT];
  sc_row_output now = eval(l, l->r, 0);
  double ratio = l->in.diagA / l->A, share = effective(l->A, now.R);
  double from = fmin(0.1, ratio / 3), to = fmax(10, ratio * 3);
  settings(l, second, sizeof second);
  int status = picture_begin(&p, l->rows->folder, "law_effective", "Impedance as set and effective impedance",
                             l->subtitle, second, 3);
  if (status) return status;
  ratio_data(p.data, l, from, to);
  fprintf(
      p.script,
      "set multiplot\nset rmargin at screen 0.475\nset logscale x\nset xrange [%.6g:%.6g]\nset yrange [0:1.05]\n"
      "set xlabel 'assumed over exact inverse inertia, Â/A' offset 0,0.3\nset ylabel 'share of the reference "
      "acceleration' offset 0.5,0\n"
      "set key at screen 0.29,0.02 maxrows 3 width 0\n"
      "plot $ratio using 1:2 with lines lt 5 title 'd as set: %.4f', $ratio using 1:3 with lines lt 1 title "
      "'d_{eff} = A/(A+R)', '+' using (%.12g):(%.12g) every ::0::0 with points lt 2 ps 1 title 'of this row: %.4f'\n",
      from, to, now.d, ratio, share, share);
  fprintf(
      p.script,
      "unset label 1\nunset label 2\nunset label 3\nset lmargin at screen 0.585\nset rmargin at screen "
      "0.965\nunset logscale x\n"
      "set xrange [0:1]\nset xlabel 'impedance d as set' offset 0,0.3\nset ylabel 'effective impedance' offset 0.5,0\n"
      "set key at screen 0.775,0.065 maxrows 2 samplen 1.6\nplot ");
  static const double ratios[] = {0.5, 1, 2};
  static const int types[] = {3, 5, 4};
  int own = 1;
  for (int k = 0; k < 3; k++) {
    int same = fabs(ratio / ratios[k] - 1) < 1e-6;
    own &= !same;
    fprintf(p.script, "$share using 1:%d with lines lt %d title 'Â/A = %g%s', ", k + 2, same ? 1 : types[k], ratios[k],
            same ? " (this row)" : "");
  }
  if (own) fprintf(p.script, "$share using 1:5 with lines lt 1 title 'this row: %.3g', ", ratio);
  fprintf(p.script, "'+' using (%.12g):(%.12g) every ::0::0 with points lt 2 ps 1 notitle\nunset multiplot\n", now.d,
          share);
  return picture_end(&p);
}

/* ------------------------------------------------------------------ force and acceleration against error */

/* errors that show the rest point and, where it is near, the state */
static void error_span(const law *l, double *from, double *to) {
  double deep = isnan(l->rest) ? fmax(1.3 * fabs(l->r), 1e-4) : -3 * l->rest;
  if (l->r < 0 && -l->r < 8 * deep / 3 && -1.2 * l->r > deep) deep = -1.2 * l->r;
  *from = -deep, *to = isnan(l->rest) ? 0.25 * deep : fmax(-0.6 * l->rest, 0.2 * deep);
}

/* columns: error, then force and acceleration at velocity 0, and both at the state's */
static void error_data(FILE *f, const law *l, double from) {
  fputs("$error << EOD\n", f);
  for (int i = 0; i <= SAMPLES; i++) {
    double r = i < SAMPLES ? from * (SAMPLES - i) / SAMPLES : -1e-12;
    fprintf(f, "%.12g %.12g %.12g %.12g %.12g\n", 1e3 * r, force(l, r, 0), acceleration(l, r, 0), force(l, r, l->vel),
            acceleration(l, r, l->vel));
  }
  fputs("EOD\n", f);
}

/* whether the curve at the state's velocity can be told from the one at velocity 0, and fits beside it */
static int moving_fits(const law *l, double from) {
  double still = force(l, from, 0), moving = force(l, from, l->vel), span = still - force(l, -1e-12, 0);
  return fabs(moving - still) > 0.02 * span && fabs(moving - still) < 4 * span;
}

static void error_curves(FILE *f, const law *l, int want_force, double from) {
  int column = want_force ? 2 : 3, moving = moving_fits(l, from);
  fprintf(f, "plot $error using 1:%d with lines lt 1 title 'at velocity 0'", column);
  if (want_force && l->load > 0)
    fprintf(f, ", %.12g with lines lt 2 lw 1.5 title 'static load: %.4g %s'", l->load, l->load, l->push);
  if (!want_force) fprintf(f, ", 0 with lines lt 6 title 'zero'");
  if (moving)
    fprintf(f, ", $error using 1:%d with lines lt 3 title 'at this state''s velocity: %.3g %s'", column + 2, l->vel,
            l->block.angular ? "rad/s" : "m/s");
  if (l->r < 0 && l->r > from && (moving || fabs(l->vel) < 1e-3))
    fprintf(f, ", '+' using (%.12g):(%.12g) every ::0::0 with points lt 3 ps 1 title 'this state'", 1e3 * l->r,
            want_force ? force(l, l->r, l->vel) : acceleration(l, l->r, l->vel));
  if (!isnan(l->rest))
    fprintf(f, ", '+' using (%.12g):(%.12g) every ::0::0 with points lt 2 ps 1.1 notitle", 1e3 * l->rest,
            want_force ? l->load : 0);
  fputc('\n', f);
}

/* The force falls to 0 where the row ends. An axis down to there would press the curves flat: it is said instead. */
static int draw_error(const law *l, int want_force) {
  static const char *const names[] = {"law_acceleration", "law_force"};
  static const char *const titles[] = {"Acceleration against position error", "Force against position error"};
  picture p;
  char second[PLOT_TEXT];
  double from, to;
  settings(l, second, sizeof second);
  int status = picture_begin(&p, l->rows->folder, names[want_force], titles[want_force], l->subtitle, second, 2);
  if (status) return status;
  error_span(l, &from, &to);
  error_data(p.data, l, from);
  fprintf(p.script,
          "set xrange [%.9g:%.9g]\nset xlabel 'position error, pos - margin (%s)' offset 0,0.3\n"
          "set ylabel '%s (%s)' offset 0.5,0\nset offsets 0,0,graph 0.12,graph 0.06\n"
          "set arrow 1 from first 0, graph 0 to first 0, graph 1 nohead lt 5 lw 1\n"
          "set label 5 \"no row:\\n%.4g %s\" at first 0, graph 0.96 left offset 0.6,0 textcolor rgb '#606060' boxed\n",
          1e3 * from, 1e3 * to, l->length, want_force ? "force of the row alone" : "acceleration along the row",
          want_force ? l->push : l->acceleration, want_force ? 0 : l->a0, want_force ? l->push : l->acceleration);
  if (!isnan(l->rest))
    fprintf(p.script,
            fabs(l->rest) < 1e-4
                ? "set label 4 'at rest: %.4g %s' at first %.12g, first %.12g left offset 1,1 boxed front\n"
                : "set label 4 'at rest: %.4f %s' at first %.12g, first %.12g left offset 1,1 boxed front\n",
            1e3 * l->rest, l->length, 1e3 * l->rest, want_force ? l->load : 0);
  error_curves(p.script, l, want_force, from);
  return picture_end(&p);
}

/* ------------------------------------------------------------------ decay */

/* A two-sided row by itself, let go at error 1. */
typedef struct {
  double time_constant, step;
  sc_row_input in;
} decay;

static double decay_acceleration(const decay *d, double r, double v) {
  sc_row_input in = d->in;
  sc_row_output o = {0};
  in.pos = r, in.vel = v;
  sc_row_eval(&in, &o);
  return in.diagA * sc_row_force(SC_EQUALITY, in.diagA, o.R, o.aref, 0, 0);
}

/* one step of the fourth-order Runge-Kutta method */
static void decay_step(const decay *d, double h, double *r, double *v) {
  double a1 = decay_acceleration(d, *r, *v), v2 = *v + h / 2 * a1, a2 = decay_acceleration(d, *r + h / 2 * *v, v2);
  double v3 = *v + h / 2 * a2, a3 = decay_acceleration(d, *r + h / 2 * v2, v3), v4 = *v + h * a3;
  double a4 = decay_acceleration(d, *r + h * v3, v4);
  *r += h / 6 * (*v + 2 * v2 + 2 * v3 + v4);
  *v += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
}

/* error at t = k/per of a time constant, k = 0 .. n */
static void decay_run(const decay *d, int per, int n, double *x) {
  double r = 1, v = 0, dt = d->time_constant / per;
  int inner = (int)ceil(dt / d->step);
  for (int k = 0; k <= n; k++) {
    x[k] = r;
    for (int i = 0; i < inner; i++) decay_step(d, dt / inner, &r, &v);
  }
}

/* The time constant in use, after repairs; of the direct format the one with the same damping. NAN: undamped. */
static double used_time_constant(const law *l, int *direct, double *ratio) {
  const double *f = l->info->solref;
  sc_row_output o = eval(l, -1, 0);
  double tc = f[0];
  *ratio = f[1];
  *direct = !(f[0] > 0) && !(o.flags & SC_REPAIRED);
  if (*direct) return f[1] < 0 ? -2 / f[1] : (double)NAN;
  if (o.flags & SC_REPAIRED) tc = 0.02, *ratio = 1;
  return l->rows->refsafe && tc < 2 * l->rows->timestep ? 2 * l->rows->timestep : tc;
}

enum { PER = 40, TIMES = 10 * PER }; /* samples in one and in all time constants */

/* Curves for ratios 0.5, 1 and 2 and, if it is another (returns 1), for the row's own setting. */
static int decay_curves(const law *l, double tc, int direct, double ratio, double x[4][TIMES + 1]) {
  const double ratios[] = {0.5, 1, 2, ratio}, *set = l->info->solref;
  int own = direct || (ratio != 0.5 && ratio != 1 && ratio != 2 && ratio >= 0.01);
  decay d = {.time_constant = tc, .in = l->in};
  d.in.type = SC_EQUALITY, d.in.diagA = 1, d.in.solimp[0] = d.in.solimp[1], d.in.refsafe = 0;
  for (int k = 0; k < 3 + own; k++) {
    d.in.solref[0] = tc, d.in.solref[1] = ratios[k];
    d.step = tc / 200;
    if (k == 3 && direct) {
      memcpy(d.in.solref, set, sizeof d.in.solref);
      d.step = fmin(d.step, 0.02 / sqrt(1 - set[0])); /* the stiffness is -set[0] */
    } else if (ratios[k] < 1)
      d.step *= ratios[k];
    decay_run(&d, PER, TIMES, x[k]);
  }
  return own;
}

static int draw_decay(const law *l) {
  static const double ratios[] = {0.5, 1, 2};
  double x[4][TIMES + 1], ratio;
  int direct;
  picture p;
  char second[PLOT_TEXT];
  double tc = used_time_constant(l, &direct, &ratio);
  if (isnan(tc)) return 0;
  int own = decay_curves(l, tc, direct, ratio, x);
  snprintf(second, sizeof second, "two-sided, no load, impedance %.6g throughout; time constant %.6g s%s",
           l->info->solimp[1], tc,
           direct                     ? " (2 / damping)"
           : tc != l->info->solref[0] ? " (the one in use)"
                                      : "");
  int status = picture_begin(&p, l->rows->folder, "law_decay", "Decay of the error for three damping ratios",
                             l->subtitle, second, 2);
  if (status) return status;
  fputs("$decay << EOD\n", p.data);
  for (int k = 0; k <= TIMES; k++)
    fprintf(p.data, "%.12g %.12g %.12g %.12g %.12g\n", tc * k / PER, x[0][k], x[1][k], x[2][k], own ? x[3][k] : 0);
  fputs("EOD\n", p.data);
  fprintf(p.script,
          "set xrange [0:%.9g]\nset offsets 0,0,graph 0.06,graph 0.05\nset xlabel 'time (s)' offset 0,0.3\n"
          "set ylabel 'error / initial error' offset 0.5,0\nset arrow 1 from first %.9g, graph 0 to first %.9g, graph "
          "1 nohead lt 5 lw 1\n"
          "set label 5 'time constant t_c' at first %.9g, graph 0.95 left offset 0.6,0 textcolor rgb '#606060' boxed\n"
          "plot 0 with lines lt 6 lw 0.7 notitle",
          10 * tc, tc, tc, tc);
  for (int k = 0; k < 3; k++)
    fprintf(p.script, ", $decay using 1:%d with lines lt %d title 'damping ratio %g: %.4f at t_c'", k + 2, k + 1,
            ratios[k], x[k][PER]);
  if (own && direct) fputs(", $decay using 1:5 with lines lt 4 title 'as set'", p.script);
  if (own && !direct) fprintf(p.script, ", $decay using 1:5 with lines lt 4 title 'as set: %.4g'", ratio);
  fputc('\n', p.script);
  return picture_end(&p);
}

/* ------------------------------------------------------------------ all */

int plot_laws(const plot_rows *r) {
  plot_block block;
  law l;
  int have = 0;
  for (int want_contact = 1; want_contact >= 0 && !have; want_contact--)
    for (int i = 0; i < r->n && !have; i++)
      have = is_contact(r->rows[i].type) >= want_contact && plot_block_at(r, i, &block) && law_open(&l, r, block);
  int status = r->n ? draw_impedance(r, have ? &l : NULL) : 0;
  if (!have)
    cli_note(r->options, "--plot: %s has no contact or limit that moves something: only its impedance is drawn",
             r->from);
  if (status || !have) return status;
  status = draw_effective(&l);
  if (!status) status = draw_error(&l, 1);
  if (!status) status = draw_error(&l, 0);
  return status ? status : draw_decay(&l);
}
