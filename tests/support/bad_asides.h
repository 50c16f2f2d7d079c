/* Files of environments set aside that are not quite what they should be: a right one, and one change in each. */
#ifndef TEST_BAD_ASIDES_H
#define TEST_BAD_ASIDES_H

#include "bad_files.h"
#include "store_aside.h"

/* What is done to the file's group "0", or to the file itself. */
typedef enum { DELETE_ATTRIBUTE, DELETE_LINK, SET_INT, SET_REAL, SET_WORD, MAKE_SET, CHANGE_ENTRY } aside_change;

typedef struct {
  const char *file;
  aside_change change;
  const char *where;        /* "/", "/0" */
  const char *name;         /* of the attribute or dataset */
  double value;             /* SET_INT, SET_REAL; CHANGE_ENTRY: of entry 0 */
  int type, rank;           /* MAKE_SET: in place of the dataset, as in set_files */
  hsize_t size;
} aside_file;

static const aside_file aside_files[] = {
    {"aside_unmarked.h5", DELETE_ATTRIBUTE, "/", "softcon_set_aside", 0, 0, 0, 0},
    {"aside_later.h5", SET_INT, "/", "softcon_set_aside", 2, 0, 0, 0},
    {"aside_word_mark.h5", SET_WORD, "/", "softcon_set_aside", 0, 0, 0, 0},
    {"aside_none.h5", DELETE_LINK, "/", "0", 0, 0, 0, 0},
    {"aside_no_env.h5", DELETE_ATTRIBUTE, "/0", "env", 0, 0, 0, 0},
    {"aside_no_nv.h5", DELETE_ATTRIBUTE, "/0", "nv", 0, 0, 0, 0},
    {"aside_no_model.h5", DELETE_ATTRIBUTE, "/0", "model", 0, 0, 0, 0},
    {"aside_word_nv.h5", SET_WORD, "/0", "nv", 0, 0, 0, 0},
    {"aside_real_nv.h5", SET_REAL, "/0", "nv", 7.5, 0, 0, 0},
    {"aside_negative_nv.h5", SET_INT, "/0", "nv", -1, 0, 0, 0},
    {"aside_vast_nv.h5", SET_INT, "/0", "nv", 1099511627776.0, 0, 0, 0},
    {"aside_other_nv.h5", SET_INT, "/0", "nv", 7, 0, 0, 0},
    {"aside_more_rows.h5", SET_INT, "/0", "nefc", 2000000000, 0, 0, 0},
    {"aside_more_contacts.h5", SET_INT, "/0", "ncon", 2, 0, 0, 0},
    {"aside_number_model.h5", SET_INT, "/0", "model", 3, 0, 0, 0},
    {"aside_method.h5", SET_INT, "/0", "method", 77, 0, 0, 0},
    {"aside_precision.h5", SET_INT, "/0", "precision", 3, 0, 0, 0},
    {"aside_status.h5", SET_INT, "/0", "status", 200, 0, 0, 0},
    {"aside_tolerance.h5", SET_REAL, "/0", "tolerance", NAN, 0, 0, 0},
    {"aside_ls.h5", SET_INT, "/0", "ls_iterations", 0, 0, 0, 0},
    {"aside_no_M.h5", DELETE_LINK, "/0", "M", 0, 0, 0, 0},
    {"aside_no_D.h5", DELETE_LINK, "/0", "efc_D", 0, 0, 0, 0},
    {"aside_no_smooth.h5", DELETE_LINK, "/0", "qfrc_smooth", 0, 0, 0, 0},
    {"aside_short_D.h5", MAKE_SET, "/0", "efc_D", 0, REAL64, 1, 2},
    {"aside_flat_D.h5", MAKE_SET, "/0", "efc_D", 0, REAL64, 2, 2},
    {"aside_scalar_D.h5", MAKE_SET, "/0", "efc_D", 0, REAL64, 0, 0},
    {"aside_integer_D.h5", MAKE_SET, "/0", "efc_D", 0, INTEGERS, 1, 4},
    {"aside_word_D.h5", MAKE_SET, "/0", "efc_D", 0, TEXTS, 1, 4},
    {"aside_real_type.h5", MAKE_SET, "/0", "efc_type", 0, REAL64, 1, 4},
    {"aside_number_names.h5", MAKE_SET, "/0", "row_name", 0, REAL64, 1, 4},
    {"aside_fixed_names.h5", MAKE_SET, "/0", "row_name", 0, TEXTS, 1, 4},
    {"aside_hollow.h5", MAKE_SET, "/0", "J_colind", 0, INTEGERS, 1, 2000000000},
    {"aside_type.h5", CHANGE_ENTRY, "/0", "efc_type", 99, 0, 0, 0},
    {"aside_dim.h5", CHANGE_ENTRY, "/0", "contact_dim", 5, 0, 0, 0},
    {"aside_column.h5", CHANGE_ENTRY, "/0", "J_colind", 1000, 0, 0, 0},
    {"aside_row_begins.h5", CHANGE_ENTRY, "/0", "J_rowadr", 100000, 0, 0, 0},
    {"aside_row_ends.h5", CHANGE_ENTRY, "/0", "M_rownnz", 100000, 0, 0, 0},
    {"aside_negative_row.h5", CHANGE_ENTRY, "/0", "J_rownnz", -3, 0, 0, 0},
    {"aside_nan_D.h5", CHANGE_ENTRY, "/0", "efc_D", NAN, 0, 0, 0},
    {"aside_infinite_M.h5", CHANGE_ENTRY, "/0", "M", INFINITY, 0, 0, 0},
};

static inline void set_attribute(hid_t at, const aside_file *f) {
  hid_t space = H5Screate(H5S_SCALAR), word = H5Tcopy(H5T_C_S1), a;
  const char *text = "seven";
  H5Tset_size(word, H5T_VARIABLE);
  H5Adelete(at, f->name);
  hid_t type = f->change == SET_INT ? H5T_STD_I64LE : f->change == SET_REAL ? H5T_IEEE_F64LE : word;
  a = H5Acreate2(at, f->name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  if (f->change == SET_INT)
    H5Awrite(a, H5T_NATIVE_DOUBLE, &f->value);
  else if (f->change == SET_REAL)
    H5Awrite(a, H5T_NATIVE_DOUBLE, &f->value);
  else
    H5Awrite(a, word, &text);
  H5Aclose(a);
  H5Sclose(space);
}

static inline void make_aside_set(hid_t at, const aside_file *f) {
  hsize_t dims[2] = {f->size, 2};
  hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = f->rank ? H5Screate_simple(f->rank, dims, NULL) : H5Screate(H5S_SCALAR);
  hsize_t chunk[1] = {1000};
  if (f->size > 1000) H5Pset_chunk(list, 1, chunk);
  H5Ldelete(at, f->name, H5P_DEFAULT);
  hid_t set = H5Dcreate2(at, f->name, set_type(f->type), space, H5P_DEFAULT, list, H5P_DEFAULT);
  static const double some[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  if (set < 0) abort();
  if (f->size <= 4 && f->type != TEXTS && H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, some) < 0) abort();
  if (f->type == TEXTS && H5Dwrite(set, set_type(TEXTS), H5S_ALL, H5S_ALL, H5P_DEFAULT, "one     two     three   four    ") < 0) abort();
  H5Dclose(set);
  H5Sclose(space);
}

static inline void change_entry(hid_t at, const aside_file *f) {
  hid_t set = H5Dopen2(at, f->name, H5P_DEFAULT), file = H5Dget_space(set), one;
  hsize_t start = 0, count = 1;
  H5Sselect_hyperslab(file, H5S_SELECT_SET, &start, NULL, &count, NULL);
  one = H5Screate_simple(1, &count, NULL);
  if (set < 0 || H5Dwrite(set, H5T_NATIVE_DOUBLE, one, file, H5P_DEFAULT, &f->value) < 0) abort();
  H5Sclose(one);
  H5Sclose(file);
  H5Dclose(set);
}

static inline void make_bad_aside(const char *folder, const aside_file *f) {
  char path[4096];
  make_harmed(folder, "aside.h5", f->file, 0, 0);
  snprintf(path, sizeof path, "%s/%s", folder, f->file);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), at = H5Gopen2(file, f->where, H5P_DEFAULT);
  if (at < 0) abort();
  switch (f->change) {
  case DELETE_ATTRIBUTE: H5Adelete(at, f->name); break;
  case DELETE_LINK: H5Ldelete(at, f->name, H5P_DEFAULT); break;
  case MAKE_SET: make_aside_set(at, f); break;
  case CHANGE_ENTRY: change_entry(at, f); break;
  default: set_attribute(at, f);
  }
  H5Gclose(at);
  H5Fclose(file);
}

/* a ball on the floor, its one contact a pyramid of four rows, not solved; then all that is wrong. The files of make_files
 * are there */
static inline void make_asides(const char *folder) {
  const char *const words[] = {SOFTCON_PROGRAM, "solve",       "ball.xml", "--envs", "1",      "--warmup",    "0",       "--iterations",
                               "0",             "--tolerance", "0",        "--out",  "out.h5", "--set-aside", "aside.h5", NULL};
  command_result r = command_run(words, &(command_options){.folder = folder});
  if (r.status != 4) fprintf(stderr, "%s", r.err), abort();
  for (size_t i = 0; i < sizeof aside_files / sizeof *aside_files; i++) make_bad_aside(folder, &aside_files[i]);
  make_harmed(folder, "aside.h5", "aside_half.h5", 3000, 0);
  make_harmed(folder, "aside.h5", "aside_header.h5", 0, 4);
}

#endif
