/* Models of any size, to see how time grows: a chain over a floor, and a wall of loose bricks. */
#include "bench.h"

#include <errno.h>
#include <string.h>

static int close_file(FILE *f, const char *path) {
  int lost = ferror(f);
  lost |= fclose(f);
  return lost ? cli_fail_with(EXIT_INPUT, "%s: %s", path, strerror(errno)) : 0;
}

static FILE *open_file(const char *path, const char *model) {
  FILE *f = fopen(path, "w");
  if (!f) {
    cli_fail_with(EXIT_INPUT, "%s: %s", path, strerror(errno));
    return NULL;
  }
  fprintf(f,
          "<mujoco model=\"%s\">\n<option timestep=\"0.002\"/>\n<worldbody>\n<geom type=\"plane\" size=\"50 50 1\" "
          "friction=\"0.7\"/>\n",
          model);
  return f;
}

/* 10 cm links from a post of 25 cm; the hinges turn up and down and sideways, every third has dry friction. nv = n */
int bench_write_chain(const char *path, int n) {
  FILE *f = open_file(path, "chain");
  if (!f) return EXIT_INPUT;
  for (int i = 0; i < n; i++)
    fprintf(f,
            "<body pos=\"%s\"><joint axis=\"0 %d %d\" range=\"-40 40\" limited=\"true\" damping=\"0.02\" "
            "armature=\"0.001\"%s/>"
            "<geom type=\"capsule\" fromto=\"0 0 0 .1 0 0\" size=\".02\" density=\"800\" contype=\"2\" "
            "conaffinity=\"1\"/>\n",
            i ? ".1 0 0" : "0 0 .25", i % 2 == 0, i % 2, i % 3 ? "" : " frictionloss=\"0.02\"");
  for (int i = 0; i < n; i++) fputs("</body>", f);
  fputs("\n</worldbody>\n</mujoco>\n", f);
  return close_file(f, path);
}

/* n bricks on the floor, one less in each layer above, half a brick aside. nv = 3 n (n + 1) */
int bench_write_pile(const char *path, int n) {
  FILE *f = open_file(path, "pile");
  if (!f) return EXIT_INPUT;
  for (int layer = 0; layer < n; layer++)
    for (int i = 0; i < n - layer; i++)
      fprintf(f,
              "<body pos=\"%.4g 0 %.4g\"><freejoint/><geom type=\"box\" size=\".1 .06 .04\" mass=\"1\" "
              "friction=\"0.6\"/></body>\n",
              0.21 * i + 0.105 * layer, 0.0401 + 0.08015 * layer);
  fputs("</worldbody>\n</mujoco>\n", f);
  return close_file(f, path);
}
