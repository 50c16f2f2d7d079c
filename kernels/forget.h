/* Included between two instances of the kernels in one file (cuda.cu): their headers may be read again. */
#undef SC_LANE_H
#undef SC_LAW_H
#undef SC_CONE_H
#undef SC_LAW_BLOCK_H
#undef SC_SINGLE
#undef SC_EPS
#undef SCAL_SQRT
#undef SCAL_POW
#undef SMALL_STEP
#undef FRESH_AFTER
#undef SYNC
#undef SC_TEAM
