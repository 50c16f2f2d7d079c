/* Pieces of an HDF5 file, for the store_*.c; the only header that includes hdf5.h. */
#ifndef SC_STORE_FILE_H
#define SC_STORE_FILE_H

#include "store.h"

#include <hdf5.h>

/* HDF5 prints its error stack unless told otherwise; and at the end of the process it closes once more a file whose close
 * failed (on a full disk), and crashes. */
void store_be_silent(void);

/* an error of ours with the innermost description of HDF5's */
int store_error(const char *call, const char *path, const char *what);

/* A file in the making, beside the one whose place it takes at the end. After the first failure everything else is skipped. */
typedef struct {
  const char *path;
  char temporary[4096];
  hid_t file, at; /* at: the group that datasets go to */
  int code;
} store_writer;

#define STORE_WRITING "output file"

int store_begin(store_writer *w, const char *path);
int store_begin_append(store_writer *w, const char *path); /* a copy of what stands at path, if anything does */
int store_finish(store_writer *w);
void store_fail(store_writer *w, const char *what);

#define STORE_ONE ((size_t)-1) /* columns of a dataset of rank 1 */
#define STORE_SIZE_TYPE (sizeof(size_t) == 8 ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT32)

/* a dataset of rank 2, or 1 (cols STORE_ONE); data NULL: written later. Returns it for attributes, or a negative number */
hid_t store_put(store_writer *w, const char *name, hid_t stored, hid_t memory, size_t rows, size_t cols, const void *data);
void store_put_doubles(store_writer *w, const char *name, size_t rows, size_t cols, const double *data);
void store_put_closed(store_writer *w, const char *name, hid_t stored, hid_t memory, size_t rows, const void *data);

hid_t store_text_type(void);
void store_attribute_texts(store_writer *w, hid_t object, const char *name, int n, const char *const *texts); /* n -1: one */
void store_attribute_int(store_writer *w, hid_t object, const char *name, long long value);
void store_attribute_double(store_writer *w, hid_t object, const char *name, double value);

#endif
