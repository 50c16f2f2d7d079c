/* Models with many dofs, made here: piles of boxes, bodies of every primitive kind, one long chain. */
#ifndef TEST_LARGE_MODELS_H
#define TEST_LARGE_MODELS_H

#include "model_run.h"

#include <stdarg.h>
#include <stdio.h>

/* text that grows */
typedef struct {
  char *at;
  size_t n, room;
} large_text;

static inline void large_add(large_text *t, const char *format, ...) {
  if (t->room - t->n < 4096) {
    t->room = 2 * t->room + 8192;
    t->at = realloc(t->at, t->room);
    cr_assert(t->at);
  }
  va_list args;
  va_start(args, format);
  t->n += (size_t)vsnprintf(t->at + t->n, t->room - t->n, format, args);
  va_end(args);
}

static inline mjModel *large_load(large_text *t) {
  char error[500] = "";
  mjVFS files;
  mj_defaultVFS(&files);
  cr_assert_eq(mj_addBufferVFS(&files, "large.xml", t->at, (int)t->n), 0);
  mjModel *m = mj_loadXML("large.xml", &files, error, sizeof error);
  mj_deleteVFS(&files);
  free(t->at);
  cr_assert(m != NULL, "%s", error);
  return m;
}

static inline void large_begin(large_text *t, const char *cone) {
  large_add(t, "<mujoco><size memory=\"1G\"/><option timestep=\".004\" cone=\"%s\" jacobian=\"sparse\"/><worldbody>"
               "<geom type=\"plane\" size=\"50 50 .1\"/>", cone);
}

/* n boxes turned at random above each other between four walls, `side` x `side` in a layer */
static inline mjModel *large_pile(int n, int side, const char *cone, int condim) {
  large_text t = {0};
  test_random r = {7};
  double far = 0.125 * side + 0.12;
  large_begin(&t, cone);
  for (int k = 0; k < 4; k++)
    large_add(&t, "<geom type=\"box\" size=\"%g %g 3\" pos=\"%g %g 3\"/>", k < 2 ? 0.02 : far, k < 2 ? far : 0.02, -0.125 + (k == 0 ? far : k == 1 ? -far : 0),
              -0.125 + (k == 2 ? far : k == 3 ? -far : 0));
  for (int i = 0; i < n; i++) {
    double x[3] = {i % side - side / 2., i / side % side - side / 2., i / (side * side) + 0.6};
    for (int k = 0; k < 3; k++) x[k] = 0.25 * x[k] + 0.02 * random_signed(&r);
    large_add(&t, "<body pos=\"%.4f %.4f %.4f\" euler=\"%.1f %.1f %.1f\"><freejoint/><geom type=\"box\" size=\"%.3f %.3f %.3f\" condim=\"%d\"/></body>", x[0], x[1], x[2],
              20 * random_signed(&r), 20 * random_signed(&r), 90 * random_unit(&r), 0.07 + 0.04 * random_unit(&r), 0.07 + 0.04 * random_unit(&r),
              0.07 + 0.04 * random_unit(&r), condim);
  }
  large_add(&t, "</worldbody></mujoco>");
  return large_load(&t);
}

/* n free bodies of five kinds and three contact dimensions, falling on the floor in a heap */
static inline mjModel *large_primitives(int n, const char *cone) {
  static const char *const kinds[] = {"sphere\" size=\".1", "capsule\" size=\".07 .1", "ellipsoid\" size=\".1 .08 .06", "cylinder\" size=\".09 .07",
                                      "box\" size=\".08 .09 .07"};
  static const int dims[] = {3, 4, 6};
  large_text t = {0};
  large_begin(&t, cone);
  for (int i = 0; i < n; i++) {
    int x = i % 5, y = i / 5 % 5, z = i / 25;
    large_add(&t, "<body pos=\"%.3f %.3f %.3f\"><freejoint/><geom type=\"%s\" condim=\"%d\" friction=\".8 .01 .001\"/></body>", 0.24 * x + 0.01 * z,
              0.24 * y + 0.01 * (i % 3), 0.15 + 0.24 * z, kinds[i % 5], dims[i % 3]);
  }
  large_add(&t, "</worldbody></mujoco>");
  return large_load(&t);
}

/* n hinges about y and z in turn, held at one end, every tenth link touching the floor; limits and dry friction everywhere */
static inline mjModel *large_chain(int n, const char *cone) {
  mjSpec *s = mj_makeSpec();
  mjsBody *body = mjs_findBody(s, "world");
  s->memory = 1 << 30;
  s->option.timestep = 0.004;
  s->option.cone = strcmp(cone, "elliptic") ? mjCONE_PYRAMIDAL : mjCONE_ELLIPTIC;
  mjsGeom *floor = mjs_addGeom(body, NULL);
  floor->type = mjGEOM_PLANE, floor->size[0] = floor->size[1] = 500, floor->size[2] = 0.1;
  for (int i = 0; i < n; i++) {
    body = mjs_addBody(body, NULL);
    body->pos[0] = i ? 0.1 : 0, body->pos[2] = i ? 0 : 0.05;
    mjsJoint *joint = mjs_addJoint(body, NULL);
    joint->axis[0] = 0, joint->axis[1] = i % 2, joint->axis[2] = 1 - i % 2;
    joint->range[0] = -20, joint->range[1] = 20, joint->limited = mjLIMITED_TRUE;
    joint->armature = 1e-4;
    joint->frictionloss = 0.002;
    mjsGeom *geom = mjs_addGeom(body, NULL);
    geom->type = mjGEOM_CAPSULE, geom->size[0] = 0.03;
    for (int k = 0; k < 6; k++) geom->fromto[k] = k == 3 ? 0.1 : 0;
    geom->contype = 0, geom->conaffinity = i % 10 == 9;
  }
  mjModel *m = mj_compile(s, NULL);
  cr_assert(m != NULL, "%s", mjs_getError(s));
  mj_deleteSpec(s);
  return m;
}

/* the state after so many steps; to be freed */
static inline double *large_state(mjModel *m, int steps) {
  mjData *d = mj_makeData(m);
  double *state = test_numbers(mj_stateSize(m, mjSTATE_INTEGRATION));
  for (int i = 0; i < steps; i++) mj_step(m, d);
  mj_getState(m, d, state, mjSTATE_INTEGRATION);
  mj_deleteData(d);
  return state;
}

#endif
