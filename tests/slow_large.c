/* One environment with up to 3,000 dofs and 10,000 rows. */
#include "support/large.h"

Test(large, three_hundred_boxes, .timeout = 600) { large_check("300 boxes", large_pile(300, 5, "pyramidal", 3), 150, 0); }
Test(large, three_hundred_boxes_with_elliptic_cones, .timeout = 600) { large_check("300 boxes", large_pile(300, 5, "elliptic", 3), 150, 0); }
Test(large, five_hundred_boxes, .timeout = 600) { large_check("500 boxes", large_pile(500, 5, "pyramidal", 4), 170, 0); }
Test(large, a_chain_of_a_thousand, .timeout = 600) { large_check("a chain of 1000", large_chain(1000, "pyramidal"), 40, 0); }
Test(large, primitives, .timeout = 600) { large_check("250 free bodies", large_primitives(250, "pyramidal"), 200, 0); }
