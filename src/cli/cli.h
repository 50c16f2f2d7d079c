/* What the commands share: exit statuses, the table of commands, errors. */
#ifndef SC_CLI_H
#define SC_CLI_H

#include "options.h"
#include "softcon.h"

enum {
  EXIT_SOLVED = 0,
  EXIT_INTERNAL = 1,
  EXIT_USAGE = 2,
  EXIT_INPUT = 3,      /* unreadable, malformed or unsupported input, or output that cannot be written */
  EXIT_NOT_SOLVED = 4, /* finished, but some environments were not solved */
  EXIT_DEVICE = 5
};

/* Print the library's last error and return the exit status that goes with its code. */
int cli_fail(int code);
/* The same with a text of our own. */
int cli_fail_with(int status, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/* One line on standard error, unless quiet or json. */
void cli_note(const cli_options *options, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

int cmd_solve(const cli_options *options);
int cmd_bench(const cli_options *options);
int cmd_inspect(const cli_options *options);
int cmd_replay(const cli_options *options);

#endif
