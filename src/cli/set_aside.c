#define _XOPEN_SOURCE 700 /* realpath */
#include "set_aside.h"

#include "inspect.h"
#include "store_aside.h"

#include <stdlib.h>
#include <string.h>

#define NAME 200

/* Names of rows and dofs, a text behind each pointer. */
typedef struct {
  const char **row, **dof;
  char *text;
  sc_row_info *info;
  size_t capacity; /* rows that there is room for */
} names;

static void free_names(names *n) {
  free(n->row);
  free(n->dof);
  free(n->text);
  free(n->info);
}

static int reserve_names(names *n, int nv, int rows) {
  size_t need = (size_t)rows + 1, dofs = (size_t)nv + 1;
  if (need <= n->capacity) return 1;
  free_names(n);
  *n = (names){.row = malloc(need * sizeof *n->row), .dof = malloc(dofs * sizeof *n->dof), .capacity = need};
  n->text = calloc(need + dofs, NAME), n->info = malloc(need * sizeof *n->info);
  return n->row && n->dof && n->text && n->info;
}

static void row_name(const sc_model *model, const sc_row_info *r, char *text) {
  char kind[40], side[2][NAME];
  row_kind(r, kind, sizeof kind);
  for (int k = 0; k < 2; k++) object_label(model, r->object[k], r->object_id[k], side[k], sizeof side[k]);
  snprintf(text, NAME, "%s: %.70s%s%.70s", kind, side[0], *side[1] ? " - " : "", side[1]);
}

/* The names of the problem's rows, which are MuJoCo's without the contacts that the capacity dropped. 0: they are not known. */
static int find_names(const job *j, const double *state, const sc_problem *p, const sc_rows *rows, names *n) {
  int described = 0;
  char *text = n->text;
  for (int i = 0; i < p->nv; i++, text += NAME) n->dof[i] = object_label(j->model, SC_OBJECT_DOF, i, text, NAME);
  if (sc_inspect_rows(j->model, state, j->sig, rows->rows_needed, n->info, NULL, &described)) return 0;
  if (described != rows->rows_needed) return 0;
  for (int i = 0, k = 0; i < p->nefc; i++, k++, text += NAME) {
    while (k < described && (n->info[k].type != p->efc_type[i] || n->info[k].id != p->efc_id[i])) k++;
    if (k == described) return 0;
    row_name(j->model, &n->info[k], text);
    n->row[i] = text;
  }
  return 1;
}

/* everything of one environment that is not in its problem */
static void describe(const job *j, const timed_solver *t, int env, sc_aside *a) {
  const sc_result *r = &t->result;
  a->env = env;
  a->rows_by_mujoco = j->options->rows == ROWS_MUJOCO;
  a->status = r->status[env], a->flags = r->flags[env], a->iterations = r->iterations[env];
  a->gap = r->gap[env], a->gap_floor = r->gap_floor[env], a->qacc_bound = r->qacc_bound[env], a->objective = r->objective[env];
  a->options = t->options;
  a->qacc = r->qacc + r->nv_offset[env], a->efc_force = r->efc_force + r->efc_offset[env];
  a->sig = j->sig < 0 ? sc_state_integration() : j->sig;
}

static int add(const job *j, const timed_solver *t, int env, size_t nstate, const char *model, names *n, sc_aside_file *file) {
  sc_aside a = {.model = model};
  sc_rows rows;
  int code = sc_batch_get(j->batch, env, &a.problem, &rows);
  if (code) return cli_fail(code);
  if (!reserve_names(n, a.problem.nv, rows.rows_needed))
    return cli_fail_with(EXIT_INTERNAL, "no memory for the names of %d rows", rows.rows_needed);
  describe(j, t, env, &a);
  a.bad = rows.bad, a.why = rows.why;
  a.state = j->states + (size_t)env * nstate, a.nstate = (int)nstate;
  if (find_names(j, a.state, &a.problem, &rows, n)) a.row_name = n->row;
  a.dof_name = n->dof;
  sc_aside_add(file, &a);
  return 0;
}

int set_aside(const job *j, const timed_solver *t, const char *path, int *count) {
  const sc_result *r = &t->result;
  sc_aside_file *file;
  size_t nstate;
  names n = {0};
  char *absolute = realpath(j->path, NULL);
  *count = 0;
  int status = 0, code = sc_state_size(j->model, j->sig, &nstate);
  if (!code) code = sc_aside_open(path, &file);
  if (code) {
    free(absolute);
    return cli_fail(code);
  }
  for (int i = 0; i < r->nenv && !status; i++)
    if (r->status[i] != SC_SOLVED) status = add(j, t, i, nstate, absolute ? absolute : j->path, &n, file), (*count)++;
  code = sc_aside_close(file);
  free_names(&n);
  free(absolute);
  return status ? status : code ? cli_fail(code) : 0;
}
