/* Files to hand to the program: models, and files of states that are right, wrong, or not files of states. */
#ifndef TEST_BAD_FILES_H
#define TEST_BAD_FILES_H

#include "command.h"
#include "store.h"
#include "softcon_mujoco.h"

#include <hdf5.h>
#include <math.h>

/* ------------------------------------------------------------------ models */

#define BALL "<worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .09'><freejoint/><geom name='ball' size='.1'/></body></worldbody>"
#define HINGE "<worldbody><body><joint axis='0 1 0'/><geom size='.1' pos='0 0 -1'/></body></worldbody>"

static const struct { const char *name, *text; } model_files[] = {
    {"ball.xml", "<mujoco>" BALL "</mujoco>"},
    {"hinge.xml", "<mujoco>" HINGE "</mujoco>"},
    {"still.xml", "<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>"},
    {"pgs.xml", "<mujoco><option solver='PGS' iterations='30'/>" BALL "</mujoco>"},
    {"empty.xml", ""},
    {"foreign.xml", "\x89PNG\r\n\x1a\n not a model"},
    {"open.xml", "<mujoco><worldbody><body>"},
    {"no_end.xml", "<mujoco>" HINGE},
    {"other_root.xml", "<robot name='x'><link name='y'></robot>"},
    {"element.xml", "<mujoco><worldbody><bdy/></worldbody></mujoco>"},
    {"attribute.xml", "<mujoco><worldbody><geom siz='1'/></worldbody></mujoco>"},
    {"number.xml", "<mujoco><worldbody><geom size='big'/></worldbody></mujoco>"},
    {"massless.xml", "<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>"},
    {"mesh.xml", "<mujoco><asset><mesh name='m' file='nowhere.stl'/></asset><worldbody><geom type='mesh' mesh='m'/></worldbody></mujoco>"},
    {"include.xml", "<mujoco><include file='nowhere.xml'/></mujoco>"},
    {"range.xml", "<mujoco><compiler autolimits='false'/><worldbody><body><joint limited='true' range='1 -1'/><geom size='.1'/></body></worldbody></mujoco>"},
    {"equality.xml", "<mujoco>" BALL "<equality><connect body1='nobody' anchor='0 0 0'/></equality></mujoco>"},
    {"cone.xml", "<mujoco><option cone='conical'/>" BALL "</mujoco>"},
    {"flex.xml",
     "<mujoco><worldbody><flexcomp name='f' type='grid' dim='2' count='3 3 1' spacing='.1 .1 .1' mass='1' radius='.01'/></worldbody></mujoco>"},
    {"discrete.xml", "<mujoco><option integrator='discrete'/>" BALL "</mujoco>"},
    {"sleep.xml", "<mujoco><option><flag sleep='enable'/></option>" BALL "</mujoco>"},
    {"empty.mjb", ""},
    {"foreign.mjb", "this is a text, not a model, but it is long enough to hold a header of a few numbers and then some"},
    {"keep.h5", "what stood here before"},
    {"secret.xml", "<mujoco/>"},
};

/* ------------------------------------------------------------------ states */

/* A file with one dataset. */
typedef struct {
  const char *file, *set;   /* set: NULL: "states" */
  int rank;                 /* -1: a dataspace of nothing */
  hsize_t dims[3];          /* W stands for the model's width */
  int type;                 /* see set_type */
  int sig;                  /* see put_signature */
  int layout;               /* see set_layout */
} set_file;

#define W ((hsize_t)-1)
enum { REAL64, REAL32, REAL64_SWAPPED, INTEGERS, TEXTS };
enum { SIG_RIGHT, SIG_NONE, SIG_REAL, SIG_TEXT, SIG_TWO, SIG_NEGATIVE, SIG_UNKNOWN, SIG_VAST, SIG_POSITIONS };
enum { WHOLE, CHUNKS, CHECKED, ELSEWHERE };

static const set_file set_files[] = {
    {"good.h5", NULL, 2, {4, W}, REAL64, SIG_RIGHT, WHOLE},
    {"unsigned.h5", NULL, 2, {4, W}, REAL64, SIG_NONE, WHOLE},
    {"float.h5", NULL, 2, {4, W}, REAL32, SIG_RIGHT, WHOLE},
    {"swapped.h5", NULL, 2, {4, W}, REAL64_SWAPPED, SIG_RIGHT, WHOLE},
    {"checked.h5", NULL, 2, {4, W}, REAL64, SIG_RIGHT, CHECKED},
    {"none.h5", NULL, 2, {0, W}, REAL64, SIG_RIGHT, WHOLE},
    {"zero_width.h5", NULL, 2, {4, 0}, REAL64, SIG_RIGHT, WHOLE},
    {"narrow.h5", NULL, 2, {4, 5}, REAL64, SIG_RIGHT, WHOLE},
    {"null.h5", NULL, -1, {0}, REAL64, SIG_RIGHT, WHOLE},
    {"scalar.h5", NULL, 0, {0}, REAL64, SIG_RIGHT, WHOLE},
    {"line.h5", NULL, 1, {W}, REAL64, SIG_RIGHT, WHOLE},
    {"cube.h5", NULL, 3, {4, 1, W}, REAL64, SIG_RIGHT, WHOLE},
    {"integers.h5", NULL, 2, {4, W}, INTEGERS, SIG_RIGHT, WHOLE},
    {"texts.h5", NULL, 2, {4, W}, TEXTS, SIG_RIGHT, WHOLE},
    {"other_set.h5", "qpos", 2, {4, W}, REAL64, SIG_RIGHT, WHOLE},
    {"in_group.h5", "states/0", 2, {4, W}, REAL64, SIG_RIGHT, WHOLE},
    {"sig_real.h5", NULL, 2, {4, W}, REAL64, SIG_REAL, WHOLE},
    {"sig_text.h5", NULL, 2, {4, W}, REAL64, SIG_TEXT, WHOLE},
    {"sig_two.h5", NULL, 2, {4, W}, REAL64, SIG_TWO, WHOLE},
    {"sig_negative.h5", NULL, 2, {4, W}, REAL64, SIG_NEGATIVE, WHOLE},
    {"sig_unknown.h5", NULL, 2, {4, W}, REAL64, SIG_UNKNOWN, WHOLE},
    {"sig_vast.h5", NULL, 2, {4, W}, REAL64, SIG_VAST, WHOLE},
    {"sig_positions.h5", NULL, 2, {4, W}, REAL64, SIG_POSITIONS, WHOLE},
    {"too_many.h5", NULL, 2, {(hsize_t)1 << 31, W}, REAL64, SIG_RIGHT, CHUNKS},
    {"vast.h5", NULL, 2, {2000000000, W}, REAL64, SIG_RIGHT, CHUNKS},
    {"overflow.h5", NULL, 2, {2000000000, (hsize_t)1 << 40}, REAL64, SIG_RIGHT, CHUNKS},
    {"elsewhere.h5", NULL, 2, {4, W}, REAL64, SIG_RIGHT, ELSEWHERE},
};

static inline hid_t set_type(int type) {
  hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 8);
  const hid_t types[] = {H5T_IEEE_F64LE, H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_STD_I32LE, text};
  return types[type];
}

static inline hid_t set_layout(int layout) {
  hsize_t chunk[2] = {2, 4};
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  if (layout == CHUNKS || layout == CHECKED) H5Pset_chunk(list, 2, chunk);
  if (layout == CHECKED) H5Pset_fletcher32(list);
  if (layout == ELSEWHERE) H5Pset_external(list, "nowhere.raw", 0, H5F_UNLIMITED);
  return list;
}

static inline void put_signature(hid_t set, int sig, int right) {
  const long long values[2] = {sig == SIG_NEGATIVE ? -3 : sig == SIG_UNKNOWN ? 1 << 30 : sig == SIG_VAST ? 1LL << 40 : sig == SIG_POSITIONS ? 2 : right, 0};
  hsize_t two = 2;
  if (sig == SIG_NONE) return;
  hid_t space = sig == SIG_TWO ? H5Screate_simple(1, &two, NULL) : H5Screate(H5S_SCALAR);
  hid_t a = H5Acreate2(set, "sig", sig == SIG_REAL ? H5T_IEEE_F64LE : sig == SIG_TEXT ? set_type(TEXTS) : H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  if (sig == SIG_REAL)
    H5Awrite(a, H5T_NATIVE_DOUBLE, &(double){right});
  else if (sig == SIG_TEXT)
    H5Awrite(a, set_type(TEXTS), "8191   ");
  else
    H5Awrite(a, H5T_NATIVE_LLONG, values);
  H5Aclose(a);
  H5Sclose(space);
}

/* states: 4 x width */
static inline void make_set(const char *folder, const set_file *f, const double *states, size_t width) {
  char path[4096];
  hsize_t dims[3];
  snprintf(path, sizeof path, "%s/%s", folder, f->file);
  for (int i = 0; i < 3; i++) dims[i] = f->dims[i] == W ? (hsize_t)width : f->dims[i];
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), links = H5Pcreate(H5P_LINK_CREATE);
  hid_t space = f->rank < 0 ? H5Screate(H5S_NULL) : f->rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(f->rank, dims, NULL);
  H5Pset_create_intermediate_group(links, 1);
  hid_t set = H5Dcreate2(file, f->set ? f->set : "states", set_type(f->type), space, links, set_layout(f->layout), H5P_DEFAULT);
  if (set < 0) abort();
  put_signature(set, f->sig, sc_state_integration());
  if (f->rank >= 1 && dims[0] <= width && f->type != TEXTS && f->layout != ELSEWHERE)
    if (H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, states) < 0) abort();
  H5Dclose(set);
  H5Sclose(space);
  H5Pclose(links);
  H5Fclose(file);
}

/* the file with a part of its bytes, or with one of them changed */
static inline void make_harmed(const char *folder, const char *from, const char *to, size_t keep, size_t change) {
  size_t n;
  char *data = file_read(folder, from, &n);
  if (change) data[change < n ? change : n - change % n - 1] ^= 0x55;
  file_write(folder, to, data, keep && keep < n ? keep : n);
  free(data);
}

static inline void make_bad_states(const char *folder, double *states, size_t width) {
  const struct { const char *file; double value; } numbers[] = {{"nan.h5", NAN}, {"infinite.h5", INFINITY}, {"huge.h5", 1e300}};
  for (size_t i = 0; i < sizeof set_files / sizeof *set_files; i++) make_set(folder, &set_files[i], states, width);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    double kept = states[2 * width + 3];
    set_file f = set_files[0];
    f.file = numbers[i].file;
    states[2 * width + 3] = numbers[i].value;
    make_set(folder, &f, states, width);
    states[2 * width + 3] = kept;
  }
  make_harmed(folder, "good.h5", "stub.h5", 20, 0);
  make_harmed(folder, "good.h5", "half.h5", 1200, 0);
  make_harmed(folder, "good.h5", "header.h5", 0, 4);
  file_write(folder, "empty.h5", "", 0);
  file_write(folder, "foreign.h5", "PK\003\004 an archive of something else", 32);
}

/* all of them; the program's own way of making states is used for the right ones */
static inline void make_files(const char *folder) {
  char path[4096];
  sc_context *context;
  sc_model *model;
  size_t width;
  for (size_t i = 0; i < sizeof model_files / sizeof *model_files; i++)
    file_write(folder, model_files[i].name, model_files[i].text, strlen(model_files[i].text));
  snprintf(path, sizeof path, "%s/ball.xml", folder);
  if (sc_context_create(NULL, &context) || sc_model_load(path, NULL, &model) || sc_state_size(model, -1, &width)) abort();
  double *states = malloc(4 * width * sizeof *states);
  if (!states || sc_states_make(context, model, 4, 1, 20, states, NULL, NULL)) abort();
  make_bad_states(folder, states, width);
  free(states);
  sc_model_destroy(model);
  sc_context_destroy(context);
}

#endif
