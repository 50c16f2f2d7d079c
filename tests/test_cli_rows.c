/* solve --rows, --save-rows, --save-contacts: the datasets of the contract, and the flags that are reported. */
#include "support/command.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>

static char folder[256];

static void prepare(void) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  folder_make(folder, sizeof folder);
}
static void clean_up(void) { folder_remove(folder); }
TestSuite(cli_rows, .init = prepare, .fini = clean_up);

static command_result run_line(const char *line) {
  char buffer[2000];
  const char *words[COMMAND_WORDS] = {SOFTCON_PROGRAM};
  int n = 1 + command_split(line, buffer, sizeof buffer, words + 1, COMMAND_WORDS - 2);
  words[n] = NULL;
  return command_run(words, &(command_options){.folder = folder});
}

static void run_ok(const char *line, command_result *r) {
  *r = run_line(line);
  cr_assert_eq(r->status, 0, "softcon %s: exit status %d\n%s", line, r->status, r->err);
}

static void model(const char *name, const char *xml) { file_write(folder, name, xml, strlen(xml)); }

#define MIXED "solref='0.02 -1'"
static const char arm[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 1'/>"
    "<body pos='0 0 .2'><freejoint/><geom type='box' size='.1 .1 .1' condim='4'/></body>"
    "<body pos='1 0 .3'><joint axis='0 1 0' range='-5 5' limited='true' frictionloss='.1'/>"
    " <geom type='capsule' fromto='0 0 0 .3 0 -.2' size='.05'/></body></worldbody></mujoco>";
static const char repaired[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 1' " MIXED "/><body pos='0 0 .099'><freejoint/><geom size='.1' " MIXED
    "/></body></worldbody></mujoco>";

/* ------------------------------------------------------------------ reading */

typedef struct {
  double *x;
  int rank;
  size_t rows, cols, n;
} data;

static data read_set(const char *file, const char *name) {
  char path[400];
  hsize_t dims[2] = {0, 1};
  snprintf(path, sizeof path, "%s/%s", folder, file);
  hid_t f = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(f, name, H5P_DEFAULT);
  cr_assert(f >= 0 && set >= 0, "%s: no %s", path, name);
  hid_t space = H5Dget_space(set);
  data d = {.rank = H5Sget_simple_extent_ndims(space)};
  H5Sget_simple_extent_dims(space, dims, NULL);
  d.rows = dims[0], d.cols = d.rank == 2 ? dims[1] : 1, d.n = d.rows * d.cols;
  d.x = malloc((d.n + 1) * sizeof *d.x);
  cr_assert(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, d.x) >= 0, "%s", name);
  H5Sclose(space);
  H5Dclose(set);
  H5Fclose(f);
  return d;
}

static int has_set(const char *file, const char *name) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  hid_t f = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  int there = H5Lexists(f, name, H5P_DEFAULT) > 0;
  H5Fclose(f);
  return there;
}

static void near(const char *name, size_t i, double mine, double want, double least) {
  cr_assert(fabs(mine - want) <= 1e-9 * fmax(fabs(want), least), "%s[%zu] is %.17g, not %.17g", name, i, mine, want);
}

/* ------------------------------------------------------------------ rows */

enum { POS, MARGIN, VEL, KBIP, DIAGA, R, D, AREF, LOSS, J, FORCE, STATE, QACC, QFRC, OFFSET, NSET };
static const char *const names[NSET] = {"efc_pos",  "efc_margin",       "efc_vel",   "efc_KBIP",  "efc_diagA",
                                        "efc_R",    "efc_D",            "efc_aref",  "efc_frictionloss", "efc_J",
                                        "efc_force", "efc_state",       "qacc",      "qfrc_constraint",  "efc_offset"};

static void check_row(const data *s, size_t env, size_t i) {
  const double *kbip = s[KBIP].x + 4 * i;
  near("aref", i, s[AREF].x[i], -kbip[1] * s[VEL].x[i] - kbip[0] * kbip[2] * (s[POS].x[i] - s[MARGIN].x[i]), 1);
  near("R", i, s[R].x[i], 1 / s[D].x[i], 0);
  near("diagA", i, s[DIAGA].x[i], s[R].x[i] * kbip[2] / (1 - kbip[2]), 0);
  cr_assert(s[LOSS].x[i] >= 0);
  double acceleration = 0;
  for (size_t k = 0; k < s[J].cols; k++) acceleration += s[J].x[i * s[J].cols + k] * s[QACC].x[env * s[J].cols + k];
  double force = -s[D].x[i] * (acceleration - s[AREF].x[i]);
  if (s[STATE].x[i] == 1) cr_assert(fabs(s[FORCE].x[i] - force) <= 1e-6 * fmax(1, fabs(force)), "force[%zu]", i);
}

Test(cli_rows, saved_rows_make_the_answer) {
  data s[NSET];
  command_result r;
  model("arm.xml", arm);
  run_ok("solve arm.xml --envs 40 --out r.h5 --save-rows --quiet", &r);
  for (int k = 0; k < NSET; k++) s[k] = read_set("r.h5", names[k]);
  size_t rows = s[FORCE].rows, nv = s[QACC].cols;
  cr_assert(rows > 40 && nv == 7);
  for (int k = POS; k <= LOSS; k++)
    cr_assert(s[k].rows == rows && s[k].rank == (k == KBIP ? 2 : 1) && s[k].cols == (k == KBIP ? 4 : 1), "%s", names[k]);
  cr_assert(s[J].rank == 2 && s[J].rows == rows && s[J].cols == nv);
  for (size_t e = 0; e < 40; e++) {
    double total[7] = {0};
    for (size_t i = (size_t)s[OFFSET].x[e]; i < (size_t)s[OFFSET].x[e + 1]; i++) {
      check_row(s, e, i);
      for (size_t k = 0; k < nv; k++) total[k] += s[J].x[i * nv + k] * s[FORCE].x[i];
    }
    for (size_t k = 0; k < nv; k++) near("J'f", e * nv + k, total[k], s[QFRC].x[e * nv + k], 10);
  }
  for (int k = 0; k < NSET; k++) free(s[k].x);
}

Test(cli_rows, nothing_is_saved_unasked) {
  command_result r;
  model("arm.xml", arm);
  run_ok("solve arm.xml --envs 3 --out r.h5 --quiet", &r);
  cr_assert(!has_set("r.h5", "efc_J") && !has_set("r.h5", "efc_pos") && !has_set("r.h5", "contact_force"));
  run_ok("solve arm.xml --envs 0 --out r.h5 --quiet --save-rows --save-contacts", &r);
  cr_assert(has_set("r.h5", "efc_J") && has_set("r.h5", "contact_force"));
}

/* both assemblers' rows have the same answers */
Test(cli_rows, softcon_and_mujoco_agree) {
  static const char *const what[] = {"qacc", "efc_force", "efc_type", "efc_id", "contact_force", "contact_geom"};
  command_result r;
  model("arm.xml", arm);
  run_ok("solve arm.xml --envs 60 --out a.h5 --quiet --save-contacts --rows softcon --tolerance 1e-15", &r);
  run_ok("solve arm.xml --envs 60 --out b.h5 --quiet --save-contacts --rows mujoco --tolerance 1e-15", &r);
  run_ok("solve arm.xml --envs 60 --out c.h5 --quiet --save-contacts --tolerance 1e-15", &r);
  for (size_t k = 0; k < sizeof what / sizeof *what; k++) {
    data a = read_set("a.h5", what[k]), b = read_set("b.h5", what[k]), c = read_set("c.h5", what[k]);
    cr_assert(a.n == b.n && a.n == c.n && a.n > 0, "%s", what[k]);
    for (size_t i = 0; i < a.n; i++) cr_assert(fabs(a.x[i] - b.x[i]) <= 1e-7 * fmax(1, fabs(b.x[i])), "%s[%zu]", what[k], i);
    cr_assert(!memcmp(a.x, c.x, a.n * sizeof(double)), "%s: softcon's rows are the default", what[k]);
    free(a.x);
    free(b.x);
    free(c.x);
  }
}

/* ------------------------------------------------------------------ contacts */

Test(cli_rows, saved_contacts) {
  static const struct {
    const char *name;
    size_t cols;
  } sets[] = {{"contact_geom", 2}, {"contact_body", 2},  {"contact_dist", 1},
              {"contact_pos", 3},  {"contact_frame", 9}, {"contact_force", 6}};
  command_result r;
  model("arm.xml", arm);
  run_ok("solve arm.xml --envs 50 --warmup 400 --out r.h5 --quiet --save-contacts", &r);
  data offset = read_set("r.h5", "contact_offset");
  size_t n = (size_t)offset.x[50];
  cr_assert(offset.rank == 1 && offset.rows == 51 && offset.x[0] == 0 && n > 50);
  for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
    data d = read_set("r.h5", sets[k].name);
    cr_assert(d.rows == n && d.cols == sets[k].cols && d.rank == (sets[k].cols > 1 ? 2 : 1), "%s", sets[k].name);
    for (size_t i = 0; i < n && k == 4; i++) {
      double norm = 0;
      for (size_t c = 0; c < 3; c++) norm += d.x[9 * i + c] * d.x[9 * i + c];
      near("normal", i, norm, 1, 1);
    }
    for (size_t i = 0; i < n && k == 5; i++)
      cr_assert(d.x[6 * i] >= 0 && hypot(d.x[6 * i + 1], d.x[6 * i + 2]) <= 1.42 * d.x[6 * i] + 1e-9, "contact %zu", i);
    free(d.x);
  }
  free(offset.x);
}

/* ------------------------------------------------------------------ flags */

Test(cli_rows, repaired_environments_are_counted_and_named) {
  command_result r;
  model("mixed.xml", repaired);
  run_ok("solve mixed.xml --envs 20 --warmup 0 --json", &r);
  cJSON *o = cJSON_Parse(r.out);
  const cJSON *count = cJSON_GetObjectItem(cJSON_GetObjectItem(o, "flags"), "repaired");
  const cJSON *first = cJSON_GetObjectItem(cJSON_GetObjectItem(o, "flagged"), "repaired");
  cr_assert(cJSON_IsNumber(count) && cJSON_IsArray(first), "%s", r.out);
  cr_assert(count->valueint == 20 && cJSON_GetArraySize(first) == 8 && cJSON_GetArrayItem(first, 7)->valueint == 7, "%s",
            r.out);
  cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(o, "rows")), "softcon");
  cJSON_Delete(o);
  run_ok("solve mixed.xml --envs 20 --warmup 0 --quiet", &r);
  cr_assert(strstr(r.out, "20 repaired (first: environments 0, 1, 2, 3, 4, 5, 6, 7, ...)"), "%s", r.out);
  run_ok("solve mixed.xml --envs 1 --warmup 0 --quiet", &r);
  cr_assert(strstr(r.out, "1 repaired (environment 0)"), "%s", r.out);
}

/* the flag, the sizes needed, and the rows that are left */
Test(cli_rows, capacity) {
  command_result r;
  model("arm.xml", arm);
  run_ok("solve arm.xml --envs 30 --warmup 300 --out all.h5 --quiet", &r);
  r = run_line("solve arm.xml --envs 30 --warmup 300 --max-rows 14 --max-contacts 3 --out some.h5 --json");
  cr_assert_eq(r.status, 0, "%s", r.err);
  cJSON *o = cJSON_Parse(r.out), *capacity = cJSON_GetObjectItem(o, "capacity");
  data all = read_set("all.h5", "efc_offset"), some = read_set("some.h5", "efc_offset"), needed = read_set("some.h5", "rows_needed");
  data contacts = read_set("some.h5", "contacts_needed"), flags = read_set("some.h5", "flags");
  int dropped = 0, most = 0;
  for (size_t i = 0; i < 30; i++) {
    double rows = some.x[i + 1] - some.x[i];
    cr_expect(needed.x[i] == all.x[i + 1] - all.x[i] && rows <= 14 && contacts.x[i] >= 1, "environment %zu: %g rows of %g", i, rows, needed.x[i]);
    cr_expect_eq((flags.x[i] == 4), rows < needed.x[i], "environment %zu: flags %g", i, flags.x[i]);
    dropped += rows < needed.x[i];
    most = (int)fmax(most, needed.x[i]);
  }
  cr_expect(dropped > 5 && dropped == cJSON_GetObjectItem(cJSON_GetObjectItem(o, "flags"), "rows_dropped")->valueint, "%d, %s", dropped, r.out);
  cr_expect(cJSON_GetObjectItem(capacity, "max_rows")->valueint == 14 && cJSON_GetObjectItem(capacity, "max_contacts")->valueint == 3);
  cr_expect_eq(cJSON_GetObjectItem(capacity, "rows_needed")->valueint, most, "%s", r.out);
  cJSON_Delete(o);
  data *read[] = {&all, &some, &needed, &contacts, &flags};
  for (int k = 0; k < 5; k++) free(read[k]->x);
  /* what cannot be dropped */
  model("hang.xml", "<mujoco><worldbody><body name='b' pos='0 0 .2'><freejoint/><geom size='.1'/></body></worldbody>"
                    "<equality><connect body1='b' anchor='0 0 0'/></equality></mujoco>");
  r = run_line("solve hang.xml --envs 2 --max-rows 2 --json");
  cr_assert_eq(r.status, 4);
  cr_expect(strstr(r.out, "alone have 3 rows, more than max_rows 2; it needs 3 rows and 0 contacts"), "%s", r.out);
}

Test(cli_rows, fwdinv) {
  command_result r;
  model("arm.xml", arm);
  run_ok("solve arm.xml --envs 30 --warmup 300 --out r.h5 --fwdinv --json --tolerance 1e-12", &r);
  cJSON *o = cJSON_Parse(r.out), *both = cJSON_GetObjectItem(o, "fwdinv");
  const cJSON *parts[] = {cJSON_GetObjectItem(cJSON_GetObjectItem(both, "constraint"), "max"), cJSON_GetObjectItem(cJSON_GetObjectItem(both, "applied"), "max")};
  data d = read_set("r.h5", "fwdinv");
  cr_assert(d.rank == 2 && d.rows == 30 && d.cols == 2 && cJSON_IsNumber(parts[0]) && cJSON_IsNumber(parts[1]), "%s", r.out);
  for (size_t k = 0; k < 2; k++) {
    double most = 0;
    for (size_t i = 0; i < 30; i++) most = fmax(most, d.x[2 * i + k]);
    cr_expect(most == parts[k]->valuedouble && most < 1e-5 && (k == 0 || most > 0), "fwdinv[%zu]: %g, %g", k, most, parts[k]->valuedouble);
  }
  free(d.x);
  cJSON_Delete(o);
  run_ok("solve arm.xml --envs 3 --out r.h5 --quiet", &r);
  cr_expect(!has_set("r.h5", "fwdinv") && !strstr(r.out, "fwdinv"));
}

Test(cli_rows, wrong_usage) {
  static const struct {
    const char *line, *says;
  } wrong[] = {{"solve arm.xml --save-rows", "--save-rows needs --out"},
               {"solve arm.xml --save-contacts", "--save-contacts needs --out"},
               {"solve arm.xml --save-rows --rows mujoco --out r.h5", "--save-rows needs --rows softcon"},
               {"bench arm.xml --save-rows", "--save-rows is not an option"}};
  model("arm.xml", arm);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    command_result r = run_line(wrong[i].line);
    cr_assert_eq(r.status, 2, "softcon %s: %d", wrong[i].line, r.status);
    cr_assert(strstr(r.err, wrong[i].says), "softcon %s: %s", wrong[i].line, r.err);
  }
}

/* what MuJoCo accepts is accepted */
Test(cli_rows, odd_models_are_solved) {
  static const char *const odd[] = {"<option timestep='0'/>", "<option impratio='-1' cone='elliptic'/>",
                                    "<default><geom solimp='.9 .95 -1 .5 2'/></default>",
                                    "<default><geom friction='0 0 0' condim='6'/></default>",
                                    "<default><geom solref='0 0'/></default>",
                                    "<default><geom margin='-.01' gap='.02'/></default>"};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    char xml[1000];
    command_result r;
    snprintf(xml, sizeof xml, "<mujoco>%s%s", odd[i], repaired + strlen("<mujoco>"));
    model("odd.xml", xml);
    run_ok("solve odd.xml --envs 5 --warmup 0 --out a.h5 --quiet --rows softcon", &r);
    run_ok("solve odd.xml --envs 5 --warmup 0 --out b.h5 --quiet --rows mujoco", &r);
    data a = read_set("a.h5", "qacc"), b = read_set("b.h5", "qacc");
    cr_assert_eq(a.n, b.n);
    for (size_t k = 0; k < a.n; k++)
      cr_assert(fabs(a.x[k] - b.x[k]) <= 1e-8 * fmax(1, fabs(b.x[k])), "%s: qacc[%zu] %g %g", odd[i], k, a.x[k], b.x[k]);
    free(a.x);
    free(b.x);
  }
}

/* ------------------------------------------------------------------ noslip */

static double json_at(const cJSON *o, const char *a, const char *b) {
  const cJSON *x = cJSON_GetObjectItemCaseSensitive(o, a);
  if (b) x = cJSON_GetObjectItemCaseSensitive(x, b);
  cr_assert(cJSON_IsNumber(x), "no %s %s", a, b ? b : "");
  return x->valuedouble;
}

/* The table and JSON say that the forces were changed, how many times, and that what is compared is the answer before. */
Test(cli_rows, noslip_is_said_and_comparisons_are_of_the_answer_before_it) {
  command_result r;
  model("arm.xml", arm);
  run_ok("solve arm.xml --envs 20 --noslip 4 --compare mujoco --json --threads 1 --out after.h5", &r);
  cJSON *json = cJSON_Parse(r.out);
  cr_assert(json != NULL, "%s", r.out);
  cr_expect_eq(json_at(json, "noslip_iterations", NULL), 4);
  cr_expect_geq(json_at(json, "flags", "noslip_applied"), 10);
  const cJSON *error = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "compare"), "qacc_error");
  cr_expect_leq(json_at(error, "max", NULL), 1e-6, "the error is that of the answer after noslip");
  cJSON_Delete(json);
  run_ok("solve arm.xml --envs 20 --threads 1 --out before.h5", &r);
  data after = read_set("after.h5", "qacc"), before = read_set("before.h5", "qacc"), gap = read_set("after.h5", "gap"), gap0 = read_set("before.h5", "gap");
  cr_expect(memcmp(after.x, before.x, after.n * sizeof(double)), "noslip changed nothing");
  cr_expect(!memcmp(gap.x, gap0.x, gap.n * sizeof(double)), "the verdict is not of the answer before noslip");
  run_ok("solve arm.xml --envs 20 --noslip 4 --compare mujoco", &r);
  cr_expect(strstr(r.out, "noslip_applied") && strstr(r.out, "before noslip"), "%s", r.out);
  data all[] = {after, before, gap, gap0};
  for (int k = 0; k < 4; k++) free(all[k].x);
}
