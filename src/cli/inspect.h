/* One state of a model, for people: its rows, its solve, its actuators, its points. */
#ifndef SC_CLI_INSPECT_H
#define SC_CLI_INSPECT_H

#include "job.h"
#include "softcon_inspect.h"
#include "trace.h"

#include <cJSON.h>

/* ------------------------------------------------------------------ words */

/* Sentences about settings. */
typedef struct remarks {
  int n;
  char text[12][180];
} remarks;

void remark(remarks *r, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* The time constant and damping that are used instead of a given solref, and what was repaired. */
void remark_solref(remarks *r, const double *solref, double timestep, int refsafe);
void remark_solreffriction(remarks *r, const double *solref, double timestep, int refsafe);
void remark_solimp(remarks *r, const double *solimp);
/* Every repair behind a row. */
void remark_row(remarks *r, const sc_row_info *row, double timestep, int refsafe);

/* `name`, or `word id` for what has no name; "world" for body 0 without one */
const char *object_label(const sc_model *model, int object, int id, char *buffer, size_t size);
const char *row_kind(const sc_row_info *row, char *buffer, size_t size); /* "limit upper", "pyramid +t1" */
const char *type_word(int type);                                         /* "limit_joint" */
const char *state_word(int state);                                       /* "quadratic" */
int is_contact(int type);

void json_number(cJSON *object, const char *name, double value); /* null where it is not finite */
void json_numbers(cJSON *object, const char *name, const double *x, int n);
int json_print(cJSON *object); /* and delete it; an exit status */

/* ------------------------------------------------------------------ the state */

typedef struct inspection {
  const cli_options *options;
  sc_context *context;
  job job;
  char from[120]; /* where the state comes from */
  int key;        /* or -1 */
  sc_flags_info flags;
  sc_problem problem; /* ready form, borrowed from the batch */
  sc_rows rows;
  int nv, nefc;
  sc_row_info *info; /* nefc; softcon's numbers where it made the rows */
  int softcon_rows;  /* 1: it did */
  double *A;         /* nefc: J M^-1 J' exactly; NAN where M is not positive definite */
  double condition;  /* of M + J' K J at the answer, estimated */
  timed_solver solver;
  int status; /* verdict */
  trace trace;
} inspection;

/* Exit statuses, as in job.h. */
int inspect_rows(inspection *s);
int inspect_actuators(inspection *s);
int inspect_site(inspection *s);

/* Pieces of inspect_rows. */
int inspect_solve(inspection *s);  /* after the rows are there */
int inspect_linear(inspection *s); /* A and condition; after the solve */
void inspect_solve_table(const inspection *s);
void inspect_solve_json(const inspection *s, cJSON *object);

#endif
