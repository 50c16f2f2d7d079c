/* Structures of packs that are kept, so that packs alike, and the same pack a step later, need not be looked through again.
 * Each worker has its own. A pack's bits do not depend on what is kept: a structure follows from its key alone. */
#include "symbolic.h"

#include <stdlib.h>
#include <string.h>

#define MOST_STRUCTURES 256
#define MOST_BYTES ((size_t)16 << 20) /* of all together; a larger one is kept alone */

static size_t bytes_of(const sc_structure *s) { return s->key.capacity + s->ints.capacity; }

size_t sc_structures_bytes(const sc_structures *all) {
  size_t bytes = 0;
  for (int i = 0; i < all->n; i++) bytes += bytes_of(&all->list[i]);
  return bytes;
}

static void drop(sc_structure *s) {
  free(s->key.data);
  free(s->ints.data);
  memset(s, 0, sizeof *s);
}

void sc_structures_free(sc_structures *all) {
  for (int i = 0; i < all->n; i++) drop(&all->list[i]);
  free(all->list);
  memset(all, 0, sizeof *all);
}

sc_structure *sc_structures_find(sc_structures *all, const void *key, size_t bytes, uint64_t hash) {
  for (int i = 0; i < all->n; i++) {
    sc_structure *s = &all->list[i];
    if (s->hash != hash || s->key_bytes != bytes || memcmp(s->key.data, key, bytes)) continue;
    s->used = ++all->clock;
    return s;
  }
  return NULL;
}

/* the one with memory whose last use is longest ago, `but` apart; NULL: none */
static sc_structure *oldest(sc_structures *all, const sc_structure *but) {
  sc_structure *found = NULL;
  for (int i = 0; i < all->n; i++) {
    sc_structure *s = &all->list[i];
    if (s != but && bytes_of(s) && (!found || s->used < found->used)) found = s;
  }
  return found;
}

/* one without memory, or the oldest */
static sc_structure *choose(sc_structures *all) {
  if (!all->list) all->list = calloc(MOST_STRUCTURES, sizeof *all->list);
  if (!all->list) return NULL;
  if (sc_structures_bytes(all) < MOST_BYTES - MOST_BYTES / 8) {
    for (int i = 0; i < all->n; i++)
      if (!bytes_of(&all->list[i])) return &all->list[i];
    if (all->n < MOST_STRUCTURES) return &all->list[all->n++];
  }
  return oldest(all, NULL);
}

sc_structure *sc_structures_add(sc_structures *all, const void *key, size_t bytes, uint64_t hash) {
  sc_structure *s = choose(all);
  if (!s) return NULL;
  s->key_bytes = 0; /* not to be found until it is kept */
  if (!sc_buffer_get(&s->key, bytes)) return NULL;
  memcpy(s->key.data, key, bytes);
  s->hash = hash, s->pending = bytes;
  return s;
}

void sc_structures_keep(sc_structures *all, sc_structure *s) {
  s->key_bytes = s->pending;
  s->used = ++all->clock;
  for (sc_structure *old; sc_structures_bytes(all) > MOST_BYTES && (old = oldest(all, s));) drop(old);
}
