/* Every kernel, for the lanes and the precision that are set; SC_KERNELS names the table. */
#include "cone.h"
#include "law.h"
#include "lane.h"
#include "problem.h"

#include "products.inl"
#include "rows.inl"
#include "factor.inl"
#include "linesearch.inl"
#include "iterate.inl"
#include "multipliers.inl"
#include "newton.inl"
#include "cg.inl"
#include "dual.inl"
#include "pgs.inl"
#include "direct.inl"
#if !SC_SINGLE
#include "certificate.inl"
#include "noslip.inl"
#endif

#ifndef SC_TEAM
#include "peak.inl"
#if !SC_SINGLE
#include "narrow.inl"
#endif
#include "refine.inl"

extern const sc_kernels SC_KERNELS;
#if SC_SINGLE
const sc_kernels SC_KERNELS = {SC_LANES, 1, {newton, cg, pgs, direct}, NULL, NULL, NULL, NULL, NULL, NULL, correct, peak, PEAK_CHAINS};
#else
const sc_kernels SC_KERNELS = {SC_LANES, 0, {newton, cg, pgs, direct}, prepare, certify, noslip, inverse, narrow, refine, NULL, peak, PEAK_CHAINS};
#endif
#endif
