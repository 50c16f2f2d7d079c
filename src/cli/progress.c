#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR 30     /* characters */
#define REDRAW 0.1 /* s between bars */
#define REPORT 3.0 /* s between lines */

double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ------------------------------------------------------------------ Ctrl-C */

static volatile sig_atomic_t caught;

static void on_interrupt(int number) {
  (void)number;
  caught = 1;
}

void interrupt_catch(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_interrupt;
  action.sa_flags = (int)(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, NULL);
}

int interrupted(void) { return caught; }

/* ------------------------------------------------------------------ progress */

void progress_begin(progress *p, int silent) {
  *p = (progress){.silent = silent, .terminal = isatty(STDERR_FILENO), .began = seconds_now()};
  p->last = p->began;
}

void progress_stage(progress *p, double share, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(p->label, sizeof p->label, format, args);
  va_end(args);
  p->base += p->span;
  p->span = share;
}

int progress_update(void *arg, int done, int total) {
  progress *p = arg;
  double now = seconds_now(), part = p->base + p->span * (total > 0 ? (double)done / total : 1);
  if (part > 1) part = 1;
  if (p->silent || now - p->last < (p->terminal ? REDRAW : REPORT)) return interrupted();
  p->last = now;
  p->shown = 1;
  if (p->terminal) {
    char bar[BAR + 1];
    for (int i = 0; i < BAR; i++) bar[i] = i < part * BAR ? '#' : '.';
    bar[BAR] = 0;
    fprintf(stderr, "\r\033[K[%s] %3.0f %%  %s %d/%d  %.0f s", bar, 100 * part, p->label, done, total, now - p->began);
  } else
    fprintf(stderr, "softcon: %3.0f %%  %s %d/%d  %.0f s\n", 100 * part, p->label, done, total, now - p->began);
  fflush(stderr);
  return interrupted();
}

void progress_clear(progress *p) {
  if (p->shown && p->terminal) fprintf(stderr, "\r\033[K");
  p->shown = 0;
}
