/* Reading environments that were set aside. Nothing in the file is trusted: sizes and kinds are checked here, the numbers by
 * sc_batch_set. */
#define _POSIX_C_SOURCE 200809L
#include "store_aside_fields.h"
#include "store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READING "file of environments set aside"

/* One group that is being read. */
typedef struct {
  const char *path;
  char where[40]; /* "environment 17" or "entry 3" */
  hid_t group;
  sc_aside *aside;
  size_t entries[OF_COUNT]; /* of arrays whose size is only known by reading the first; SIZE_MAX before */
  int code;
} reader;

static void wrong(reader *r, const char *format, ...) {
  char text[300];
  va_list args;
  if (r->code) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  r->code = sc_error_set(SC_ERROR_FILE, READING ": %s: %s: %s", r->path, r->where, text);
}

/* ------------------------------------------------------------------ memory */

/* Everything that was allocated for an environment, in a list. */
typedef struct block {
  struct block *next;
  double data[];
} block;

static void *keep(reader *r, size_t bytes) {
  block *b = r->code ? NULL : calloc(1, sizeof *b + bytes + 1);
  if (!b && !r->code)
    r->code = sc_error_set(SC_ERROR_MEMORY, READING ": %s: %s: no memory for %zu bytes", r->path, r->where, bytes);
  if (!b) return NULL;
  b->next = r->aside->memory;
  r->aside->memory = b;
  return b->data;
}

void sc_aside_free(sc_aside *a) {
  for (block *b = a->memory, *next; b; b = next) {
    next = b->next;
    free(b);
  }
  memset(a, 0, sizeof *a);
}

/* ------------------------------------------------------------------ attributes */

/* the attribute, if it is one value of this class; the caller closes it. Negative: an error was set */
static hid_t open_attribute(reader *r, const char *name, H5T_class_t class, const char *kind) {
  hid_t a = r->code || H5Aexists(r->group, name) <= 0 ? -1 : H5Aopen(r->group, name, H5P_DEFAULT);
  if (a < 0) {
    wrong(r, "no attribute %s", name);
    return -1;
  }
  hid_t type = H5Aget_type(a), space = H5Aget_space(a);
  int ok = H5Tget_class(type) == class && H5Sget_simple_extent_npoints(space) == 1;
  if (class == H5T_STRING) ok = ok && H5Tis_variable_str(type) > 0;
  H5Tclose(type);
  H5Sclose(space);
  if (ok) return a;
  wrong(r, "attribute %s is not %s", name, kind);
  H5Aclose(a);
  return -1;
}

static int read_int(reader *r, const char *name) {
  long long value = 0;
  hid_t a = open_attribute(r, name, H5T_INTEGER, "one integer");
  if (a < 0) return 0;
  if (H5Aread(a, H5T_NATIVE_LLONG, &value) < 0) wrong(r, "attribute %s cannot be read", name);
  H5Aclose(a);
  if (value < 0 || value > INT32_MAX) wrong(r, "attribute %s is %lld, not in 0 .. %d", name, value, INT32_MAX);
  return r->code ? 0 : (int)value;
}

static double read_real(reader *r, const char *name) {
  double value = 0;
  hid_t a = open_attribute(r, name, H5T_FLOAT, "one number");
  if (a < 0) return 0;
  if (H5Aread(a, H5T_NATIVE_DOUBLE, &value) < 0) wrong(r, "attribute %s cannot be read", name);
  H5Aclose(a);
  return value;
}

static const char *read_text(reader *r, const char *name) {
  char *text = NULL, *kept = NULL;
  hid_t a = open_attribute(r, name, H5T_STRING, "a text"), type = store_text_type();
  if (a >= 0 && (H5Aread(a, type, &text) < 0 || !text)) wrong(r, "attribute %s cannot be read", name);
  if (text && (kept = keep(r, strlen(text)))) memcpy(kept, text, strlen(text));
  if (text) H5free_memory(text);
  if (a >= 0) H5Aclose(a);
  H5Tclose(type);
  return kept ? kept : "";
}

/* ------------------------------------------------------------------ datasets */

/* The dataset, if it is one line of this class of n numbers (*n SIZE_MAX: any number); the caller closes it. -1: there is
 * none, or an error was set */
static hid_t open_set(reader *r, const char *name, H5T_class_t class, const char *kind, size_t *n) {
  hsize_t size = 0;
  if (r->code || H5Lexists(r->group, name, H5P_DEFAULT) <= 0) return -1;
  hid_t set = H5Dopen2(r->group, name, H5P_DEFAULT);
  if (set < 0) {
    wrong(r, "%s is no dataset", name);
    return -1;
  }
  hid_t type = H5Dget_type(set), space = H5Dget_space(set);
  int rank = H5Sget_simple_extent_ndims(space);
  if (rank == 1) H5Sget_simple_extent_dims(space, &size, NULL);
  if (rank != 1)
    wrong(r, "%s has %d dimensions, not 1", name, rank);
  else if (H5Tget_class(type) != class || (class == H5T_STRING && H5Tis_variable_str(type) <= 0))
    wrong(r, "%s does not hold %s", name, kind);
  else if (*n != SIZE_MAX && size != *n)
    wrong(r, "%s has %llu numbers, not %zu", name, (unsigned long long)size, *n);
  else if (size > INT32_MAX)
    wrong(r, "%s has %llu numbers: too many", name, (unsigned long long)size);
  else if (size && !H5Dget_storage_size(set)) /* reading would make them up, any number of them */
    wrong(r, "%s has nothing stored", name);
  H5Tclose(type);
  H5Sclose(space);
  *n = (size_t)size;
  if (!r->code) return set;
  H5Dclose(set);
  return -1;
}

/* n numbers, or as many as there are (SIZE_MAX), whose number *n receives; NULL: there are none */
static const void *read_array(reader *r, const char *name, int is_int, size_t *n, int needed) {
  int any = *n == SIZE_MAX;
  if (!*n || r->code) return NULL;
  hid_t set = open_set(r, name, is_int ? H5T_INTEGER : H5T_FLOAT, is_int ? "integers" : "floating-point numbers", n);
  if (set < 0) {
    if (needed && !any) wrong(r, "no dataset %s", name);
    if (any) *n = 0;
    return NULL;
  }
  void *data = keep(r, *n * (is_int ? sizeof(int) : sizeof(double)));
  hid_t memory = is_int ? H5T_NATIVE_INT : H5T_NATIVE_DOUBLE;
  if (data && H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) wrong(r, "%s cannot be read", name);
  H5Dclose(set);
  return data;
}

static const char *const *read_names(reader *r, const char *name, int count) {
  size_t n = (size_t)count;
  hid_t set = n ? open_set(r, name, H5T_STRING, "texts", &n) : -1;
  if (set < 0) return NULL;
  char **read = calloc(n, sizeof *read);
  const char **kept = keep(r, n * sizeof *kept);
  hid_t type = store_text_type(), space = H5Dget_space(set);
  if (!read || !kept || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) < 0)
    wrong(r, "%s cannot be read", name);
  else {
    for (size_t i = 0; i < n; i++) {
      size_t length = read[i] ? strlen(read[i]) : 0;
      char *copy = keep(r, length);
      if (copy && length) memcpy(copy, read[i], length);
      kept[i] = copy;
    }
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, read);
  }
  free(read);
  H5Sclose(space);
  H5Tclose(type);
  H5Dclose(set);
  return kept;
}

/* ------------------------------------------------------------------ one environment */

/* rows that lie within their entries; what stands in them is checked by sc_batch_set */
static void check_rows(reader *r, const char *name, int rows, const int *nnz, const int *adr, size_t n) {
  for (int i = 0; !r->code && i < rows; i++)
    if (nnz[i] < 0 || adr[i] < 0 || (size_t)nnz[i] + (size_t)adr[i] > n)
      wrong(r, "%s: row %d has %d entries from %d on, and there are %zu", name, i, nnz[i], adr[i], n);
}

static size_t count_of(const reader *r, int of) {
  const sc_problem *p = &r->aside->problem;
  switch (of) {
  case OF_DOFS: return (size_t)p->nv;
  case OF_ROWS: return (size_t)p->nefc;
  case OF_CONTACTS: return (size_t)p->ncon;
  case OF_FRICTION: return 5 * (size_t)p->ncon;
  default: return r->entries[of];
  }
}

static void read_aside(reader *r) {
  sc_aside *a = r->aside;
  sc_problem *p = &a->problem;
  size_t n;
  sc_problem_init(p);
  sc_solver_options_init(&a->options);
  for (int i = 0; i < OF_COUNT; i++) r->entries[i] = SIZE_MAX;
  a->env = read_int(r, "env");
  if (!r->code) snprintf(r->where, sizeof r->where, "environment %d", a->env);
#define FIELD(name, member) a->member = (__typeof__(a->member))read_int(r, #name);
  ASIDE_INTS(FIELD)
#undef FIELD
#define FIELD(name, member) a->member = read_real(r, #name);
  ASIDE_REALS(FIELD)
#undef FIELD
  if (a->status >= SC_NSTATUS) wrong(r, "attribute status is %d, not in 0 .. %d", a->status, SC_NSTATUS - 1);
  a->model = read_text(r, "model"), a->why = read_text(r, "why");
#define FIELD(name, member, is_int, of, needed)                                                                        \
  n = count_of(r, of);                                                                                                 \
  a->member = read_array(r, #name, is_int, &n, needed);                                                                \
  r->entries[of] = n;
  ASIDE_ARRAYS(FIELD)
#undef FIELD
  a->nstate = (int)r->entries[OF_STATE];
  if (!r->code) check_rows(r, "M", p->nv, p->M_rownnz, p->M_rowadr, r->entries[OF_M]);
  if (!r->code) check_rows(r, "efc_J", p->nefc, p->J_rownnz, p->J_rowadr, r->entries[OF_J]);
  a->row_name = read_names(r, "row_name", p->nefc), a->dof_name = read_names(r, "dof_name", p->nv);
}

/* ------------------------------------------------------------------ the file */

/* the file, if it is one of environments set aside; negative: an error was set */
static hid_t open_file(const char *path, int *code) {
  store_be_silent();
  int handle = open(path, O_RDONLY); /* the system's reason is plainer than HDF5's */
  if (handle < 0) {
    *code = sc_error_set(SC_ERROR_FILE, READING ": %s: %s", path, strerror(errno));
    return -1;
  }
  close(handle);
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) {
    *code = store_error(READING, path, "not a readable HDF5 file");
    return -1;
  }
  sc_aside none = {0};
  reader r = {.path = path, .where = "the file", .group = file, .aside = &none};
  int version = H5Aexists(file, ASIDE_MARK) > 0 ? read_int(&r, ASIDE_MARK) : 0;
  if (version == ASIDE_VERSION && !r.code) return file;
  if (r.code)
    *code = r.code;
  else if (version)
    *code = sc_error_set(SC_ERROR_FILE, READING ": %s: its version is %d, and %d is known", path, version, ASIDE_VERSION);
  else
    *code = sc_error_set(SC_ERROR_FILE, READING ": %s: it holds no environments set aside (no attribute " ASIDE_MARK ")", path);
  H5Fclose(file);
  return -1;
}

static hid_t open_group(hid_t file, int i) {
  char name[20];
  snprintf(name, sizeof name, "%d", i);
  return H5Lexists(file, name, H5P_DEFAULT) > 0 ? H5Gopen2(file, name, H5P_DEFAULT) : -1;
}

static int grow(sc_aside_entry **list, int n) {
  if (n & (n - 1)) return 1; /* room for the next power of two */
  sc_aside_entry *more = realloc(*list, (size_t)(n ? 2 * n : 1) * sizeof *more);
  if (more) *list = more;
  return more != NULL;
}

int sc_aside_list(const char *path, sc_aside_entry **list, int *n) {
  sc_aside none = {0};
  int code = SC_OK;
  *list = NULL, *n = 0;
  hid_t file = open_file(path, &code), group;
  if (file < 0) return code;
  while (!code && (group = open_group(file, *n)) >= 0) {
    reader r = {.path = path, .group = group, .aside = &none};
    snprintf(r.where, sizeof r.where, "entry %d", *n);
    sc_aside_entry entry = {read_int(&r, "env"), read_int(&r, "run")};
    code = r.code;
    if (!code && !grow(list, *n)) code = sc_error_set(SC_ERROR_MEMORY, READING ": %s: no memory for %d environments", path, *n);
    if (!code) (*list)[(*n)++] = entry;
    H5Gclose(group);
  }
  H5Fclose(file);
  if (!code) return SC_OK;
  free(*list);
  *list = NULL, *n = 0;
  return code;
}

int sc_aside_read(const char *path, int i, sc_aside *aside) {
  int code = SC_OK;
  memset(aside, 0, sizeof *aside);
  hid_t file = open_file(path, &code), group;
  if (file < 0) return code;
  reader r = {.path = path, .aside = aside};
  snprintf(r.where, sizeof r.where, "entry %d", i);
  if ((group = r.group = open_group(file, i)) < 0)
    wrong(&r, "there is none");
  else {
    read_aside(&r);
    H5Gclose(group);
  }
  H5Fclose(file);
  if (r.code) sc_aside_free(aside);
  return r.code;
}
