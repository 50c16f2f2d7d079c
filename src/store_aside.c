/* Setting environments aside: one group of a file for each, numbered as they come. */
#define _POSIX_C_SOURCE 200809L
#include "store_aside_fields.h"
#include "store_file.h"

#include <stdlib.h>
#include <unistd.h>

struct sc_aside_file {
  store_writer w;
  char path[4096];
  int next, run; /* number of the next group; of this run */
};

/* ------------------------------------------------------------------ one environment */

/* entries of a sparse matrix in rows without gaps, as sc_batch_get hands them out */
static size_t entries(int rows, const int *rownnz, const int *rowadr) {
  return rows ? (size_t)rowadr[rows - 1] + (size_t)rownnz[rows - 1] : 0;
}

static size_t count_of(const sc_aside *a, int of) {
  const sc_problem *p = &a->problem;
  switch (of) {
  case OF_DOFS: return (size_t)p->nv;
  case OF_ROWS: return (size_t)p->nefc;
  case OF_CONTACTS: return (size_t)p->ncon;
  case OF_FRICTION: return 5 * (size_t)p->ncon;
  case OF_M: return entries(p->nv, p->M_rownnz, p->M_rowadr);
  case OF_J: return entries(p->nefc, p->J_rownnz, p->J_rowadr);
  default: return (size_t)a->nstate;
  }
}

static void put_array(store_writer *w, const char *name, const void *data, int is_int, size_t n) {
  if (!data || !n) return;
  if (is_int)
    store_put_closed(w, name, H5T_STD_I32LE, H5T_NATIVE_INT, n, data);
  else
    store_put_closed(w, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, n, data);
}

static void put_names(store_writer *w, const char *name, const char *const *texts, int n) {
  if (!texts || !n) return;
  hid_t type = store_text_type();
  store_put_closed(w, name, type, type, (size_t)n, texts);
  H5Tclose(type);
}

static void put_aside(store_writer *w, const sc_aside *a) {
  const char *model = a->model ? a->model : "", *why = a->why ? a->why : "", *status = sc_status_name(a->status);
#define FIELD(name, member) store_attribute_int(w, w->at, #name, (long long)a->member);
  ASIDE_INTS(FIELD)
#undef FIELD
#define FIELD(name, member) store_attribute_double(w, w->at, #name, a->member);
  ASIDE_REALS(FIELD)
#undef FIELD
  store_attribute_texts(w, w->at, "model", -1, &model);
  store_attribute_texts(w, w->at, "why", -1, &why);
  store_attribute_texts(w, w->at, "status_name", -1, &status);
#define FIELD(name, member, is_int, of, needed) put_array(w, #name, a->member, is_int, count_of(a, of));
  ASIDE_ARRAYS(FIELD)
#undef FIELD
  put_names(w, "row_name", a->row_name, a->problem.nefc);
  put_names(w, "dof_name", a->dof_name, a->problem.nv);
}

/* ------------------------------------------------------------------ the file */

int sc_aside_can_add(const char *path) {
  sc_aside_entry *list;
  int n, code = sc_store_can_write(path);
  if (code || access(path, F_OK)) return code;
  code = sc_aside_list(path, &list, &n);
  free(list);
  return code;
}

int sc_aside_open(const char *path, sc_aside_file **out) {
  sc_aside_entry *list = NULL;
  int n = 0, exists = !access(path, F_OK), code = exists ? sc_aside_list(path, &list, &n) : SC_OK;
  int run = n ? list[n - 1].run + 1 : 0;
  free(list);
  *out = NULL;
  if (code) return code;
  sc_aside_file *f = calloc(1, sizeof *f);
  if (!f) return sc_error_set(SC_ERROR_MEMORY, "%s: %s: no memory", STORE_WRITING, path);
  f->next = n, f->run = run;
  if (store_begin_append(&f->w, path)) {
    code = f->w.code;
    free(f);
    return code;
  }
  if (!exists) store_attribute_int(&f->w, f->w.file, ASIDE_MARK, ASIDE_VERSION);
  *out = f;
  return SC_OK;
}

void sc_aside_add(sc_aside_file *f, const sc_aside *aside) {
  store_writer *w = &f->w;
  sc_aside a = *aside;
  char name[20];
  if (w->code) return;
  a.run = f->run;
  snprintf(name, sizeof name, "%d", f->next++);
  w->at = H5Gcreate2(w->file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (w->at < 0) store_fail(w, name);
  put_aside(w, &a);
  if (w->at >= 0) H5Gclose(w->at);
  w->at = w->file;
}

int sc_aside_close(sc_aside_file *f) {
  int code = store_finish(&f->w);
  free(f);
  return code;
}
