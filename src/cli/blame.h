/* What makes a problem hard: dofs that are all but determined by others, rows that are all but rigid, equalities that ask
 * for different things. */
#ifndef SC_CLI_BLAME_H
#define SC_CLI_BLAME_H

#include "softcon.h"

#include <cJSON.h>

#define BLAME_MOST 5 /* of each that are listed */

/* A dof, and what elimination leaves of its diagonal entry in M and in H = M + J'KJ at the answer, relative to it. */
typedef struct blame_dof { int dof; double M, H; } blame_dof;
typedef struct blame_row { int row; double D, A; } blame_row; /* A = J M^-1 J' of the row */

/* An equality row that is a combination of equality rows before it, and asks for what they do not: aref of the row less that
 * of the combination. */
typedef struct blame_conflict {
  int row, n;
  int with[BLAME_MOST];       /* the rows of the largest weights, n of them */
  double weight[BLAME_MOST];
  double aref, combined;      /* of the row; of the combination */
} blame_conflict;

typedef struct blame {
  int not_spd;                /* first dof, leaves first, where M is not positive definite; -1 */
  blame_dof dofs[BLAME_MOST]; /* the smallest of both first */
  blame_row rows[BLAME_MOST]; /* the largest D A first */
  blame_conflict conflicts[BLAME_MOST];
  int ndof, nrow, nconflict;
  int dependent, conflicting; /* equality rows that follow from others; those of them that disagree */
} blame;

/* Of a problem in the ready form, sparse, whose numbers are valid; qacc, state: its answer, or NULL. 0: no memory. */
int blame_find(const sc_problem *p, const double *qacc, const uint8_t *state, blame *b);

/* Names may be NULL. */
void blame_table(const blame *b, const char *const *row_name, const char *const *dof_name);
void blame_json(const blame *b, const char *const *row_name, const char *const *dof_name, cJSON *object); /* "blame" */

#endif
