/* Mixed precision: between the iteration in float and the certificate, steps in double with the factor in float. */
#include "solver.h"

/* the lanes of part k that are to be refined: those with rows whose iteration has ended by itself */
static unsigned lanes_to_refine(const sc_solver *s, const sc_slot *slot, int k, const int32_t *end) {
  unsigned lanes = 0;
  for (int l = 0; l < slot->lanes; l++) {
    int lane = k * slot->lanes + l, env = slot->env[lane];
    if (env < 0 || s->r.efc_offset[env] == s->r.efc_offset[env + 1]) continue;
    if (slot->beyond_float >> lane & 1 || end[lane] == SC_END_LIMIT) continue;
    lanes |= 1u << l;
  }
  return lanes;
}

void sc_refine(const sc_solver *s, sc_worker *w, const sc_slot *slot, int32_t *iterations, int32_t *end) {
  sc_refinement part[SC_MAX_PARTS];
  int wanted = 0;
  for (int l = 0; s->options.method != SC_NEWTON && l < slot->parts * slot->lanes; l++) w->iterate.stale[l] = 1; /* no factor is there yet */
  for (int k = 0; k < slot->parts; k++) {
    sc_widen(s, slot, k, &w->iterate, &w->judge[k]);
    part[k] = (sc_refinement){&w->iterate, slot->parts * slot->lanes, k * slot->lanes, 0, lanes_to_refine(s, slot, k, end)};
    for (int l = 0; l < slot->lanes; l++)
      w->judge[k].iterations[l] = iterations[k * slot->lanes + l], w->judge[k].end[l] = end[k * slot->lanes + l];
    wanted |= part[k].live != 0;
  }
  while (wanted) {
    int stale = 0;
    wanted = 0;
    for (int k = 0; k < slot->parts; k++) {
      sc_pack pack = sc_slot_part(slot, k);
      if (part[k].live) stale |= sc_slot_judge(s, slot)->refine(&pack, &w->judge[k], &part[k]);
      wanted |= part[k].live != 0;
    }
    if (wanted) sc_slot_iterate(s, slot)->correct(&slot->pack, &w->iterate, stale);
  }
  for (int k = 0; k < slot->parts; k++)
    for (int l = 0; l < slot->lanes; l++)
      iterations[k * slot->lanes + l] = w->judge[k].iterations[l], end[k * slot->lanes + l] = w->judge[k].end[l];
}
