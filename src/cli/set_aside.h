/* --set-aside: every environment that is not solved, whole, into a file for `softcon replay`. */
#ifndef SC_CLI_SET_ASIDE_H
#define SC_CLI_SET_ASIDE_H

#include "job.h"

/* An exit status, having printed what went wrong; *count receives how many there were. */
int set_aside(const job *j, const timed_solver *t, const char *path, int *count);

#endif
