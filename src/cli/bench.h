/* What the files of `bench` share: scenes, what is measured of them, and how it is told. */
#ifndef SC_CLI_BENCH_H
#define SC_CLI_BENCH_H

#include "report.h"

#include <cJSON.h>

/* A quarter, half and three quarters of some samples lie below. */
typedef struct quartiles {
  double low, median, high;
} quartiles;

/* One model with states and cones to measure. */
typedef struct bench_scene {
  char name[40], file[60]; /* file: of the results, without ending */
  char model[4096], states[4096];
  cli_options options; /* the command line's, with the scene's own states and cone */
} bench_scene;

/* One scene in one precision. Times in microseconds per environment. */
typedef struct bench_line {
  char scene[40], verdicts[120];
  int elliptic, method, precision, rounds;
  summary s;           /* its times are medians over the rounds */
  spread qacc, mujoco; /* errors against the optimum: the answer's, MuJoCo's */
  double mujoco_iterations;
  const char *mujoco_layout;          /* of its faster form: "dense" or "sparse" */
  quartiles us, packed_us, mujoco_us; /* solve, certificate and unpacking; with packing (sc_solve); mj_fwdConstraint */
  quartiles speedup, speedup_packed;  /* MuJoCo's time over these, round by round */
  double flops, peak; /* operations that an environment's iterations need; operations per second of the processor */
  double peak_share;  /* of the peak, reached by those operations in the solve's time */
  double bytes, packed_bytes; /* of batch and solver per environment: of sc_solve; with all packs kept */
} bench_line;

#define MOST_LINES 256

typedef struct bench {
  const cli_options *options;
  sc_context *all, *timing; /* all cores make states; what is timed has as many threads as asked for, default 1 */
  sc_context *stepping;     /* of --step: as many threads as asked for, default all cores */
  const char *folder;
  bench_scene *scenes;
  int nscene;
  int precisions[SC_NPRECISION], nprecision; /* those to measure */
  progress p;
  bench_line lines[MOST_LINES];
  int nline, solved;
  cJSON *curves, *steps;      /* arrays: of --growth, points; of --step, lines */
  double peak[SC_NPRECISION]; /* operations per second of the threads, the most seen so far */
  double seconds[4];          /* making states, problems, rounds, errors */
} bench;

extern const char *const bench_precisions[SC_NPRECISION]; /* their words */

/* Functions that return int return 0 or an exit status, having printed what went wrong. */

/* bench_scenes.c: what to measure */
int bench_find_scenes(bench *b);
int bench_make_folder(const char *path);

/* bench_measure.c: one scene; adds its lines */
int bench_measure(bench *b, const bench_scene *scene);

/* The rounds alone: every solver and MuJoCo in turn, `budget` seconds or so. Lines receive times, ratios and the peak.
 */
typedef struct bench_rival {
  timed_solver t;   /* its solver keeps packs and runs them */
  sc_solver *whole; /* sc_solve: packs, solves and forgets */
  int precision;
} bench_rival;
/* Rivals of a job's problems, one for each precision of the bench; all zero before. */
int bench_rivals_open(const bench *b, const job *j, bench_rival *rivals);
void bench_rivals_close(bench_rival *rivals);
typedef struct bench_plan {
  double budget;   /* s */
  int mujoco_most; /* MuJoCo solves the first so many environments; its time does not depend on how many there are */
  double *mujoco_qacc; /* its answers, nenv x nv; NULL: not wanted */
} bench_plan;
int bench_rounds(bench *b, job *j, bench_rival *rivals, int n, const bench_plan *plan, bench_line *lines);

int bench_peak(bench *b, int precision);     /* look once more */
quartiles bench_quartiles(double *x, int n); /* reorders x */

/* bench_flops.c: operations that Newton's method needs before its first iteration and for each, by the environment's
 * own sparsity and the zones of the answer; 0: no memory */
int bench_flops(const sc_problem *problem, const uint8_t *state, double *once, double *each);

/* bench_models.c: the MJCF of a chain of n hinged links over a floor, of a wall of n (n + 1)/2 bricks; opened and
 * closed there */
int bench_write_chain(const char *path, int n);
int bench_write_pile(const char *path, int n);

/* bench_growth.c: time against the number of environments, threads, dofs and rows */
int bench_growth(bench *b);

/* bench_step.c: whole steps of one scene, and all of them as a table */
int bench_step(bench *b, const bench_scene *scene);
void bench_step_table(const bench *b);

/* bench_report.c */
double bench_geomean(const bench *b, int precision, int packed);
void bench_json_line(const bench *b, const bench_line *l);
void bench_json_end(const bench *b);
void bench_table(const bench *b);
void bench_print_object(cJSON *o); /* one line, flushed; deletes it */
void bench_add_number(cJSON *object, const char *name, double value);

/* plot_bench.c: the pictures of what was measured */
int bench_plot(const bench *b);

#endif
