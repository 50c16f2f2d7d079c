#include "pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct worker {
  sc_pool *pool;
  int index;
  pthread_t thread;
} worker;

struct sc_pool {
  int threads;
  worker *workers;          /* threads - 1; the caller is worker 0 */
  pthread_mutex_t caller;   /* held by the thread whose loop is running: loops of several threads take turns */
  pthread_mutex_t lock;
  pthread_cond_t start, finished;
  unsigned round;           /* number of the loop that is running or was run last */
  int busy;                 /* workers that have not finished this round */
  int quit;
  void (*work)(void *arg, int i, int worker);
  void *arg;
  int n;
  atomic_int next;          /* first iteration that nobody has taken */
};

static void run(sc_pool *pool, int index) {
  for (;;) {
    int i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
    if (i >= pool->n) return;
    pool->work(pool->arg, i, index);
  }
}

static void *main_loop(void *arg) {
  worker *w = arg;
  sc_pool *pool = w->pool;
  unsigned seen = 0;
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    while (pool->round == seen && !pool->quit) pthread_cond_wait(&pool->start, &pool->lock);
    if (pool->quit) break;
    seen = pool->round;
    pthread_mutex_unlock(&pool->lock);
    run(pool, w->index);
    pthread_mutex_lock(&pool->lock);
    if (--pool->busy == 0) pthread_cond_signal(&pool->finished);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

sc_pool *sc_pool_create(int threads) {
  sc_pool *pool = calloc(1, sizeof *pool);
  if (!pool) return NULL;
  pool->threads = 1;
  pthread_mutex_init(&pool->caller, NULL);
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->start, NULL);
  pthread_cond_init(&pool->finished, NULL);
  pool->workers = calloc((size_t)threads, sizeof *pool->workers);
  if (!pool->workers) {
    sc_pool_destroy(pool);
    return NULL;
  }
  for (int i = 1; i < threads; i++) {
    worker *w = &pool->workers[i - 1];
    w->pool = pool, w->index = i;
    if (pthread_create(&w->thread, NULL, main_loop, w)) {
      sc_pool_destroy(pool);
      return NULL;
    }
    pool->threads = i + 1;
  }
  return pool;
}

void sc_pool_destroy(sc_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->lock);
  pool->quit = 1;
  pthread_cond_broadcast(&pool->start);
  pthread_mutex_unlock(&pool->lock);
  for (int i = 1; i < pool->threads; i++) pthread_join(pool->workers[i - 1].thread, NULL);
  pthread_cond_destroy(&pool->finished);
  pthread_cond_destroy(&pool->start);
  pthread_mutex_destroy(&pool->lock);
  pthread_mutex_destroy(&pool->caller);
  free(pool->workers);
  free(pool);
}

int sc_pool_threads(const sc_pool *pool) { return pool->threads; }

void sc_pool_each(sc_pool *pool, int n, void (*work)(void *arg, int i, int worker), void *arg) {
  if (n <= 0) return;
  if (pool->threads == 1 || n == 1) {
    for (int i = 0; i < n; i++) work(arg, i, 0);
    return;
  }
  pthread_mutex_lock(&pool->caller);
  pthread_mutex_lock(&pool->lock);
  pool->work = work, pool->arg = arg, pool->n = n;
  atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
  pool->busy = pool->threads - 1;
  pool->round++;
  pthread_cond_broadcast(&pool->start);
  pthread_mutex_unlock(&pool->lock);
  run(pool, 0);
  pthread_mutex_lock(&pool->lock);
  while (pool->busy) pthread_cond_wait(&pool->finished, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
  pthread_mutex_unlock(&pool->caller);
}
