/* Random problems and random files, from seeds: nothing crashes, nothing wrong is called solved, neighbours keep their
 * bits. slow_fuzz.c goes on where this stops. */
#include "support/command.h"

#include "support/fuzz.h"

#include "support/fuzz_files.h"

#include <hdf5.h>

#ifdef SOFTCON_SANITIZED
enum { ROUNDS = 1500, FILES = 20 };
#else
enum { ROUNDS = 8000, FILES = 80 };
#endif

Test(fuzz, problems) {
  for (int seed = 0; seed < ROUNDS; seed++) fuzz_round((uint64_t)seed);
}

Test(fuzz, the_verifier_takes_anything) {
  for (int seed = 0; seed < 4 * ROUNDS; seed++) fuzz_verifier((uint64_t)seed);
}

Test(fuzz, rows) {
  for (int seed = 0; seed < 20 * ROUNDS; seed++) fuzz_row((uint64_t)seed);
}

Test(fuzz, models) { fuzz_files(model_fuzz, 0, FILES); }
Test(fuzz, states) { fuzz_files(states_fuzz, 0, FILES); }
Test(fuzz, environments_set_aside) { fuzz_files(aside_fuzz, 0, FILES); }
