/* Steps of a farm: once it has seen what comes, sc_model_batch and sc_solve allocate nothing, nor do parameters that differ from
 * environment to environment.
 *
 * malloc and its relatives below stand in front of the C library's for every library of this process. */
#include "support/solve.h"

#include "softcon_mujoco.h"

#include <mujoco/mujoco.h>

#include <stdatomic.h>
#include <stdio.h>

#if defined(__GLIBC__) && !defined(SOFTCON_SANITIZED)
static atomic_long calls;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

void *malloc(size_t n) { return atomic_fetch_add(&calls, 1), __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return atomic_fetch_add(&calls, 1), __libc_calloc(n, size); }
void *realloc(void *block, size_t n) { return atomic_fetch_add(&calls, 1), __libc_realloc(block, n); }
void *aligned_alloc(size_t alignment, size_t n) { return atomic_fetch_add(&calls, 1), __libc_memalign(alignment, n); }
int posix_memalign(void **out, size_t alignment, size_t n) {
  atomic_fetch_add(&calls, 1);
  *out = __libc_memalign(alignment, n);
  return *out ? 0 : 12;
}
static long count(void) { return atomic_load(&calls); }
static void need_allocator(void) {}
#else
static long count(void) { return 0; }
static void need_allocator(void) { cr_skip_test("this build's malloc cannot be replaced"); }
#endif

enum { ENVS = 64, SETS = 3 };

/* One farm: states of several moments, which come by turns. */
typedef struct {
  test_run run;
  sc_model *model;
  double *states[SETS];
  sc_override overrides[3];
  int noverride;
} farm;

static void step(farm *f, int k) {
  CALL(sc_model_batch_with(f->run.context, f->model, f->states[k % SETS], -1, ENVS, f->overrides, f->noverride, f->run.batch, NULL, NULL, NULL));
  solve_run(&f->run);
  for (int i = 0; i < ENVS; i++) cr_expect_eq(f->run.r.status[i], SC_SOLVED, "set %d, environment %d: %s", k % SETS, i, sc_status_name(f->run.r.status[i]));
}

/* masses, solref and friction of environment i, (1 + i / 100) times the model's */
static void override(farm *f, const char *path) {
  static const char *const names[] = {"body_mass", "geom_solref", "geom_friction"};
  char error[200];
  mjModel *m = mj_loadXML(path, NULL, error, sizeof error);
  cr_assert(m, "%s", error);
  const double *own[] = {m->body_mass, m->geom_solref, m->geom_friction};
  for (; f->noverride < 3; f->noverride++) {
    int rows, columns, k = f->noverride;
    CALL(sc_model_field(f->model, names[k], &rows, &columns));
    int n = rows * columns;
    double *values = malloc((size_t)(ENVS * n) * sizeof *values);
    for (int i = 0; i < ENVS * n; i++) values[i] = (1 + i / n / 100.0) * own[k][i % n];
    sc_override_init(&f->overrides[k]);
    f->overrides[k].field = names[k], f->overrides[k].values = values;
  }
  mj_deleteModel(m);
}

static farm open_farm(const char *scene, int precision, int overridden) {
  farm f = {.run = open_run(NULL, 1, precision, 1e-8, ENVS)};
  char path[1000];
  size_t n;
  snprintf(path, sizeof path, "%s/scenes/%s.xml", SOFTCON_SOURCE_DIR, scene);
  CALL(sc_model_load(path, NULL, &f.model));
  CALL(sc_state_size(f.model, -1, &n));
  if (overridden) override(&f, path);
  for (int k = 0; k < SETS; k++) {
    f.states[k] = malloc(ENVS * n * sizeof(double));
    cr_assert(f.states[k]);
    CALL(sc_states_make(f.run.context, f.model, ENVS, (uint64_t)k, 40 + 15 * k, f.states[k], NULL, NULL));
  }
  return f;
}

static void close_farm(farm *f) {
  for (int k = 0; k < SETS; k++) free(f->states[k]);
  for (int k = 0; k < f->noverride; k++) free((void *)f->overrides[k].values);
  sc_model_destroy(f->model);
  close_run(&f->run);
}

Test(steps, allocate_nothing, .init = need_allocator) {
  const char *const scenes[] = {"legged", "humanoid", "gripper", "boxes"};
  long before = count();
  free(malloc(1));
  cr_assert(count() > before, "the allocator of this test is not used");
  for (int s = 0; s < 4; s++)
    EACH_PRECISION(precision) {
      farm f = open_farm(scenes[s], precision, s % 2);
      for (int k = 0; k < 4 * SETS; k++) step(&f, k);
      for (int k = 0; k < 2 * SETS; k++) {
        before = count();
        step(&f, k);
        cr_expect_eq(count(), before, "%s, %s, step %d: %ld allocations", scenes[s], precision == SC_F64 ? "f64" : "f32", k, count() - before);
      }
      close_farm(&f);
    }
}
