/* One per cent of a hundred thousand environments is poisoned. */
#include "support/poison.h"

enum { FARM = 100000 };

Test(slow_poison, in_double, .timeout = 1200) { poison_farm(FARM, SC_F64); }
Test(slow_poison, in_float, .timeout = 1200) { poison_farm(FARM, SC_F32); }
