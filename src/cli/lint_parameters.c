/* Rules about solver parameters, wherever they stand: geoms, pairs, limits, dry friction, equalities. */
#include "lint.h"

#include <math.h>
#include <string.h>

#define MINVAL 1e-15
#define MINIMP 1e-4
#define MAXIMP 0.9999
#define MINMU 1e-5

/* ------------------------------------------------------------------ every source */

typedef struct {
  int kind; /* sc_source */
  sc_source_info info;
  char label[180];
} source;

static void label_source(const lint *l, source *s) {
  static const char *const before[SC_NSOURCE] = {
      "", "", "limit of ", "dry friction of ", "limit of ", "dry friction of ", "", "the options' override"};
  char object[140];
  lint_object(l, s->info.object, s->info.id, object, sizeof object);
  snprintf(s->label, sizeof s->label, "%s%s", before[s->kind], object);
}

/* Call rule for everything that can make rows. Under the override flag contacts have the options' parameters. */
static void each_source(lint *l, void (*rule)(lint *l, const source *s)) {
  for (int kind = 0; kind < SC_NSOURCE; kind++) {
    if (l->flags.override_contacts && (kind == SC_SOURCE_GEOM || kind == SC_SOURCE_PAIR)) continue;
    for (int id = 0; id < sc_inspect_sources(l->model, kind); id++) {
      source s = {.kind = kind};
      if (sc_inspect_source(l->model, kind, id, &s.info) || !s.info.active) continue;
      label_source(l, &s);
      rule(l, &s);
    }
  }
}

static int is_contact_source(const source *s) {
  return s->kind == SC_SOURCE_GEOM || s->kind == SC_SOURCE_PAIR || s->kind == SC_SOURCE_OVERRIDE;
}

static int is_friction_source(const source *s) {
  return s->kind == SC_SOURCE_FRICTION_DOF || s->kind == SC_SOURCE_FRICTION_TENDON;
}

static int mixed(const double *solref) { return (solref[0] > 0) != (solref[1] > 0); }

/* ------------------------------------------------------------------ solref */

static void timeconst_of(lint *l, const source *s, const char *name, const double *solref) {
  double h = l->info.timestep, timeconst = mixed(solref) ? 0.02 : solref[0];
  char remedy[200];
  if (!(timeconst > 0) || timeconst >= 2 * h * (1 - 1e-12)) return;
  snprintf(remedy, sizeof remedy, "%s=\"%g %g\"%s; for a stiffer constraint, a timestep of at most %g s", name, 2 * h,
           mixed(solref) ? 1.0 : solref[1], l->flags.refsafe ? " says what is done" : "", timeconst / 2);
  if (l->flags.refsafe)
    lint_report(
        l, s->label, remedy,
        "%s's time constant %g s is below two timesteps of %g s: it is clamped to %g s, and a smaller one changes "
        "nothing",
        name, timeconst, h, 2 * h);
  else
    lint_report(l, s->label, remedy,
                "%s's time constant %g s is below two timesteps of %g s, and refsafe is off: the constraint overshoots "
                "within a step",
                name, timeconst, h);
}

static void check_timeconst(lint *l, const source *s) {
  timeconst_of(l, s, "solref", s->info.solref);
  if (l->info.cone && !mixed(s->info.solreffriction)) timeconst_of(l, s, "solreffriction", s->info.solreffriction);
}
static void rule_timeconst(lint *l) { each_source(l, check_timeconst); }

static void check_mixed(lint *l, const source *s) {
  static const char remedy[] = "both positive: (time constant s, damping ratio), such as \"0.02 1\"; both negative: "
                               "(-stiffness, -damping), such as \"-2500 -100\"";
  const double *r = s->info.solref, *f = s->info.solreffriction;
  if (mixed(r))
    lint_report(l, s->label, remedy, "solref \"%g %g\" mixes signs (zero counts as not positive): \"0.02 1\" is used",
                r[0], r[1]);
  if (mixed(f))
    lint_report(l, s->label, remedy, "solreffriction \"%g %g\" mixes signs: it counts as not given", f[0], f[1]);
}
static void rule_mixed(lint *l) { each_source(l, check_mixed); }

/* At d = dwidth the reference acts as x'' = -b x' - k x; with a semi-implicit step it is stable for b h < 2 and
 * k h^2 < 4 - 2 b h. refsafe keeps (time constant, 1) within b h <= 1 and k h^2 <= 1/4. */
static void check_stiff(lint *l, const source *s) {
  const double *r = s->info.solref, h = l->info.timestep;
  int direct = r[0] <= 0 && r[1] <= 0;
  char remedy[200];
  if (mixed(r)) return;
  double timeconst = l->flags.refsafe ? fmax(r[0], 2 * h) : r[0];
  double k = direct ? -r[0] : 1 / (timeconst * timeconst * r[1] * r[1]), b = direct ? -r[1] : 2 / timeconst;
  if (is_friction_source(s)) k = 0;
  double kh = k * h * h, bh = b * h;
  if (!(kh > 1) && !(direct && bh > 1)) return;
  const char *unstable = bh >= 2 || kh >= 4 - 2 * bh ? "unstable by itself" : "an overshoot within a step";
  if (direct)
    snprintf(remedy, sizeof remedy,
             "stiffness at most 1/(4 h^2) = %g and damping at most 1/h = %g, or a smaller timestep", 1 / (4 * h * h),
             1 / h);
  else
    snprintf(remedy, sizeof remedy, "a damping ratio nearer to 1, or a smaller timestep");
  lint_report(
      l, s->label, remedy,
      "%s solref \"%g %g\": k h^2 = %.3g, b h = %.3g with h = %g s: %s (stable: b h < 2, k h^2 < 4 - 2 b h); %s",
      direct ? "direct" : "standard", r[0], r[1], kh, bh, h, unstable,
      direct ? "refsafe does not clamp this format" : "refsafe clamps the time constant, not the damping ratio");
}
static void rule_stiff(lint *l) { each_source(l, check_stiff); }

static void check_spring(lint *l, const source *s) {
  const double *r = s->info.solref;
  if (is_friction_source(s) || r[0] != 0 || r[1] > 0) return;
  lint_report(l, s->label, "a stiffness, such as \"-2500 -100\", or the standard format, such as \"0.02 1\"",
              "solref \"%g %g\" is the direct format without stiffness: what is violated stays violated", r[0], r[1]);
}
static void rule_spring(lint *l) { each_source(l, check_spring); }

static void check_solreffriction(lint *l, const source *s) {
  const double *f = s->info.solreffriction;
  if (f[0] == 0 && f[1] == 0) return;
  lint_report(l, s->label, "cone=\"elliptic\", or leave solreffriction out",
              "solreffriction \"%g %g\" has no effect with pyramidal cones: every edge has the normal's solref", f[0],
              f[1]);
}
static void rule_solreffriction(lint *l) {
  if (!l->info.cone) each_source(l, check_solreffriction);
}

/* ------------------------------------------------------------------ solimp */

static void check_impedance(lint *l, const source *s) {
  static const char *const names[] = {"d0", "dwidth", NULL, "midpoint"};
  const double *imp = s->info.solimp;
  for (int k = 0; k < 4; k++) {
    if (!names[k] || (imp[k] >= MINIMP && imp[k] <= MAXIMP)) continue;
    lint_report(l, s->label,
                k < 2 ? "0.0001 .. 0.9999; nearer to 1 is harder (R = (1-d)/d A), but never rigid" : "0.0001 .. 0.9999",
                "solimp's %s %g is clamped to %g", names[k], imp[k], imp[k] < MINIMP ? MINIMP : MAXIMP);
  }
  if (imp[2] < 0) lint_report(l, s->label, "a width > 0", "solimp's width %g is negative: it counts as 0", imp[2]);
  if (imp[4] < 1) lint_report(l, s->label, "a power >= 1", "solimp's power %g is below 1: 1 is used", imp[4]);
}
static void rule_impedance(lint *l) { each_source(l, check_impedance); }

static void check_width(lint *l, const source *s) {
  const double *imp = s->info.solimp;
  if (imp[2] > MINVAL || imp[0] == imp[1]) return;
  lint_report(l, s->label, "a width > 0, or d0 = dwidth for an impedance that is constant on purpose",
              "solimp's width is zero: d does not go from d0 %g to dwidth %g, it is their mean %g everywhere", imp[0],
              imp[1], (imp[0] + imp[1]) / 2);
}
static void rule_width(lint *l) { each_source(l, check_width); }

/* ------------------------------------------------------------------ contacts */

static void rule_impratio(lint *l) {
  if (l->info.cone || l->info.impratio == 1) return;
  lint_report(
      l, "option", "cone=\"elliptic\" with this impratio, or impratio=\"1\"",
      "impratio %g with pyramidal cones scales R of whole edges, which carry the normal force too: it changes the "
      "normal's stiffness as well as the friction's",
      l->info.impratio);
}

static void check_margin(lint *l, const source *s) {
  double margin = s->info.margin, gap = s->info.gap;
  if (!is_contact_source(s)) return;
  if (margin > 0)
    lint_report(
        l, s->label, "margin=\"0\" for force from touching on; a gap only to see contacts earlier",
        "margin %g m: force begins that far before touching (margins of two geoms add up), so things rest apart",
        margin);
  if (margin < 0)
    lint_report(l, s->label, "margin=\"0\"", "margin %g m is negative: force begins only that deep inside", margin);
  if (gap > 0)
    lint_report(
        l, s->label, "gap=\"0\" unless contacts without force are wanted; to delay the force, a smaller margin",
        "gap %g m: contacts are listed from margin + gap on, but have no rows and no force beyond margin (the gap is "
        "not subtracted from margin, as it was before MuJoCo 3.9)",
        gap);
}
static void rule_margin(lint *l) { each_source(l, check_margin); }

/* Contacts of a geom take the larger of both geoms' condim and coefficients, unless priorities decide. Returns the
 * largest condim that the geom's contacts have; *partner becomes the smallest coefficient `at` of those that add to
 * its own (INFINITY without a partner). */
static int with_partners(const lint *l, const source *s, int at, double *partner) {
  int dim = s->kind == SC_SOURCE_PAIR ? s->info.dim : 0;
  *partner = s->kind == SC_SOURCE_PAIR ? 0 : INFINITY;
  for (int k = 0; s->kind == SC_SOURCE_GEOM && k < sc_inspect_sources(l->model, SC_SOURCE_GEOM); k++) {
    sc_source_info other;
    sc_filter f = SC_FILTER_BODY;
    sc_inspect_filter(l->model, s->info.id, k, &f);
    if (f != SC_FILTER_NONE || sc_inspect_source(l->model, SC_SOURCE_GEOM, k, &other)) continue;
    int mine = s->info.priority > other.priority, theirs = s->info.priority < other.priority;
    if (theirs) continue; /* nothing of ours counts */
    *partner = fmin(*partner, mine ? 0 : other.friction[at]);
    dim = s->info.dim > dim ? s->info.dim : dim;
    if (!mine && other.dim > dim) dim = other.dim;
  }
  return dim;
}

/* where a coefficient stands, and from which condim on it has rows; a geom has one for both tangents and both rolls */
static const struct {
  int at, dim, pair_only;
  const char *name;
  double usual;
} coefficients[] = {{0, 3, 0, "sliding", 1},
                    {1, 3, 1, "sliding (second)", 1},
                    {2, 4, 0, "torsional", 0.005},
                    {3, 6, 0, "rolling", 0.0001},
                    {4, 6, 1, "rolling (second)", 0.0001}};
#define NCOEFFICIENT ((int)(sizeof coefficients / sizeof *coefficients))

static void check_condim(lint *l, const source *s) {
  if (s->kind != SC_SOURCE_GEOM && s->kind != SC_SOURCE_PAIR) return;
  for (int k = 0; k < NCOEFFICIENT; k++) {
    double partner, mine = s->info.friction[coefficients[k].at];
    if (coefficients[k].pair_only && s->kind == SC_SOURCE_GEOM) continue;
    if (s->info.dim < coefficients[k].dim || mine > MINMU) continue;
    with_partners(l, s, coefficients[k].at, &partner);
    if (partner > MINMU) continue;
    lint_report(
        l, s->label, "give that coefficient, or a smaller condim, which costs fewer rows",
        "condim %d has rows for %s friction, but its coefficient is %g: it is raised to 1e-5, and the rows hold "
        "nothing",
        s->info.dim, coefficients[k].name, mine);
  }
}
static void rule_condim(lint *l) { each_source(l, check_condim); }

/* coefficients that the author gave, but that no contact has rows for */
static void check_friction_unused(lint *l, const source *s) {
  if (s->kind != SC_SOURCE_GEOM && s->kind != SC_SOURCE_PAIR) return;
  for (int k = 0; k < NCOEFFICIENT; k++) {
    double partner, mine = s->info.friction[coefficients[k].at];
    char remedy[80];
    if (coefficients[k].pair_only || mine == coefficients[k].usual || !(mine > MINMU)) continue;
    int dim = with_partners(l, s, coefficients[k].at, &partner);
    if (!dim || dim >= coefficients[k].dim) continue;
    snprintf(remedy, sizeof remedy, "condim=\"%d\" here or on what it touches", coefficients[k].dim);
    lint_report(l, s->label, remedy,
                "%s friction %g is given, but its contacts have condim %d at most, without rows for it",
                coefficients[k].name, mine, dim);
  }
}
static void rule_friction_unused(lint *l) { each_source(l, check_friction_unused); }

static void rule_override(lint *l) {
  if (!l->flags.override_contacts) return;
  lint_report(
      l, "option", "<flag override=\"disable\"/> to have the geoms' own settings back",
      "the flag override is on: margin, solref, solimp and friction of every geom and pair are replaced by o_margin, "
      "o_solref, o_solimp, o_friction");
}

const lint_rule lint_parameter_rules[] = {
    {"timeconst", 1, rule_timeconst},
    {"mixed-signs", 1, rule_mixed},
    {"stiff-reference", 1, rule_stiff},
    {"no-stiffness", 0, rule_spring},
    {"solreffriction-pyramidal", 1, rule_solreffriction},
    {"impedance-clamped", 1, rule_impedance},
    {"zero-width", 1, rule_width},
    {"impratio-pyramidal", 1, rule_impratio},
    {"margin-gap", 0, rule_margin},
    {"condim-friction", 1, rule_condim},
    {"friction-unused", 0, rule_friction_unused},
    {"override", 0, rule_override},
    {NULL, 0, NULL},
};
