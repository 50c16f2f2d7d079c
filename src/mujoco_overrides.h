/* Parameters of a model that differ from environment to environment. */
#ifndef SC_MUJOCO_OVERRIDES_H
#define SC_MUJOCO_OVERRIDES_H

#include "mujoco_private.h"

#define SC_MJ_NFIELD 64 /* at least as many as can be overridden, at most as a uint64_t has bits */

typedef struct sc_mj_overrides {
  const sc_override *list;
  int n;
  int field[SC_MJ_NFIELD];     /* n: which one of the table */
  size_t numbers[SC_MJ_NFIELD]; /* n: how many in an environment */
  uint64_t fields;             /* all of them, as bits */
  int weights, margins;        /* derived numbers that must follow: mj_setConst's, body_margin */
} sc_mj_overrides;

/* Resolve and check the caller's list; `call` is named in errors. */
int sc_mj_overrides_check(const char *call, const sc_model *model, const sc_override *list, int n, int nenv,
                          sc_mj_overrides *out);

/* Give every worker a copy of the model to write into, in which nothing is from earlier overrides; nothing to do without
 * overrides. */
int sc_mj_overrides_open(const char *call, const mjModel *model, const sc_mj_overrides *overrides, sc_mj_crew *crew);

/* The model of an environment: `shared` without overrides, else the worker's own with the values written into it. NULL:
 * a value is not valid; text says which. */
const mjModel *sc_mj_overrides_model(const sc_mj_overrides *overrides, const mjModel *shared, sc_mj_worker *worker,
                                     int env, char text[SC_MJ_TEXT]);

#endif
