/* Run a program as a shell would, in a folder, under limits, and keep what it says. Include it first: it asks for GNU's
 * declarations. */
#ifndef TEST_COMMAND_H
#define TEST_COMMAND_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMAND_WORDS 64
#define COMMAND_TEXT 16384 /* bytes of each stream that are kept */
#define COMMAND_NOT_RUN 125 /* exit status of a child that could not be set up */

/* All zero: no folder, no limits, one minute. */
typedef struct {
  const char *folder;       /* to run in */
  const char *out;          /* standard output goes to this file; NULL: it is kept */
  size_t address_space;     /* bytes; 0: no limit */
  size_t file_size;         /* bytes of a file; a write beyond fails with EFBIG */
  int plain_user;           /* 1: root's right to pass by permissions is given up */
  const char *small_disk;   /* a folder (absolute) where the program sees a disk of 64 KiB instead */
  const char *interrupt_at; /* SIGINT once standard error holds this */
  const char *kill_at_file; /* SIGKILL once a file of the folder has this ending, and so many milliseconds have passed */
  int kill_after;
  int seconds;              /* then it is killed; 0: 60 */
} command_options;

typedef struct {
  int status;               /* exit status, -1 when a signal ended it */
  int signal;               /* that signal, or 0 */
  int late;                 /* 1: it was killed for its time */
  int interrupted;          /* 1: SIGINT was sent */
  char out[COMMAND_TEXT], err[COMMAND_TEXT];
} command_result;

static inline int command_limit(int what, size_t bytes) {
  struct rlimit limit = {bytes, bytes};
  return bytes && setrlimit((__rlimit_resource_t)what, &limit);
}

/* in the child; does not return */
static inline void command_child(const char *const *words, const command_options *o, int out, int err) {
  int null = open("/dev/null", O_RDONLY);
  if (o->out) out = open(o->out, O_WRONLY);
  if (null < 0 || out < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(COMMAND_NOT_RUN);
  setenv("ASAN_OPTIONS", "allocator_may_return_null=1", 0); /* as malloc does */
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGINT, SIG_DFL);
  if (o->small_disk && (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
                        mount("none", o->small_disk, "tmpfs", 0, "size=64k")))
    _exit(COMMAND_NOT_RUN);
  if (o->folder && chdir(o->folder)) _exit(COMMAND_NOT_RUN);
  if (o->plain_user && !geteuid() && (prctl(PR_CAPBSET_DROP, 1 /* CAP_DAC_OVERRIDE */) || prctl(PR_CAPBSET_DROP, 2 /* CAP_DAC_READ_SEARCH */)))
    _exit(COMMAND_NOT_RUN);
  if (command_limit(RLIMIT_AS, o->address_space) || command_limit(RLIMIT_FSIZE, o->file_size)) _exit(COMMAND_NOT_RUN);
  execv(words[0], (char *const *)(void *)words);
  _exit(COMMAND_NOT_RUN);
}

static inline void command_read(FILE *file, char *text) {
  ssize_t n = pread(fileno(file), text, COMMAND_TEXT - 1, 0);
  text[n < 0 ? 0 : n] = 0;
}

/* whether a file of the folder has this ending */
static inline int command_sees(const char *path, const char *ending) {
  DIR *list = opendir(path);
  int found = 0;
  for (struct dirent *e; list && !found && (e = readdir(list)) != NULL;) {
    size_t n = strlen(e->d_name), m = strlen(ending);
    found = n >= m && !strcmp(e->d_name + n - m, ending);
  }
  if (list) closedir(list);
  return found;
}

/* words end with NULL; words[0] is the program's path */
static inline command_result command_run(const char *const *words, const command_options *o) {
  command_result r = {.status = -1};
  struct timespec pause = {0, o->kill_at_file ? 200000 : 2000000}, t;
  FILE *out = tmpfile(), *err = tmpfile();
  int state = 0;
  if (!out || !err) abort();
  pid_t child = fork();
  if (child == 0) command_child(words, o, fileno(out), fileno(err));
  clock_gettime(CLOCK_MONOTONIC, &t);
  time_t end = t.tv_sec + (o->seconds ? o->seconds : 60);
  while (child > 0 && waitpid(child, &state, WNOHANG) == 0) {
    nanosleep(&pause, NULL);
    if (o->interrupt_at && !r.interrupted) {
      command_read(err, r.err);
      if (strstr(r.err, o->interrupt_at)) r.interrupted = !kill(child, SIGINT);
    }
    if (o->kill_at_file && command_sees(o->folder, o->kill_at_file)) {
      struct timespec more = {0, o->kill_after * 1000000L};
      nanosleep(&more, NULL);
      kill(child, SIGKILL);
    }
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (t.tv_sec < end || r.late) continue;
    r.late = 1;
    kill(child, SIGKILL);
  }
  command_read(out, r.out);
  command_read(err, r.err);
  fclose(out);
  fclose(err);
  if (WIFEXITED(state)) r.status = WEXITSTATUS(state);
  if (WIFSIGNALED(state)) r.signal = WTERMSIG(state);
  return r;
}

/* The words of a line, parted by spaces; '' is an empty word. They stand in `buffer`. */
static inline int command_split(const char *line, char *buffer, size_t size, const char **words, int most) {
  int n = 0;
  snprintf(buffer, size, "%s", line);
  for (char *at = buffer, *save = NULL, *word; n < most && (word = strtok_r(at, " ", &save)) != NULL; at = NULL)
    words[n++] = strcmp(word, "''") ? word : "";
  return n;
}

/* ------------------------------------------------------------------ a folder for files */

static inline void folder_make(char *path, size_t size) {
  const char *base = getenv("TMPDIR");
  snprintf(path, size, "%s/softcon-test-XXXXXX", base && *base ? base : "/tmp");
  if (!mkdtemp(path)) abort();
}

static inline void folder_remove(const char *path) {
  const char *const words[] = {"/bin/rm", "-rf", path, NULL};
  command_run(words, &(command_options){0});
}

static inline void file_write(const char *folder, const char *name, const void *data, size_t n) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(data, 1, n, f) != n || fclose(f)) abort();
}

/* the whole file, with a zero behind it; NULL when there is none. The caller frees it */
static inline char *file_read(const char *folder, const char *name, size_t *n) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "rb");
  if (n) *n = 0;
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  rewind(f);
  char *data = malloc((size_t)size + 1);
  if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) abort();
  data[size] = 0;
  fclose(f);
  if (n) *n = (size_t)size;
  return data;
}

#endif
