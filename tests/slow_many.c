/* The rest of a million random problems: test_many.c has the first tenth. */
#include "support/many.h"

Test(slow_many, nothing_false_is_called_solved, .timeout = 3600) { many_problems(100000, 900000); }
