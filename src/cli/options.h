/* The command line's options, from one table that also makes the help. */
#ifndef SC_CLI_OPTIONS_H
#define SC_CLI_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

/* Bits of the commands that an option belongs to. */
enum { FOR_SOLVE = 1, FOR_BENCH = 2, FOR_INSPECT = 256, FOR_REPLAY = 512 };

/* Values of the options with a fixed set, in the order of their words. */
enum { METHOD_NEWTON, METHOD_CG, METHOD_PGS, METHOD_DIRECT };
enum { PRECISION_F64, PRECISION_F32, PRECISION_MIXED };
enum { DEVICE_AUTO, DEVICE_CPU, DEVICE_CUDA };
enum { ROWS_SOFTCON, ROWS_MUJOCO };

/* Numbers of options that were not given are -1 or NAN, texts NULL, flags 0. */
typedef struct cli_options {
  const char *const *models; /* nmodel: what is not an option */
  int nmodel;

  const char *states; /* file */
  int envs;
  uint64_t seed; /* default 0 */
  int warmup;    /* steps; default 100 */
  int method, precision, cone, jacobian, device, rows;
  double impratio, tolerance;
  int iterations, ls_iterations, noslip, threads;
  int compare;     /* 0: MuJoCo */
  int max_rows, max_contacts;
  const char *set_aside; /* file */
  const char *out; /* file, or folder of bench */
  int save_rows, save_contacts, fwdinv;
  const char *plot; /* folder */
  const char *recorded; /* folder of bench/record_states.py */
  int growth, step;
  int solver_defaults; /* no option: set where states were recorded under them */
  const char *backend;
  int env; /* row of the states of inspect, environment of replay */
  const char *key, *site; /* of inspect, and so below */
  double angle;
  int actuators, lint;
  int json, quiet, help;
} cli_options;

/* Words of a choice: options_word("precision", 1) is "f32". */
const char *options_word(const char *name, int value, char *buffer, int size);

/* Read argv[1 ..] (argv[0] is the command's name). On wrong usage prints what is wrong and returns 0. */
int options_parse(unsigned command, int argc, char **argv, cli_options *options);

/* The options of a command, one a line. */
void options_help(unsigned command, FILE *out);

#endif
