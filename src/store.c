/* Files of states and of results. */
#define _POSIX_C_SOURCE 200809L
#include "store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ states in */

static const char reading[] = "states file";

/* an integer attribute of the dataset; *value stays where there is none */
static int read_signature(const char *path, hid_t set, int *value) {
  if (H5Aexists(set, "sig") <= 0) return SC_OK;
  hid_t a = H5Aopen(set, "sig", H5P_DEFAULT), type = H5Aget_type(a), space = H5Aget_space(a);
  long long wide = 0;
  int ok = H5Tget_class(type) == H5T_INTEGER && H5Sget_simple_extent_npoints(space) == 1 &&
           H5Aread(a, H5T_NATIVE_LLONG, &wide) >= 0;
  H5Sclose(space);
  H5Tclose(type);
  H5Aclose(a);
  if (!ok) return store_error(reading, path, "attribute sig of /states is not one integer");
  if (wide < 0 || wide > INT32_MAX)
    return sc_error_set(SC_ERROR_FILE, "%s: %s: attribute sig of /states is %lld, not in 0 .. %d", reading, path, wide,
                        INT32_MAX);
  *value = (int)wide;
  return SC_OK;
}

static int read_states(const char *path, hid_t set, double **states, int *n, size_t *nstate) {
  hid_t space = H5Dget_space(set), type = H5Dget_type(set);
  hsize_t dims[2] = {0, 0};
  int rank = H5Sget_simple_extent_ndims(space), code = SC_OK;
  if (rank == 2) H5Sget_simple_extent_dims(space, dims, NULL);
  if (rank != 2)
    code = sc_error_set(SC_ERROR_FILE, "%s: %s: /states has %d dimensions, not 2 (environments, numbers per state)",
                        reading, path, rank);
  else if (H5Tget_class(type) != H5T_FLOAT)
    code = sc_error_set(SC_ERROR_FILE, "%s: %s: /states does not hold floating-point numbers", reading, path);
  else if (dims[0] > INT32_MAX || (dims[1] && dims[0] > SIZE_MAX / 8 / dims[1]))
    code = sc_error_set(SC_ERROR_FILE, "%s: %s: /states is %llu x %llu: too large", reading, path,
                        (unsigned long long)dims[0], (unsigned long long)dims[1]);
  if (!code) {
    *n = (int)dims[0], *nstate = (size_t)dims[1];
    *states = malloc((size_t)dims[0] * (size_t)dims[1] * sizeof **states + 1);
    if (!*states)
      code =
          sc_error_set(SC_ERROR_MEMORY, "%s: %s: no memory for %d states of %zu numbers", reading, path, *n, *nstate);
    else if (H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *states) < 0)
      code = store_error(reading, path, "/states cannot be read");
  }
  H5Tclose(type);
  H5Sclose(space);
  return code;
}

int sc_store_states_read(const char *path, double **states, int *n, size_t *nstate, int *sig) {
  *states = NULL, *n = 0, *nstate = 0, *sig = -1;
  store_be_silent();
  int handle = open(path, O_RDONLY); /* the system's reason is plainer than HDF5's */
  if (handle < 0) return sc_error_set(SC_ERROR_FILE, "%s: %s: %s", reading, path, strerror(errno));
  close(handle);
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return store_error(reading, path, "not a readable HDF5 file");
  int code;
  hid_t set = H5Dopen2(file, "/states", H5P_DEFAULT);
  if (set < 0)
    code = store_error(reading, path, "no dataset /states");
  else {
    code = read_signature(path, set, sig);
    if (!code) code = read_states(path, set, states, n, nstate);
    H5Dclose(set);
  }
  H5Fclose(file);
  if (code) {
    free(*states);
    *states = NULL;
  }
  return code;
}

int sc_store_states_write(const char *path, const double *states, int n, size_t nstate, int sig) {
  store_writer w;
  store_begin(&w, path);
  hid_t set = store_put(&w, "states", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, (size_t)n, nstate, states);
  store_attribute_int(&w, set, "sig", sig);
  if (set >= 0) H5Dclose(set);
  return store_finish(&w);
}

/* ------------------------------------------------------------------ results out */

static void put_verdicts(store_writer *w, const sc_result *r) {
  const char *status[SC_NSTATUS], *flags[SC_NFLAG];
  size_t n = (size_t)r->nenv;
  for (int i = 0; i < SC_NSTATUS; i++) status[i] = sc_status_name(i);
  for (int i = 0; i < SC_NFLAG; i++) flags[i] = sc_flag_name(i);
  hid_t set = store_put(w, "status", H5T_STD_U8LE, H5T_NATIVE_UINT8, n, STORE_ONE, r->status);
  store_attribute_texts(w, set, "names", SC_NSTATUS, status);
  if (set >= 0) H5Dclose(set);
  set = store_put(w, "flags", H5T_STD_U32LE, H5T_NATIVE_UINT32, n, STORE_ONE, r->flags);
  store_attribute_texts(w, set, "names", SC_NFLAG, flags);
  if (set >= 0) H5Dclose(set);
}

/* types and ids of all rows, one environment after another */
static void put_kinds(store_writer *w, const sc_result *r, const sc_batch *batch) {
  size_t rows = r->efc_offset[r->nenv];
  int *type = malloc((rows + 1) * sizeof *type), *id = malloc((rows + 1) * sizeof *id);
  if ((!type || !id) && !w->code)
    w->code = sc_error_set(SC_ERROR_MEMORY, "%s: %s: no memory for %zu rows", STORE_WRITING, w->path, rows);
  for (int i = 0; i < r->nenv && !w->code; i++) {
    sc_problem p;
    w->code = sc_batch_get(batch, i, &p, NULL);
    for (int k = 0; k < p.nefc && !w->code; k++) {
      type[r->efc_offset[i] + (size_t)k] = p.efc_type[k];
      id[r->efc_offset[i] + (size_t)k] = p.efc_id ? p.efc_id[k] : -1;
    }
  }
  store_put_closed(w, "efc_type", H5T_STD_I32LE, H5T_NATIVE_INT, rows, type);
  store_put_closed(w, "efc_id", H5T_STD_I32LE, H5T_NATIVE_INT, rows, id);
  free(type);
  free(id);
}

/* ------------------------------------------------------------------ rows and contacts out */

/* numbers of one environment's rows, `columns` each, into out (nefc x columns) */
typedef void (*row_numbers)(const sc_problem *p, const sc_rows *rows, double *out);

static void copy_or_nan(const double *x, int n, double *out) {
  for (int i = 0; i < n; i++) out[i] = x ? x[i] : (double)NAN;
}

#define ROW_NUMBERS(name, x)                                                                                           \
  static void name(const sc_problem *p, const sc_rows *rows, double *out) {                                            \
    (void)rows;                                                                                                        \
    copy_or_nan(x, p->nefc, out);                                                                                      \
  }
ROW_NUMBERS(row_pos, p->efc_pos)
ROW_NUMBERS(row_margin, p->efc_margin)
ROW_NUMBERS(row_vel, p->efc_vel)
ROW_NUMBERS(row_diagA, rows->bad ? NULL : rows->diagA)
ROW_NUMBERS(row_R, rows->bad ? NULL : rows->R)
ROW_NUMBERS(row_D, rows->bad ? NULL : p->efc_D)
ROW_NUMBERS(row_aref, rows->bad ? NULL : p->efc_aref)
ROW_NUMBERS(row_frictionloss, p->efc_frictionloss)

static void row_KBIP(const sc_problem *p, const sc_rows *rows, double *out) {
  const double *from[] = {rows->K, rows->B, rows->d, rows->dp};
  for (int i = 0; i < p->nefc; i++)
    for (int k = 0; k < 4; k++) out[4 * i + k] = from[k] && !rows->bad ? from[k][i] : (double)NAN;
}

static void row_J(const sc_problem *p, const sc_rows *rows, double *out) {
  (void)rows;
  memset(out, 0, (size_t)p->nefc * (size_t)p->nv * sizeof *out);
  for (int i = 0; i < p->nefc; i++)
    for (int k = p->J_rowadr[i]; k < p->J_rowadr[i] + p->J_rownnz[i]; k++)
      out[(size_t)i * (size_t)p->nv + (size_t)p->J_colind[k]] = p->efc_J[k];
}

#define PORTION ((size_t)1 << 20) /* numbers written at a time, at least one environment's */

/* `rows` rows of a dataset from row `begin` on */
static void put_portion(store_writer *w, hid_t set, const char *name, size_t begin, size_t rows, size_t cols,
                        const double *data) {
  hsize_t start[2] = {begin, 0}, size[2] = {rows, cols == STORE_ONE ? 1 : cols};
  int rank = cols == STORE_ONE ? 1 : 2;
  if (w->code || !rows || !size[1]) return;
  hid_t memory = H5Screate_simple(rank, size, NULL), file = H5Dget_space(set);
  if (H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, size, NULL) < 0 ||
      H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, file, H5P_DEFAULT, data) < 0)
    store_fail(w, name);
  H5Sclose(memory);
  H5Sclose(file);
}

/* a dataset over all rows, made environment by environment and written in portions */
static void put_rows(store_writer *w, const char *name, const sc_result *r, const sc_batch *batch, size_t cols,
                     row_numbers numbers) {
  size_t rows = r->efc_offset[r->nenv], each = cols == STORE_ONE ? 1 : cols, most = 0, begin = 0, filled = 0;
  hid_t set = store_put(w, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, rows, cols, NULL);
  for (int i = 0; i < r->nenv; i++)
    if (r->efc_offset[i + 1] - r->efc_offset[i] > most) most = r->efc_offset[i + 1] - r->efc_offset[i];
  double *buffer = malloc((most * each + PORTION) * sizeof *buffer);
  if (!buffer && !w->code) w->code = sc_error_set(SC_ERROR_MEMORY, "%s: %s: no memory for %s", STORE_WRITING, w->path, name);
  for (int i = 0; i < r->nenv && !w->code; i++) {
    sc_problem p;
    sc_rows extra;
    w->code = sc_batch_get(batch, i, &p, &extra);
    if (w->code) break;
    numbers(&p, &extra, buffer + filled * each);
    filled += (size_t)p.nefc;
    if (filled * each < PORTION && i + 1 < r->nenv) continue;
    put_portion(w, set, name, begin, filled, cols, buffer);
    begin += filled, filled = 0;
  }
  free(buffer);
  if (set >= 0) H5Dclose(set);
}

static void put_all_rows(store_writer *w, int nv, const sc_result *r, const sc_batch *batch) {
  const struct {
    const char *name;
    size_t cols;
    row_numbers numbers;
  } sets[] = {
      {"efc_pos", STORE_ONE, row_pos},   {"efc_margin", STORE_ONE, row_margin}, {"efc_vel", STORE_ONE, row_vel},
      {"efc_KBIP", 4, row_KBIP},   {"efc_diagA", STORE_ONE, row_diagA},   {"efc_R", STORE_ONE, row_R},
      {"efc_D", STORE_ONE, row_D},       {"efc_aref", STORE_ONE, row_aref},     {"efc_frictionloss", STORE_ONE, row_frictionloss},
      {"efc_J", (size_t)nv, row_J},
  };
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    put_rows(w, sets[i].name, r, batch, sets[i].cols, sets[i].numbers);
}

/* ids, n x 2 */
static void put_pairs(store_writer *w, const char *name, size_t n, const int *ids) {
  hid_t set = store_put(w, name, H5T_STD_I32LE, H5T_NATIVE_INT, n, 2, ids);
  if (set >= 0) H5Dclose(set);
}

static void put_contacts(store_writer *w, const sc_contacts *c) {
  size_t n = c->contact_offset[c->nenv];
  store_put_closed(w, "contact_offset", H5T_STD_U64LE, STORE_SIZE_TYPE, (size_t)c->nenv + 1, c->contact_offset);
  put_pairs(w, "contact_geom", n, c->geom);
  put_pairs(w, "contact_body", n, c->body);
  store_put_doubles(w, "contact_dist", n, STORE_ONE, c->dist);
  store_put_doubles(w, "contact_pos", n, 3, c->pos);
  store_put_doubles(w, "contact_frame", n, 9, c->frame);
  store_put_doubles(w, "contact_force", n, 6, c->force);
}

static void put_run(store_writer *w, const sc_store_run *run, const sc_result *r) {
  const struct {
    const char *name, *text;
  } texts[] = {
      {"model", run->model},   {"softcon_version", sc_version()}, {"mujoco_version", run->mujoco_version},
      {"method", run->method}, {"precision", run->precision},     {"cone", run->cone},
      {"device", run->device}, {"backend", run->backend},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    store_attribute_texts(w, w->file, texts[i].name, -1, &texts[i].text);
  if (run->rows) store_attribute_texts(w, w->file, "rows", -1, &run->rows);
  store_attribute_double(w, w->file, "impratio", run->impratio);
  store_attribute_double(w, w->file, "tolerance", run->tolerance);
  store_attribute_int(w, w->file, "max_iterations", run->iterations);
  store_attribute_int(w, w->file, "noslip_iterations", run->noslip_iterations);
  for (int bit = 0; bit < SC_NFLAG; bit++) {
    long long count = 0;
    for (int i = 0; i < r->nenv; i++) count += (r->flags[i] >> bit) & 1;
    store_attribute_int(w, w->file, sc_flag_name(bit), count);
  }
}

int sc_store_result_write(const char *path, const sc_store_run *run, int nv, const sc_result *r,
                          const sc_batch *batch) {
  store_writer w;
  size_t n = (size_t)r->nenv, dofs = (size_t)nv, rows = r->efc_offset[r->nenv];
  if (r->nv_offset[r->nenv] != n * dofs)
    return sc_error_set(SC_ERROR_INTERNAL, "%s: %s: %zu dofs in all, not %d environments of %d", STORE_WRITING, path,
                        r->nv_offset[r->nenv], r->nenv, nv);
  if (store_begin(&w, path)) return w.code;
  put_run(&w, run, r);
  store_put_doubles(&w, "qacc", n, dofs, r->qacc);
  store_put_doubles(&w, "qfrc_constraint", n, dofs, r->qfrc_constraint);
  put_verdicts(&w, r);
  store_put_closed(&w, "iterations", H5T_STD_I32LE, H5T_NATIVE_INT32, n, r->iterations);
  store_put_doubles(&w, "gap", n, STORE_ONE, r->gap);
  store_put_doubles(&w, "gap_floor", n, STORE_ONE, r->gap_floor);
  store_put_doubles(&w, "qacc_bound", n, STORE_ONE, r->qacc_bound);
  store_put_doubles(&w, "objective", n, STORE_ONE, r->objective);
  store_put_closed(&w, "rows_needed", H5T_STD_I32LE, H5T_NATIVE_INT32, n, r->rows_needed);
  store_put_closed(&w, "contacts_needed", H5T_STD_I32LE, H5T_NATIVE_INT32, n, r->contacts_needed);
  store_put_closed(&w, "efc_offset", H5T_STD_U64LE, STORE_SIZE_TYPE, n + 1, r->efc_offset);
  store_put_doubles(&w, "efc_force", rows, STORE_ONE, r->efc_force);
  store_put_closed(&w, "efc_state", H5T_STD_U8LE, H5T_NATIVE_UINT8, rows, r->efc_state);
  put_kinds(&w, r, batch);
  if (run->save_rows) put_all_rows(&w, nv, r, batch);
  if (run->contacts) put_contacts(&w, run->contacts);
  if (run->fwdinv) store_put_doubles(&w, "fwdinv", n, 2, run->fwdinv);
  return store_finish(&w);
}
