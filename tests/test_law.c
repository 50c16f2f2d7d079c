/* The law of one row: sc_row_eval and sc_row_force against numbers known beforehand and against what they must mean. */
#include "support/near.h"

#include "softcon.h"

#include <stddef.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define GRAVITY (-9.81)

/* The base case of the tests: a sphere of 2 kg on three slides, 0.03 m within the margin of a plane, sinking. */
static sc_row_input ball(void) {
  sc_row_input in;
  sc_row_init(&in);
  in.pos = -0.01, in.margin = 0.02, in.vel = -0.1, in.timestep = 0.005, in.diagA = 0.5, in.solimp[2] = 0.02;
  return in;
}

static sc_row_output eval(const sc_row_input *in) {
  sc_row_output out;
  memset(&out, 0xff, sizeof out); /* NaN: what is not written shows */
  cr_assert_eq(sc_row_eval(in, &out), SC_OK, "%s", sc_error_text());
  return out;
}

/* ------------------------------------------------------------------ whole rows */

typedef struct {
  const char *name;
  int type;
  double pos, margin, vel, timestep, solimp[5], tolerance;
  sc_row_output want;
} row_case;

static const row_case row_cases[] = {
    {"ball", SC_CONTACT_FRICTIONLESS, -0.01, 0.02, -0.1, 0.005, {0.9, 0.95, 0.02, 0.5, 2}, 1e-13,
     {2770.083102493075, 105.26315789473685, 0.95, 0, 0.02631578947368425, 38, 89.47368421052632, 0}},
    {"mixed: equality", SC_EQUALITY, -0.04, 0, 0.3, 0.002, {0.8, 0.9, 0.1, 0.5, 2}, 1e-12,
     {3086.419753086419, 111.1111111111111, 0.832, -1.6, 0.10096153846153841, 1 / 0.10096153846153841, 69.38271604938268, 0}},
    {"mixed: dry friction", SC_FRICTION_DOF, 0, 0, 0.3, 0.002, {0.9, 0.95, 0.001, 0.5, 2}, 1e-12,
     {0, 105.26315789473685, 0.9, 0, 0.05555555555555554, 18, -31.578947368421055, 0}},
    {"dry friction anywhere", SC_FRICTION_TENDON, -0.04, 0.3, 0.3, 0.002, {0.9, 0.95, 0.001, 0.5, 2}, 1e-12,
     {0, 105.26315789473685, 0.9, 0, 0.05555555555555554, 18, -31.578947368421055, 0}},
    {"mixed: upper limit", SC_LIMIT_JOINT, -0.01, 0.02, -0.3, 0.002, {0.9, 0.95, 0.05, 0.5, 2}, 1e-12,
     {2770.083102493075, 105.26315789473685, 0.934, -1.6, 0.03533190578158461, 1 / 0.03533190578158461, 109.196675900277, 0}},
};

static void compare_rows(near_worst *w, const char *name, const sc_row_output *got, const sc_row_output *want, double tolerance) {
  static const struct { const char *name; size_t at; } fields[] = {
      {"K", offsetof(sc_row_output, K)}, {"B", offsetof(sc_row_output, B)}, {"d", offsetof(sc_row_output, d)}, {"dp", offsetof(sc_row_output, dp)},
      {"R", offsetof(sc_row_output, R)}, {"D", offsetof(sc_row_output, D)}, {"aref", offsetof(sc_row_output, aref)}};
  for (size_t i = 0; i < COUNT(fields); i++) {
    double x, y;
    memcpy(&x, (const char *)got + fields[i].at, sizeof x);
    memcpy(&y, (const char *)want + fields[i].at, sizeof y);
    near_relative(w, x, y, tolerance, "%s: %s", name, fields[i].name);
  }
  cr_expect_eq(got->flags, want->flags, "%s: flags are %#x, not %#x", name, got->flags, want->flags);
}

Test(law, rows_have_the_numbers_of_the_specification) {
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(row_cases); i++) {
    const row_case *c = &row_cases[i];
    sc_row_input in = ball();
    in.type = c->type, in.pos = c->pos, in.margin = c->margin, in.vel = c->vel, in.timestep = c->timestep;
    memcpy(in.solimp, c->solimp, sizeof in.solimp);
    sc_row_output out = eval(&in);
    compare_rows(&worst, c->name, &out, &c->want, c->tolerance);
  }
  near_report(&worst);
}

Test(law, curvature_is_subtracted_from_aref) {
  near_worst worst = {0};
  sc_row_input in = ball();
  in.curvature = 7.5;
  near_relative(&worst, eval(&in).aref, 89.47368421052632 - 7.5, NEAR_EXACT, "aref of the ball with curvature 7.5");
  near_report(&worst);
}

Test(law, R_is_not_below_its_floor) {
  near_worst worst = {0};
  sc_row_input in = ball();
  const double diagA[] = {0, 1e-15, 1e-14};
  for (size_t i = 0; i < COUNT(diagA); i++) {
    in.diagA = diagA[i];
    sc_row_output out = eval(&in);
    near_relative(&worst, out.R, 1e-15, 0, "diagA %g: R", diagA[i]);
    near_relative(&worst, out.D, 1e15, NEAR_EXACT, "diagA %g: D", diagA[i]);
  }
  near_report(&worst);
}

Test(law, only_dry_friction_has_no_spring) {
  near_worst worst = {0};
  for (int type = 0; type < SC_NTYPE; type++) {
    sc_row_input in = ball();
    in.type = type;
    sc_row_output out = eval(&in);
    int dry = type == SC_FRICTION_DOF || type == SC_FRICTION_TENDON;
    near_relative(&worst, out.K, dry ? 0 : 2770.083102493075, NEAR_EXACT, "type %d: K", type);
    near_relative(&worst, out.B, 105.26315789473685, NEAR_EXACT, "type %d: B", type);
  }
  near_report(&worst);
}

/* ------------------------------------------------------------------ solref: stiffness and damping */

typedef struct {
  double solref[2], timestep;
  int refsafe;
  double K, B;              /* at dwidth 0.95 */
  unsigned flags;
} spring_case;

static const spring_case spring_cases[] = {
    {{0.02, 1}, 0.005, 1, 2770.083102493075, 105.26315789473685, 0},
    {{0.02, 0.5}, 0.005, 1, 4 * 2770.083102493075, 105.26315789473685, 0},
    {{0.004, 1}, 0.005, 1, 11080.3324099723, 210.5263157894737, SC_CLAMPED},
    {{0.004, 1}, 0.005, 0, 69252.0775623269, 526.3157894736842, 0},
    {{0.01, 1}, 0.005, 1, 11080.3324099723, 210.5263157894737, 0},
    {{-2000, -20}, 0.005, 1, 2216.066481994460, 21.05263157894737, 0},
    {{-2000, -20}, 1, 1, 2216.066481994460, 21.05263157894737, 0},
    {{-1000, 0}, 0.005, 1, 1108.033240997230, 0, 0},
    {{0.02, -1}, 0.005, 1, 2770.083102493075, 105.26315789473685, SC_REPAIRED},
    {{0.02, 0}, 0.005, 1, 2770.083102493075, 105.26315789473685, SC_REPAIRED},
    {{-1, 1}, 0.005, 1, 2770.083102493075, 105.26315789473685, SC_REPAIRED},
    {{0, 1}, 0.005, 1, 2770.083102493075, 105.26315789473685, SC_REPAIRED},
    {{0.02, -1}, 0.05, 1, 110.8033240997230, 21.05263157894737, SC_REPAIRED | SC_CLAMPED},
    {{0.02, -1}, 0.05, 0, 2770.083102493075, 105.26315789473685, SC_REPAIRED},
    {{0, 0}, 0.005, 1, 0, 0, 0},
    {{0, -1}, 0.005, 1, 0, 1.0526315789473684, 0},
    {{0.02, 1e-9}, 0.005, 1, 1e15, 105.26315789473685, 0},
    {{1e-16, 1}, 0.005, 0, 1e15, 2e15, 0},
};

Test(law, solref_gives_stiffness_and_damping) {
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(spring_cases); i++) {
    const spring_case *c = &spring_cases[i];
    sc_row_input in = ball();
    in.timestep = c->timestep, in.refsafe = c->refsafe;
    memcpy(in.solref, c->solref, sizeof in.solref);
    sc_row_output out = eval(&in);
    near_relative(&worst, out.K, c->K, NEAR_EXACT, "solref (%g, %g), timestep %g, refsafe %d: K", c->solref[0], c->solref[1], c->timestep, c->refsafe);
    near_relative(&worst, out.B, c->B, NEAR_EXACT, "solref (%g, %g), timestep %g, refsafe %d: B", c->solref[0], c->solref[1], c->timestep, c->refsafe);
    cr_expect_eq(out.flags, c->flags, "solref (%g, %g), timestep %g, refsafe %d: flags are %#x, not %#x", c->solref[0], c->solref[1], c->timestep,
                 c->refsafe, out.flags, c->flags);
  }
  near_report(&worst);
}

/* ------------------------------------------------------------------ solimp: impedance */

typedef struct {
  const char *name;
  double solimp[5], r, d, dp;
  unsigned flags;
} impedance_case;

static const impedance_case impedance_cases[] = {
    {"flat by d0", {0.9, 0.9, 0.02, 0.5, 2}, -0.005, 0.9, 0, 0},
    {"flat by clamped d0", {0.99995, 1, 0.02, 0.5, 2}, -0.005, 0.9999, 0, SC_CLAMPED},
    {"width 0", {0.9, 0.95, 0, 0.5, 2}, -0.03, 0.925, 0, 0},
    {"width 0 at 0", {0.9, 0.95, 0, 0.5, 2}, 0, 0.925, 0, 0},
    {"width 1e-15", {0.9, 0.95, 1e-15, 0.5, 2}, -0.03, 0.925, 0, 0},
    {"width above 1e-15", {0.9, 0.95, 1.001e-15, 0.5, 2}, -0.03, 0.95, 0, 0},
    {"width above 1e-15 at 0", {0.9, 0.95, 1.001e-15, 0.5, 2}, 0, 0.9, 0, 0},
    {"clamped from 0 to 1", {0, 1, 0.02, 0.5, 2}, -0.005, 0.125075, -49.99, SC_CLAMPED},
    {"falling", {0.95, 0.9, 0.02, 0.5, 2}, -0.005, 0.94375, 2.5, 0},
    {"power 1", {0.9, 0.95, 0.5, 0.5, 1}, -0.02, 0.902, -0.1, 0},
    {"power 1, outside", {0.9, 0.95, 0.5, 0.5, 1}, 0.02, 0.902, 0.1, 0},
    {"power 1 above the midpoint", {0.9, 0.95, 0.5, 0.25, 1}, -0.375, 0.9375, -0.1, 0},
    {"power 1 at 0", {0.9, 0.95, 0.5, 0.5, 1}, 0, 0.9, 0, 0},
    {"power 1 at 1", {0.9, 0.95, 0.5, 0.5, 1}, -0.5, 0.95, 0, 0},
    {"power 3", {0.9, 0.95, 0.5, 0.3, 3}, -0.02, 0.9000355555555556, -0.005333333333333333, 0},
    {"at 0", {0.9, 0.95, 0.5, 0.5, 2}, 0, 0.9, 0, 0},
    {"at the midpoint", {0.9, 0.95, 0.5, 0.5, 2}, -0.25, 0.925, -0.2, 0},
    {"at the midpoint, outside", {0.9, 0.95, 0.5, 0.5, 2}, 0.25, 0.925, 0.2, 0},
    {"at a midpoint of 1/4, power 3", {0.9, 0.95, 0.5, 0.25, 3}, -0.125, 0.9125, -0.3, 0},
    {"at 1/2, above a midpoint of 1/4, power 3", {0.9, 0.95, 0.5, 0.25, 3}, -0.25, 0.9388888888888889, -0.13333333333333333, 0},
    {"at 3/5, below a midpoint of 3/4", {0.9, 0.95, 0.5, 0.75, 2}, -0.3, 0.924, -0.16, 0},
    {"above the midpoint", {0.9, 0.95, 0.5, 0.5, 2}, -0.375, 0.94375, -0.1, 0},
    {"at 1", {0.9, 0.95, 0.5, 0.5, 2}, -0.5, 0.95, 0, 0},
    {"at 1, outside", {0.9, 0.95, 0.5, 0.5, 2}, 0.5, 0.95, 0, 0},
    {"beyond 1", {0.9, 0.95, 0.5, 0.5, 2}, -1e300, 0.95, 0, 0},
};

Test(law, solimp_gives_impedance) {
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(impedance_cases); i++) {
    const impedance_case *c = &impedance_cases[i];
    sc_row_input in = ball();
    in.pos = c->r, in.margin = 0, in.solref[0] = 1;
    memcpy(in.solimp, c->solimp, sizeof in.solimp);
    sc_row_output out = eval(&in);
    near_relative(&worst, out.d, c->d, NEAR_EXACT, "%s: d", c->name);
    near_relative(&worst, out.dp, c->dp, NEAR_EXACT, "%s: dp", c->name);
    cr_expect_eq(out.flags, c->flags, "%s: flags are %#x, not %#x", c->name, out.flags, c->flags);
  }
  near_report(&worst);
}

/* What is out of range acts as the bound; and the bound itself is in range. */
typedef struct {
  const char *name;
  double solimp[5], bound[5];
} clamp_case;

static const clamp_case clamp_cases[] = {
    {"d0 below", {0.00009, 0.95, 0.02, 0.5, 2}, {1e-4, 0.95, 0.02, 0.5, 2}},
    {"d0 negative", {-3, 0.95, 0.02, 0.5, 2}, {1e-4, 0.95, 0.02, 0.5, 2}},
    {"d0 above", {0.99991, 0.95, 0.02, 0.5, 2}, {0.9999, 0.95, 0.02, 0.5, 2}},
    {"dwidth below", {0.9, 0, 0.02, 0.5, 2}, {0.9, 1e-4, 0.02, 0.5, 2}},
    {"dwidth above", {0.9, 1, 0.02, 0.5, 2}, {0.9, 0.9999, 0.02, 0.5, 2}},
    {"midpoint below", {0.9, 0.95, 0.02, 0, 2}, {0.9, 0.95, 0.02, 1e-4, 2}},
    {"midpoint above", {0.9, 0.95, 0.02, 1, 2}, {0.9, 0.95, 0.02, 0.9999, 2}},
    {"power below", {0.9, 0.95, 0.02, 0.5, 0.5}, {0.9, 0.95, 0.02, 0.5, 1}},
    {"power negative", {0.9, 0.95, 0.02, 0.5, -2}, {0.9, 0.95, 0.02, 0.5, 1}},
};

Test(law, solimp_out_of_range_is_clamped_and_flagged) {
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(clamp_cases); i++) {
    sc_row_input in = ball();
    in.pos = -0.007, in.margin = 0;
    memcpy(in.solimp, clamp_cases[i].bound, sizeof in.solimp);
    sc_row_output bound = eval(&in);
    cr_expect_eq(bound.flags, 0, "%s: the bound has flags %#x", clamp_cases[i].name, bound.flags);
    memcpy(in.solimp, clamp_cases[i].solimp, sizeof in.solimp);
    sc_row_output out = eval(&in);
    bound.flags = SC_CLAMPED;
    compare_rows(&worst, clamp_cases[i].name, &out, &bound, 0);
  }
  near_report(&worst);
}

/* dp at x = r/width against the difference quotient of d on that side of every breakpoint */
static void check_derivative(near_worst *worst, const double *solimp, double breakpoint, double x) {
  const double step = 1e-6;
  double d[2], width = solimp[2], slope = fabs(solimp[1] - solimp[0]) / width * solimp[4];
  sc_row_input in = ball();
  in.margin = 0;
  memcpy(in.solimp, solimp, sizeof in.solimp);
  for (int i = 0; i < 2; i++) {
    in.pos = (x + (i ? step : -step)) * width;
    d[i] = eval(&in).d;
  }
  in.pos = x * width;
  near_absolute(worst, eval(&in).dp, (d[1] - d[0]) / (2 * step * width), 1e-6 * slope,
                "solimp (%g, %g, %g, %g, %g), x = %.6g by the breakpoint %g: dp", solimp[0], solimp[1], solimp[2], solimp[3], solimp[4], x, breakpoint);
}

Test(law, dp_is_the_derivative_of_d_in_every_piece) {
  static const double solimps[][5] = {{0.9, 0.95, 0.02, 0.5, 2}, {0.9, 0.95, 0.5, 0.3, 3},   {0.95, 0.2, 3, 0.7, 1.5},
                                      {0.1, 0.8, 0.1, 0.5, 1},   {1e-4, 0.9999, 1e-3, 0.1, 6}};
  static const double distances[] = {1e-3, 1e-2, 0.05};
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(solimps); i++) {
    const double mid = solimps[i][3], breakpoints[] = {-1, -mid, 0, mid, 1};
    for (size_t k = 0; k < COUNT(breakpoints); k++)
      for (size_t n = 0; n < COUNT(distances); n++) {
        check_derivative(&worst, solimps[i], breakpoints[k], breakpoints[k] - distances[n]);
        check_derivative(&worst, solimps[i], breakpoints[k], breakpoints[k] + distances[n]);
      }
  }
  near_report(&worst);
}

Test(law, d_is_continuous_at_every_breakpoint) {
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(impedance_cases); i++) {
    const double *solimp = impedance_cases[i].solimp;
    if (solimp[2] < 1e-3) continue;
    const double breakpoints[] = {0, solimp[3], 1};
    for (size_t k = 0; k < COUNT(breakpoints); k++) {
      sc_row_input in = ball();
      in.margin = 0, in.pos = breakpoints[k] * solimp[2];
      memcpy(in.solimp, solimp, sizeof in.solimp);
      double here = eval(&in).d;
      for (int side = -1; side <= 1; side += 2) {
        in.pos = (breakpoints[k] + side * 1e-12) * solimp[2];
        near_absolute(&worst, eval(&in).d, here, 1e-11, "%s: d beside x = %g", impedance_cases[i].name, breakpoints[k]);
      }
    }
  }
  near_report(&worst);
}

/* ------------------------------------------------------------------ force */

typedef struct {
  const char *name;
  int type;
  double aref, a0, frictionloss, want; /* A = 0.5, R = 0.25 */
} force_case;

static const force_case force_cases[] = {
    {"equality pushes", SC_EQUALITY, 6, -3, 0, 12},
    {"equality pulls", SC_EQUALITY, -6, 3, 0, -12},
    {"equality knows no friction loss", SC_EQUALITY, 6, -3, 1, 12},
    {"dry friction sticks", SC_FRICTION_DOF, 1, -0.5, 3, 2},
    {"dry friction slides up", SC_FRICTION_DOF, 6, -3, 3, 3},
    {"dry friction slides down", SC_FRICTION_TENDON, -6, 3, 3, -3},
    {"dry friction at its edge", SC_FRICTION_TENDON, 6, -3, 12, 12},
    {"dry friction of nothing", SC_FRICTION_DOF, 6, -3, 0, 0},
    {"joint limit pushes", SC_LIMIT_JOINT, 6, -3, 0, 12},
    {"joint limit does not pull", SC_LIMIT_JOINT, -6, 3, 0, 0},
    {"tendon limit does not pull", SC_LIMIT_TENDON, -6, 3, 0, 0},
    {"contact pushes", SC_CONTACT_FRICTIONLESS, 6, -3, 1, 12},
    {"contact does not pull", SC_CONTACT_FRICTIONLESS, -6, 3, 1, 0},
    {"edge does not pull", SC_CONTACT_PYRAMIDAL, -6, 3, 0, 0},
    {"normal does not pull", SC_CONTACT_ELLIPTIC, -6, 3, 0, 0},
};

Test(law, force_is_cut_to_what_its_kind_allows) {
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(force_cases); i++) {
    const force_case *c = &force_cases[i];
    near_relative(&worst, sc_row_force(c->type, 0.5, 0.25, c->aref, c->a0, c->frictionloss), c->want, NEAR_EXACT, "%s: force", c->name);
  }
  near_report(&worst);
}

Test(law, the_ball_bounces_as_in_the_specification) {
  near_worst worst = {0};
  sc_row_input in = ball();
  sc_row_output out = eval(&in);
  double f = sc_row_force(in.type, 0.5, out.R, out.aref, GRAVITY, 0);
  near_relative(&worst, out.aref, 89.4737, 1e-6, "aref");
  near_relative(&worst, f, 188.639, 1e-6, "force");
  near_relative(&worst, GRAVITY + 0.5 * f, 84.5095, 1e-6, "acceleration");
  near_report(&worst);
}

/* the answer of a one-sided row: f >= 0, x + R f >= 0, and one of them 0, with the residual x = A f + a0 - aref */
Test(law, one_sided_force_is_optimal) {
  static const double inertias[] = {0, 1e-3, 0.5, 40}, regularisations[] = {1e-15, 1e-3, 0.5, 40};
  static const double references[] = {-500, -9.81, 0, 2, 89.5, 1e5}, accelerations[] = {-1e3, -9.81, 0, 2, 300};
  near_worst worst = {0};
  for (int type = SC_LIMIT_JOINT; type <= SC_CONTACT_ELLIPTIC; type++)
    for (size_t n = 0; n < COUNT(inertias) * COUNT(regularisations) * COUNT(references) * COUNT(accelerations); n++) {
      size_t i = n, k = i / COUNT(inertias), l = k / COUNT(regularisations), m = l / COUNT(references);
      double A = inertias[i % COUNT(inertias)], R = regularisations[k % COUNT(regularisations)];
      double aref = references[l % COUNT(references)], a0 = accelerations[m % COUNT(accelerations)];
      double f = sc_row_force(type, A, R, aref, a0, 0), y = A * f + a0 - aref + R * f, scale = 1e-12 * (fabs(a0) + fabs(aref));
      const char *at = "type %d, A %g, R %g, aref %g, a0 %g: %s";
      near_absolute(&worst, fmin(f, 0), 0, 0, at, type, A, R, aref, a0, "f where it is negative");
      near_absolute(&worst, fmin(y, 0), 0, scale, at, type, A, R, aref, a0, "x + R f where it is negative");
      near_absolute(&worst, f * y, 0, f * scale, at, type, A, R, aref, a0, "f (x + R f)");
    }
  near_report(&worst);
}

/* dry friction: x + R f is 0 while it sticks, and against the force where that is at its largest */
Test(law, dry_friction_force_is_optimal) {
  static const double references[] = {-500, -9.81, -0.1, 0, 2, 89.5}, losses[] = {0, 0.1, 3, 1e4};
  const double A = 0.5, R = 0.05, a0 = 1;
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(references); i++)
    for (size_t k = 0; k < COUNT(losses); k++) {
      double loss = losses[k], f = sc_row_force(SC_FRICTION_DOF, A, R, references[i], a0, loss), y = (A + R) * f + a0 - references[i];
      near_absolute(&worst, fmax(fabs(f) - loss, 0), 0, 0, "aref %g, frictionloss %g: |f| - frictionloss", references[i], loss);
      double wrong = fabs(f) < loss ? fabs(y) : fmax(loss > 0 ? y * f / loss : 0, 0);
      near_absolute(&worst, wrong, 0, 1e-12 * (1 + fabs(references[i])), "aref %g, frictionloss %g, f %g: the slope of the cost", references[i], loss, f);
    }
  near_report(&worst);
}

/* ------------------------------------------------------------------ what the parameters mean */

/* acceleration of 2 kg under gravity that the row alone holds, at rest at r = pos - margin */
static double acceleration_at(const double *solimp, double r, double *d) {
  sc_row_input in = ball();
  in.pos = r, in.margin = 0, in.vel = 0;
  memcpy(in.solimp, solimp, sizeof in.solimp);
  sc_row_output out = eval(&in);
  *d = out.d;
  return GRAVITY + 0.5 * sc_row_force(in.type, 0.5, out.R, out.aref, GRAVITY, 0);
}

Test(law, a_body_rests_where_the_specification_says) {
  static const struct { const char *name; double solimp[5], r, d, tolerance; } cases[] = {
      {"constant impedance", {0.95, 0.95, 0.02, 0.5, 2}, -0.0001962, 0.95, 1e-10},
      {"impedance of the ball", {0.9, 0.95, 0.02, 0.5, 2}, -0.000436956068, 0.90004773265, 2e-9},
  };
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(cases); i++) {
    double low = -0.01, high = 0, d; /* pushed up at low, falling at high */
    cr_assert(acceleration_at(cases[i].solimp, low, &d) > 0 && acceleration_at(cases[i].solimp, high, &d) < 0, "%s", cases[i].name);
    for (int k = 0; k < 100; k++) {
      double middle = (low + high) / 2;
      if (acceleration_at(cases[i].solimp, middle, &d) > 0)
        low = middle;
      else
        high = middle;
    }
    near_relative(&worst, low, cases[i].r, cases[i].tolerance, "%s: pos - margin at rest", cases[i].name);
    near_relative(&worst, d, cases[i].d, 1e-10, "%s: d at rest", cases[i].name);
  }
  near_report(&worst);
}

/* how much of the reference a row gets: A/(A + R) = d/(d + (1-d) diagA/A), 9/11 where diagA is twice too large */
Test(law, an_inexact_diagonal_changes_the_weight) {
  static const struct { double diagA, want; } cases[] = {{1, 0.9}, {2, 9.0 / 11}, {0.5, 9.0 / 9.5}};
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(cases); i++) {
    sc_row_input in = ball();
    in.type = SC_EQUALITY, in.diagA = cases[i].diagA, in.solimp[0] = in.solimp[1] = 0.9;
    sc_row_output out = eval(&in);
    double A = 1, a0 = -3, a = a0 + A * sc_row_force(in.type, A, out.R, out.aref, a0, 0);
    near_relative(&worst, (a - a0) / (out.aref - a0), cases[i].want, NEAR_EXACT, "diagA/A = %g: weight of aref", cases[i].diagA);
  }
  near_report(&worst);
}

/* the motion (r, v) of an equality row alone, without other forces, as its parameters make it; one step of Runge and Kutta */
static void runge_kutta(const sc_row_input *row, double h, double *r, double *v) {
  static const double share[] = {0, 0.5, 0.5, 1}, weight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  double dr = 0, dv = 0, r1 = 0, v1 = 0;
  for (int i = 0; i < 4; i++) {
    sc_row_input in = *row;
    in.pos = *r + share[i] * h * dr, in.vel = *v + share[i] * h * dv;
    sc_row_output out = eval(&in);
    dr = in.vel, dv = in.diagA * sc_row_force(in.type, in.diagA, out.R, out.aref, 0, 0);
    r1 += weight[i] * h * dr, v1 += weight[i] * h * dv;
  }
  *r += r1, *v += v1;
}

/* with constant impedance, solref (0.3 s, 1) is critically damped with that time constant, whatever the impedance:
 * r/r0 = (1 + t/0.3) exp(-t/0.3), which is 2/e and 3/e^2 after one and two of them */
Test(law, a_violation_recovers_with_its_time_constant) {
  static const double impedances[] = {0.3, 0.9, 0.95, 0.9999}, want[] = {0.7357588823428847, 0.4060058497098381};
  near_worst worst = {0};
  for (size_t i = 0; i < COUNT(impedances); i++) {
    sc_row_input in = ball();
    double r = 0.1, v = 0;
    in.type = SC_EQUALITY, in.margin = 0, in.solref[0] = 0.3, in.solimp[0] = in.solimp[1] = impedances[i];
    for (int k = 0; k < 2; k++) {
      for (int step = 0; step < 300; step++) runge_kutta(&in, 1e-3, &r, &v);
      near_relative(&worst, r / 0.1, want[k], 1e-9, "impedance %g: r/r0 after %d time constants", impedances[i], k + 1);
    }
  }
  near_report(&worst);
}

/* ------------------------------------------------------------------ refusals */

#define NUMBER(field) #field, offsetof(sc_row_input, field)
#define ENTRY(name, i) #name "[" #i "]", offsetof(sc_row_input, name) + i * sizeof(double)

static const struct {
  const char *field;
  size_t at;
  double legal, illegal;    /* beside its bound; both 0: it has none */
} row_numbers[] = {
    {NUMBER(pos), 0, 0},
    {NUMBER(margin), 0, 0},
    {NUMBER(vel), 0, 0},
    {NUMBER(timestep), 1e-300, 0},
    {NUMBER(diagA), 0, -1e-300},
    {NUMBER(curvature), 0, 0},
    {ENTRY(solref, 0), 0, 0},
    {ENTRY(solref, 1), 0, 0},
    {ENTRY(solimp, 0), 0, 0},
    {ENTRY(solimp, 1), 0, 0},
    {ENTRY(solimp, 2), 0, -1e-300},
    {ENTRY(solimp, 3), 0, 0},
    {ENTRY(solimp, 4), 0, 0},
};

/* sc_row_eval of the ball with one number changed must refuse it by name */
static void expect_refusal(const char *field, size_t at, double value) {
  char says[64];
  sc_row_output out;
  sc_row_input in = ball();
  memcpy((char *)&in + at, &value, sizeof value);
  int code = sc_row_eval(&in, &out);
  snprintf(says, sizeof says, "%s is %g, not finite", field, value);
  cr_expect_eq(code, SC_ERROR_VALUE, "%s = %g: code %d", field, value, code);
  cr_expect(strstr(sc_error_text(), says), "%s = %g: \"%s\" is not in \"%s\"", field, value, says, sc_error_text());
}

Test(law, numbers_that_are_not_valid_are_refused_by_name) {
  static const double values[] = {NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < COUNT(row_numbers); i++) {
    for (size_t k = 0; k < COUNT(values); k++) expect_refusal(row_numbers[i].field, row_numbers[i].at, values[k]);
    if (row_numbers[i].legal == row_numbers[i].illegal) continue;
    expect_refusal(row_numbers[i].field, row_numbers[i].at, row_numbers[i].illegal);
    expect_refusal(row_numbers[i].field, row_numbers[i].at, -1);
    sc_row_output out;
    sc_row_input in = ball();
    memcpy((char *)&in + row_numbers[i].at, &row_numbers[i].legal, sizeof(double));
    cr_expect_eq(sc_row_eval(&in, &out), SC_OK, "%s = %g: %s", row_numbers[i].field, row_numbers[i].legal, sc_error_text());
  }
}

Test(law, results_that_overflow_are_refused) {
  static const struct { const char *says; double vel, diagA, solimp; } cases[] = {{"aref inf", -1e308, 1, 0.9}, {"R is inf", 0, 1e306, 1e-4}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    sc_row_output out;
    sc_row_input in = ball();
    in.vel = cases[i].vel, in.diagA = cases[i].diagA, in.solimp[0] = in.solimp[1] = cases[i].solimp;
    int code = sc_row_eval(&in, &out);
    cr_expect_eq(code, SC_ERROR_VALUE, "\"%s\": code %d", cases[i].says, code);
    cr_expect(strstr(sc_error_text(), cases[i].says), "\"%s\" is not in \"%s\"", cases[i].says, sc_error_text());
  }
}

Test(law, calls_that_are_not_legal_are_refused) {
  sc_row_output out;
  sc_row_input in = ball(), unsized = ball(), below = ball(), above = ball();
  unsized.size--, below.type = -1, above.type = SC_NTYPE;
  const struct { const char *says; const sc_row_input *in; sc_row_output *out; } cases[] = {
      {"in is NULL", NULL, &out},       {"out is NULL", &in, NULL},          {"size", &unsized, &out},
      {"type is -1, not in", &below, &out}, {"type is 8, not in", &above, &out},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    int code = sc_row_eval(cases[i].in, cases[i].out);
    cr_expect_eq(code, SC_ERROR_ARGUMENT, "\"%s\": code %d", cases[i].says, code);
    cr_expect(strstr(sc_error_text(), cases[i].says), "\"%s\" is not in \"%s\"", cases[i].says, sc_error_text());
  }
}
