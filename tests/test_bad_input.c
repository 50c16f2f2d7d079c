/* Bad input gets a clear reason and the exit status of the contract, and loses nothing. */
#include "support/command.h"

#include "support/bad_asides.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <sys/stat.h>

/* A command line, in a folder with the files of support/bad_files.h. `solve` gets "--out keep.h5" where the line names
 * no output; @N is a name of N characters. */
typedef struct {
  const char *name, *line;
  int status;               /* of the contract */
  const char *says;         /* on standard error; NULL: nothing in particular */
  command_options run;      /* limits */
} bad_case;

static char folder[256];

static void prepare(void) {
  char path[300];
  folder_make(folder, sizeof folder);
  make_files(folder);
  const struct { const char *name; int mode; } folders[] = {{"folder", 0755}, {"closed", 0555}, {"disk", 0755}};
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, folders[i].name);
    cr_assert(!mkdir(path, 0755) && !chmod(path, (mode_t)folders[i].mode), "%s", path);
  }
  snprintf(path, sizeof path, "%s/pipe", folder);
  cr_assert(!mkfifo(path, 0600));
  snprintf(path, sizeof path, "%s/secret.xml", folder);
  cr_assert(!chmod(path, 0));
}

static void clean_up(void) { folder_remove(folder); }

TestSuite(bad_input, .init = prepare, .fini = clean_up);

/* ------------------------------------------------------------------ running a case */

static command_result run_line(const char *line, const command_options *o) {
  static char long_names[4][6000];
  char buffer[2000];
  const char *words[COMMAND_WORDS] = {SOFTCON_PROGRAM};
  int n = 1 + command_split(line, buffer, sizeof buffer, words + 1, COMMAND_WORDS - 8);
  for (int i = 1, k = 0; i < n && k < 4; i++) {
    int length = words[i][0] == '@' ? atoi(words[i] + 1) : 0;
    if (length <= 0 || length >= 6000) continue;
    memset(long_names[k], 'x', (size_t)length);
    long_names[k][length] = 0;
    words[i] = long_names[k++];
  }
  if (!strncmp(line, "solve", 5) && !strstr(line, "--out")) words[n++] = "--out", words[n++] = "keep.h5";
  words[n] = NULL;
  command_options here = *o;
  here.folder = folder;
  return command_run(words, &here);
}

/* names in the folder that the program should have taken away again */
static int leftovers(void) {
  const char *const words[] = {"/bin/sh", "-c", "ls -A . folder closed | grep -c tmp", NULL};
  command_result r = command_run(words, &(command_options){.folder = folder});
  return atoi(r.out);
}

static void check_case(const bad_case *c) {
  size_t n, before;
  char *old = file_read(folder, "keep.h5", &before);
  command_result r = run_line(c->line, &c->run);
  char *now = file_read(folder, "keep.h5", &n);
  cr_expect(!r.late && !r.signal, "%s: softcon %s: %s %d\n%s", c->name, c->line, r.late ? "killed for its time" : "signal", r.signal, r.err);
  cr_expect_eq(r.status, c->status, "%s: softcon %s: exit status %d, not %d\n%s", c->name, c->line, r.status, c->status, r.err);
  cr_expect(!c->says || strstr(r.err, c->says), "%s: softcon %s: \"%s\" is not in:\n%s", c->name, c->line, c->says, r.err);
  if (c->status != 0 && c->status != 4) {
    cr_expect(r.err[0] != 0, "%s: softcon %s fails without a word", c->name, c->line);
    cr_expect(now && n == before && !memcmp(old, now, n), "%s: softcon %s: the output file of before is lost", c->name, c->line);
  } else if (!strstr(c->line, "--help")) {
    cr_expect(now && n != before, "%s: softcon %s: no output", c->name, c->line);
    file_write(folder, "keep.h5", old, before);
  }
  cr_expect_eq(leftovers(), 0, "%s: softcon %s leaves a temporary file", c->name, c->line);
  free(old);
  free(now);
}

static void check_cases(const bad_case *cases, size_t n) {
  for (size_t i = 0; i < n; i++) check_case(&cases[i]);
}
#define CHECK(cases) check_cases(cases, sizeof(cases) / sizeof *(cases))

/* ------------------------------------------------------------------ the command line */

static const bad_case usage_cases[] = {
    {"no command", "", 2, "usage", {0}},
    {"an unknown command", "slove ball.xml", 2, "\"slove\" is not a command", {0}},
    {"an option in place of the command", "--envs 3", 2, "\"--envs\" is not a command", {0}},
    {"an unknown option", "solve ball.xml --environments 3", 2, "--environments is not an option", {0}},
    {"an unknown letter", "solve ball.xml -x", 2, "-x is not an option", {0}},
    {"an option of another command", "bench ball.xml --compare mujoco", 2, "--compare is not an option", {0}},
    {"an option without its value", "solve ball.xml --out keep.h5 --envs", 2, "--envs needs a value", {0}},
    {"a flag with a value", "solve ball.xml --json=yes", 2, "--json=yes takes no value", {0}},
    {"no model", "solve", 2, "one model is needed", {0}},
    {"two models", "solve ball.xml hinge.xml", 2, "one model is needed, not 2", {0}},
    {"states read and made", "solve ball.xml --states good.h5 --envs 3", 2, "exclude each other", {0}},
    {"states and a warm-up", "solve ball.xml --states good.h5 --warmup 3", 2, "exclude each other", {0}},
    {"states of two models", "bench ball.xml hinge.xml --states good.h5 --out folder", 2, "--states goes with one model", {0}},
    {"an empty name", "solve ball.xml --states ''", 2, "is not a name", {0}},
    {"--envs below its least", "solve ball.xml --envs -1", 2, "--envs: \"-1\" is not an integer in 0 .. 2147483647", {0}},
    {"--envs above its most", "solve ball.xml --envs 2147483648", 2, "--envs", {0}},
    {"--envs beyond 64 bits", "solve ball.xml --envs 99999999999999999999", 2, "--envs", {0}},
    {"--envs with a fraction", "solve ball.xml --envs 1.5", 2, "--envs", {0}},
    {"--envs with an exponent", "solve ball.xml --envs 1e3", 2, "--envs", {0}},
    {"--envs empty", "solve ball.xml --envs ''", 2, "--envs", {0}},
    {"--seed below its least", "solve ball.xml --seed -1", 2, "--seed: \"-1\" is not an integer in 0 .. 18446744073709551615", {0}},
    {"--seed above its most", "solve ball.xml --seed 18446744073709551616", 2, "--seed", {0}},
    {"--warmup below its least", "solve ball.xml --warmup -1", 2, "--warmup: \"-1\" is not an integer in 0 .. 10000000", {0}},
    {"--warmup above its most", "solve ball.xml --warmup 10000001", 2, "--warmup", {0}},
    {"--impratio zero", "solve ball.xml --impratio 0", 2, "--impratio: \"0\" is not a finite number > 0", {0}},
    {"--impratio negative", "solve ball.xml --impratio -1", 2, "--impratio", {0}},
    {"--impratio no number", "solve ball.xml --impratio nan", 2, "--impratio", {0}},
    {"--impratio infinite", "solve ball.xml --impratio inf", 2, "--impratio", {0}},
    {"--tolerance negative", "solve ball.xml --tolerance -1e-8", 2, "--tolerance: \"-1e-8\" is not a finite number >= 0", {0}},
    {"--tolerance no number", "solve ball.xml --tolerance small", 2, "--tolerance", {0}},
    {"--tolerance with a tail", "solve ball.xml --tolerance 1e-8x", 2, "--tolerance", {0}},
    {"--tolerance beyond double", "solve ball.xml --tolerance 1e999", 2, "--tolerance", {0}},
    {"--iterations below its least", "solve ball.xml --iterations -1", 2, "--iterations: \"-1\" is not an integer in 0 ..", {0}},
    {"--iterations above its most", "solve ball.xml --iterations 2147483648", 2, "--iterations", {0}},
    {"--ls-iterations below its least", "solve ball.xml --ls-iterations 0", 2, "--ls-iterations: \"0\" is not an integer in 1 ..", {0}},
    {"--noslip below its least", "solve ball.xml --noslip -1", 2, "--noslip", {0}},
    {"--max-rows below its least", "solve ball.xml --max-rows 0", 2, "--max-rows: \"0\" is not an integer in 1 ..", {0}},
    {"--max-contacts below its least", "solve ball.xml --max-contacts -1", 2, "--max-contacts", {0}},
    {"--threads below its least", "solve ball.xml --threads 0", 2, "--threads: \"0\" is not an integer in 1 .. 4096", {0}},
    {"--threads above its most", "solve ball.xml --threads 4097", 2, "--threads", {0}},
    {"--method direct on a contact", "solve ball.xml --envs 3 --method direct", 3, "row 0 is of a contact, and the method direct solves equalities only", {0}},
    {"--method unknown", "solve ball.xml --method gauss", 2, "--method: \"gauss\" is not one of", {0}},
    {"--precision unknown", "solve ball.xml --precision f16", 2, "--precision: \"f16\" is not one of", {0}},
    {"--cone unknown", "solve ball.xml --cone round", 2, "--cone: \"round\" is not one of", {0}},
    {"--cone in part", "solve ball.xml --cone ell", 2, "--cone: \"ell\" is not one of", {0}},
    {"--jacobian unknown", "solve ball.xml --jacobian full", 2, "--jacobian: \"full\" is not one of", {0}},
    {"--device unknown", "solve ball.xml --device gpu", 2, "--device: \"gpu\" is not one of", {0}},
    {"--rows unknown", "solve ball.xml --rows mine", 2, "--rows: \"mine\" is not one of", {0}},
    {"--compare unknown", "solve ball.xml --compare bullet", 2, "--compare: \"bullet\" is not one of", {0}},
    {"a device and an instruction set", "solve ball.xml --device cuda --backend sse2", 2, "exclude each other", {0}},
    {"a precision that a device does not have", "solve ball.xml --device cuda --precision mixed", 5, "no mixed precision", {0}},
    {"a backend that is not there", "solve ball.xml --backend quantum", 5, "--backend quantum: this processor runs", {0}},
};

Test(bad_input, command_lines) { CHECK(usage_cases); }

/* ------------------------------------------------------------------ models */

static const bad_case model_cases[] = {
    {"a missing model", "solve nowhere.xml", 3, "nowhere.xml", {0}},
    {"a folder for a model", "solve folder", 3, "folder", {0}},
    {"a model that may not be read", "solve secret.xml", 3, "secret.xml", {.plain_user = 1}},
    {"an empty model", "solve empty.xml", 3, "empty.xml", {0}},
    {"a picture for a model", "solve foreign.xml", 3, "foreign.xml", {0}},
    {"a truncated model", "solve open.xml", 3, "XML parse error", {0}},
    {"a model without its end", "solve no_end.xml", 3, "XML parse error", {0}},
    {"another kind of XML", "solve other_root.xml", 3, "other_root.xml", {0}},
    {"an unknown element", "solve element.xml", 3, "unrecognized element", {0}},
    {"an unknown attribute", "solve attribute.xml", 3, "unrecognized attribute: 'siz'", {0}},
    {"a word for a number", "solve number.xml", 3, "size", {0}},
    {"a word that is no choice", "solve cone.xml", 3, "cone", {0}},
    {"a body without mass", "solve massless.xml", 3, "mass and inertia of moving bodies must be larger than mjMINVAL", {0}},
    {"a missing mesh", "solve mesh.xml", 3, "nowhere.stl", {0}},
    {"a missing include", "solve include.xml", 3, "nowhere.xml", {0}},
    {"an empty range", "solve range.xml", 3, "range", {0}},
    {"an unknown body", "solve equality.xml", 3, "nobody", {0}},
    {"a flex", "solve flex.xml", 3, "flex objects are not supported", {0}},
#if MUJOCO_VERSION >= 4000000 /* older ones do not know it */
    {"the discrete integrator", "solve discrete.xml", 3, "integrator \"discrete\" is not supported", {0}},
#endif
    {"sleeping", "solve sleep.xml", 3, "sleeping is not supported", {0}},
    {"an empty compiled model", "solve empty.mjb", 3, "empty.mjb", {0}},
    {"a text for a compiled model", "solve foreign.mjb", 3, "foreign.mjb", {0}},
    {"a missing compiled model", "solve nowhere.mjb", 3, "nowhere.mjb", {0}},
};

Test(bad_input, models) { CHECK(model_cases); }

/* ------------------------------------------------------------------ states */

static const bad_case state_cases[] = {
    {"missing states", "solve ball.xml --states nowhere.h5", 3, "nowhere.h5: No such file", {0}},
    {"a folder for states", "solve ball.xml --states folder", 3, "folder", {0}},
    {"states that may not be read", "solve ball.xml --states secret.xml", 3, "secret.xml: Permission denied", {.plain_user = 1}},
    {"empty states", "solve ball.xml --states empty.h5", 3, "empty.h5: not a readable HDF5 file", {0}},
    {"a stub", "solve ball.xml --states stub.h5", 3, "stub.h5: not a readable HDF5 file", {0}},
    {"truncated states", "solve ball.xml --states half.h5", 3, "half.h5: not a readable HDF5 file", {0}},
    {"a wrong first block", "solve ball.xml --states header.h5", 3, "header.h5: not a readable HDF5 file", {0}},
    {"an archive for states", "solve ball.xml --states foreign.h5", 3, "foreign.h5: not a readable HDF5 file", {0}},
    {"a model for states", "solve ball.xml --states ball.xml", 3, "not a readable HDF5 file", {0}},
    {"another dataset", "solve ball.xml --states other_set.h5", 3, "other_set.h5: no dataset /states", {0}},
    {"a group of states", "solve ball.xml --states in_group.h5", 3, "in_group.h5: no dataset /states", {0}},
    {"states of nothing", "solve ball.xml --states null.h5", 3, "/states has 0 dimensions, not 2", {0}},
    {"a single number", "solve ball.xml --states scalar.h5", 3, "/states has 0 dimensions, not 2", {0}},
    {"a line of numbers", "solve ball.xml --states line.h5", 3, "/states has 1 dimensions, not 2", {0}},
    {"a cube of numbers", "solve ball.xml --states cube.h5", 3, "/states has 3 dimensions, not 2", {0}},
    {"integers", "solve ball.xml --states integers.h5", 3, "/states does not hold floating-point numbers", {0}},
    {"texts", "solve ball.xml --states texts.h5", 3, "/states does not hold floating-point numbers", {0}},
    {"no width", "solve ball.xml --states zero_width.h5", 3, "/states has 0 numbers per state", {0}},
    {"a wrong width", "solve ball.xml --states narrow.h5", 3, "/states has 5 numbers per state, but ball.xml has", {0}},
    {"another model's states", "solve hinge.xml --states good.h5", 3, "numbers per state, but hinge.xml has", {0}},
    {"a signature of a real", "solve ball.xml --states sig_real.h5", 3, "sig of /states is not one integer", {0}},
    {"a signature of a text", "solve ball.xml --states sig_text.h5", 3, "sig of /states is not one integer", {0}},
    {"two signatures", "solve ball.xml --states sig_two.h5", 3, "sig of /states is not one integer", {0}},
    {"a negative signature", "solve ball.xml --states sig_negative.h5", 3, "sig of /states is -3", {0}},
    {"a signature beyond 32 bits", "solve ball.xml --states sig_vast.h5", 3, "sig of /states is 1099511627776", {0}},
    {"an unknown signature", "solve ball.xml --states sig_unknown.h5", 3, "sig of /states is 1073741824, which MuJoCo does not know", {0}},
    {"a signature of another width", "solve ball.xml --states sig_positions.h5", 3, "for signature 2", {0}},
    {"2^31 states", "solve ball.xml --states too_many.h5", 3, "too large", {0}},
    {"states beyond 64 bits", "solve ball.xml --states overflow.h5", 3, "overflow.h5", {0}},
    {"states beyond the memory", "solve ball.xml --states vast.h5", 3, "memory", {0}},
    {"states in a lost file", "solve ball.xml --states elsewhere.h5", 3, "/states cannot be read", {0}},
    {"damaged states", "solve ball.xml --states damaged.h5", 3, "/states cannot be read", {0}},
};

/* checked.h5 with a byte of its numbers changed: the last bytes of the file are some of them */
static void make_damaged(void) {
  size_t n;
  char *data = file_read(folder, "checked.h5", &n);
  cr_assert(data && n > 100);
  data[n - 20] ^= 0x55;
  file_write(folder, "damaged.h5", data, n);
  free(data);
}

Test(bad_input, states) {
  make_damaged();
  CHECK(state_cases);
}

/* ------------------------------------------------------------------ environments set aside */

static const bad_case aside_cases[] = {
    {"no file", "replay", 2, "one file is needed, not 0", {0}},
    {"two files", "replay aside.h5 good.h5", 2, "one file is needed, not 2", {0}},
    {"an option of solve", "replay aside.h5 --envs 3", 2, "--envs is not an option", {0}},
    {"--env below its least", "replay aside.h5 --env -1", 2, "--env: \"-1\" is not an integer in 0 ..", {0}},
    {"an environment that is not there", "replay aside.h5 --env 3", 3, "--env 3: aside.h5 does not hold it; it holds 1 environment, the first of them 0", {0}},
    {"a missing file", "replay nowhere.h5", 3, "nowhere.h5: No such file", {0}},
    {"a folder", "replay folder", 3, "folder", {0}},
    {"an empty file", "replay empty.h5", 3, "empty.h5: not a readable HDF5 file", {0}},
    {"another kind of file", "replay ball.xml", 3, "ball.xml: not a readable HDF5 file", {0}},
    {"states", "replay good.h5", 3, "good.h5: it holds no environments set aside", {0}},
    {"results", "replay out.h5", 3, "out.h5: it holds no environments set aside", {0}},
    {"half a file", "replay aside_half.h5", 3, "aside_half.h5: not a readable HDF5 file", {0}},
    {"a wrong first block", "replay aside_header.h5", 3, "aside_header.h5: not a readable HDF5 file", {0}},
    {"no mark", "replay aside_unmarked.h5", 3, "it holds no environments set aside (no attribute softcon_set_aside)", {0}},
    {"a later version", "replay aside_later.h5", 3, "its version is 2, and 1 is known", {0}},
    {"a word for the version", "replay aside_word_mark.h5", 3, "attribute softcon_set_aside is not one integer", {0}},
    {"no environments", "replay aside_none.h5", 3, "no environment was set aside", {0}},
    {"no number", "replay aside_no_env.h5", 3, "entry 0: no attribute env", {0}},
    {"no size", "replay aside_no_nv.h5", 3, "environment 0: no attribute nv", {0}},
    {"no model", "replay aside_no_model.h5", 3, "environment 0: no attribute model", {0}},
    {"a word for a size", "replay aside_word_nv.h5", 3, "attribute nv is not one integer", {0}},
    {"a real for a size", "replay aside_real_nv.h5", 3, "attribute nv is not one integer", {0}},
    {"a negative size", "replay aside_negative_nv.h5", 3, "attribute nv is -1, not in 0 .. 2147483647", {0}},
    {"a size beyond 32 bits", "replay aside_vast_nv.h5", 3, "attribute nv is 1099511627776, not in 0 .. 2147483647", {0}},
    {"another size", "replay aside_other_nv.h5", 3, "M_rownnz has 6 numbers, not 7", {0}},
    {"rows that are not there", "replay aside_more_rows.h5", 3, "efc_type has 4 numbers, not 2000000000", {0}},
    {"contacts that are not there", "replay aside_more_contacts.h5", 3, "contact_dim has 1 numbers, not 2", {0}},
    {"a number for the model", "replay aside_number_model.h5", 3, "attribute model is not a text", {0}},
    {"an unknown method", "replay aside_method.h5", 3, "options.method is 77", {0}},
    {"an unknown precision", "replay aside_precision.h5", 3, "precision is 3", {0}},
    {"an unknown verdict", "replay aside_status.h5", 3, "attribute status is 200, not in 0 .. 6", {0}},
    {"no tolerance", "replay aside_tolerance.h5", 3, "options.tolerance is nan", {0}},
    {"no line search", "replay aside_ls.h5", 3, "options.ls_iterations is 0", {0}},
    {"no inertia", "replay aside_no_M.h5", 3, "no dataset M", {0}},
    {"no D", "replay aside_no_D.h5", 3, "no dataset efc_D", {0}},
    {"too few D", "replay aside_short_D.h5", 3, "efc_D has 2 numbers, not 4", {0}},
    {"a table of D", "replay aside_flat_D.h5", 3, "efc_D has 2 dimensions, not 1", {0}},
    {"one D", "replay aside_scalar_D.h5", 3, "efc_D has 0 dimensions, not 1", {0}},
    {"integers for D", "replay aside_integer_D.h5", 3, "efc_D does not hold floating-point numbers", {0}},
    {"texts for D", "replay aside_word_D.h5", 3, "efc_D does not hold floating-point numbers", {0}},
    {"reals for types", "replay aside_real_type.h5", 3, "efc_type does not hold integers", {0}},
    {"numbers for names", "replay aside_number_names.h5", 3, "row_name does not hold texts", {0}},
    {"names of a fixed length", "replay aside_fixed_names.h5", 3, "row_name does not hold texts", {0}},
    {"numbers that nobody wrote", "replay aside_hollow.h5", 3, "J_colind has nothing stored", {0}},
    {"an unknown type", "replay aside_type.h5", 3, "environment 0: sc_batch_set: environment 0: efc_type[0] is 99", {0}},
    {"a contact of dim 5", "replay aside_dim.h5", 3, "contact_dim[0] is 5, not 3, 4 or 6", {0}},
    {"a column too far", "replay aside_column.h5", 3, "column 1000 is not in 0 .. 5", {0}},
    {"a row that begins too far", "replay aside_row_begins.h5", 3, "efc_J: row 0 has", {0}},
    {"a row that ends too far", "replay aside_row_ends.h5", 3, "M: row 0 has 100000 entries from 0 on, and there are", {0}},
    {"a negative row", "replay aside_negative_row.h5", 3, "efc_J: row 0 has -3 entries", {0}},
    {"a file that may not be read", "replay secret.xml", 3, "secret.xml: Permission denied", {.plain_user = 1}},
    {"a result for a file to add to", "solve ball.xml --envs 3 --set-aside out.h5", 3, "out.h5: it holds no environments set aside", {0}},
    {"a text to add to", "solve ball.xml --envs 3 --set-aside ball.mjb", 3, "ball.mjb: not a readable HDF5 file", {0}},
    {"the model to add to", "solve ball.xml --envs 3 --set-aside ball.xml", 2, "--set-aside ball.xml is a file that is read", {0}},
    {"the states to add to", "solve ball.xml --states good.h5 --set-aside ./good.h5", 2, "is a file that is read", {0}},
    {"one file for both", "solve ball.xml --envs 3 --out one.h5 --set-aside one.h5", 2, "--out and --set-aside are one file", {0}},
    {"a missing folder to set aside in", "solve ball.xml --envs 3 --set-aside nowhere/a.h5", 3, "nowhere: No such file", {0}},
    {"a folder to set aside in", "solve ball.xml --envs 3 --set-aside folder", 3, "is not the name of a file", {0}},
};

Test(bad_input, environments_set_aside) {
  make_asides(folder);
  file_write(folder, "ball.mjb", "no model", 8);
  CHECK(aside_cases);
}

/* numbers that are not valid are the environment's verdict, not the file's fault */
Test(bad_input, invalid_numbers_set_aside) {
  static const char *const files[][2] = {
      {"aside_nan_D.h5", "efc_D[0] is nan, not finite and > 0"}, {"aside_infinite_M.h5", "M row 0 entry 0 is inf, not finite"}};
  make_asides(folder);
  for (int k = 0; k < 2; k++) {
    char line[100];
    snprintf(line, sizeof line, "replay %s", files[k][0]);
    command_result r = run_line(line, &(command_options){0});
    cr_expect(r.status == 4 && strstr(r.out, "bad_input") && strstr(r.out, files[k][1]), "%s: %d\n%s%s", line, r.status, r.out, r.err);
  }
}

/* ------------------------------------------------------------------ output */

static const bad_case output_cases[] = {
    {"a missing folder", "solve ball.xml --envs 3 --out nowhere/out.h5", 3, "nowhere: No such file", {0}},
    {"a folder for an output", "solve ball.xml --envs 3 --out folder", 3, "is not the name of a file", {0}},
    {"a folder with its bar", "solve ball.xml --envs 3 --out nowhere/", 3, "is not the name of a file", {0}},
    {"a pipe for an output", "solve ball.xml --envs 3 --out pipe", 3, "is not the name of a file", {0}},
    {"a file for a folder", "solve ball.xml --envs 3 --out keep.h5/out.h5", 3, "keep.h5", {0}},
    {"a read-only folder", "solve ball.xml --envs 3 --out closed/out.h5", 3, "closed: Permission denied", {.plain_user = 1}},
    {"a name of 300 characters", "solve ball.xml --envs 3 --out @300", 3, "xxx", {0}},
    {"a name of 5000 characters", "solve ball.xml --envs 3 --out @5000", 3, "the path is too long", {0}},
    {"the model for an output", "solve ball.xml --envs 3 --out ball.xml", 2, "is a file that is read", {0}},
    {"the states for an output", "solve ball.xml --states good.h5 --out ./good.h5", 2, "is a file that is read", {0}},
    {"a file for bench's folder", "bench ball.xml --envs 3 --out keep.h5", 3, "keep.h5", {0}},
    {"bench in a read-only folder", "bench ball.xml --envs 3 --out closed/results", 3, "closed/results: Permission denied", {.plain_user = 1}},
    {"bench with a path too long", "bench ball.xml --envs 3 --out @5000", 3, "the path is too long", {0}},
    {"a disk that fills up at once", "solve ball.xml --envs 500", 3, "keep.h5: cannot be completed: File too large", {.file_size = 512}},
    {"a disk that fills up", "solve ball.xml --envs 500", 3, "File too large", {.file_size = 40000}},
    {"standard output on a full disk", "solve ball.xml --envs 3 --out folder/out.h5", 3, "standard output", {.out = "/dev/full"}},
    {"JSON on a full disk", "solve ball.xml --envs 3 --out folder/out.h5 --json", 3, "standard output", {.out = "/dev/full"}},
    {"help on a full disk", "solve --help", 3, "standard output", {.out = "/dev/full"}},
};

Test(bad_input, outputs) { CHECK(output_cases); }

Test(bad_input, a_disk_that_is_full) {
  char disk[300];
  snprintf(disk, sizeof disk, "%s/disk", folder);
  const char *const probe[] = {"/bin/true", NULL};
  if (command_run(probe, &(command_options){.small_disk = disk}).status) cr_skip_test("only root may mount a small disk");
  const bad_case c = {"a small disk", "solve ball.xml --envs 500 --out disk/out.h5", 3, "No space left on device", {.small_disk = disk}};
  check_case(&c);
}

/* ------------------------------------------------------------------ sizes and memory */

static const bad_case size_cases[] = {
    {"environments beyond any memory", "solve ball.xml --envs 2147483647", 3, "--envs 2147483647", {0}},
    {"bench beyond any memory", "bench ball.xml --envs 2147483647 --out folder", 3, "--envs 2147483647", {0}},
};

Test(bad_input, sizes) { CHECK(size_cases); }

/* Whatever the limit, the program ends by itself, with a word; and with enough it solves. */
Test(bad_input, too_little_memory) {
#ifdef SOFTCON_SANITIZED
  cr_skip_test("sanitizers take more address space than any limit");
#endif
  size_t n, before;
  char *old = file_read(folder, "keep.h5", &before);
  int failed = 0, solved = 0;
  for (size_t mib = 40; mib <= 400 && !solved; mib += 8) {
    command_result r = run_line("solve ball.xml --envs 20000 --warmup 1 --threads 1 --quiet", &(command_options){.address_space = mib << 20});
    char *now = file_read(folder, "keep.h5", &n);
    if (r.status == 127) continue; /* the libraries were not even loaded */
    if (r.status == 0)
      solved++;
    else {
      failed++;
      cr_expect(r.status == 3 && !r.signal, "%zu MiB: status %d, signal %d\n%s", mib, r.status, r.signal, r.err);
      cr_expect(strstr(r.err, "memory") || strstr(r.err, "states alone take"), "%zu MiB: \"%s\"", mib, r.err);
      cr_expect(now && n == before && !memcmp(now, old, n), "%zu MiB: the output file of before is lost", mib);
    }
    free(now);
  }
  cr_expect(failed > 0 && solved > 0, "%d failed, %d solved: the limits do not reach", failed, solved);
  free(old);
}

/* ------------------------------------------------------------------ what is legal */

static const bad_case legal_cases[] = {
    {"no environments", "solve ball.xml --envs 0", 0, NULL, {0}},
    {"no environments, JSON", "solve ball.xml --envs 0 --json", 0, NULL, {0}},
    {"no environments, compared", "solve ball.xml --envs 0 --compare mujoco", 0, NULL, {0}},
    {"no dofs", "solve still.xml --envs 3", 0, NULL, {0}},
    {"no dofs, compared", "solve still.xml --envs 3 --compare mujoco --json", 0, NULL, {0}},
    {"no rows", "solve hinge.xml --envs 3", 0, NULL, {0}},
    {"no rows, float, compared", "solve hinge.xml --envs 3 --precision f32 --compare mujoco", 0, NULL, {0}},
    {"no iterations", "solve hinge.xml --envs 3 --iterations 0", 0, NULL, {0}},
    {"no states", "solve ball.xml --states none.h5", 0, NULL, {0}},
    {"right states", "solve ball.xml --states good.h5", 0, NULL, {0}},
    {"states without a signature", "solve ball.xml --states unsigned.h5", 0, NULL, {0}},
    {"states in float", "solve ball.xml --states float.h5", 0, NULL, {0}},
    {"states of another byte order", "solve ball.xml --states swapped.h5", 0, NULL, {0}},
    {"states with checksums", "solve ball.xml --states checked.h5", 0, NULL, {0}},
    {"conjugate gradients", "solve hinge.xml --envs 3 --method cg --precision f32", 0, NULL, {0}},
    {"a model for Gauss-Seidel", "solve pgs.xml --envs 3", 0, NULL, {0}},
    {"Gauss-Seidel", "solve hinge.xml --envs 3 --method pgs --precision f32", 0, NULL, {0}},
    {"the largest numbers", "solve ball.xml --envs 2 --seed 18446744073709551615 --iterations 2147483647 --threads 64", 0, NULL, {0}},
    {"a NaN in a state", "solve ball.xml --states nan.h5", 4, "environment 2: /states[2][3] is nan", {0}},
    {"an infinity in a state", "solve ball.xml --states infinite.h5", 4, "environment 2: /states[2][3] is inf", {0}},
    {"a huge number in a state", "solve ball.xml --states huge.h5", 0, NULL, {0}},
    {"no iterations for rows", "solve ball.xml --envs 8 --iterations 0 --tolerance 0", 4, NULL, {0}},
    {"help beside nonsense", "solve --help --states good.h5 --envs 3", 0, NULL, {0}},
};

Test(bad_input, what_is_legal) { CHECK(legal_cases); }

/* ------------------------------------------------------------------ no device */

static const bad_case device_cases[] = {
    {"a device that is not there", "solve ball.xml --device cuda", 5, "--device cuda cannot be used: sc_context_create: ", {0}},
    {"a device if there is one", "solve ball.xml --device auto", 0, "softcon: note: --device auto: the CPU solves: sc_context_create: ", {0}},
    {"no device is fit for mixed precision", "solve ball.xml --device auto --precision mixed", 0, "the CPU solves: CUDA has no mixed precision", {0}},
};

Test(bad_input, no_device) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  CHECK(device_cases);
}

/* ------------------------------------------------------------------ Ctrl-C */

/* environments in a result file; -1: it cannot be read */
static long long stored(const char *name, const char *set_name) {
  char path[400];
  hsize_t dims[2] = {0, 0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return -1;
  hid_t set = H5Dopen2(file, set_name, H5P_DEFAULT), space = H5Dget_space(set);
  H5Sget_simple_extent_dims(space, dims, NULL);
  H5Sclose(space);
  H5Dclose(set);
  H5Fclose(file);
  return (long long)dims[0];
}

Test(bad_input, an_interruption_keeps_what_is_done) {
  enum { ALL = 400000 };
  char line[200];
  snprintf(line, sizeof line, "solve ball.xml --envs %d --warmup 2000 --threads 1", ALL);
  command_result r = run_line(line, &(command_options){.interrupt_at = "states ", .seconds = 120});
  long long n = stored("keep.h5", "status");
  cr_assert(r.interrupted && !r.late, "never interrupted, or never done: %s", r.err);
  cr_expect_eq(r.status, 4, "status %d, signal %d: %s", r.status, r.signal, r.err);
  cr_expect(n > 0 && n < ALL, "%lld environments were kept", n);
  cr_expect_eq(stored("keep.h5", "qacc"), n);
  cr_expect_eq(stored("keep.h5", "efc_offset"), n + 1);
  cr_expect(strstr(r.out, "interrupted"), "%s", r.out);
}
