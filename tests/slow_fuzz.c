/* What test_fuzz.c does, for longer and from other seeds. */
#include "support/command.h"

#include "support/fuzz.h"

#include "support/fuzz_files.h"

#include <hdf5.h>

enum { FIRST = 1000000, ROUNDS = 100000, FILES = 600 };

Test(slow_fuzz, problems) {
  for (int seed = FIRST; seed < FIRST + ROUNDS; seed++) fuzz_round((uint64_t)seed);
}

Test(slow_fuzz, the_verifier_takes_anything) {
  for (int seed = FIRST; seed < FIRST + ROUNDS; seed++) fuzz_verifier((uint64_t)seed);
}

Test(slow_fuzz, rows) {
  for (int seed = FIRST; seed < FIRST + 20 * ROUNDS; seed++) fuzz_row((uint64_t)seed);
}

Test(slow_fuzz, models) { fuzz_files(model_fuzz, FIRST, FILES); }
Test(slow_fuzz, states) { fuzz_files(states_fuzz, FIRST, FILES); }
Test(slow_fuzz, environments_set_aside) { fuzz_files(aside_fuzz, FIRST, FILES); }
