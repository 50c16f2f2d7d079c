/* The kernels as one lane of double: the plain text of the methods, by which the packs are judged. Always built. */
#define SC_LANES 1
#define SC_SINGLE 0
#define SC_KERNELS sc_kernels_reference
#include "kernels.inl"
