#define _POSIX_C_SOURCE 200809L
#include "store_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ HDF5's errors */

/* the system's reason where there is one: HDF5 hides it behind times, names and addresses */
static herr_t keep_first(unsigned n, const H5E_error2_t *e, void *text) {
  static const char mark[] = "error message = '";
  const char *reason = e->desc ? strstr(e->desc, mark) : NULL;
  if (n == 0 && reason)
    snprintf(text, 160, ": %.*s", (int)strcspn(reason + strlen(mark), "'"), reason + strlen(mark));
  else if (n == 0 && e->desc)
    snprintf(text, 160, ": %.150s", e->desc);
  return 0;
}

int store_error(const char *call, const char *path, const char *what) {
  char why[160] = "";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, why);
  H5Eclear2(H5E_DEFAULT);
  return sc_error_set(SC_ERROR_FILE, "%s: %s: %s%s", call, path, what, why);
}

void store_be_silent(void) {
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* ------------------------------------------------------------------ pieces of a file */

void store_fail(store_writer *w, const char *what) {
  if (!w->code) w->code = store_error(STORE_WRITING, w->path, what);
}

static int start(store_writer *w, const char *path) {
  store_be_silent();
  *w = (store_writer){.path = path, .file = -1, .at = -1};
  int n = snprintf(w->temporary, sizeof w->temporary, "%s.%ld.tmp", path, (long)getpid());
  if (n < 0 || (size_t)n >= sizeof w->temporary)
    return w->code = sc_error_set(SC_ERROR_FILE, "%s: %.60s...: the path is too long", STORE_WRITING, path);
  return SC_OK;
}

int store_begin(store_writer *w, const char *path) {
  if (start(w, path)) return w->code;
  w->at = w->file = H5Fcreate(w->temporary, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (w->file < 0) store_fail(w, "cannot be made");
  return w->code;
}

/* 1: done; 0: failed, errno says how */
static int copy_file(const char *from, const char *to) {
  char buffer[1 << 16];
  size_t n;
  FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
  int ok = out != NULL;
  while (ok && (n = fread(buffer, 1, sizeof buffer, in)) > 0) ok = fwrite(buffer, 1, n, out) == n;
  ok = ok && !ferror(in);
  int failure = errno;
  if (in) fclose(in);
  if (out && fclose(out) && ok) failure = errno, ok = 0;
  errno = failure;
  return ok;
}

int store_begin_append(store_writer *w, const char *path) {
  if (access(path, F_OK)) return store_begin(w, path);
  if (start(w, path)) return w->code;
  if (!copy_file(path, w->temporary)) {
    w->code = sc_error_set(SC_ERROR_FILE, "%s: %s: cannot be copied: %s", STORE_WRITING, path, strerror(errno));
    remove(w->temporary);
    return w->code;
  }
  w->at = w->file = H5Fopen(w->temporary, H5F_ACC_RDWR, H5P_DEFAULT);
  if (w->file < 0) {
    store_fail(w, "not a readable HDF5 file, so nothing can be added to it");
    remove(w->temporary);
  }
  return w->code;
}

int store_finish(store_writer *w) {
  if (w->file >= 0 && H5Fclose(w->file) < 0) store_fail(w, "cannot be completed");
  if (!w->code && rename(w->temporary, w->path))
    w->code = sc_error_set(SC_ERROR_FILE, "%s: %s: %s", STORE_WRITING, w->path, strerror(errno));
  if (w->code && w->file >= 0) remove(w->temporary);
  return w->code;
}

hid_t store_put(store_writer *w, const char *name, hid_t stored, hid_t memory, size_t rows, size_t cols, const void *data) {
  if (w->code) return -1;
  hsize_t dims[2] = {rows, cols};
  int two = cols != STORE_ONE;
  hid_t space = H5Screate_simple(two ? 2 : 1, dims, NULL);
  hid_t set = H5Dcreate2(w->at, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  int empty = !rows || (two && !cols);
  if (set < 0 || (!empty && data && H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)) store_fail(w, name);
  H5Sclose(space);
  return set;
}

void store_put_doubles(store_writer *w, const char *name, size_t rows, size_t cols, const double *data) {
  hid_t set = store_put(w, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, rows, cols, data);
  if (set >= 0) H5Dclose(set);
}

void store_put_closed(store_writer *w, const char *name, hid_t stored, hid_t memory, size_t rows, const void *data) {
  hid_t set = store_put(w, name, stored, memory, rows, STORE_ONE, data);
  if (set >= 0) H5Dclose(set);
}

hid_t store_text_type(void) {
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

/* n: texts, or -1 for a single one that is no array */
static void attribute(store_writer *w, hid_t object, const char *name, hid_t stored, hid_t memory, int n, const void *data) {
  if (w->code || object < 0) return;
  hsize_t dim = n < 0 ? 0 : (hsize_t)n;
  hid_t space = n < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &dim, NULL);
  hid_t a = H5Acreate2(object, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
  if (a < 0 || H5Awrite(a, memory, data) < 0) store_fail(w, name);
  if (a >= 0) H5Aclose(a);
  H5Sclose(space);
}

void store_attribute_texts(store_writer *w, hid_t object, const char *name, int n, const char *const *texts) {
  hid_t type = store_text_type();
  attribute(w, object, name, type, type, n, texts);
  H5Tclose(type);
}

void store_attribute_int(store_writer *w, hid_t object, const char *name, long long value) {
  attribute(w, object, name, H5T_STD_I64LE, H5T_NATIVE_LLONG, -1, &value);
}

void store_attribute_double(store_writer *w, hid_t object, const char *name, double value) {
  attribute(w, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, -1, &value);
}

int sc_store_can_write(const char *path) {
  char folder[4096];
  size_t n = strlen(path);
  struct stat there;
  if (!n || path[n - 1] == '/' || (!stat(path, &there) && !S_ISREG(there.st_mode)))
    return sc_error_set(SC_ERROR_FILE, "%s: \"%s\" is not the name of a file", STORE_WRITING, path);
  if (n >= sizeof folder) return sc_error_set(SC_ERROR_FILE, "%s: %.60s...: the path is too long", STORE_WRITING, path);
  memcpy(folder, path, n + 1);
  char *slash = strrchr(folder, '/');
  if (slash)
    slash[slash == folder] = 0;
  else
    memcpy(folder, ".", 2);
  if (access(folder, W_OK | X_OK))
    return sc_error_set(SC_ERROR_FILE, "%s: %s: folder %.200s: %s", STORE_WRITING, path, folder, strerror(errno));
  return SC_OK;
}
