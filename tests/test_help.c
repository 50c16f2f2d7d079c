/* The help of every command fits a screen, and its example works as it stands there. */
#include "support/command.h"

#include <criterion/criterion.h>

#define WIDTH 100 /* of a screen, in columns */
#define HEIGHT 45

static const char *const commands[] = {"solve", "inspect", "bench", "replay"};
#define NCOMMAND (sizeof commands / sizeof *commands)

static command_result help_of(const char *command) {
  const char *const words[] = {SOFTCON_PROGRAM, command, command ? "--help" : NULL, NULL};
  const char *const alone[] = {SOFTCON_PROGRAM, "--help", NULL};
  command_result r = command_run(command ? words : alone, &(command_options){0});
  cr_assert_eq(r.status, 0, "%s", r.err);
  return r;
}

static void check_size(const char *command) {
  command_result r = help_of(command);
  size_t lines = 0;
  for (const char *at = r.out, *end; *at; at = end + (*end == '\n'), lines++) {
    end = at + strcspn(at, "\n");
    cr_expect(end - at <= WIDTH, "softcon %s --help: %ld columns: %.*s", command ? command : "", (long)(end - at), (int)(end - at), at);
  }
  cr_expect(lines > 5 && lines <= HEIGHT, "softcon %s --help: %zu lines", command ? command : "", lines);
}

Test(help, fits_a_screen) {
  check_size(NULL);
  for (size_t i = 0; i < NCOMMAND; i++) check_size(commands[i]);
}

/* as it stands there, but for the number of environments, which take long with sanitizers */
static void check_example(const char *command, const char *folder) {
  command_result r = help_of(command);
  char *at = strstr(r.out, "Example: "), *end = at ? strstr(at, "\nExit status") : NULL, script[1000];
  cr_assert(end != NULL, "%s", r.out);
  *end = '\0';
  char *envs = strstr(at, "--envs 512");
  if (envs) memcpy(envs, "--envs 016", 10);
  snprintf(script, sizeof script, "softcon() { " SOFTCON_PROGRAM " \"$@\"; }\n%s", at + strlen("Example: "));
  const char *const words[] = {"/bin/sh", "-c", script, NULL};
  r = command_run(words, &(command_options){.folder = folder, .seconds = 300});
  cr_expect_eq(r.status, 0, "%s: %d\n%s", script, r.status, r.err);
  cr_expect(strlen(r.out) > 300, "%s: says no more than \"%s\"", script, r.out);
}

Test(help, its_examples_work, .timeout = 600) {
  char folder[256], link[400];
  folder_make(folder, sizeof folder);
  snprintf(link, sizeof link, "%s/scenes", folder);
  cr_assert_eq(symlink(SOFTCON_SOURCE_DIR "/scenes", link), 0);
  for (size_t i = 0; i < NCOMMAND; i++) check_example(commands[i], folder);
  folder_remove(folder);
}
