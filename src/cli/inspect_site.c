/* What moves a point. */
#include "inspect.h"

#include <math.h>
#include <stdlib.h>

static const char *const types[] = {"free", "ball", "slide", "hinge"};

/* 1: no motion of this dof moves the point, now */
static int independent(const sc_site_dof *d) { return !(d->norm > 1e-12); }

static const char *reason(const sc_site_dof *d) {
  if (!independent(d)) return "";
  return d->above ? "no: the point lies on its axis" : "no: the joint is not between the world and the point";
}

static void print_table(const inspection *s, int site, const sc_site_dof *dofs, const double *at, double angle) {
  char label[120];
  printf("%s, %s: site %s at (%.6g, %.6g, %.6g) m\n", s->job.path, s->from,
         object_label(s->job.model, SC_OBJECT_SITE, site, label, sizeof label), at[0], at[1], at[2]);
  printf("displacement when one dof alone turns by %g rad (a slide: moves by %g m)\n\n", angle, angle);
  printf("%-22s %-6s%5s%5s%13s%13s%12s%12s  %s\n", "joint", "type", "qpos", "dof", "|column|", "lever arm", "chord",
         "Jacobian", "moves it");
  printf("%-22s %-6s%5s%5s%13s%13s%12s%12s\n", "", "", "", "", "m/rad or 1", "m", "mm", "mm");
  for (int i = 0; i < s->nv; i++) {
    const sc_site_dof *d = &dofs[i];
    object_label(s->job.model, SC_OBJECT_DOF, i, label, sizeof label);
    printf("%-22s %-6s%5d%5d%13.6g", label, types[d->type & 3], d->qposadr, d->dofadr, d->norm);
    if (isfinite(d->arm))
      printf("%13.6g", d->arm);
    else
      printf("%13s", "-");
    printf("%12.4f%12.4f  %s\n", 1000 * d->chord, 1000 * d->linear, independent(d) ? "no" : "yes");
  }
  printf("\n");
  for (int i = 0; i < s->nv; i++)
    if (independent(&dofs[i]))
      printf("does not depend on %s: %s\n", object_label(s->job.model, SC_OBJECT_DOF, i, label, sizeof label),
             reason(&dofs[i]) + 4);
  printf("chord: 2 arm sin(angle/2), the distance between where the point was and where it is then;\n"
         "Jacobian: |column| angle, what the linear model says\n");
}

static int print_json(const inspection *s, int site, const sc_site_dof *dofs, const double *at, double angle) {
  char label[120];
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "model", s->job.path);
  cJSON_AddStringToObject(o, "state", s->from);
  cJSON_AddStringToObject(o, "site", object_label(s->job.model, SC_OBJECT_SITE, site, label, sizeof label));
  json_numbers(o, "position", at, 3);
  json_number(o, "angle", angle);
  cJSON *array = cJSON_AddArrayToObject(o, "dofs");
  for (int i = 0; i < s->nv; i++) {
    const sc_site_dof *d = &dofs[i];
    cJSON *x = cJSON_CreateObject();
    cJSON_AddStringToObject(x, "joint", object_label(s->job.model, SC_OBJECT_JOINT, d->joint, label, sizeof label));
    cJSON_AddStringToObject(x, "dof", object_label(s->job.model, SC_OBJECT_DOF, i, label, sizeof label));
    cJSON_AddStringToObject(x, "type", types[d->type & 3]);
    cJSON_AddNumberToObject(x, "qposadr", d->qposadr);
    cJSON_AddNumberToObject(x, "dofadr", d->dofadr);
    json_numbers(x, "column", d->column, 3);
    json_number(x, "norm", d->norm);
    json_number(x, "arm", d->arm);
    json_number(x, "chord", d->chord);
    json_number(x, "linear", d->linear);
    json_number(x, "moved", d->moved);
    cJSON_AddBoolToObject(x, "above", d->above);
    cJSON_AddBoolToObject(x, "depends", !independent(d));
    cJSON_AddItemToArray(array, x);
  }
  return json_print(o);
}

/* the site called so, or of that number */
static int find_site(const inspection *s) {
  const char *name = s->options->site;
  int n = sc_model_count(s->job.model, SC_OBJECT_SITE), found = sc_model_find(s->job.model, SC_OBJECT_SITE, name);
  char *end, label[120];
  if (found >= 0) return found;
  long number = strtol(name, &end, 10);
  if (end != name && !*end && number >= 0 && number < n) return (int)number;
  fprintf(stderr, "softcon: --jacobian %s: %s has no such site; it has", name, s->job.path);
  for (int i = 0; i < n && i < 12; i++)
    fprintf(stderr, "%s %s", i ? "," : "", object_label(s->job.model, SC_OBJECT_SITE, i, label, sizeof label));
  fprintf(stderr, n ? n > 12 ? ", ...\n" : "\n" : " none\n");
  return -1;
}

int inspect_site(inspection *s) {
  int site = find_site(s);
  double angle = isnan(s->options->angle) ? 0.5 : s->options->angle, at[3];
  if (site < 0) return EXIT_INPUT;
  sc_site_dof *dofs = calloc((size_t)s->nv + 1, sizeof *dofs);
  if (!dofs) return cli_fail_with(EXIT_INTERNAL, "no memory for %d dofs", s->nv);
  int status = 0, code = sc_inspect_site(s->job.model, s->job.states, s->job.sig, site, angle, dofs, at);
  if (code)
    status = cli_fail(code);
  else if (s->options->json)
    status = print_json(s, site, dofs, at, angle);
  else
    print_table(s, site, dofs, at, angle);
  free(dofs);
  return status;
}
