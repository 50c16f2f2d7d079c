/* A program that is killed in the middle of writing leaves what was there, or a file that is whole. */
#include "support/command.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdio.h>

#include "store_aside.h"

static char folder[256];

static void prepare(void) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  folder_make(folder, sizeof folder);
}
static void clean_up(void) { folder_remove(folder); }
TestSuite(killed, .init = prepare, .fini = clean_up, .timeout = 300);

static const char ball[] = "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .09'><freejoint/><geom size='.1'/></body></worldbody></mujoco>";

static command_result run_line(const char *line, const command_options *o) {
  char buffer[1000];
  const char *words[COMMAND_WORDS] = {SOFTCON_PROGRAM};
  words[1 + command_split(line, buffer, sizeof buffer, words + 1, COMMAND_WORDS - 2)] = NULL;
  command_options here = *o;
  here.folder = folder;
  return command_run(words, &here);
}

/* files in the making that lie about, which are taken away */
static int leftovers(void) {
  const char *const count[] = {"/bin/sh", "-c", "ls -A | grep -c 'tmp$'; rm -f *.tmp", NULL};
  return atoi(command_run(count, &(command_options){.folder = folder}).out);
}

/* rows of a dataset that can be read to its end; -1 */
static long long readable(const char *name, const char *set_name) {
  char path[400];
  hsize_t dims[2] = {0, 1};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set = file < 0 ? -1 : H5Dopen2(file, set_name, H5P_DEFAULT);
  if (set < 0) return -1;
  hid_t space = H5Dget_space(set);
  H5Sget_simple_extent_dims(space, dims, NULL);
  double *x = malloc((size_t)(dims[0] * dims[1] + 1) * sizeof *x);
  int ok = H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0;
  free(x);
  H5Sclose(space);
  H5Dclose(set);
  H5Fclose(file);
  return ok ? (long long)dims[0] : -1;
}

/* milliseconds from the first byte to the kill */
static const int delays[] = {0, 1, 3, 10, 30, 60};
#define TRIES ((int)(sizeof delays / sizeof *delays))

Test(killed, while_results_are_written) {
  enum { ENVS = 20000 };
  char line[200];
  size_t n, now;
  int in_the_middle = 0;
  file_write(folder, "ball.xml", ball, sizeof ball - 1);
  cr_assert_eq(run_line("solve ball.xml --envs 50 --save-rows --save-contacts --out keep.h5 --quiet", &(command_options){0}).status, 0);
  char *before = file_read(folder, "keep.h5", &n);
  snprintf(line, sizeof line, "solve ball.xml --envs %d --warmup 1 --save-rows --save-contacts --out keep.h5 --quiet", ENVS);
  for (int k = 0; k < TRIES; k++) {
    command_result r = run_line(line, &(command_options){.kill_at_file = ".tmp", .kill_after = delays[k]});
    char *after = file_read(folder, "keep.h5", &now);
    int untouched = now == n && !memcmp(before, after, n);
    cr_expect(r.signal == SIGKILL || r.status == 0, "delay %d ms: status %d, signal %d\n%s", delays[k], r.status, r.signal, r.err);
    cr_expect(untouched || readable("keep.h5", "efc_J") > ENVS, "delay %d ms: neither what was there nor a whole file", delays[k]);
    if (!untouched) cr_expect(readable("keep.h5", "qacc") == ENVS && readable("keep.h5", "contact_force") >= 0, "delay %d ms: a part is missing", delays[k]);
    in_the_middle += r.signal == SIGKILL && leftovers() == 1;
    if (!untouched) file_write(folder, "keep.h5", before, n);
    free(after);
  }
  cr_expect_gt(in_the_middle, 0, "it was never killed in the middle");
  printf("%d of %d runs were killed in the middle of writing\n", in_the_middle, TRIES);
  free(before);
}

Test(killed, while_environments_are_set_aside) {
  sc_aside_entry *list;
  char path[400];
  int first, n, in_the_middle = 0;
  file_write(folder, "ball.xml", ball, sizeof ball - 1);
  cr_assert_eq(run_line("solve ball.xml --envs 20 --iterations 0 --tolerance 0 --set-aside keep.h5 --quiet", &(command_options){0}).status, 4);
  snprintf(path, sizeof path, "%s/keep.h5", folder);
  cr_assert_eq(sc_aside_list(path, &list, &first), SC_OK);
  free(list);
  for (int k = 0; k < TRIES; k++) {
    command_result r = run_line("solve ball.xml --envs 400 --iterations 0 --tolerance 0 --set-aside keep.h5 --quiet",
                                &(command_options){.kill_at_file = ".tmp", .kill_after = delays[k]});
    cr_assert_eq(sc_aside_list(path, &list, &n), SC_OK, "delay %d ms: %s", delays[k], sc_error_text());
    free(list);
    cr_expect(r.signal == SIGKILL ? n >= first : n > first, "delay %d ms: %d environments, before %d", delays[k], n, first);
    cr_expect_eq(run_line("replay keep.h5 --iterations 20", &(command_options){0}).status, 0, "delay %d ms: no replay", delays[k]);
    in_the_middle += r.signal == SIGKILL && leftovers() == 1;
    first = n;
  }
  cr_expect_gt(in_the_middle, 0, "it was never killed in the middle");
}
