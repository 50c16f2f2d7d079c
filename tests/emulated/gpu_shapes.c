/* The launch shapes that the CUDA backend's host side chooses for systems of several sizes, as lines of JSON, for
 * scripts/gpu-static. No kernel runs. EMU_SHARED: bytes of shared memory that a block may have. */
#include "../support/problems.h"
#include "control.h"

#include <stdio.h>

/* rows as such robots have them; contacts are elliptic, of dim 3 */
static const problem_case sizes[] = {
    {"a box on the floor", 6, 0, 0, 0, 0, 4, 0, 0, 0, 0},
    {"a quadruped", 14, 0, 0, 4, 0, 4, 0, 0, 0, 0},
    {"a humanoid", 27, 0, 0, 6, 0, 8, 0, 0, 0, 0},
    {"a hand with an object", 36, 0, 24, 8, 0, 10, 0, 0, 0, 0},
    {"a humanoid of motion capture", 62, 0, 0, 12, 0, 12, 0, 0, 0, 0},
    {"a large humanoid", 85, 6, 0, 16, 0, 16, 0, 0, 0, 0},
};

static int failed(void) {
  fprintf(stderr, "gpu_shapes: %s\n", sc_error_text());
  return 1;
}

static int print_shape(sc_context *context, const problem_case *c, int precision) {
  sc_solver_options o;
  sc_solver *solver;
  sc_batch *batch;
  test_problem q = make_problem(c, 1);
  sc_solver_options_init(&o);
  o.precision = precision;
  if (sc_solver_create(context, &o, &solver) || sc_batch_create(context, 1, &batch) || sc_batch_set(batch, 0, &q.p)) return failed();
  if (sc_solver_pack(solver, batch)) return failed();
  long threads = emu_count("asked threads"), shared = emu_count("asked shared");
  printf("{\"name\": \"%s\", \"nv\": %d, \"nefc\": %d, \"precision\": \"%s\", \"threads\": %ld, \"shared\": %ld}\n", c->name, c->nv,
         q.p.nefc, precision == SC_F32 ? "f32" : "f64", threads, shared);
  sc_solver_destroy(solver), sc_batch_destroy(batch), free_problem(&q);
  return 0;
}

int main(void) {
  sc_context *context;
  sc_context_options c;
  sc_context_options_init(&c);
  c.backend = "cuda", c.threads = 1;
  if (sc_context_create(&c, &context)) return failed();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int precision = SC_F64; precision <= SC_F32; precision++)
      if (print_shape(context, &sizes[i], precision)) return 1;
  sc_context_destroy(context);
  return 0;
}
