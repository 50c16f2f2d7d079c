/* Environments that a run has set aside, whole: a file that more runs may add to. */
#ifndef SC_STORE_ASIDE_H
#define SC_STORE_ASIDE_H

#include "softcon.h"

/* One environment. Of one that is written everything is borrowed; of one that is read everything belongs to it. */
typedef struct sc_aside {
  int env;                    /* its number in its run */
  int run;                    /* number of the run that wrote it, 0 the first; set by sc_aside_add */
  const char *model;          /* path */
  int rows_by_mujoco;
  int status, iterations;
  unsigned flags;
  double gap, gap_floor, qacc_bound, objective;
  int bad;                    /* its data are not valid, `why` says in what; of the problem what there is is there */
  const char *why;            /* "" where it is not bad */
  sc_solver_options options;  /* of the solve */
  sc_problem problem;         /* ready form, sparse, pos, margin and vel where softcon evaluated the rows */
  const double *qacc, *efc_force; /* nv, nefc: the answer, NaN where there is none */
  const double *state;        /* nstate, mjtState bits in sig */
  int nstate, sig;
  const char *const *row_name; /* nefc: "limit upper knee"; NULL: not known */
  const char *const *dof_name; /* nv: "knee"; NULL: not known */
  void *memory;               /* of one that was read */
} sc_aside;

/* A file that is being added to. What stood at the path stays there, whole, until the file is closed; then the new one, with
 * everything of before, takes its place. SC_ERROR_FILE: it is no file of environments set aside, or cannot be read. */
typedef struct sc_aside_file sc_aside_file;
int sc_aside_open(const char *path, sc_aside_file **out);
void sc_aside_add(sc_aside_file *file, const sc_aside *aside); /* a failure is told by the close */
int sc_aside_close(sc_aside_file *file);                       /* an sc_code; frees the struct */

/* Whether sc_aside_open could do its work, before the work that is to be stored. */
int sc_aside_can_add(const char *path);

/* Which environments a file holds, in the order in which they were set aside. */
typedef struct sc_aside_entry { int env, run; } sc_aside_entry;
int sc_aside_list(const char *path, sc_aside_entry **list, int *n); /* the list is the caller's (free) */

/* Entry i of the list. SC_ERROR_FILE names the file, the environment and the field that is not what it should be. */
int sc_aside_read(const char *path, int i, sc_aside *aside);
void sc_aside_free(sc_aside *aside); /* of one that was read; one that is all zero is allowed */

#endif
