/* --plot: the named pictures are there, whole, and show the numbers of the law. */
#include "support/command.h"

#include "softcon_mujoco.h"

#include <criterion/criterion.h>
#include <math.h>
#include <sys/stat.h>

/* The ball: its rest point is known (-0.436956068 mm). */
static const char ball[] =
    "<mujoco><option timestep='0.005'/><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
    "<body pos='0 0 .19'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/><joint type='slide'/>"
    "<geom name='ball' size='.2' mass='2'/></body></worldbody>"
    "<contact><pair geom1='floor' geom2='ball' condim='1' margin='.02' solref='0.02 1' solimp='0.9 0.95 0.02 0.5 2'/></contact>"
    "<keyframe><key qvel='0 0 -0.1'/></keyframe></mujoco>";
static const char hinge[] =
    "<mujoco><worldbody><body><joint name='a_{b}^c' axis='0 1 0' range='-10 10' limited='true' solreflimit='-2000 -20'/>"
    "<geom size='.1' pos='.5 0 0'/></body></worldbody><keyframe><key qpos='.19'/></keyframe></mujoco>";
static const char still[] = "<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>";

static const char *const laws[] = {"law_impedance", "law_effective", "law_force", "law_acceleration", "law_decay", NULL};
static const char *const batch[] = {"batch_gap", "batch_iterations", "batch_force_depth", NULL};

static char folder[256];

static void prepare(void) {
  folder_make(folder, sizeof folder);
  file_write(folder, "ball.xml", ball, strlen(ball));
  file_write(folder, "hinge.xml", hinge, strlen(hinge));
  file_write(folder, "still.xml", still, strlen(still));
  file_write(folder, "file", "x", 1);
}

static void clean_up(void) { folder_remove(folder); }

TestSuite(plot, .init = prepare, .fini = clean_up);

static command_result softcon(const char *line, const command_options *o) {
  char buffer[1000];
  const char *words[COMMAND_WORDS] = {SOFTCON_PROGRAM};
  command_options here = o ? *o : (command_options){0};
  words[1 + command_split(line, buffer, sizeof buffer, words + 1, COMMAND_WORDS - 2)] = NULL;
  here.folder = folder;
  return command_run(words, &here);
}

static int have_gnuplot(void) {
  const char *const words[] = {"/bin/sh", "-c", "command -v gnuplot", NULL};
  return command_run(words, &(command_options){0}).status == 0;
}

static int number_of_files(const char *where) {
  char line[400];
  snprintf(line, sizeof line, "ls -A '%.100s' | wc -l", where);
  const char *const words[] = {"/bin/sh", "-c", line, NULL};
  return atoi(command_run(words, &(command_options){.folder = folder}).out);
}

/* ------------------------------------------------------------------ pictures */

static void check_picture(const char *where, const char *name) {
  char path[400];
  size_t n;
  snprintf(path, sizeof path, "%s/%s.png", where, name);
  unsigned char *png = (unsigned char *)file_read(folder, path, &n);
  cr_assert(png && n > 8000 && n < 1000000, "%s: %zu bytes", path, n);
  cr_expect(!memcmp(png, "\x89PNG\r\n\x1a\n", 8) && !memcmp(png + n - 8, "IEND", 4), "%s is not a whole PNG", path);
  cr_expect(png[18] * 256 + png[19] == 1600 && png[22] * 256 + png[23] == 1040, "%s: its size", path);
  free(png);
  snprintf(path, sizeof path, "%s/%s.svg", where, name);
  char *svg = file_read(folder, path, &n);
  cr_assert(svg && n > 8000 && n < 4000000, "%s: %zu bytes", path, n);
  cr_expect(strstr(svg, "<svg") && strstr(svg, "</svg>") && strstr(svg, "viewBox=\"0 0 800 520\""), "%s is not an SVG", path);
  free(svg);
}

static void check_pictures(const char *where, const char *const *names) {
  for (int i = 0; names[i]; i++) check_picture(where, names[i]);
}

static void expect_text(const char *where, const char *name, const char *format, double value) {
  char path[400], text[100];
  snprintf(path, sizeof path, "%s/%s.svg", where, name);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  snprintf(text, sizeof text, format, value);
#pragma GCC diagnostic pop
  char *svg = file_read(folder, path, NULL);
  cr_assert(svg, "%s", path);
  cr_expect(strstr(svg, text), "%s does not say \"%s\"", path, text);
  free(svg);
}

/* ------------------------------------------------------------------ the law, from the library */

static double ball_force(double r, double vel, sc_row_output *o) {
  sc_row_input in;
  sc_row_init(&in);
  in.pos = r, in.vel = vel, in.timestep = 0.005, in.diagA = 0.5, in.solimp[2] = 0.02;
  cr_assert_eq(sc_row_eval(&in, o), SC_OK);
  return sc_row_force(in.type, 0.5, o->R, o->aref, -9.81, 0);
}

static double ball_rest(void) {
  sc_row_output o;
  double low = -0.01, high = 0;
  for (int k = 0; k < 100; k++) {
    double r = (low + high) / 2;
    *(ball_force(r, 0, &o) > 2 * 9.81 ? &low : &high) = r;
  }
  return low;
}

/* pixels of the first polyline of more than 100 points in a colour; returns how many points, 0: there is none */
static int find_curve(const char *svg, const char *colour, double (*xy)[2], int most) {
  for (const char *at = svg; (at = strstr(at, colour)) != NULL; at++) {
    int n = 0;
    for (const char *d = at; *d && *d != '>' && n < most; d++) {
      double x, y;
      if (*d == 'M' && n > 100) break;
      if (*d == 'M') n = 0;
      if ((*d != 'M' && *d != 'L') || sscanf(d + 1, "%lf,%lf", &x, &y) != 2) continue;
      xy[n][0] = x, xy[n++][1] = y;
    }
    if (n > 100) return n;
  }
  return 0;
}

/* The curve at velocity 0 of law_force: the pixels' heights are the forces, up to one scale and offset. */
static void check_force_curve(const char *where) {
  static double xy[2000][2];
  char path[100];
  sc_row_output o;
  snprintf(path, sizeof path, "%s/law_force.svg", where);
  char *svg = file_read(folder, path, NULL);
  cr_assert(svg);
  int n = find_curve(svg, "<path stroke='rgb(  0, 114, 178)'", xy, 2000);
  cr_assert(n > 100, "%s: the curve has %d points", path, n);
  double rest = ball_rest(), from = 3 * rest, height = xy[n - 1][1] - xy[0][1];
  double f0 = ball_force(from, 0, &o), f1 = ball_force(-1e-12, 0, &o);
  for (int i = 0; i < n; i++) {
    double r = from * (xy[n - 1][0] - xy[i][0]) / (xy[n - 1][0] - xy[0][0]);
    double want = xy[0][1] + height * (ball_force(r < 0 ? r : -1e-12, 0, &o) - f0) / (f1 - f0);
    cr_assert(fabs(want - xy[i][1]) < 0.3, "%s: point %d lies %g pixels off", path, i, xy[i][1] - want);
  }
  free(svg);
}

/* ------------------------------------------------------------------ tests */

Test(plot, inspect_draws_the_laws) {
  sc_row_output o;
  if (!have_gnuplot()) cr_skip_test("no gnuplot");
  command_result r = softcon("inspect ball.xml --key 0 --plot out", NULL);
  cr_assert_eq(r.status, 0, "%s", r.err);
  check_pictures("out", laws);
  cr_expect_eq(number_of_files("out"), 10, "other files lie there");
  cr_expect_float_eq(ball_rest(), -0.000436956068, 1e-11);
  expect_text("out", "law_force", "at rest: %.4f mm", 1e3 * ball_rest());
  expect_text("out", "law_acceleration", "at rest: %.4f mm", -0.4370);
  expect_text("out", "law_force", "static load: %.4g N", ball_force(ball_rest(), 0, &o));
  ball_force(-0.03, -0.1, &o);
  expect_text("out", "law_effective", "d as set: %.4f", o.d);
  expect_text("out", "law_effective", "of this row: %.4f", 0.5 / (0.5 + o.R));
  expect_text("out", "law_decay", "damping ratio 1: %.4f at t", 2 / exp(1)); /* (1 + t/tc) exp(-t/tc) */
  expect_text("out", "law_impedance", "solimp 0.9 0.95 0.02 0.5 2: %.0f row", 1);
  check_force_curve("out");
}

Test(plot, solve_draws_the_batch_too) {
  if (!have_gnuplot()) cr_skip_test("no gnuplot");
  command_result r = softcon("solve ball.xml --envs 20 --warmup 20 --json --plot out", NULL);
  cr_assert_eq(r.status, 0, "%s", r.err);
  cr_expect(r.out[0] == '{' && strstr(r.out, "\"envs\":20"), "%s", r.out);
  check_pictures("out", laws);
  check_pictures("out", batch);
  cr_expect_eq(number_of_files("out"), 16, "other files lie there");
  expect_text("out", "batch_gap", "solved, within the tolerance: %.0f", 20);
  expect_text("out", "batch_force_depth", "contacts and 0 limits with a force in %.0f environments", 20);
  expect_text("out", "law_force", "at rest: %.4f mm", 1e3 * ball_rest());
}

/* a name full of gnuplot's markup, a folder full of the shell's, the direct format, an angle */
Test(plot, odd_names) {
  if (!have_gnuplot()) cr_skip_test("no gnuplot");
  const char *where = "a'b\"$(c)`";
  const char *const words[] = {SOFTCON_PROGRAM, "inspect", "hinge.xml", "--key", "0", "--plot", where, NULL};
  command_result r = command_run(words, &(command_options){.folder = folder});
  cr_assert_eq(r.status, 0, "%s", r.err);
  check_picture(where, "law_force");
  expect_text(where, "law_force", "limit upper a_{b}^c%.0s", 0);
  expect_text(where, "law_decay", "time constant %g s (2 / damping)", 0.1);
}

Test(plot, nothing_to_draw) {
  if (!have_gnuplot()) cr_skip_test("no gnuplot");
  command_result r = softcon("solve ball.xml --envs 0 --plot none", NULL);
  cr_expect(r.status == 0 && strstr(r.err, "no environments to draw"), "%d: %s", r.status, r.err);
  cr_expect_eq(number_of_files("none"), 0);
  r = softcon("inspect still.xml --plot still", NULL);
  cr_expect(r.status == 0 && strstr(r.err, "has no contact or limit"), "%d: %s", r.status, r.err);
  cr_expect_eq(number_of_files("still"), 0);
}

Test(plot, folders_that_take_no_files) {
  if (!have_gnuplot()) cr_skip_test("no gnuplot");
  const struct {
    const char *line, *says;
    command_options run;
  } cases[] = {
      {"solve ball.xml --envs 3 --out keep.h5 --plot file", "--plot file: Not a directory", {0}},
      {"solve ball.xml --envs 3 --out keep.h5 --plot no/where", "--plot no/where: No such file or directory", {0}},
      {"inspect ball.xml --plot closed", "--plot closed: Permission denied", {.plain_user = 1}},
      {"inspect ball.xml --plot ''", "is not a name", {0}},
      {"inspect ball.xml --plot out", "gnuplot could not draw", {.file_size = 4096}}, /* as on a full disk */
  };
  char path[300];
  snprintf(path, sizeof path, "%s/closed", folder);
  cr_assert(!mkdir(path, 0555));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    command_result r = softcon(cases[i].line, &cases[i].run);
    cr_expect(r.status == (i == 3 ? 2 : 3) && strstr(r.err, cases[i].says), "softcon %s: %d: %s", cases[i].line, r.status, r.err);
    cr_expect(!file_read(folder, "keep.h5", NULL), "softcon %s wrote results", cases[i].line);
  }
  cr_expect_eq(number_of_files("out"), 0, "half a picture lies there");
}

Test(plot, no_gnuplot) {
  const char *const words[] = {"/usr/bin/env", "PATH=", SOFTCON_PROGRAM, "inspect", "ball.xml", "--plot", "out", NULL};
  command_result r = command_run(words, &(command_options){.folder = folder});
  cr_expect_eq(r.status, 3);
  cr_expect(strstr(r.err, "softcon: --plot needs gnuplot") && strchr(r.err, '\n') == strrchr(r.err, '\n'), "%s", r.err);
  cr_expect_eq(number_of_files("out"), 0);
}
