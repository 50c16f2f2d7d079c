/* The program softcon: a table of commands. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  const char *name, *arguments, *summary;
  unsigned bit; /* in the table of options */
  int (*run)(const cli_options *options);
  const char *example; /* works as it stands where the program was built */
} command;

static const command commands[] = {
    {"solve", "MODEL.xml", "the constraint forces and accelerations of many states of a model", FOR_SOLVE,
     cmd_solve, "softcon solve scenes/humanoid.xml --envs 512 --compare mujoco --out humanoid.h5"},
    {"inspect", "MODEL.xml", "what a model's constraints are: every row of one state, in a table", FOR_INSPECT,
     cmd_inspect, "softcon inspect scenes/gripper.xml --lint"},
    {"bench", "[MODEL.xml ...]",
     "speed beside MuJoCo's solver, same states (default: four scenes)", FOR_BENCH, cmd_bench,
     "softcon bench scenes/legged.xml --envs 512"},
    {"replay", "FILE.h5", "solves again, alone, what a run has set aside; prints every iteration", FOR_REPLAY, cmd_replay,
     "softcon solve scenes/gripper.xml --envs 64 --iterations 2 --set-aside aside.h5\n"
     "         softcon replay aside.h5 --iterations 50"},
};
#define NCOMMAND (sizeof commands / sizeof *commands)

static const char statuses[] =
    "Exit status: 0 every environment solved; 1 internal error; 2 wrong usage; 3 input or output file;\n"
    "4 some environments were not solved; 5 device not usable.\n";

/* ------------------------------------------------------------------ errors */

int cli_fail(int code) {
  fprintf(stderr, "softcon: %s\n", sc_error_text());
  switch (code) {
  case SC_ERROR_FILE:
  case SC_ERROR_VALUE:
  case SC_ERROR_UNSUPPORTED:
  case SC_ERROR_MEMORY: /* more was asked for than the machine has */
    return EXIT_INPUT;
  case SC_ERROR_DEVICE:
    return EXIT_DEVICE;
  default:
    return EXIT_INTERNAL;
  }
}

int cli_fail_with(int status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("softcon: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  return status;
}

void cli_note(const cli_options *options, const char *format, ...) {
  va_list args;
  if (options->quiet || options->json) return;
  va_start(args, format);
  fputs("softcon: note: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
}

/* ------------------------------------------------------------------ help */

static void print_help(FILE *out) {
  fprintf(
      out,
      "softcon %s: MuJoCo's soft constraints of many environments at once\n\nusage: softcon COMMAND [OPTIONS] ...\n\n",
      sc_version());
  for (size_t i = 0; i < NCOMMAND; i++)
    fprintf(out, "  %-8s %-16s %s\n", commands[i].name, commands[i].arguments, commands[i].summary);
  fprintf(out, "\nsoftcon COMMAND --help lists the options of a command.\n%s", statuses);
}

static void print_command_help(const command *c) {
  printf("softcon %s %s: %s\n\n", c->name, c->arguments, c->summary);
  options_help(c->bit, stdout);
  printf("\nExample: %s\n%s", c->example, statuses);
}

static int run(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  if (!strcmp(name, "--version")) {
    printf("softcon %s\n", sc_version());
    return EXIT_SOLVED;
  }
  if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
    print_help(stdout);
    return EXIT_SOLVED;
  }
  for (size_t i = 0; i < NCOMMAND; i++) {
    if (strcmp(name, commands[i].name)) continue;
    cli_options options;
    if (!options_parse(commands[i].bit, argc - 1, argv + 1, &options)) {
      fprintf(stderr, "softcon %s --help lists the options\n", name);
      return EXIT_USAGE;
    }
    if (!options.help) return commands[i].run(&options);
    print_command_help(&commands[i]);
    return EXIT_SOLVED;
  }
  if (*name) fprintf(stderr, "softcon: \"%s\" is not a command\n\n", name);
  print_help(stderr);
  return EXIT_USAGE;
}

int main(int argc, char **argv) {
  int status = run(argc, argv), lost = fflush(stdout) || ferror(stdout);
  if (!lost || (status != EXIT_SOLVED && status != EXIT_NOT_SOLVED)) return status;
  return cli_fail_with(EXIT_INPUT, "standard output cannot be written: %s", strerror(errno));
}
