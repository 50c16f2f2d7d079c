/* The kernels as packs: SC_LANES environments in the lanes of a vector. Compiled once per instruction set SC_ISA, precision
 * SC_SINGLE and SC_LANES; the table is sc_kernels_<isa>_f64x<lanes> or sc_kernels_<isa>_f32x<lanes>. */
#define NAME_(isa, type, lanes) sc_kernels_##isa##_##type##x##lanes
#define NAME(isa, type, lanes) NAME_(isa, type, lanes)
#if SC_SINGLE
#define SC_KERNELS NAME(SC_ISA, f32, SC_LANES)
#else
#define SC_KERNELS NAME(SC_ISA, f64, SC_LANES)
#endif
#include "kernels.inl"
