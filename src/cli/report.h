/* What a solve came to, as a table for people and as JSON for programs. */
#ifndef SC_CLI_REPORT_H
#define SC_CLI_REPORT_H

#include "job.h"

typedef struct spread {
  double median, p99, max;
} spread;

/* Numbers about one solved batch; NaN where there are none. */
typedef struct summary {
  int envs, nv;
  double nefc_mean;
  size_t nefc_max;
  int rows_needed, contacts_needed; /* by the environment that needs most */
  int status[SC_NSTATUS], flags[SC_NFLAG];
  double iterations_mean;
  int iterations_max;
  spread gap, scaled_gap, bound; /* scaled: times 1/trace M */
  spread fwdinv[2]; /* with --fwdinv: |J'f - J'f(qacc)|, |M qacc - qfrc_smooth - J'f(qacc)| */
  double us_per_env;
  double us_kinematics, us_rows, us_pack, us_solve, us_certificate, us_unpack;
} summary;

/* What the comparison with MuJoCo came to. */
typedef struct comparison {
  int done; /* 0: not asked for */
  spread qacc, force, mujoco;
  double us_per_env, iterations_mean, speedup;
} comparison;

int all_solved(const summary *s);
/* Both return 0 or an exit status. Summarise after the last run; fwdinv (nenv x 2) and c may be NULL, the speed-up of c is
 * filled then. */
int summarise(const job *j, timed_solver *t, const double *fwdinv, summary *s, comparison *c);
int compare_with_mujoco(const job *j, sc_context *context, const timed_solver *t, int repeats, progress *p,
                        comparison *c);

/* both parts of every environment, nenv x 2, or NULL (an exit status was printed); the caller frees it */
double *fwdinv_numbers(const timed_solver *t);

typedef struct report {
  const job *job;
  const timed_solver *solver;
  const summary *summary;
  const comparison *comparison;
  const char *device, *backend, *precision, *out; /* out may be NULL */
  double *fwdinv; /* NULL: not asked for */
  int aside;      /* environments set aside */
  int threads;
} report;

void report_table(const report *r);
void report_json(const report *r);

/* Words and counts such as "4090 solved, 6 stalled". */
const char *report_verdicts(const summary *s, char *buffer, size_t size);

#endif
