/* A hundred thousand random problems; slow_many.c goes on to a million. */
#include "support/many.h"

#ifdef SOFTCON_SANITIZED
enum { PROBLEMS = 2000 };
#else
enum { PROBLEMS = 100000 };
#endif

Test(many, nothing_false_is_called_solved, .timeout = 600) { many_problems(0, PROBLEMS); }
