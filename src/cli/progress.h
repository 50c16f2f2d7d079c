/* Progress of a whole run on standard error: a bar on a terminal, a line every few seconds elsewhere; and Ctrl-C. */
#ifndef SC_CLI_PROGRESS_H
#define SC_CLI_PROGRESS_H

typedef struct progress {
  int silent, terminal, shown;
  double began, last; /* s: of the run, of the last output */
  double base, span;  /* fractions of the run: before this stage, of it */
  char label[48];
} progress;

void progress_begin(progress *p, int silent);
/* The next stage and its share of the run; shares add up to 1. */
void progress_stage(progress *p, double share, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* An sc_progress; arg is the progress. Returns 1 after Ctrl-C. */
int progress_update(void *arg, int done, int total);
/* Take the bar away, before anything else is printed. */
void progress_clear(progress *p);

/* From now on the first Ctrl-C is remembered, the second ends the process. */
void interrupt_catch(void);
int interrupted(void);

double seconds_now(void); /* of a monotonic clock */

#endif
