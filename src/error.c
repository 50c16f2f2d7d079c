/* The text of the last error, one per thread. */
#include "softcon.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char text[512];

const char *sc_error_text(void) { return text; }

int sc_error_set(int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return code;
}
