/* Poison in a small farm; slow_poison.c has a hundred thousand environments. */
#include "support/poison.h"

#ifdef SOFTCON_SANITIZED
enum { FARM = 2000 };
#else
enum { FARM = 10000 };
#endif

Test(poison, in_double) { poison_farm(FARM, SC_F64); }
Test(poison, in_float) { poison_farm(FARM, SC_F32); }
