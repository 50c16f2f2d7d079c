/* The recorded states of real robots that bench/record_states.py wrote into the folder SOFTCON_STATES. */
#ifndef TEST_RECORDED_H
#define TEST_RECORDED_H

#include "model_run.h"

#include "store.h"

#include <cjson/cJSON.h>
#include <criterion/parameterized.h>
#include <stdio.h>

static inline const char *folder(void) { return getenv("SOFTCON_STATES"); }

/* NULL: there is none */
static inline cJSON *read_manifest(char *path, size_t size) {
  static char text[1 << 18];
  snprintf(path, size, "%s/manifest.json", folder() ? folder() : "");
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  return cJSON_Parse(text);
}

static inline const char *text_of(const cJSON *entry, const char *key) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, key));
  cr_assert(text != NULL, "manifest.json has no %s for %s", key, entry->string);
  return text;
}

/* the settings under which the states were recorded */
static inline mjModel *load(const cJSON *entry, int elliptic) {
  char error[500] = "", path[1024];
  const char *xml = text_of(entry, "xml");
  if (xml[0] == '/')
    snprintf(path, sizeof path, "%s", xml);
  else
    snprintf(path, sizeof path, "%s/%s", folder(), xml);
  mjModel *m = mj_loadXML(path, NULL, error, sizeof error);
  cr_assert(m != NULL, "%s: %s", path, error);
  m->opt.cone = elliptic ? mjCONE_ELLIPTIC : mjCONE_PYRAMIDAL;
  m->opt.solver = mjSOL_NEWTON;
  m->opt.iterations = 100, m->opt.tolerance = 1e-8, m->opt.noslip_iterations = 0;
  if (m->opt.integrator == mjINT_RK4) m->opt.integrator = mjINT_EULER;
  return m;
}

/* The states of one model and cone. */
typedef struct {
  char name[100];
  mjModel *model;
  double *states;
  int n, sig;
} recorded;

static inline recorded open_recorded(const cJSON *entry, int elliptic) {
  const char *cone = elliptic ? "elliptic" : "pyramidal";
  char path[1024];
  recorded r;
  size_t nstate;
  snprintf(r.name, sizeof r.name, "%s, %s", entry->string, cone);
  snprintf(path, sizeof path, "%s/%s", folder(), text_of(entry, cone));
  CALL(sc_store_states_read(path, &r.states, &r.n, &nstate, &r.sig));
  r.model = load(entry, elliptic);
  cr_assert(r.n > 0 && (int)nstate == mj_stateSize(r.model, r.sig), "%s: %d states of %zu numbers", path, r.n, nstate);
  return r;
}

static inline void close_recorded(recorded *r) {
  free(r->states);
  mj_deleteModel(r->model);
}

/* ------------------------------------------------------------------ a test for each model and cone */

static inline void free_index(struct criterion_test_params *all) { cr_free(all->params); }

/* one test at least, which fails where there is no manifest */
static inline struct criterion_test_params recorded_indices(void) {
  char path[1024];
  cJSON *manifest = read_manifest(path, sizeof path);
  int models = manifest ? cJSON_GetArraySize(manifest) : 0, n = models ? 2 * models : 1;
  int *index = cr_malloc((size_t)n * sizeof *index); /* the tests are processes of their own: Criterion's memory only */
  for (int i = 0; i < n; i++) index[i] = i;
  cJSON_Delete(manifest);
  return cr_make_param_array(int, index, (size_t)n, free_index);
}

static inline void each_recorded(int index, void (*check)(const cJSON *entry, int elliptic)) {
  char path[1024];
  cr_assert(folder() != NULL,
            "SOFTCON_STATES must name the folder that bench/record_states.py wrote; scripts/test makes one and sets it");
  cJSON *manifest = read_manifest(path, sizeof path);
  const cJSON *entry = cJSON_GetArrayItem(manifest, index / 2);
  cr_assert(entry != NULL, "%s cannot be read, is not JSON, or is empty", path);
  check(entry, index % 2);
  cJSON_Delete(manifest);
}

#endif
