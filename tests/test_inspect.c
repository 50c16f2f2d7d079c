/* The command inspect: its numbers against the row specification and the scenarios, and each lint rule on a model that
 * deserves it and on one that does not. */
#include "assemble_models.h"
#include "softcon_inspect.h"

#include <cJSON.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------ running the program */

/* MJCF in a file of its own; the caller frees the path */
static char *write_model(const char *mjcf) {
  char *path = strdup("/tmp/softcon_inspect_XXXXXX.xml");
  int handle = mkstemps(path, 4);
  cr_assert(handle >= 0);
  size_t n = strlen(mjcf);
  cr_assert(write(handle, mjcf, n) == (ssize_t)n);
  close(handle);
  return path;
}

/* standard output of `softcon inspect MODEL arguments`; the caller frees it */
static char *run(const char *mjcf, const char *arguments, int *status) {
  char *path = write_model(mjcf), command[2000];
  size_t n = 0, capacity = 1 << 20;
  char *out = malloc(capacity);
  snprintf(command, sizeof command, "%s inspect %s %s 2>&1", SOFTCON_PROGRAM, path, arguments);
  FILE *pipe = popen(command, "r");
  cr_assert(pipe);
  n = fread(out, 1, capacity - 1, pipe);
  out[n] = 0;
  int code = pclose(pipe);
  cr_assert(WIFEXITED(code), "%s", command);
  *status = WEXITSTATUS(code);
  unlink(path);
  free(path);
  return out;
}

static cJSON *run_json(const char *mjcf, const char *arguments, int want) {
  char all[400];
  int status;
  snprintf(all, sizeof all, "--json %s", arguments);
  char *text = run(mjcf, all, &status);
  cr_assert(status == want, "exit %d, not %d: %s", status, want, text);
  cJSON *o = cJSON_Parse(text);
  cr_assert(o, "not JSON: %s", text);
  free(text);
  return o;
}

static double number(const cJSON *o, const char *name) {
  const cJSON *x = cJSON_GetObjectItemCaseSensitive(o, name);
  cr_assert(cJSON_IsNumber(x), "%s is no number", name);
  return x->valuedouble;
}

static const char *word(const cJSON *o, const char *name) {
  const cJSON *x = cJSON_GetObjectItemCaseSensitive(o, name);
  cr_assert(cJSON_IsString(x), "%s is no text", name);
  return x->valuestring;
}

static void near(const cJSON *o, const char *name, double want, double relative) {
  double x = number(o, name);
  cr_assert(fabs(x - want) <= relative * fmax(fabs(want), 1e-12), "%s is %.12g, not %.12g", name, x, want);
}

static const cJSON *item(const cJSON *o, const char *array, int i) {
  const cJSON *x = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(o, array), i);
  cr_assert(x, "no %s[%d]", array, i);
  return x;
}

/* whether one of the array's texts holds `part` */
static int says(const cJSON *o, const char *array, const char *part) {
  const cJSON *x;
  cJSON_ArrayForEach(x, cJSON_GetObjectItemCaseSensitive(o, array)) if (strstr(x->valuestring, part)) return 1;
  return 0;
}

/* ------------------------------------------------------------------ rows */

/* rows.md, 9.2; option, pair attributes, floor attributes */
#define BALL(option, pair)                                                                                             \
  "<mujoco><option timestep='0.005' " option                                                                           \
  "</option><worldbody><geom name='floor' type='plane' size='5 5 .1'/><body pos='0 0 .19'>"                            \
  "<joint name='x' type='slide' axis='1 0 0'/><joint name='y' type='slide' axis='0 1 0'/>"                             \
  "<joint name='z' type='slide' axis='0 0 1'/><geom name='ball' size='.2' mass='2'/></body></worldbody>"               \
  "<contact><pair geom1='floor' geom2='ball' margin='.02' " pair "/></contact>"                                        \
  "<keyframe><key name='hit' qvel='0 0 -0.1'/></keyframe></mujoco>"
#define SOLIMP " solimp='.9 .95 .02 .5 2' "

Test(inspect, ball) {
  cJSON *o = run_json(BALL(">", "condim='1' solref='0.02 1'" SOLIMP), "--key hit", 0);
  const cJSON *row = item(o, "rows", 0), *solve = cJSON_GetObjectItemCaseSensitive(o, "solve");
  cr_assert(number(o, "nefc") == 1);
  near(row, "pos", -0.01, 1e-9);
  near(row, "margin", 0.02, 1e-12);
  near(row, "vel", -0.1, 1e-12);
  near(row, "K", 2770.083102493075, 1e-12);
  near(row, "B", 105.26315789473685, 1e-12);
  near(row, "d", 0.95, 1e-12);
  near(row, "R", 0.02631578947368425, 1e-12);
  near(row, "D", 38, 1e-12);
  near(row, "aref", 89.47368421052632, 1e-9);
  near(row, "A", 0.5, 1e-12);
  near(row, "effective", 0.95, 1e-12);
  near(row, "force", 188.639, 1e-9);
  cr_assert_str_eq(word(row, "state"), "quadratic");
  cr_assert_str_eq(word(row, "type"), "contact_frictionless");
  cr_assert_str_eq(word(item(row, "sides", 0), "name"), "floor");
  cr_assert_str_eq(word(item(row, "sides", 1), "name"), "ball");
  cr_assert(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(row, "repairs")) == 0);
  cr_assert_str_eq(word(solve, "status"), "solved");
  /* M = 2 in all directions, and 38 more along the normal */
  near(solve, "condition", 20, 1e-3);
  int steps = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(solve, "steps"));
  cr_assert(steps == (int)number(solve, "iterations") + 1);
  cr_assert(number(item(solve, "steps", steps - 1), "cost") == number(solve, "objective"));
  cJSON_Delete(o);
}

Test(inspect, repairs) {
  const struct {
    const char *model, *repair;
    double K, B, d;
  } cases[] = {
      {BALL(">", "condim='1' solref='0.004 1'" SOLIMP), "refsafe", 11080.3324099723, 210.5263157894737, 0.95},
      {BALL("><flag refsafe='disable'/>", "condim='1' solref='0.004 1'" SOLIMP), "refsafe is off", 69252.0775623269,
       526.315789473684, 0.95},
      {BALL(">", "condim='1' solref='0.02 -1'" SOLIMP), "mixes signs", 2770.083102493075, 105.26315789473685, 0.95},
      {BALL(">", "condim='1' solref='0.02 1' solimp='.9 .95 0 .5 2'"), "width is zero", 2770.083102493075,
       105.26315789473685, 0.925},
      {BALL(">", "condim='1' solref='0.02 1' solimp='.9 1 .02 .5 2'"), "dwidth 1 is outside",
       1 / (0.9999 * 0.9999 * 0.0004), 2 / (0.9999 * 0.02), 0.9999},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cJSON *o = run_json(cases[i].model, "--key hit", 0);
    const cJSON *row = item(o, "rows", 0);
    near(row, "K", cases[i].K, 1e-9);
    near(row, "B", cases[i].B, 1e-9);
    near(row, "d", cases[i].d, 1e-9);
    cr_assert(says(row, "repairs", cases[i].repair), "case %zu: no \"%s\"", i, cases[i].repair);
    cJSON_Delete(o);
  }
}

Test(inspect, cones) {
  static const double R[] = {.0263157895, .0263157895, .105263158, 6.736842105, 168.4210526, 42.10526316};
  static const char *const kinds[] = {"contact normal", "contact t1",    "contact t2",
                                      "contact spin",   "contact roll1", "contact roll2"};
  const char *model = BALL(">", "condim='6' friction='.8 .4 .05 .01 .02' solref='0.02 1'" SOLIMP);
  cJSON *o = run_json(model, "--key hit --cone elliptic", 0);
  cr_assert(number(o, "nefc") == 6);
  for (int k = 0; k < 6; k++) {
    near(item(o, "rows", k), "R", R[k], 1e-8);
    cr_assert_str_eq(word(item(o, "rows", k), "kind"), kinds[k]);
  }
  cJSON_Delete(o);
  o = run_json(model, "--key hit --cone pyramidal --impratio 5", 0);
  cr_assert(number(o, "nefc") == 10);
  for (int k = 0; k < 10; k++) near(item(o, "rows", k), "R", 0.0110484211, 1e-8);
  cr_assert_str_eq(word(item(o, "rows", 1), "kind"), "pyramid -t1");
  cJSON_Delete(o);
}

/* rows.md, 9.2, the mixed-row test */
Test(inspect, mixed_rows) {
  static const double want[3][8] = {
      {-.04, 0, 3086.419753086419, 111.1111111111111, .832, -1.6, .10096153846153841, 69.38271604938268},
      {0, 0, 0, 105.26315789473685, .9, 0, .05555555555555554, -31.578947368421055},
      {-.01, .02, 2770.083102493075, 105.26315789473685, .934, -1.6, .03533190578158461, 109.196675900277}};
  static const char *const fields[] = {"pos", "margin", "K", "B", "d", "dp", "R", "aref"};
  static const char *const kinds[] = {"joint equality", "dry friction", "limit upper"};
  cJSON *o =
      run_json("<mujoco><option timestep='0.002'/><worldbody><body><joint name='j' type='slide' axis='1 0 0' "
               "range='-1 .1' margin='.02' frictionloss='2' solimplimit='.9 .95 .05 .5 2'/>"
               "<geom size='.1' mass='2' contype='0' conaffinity='0'/></body></worldbody>"
               "<equality><joint name='hold' joint1='j' polycoef='.15 0 0 0 0' solimp='.8 .9 .1 .5 2'/></equality>"
               "<keyframe><key qpos='.11' qvel='.3'/></keyframe></mujoco>",
               "--key 0", 0);
  cr_assert(number(o, "nefc") == 3);
  for (int i = 0; i < 3; i++) {
    const cJSON *row = item(o, "rows", i);
    for (int k = 0; k < 8; k++) near(row, fields[k], want[i][k], 1e-9);
    cr_assert_str_eq(word(row, "kind"), kinds[i]);
    cr_assert_str_eq(word(item(row, "sides", 0), "name"), "j");
  }
  cr_assert_str_eq(word(item(o, "rows", 0), "equality"), "hold");
  cJSON_Delete(o);
}

/* Every row kind of a scene: the table must fit its width, and the exit status be that of the solve. */
Test(inspect, table) {
  static const char *const scenes[] = {"humanoid", "gripper", "boxes", "legged"};
  for (size_t i = 0; i < 4; i++) {
    char command[600], line[600];
    int lines = 0;
    snprintf(command, sizeof command, "%s inspect %s/scenes/%s.xml --warmup 100", SOFTCON_PROGRAM, SOFTCON_SOURCE_DIR,
             scenes[i]);
    FILE *pipe = popen(command, "r");
    while (fgets(line, sizeof line, pipe)) {
      lines++;
      if (strncmp(line, "softcon", 7)) cr_assert(strlen(line) <= 120, "%s: too wide: %s", scenes[i], line);
      if (strlen(line) > 60 && line[4] == ' ' && line[3] >= '0' && line[3] <= '9')
        cr_assert(strlen(line) <= 101, "%s", line);
    }
    cr_assert(pclose(pipe) == 0);
    cr_assert(lines > 10);
  }
}

/* A box that slides and turns on an elliptic contact of dim 6: the condition number with the cones' curvature was
 * computed from finite differences of MuJoCo's forces. */
Test(inspect, condition_of_sliding_cones) {
  cJSON *o =
      run_json("<mujoco><option cone='elliptic' impratio='3'/><worldbody><geom type='plane' size='5 5 .1' condim='6' "
               "friction='.6 .02 .003'/><body pos='0 0 .0995'><freejoint/><geom type='box' size='.1 .1 .1' mass='2'/>"
               "</body></worldbody><keyframe><key name='go' qpos='0 0 .0995 1 0 0 0' qvel='1 .3 0 0 0 2'/></keyframe>"
               "</mujoco>",
               "--key go", 0);
  cr_assert_str_eq(word(item(o, "rows", 6), "state"), "cone");
  near(cJSON_GetObjectItemCaseSensitive(o, "solve"), "condition", 6493.53, 1e-3);
  cJSON_Delete(o);
}

/* Every row of a model against MuJoCo's numbers, whoever made them, and its force by the law. Returns how many there are */
static int compare_rows(const char *path, const char *scene, int steps) {
  static const char *const fields[] = {"pos", "margin", "vel", "K", "B", "d", "dp", "R", "diagA", "aref"};
  char command[1200];
  sc_model *model;
  size_t nstate;
  int n;
  snprintf(command, sizeof command, "%s inspect %s --json --warmup %d", SOFTCON_PROGRAM, path, steps);
  cr_assert(!sc_model_load(path, NULL, &model) && !sc_state_size(model, -1, &nstate));
  double *state = malloc(nstate * sizeof *state);
  cr_assert(!sc_state_start(model, -1, steps, state) && !sc_inspect_rows(model, state, -1, 0, NULL, NULL, &n), "%s: %s", scene,
            sc_error_text());
  size_t nv = (size_t)sc_model_count(model, SC_OBJECT_DOF);
  sc_row_info *rows = malloc(((size_t)n + 1) * sizeof *rows);
  double *J = malloc(((size_t)n * nv + 1) * sizeof *J);
  cr_assert(!sc_inspect_rows(model, state, -1, n, rows, J, &n));
  char *text = malloc(1 << 22);
  FILE *pipe = popen(command, "r");
  text[fread(text, 1, (1 << 22) - 1, pipe)] = 0;
  cr_assert(pclose(pipe) == 0);
  cJSON *o = cJSON_Parse(text);
  cr_assert(o && number(o, "nefc") == n);
  for (int i = 0; i < n; i++) {
    const cJSON *row = item(o, "rows", i),
                *qacc = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(o, "solve"), "qacc"), *a;
    const double want[] = {rows[i].pos, rows[i].margin, rows[i].vel, rows[i].K,     rows[i].B,
                           rows[i].d,   rows[i].dp,     rows[i].R,   rows[i].diagA, rows[i].aref};
    for (int k = 0; k < 10; k++) {
      double x = number(row, fields[k]);
      cr_assert(fabs(x - want[k]) <= 1e-9 * fmax(1e-3, fabs(want[k])), "%s row %d: %s is %.15g, MuJoCo's %.15g", scene,
                i, fields[k], x, want[k]);
    }
    double residual = -rows[i].aref, terms = fabs(rows[i].aref);
    const double *entry = J + (size_t)i * nv;
    cJSON_ArrayForEach(a, qacc) residual += *entry * a->valuedouble, terms += fabs(*entry++ * a->valuedouble);
    double force = -residual / rows[i].R, rounding = 1e-14 * terms / rows[i].R; /* of qacc as it is printed */
    if (!strcmp(word(row, "state"), "quadratic"))
      cr_assert(fabs(number(row, "force") - force) <= 1e-6 * fmax(1, fabs(force)) + rounding, "%s row %d: %g, %g", scene, i,
                number(row, "force"), force);
    if (!strcmp(word(row, "state"), "satisfied")) cr_assert(number(row, "force") == 0);
  }
  cJSON_Delete(o);
  free(text);
  free(J);
  free(rows);
  free(state);
  sc_model_destroy(model);
  return n;
}

Test(inspect, rows_of_scenes) {
  static const char *const scenes[] = {"humanoid", "gripper", "boxes", "legged"};
  for (int i = 0; i < 4; i++) {
    char path[500];
    snprintf(path, sizeof path, "%s/scenes/%s.xml", SOFTCON_SOURCE_DIR, scenes[i]);
    cr_expect_gt(compare_rows(path, scenes[i], 120), 0);
  }
}

Test(inspect, rows_of_every_kind) {
  int rows = 0;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    int most = strcmp(models[i].name, "degenerate") ? 20 : 0; /* what its settings say diverges when it is stepped */
    for (int steps = 0; steps <= most; steps += 10) {
      char *path = write_model(models[i].xml);
      rows += compare_rows(path, models[i].name, steps);
      remove(path);
      free(path);
    }
  }
  cr_expect_gt(rows, 100, "%d rows", rows);
}

Test(inspect, no_rows_and_bad_use) {
  static const char empty[] = "<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>";
  cJSON *o = run_json(empty, "", 0);
  cr_assert(number(o, "nv") == 0 && number(o, "nefc") == 0);
  cr_assert_str_eq(word(cJSON_GetObjectItemCaseSensitive(o, "solve"), "status"), "solved");
  cJSON_Delete(o);
  const struct {
    const char *arguments;
    int status;
    const char *text;
  } cases[] = {{"--key nope", 3, "no keyframes"},           {"--env 1", 2, "--states"},
               {"--jacobian tcp", 3, "no such site"},       {"--lint --actuators", 2, "exclude each other"},
               {"--angle -1 --jacobian tcp", 2, "--angle"}, {"--states /nonexistent.h5", 3, "nonexistent"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int status;
    char *text = run(empty, cases[i].arguments, &status);
    cr_assert(status == cases[i].status && strstr(text, cases[i].text), "%s: %d: %s", cases[i].arguments, status, text);
    free(text);
  }
}

/* ------------------------------------------------------------------ actuators and points */

static const char two_actuators[] =
    "<mujoco><option timestep='0.002'/><worldbody><body><joint name='arm_joint1' axis='0 0 1' damping='1'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 .3 0 0' mass='1' contype='0' conaffinity='0'/></body>"
    "<body pos='0 1 0'><joint name='arm_joint2' axis='0 0 1' damping='1'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 .3 0 0' mass='1' contype='0' conaffinity='0'/></body></worldbody>"
    "<actuator><position name='position_idx61_arm_r_joint1' joint='arm_joint1' kp='100'/>"
    "<motor name='motor_idx61_arm_r_joint1' joint='arm_joint1'/><motor name='motor_idx61_arm_r_joint2' "
    "joint='arm_joint2' "
    "ctrlrange='-2 3' forcerange='-1 1'/></actuator></mujoco>";

Test(inspect, actuators) {
  cJSON *o = run_json(two_actuators, "--actuators", 0);
  const cJSON *shared = item(o, "joints", 0), *single = item(o, "joints", 1);
  cr_assert(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(shared, "shared")) &&
            cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(single, "shared")));
  const cJSON *servo = item(shared, "actuators", 0), *motor = item(shared, "actuators", 1);
  cr_assert_str_eq(word(servo, "kind"), "position");
  cr_assert_str_eq(word(servo, "bias"), "affine");
  cr_assert_str_eq(word(motor, "kind"), "motor");
  /* scenario 1: 1.4 in one slot */
  cr_assert(fabs(1.4 * number(motor, "rest_per_ctrl") - 0.014) < 1e-12);
  cr_assert(fabs(1.4 * number(servo, "rest_per_ctrl") - 1.4) < 1e-12);
  const cJSON *range = cJSON_GetObjectItemCaseSensitive(item(single, "actuators", 0), "ctrlrange");
  cr_assert(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(range, "active")));
  cr_assert_str_eq(word(range, "unit"), "N m");
  cr_assert(item(range, "range", 1)->valuedouble == 3);
  cJSON_Delete(o);
}

Test(inspect, actuator_kinds) {
  static const char *const kinds[] = {"motor",  "position", "position", "velocity", "intvelocity",
                                      "damper", "cylinder", "muscle",   "general"};
  cJSON *o = run_json(
      "<mujoco><worldbody><body><joint name='j' range='-1 1'/><geom size='.1'/></body></worldbody><actuator>"
      "<motor joint='j'/><position joint='j' kp='10' kv='1'/><position joint='j' kp='10' timeconst='.1'/>"
      "<velocity joint='j' kv='3'/><intvelocity joint='j' kp='10' actrange='-1 1'/><damper joint='j' kv='2' "
      "ctrlrange='0 1'/>"
      "<cylinder joint='j' area='2' timeconst='.1'/><muscle joint='j' lengthrange='0 1'/>"
      "<general joint='j' gaintype='fixed' biastype='affine' gainprm='3' biasprm='1 2 0'/></actuator></mujoco>",
      "--actuators", 0);
  for (int i = 0; i < 9; i++) {
    const cJSON *a = item(item(o, "joints", 0), "actuators", i);
    cr_assert_str_eq(word(a, "kind"), kinds[i], "actuator %d: %s, not %s", i, word(a, "kind"), kinds[i]);
  }
  cJSON_Delete(o);
}

Test(inspect, displacement) {
  static const double norm[] = {0, .35, 0}, mm[] = {0, 173.18277, 0};
  cJSON *o =
      run_json("<mujoco><worldbody><body><joint name='j1_roll' axis='0 0 1'/><geom size='.02'/><body pos='0 0 .3'>"
               "<joint name='j2_pitch' axis='0 1 0'/><geom size='.02'/><body pos='0 0 .2'>"
               "<joint name='j3_roll' axis='0 0 1'/><geom size='.02'/><site name='tcp' pos='0 0 .15'/></body></body>"
               "</body></worldbody></mujoco>",
               "--jacobian tcp --angle 0.5", 0);
  for (int i = 0; i < 3; i++) {
    const cJSON *dof = item(o, "dofs", i);
    cr_assert(fabs(number(dof, "norm") - norm[i]) < 1e-12);
    cr_assert(fabs(number(dof, "arm") - norm[i]) < 1e-12);
    cr_assert(fabs(1000 * number(dof, "chord") - mm[i]) < 1e-5);
    cr_assert(fabs(number(dof, "moved") - number(dof, "chord")) < 1e-12);
    cr_assert(fabs(number(dof, "linear") - 0.5 * norm[i]) < 1e-12);
    cr_assert(number(dof, "qposadr") == i && number(dof, "dofadr") == i);
    cr_assert(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(dof, "depends")) == (i == 1));
  }
  cJSON_Delete(o);
}

/* All kinds of joints: what the chord says is what the kinematics do. */
Test(inspect, displacement_of_all_joints) {
  cJSON *o = run_json("<mujoco><worldbody><body><freejoint/><geom size='.1'/><body pos='.1 .2 .3' euler='10 20 30'>"
                      "<joint name='b' type='ball' pos='.1 0 0'/><geom size='.1'/><body pos='.3 0 0'>"
                      "<joint type='slide' axis='1 1 0'/><joint axis='0 1 1' pos='0 .1 0'/><geom size='.1'/>"
                      "<site name='s' pos='.2 .1 .3'/></body></body></body>"
                      "<body><joint name='aside'/><geom size='.1'/></body></worldbody></mujoco>",
                      "--jacobian s --angle 0.3", 0);
  cr_assert(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(o, "dofs")) == 12);
  for (int i = 0; i < 12; i++) {
    const cJSON *dof = item(o, "dofs", i);
    cr_assert(fabs(number(dof, "moved") - number(dof, "chord")) < 1e-12, "dof %d: %g, %g", i, number(dof, "moved"),
              number(dof, "chord"));
  }
  cr_assert(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(item(o, "dofs", 11), "above")));
  cJSON_Delete(o);
}

/* ------------------------------------------------------------------ lint */

/* two geoms that touch, and what is put into: option, floor, ball, joint, and the rest of the model */
#define MODEL(option, floor, ball, joint, rest)                                                                        \
  "<mujoco>" option "<worldbody><geom name='floor' type='plane' size='1 1 .1' " floor "/><body name='b' pos='0 0 .1'>" \
  "<joint name='z' type='slide' axis='0 0 1' " joint "/><geom name='ball' size='.1' mass='1' " ball                    \
  "/></body></worldbody>" rest "</mujoco>"
#define MOTOR "<actuator><motor name='drive' joint='z' ctrlrange='-1 1'/></actuator>"
#define SECOND(geom)                                                                                                   \
  "<worldbody><body name='c' pos='1 0 .5'><freejoint/><geom name='other' size='.1' " geom "/></body></worldbody>"

static const struct {
  const char *rule, *bad, *good;
} rules[] = {
    {"timeconst", MODEL("", "", "solref='.003 1'", "", ""), MODEL("", "", "solref='.004 1'", "", "")},
    {"timeconst", MODEL("", "", "", "range='-1 1' solreflimit='.001 1'", ""), MODEL("", "", "", "range='-1 1'", "")},
    {"timeconst",
     MODEL("<option cone='elliptic'/>", "", "", "",
           "<contact><pair geom1='floor' geom2='ball' solreffriction='.001 1'/></contact>"),
     MODEL("<option cone='elliptic'/>", "", "", "",
           "<contact><pair geom1='floor' geom2='ball' solreffriction='.02 1'/></contact>")},
    {"mixed-signs", MODEL("", "", "solref='.02 -1'", "", ""), MODEL("", "", "solref='-100 -10'", "", "")},
    {"mixed-signs", MODEL("", "", "", "frictionloss='1' solreffriction='-1 0.1'", ""),
     MODEL("", "", "", "frictionloss='1'", "")},
    {"stiff-reference", MODEL("", "", "solref='-400000 -100'", "", ""), MODEL("", "", "solref='-10000 -100'", "", "")},
    {"stiff-reference", MODEL("", "", "solref='-100 -1100'", "", ""), MODEL("", "", "solref='-100 -490'", "", "")},
    {"stiff-reference", MODEL("", "", "solref='.004 .1'", "", ""), MODEL("", "", "solref='.004 1'", "", "")},
    {"no-stiffness", MODEL("", "", "solref='0 0'", "", ""), MODEL("", "", "solref='-1 0'", "", "")},
    {"solreffriction-pyramidal",
     MODEL("", "", "", "", "<contact><pair geom1='floor' geom2='ball' solreffriction='.02 1'/></contact>"),
     MODEL("<option cone='elliptic'/>", "", "", "",
           "<contact><pair geom1='floor' geom2='ball' solreffriction='.02 1'/></contact>")},
    {"impedance-clamped", MODEL("", "", "solimp='0 1 .001 .5 2'", "", ""),
     MODEL("", "", "solimp='.1 .99 .001 .5 2'", "", "")},
    {"impedance-clamped", MODEL("", "", "solimp='.9 .95 .001 .5 .5'", "", ""),
     MODEL("", "", "solimp='.9 .95 .001 .5 1'", "", "")},
    {"zero-width", MODEL("", "", "solimp='.9 .95 0 .5 2'", "", ""), MODEL("", "", "solimp='.9 .9 0 .5 2'", "", "")},
    {"impratio-pyramidal", MODEL("<option impratio='10'/>", "", "", "", ""),
     MODEL("<option impratio='10' cone='elliptic'/>", "", "", "", "")},
    {"margin-gap", MODEL("", "margin='.02'", "", "", ""), MODEL("", "margin='0'", "", "", "")},
    {"margin-gap", MODEL("", "gap='.02'", "", "", ""), MODEL("", "gap='0'", "", "", "")},
    {"condim-friction", MODEL("", "condim='4' friction='1 0 0'", "friction='1 0 0'", "", ""),
     MODEL("", "condim='4' friction='1 0 0'", "", "", "")},
    {"condim-friction",
     MODEL("", "", "", "", "<contact><pair geom1='floor' geom2='ball' condim='6' friction='1 1 .1 0 0'/></contact>"),
     MODEL("", "", "", "", "<contact><pair geom1='floor' geom2='ball' condim='4' friction='1 1 .1 0 0'/></contact>")},
    {"friction-unused", MODEL("", "friction='1 .1 .0001'", "", "", ""),
     MODEL("", "friction='1 .1 .0001'", "condim='4'", "", "")},
    {"override", MODEL("<option><flag override='enable'/></option>", "", "", "", ""), MODEL("", "", "", "", "")},
    {"filter-alone", MODEL("", "contype='2' conaffinity='2'", "", "", SECOND("")), MODEL("", "", "", "", SECOND(""))},
    {"filter-masks", MODEL("", "", "contype='1' conaffinity='0'", "", SECOND("contype='1' conaffinity='0'")),
     MODEL("", "", "contype='1' conaffinity='0'", "", SECOND(""))},
    {"filter-masks", MODEL("", "", "contype='1' conaffinity='0'", "", SECOND("contype='1' conaffinity='0'")),
     MODEL("", "", "contype='1' conaffinity='0'", "",
           SECOND("contype='1' conaffinity='0'") "<contact><pair geom1='ball' geom2='other'/></contact>")},
    {"filter-exclude", MODEL("", "", "", "", SECOND("") "<contact><exclude body1='b' body2='c'/></contact>"),
     MODEL("", "", "", "", SECOND(""))},
    {"filter-body", MODEL("", "", "contype='0' conaffinity='0'", "", ""), MODEL("", "", "", "", "")},
    {"priority", MODEL("", "priority='1'", "friction='.3 .005 .0001'", "", ""), MODEL("", "priority='1'", "", "", "")},
    {"armature", MODEL("", "", "", "", MOTOR), MODEL("", "", "", "armature='.1'", MOTOR)},
    {"gain-timestep", MODEL("", "", "", "armature='.1'", "<actuator><position joint='z' kp='2e6'/></actuator>"),
     MODEL("", "", "", "armature='.1'", "<actuator><position joint='z' kp='2e4'/></actuator>")},
    {"actuator-name",
     MODEL("", "", "", "armature='.1'", "<actuator><position name='left_motor' joint='z'/></actuator>"),
     MODEL("", "", "", "armature='.1'", "<actuator><position name='left_position' joint='z'/></actuator>")},
    {"actuator-name", MODEL("", "", "", "armature='.1'", "<actuator><motor name='kneeVelocity' joint='z'/></actuator>"),
     MODEL("", "", "", "armature='.1'", "<actuator><motor name='promotor_z' joint='z'/></actuator>")},
    {"shared-joint", MODEL("", "", "", "armature='.1'", MOTOR "<actuator><position joint='z' kp='10'/></actuator>"),
     MODEL("", "", "", "armature='.1'", MOTOR)},
    {"range-inactive",
     MODEL("", "", "", "armature='.1'", "<actuator><motor joint='z' ctrllimited='false' ctrlrange='-1 1'/></actuator>"),
     MODEL("", "", "", "armature='.1'", MOTOR)},
};

static int fires(const cJSON *o, const char *rule) {
  const cJSON *x;
  cJSON_ArrayForEach(x, cJSON_GetObjectItemCaseSensitive(o, "findings")) {
    cr_assert(*word(x, "reason") && *word(x, "remedy") &&
              cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(x, "objects")) > 0);
    if (!strcmp(word(x, "rule"), rule)) return 1;
  }
  return 0;
}

Test(lint, rules) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    cJSON *bad = run_json(rules[i].bad, "--lint", 0), *good = run_json(rules[i].good, "--lint", 0);
    cr_expect(fires(bad, rules[i].rule), "case %zu: %s is silent: %s", i, rules[i].rule, cJSON_PrintUnformatted(bad));
    cr_expect(!fires(good, rules[i].rule), "case %zu: %s fires: %s", i, rules[i].rule, cJSON_PrintUnformatted(good));
    cJSON_Delete(bad);
    cJSON_Delete(good);
  }
}

/* scenarios 4 and 7 */
#define WELD(height)                                                                                                   \
  "<mujoco><option gravity='0 0 0'/><worldbody><body name='mount' pos='0 0 " height "'/><body name='carriage'>"        \
  "<joint name='lift' type='slide' axis='0 0 1'/><geom type='box' size='.05 .05 .02' mass='1'/><body name='finger' "   \
  "pos='0 0 .05'><joint name='slide' type='slide' axis='0 0 1' range='0 .046'/><geom type='box' size='.02 .02 .02' "   \
  "mass='.1'/></body></body></worldbody><equality><weld body1='finger' body2='mount' relpose='0 0 0 1 0 0 0'/>"        \
  "</equality></mujoco>"
#define BACKLASH(armature)                                                                                             \
  "<mujoco><worldbody><body><joint name='J1' axis='0 0 1' armature='" armature "'/><joint name='J2' axis='0 0 1' "     \
  "range='-1 1'/><geom type='capsule' fromto='0 0 0 .2 0 0' size='.02' mass='1'/></body></worldbody></mujoco>"

Test(lint, scenarios) {
  const struct {
    const char *model, *rule;
    int want;
  } cases[] = {{WELD("0.3"), "weld-limit", 1},         {WELD("0.05"), "weld-limit", 0},
               {BACKLASH("0"), "singular-inertia", 1}, {BACKLASH("0.01"), "singular-inertia", 0},
               {two_actuators, "shared-joint", 1},     {two_actuators, "actuator-name", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cJSON *o = run_json(cases[i].model, "--lint", 0);
    cr_expect(fires(o, cases[i].rule) == cases[i].want, "case %zu: %s: %s", i, cases[i].rule,
              cJSON_PrintUnformatted(o));
    cJSON_Delete(o);
  }
}

/* A model without a fault has no finding at all, in words as well. */
Test(lint, good_model) {
  int status;
  char *text = run(MODEL("", "", "", "range='-1 1' armature='.1'", MOTOR), "--lint", &status);
  cr_assert(status == 0 && strstr(text, "0 warnings, 0 notes") && !strstr(text, "->"), "%s", text);
  free(text);
}

/* ------------------------------------------------------------------ the bridge */

Test(bridge, arguments) {
  sc_model *model;
  sc_row_info row;
  sc_source_info source;
  sc_joint_info joint;
  sc_filter filter;
  sc_site_dof dof[1];
  double state[100];
  int n;
  char *path = write_model(MODEL("", "", "", "", ""));
  cr_assert(sc_model_load(path, NULL, &model) == SC_OK, "%s", sc_error_text());
  cr_assert(sc_model_count(model, SC_OBJECT_GEOM) == 2 && sc_model_count(model, SC_NOBJECT) == 0);
  cr_assert_str_eq(sc_model_name(model, SC_OBJECT_GEOM, 1), "ball");
  cr_assert_str_eq(sc_model_name(model, SC_OBJECT_GEOM, 2), "");
  cr_assert(sc_model_find(model, SC_OBJECT_JOINT, "z") == 0 && sc_model_find(model, SC_OBJECT_JOINT, "y") == -1);
  cr_assert(sc_state_start(model, 0, 0, state) == SC_ERROR_ARGUMENT && strstr(sc_error_text(), "key"));
  cr_assert(sc_state_start(model, -1, -1, state) == SC_ERROR_ARGUMENT);
  cr_assert(sc_state_start(model, -1, 3, state) == SC_OK);
  cr_assert(sc_inspect_rows(model, state, -1, 1, &row, NULL, &n) == SC_OK && n == 4);
  cr_assert(row.block_rows == 4 && row.dim == 3 && row.object_id[1] == 1);
  state[1] = (double)NAN;
  cr_assert(sc_inspect_rows(model, state, -1, 1, &row, NULL, &n) == SC_ERROR_VALUE);
  cr_assert(sc_inspect_source(model, SC_SOURCE_GEOM, 2, &source) == SC_ERROR_ARGUMENT);
  cr_assert(sc_inspect_joint(model, 1, &joint) == SC_ERROR_ARGUMENT);
  cr_assert(sc_inspect_filter(model, 0, 5, &filter) == SC_ERROR_ARGUMENT);
  cr_assert(sc_inspect_site(model, state, -1, 0, 0.5, dof, NULL) == SC_ERROR_ARGUMENT);
  sc_model_destroy(model);
  unlink(path);
  free(path);
}
