/* Memory for many environments: large blocks on large pages, and blocks of any size cut from them. */
#ifndef SC_MEMORY_H
#define SC_MEMORY_H

#include <stddef.h>

/* `bytes` of memory, for free(); large ones on large pages where the system has them. NULL: none. */
void *sc_memory_get(size_t bytes);

/* Blocks of a number of sizes, cut from chunks that grow with the number of blocks. What is given back is used again for
 * blocks of the same size. From several threads at once. All is freed with the arena. */
typedef struct sc_arena sc_arena;

sc_arena *sc_arena_create(void); /* NULL: no memory */
void sc_arena_destroy(sc_arena *arena); /* NULL is allowed */

/* A block of at least *bytes, which becomes its size; on a line of the cache. NULL: no memory, *bytes as it was */
void *sc_arena_get(sc_arena *arena, size_t *bytes);
void sc_arena_give(sc_arena *arena, void *block, size_t bytes); /* block NULL is allowed; bytes: its size */

size_t sc_arena_bytes(const sc_arena *arena); /* of all chunks */

#endif
