/* What `bench` measures: four scenes, the models that are named, or states that bench/record_states.py has recorded. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_SCENES 64

/* ------------------------------------------------------------------ names and folders */

/* file name without folder and ending */
static void scene_name(const char *path, char *name, size_t size) {
  const char *slash = strrchr(path, '/');
  snprintf(name, size, "%s", slash ? slash + 1 : path);
  char *dot = strrchr(name, '.');
  if (dot && dot != name) *dot = 0;
}

int bench_make_folder(const char *path) {
  char part[4096];
  size_t n = strlen(path);
  if (n >= sizeof part) return cli_fail_with(EXIT_INPUT, "--out %.60s...: the path is too long", path);
  for (size_t i = 1; i <= n; i++) {
    if (path[i] != '/' && path[i]) continue;
    memcpy(part, path, i);
    part[i] = 0;
    if (mkdir(part, 0777) && errno != EEXIST) return cli_fail_with(EXIT_INPUT, "--out %s: %s", part, strerror(errno));
  }
  return access(path, W_OK | X_OK) ? cli_fail_with(EXIT_INPUT, "--out %s: %s", path, strerror(errno)) : 0;
}

static bench_scene *add_scene(bench *b, const char *path) {
  bench_scene *s = &b->scenes[b->nscene++];
  snprintf(s->model, sizeof s->model, "%s", path);
  scene_name(path, s->name, sizeof s->name);
  snprintf(s->file, sizeof s->file, "%s", s->name);
  s->options = *b->options;
  return s;
}

static int default_scenes(bench *b) {
  static const char *const names[] = {"legged", "humanoid", "gripper", "boxes"};
#ifdef SOFTCON_SCENES
  static const char *const folders[] = {SOFTCON_SCENES, "scenes"};
#else
  static const char *const folders[] = {"scenes"};
#endif
  char path[4096];
  for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
    b->nscene = 0;
    for (int i = 0; i < 4; i++) {
      snprintf(path, sizeof path, "%.4000s/%s.xml", folders[f], names[i]);
      if (!access(path, R_OK)) add_scene(b, path);
    }
    if (b->nscene == 4) return 0;
  }
  return cli_fail_with(EXIT_INPUT, "bench: no scenes in %s: name the models to measure", folders[0]);
}

/* ------------------------------------------------------------------ recorded states */

static char *read_text(const char *path) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  size_t size = 0, n = 0, got;
  if (!f) return NULL;
  do {
    char *bigger = size - n < 4096 ? realloc(text, size = 2 * size + 8192) : text;
    if (!bigger) break;
    text = bigger;
    got = fread(text + n, 1, size - n - 1, f);
    n += got;
    text[n] = 0;
  } while (got);
  fclose(f);
  return text;
}

/* The model's file where it was when the states were recorded, else of that name beside them. */
static int find_model(const bench *b, const cJSON *entry, const char *name, char *path, size_t size) {
  const char *xml = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "xml"));
  if (!xml)
    return cli_fail_with(EXIT_INPUT, "--recorded %s: manifest.json: %s has no text \"xml\"", b->options->recorded,
                         name);
  snprintf(path, size, "%s", xml);
  if (!access(path, R_OK)) return 0;
  const char *slash = strrchr(xml, '/');
  snprintf(path, size, "%.3000s/%.1000s", b->options->recorded, slash ? slash + 1 : xml);
  if (!access(path, R_OK)) return 0;
  return cli_fail_with(EXIT_INPUT, "--recorded %s: %s's model %s: %s", b->options->recorded, name, xml,
                       strerror(errno));
}

static int add_recorded(bench *b, const cJSON *entry) {
  static const char *const cones[] = {"pyramidal", "elliptic"};
  char path[4096];
  int status = find_model(b, entry, entry->string, path, sizeof path);
  for (int cone = 0; cone < 2 && !status; cone++) {
    const char *file = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, cones[cone]));
    if (!file || (b->options->cone >= 0 && b->options->cone != cone)) continue;
    if (b->nscene == MOST_SCENES)
      return cli_fail_with(EXIT_INPUT, "--recorded %s: more than %d sets of states", b->options->recorded, MOST_SCENES);
    bench_scene *s = add_scene(b, path);
    snprintf(s->name, sizeof s->name, "%s", entry->string);
    snprintf(s->file, sizeof s->file, "%.40s-%s", entry->string, cones[cone]);
    snprintf(s->states, sizeof s->states, "%.3000s/%.1000s", b->options->recorded, file);
    s->options.states = s->states, s->options.cone = cone, s->options.solver_defaults = 1;
  }
  return status;
}

static int recorded_scenes(bench *b) {
  char path[4096];
  int status = 0;
  snprintf(path, sizeof path, "%.4000s/manifest.json", b->options->recorded);
  char *text = read_text(path);
  if (!text)
    return cli_fail_with(EXIT_INPUT, "--recorded %s: manifest.json: %s (bench/record_states.py writes it)",
                         b->options->recorded, strerror(errno));
  cJSON *manifest = cJSON_Parse(text), *entry;
  free(text);
  if (!cJSON_IsObject(manifest))
    status = cli_fail_with(EXIT_INPUT, "--recorded %s: manifest.json is not a JSON object", b->options->recorded);
  cJSON_ArrayForEach(entry, manifest) if (!status) status = add_recorded(b, entry);
  cJSON_Delete(manifest);
  if (!status && !b->nscene)
    status = cli_fail_with(EXIT_INPUT, "--recorded %s: manifest.json names no states", b->options->recorded);
  return status;
}

/* ------------------------------------------------------------------ all */

int bench_find_scenes(bench *b) {
  const cli_options *o = b->options;
  if (o->nmodel > MOST_SCENES) return cli_fail_with(EXIT_USAGE, "bench: %d models, at most %d", o->nmodel, MOST_SCENES);
  if (o->recorded && (o->nmodel || o->states))
    return cli_fail_with(EXIT_USAGE, "bench: --recorded and %s exclude each other", o->states ? "--states" : "models");
  if (o->states && o->nmodel != 1)
    return cli_fail_with(EXIT_USAGE, "bench: --states goes with one model, not %d", o->nmodel);
  b->scenes = calloc(MOST_SCENES, sizeof *b->scenes);
  if (!b->scenes) return cli_fail_with(EXIT_INTERNAL, "bench: no memory");
  if (o->recorded) return recorded_scenes(b);
  for (int i = 0; i < o->nmodel; i++) add_scene(b, o->models[i]);
  return o->nmodel ? 0 : default_scenes(b);
}
