/* Worker threads that run the iterations of one loop at a time. */
#ifndef SC_POOL_H
#define SC_POOL_H

typedef struct sc_pool sc_pool;

/* threads >= 1, the caller's included; NULL: no memory or no threads to be had */
sc_pool *sc_pool_create(int threads);
void sc_pool_destroy(sc_pool *pool);
int sc_pool_threads(const sc_pool *pool);

/* work(arg, i, worker) for i = 0 .. n-1 in no fixed order; worker in 0 .. threads-1, no two calls share one at a time */
void sc_pool_each(sc_pool *pool, int n, void (*work)(void *arg, int i, int worker), void *arg);

#endif
