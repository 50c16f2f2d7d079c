/* bench --growth --plot: every curve has its points, and every picture is drawn. Minutes, of which most are states. */
#include "support/command.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>

static const char ball[] = "<mujoco><worldbody><geom type='plane' size='5 5 1'/>"
                           "<body pos='0 0 .1'><freejoint/><geom size='.1' mass='1'/></body></worldbody></mujoco>";

static char folder[256];

static void prepare(void) {
  folder_make(folder, sizeof folder);
  file_write(folder, "ball.xml", ball, strlen(ball));
}
static void clean_up(void) { folder_remove(folder); }
TestSuite(slow_bench, .init = prepare, .fini = clean_up, .timeout = 600);

/* lines of a curve in a file of JSON lines, each with these numbers, which are positive */
static int count_points(const char *text, const char *curve, const char *const *numbers) {
  int n = 0;
  for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
    char *line = strndup(at, strcspn(at, "\n"));
    cJSON *o = cJSON_Parse(line);
    cr_assert(cJSON_IsObject(o), "%s", line);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(o, "curve"));
    if (name && !strcmp(name, curve)) {
      n++;
      for (int i = 0; numbers[i]; i++) {
        const cJSON *x = cJSON_GetObjectItem(o, numbers[i]);
        cr_assert(cJSON_IsNumber(x) && x->valuedouble > 0, "%s in %s", numbers[i], line);
      }
    }
    cJSON_Delete(o);
    free(line);
  }
  return n;
}

Test(slow_bench, growth_is_measured_and_drawn) {
  static const char *const grown[] = {
      "nv", "envs", "threads", "softcon_us_per_env", "packed_us_per_env", "mujoco_us_per_env", "speedup", "bytes_per_env", NULL};
  static const char *const threads[] = {"threads", "softcon_us_per_env", "gain", "compute_gain", NULL};
  static const char *const pictures[] = {"speedup", "batch", "threads", "nv", "rows"};
  const char *const words[] = {
      "/bin/sh", "-c", SOFTCON_PROGRAM " bench ball.xml --growth --plot pictures --precision f64 --envs 64 --json --quiet >lines",
      NULL};
  command_result r = command_run(words, &(command_options){.folder = folder, .seconds = 590});
  cr_assert_eq(r.status, 0, "%d %s", r.status, r.err);
  char *text = file_read(folder, "lines", NULL);
  cr_assert(text);
  cr_assert_eq(count_points(text, "batch", grown), 9);
  cr_assert(count_points(text, "threads", threads) >= 1);
  cr_assert_eq(count_points(text, "chain", grown), 6);
  cr_assert_eq(count_points(text, "pile", grown), 6);
  free(text);
  for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
    char path[300];
    size_t n = 0;
    snprintf(path, sizeof path, "pictures/bench_%s.png", pictures[i]);
    char *png = file_read(folder, path, &n);
    cr_assert(png && n > 8000, "%s: %zu bytes", path, n);
    free(png);
  }
}
