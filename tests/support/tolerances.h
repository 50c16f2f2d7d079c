/* Every tolerance of the tests, once. Errors of qacc are |a - a*|_M / max(|a*|_M, |a_smooth|_M). */
#ifndef TEST_TOLERANCES_H
#define TEST_TOLERANCES_H

#define TOL_F64_QACC 1e-12          /* double, tolerance 1e-15: worst error */
#define TOL_F32_QACC_MEDIAN 5e-6    /* float, tolerance 1e-8: median error */
#define TOL_F32_QACC_WORST 1e-3     /* and the worst of what is called solved */
#define TOL_F32_SOLVED 0.99         /* and the share that is */
#define TOL_FLOOR_QACC 1e-9         /* Newton's method in any precision, R at its floor: error where the bound cannot show it */
#define TOL_FLOOR_GAP 2             /* the verifier's gap of what is solved at the floor against the floor: softcon's has rounding in it */
#define TOL_FLOOR_BOUND 3e-2        /* the verifier's bound of what is solved at the floor: 1e-2, and with R at its floor what rounding adds */
#define TOL_HARD_SOLVED 0.6         /* share of the hardest problems that any method solves, 400 iterations of CG and PGS */
#define TOL_CG_QACC 1e-2            /* conjugate gradients, tolerance 1e-8: worst of what is called solved; within its bound besides */
#define TOL_PGS_SOLVED 0.8          /* share of problems and states that Gauss-Seidel solves in 2,000 sweeps */
#define TOL_PGS_F32_SOLVED 0.8      /* of the random problems in float alone */
#define TOL_PGS_CASES 0.9           /* share of the cases that it solves in 20,000 sweeps */
#define TOL_FORCE 1e-9              /* efc_force against f(J qacc - aref) in extended precision, relative to the largest */
#define TOL_F32_FORCE 1e-3         /* the same in float, where forces of stiff rows are those of qacc before it was rounded */
#define TOL_LAW 1e-13               /* rows of a device against the host's, relative to the largest term */
#define TOL_DUAL_FORCE 1e-6         /* the same of the dual methods at large, whose forces are those of qacc before it was rounded */
#define TOL_BOUND 1e-6              /* an error may pass its bound by this much, relative: rounding of the bound itself */
#define TOL_GAP 1e-6                /* root of the gap against that of the verifier's, relative, beside the root of the floor */
#define TOL_FLOOR 1e-3              /* gap_floor against its definition, relative: forces are known to float rounding only */

#endif
