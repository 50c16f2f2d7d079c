/* Recorded states as problems in a compact file (problems.h), for scripts/gpu-check on a machine without MuJoCo.
 *
 *     gpu_inputs MODEL.xml STATES.h5 OUT MOST [pyramidal|elliptic]
 *
 * Writes OUT.bin; and for mujoco_warp, where it is there, OUT.mjb and OUT.states: three ints, states, numbers of a state and
 * signature, and the numbers in double. */
#include "problems.h"
#include "softcon_mujoco.h"
#include "store.h"

#include <mujoco/mujoco.h>

static int fail(const char *what) {
  fprintf(stderr, "gpu_inputs: %s\n", what);
  return 3;
}

static int write_batch(const sc_batch *batch, int n, const char *path) {
  FILE *f = fopen(path, "wb");
  if (!f) return 0;
  int ok = fwrite(PROBLEMS_MAGIC, 8, 1, f) == 1 && fwrite(&n, sizeof n, 1, f) == 1;
  for (int i = 0; ok && i < n; i++) {
    sc_problem p;
    ok = !sc_batch_get(batch, i, &p, NULL) && write_problem(f, &p);
  }
  return !fclose(f) && ok;
}

static int write_states(const double *states, int n, int nstate, int sig, const char *path) {
  const int header[3] = {n, nstate, sig};
  size_t numbers = (size_t)n * (size_t)nstate;
  FILE *f = fopen(path, "wb");
  if (!f) return 0;
  int ok = fwrite(header, sizeof header, 1, f) == 1 && fwrite(states, sizeof *states, numbers, f) == numbers;
  return !fclose(f) && ok;
}

static const char *with(const char *out, const char *suffix) {
  static char path[1100];
  snprintf(path, sizeof path, "%.1000s%s", out, suffix);
  return path;
}

int main(int argc, char **argv) {
  char why[500] = "";
  if (argc < 5 || atoi(argv[4]) < 1) return fprintf(stderr, "usage: gpu_inputs MODEL.xml STATES.h5 OUT MOST [pyramidal|elliptic]\n"), 2;
  mjModel *m = mj_loadXML(argv[1], NULL, why, sizeof why);
  if (!m) return fail(why);
  if (argc > 5) m->opt.cone = strcmp(argv[5], "elliptic") ? mjCONE_PYRAMIDAL : mjCONE_ELLIPTIC;
  double *states;
  int n, sig;
  size_t nstate;
  sc_context *context;
  sc_model *model;
  sc_batch *batch;
  if (sc_store_states_read(argv[2], &states, &n, &nstate, &sig)) return fail(sc_error_text());
  if (n > atoi(argv[4])) n = atoi(argv[4]);
  if ((int)nstate != mj_stateSize(m, sig)) return fail("the states are not this model's");
  if (sc_context_create(NULL, &context) || sc_model_wrap(m, NULL, &model) || sc_batch_create(context, n, &batch)) return fail(sc_error_text());
  if (sc_model_batch(context, model, states, sig, n, batch, NULL, NULL, NULL)) return fail(sc_error_text());
  if (!write_batch(batch, n, with(argv[3], ".bin")) || !write_states(states, n, (int)nstate, sig, with(argv[3], ".states")))
    return fail("the files cannot be written");
  mj_saveModel(m, with(argv[3], ".mjb"), NULL, 0);
  printf("%s: %d problems\n", argv[3], n);
  sc_batch_destroy(batch), sc_model_destroy(model), sc_context_destroy(context), free(states), mj_deleteModel(m);
  return 0;
}
