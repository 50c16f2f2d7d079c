/* The table of rows. */
#include "inspect.h"
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ rows from both sides */

/* Numbers of softcon in place of MuJoCo's, where softcon made them. */
static void take_numbers(inspection *s) {
  const sc_problem *p = &s->problem;
  const sc_rows *r = &s->rows;
  for (int i = 0; i < s->nefc; i++) {
    sc_row_info *row = &s->info[i];
    if (r->K && r->B && r->d && r->dp) row->K = r->K[i], row->B = r->B[i], row->d = r->d[i], row->dp = r->dp[i];
    if (r->diagA) row->diagA = r->diagA[i];
    if (p->efc_pos) row->pos = p->efc_pos[i];
    if (p->efc_margin) row->margin = p->efc_margin[i];
    if (p->efc_vel) row->vel = p->efc_vel[i];
    row->R = r->R[i], row->aref = p->efc_aref[i];
  }
  s->softcon_rows = r->K != NULL;
}

/* Names and settings are MuJoCo's, so both must speak of the same rows. */
static int same_rows(const inspection *s, int described) {
  if (described != s->nefc) return 0;
  for (int i = 0; i < s->nefc; i++)
    if (s->info[i].type != s->problem.efc_type[i] ||
        (s->problem.efc_id && s->problem.efc_id[i] >= 0 && s->info[i].id != s->problem.efc_id[i]))
      return 0;
  return 1;
}

static int load_rows(inspection *s, progress *p) {
  job *j = &s->job;
  int described = 0, status = job_batch(j, s->context, p);
  if (status) return status;
  int code = sc_batch_get(j->batch, 0, &s->problem, &s->rows);
  if (code) return cli_fail(code);
  s->nefc = s->problem.nefc;
  s->A = malloc(((size_t)s->nefc + 1) * sizeof *s->A);
  s->info = calloc((size_t)s->nefc + 1, sizeof *s->info);
  if (!s->A || !s->info) return cli_fail_with(EXIT_INTERNAL, "no memory for %d rows", s->nefc);
  if (s->rows.bad) { /* without data there is nothing to describe; the verdict says it */
    s->nefc = 0;
    return 0;
  }
  code = sc_inspect_rows(j->model, j->states, j->sig, s->nefc, s->info, NULL, &described);
  if (code) return cli_fail(code);
  if (!same_rows(s, described))
    return cli_fail_with(EXIT_INTERNAL, "the rows of the batch (%d) are not those that MuJoCo describes (%d)", s->nefc,
                         described);
  take_numbers(s);
  return 0;
}

/* ------------------------------------------------------------------ the table */

#define WIDTH 100

static void print_names(const inspection *s, int i) {
  const sc_row_info *r = &s->info[i];
  char kind[40], side[2][200], names[430];
  row_kind(r, kind, sizeof kind);
  for (int k = 0; k < 2; k++) object_label(s->job.model, r->object[k], r->object_id[k], side[k], sizeof side[k]);
  snprintf(names, sizeof names, "%s%s%s", side[0], *side[1] ? " - " : "", side[1]);
  printf("%4d %-16s ", i, kind);
  /* long names get a line of their own */
  if (strlen(names) > 35)
    printf("%s\n%57s", names, "");
  else
    printf("%-35s", names);
}

static void print_row(const inspection *s, int i) {
  const sc_row_info *r = &s->info[i];
  const sc_result *result = &s->solver.result;
  print_names(s, i);
  printf("%11.4g%10.4g%11.4g%11.4g\n", r->pos, r->margin, r->vel, result->efc_force[i]);
  printf("     %-10s%10.4g%10.4g%9.4f%11.4g%10.4g%10.4g%11.4g%10.4f\n", state_word(result->efc_state[i]), r->K, r->B,
         r->d, r->dp, r->R, s->problem.efc_D[i], r->aref, s->A[i] / (s->A[i] + r->R));
}

static void print_remarks(const inspection *s, int i) {
  remarks all;
  if (s->info[i].block_row) return; /* a block has one set of settings */
  remark_row(&all, &s->info[i], s->job.info.timestep, s->flags.refsafe);
  for (int k = 0; k < all.n; k++) printf("     ! %s\n", all.text[k]);
}

static void print_table(const inspection *s) {
  printf("softcon %s, MuJoCo %s: %s, %s\n", sc_version(), s->job.info.mujoco_version, s->job.path, s->from);
  printf("%d dof%s, %d row%s made by %s; %s cones, impratio %g, timestep %g s, refsafe %s\n\n", s->nv,
         s->nv == 1 ? "" : "s", s->nefc, s->nefc == 1 ? "" : "s", s->softcon_rows ? "softcon" : "MuJoCo",
         s->job.info.cone ? "elliptic" : "pyramidal", s->job.info.impratio, s->job.info.timestep,
         s->flags.refsafe ? "on" : "off");
  if (s->nefc) {
    printf("%4s %-16s %-35s%11s%10s%11s%11s\n", "row", "kind", "sides", "pos", "margin", "vel", "force");
    printf("     %-10s%10s%10s%9s%11s%10s%10s%11s%10s\n", "state", "K", "B", "d", "d'", "R", "D", "aref", "A/(A+R)");
    for (int k = 0; k < WIDTH; k++) putchar('-');
    putchar('\n');
    for (int i = 0; i < s->nefc; i++) {
      print_row(s, i);
      print_remarks(s, i);
    }
    printf(
        "\nA = J M^-1 J' exactly; A/(A+R) is the share of the row's acceleration that its own force brings to aref.\n");
  } else if (s->status != SC_BAD_INPUT)
    printf("no rows: nothing touches, no limit is near, nothing is coupled\n");
  printf("\n");
  inspect_solve_table(s);
}

/* ------------------------------------------------------------------ JSON */

static void add_side(const inspection *s, cJSON *sides, int object, int id) {
  char label[200];
  if (object == SC_OBJECT_NONE) return;
  cJSON *side = cJSON_CreateObject();
  cJSON_AddStringToObject(side, "object", sc_object_word(object));
  cJSON_AddNumberToObject(side, "id", id);
  cJSON_AddStringToObject(side, "name", object_label(s->job.model, object, id, label, sizeof label));
  cJSON_AddItemToArray(sides, side);
}

static void add_settings(const inspection *s, cJSON *o, const sc_row_info *r) {
  remarks all;
  json_numbers(o, "solref", r->solref, 2);
  json_numbers(o, "solimp", r->solimp, 5);
  if (is_contact(r->type)) {
    json_numbers(o, "solreffriction", r->solreffriction, 2);
    json_numbers(o, "friction", r->friction, 5);
    cJSON_AddNumberToObject(o, "dim", r->dim);
  }
  remark_row(&all, r, s->job.info.timestep, s->flags.refsafe);
  cJSON *array = cJSON_AddArrayToObject(o, "repairs");
  for (int k = 0; k < all.n; k++) cJSON_AddItemToArray(array, cJSON_CreateString(all.text[k]));
}

static cJSON *row_json(const inspection *s, int i) {
  const sc_row_info *r = &s->info[i];
  char text[200];
  cJSON *o = cJSON_CreateObject();
  cJSON_AddNumberToObject(o, "row", i);
  cJSON_AddStringToObject(o, "type", type_word(r->type));
  cJSON_AddStringToObject(o, "kind", row_kind(r, text, sizeof text));
  cJSON_AddNumberToObject(o, "id", r->id);
  if (r->type == SC_EQUALITY)
    cJSON_AddStringToObject(o, "equality", object_label(s->job.model, SC_OBJECT_EQUALITY, r->id, text, sizeof text));
  cJSON *sides = cJSON_AddArrayToObject(o, "sides");
  for (int k = 0; k < 2; k++) add_side(s, sides, r->object[k], r->object_id[k]);
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"pos", r->pos},
                 {"margin", r->margin},
                 {"vel", r->vel},
                 {"K", r->K},
                 {"B", r->B},
                 {"d", r->d},
                 {"dp", r->dp},
                 {"R", r->R},
                 {"D", s->problem.efc_D[i]},
                 {"diagA", r->diagA},
                 {"aref", r->aref},
                 {"frictionloss", r->frictionloss},
                 {"A", s->A[i]},
                 {"effective", s->A[i] / (s->A[i] + r->R)},
                 {"force", s->solver.result.efc_force[i]}};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) json_number(o, numbers[k].name, numbers[k].value);
  cJSON_AddStringToObject(o, "state", state_word(s->solver.result.efc_state[i]));
  add_settings(s, o, r);
  return o;
}

static int print_json(const inspection *s) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "model", s->job.path);
  cJSON_AddStringToObject(o, "state", s->from);
  cJSON_AddNumberToObject(o, "nv", s->nv);
  cJSON_AddNumberToObject(o, "nefc", s->nefc);
  cJSON_AddStringToObject(o, "rows_by", s->softcon_rows ? "softcon" : "mujoco");
  cJSON_AddStringToObject(o, "cone", s->job.info.cone ? "elliptic" : "pyramidal");
  json_number(o, "impratio", s->job.info.impratio);
  json_number(o, "timestep", s->job.info.timestep);
  cJSON_AddBoolToObject(o, "refsafe", s->flags.refsafe);
  cJSON *rows = cJSON_AddArrayToObject(o, "rows");
  for (int i = 0; i < s->nefc; i++) cJSON_AddItemToArray(rows, row_json(s, i));
  inspect_solve_json(s, o);
  return json_print(o);
}

int inspect_rows(inspection *s) {
  progress p;
  progress_begin(&p, 1);
  int status = load_rows(s, &p);
  if (!status) status = inspect_solve(s);
  if (!status) status = inspect_linear(s);
  if (!status && s->options->plot) status = plot_inspect(s);
  if (status) return status;
  if (s->options->json)
    status = print_json(s);
  else
    print_table(s);
  return status ? status : s->status == SC_SOLVED ? EXIT_SOLVED : EXIT_NOT_SOLVED;
}
