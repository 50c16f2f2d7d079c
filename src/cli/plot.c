#define _GNU_SOURCE /* open_memstream */
#include "plot.h"

#include "inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------ gnuplot */

static const char missing[] = "--plot needs gnuplot, which is not in PATH (Debian: apt-get install gnuplot-nox)";

/* Absolute path of gnuplot, since it is started in the pictures' folder. */
static int find_gnuplot(char *path, size_t size) {
  char resolved[PATH_MAX];
  for (const char *at = getenv("PATH"); at && *at;) {
    size_t n = strcspn(at, ":");
    int length = snprintf(path, size, "%.*s%sgnuplot", (int)n, at, n ? "/" : "");
    at += n + (at[n] == ':');
    if (length < 0 || (size_t)length >= size || access(path, X_OK) || !realpath(path, resolved)) continue;
    length = snprintf(path, size, "%s", resolved);
    if (length > 0 && (size_t)length < size) return 1;
  }
  return 0;
}

/* In the child, of a process with threads: nothing but system calls. */
static void start_gnuplot(const char *path, const char *folder, int in, int err) {
  char *argv[] = {(char[]){"gnuplot"}, (char[]){"-"}, NULL};
  int null = open("/dev/null", O_WRONLY);
  if (null < 0 || dup2(in, 0) < 0 || dup2(null, 1) < 0 || dup2(err, 2) < 0 || chdir(folder)) _exit(126);
  execv(path, argv);
  _exit(127);
}

static int write_all(int fd, const char *text, size_t n) {
  while (n) {
    ssize_t done = write(fd, text, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return 0;
    text += done, n -= (size_t)done;
  }
  return 1;
}

/* the first line with a word in it, of what gnuplot complained */
static void read_complaint(int fd, char *text, size_t size) {
  size_t n = 0;
  char rest[256];
  for (ssize_t got; n < size - 1 && (got = read(fd, text + n, size - 1 - n)) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) n += (size_t)got;
  }
  while (read(fd, rest, sizeof rest) > 0) {
  }
  text[n] = 0;
  const char *line = strstr(text, "line ");
  if (!line) line = text + strspn(text, " \t\n");
  memmove(text, line, strlen(line) + 1);
  text[strcspn(text, "\n")] = 0;
}

/* Exit status 0 or EXIT_INPUT. `complaint` receives why. */
static int run_gnuplot(const picture *p, char *complaint, size_t size) {
  char path[PATH_MAX];
  int in[2], err[2], state = 0;
  struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
  if (!find_gnuplot(path, sizeof path)) {
    snprintf(complaint, size, "%s", missing);
    return EXIT_INPUT;
  }
  if (pipe2(in, O_CLOEXEC)) return snprintf(complaint, size, "%s", strerror(errno)), EXIT_INTERNAL;
  if (pipe2(err, O_CLOEXEC)) {
    snprintf(complaint, size, "%s", strerror(errno));
    close(in[0]), close(in[1]);
    return EXIT_INTERNAL;
  }
  pid_t child = fork();
  if (child == 0) start_gnuplot(path, p->folder, in[0], err[1]);
  close(in[0]), close(err[1]);
  sigaction(SIGPIPE, &ignore, &before); /* gnuplot leaves at its first error, the script half read */
  int sent =
      child > 0 && write_all(in[1], p->data_text, p->data_size) && write_all(in[1], p->script_text, p->script_size);
  close(in[1]);
  sigaction(SIGPIPE, &before, NULL);
  read_complaint(err[0], complaint, size);
  close(err[0]);
  while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  if (child > 0 && sent && WIFEXITED(state) && WEXITSTATUS(state) == 0) return 0;
  if (!*complaint) snprintf(complaint, size, child > 0 ? "it was stopped" : "it could not be started");
  return EXIT_INPUT;
}

/* ------------------------------------------------------------------ files */

static void file_name(const picture *p, const char *suffix, char *path, size_t size) {
  snprintf(path, size, "%s/%s.%s", p->folder, p->name, suffix);
}

/* Whether gnuplot reached the end: a full disk goes by without a word from it. */
static int whole(const char *path, const char *end) {
  char tail[64] = "";
  FILE *f = fopen(path, "rb");
  if (!f) return 0;
  size_t n = fseek(f, -32, SEEK_END) ? 0 : fread(tail, 1, 32, f);
  fclose(f);
  return n && memmem(tail, n, end, strlen(end)) != NULL;
}

static int keep_files(const picture *p, char *complaint, size_t size) {
  static const char *const suffixes[] = {"png", "svg"}, *const ends[] = {"IEND", "</svg>"};
  char part[2][PATH_MAX], path[PATH_MAX];
  for (int k = 0; k < 2; k++) {
    file_name(p, k ? "svg.part" : "png.part", part[k], sizeof part[k]);
    if (!whole(part[k], ends[k])) {
      snprintf(complaint, size, "%s.%s was not written to its end", p->name, suffixes[k]);
      return EXIT_INPUT;
    }
  }
  for (int k = 0; k < 2; k++) {
    file_name(p, suffixes[k], path, sizeof path);
    if (!rename(part[k], path)) continue;
    snprintf(complaint, size, "%s.%s: %s", p->name, suffixes[k], strerror(errno));
    return EXIT_INPUT;
  }
  return 0;
}

static void remove_parts(const picture *p) {
  char path[PATH_MAX];
  file_name(p, "png.part", path, sizeof path);
  unlink(path);
  file_name(p, "svg.part", path, sizeof path);
  unlink(path);
}

int plot_check(const char *folder) {
  char path[PATH_MAX];
  if (!find_gnuplot(path, sizeof path)) return cli_fail_with(EXIT_INPUT, "%s", missing);
  if (mkdir(folder, 0777) && errno != EEXIST)
    return cli_fail_with(EXIT_INPUT, "--plot %s: %s", folder, strerror(errno));
  int length = snprintf(path, sizeof path, "%s/.", folder); /* so that a file in its place is refused too */
  if (length < 0 || (size_t)length >= sizeof path - 64)
    errno = ENAMETOOLONG;
  else if (!access(path, W_OK | X_OK))
    return 0;
  return cli_fail_with(EXIT_INPUT, "--plot %s: %s", folder, strerror(errno));
}

/* ------------------------------------------------------------------ texts */

const char *plot_escape(const char *text, char *buffer, size_t size) {
  size_t n = 0;
  for (; *text && n + 3 < size; text++) {
    char c = *text;
    if (strchr("_^{}@&~\\", c)) buffer[n++] = '\\';
    if (c == '\'') buffer[n++] = c;
    buffer[n++] = (unsigned char)c < ' ' ? ' ' : c;
  }
  buffer[n] = 0;
  return buffer;
}

const char *plot_model_name(const char *path, char *buffer, size_t size) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  snprintf(buffer, size, strlen(name) > 40 ? "%.37s..." : "%s", name);
  return buffer;
}

/* ------------------------------------------------------------------ one picture */

/* One look for all: sizes in points of an 800 x 520 picture; the PNG has twice the pixels. */
static const char style[] = "set encoding utf8\n"
                            "set border 3 lw 1 lc rgb '#404040'\n"
                            "set tics nomirror out scale 0.6 textcolor rgb '#202020'\n"
                            "set grid lw 1 lt 1 lc rgb '#e4e4e4'\n"
                            "set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.6,0.4\n"
                            "set linetype 1 lw 2 lc rgb '#0072b2' pt 7\n"
                            "set linetype 2 lw 2 lc rgb '#d55e00' pt 7\n"
                            "set linetype 3 lw 2 lc rgb '#009e73' pt 7\n"
                            "set linetype 4 lw 2 lc rgb '#aa4499' pt 7\n"
                            "set linetype 5 lw 1.5 lc rgb '#606060' dt (8,5) pt 7\n"
                            "set linetype 6 lw 1.5 lc rgb '#202020' dt (2,3) pt 7\n"
                            "set lmargin at screen 0.115\nset rmargin at screen 0.965\nset autoscale yfix\n"
                            "set key at screen 0.54,0.02 bottom center vertical maxrows 2 Left reverse samplen 2.2 "
                            "spacing 1.15 width 2 textcolor rgb '#202020'\n";

double plot_bottom(int key_rows) { return key_rows ? 0.145 + 0.045 * key_rows : 0.135; }

int picture_begin(picture *p, const char *folder, const char *name, const char *title, const char *subtitle,
                  const char *subtitle2, int key_rows) {
  char text[3 * PLOT_TEXT];
  *p = (picture){.folder = folder, .name = name};
  p->data = open_memstream(&p->data_text, &p->data_size);
  p->script = open_memstream(&p->script_text, &p->script_size);
  if (!p->data || !p->script) {
    if (p->data) fclose(p->data);
    free(p->data_text);
    return cli_fail_with(EXIT_INTERNAL, "no memory for a picture");
  }
  fprintf(p->script, "set tmargin at screen %g\nset bmargin at screen %g\n", subtitle2 ? 0.825 : 0.865,
          plot_bottom(key_rows));
  fprintf(p->script, "set label 1 '{/*1.25 {/:Bold %s}}' at screen 0.03,0.957 left\n",
          plot_escape(title, text, sizeof text));
  if (subtitle)
    fprintf(p->script, "set label 2 '{/*0.92 %s}' at screen 0.03,0.914 left textcolor rgb '#505050'\n",
            plot_escape(subtitle, text, sizeof text));
  if (subtitle2)
    fprintf(p->script, "set label 3 '{/*0.92 %s}' at screen 0.03,0.877 left textcolor rgb '#505050'\n",
            plot_escape(subtitle2, text, sizeof text));
  return 0;
}

/* The script becomes: style and commands for the PNG, and again for the SVG. */
static int double_script(picture *p) {
  char *body = p->script_text;
  p->script_text = NULL;
  p->script = open_memstream(&p->script_text, &p->script_size);
  if (!p->script) {
    free(body);
    return 0;
  }
  fprintf(p->script,
          "set terminal pngcairo enhanced size 1600,1040 font 'Sans,11' fontscale 2 linewidth 2 pointscale 2\n"
          "set output '%s.png.part'\n%s%s\nunset output\nreset\n",
          p->name, style, body);
  fprintf(p->script,
          "set terminal svg enhanced size 800,520 dynamic font 'sans-serif,11' background '#ffffff'\n"
          "set output '%s.svg.part'\n%s%s\nunset output\n",
          p->name, style, body);
  free(body);
  return !fclose(p->script);
}

int picture_end(picture *p) {
  char complaint[400] = "no memory";
  int lost = fclose(p->data), status = EXIT_INTERNAL;
  lost |= fclose(p->script);
  if (!lost && double_script(p)) {
    status = run_gnuplot(p, complaint, sizeof complaint);
    if (!status) status = keep_files(p, complaint, sizeof complaint);
    remove_parts(p);
  }
  free(p->data_text);
  free(p->script_text);
  if (!status) return 0;
  return cli_fail_with(status, "--plot %s: gnuplot could not draw %s: %s", p->folder, p->name, complaint);
}

/* ------------------------------------------------------------------ rows */

int plot_row_angular(const sc_model *model, const sc_row_info *row) {
  sc_joint_info joint;
  for (int k = 0; k < 2; k++)
    if ((row->object[k] == SC_OBJECT_JOINT && row->type == SC_LIMIT_JOINT) ||
        (row->type == SC_EQUALITY && row->equality == 2))
      if (row->object[k] == SC_OBJECT_JOINT && !sc_inspect_joint(model, row->object_id[k], &joint))
        return joint.type != 2;
  return 0;
}

int plot_block_at(const plot_rows *r, int i, plot_block *block) {
  const sc_row_info *row = &r->rows[i];
  if (row->type < SC_LIMIT_JOINT || row->block_row) return 0;
  *block = (plot_block){.first = i, .edges = row->type == SC_CONTACT_PYRAMIDAL ? row->block_rows : 1};
  block->angular = plot_row_angular(r->model, row);
  return i + block->edges <= r->n;
}

/* ------------------------------------------------------------------ commands */

int plot_inspect(const struct inspection *s) {
  plot_rows r = {.options = s->options,
                 .folder = s->options->plot,
                 .path = s->job.path,
                 .model = s->job.model,
                 .problem = &s->problem};
  r.timestep = s->job.info.timestep, r.refsafe = s->flags.refsafe, r.rows = s->info, r.n = s->nefc;
  snprintf(r.from, sizeof r.from, "%s%.100s", s->key >= 0 && strncmp(s->from, "keyframe", 8) ? "keyframe " : "",
           s->from);
  return plot_laws(&r);
}

/* Laws of one environment; *drawn stays 0 where its rows cannot be made again. */
static int plot_environment(const job *j, int env, int refsafe, const sc_problem *problem, int *drawn) {
  plot_rows r = {
      .options = j->options, .folder = j->options->plot, .path = j->path, .model = j->model, .refsafe = refsafe};
  size_t nstate;
  int n = 0, status = 0, code = sc_state_size(j->model, j->sig, &nstate);
  sc_row_info *rows = malloc((size_t)problem->nefc * sizeof *rows);
  if (!rows) return cli_fail_with(EXIT_INTERNAL, "no memory for the rows of environment %d", env);
  if (!code) code = sc_inspect_rows(j->model, j->states + (size_t)env * nstate, j->sig, problem->nefc, rows, NULL, &n);
  *drawn = !code && n == problem->nefc;
  r.timestep = j->info.timestep, r.problem = problem, r.rows = rows, r.n = n;
  snprintf(r.from, sizeof r.from, "environment %d", env);
  if (*drawn) status = plot_laws(&r);
  free(rows);
  return status;
}

/* of the first environment in which something touches, else of the first with any rows */
static int plot_first(const job *j) {
  sc_flags_info flags;
  int drawn = 0, status = 0, code = sc_inspect_flags(j->model, &flags);
  if (code) return cli_fail(code);
  for (int least = SC_LIMIT_JOINT; !drawn && !status && least >= SC_EQUALITY; least -= SC_LIMIT_JOINT)
    for (int env = 0; env < j->nenv && !drawn && !status; env++) {
      sc_problem problem;
      sc_rows numbers;
      int touches = 0;
      code = sc_batch_get(j->batch, env, &problem, &numbers);
      if (code) return cli_fail(code);
      for (int i = 0; i < problem.nefc && !numbers.bad; i++) touches |= problem.efc_type[i] >= least;
      if (touches) status = plot_environment(j, env, flags.refsafe, &problem, &drawn);
    }
  if (!drawn && !status) cli_note(j->options, "--plot: no environment has rows: there are no laws to draw");
  return status;
}

int plot_solve(const job *j, const timed_solver *t) {
  if (!j->nenv) {
    cli_note(j->options, "--plot: there are no environments to draw");
    return 0;
  }
  int status = plot_batch(j, t);
  return status ? status : plot_first(j);
}
