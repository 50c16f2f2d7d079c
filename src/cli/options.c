#define _GNU_SOURCE /* getopt_long */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the table */

typedef enum { FLAG, TEXT, INTEGER, SEED, REAL, CHOICE } kind;

typedef struct {
  const char *name;
  const char *argument; /* its name in the help, the words of a choice, NULL without one */
  kind kind;
  size_t at;          /* of the value in cli_options */
  double least, most; /* bounds of a number */
  unsigned commands;
  const char *help;
} option;

#define AT(field) offsetof(cli_options, field)
#define BOTH (FOR_SOLVE | FOR_BENCH)

/* clang-format off */
static const option table[] = {
  {"states",        "FILE.h5",                TEXT,    AT(states), 0, 0, BOTH, "states to solve: dataset /states, as mj_getState returns them"},
  {"envs",          "N",                      INTEGER, AT(envs), 0, INT_MAX, BOTH, "states to make (default 1024; bench 4096), or to use at most"},
  {"seed",          "S",                      SEED,    AT(seed), 0, 0, BOTH, "seed of the states that are made (default 0)"},
  {"warmup",        "STEPS",                  INTEGER, AT(warmup), 0, 1e7, BOTH, "steps taken before a state is used (default 100)"},
  {"method",        "newton|cg|pgs|direct",   CHOICE,  AT(method), 0, 0, BOTH | FOR_REPLAY, "how to solve (default: the model's); direct: equalities only"},
  {"precision",     "f64|f32|mixed",          CHOICE,  AT(precision), 0, 0, BOTH | FOR_REPLAY, "of the iteration (default f64; bench all); the verdict: double"},
  {"cone",          "pyramidal|elliptic",     CHOICE,  AT(cone), 0, 0, BOTH | FOR_INSPECT, "friction cones (default: the model's)"},
  {"impratio",      "X",                      REAL,    AT(impratio), 1e-300, 1e300, BOTH | FOR_INSPECT, "ratio of frictional to normal impedance (default: the model's)"},
  {"tolerance",     "T",                      REAL,    AT(tolerance), 0, 1e300, BOTH | FOR_INSPECT | FOR_REPLAY, "of the scaled gradient and gap (default: the model's)"},
  {"iterations",    "K",                      INTEGER, AT(iterations), 0, INT_MAX, BOTH | FOR_INSPECT | FOR_REPLAY, "at most (default: the model's)"},
  {"ls-iterations", "K",                      INTEGER, AT(ls_iterations), 1, INT_MAX, BOTH | FOR_INSPECT | FOR_REPLAY, "of the line search, at most (default: the model's)"},
  {"noslip",        "K",                      INTEGER, AT(noslip), 0, INT_MAX, FOR_SOLVE | FOR_REPLAY, "noslip iterations after the verdict (default: the model's)"},
  {"jacobian",      "dense|sparse|auto",      CHOICE,  AT(jacobian), 0, 0, BOTH, "only which empty blocks exist (default: the model's)"},
  {"device",        "auto|cpu|cuda",          CHOICE,  AT(device), 0, 0, BOTH, "where to solve (default cpu); auto: CUDA if it can be had"},
  {"threads",       "N",                      INTEGER, AT(threads), 1, 4096, BOTH, "worker threads (default: all cores; bench: 1 for what is timed)"},
  {"backend",       "NAME",                   TEXT,    AT(backend), 0, 0, BOTH | FOR_REPLAY, "CPU's instruction set (default: the fastest); measured: by timing"},
  {"rows",          "softcon|mujoco",         CHOICE,  AT(rows), 0, 0, BOTH | FOR_INSPECT, "who assembles the rows (default softcon)"},
  {"compare",       "mujoco",                 CHOICE,  AT(compare), 0, 0, FOR_SOLVE, "time MuJoCo's own solver on the same states, and compare answers"},
  {"out",           "PATH",                   TEXT,    AT(out), 0, 0, BOTH, "write the results there (bench: a folder, default results)"},
  {"recorded",      "DIR",                    TEXT,    AT(recorded), 0, 0, FOR_BENCH, "models and states that bench/record_states.py wrote there"},
  {"step",          NULL,                     FLAG,    AT(step), 0, 0, FOR_BENCH, "instead: whole steps beside MuJoCo's own, on all cores"},
  {"growth",        NULL,                     FLAG,    AT(growth), 0, 0, FOR_BENCH, "also how time grows with environments, threads, dofs and rows"},
  {"save-rows",     NULL,                     FLAG,    AT(save_rows), 0, 0, FOR_SOLVE, "with --out: also write efc_KBIP, efc_J and the rest of the rows"},
  {"save-contacts", NULL,                     FLAG,    AT(save_contacts), 0, 0, FOR_SOLVE, "with --out: also write contacts: geoms, position, frame, force"},
  {"fwdinv",        NULL,                     FLAG,    AT(fwdinv), 0, 0, FOR_SOLVE, "compare with inverse dynamics at qacc, as MuJoCo's fwdinv does"},
  {"set-aside",     "FILE.h5",                TEXT,    AT(set_aside), 0, 0, FOR_SOLVE, "add environments that are not solved, whole, to this file"},
  {"max-rows",      "K",                      INTEGER, AT(max_rows), 1, INT_MAX, BOTH, "rows per environment at most: contacts beyond are dropped, flagged"},
  {"max-contacts",  "K",                      INTEGER, AT(max_contacts), 1, INT_MAX, BOTH, "contacts per environment at most; the same"},
  {"states",        "FILE.h5",                TEXT,    AT(states), 0, 0, FOR_INSPECT, "take the state from this file: dataset /states, row --env"},
  {"env",           "I",                      INTEGER, AT(env), 0, INT_MAX, FOR_INSPECT, "which state of --states (default 0)"},
  {"env",           "K",                      INTEGER, AT(env), 0, INT_MAX, FOR_REPLAY, "environment's number in its run (default: first of the last run)"},
  {"key",           "NAME|N",                 TEXT,    AT(key), 0, 0, FOR_INSPECT, "the state of a keyframe (default: qpos0)"},
  {"warmup",        "STEPS",                  INTEGER, AT(warmup), 0, 1e7, FOR_INSPECT, "steps taken from there first (default 0)"},
  {"actuators",     NULL,                     FLAG,    AT(actuators), 0, 0, FOR_INSPECT, "instead: every joint's actuators and what they are"},
  {"jacobian",      "SITE",                   TEXT,    AT(site), 0, 0, FOR_INSPECT, "instead: how far every joint moves this site"},
  {"angle",         "X",                      REAL,    AT(angle), 1e-300, 1e300, FOR_INSPECT, "of --jacobian: turn by X rad, slide by X m (default 0.5)"},
  {"lint",          NULL,                     FLAG,    AT(lint), 0, 0, FOR_INSPECT, "instead: settings that will not do what their author thinks"},
  {"plot",          "DIR",                    TEXT,    AT(plot), 0, 0, BOTH | FOR_INSPECT, "draw pictures there, as PNG and SVG; needs gnuplot"},
  {"json",          NULL,                     FLAG,    AT(json), 0, 0, BOTH | FOR_INSPECT | FOR_REPLAY, "print JSON instead of a table"},
  {"quiet",         NULL,                     FLAG,    AT(quiet), 0, 0, BOTH | FOR_INSPECT | FOR_REPLAY, "no progress, no notes"},
  {"help",          NULL,                     FLAG,    AT(help), 0, 0, BOTH | FOR_INSPECT | FOR_REPLAY, "this text"},
};
/* clang-format on */
#define NOPTION ((int)(sizeof table / sizeof *table))

/* ------------------------------------------------------------------ values */

static int wrong(const char *command, const option *o, const char *text, const char *what) {
  fprintf(stderr, "softcon %s: --%s: \"%s\" is not %s\n", command, o->name, text, what);
  return 0;
}

/* number of the word in "a|b|c", or -1 */
static int find_word(const char *words, const char *word) {
  size_t n = strlen(word);
  for (int i = 0; words; i++) {
    const char *bar = strchr(words, '|');
    size_t length = bar ? (size_t)(bar - words) : strlen(words);
    if (length == n && !memcmp(words, word, n)) return i;
    words = bar ? bar + 1 : NULL;
  }
  return -1;
}

const char *options_word(const char *name, int value, char *buffer, int size) {
  buffer[0] = 0;
  for (int k = 0; k < NOPTION; k++) {
    const char *words = table[k].argument;
    if (table[k].kind != CHOICE || strcmp(table[k].name, name)) continue;
    while (words && value-- > 0) words = strchr(words, '|') ? strchr(words, '|') + 1 : NULL;
    if (words) snprintf(buffer, (size_t)size, "%.*s", (int)strcspn(words, "|"), words);
  }
  return buffer;
}

static int parse_number(const char *command, const option *o, const char *text, void *value) {
  char what[120], *end;
  errno = 0;
  if (o->kind == SEED) {
    unsigned long long seed = strtoull(text, &end, 10);
    if (end == text || *end || errno || strchr(text, '-'))
      return wrong(command, o, text, "an integer in 0 .. 18446744073709551615");
    *(uint64_t *)value = seed;
    return 1;
  }
  if (o->kind == INTEGER) {
    long long x = strtoll(text, &end, 10);
    snprintf(what, sizeof what, "an integer in %.0f .. %.0f", o->least, o->most);
    if (end == text || *end || errno || (double)x < o->least || (double)x > o->most)
      return wrong(command, o, text, what);
    *(int *)value = (int)x;
    return 1;
  }
  double x = strtod(text, &end);
  snprintf(what, sizeof what, "a finite number %s 0", o->least > 0 ? ">" : ">=");
  if (end == text || *end || !(x >= o->least) || x > o->most) return wrong(command, o, text, what);
  *(double *)value = x;
  return 1;
}

static int parse_value(const char *command, const option *o, const char *text, cli_options *options) {
  void *value = (char *)options + o->at;
  char what[120];
  switch (o->kind) {
  case FLAG:
    *(int *)value = 1;
    return 1;
  case TEXT:
    *(const char **)value = text;
    return *text ? 1 : wrong(command, o, text, "a name");
  case CHOICE:
    snprintf(what, sizeof what, "one of %s", o->argument);
    *(int *)value = find_word(o->argument, text);
    return *(int *)value >= 0 ? 1 : wrong(command, o, text, what);
  default:
    return parse_number(command, o, text, value);
  }
}

/* ------------------------------------------------------------------ parsing */

static void set_defaults(cli_options *o) {
  *o = (cli_options){.impratio = (double)NAN, .tolerance = (double)NAN, .angle = (double)NAN, .env = -1};
  o->envs = o->warmup = o->method = o->precision = o->cone = o->jacobian = o->device = o->rows = -1;
  o->iterations = o->ls_iterations = o->noslip = o->threads = o->compare = o->max_rows = o->max_contacts = -1;
}

static int check_together(const char *command, const cli_options *o) {
  if (!o->states || (o->envs < 0 && o->warmup < 0)) return 1;
  fprintf(stderr, "softcon %s: --states and --%s exclude each other: states are read or made\n", command,
          o->envs >= 0 ? "envs" : "warmup");
  return 0;
}

/* what is saved goes into the result file, and MuJoCo's rows come without their parameters */
static int check_saved(const char *command, const cli_options *o) {
  const char *name = o->save_rows ? "save-rows" : "save-contacts";
  if ((o->save_rows || o->save_contacts) && !o->out)
    fprintf(stderr, "softcon %s: --%s needs --out, the file to write into\n", command, name);
  else if (o->save_rows && o->rows == ROWS_MUJOCO)
    fprintf(stderr, "softcon %s: --save-rows needs --rows softcon: MuJoCo's rows are taken without parameters\n",
            command);
  else
    return 1;
  return 0;
}

int options_parse(unsigned command, int argc, char **argv, cli_options *options) {
  struct option longs[NOPTION + 1];
  int n = 0, got;
  for (int k = 0; k < NOPTION; k++) {
    if (!(table[k].commands & command)) continue;
    longs[n++] = (struct option){table[k].name, table[k].argument ? required_argument : no_argument, NULL, 256 + k};
  }
  longs[n] = (struct option){NULL, 0, NULL, 0};
  set_defaults(options);
  optind = 0; /* start over */
  opterr = 0;
  while ((got = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
    if (got == 'h')
      options->help = 1;
    else if (got == ':' || got == '?') {
      /* optopt is the option's number where its argument is missing or too much, 0 where the name is unknown */
      const char *what = got == ':' ? "needs a value" : optopt >= 256 ? "takes no value" : "is not an option";
      fprintf(stderr, "softcon %s: %s %s\n", argv[0], argv[optind - 1], what);
      return 0;
    } else if (!parse_value(argv[0], &table[got - 256], optarg, options))
      return 0;
  }
  options->models = (const char *const *)(argv + optind);
  options->nmodel = argc - optind;
  return options->help || (check_together(argv[0], options) && check_saved(argv[0], options));
}

void options_help(unsigned command, FILE *out) {
  for (int k = 0; k < NOPTION; k++) {
    char left[64];
    if (!(table[k].commands & command)) continue;
    snprintf(left, sizeof left, "--%s%s%s", table[k].name, table[k].argument ? " " : "",
             table[k].argument ? table[k].argument : "");
    fprintf(out, "  %-31s %s\n", left, table[k].help);
  }
}
