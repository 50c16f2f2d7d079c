/* solve --set-aside and replay: what was not solved is there whole, is solved again with the same bits, and is explained. */
#include "support/command.h"

#include "support/solve.h"

#include "store.h"
#include "store_aside.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <sys/stat.h>

static char folder[256];

static void prepare(void) { folder_make(folder, sizeof folder); }
static void clean_up(void) { folder_remove(folder); }
TestSuite(replay, .init = prepare, .fini = clean_up);

static command_result run_with(const char *line, const command_options *limits) {
  char buffer[2000];
  const char *words[COMMAND_WORDS] = {SOFTCON_PROGRAM};
  words[1 + command_split(line, buffer, sizeof buffer, words + 1, COMMAND_WORDS - 2)] = NULL;
  command_options o = *limits;
  o.folder = folder;
  return command_run(words, &o);
}

static command_result run_line(const char *line, int status) {
  command_result r = run_with(line, &(command_options){0});
  cr_assert_eq(r.status, status, "softcon %s: exit status %d\n%s%s", line, r.status, r.out, r.err);
  return r;
}

static void model(const char *name, const char *xml) { file_write(folder, name, xml, strlen(xml)); }

static const char *path_of(const char *name) {
  static char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static const cJSON *item(const cJSON *o, const char *name) {
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(o, name);
  cr_assert(found != NULL, "no \"%s\" in the JSON", name);
  return found;
}
static double number(const cJSON *o, const char *name) { return item(o, name)->valuedouble; }
static const char *text(const cJSON *o, const char *name) { return item(o, name)->valuestring; }

/* boxes, a hinge at its limit, dry friction, a coupling */
static const char scene[] =
    "<mujoco><option cone='elliptic'/><worldbody><geom name='floor' type='plane' size='5 5 1'/>"
    "<body pos='0 0 .12'><freejoint name='free'/><geom name='box' type='box' size='.1 .1 .1' condim='4'/></body>"
    "<body pos='1 0 .3'><joint name='knee' axis='0 1 0' range='-5 5' limited='true' frictionloss='.1'/>"
    " <geom name='shin' type='capsule' fromto='0 0 0 .3 0 -.24' size='.05' condim='3'/>"
    " <body pos='.3 0 -.24'><joint name='ankle' axis='0 1 0' frictionloss='.2'/><geom size='.06'/></body></body></worldbody>"
    "<equality><joint name='couple' joint1='knee' joint2='ankle'/></equality></mujoco>";

/* ------------------------------------------------------------------ the same bits */

static void check_same(const cJSON *o, const char *what) {
  static const char *const numbers[] = {"gap", "gap_floor", "qacc_bound", "objective", "iterations"};
  const cJSON *before = item(o, "its_run");
  cr_expect_str_eq(text(o, "status"), text(before, "status"), "%s: %s, in its run %s", what, text(o, "status"), text(before, "status"));
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
    cr_expect_eq(number(o, numbers[k]), number(before, numbers[k]), "%s: %s is %.17g, in its run %.17g", what, numbers[k], number(o, numbers[k]),
                 number(before, numbers[k]));
}

/* the same by the library, bit by bit */
static void check_bits(const sc_aside *a, const char *what) {
  test_run t = open_run(NULL, 1, SC_F64, 1e-8, 1);
  sc_solver *solver;
  sc_result r;
  CALL(sc_batch_set(t.batch, 0, &a->problem));
  CALL(sc_solver_create(t.context, &a->options, &solver));
  CALL(sc_solve(solver, t.batch));
  CALL(sc_solver_result(solver, &r));
  cr_expect(!memcmp(r.qacc, a->qacc, (size_t)a->problem.nv * sizeof(double)), "%s: qacc", what);
  cr_expect(!memcmp(r.efc_force, a->efc_force, (size_t)a->problem.nefc * sizeof(double)), "%s: efc_force", what);
  cr_expect(!memcmp(r.gap, &a->gap, sizeof(double)) && !memcmp(r.objective, &a->objective, sizeof(double)), "%s: verdict", what);
  sc_solver_destroy(solver);
  close_run(&t);
}

static void check_replays(const char *options, const char *file) {
  char line[300];
  sc_aside_entry *list;
  int n;
  snprintf(line, sizeof line, "solve scene.xml --envs 40 --warmup 35 --quiet --set-aside %s %s", file, options);
  run_line(line, 4);
  cr_assert_eq(sc_aside_list(path_of(file), &list, &n), SC_OK, "%s", sc_error_text());
  cr_assert(n >= 8, "%s: only %d were set aside", options, n);
  for (int i = 0; i < n; i += 1 + n / 8) {
    sc_aside a;
    cr_assert_eq(sc_aside_read(path_of(file), i, &a), SC_OK, "%s", sc_error_text());
    snprintf(line, sizeof line, "replay %s --env %d --json", file, list[i].env);
    command_result r = run_line(line, 4);
    cJSON *o = cJSON_Parse(r.out);
    check_same(o, line);
    const cJSON *qacc = item(o, "qacc"), *again = cJSON_GetObjectItem(o, "retry_steps"), *steps = again ? again : item(o, "steps");
    cr_assert_eq(cJSON_GetArraySize(qacc), a.problem.nv);
    for (int k = 0; k < a.problem.nv; k++) /* JSON keeps nearly all digits */
      cr_expect(fabs(cJSON_GetArrayItem(qacc, k)->valuedouble - a.qacc[k]) <= 1e-15 * fabs(a.qacc[k]), "%s: qacc[%d] is %.17g, in its run %.17g", line, k,
                cJSON_GetArrayItem(qacc, k)->valuedouble, a.qacc[k]);
    check_bits(&a, line);
    int last = cJSON_GetArraySize(steps) - 1;
    int count = cJSON_GetArraySize(item(o, "steps")) - 1 + (again ? last : 0);
    cr_expect_eq(count, (int)number(o, "iterations"), "%s: %d steps", line, count);
    cr_expect_eq(number(cJSON_GetArrayItem(steps, last), "cost"), number(o, "objective"), "%s: the last iterate is not the answer", line);
    cJSON_Delete(o);
    sc_aside_free(&a);
  }
  free(list);
}

Test(replay, has_the_bits_of_its_run) {
  model("scene.xml", scene);
  check_replays("--iterations 1 --tolerance 1e-13", "a.h5");
  check_replays("--iterations 1 --tolerance 1e-13 --cone pyramidal --rows mujoco", "b.h5");
  check_replays("--iterations 1 --tolerance 1e-13 --max-rows 14", "c.h5");
  check_replays("--iterations 1 --tolerance 1e-13 --precision f32", "d.h5");
}

/* with other settings it is solved, and the answer is that of a solve of all */
Test(replay, solves_with_other_settings) {
  static const char *const settings[] = {"", " --precision f32", " --tolerance 1e-14 --ls-iterations 20", " --method cg --tolerance 1e-12"};
  sc_aside a;
  model("scene.xml", scene);
  run_line("solve scene.xml --envs 20 --warmup 300 --quiet --iterations 0 --tolerance 1e-13 --set-aside a.h5", 4);
  cr_assert_eq(sc_aside_read(path_of("a.h5"), 3, &a), SC_OK, "%s", sc_error_text());
  double *best = test_numbers(a.problem.nv);
  CALL(sc_check_polish(&a.problem, best, NULL));
  for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
    char line[200];
    snprintf(line, sizeof line, "replay a.h5 --env %d --iterations 200 --json%s", a.env, settings[k]);
    command_result r = run_line(line, 0);
    cJSON *o = cJSON_Parse(r.out);
    double *qacc = test_numbers(a.problem.nv), error;
    for (int i = 0; i < a.problem.nv; i++) qacc[i] = cJSON_GetArrayItem(item(o, "qacc"), i)->valuedouble;
    CALL(sc_check_error(&a.problem, qacc, best, NULL, NULL, &error, NULL));
    cr_expect(error <= 1e-5 && error <= number(o, "qacc_bound") * 1.001 + 1e-12, "%s: error %g", line, error);
    cr_expect_str_eq(text(item(o, "its_run"), "status"), "iteration_limit");
    cr_expect_str_eq(text(o, "precision"), k == 1 ? "f32" : "f64");
    free(qacc);
    cJSON_Delete(o);
  }
  free(best);
  sc_aside_free(&a);
}

/* ------------------------------------------------------------------ the file */

Test(replay, what_is_stored) {
  sc_aside a;
  model("scene.xml", scene);
  run_line("solve scene.xml --envs 20 --warmup 300 --quiet --iterations 0 --tolerance 1e-13 --set-aside a.h5", 4);
  cr_assert_eq(sc_aside_read(path_of("a.h5"), 0, &a), SC_OK, "%s", sc_error_text());
  const sc_problem *p = &a.problem;
  cr_expect(p->nv == 8 && p->nefc > 3 && a.nstate > 8 && a.sig > 0 && a.run == 0 && !a.bad && !*a.why);
  cr_expect(strstr(a.model, "/scene.xml") && a.options.iterations == 0 && a.options.tolerance == 1e-13);
  cr_assert(a.row_name && a.dof_name);
  cr_expect_str_eq(a.dof_name[6], "knee");
  cr_expect_str_eq(a.dof_name[2], "free[2]");
  cr_expect_str_eq(a.row_name[0], "joint equality: knee - ankle");
  cr_expect_str_eq(a.row_name[1], "dry friction: knee");
  cr_expect(p->efc_pos && p->efc_vel && p->qfrc_smooth && p->qacc_warmstart && a.qacc && a.efc_force);
  sc_aside_free(&a);
  cr_expect_eq(sc_aside_read(path_of("a.h5"), 1000, &a), SC_ERROR_FILE);
}

static int entries(const char *name) {
  sc_aside_entry *list;
  int n;
  cr_assert_eq(sc_aside_list(path_of(name), &list, &n), SC_OK, "%s", sc_error_text());
  free(list);
  return n;
}

Test(replay, runs_add_to_the_file) {
  model("scene.xml", scene);
  run_line("solve scene.xml --envs 10 --warmup 300 --quiet --set-aside a.h5", 0);
  cr_expect_eq(entries("a.h5"), 0);
  cr_expect(strstr(run_line("replay a.h5", 3).err, "no environment was set aside"));
  run_line("solve scene.xml --envs 10 --warmup 300 --quiet --iterations 0 --tolerance 1e-13 --set-aside a.h5", 4);
  int first = entries("a.h5");
  command_result r = run_line("solve scene.xml --envs 10 --warmup 35 --json --iterations 1 --tolerance 1e-13 --set-aside a.h5", 4);
  cJSON *o = cJSON_Parse(r.out);
  int second = entries("a.h5") - first;
  cr_expect(first > 2 && second > 0 && second == (int)number(o, "set_aside_envs"), "%d, then %d", first, second);
  cJSON_Delete(o);
  /* the last run's */
  o = cJSON_Parse(run_line("replay a.h5 --json", 4).out);
  cr_expect_eq((int)number(item(o, "its_run"), "max_iterations"), 1);
  cr_expect_eq(cJSON_GetArraySize(item(o, "envs")), first + second);
  cJSON_Delete(o);
  /* a run that cannot finish the file leaves what was there */
  size_t n, now;
  char *before = file_read(folder, "a.h5", &n);
  r = run_with("solve scene.xml --envs 10 --warmup 300 --quiet --iterations 0 --tolerance 1e-13 --set-aside a.h5", &(command_options){.file_size = n + 5000});
  char *after = file_read(folder, "a.h5", &now);
  cr_expect(r.status == 3 && n == now && !memcmp(before, after, n), "status %d, %zu and %zu bytes\n%s", r.status, n, now, r.err);
  free(before);
  free(after);
}

/* ------------------------------------------------------------------ what is to blame */

/* equalities on one joint that ask for different things; a third one says what the first says */
Test(replay, contradictions_are_named) {
  model("two.xml", "<mujoco><worldbody><body><joint name='a' axis='0 1 0'/><geom size='.1' pos='0 0 -1'/></body>"
                   "<body><joint name='b' axis='0 1 0'/><geom size='.1' pos='0 0 -1'/></body></worldbody><equality>"
                   "<joint name='e0' joint1='a' polycoef='.1 0 0 0 0'/><joint name='e1' joint1='b' polycoef='.3 0 0 0 0'/>"
                   "<joint name='e2' joint1='a' joint2='b' polycoef='-.2 1 0 0 0'/><joint name='e3' joint1='b' polycoef='-.5 0 0 0 0'/></equality></mujoco>");
  run_line("solve two.xml --envs 1 --warmup 0 --quiet --iterations 0 --set-aside a.h5", 4);
  command_result r = run_line("replay a.h5 --iterations 20 --json", 0);
  cJSON *o = cJSON_Parse(r.out);
  const cJSON *blame = item(o, "blame"), *list = item(blame, "contradictions"), *one = cJSON_GetArrayItem(list, 0);
  cr_assert(number(blame, "dependent_equalities") == 2 && number(blame, "contradicting_equalities") == 1 && cJSON_GetArraySize(list) == 1, "%s", r.out);
  const cJSON *with = item(one, "with");
  cr_expect(number(one, "row") == 3 && cJSON_GetArraySize(with) == 1 && number(cJSON_GetArrayItem(with, 0), "row") == 1, "%s", r.out);
  cr_expect(fabs(number(cJSON_GetArrayItem(with, 0), "weight") - 1) < 1e-12 && number(one, "aref") != number(one, "combined"));
  cr_expect_str_eq(text(one, "name"), "joint equality: b");
  cJSON_Delete(o);
  r = run_line("replay a.h5 --iterations 20", 0);
  cr_expect(strstr(r.out, "follow from others: 2, of which 1 contradict") && strstr(r.out, "it is 1 x row 1 joint equality: b"), "%s", r.out);
}

Test(replay, stiff_rows_and_weak_dofs_are_named) {
  model("stiff.xml", "<mujoco><option cone='elliptic' impratio='1e4'/><worldbody><geom name='floor' type='plane' size='5 5 1'/>"
                     "<body pos='0 0 .099'><freejoint/><geom name='soft' size='.1'/></body>"
                     "<body pos='1 0 .099'><freejoint/><geom name='rigid' size='.1' solimp='.9999 .9999 .001' priority='1'/></body>"
                     "<body pos='3 0 1'><joint name='heavy' axis='0 1 0'/><geom size='.3' mass='1e6' pos='1 0 0'/>"
                     " <body pos='1 0 0'><joint name='light' axis='0 1 0' armature='0'/><geom size='.01' mass='1e-5' pos='.01 0 0'/></body></body></worldbody></mujoco>");
  run_line("solve stiff.xml --envs 1 --warmup 0 --quiet --iterations 0 --tolerance 0 --set-aside a.h5", 4);
  cJSON *o = cJSON_Parse(run_line("replay a.h5 --iterations 100 --tolerance 1e-8 --json", 0).out);
  const cJSON *blame = item(o, "blame"), *row = cJSON_GetArrayItem(item(blame, "rows"), 0);
  cr_expect(strstr(text(row, "name"), "rigid") && number(row, "DA") > 1e7, "%s, D A %g", text(row, "name"), number(row, "DA"));
  for (int k = 1; k < cJSON_GetArraySize(item(blame, "rows")); k++)
    cr_expect(number(cJSON_GetArrayItem(item(blame, "rows"), k), "DA") <= number(cJSON_GetArrayItem(item(blame, "rows"), k - 1), "DA"));
  const cJSON *dofs = item(blame, "dofs");
  for (int k = 0; k < cJSON_GetArraySize(dofs); k++) {
    const cJSON *d = cJSON_GetArrayItem(dofs, k);
    cr_expect(number(d, "pivot_M") > 0 && number(d, "pivot_M") <= 1 && number(d, "pivot_H") > 0 && number(d, "pivot_H") <= 1, "dof %d", k);
  }
  cr_expect_lt(number(cJSON_GetArrayItem(dofs, 0), "pivot_H"), 1e-3, "%s", cJSON_PrintUnformatted(dofs));
  cJSON_Delete(o);
}

/* by hand: a body whose last dof repeats the one before, and zero mass */
Test(replay, singular_inertia_is_named) {
  double M[] = {2, 0, 1, 0, 1, 1}, force[] = {1, 1, 1}, state[] = {0};
  int nnz[] = {1, 2, 3}, adr[] = {0, 1, 3}, col[] = {0, 0, 1, 0, 1, 2};
  const char *dofs[] = {"x", "y", "z"};
  sc_aside a = {.env = 7, .model = "by_hand", .status = SC_NOT_SPD, .state = state, .nstate = 1, .dof_name = dofs, .gap = NAN};
  sc_aside_file *f;
  sc_problem_init(&a.problem);
  sc_solver_options_init(&a.options);
  a.problem.nv = 3, a.problem.M = M, a.problem.M_rownnz = nnz, a.problem.M_rowadr = adr, a.problem.M_colind = col, a.problem.qfrc_smooth = force;
  CALL(sc_aside_open(path_of("hand.h5"), &f));
  sc_aside_add(f, &a);
  CALL(sc_aside_close(f));
  command_result r = run_line("replay hand.h5", 4);
  cr_expect(strstr(r.out, "not_spd") && strstr(r.out, "nothing is left of the diagonal at dof 1 y"), "%s", r.out);
  cJSON *o = cJSON_Parse(run_line("replay hand.h5 --env 7 --json", 4).out);
  cr_expect_eq((int)number(item(o, "blame"), "not_spd_dof"), 1);
  cr_expect_str_eq(text(o, "status"), "not_spd");
  cJSON_Delete(o);
}

/* ------------------------------------------------------------------ without an answer */

Test(replay, bad_environments_say_why) {
  double *states;
  size_t nstate;
  int n, sig;
  model("scene.xml", scene);
  /* states of the program's own, one of them spoilt */
  run_line("solve scene.xml --envs 3 --warmup 10 --quiet --iterations 0 --tolerance 1e-15 --set-aside a.h5", 4);
  sc_aside a;
  CALL(sc_aside_read(path_of("a.h5"), 0, &a));
  nstate = (size_t)a.nstate, sig = a.sig, n = 3;
  states = test_numbers(3 * (int)nstate);
  for (int i = 0; i < n; i++) memcpy(states + (size_t)i * nstate, a.state, nstate * sizeof *states);
  states[nstate + 4] = NAN;
  sc_aside_free(&a);
  CALL(sc_store_states_write(path_of("s.h5"), states, n, nstate, sig));
  free(states);
  run_line("solve scene.xml --states s.h5 --quiet --set-aside b.h5", 4);
  command_result r = run_line("replay b.h5", 4);
  cr_expect(strstr(r.out, "bad_input") && strstr(r.out, "because    state[4] is nan, not finite"), "%s", r.out);
  CALL(sc_aside_read(path_of("b.h5"), 0, &a));
  cr_expect(a.env == 1 && a.bad && isnan(a.state[4]) && a.row_name == NULL && a.status == SC_BAD_INPUT);
  sc_aside_free(&a);
  /* too large for its run is not too large for a replay */
  r = run_line("solve scene.xml --envs 2 --warmup 300 --quiet --max-rows 2 --set-aside c.h5", 4);
  cr_expect(strstr(r.out, "more than max_rows 2"), "%s", r.out);
  r = run_line("replay c.h5", 0);
  cr_expect(strstr(r.out, "bad_input, rows_dropped") && strstr(r.out, "solved;"), "%s", r.out);
}
