#define _DEFAULT_SOURCE /* madvise */
#include "memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define PAGE ((size_t)2 << 20)   /* a large one */

void *sc_memory_get(size_t bytes) {
  if (bytes < 2 * PAGE || bytes > SIZE_MAX - PAGE) return malloc(bytes);
  size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
  void *block = aligned_alloc(PAGE, whole);
#ifdef MADV_HUGEPAGE
  if (block) (void)madvise(block, whole, MADV_HUGEPAGE); /* a wish */
#endif
  return block;
}

/* ------------------------------------------------------------------ arena */

/* Sizes (8 + k) 2^e, k = 0 .. 7, e = 6 .. : at most an eighth is left over. Larger blocks are chunks of their own. */
#define LEAST_EXPONENT 6
#define NCLASS (8 * 12)
#define LEAST_CHUNK ((size_t)64 << 10)
#define MOST_CHUNK ((size_t)16 << 20)

/* At the beginning of a chunk, a line of the cache long; and of a block that was given back. */
typedef struct chunk {
  struct chunk *next;
  size_t bytes;
} chunk;
typedef struct spare { struct spare *next; } spare;
#define LINE 64

struct sc_arena {
  pthread_mutex_t lock;
  chunk *chunks;
  char *at, *end;           /* what is left of the newest chunk that is cut */
  size_t next, bytes;       /* of the next chunk; of all */
  spare *spares[NCLASS];
};

#ifdef __SANITIZE_ADDRESS__ /* it sees writes behind a block only when that is the end of a chunk */
#define SORTED 0
#else
#define SORTED 1
#endif

/* the size of blocks for `bytes`, and its number; NCLASS: it is beyond the list */
static int class_of(size_t bytes, size_t *size) {
  size_t unit = (size_t)1 << LEAST_EXPONENT;
  for (int c = 0; c < NCLASS && SORTED; c += 8, unit *= 2) {
    if (bytes > 15 * unit) continue;
    size_t k = bytes <= 8 * unit ? 8 : (bytes + unit - 1) / unit;
    *size = k * unit;
    return c + (int)(k - 8);
  }
  *size = (bytes + LINE - 1) / LINE * LINE;
  return NCLASS;
}

sc_arena *sc_arena_create(void) {
  sc_arena *a = calloc(1, sizeof *a);
  if (!a) return NULL;
  pthread_mutex_init(&a->lock, NULL);
  a->next = LEAST_CHUNK;
  return a;
}

void sc_arena_destroy(sc_arena *a) {
  if (!a) return;
  for (chunk *c = a->chunks, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  pthread_mutex_destroy(&a->lock);
  free(a);
}

/* a new chunk with `bytes` behind its first line; NULL: no memory */
static char *add_chunk(sc_arena *a, size_t bytes) {
  if (bytes > SIZE_MAX / 2) return NULL;
  size_t whole = (bytes + 2 * LINE - 1) / LINE * LINE;
  chunk *c = whole < 2 * PAGE ? aligned_alloc(LINE, whole) : sc_memory_get(whole);
  if (!c) return NULL;
  *c = (chunk){a->chunks, whole};
  a->chunks = c, a->bytes += whole;
  return (char *)c + LINE;
}

/* cut from the newest chunk, or from one more; what is left of the one before stays unused */
static void *cut(sc_arena *a, size_t size) {
  if ((size_t)(a->end - a->at) < size) {
    size_t want = a->next < 8 * size ? 8 * size : a->next;
    char *fresh = add_chunk(a, want - LINE);
    if (!fresh) return NULL;
    a->at = fresh, a->end = fresh + (want - LINE);
    a->next = a->next < MOST_CHUNK ? 2 * a->next : MOST_CHUNK;
  }
  void *block = a->at;
  a->at += size;
  return block;
}

void *sc_arena_get(sc_arena *a, size_t *bytes) {
  size_t size;
  int c = class_of(*bytes, &size);
  void *block;
  pthread_mutex_lock(&a->lock);
  if (c < NCLASS && a->spares[c]) {
    block = a->spares[c];
    a->spares[c] = a->spares[c]->next;
  } else {
    block = c < NCLASS ? cut(a, size) : add_chunk(a, size);
  }
  pthread_mutex_unlock(&a->lock);
  if (block) *bytes = size;
  return block;
}

/* a block beyond the list is a chunk of its own: take it out */
static void drop_chunk(sc_arena *a, void *block) {
  chunk *c = (chunk *)(void *)((char *)block - LINE);
  for (chunk **at = &a->chunks; *at; at = &(*at)->next)
    if (*at == c) {
      *at = c->next;
      break;
    }
  a->bytes -= c->bytes;
  free(c);
}

void sc_arena_give(sc_arena *a, void *block, size_t bytes) {
  size_t size;
  if (!block) return;
  int c = class_of(bytes, &size);
  pthread_mutex_lock(&a->lock);
  if (c < NCLASS) {
    spare *s = block;
    s->next = a->spares[c];
    a->spares[c] = s;
  } else {
    drop_chunk(a, block);
  }
  pthread_mutex_unlock(&a->lock);
}

size_t sc_arena_bytes(const sc_arena *a) { return a->bytes; }
