/* Running the rules and printing what they find. */
#include "lint.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ findings */

static char *copy_text(const char *text) {
  size_t n = strlen(text) + 1;
  char *copy = malloc(n);
  if (copy) memcpy(copy, text, n);
  return copy;
}

static int add_object(lint_finding *f, const char *object) {
  char **more = realloc(f->objects, ((size_t)f->nobject + 1) * sizeof *more);
  if (!more) return 0;
  f->objects = more;
  more[f->nobject] = copy_text(object);
  return more[f->nobject++] != NULL;
}

static int add_finding(lint *l, const char *reason, const char *remedy) {
  lint_finding *more = realloc(l->findings, ((size_t)l->nfinding + 1) * sizeof *more);
  if (!more) return 0;
  l->findings = more;
  lint_finding *f = &more[l->nfinding++];
  *f = (lint_finding){.rule = l->rule, .warning = l->warning, .reason = copy_text(reason), .remedy = copy_text(remedy)};
  return f->reason && f->remedy;
}

void lint_report(lint *l, const char *object, const char *remedy, const char *format, ...) {
  char reason[400];
  va_list args;
  int at = 0;
  if (l->failed) return;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  while (at < l->nfinding) {
    const lint_finding *f = &l->findings[at];
    if (f->rule == l->rule && !strcmp(f->reason, reason) && !strcmp(f->remedy, remedy)) break;
    at++;
  }
  if ((at == l->nfinding && !add_finding(l, reason, remedy)) || !add_object(&l->findings[at], object)) {
    l->failed = 1;
    sc_error_set(SC_ERROR_MEMORY, "lint: no memory for the findings");
  }
}

static void free_findings(lint *l) {
  for (int i = 0; i < l->nfinding; i++) {
    lint_finding *f = &l->findings[i];
    for (int k = 0; k < f->nobject; k++) free(f->objects[k]);
    free(f->objects);
    free(f->reason);
    free(f->remedy);
  }
  free(l->findings);
}

const char *lint_object(const lint *l, int object, int id, char *buffer, size_t size) {
  char name[200];
  object_label(l->model, object, id, name, sizeof name);
  snprintf(buffer, size, "%s%s%s", *sc_model_name(l->model, object, id) ? sc_object_word(object) : "",
           *sc_model_name(l->model, object, id) ? " " : "", name);
  return buffer;
}

/* ------------------------------------------------------------------ output */

#define SHOWN 6

/* a text in lines of at most `width`, each after `indent` blanks; the first one's are there already */
static void print_wrapped(const char *text, int indent, int width) {
  int at = indent;
  while (*text) {
    int n = (int)strcspn(text, " "), first = at == indent;
    if (!first && at + 1 + n > width) {
      printf("\n%*s", indent, "");
      at = indent, first = 1;
    }
    printf("%s%.*s", first ? "" : " ", n, text);
    at += n + !first;
    text += n + (text[n] == ' ');
  }
  printf("\n");
}

static void print_finding(const lint_finding *f) {
  char objects[1000];
  size_t at = 0;
  objects[0] = 0;
  for (int k = 0; k < f->nobject && k < SHOWN && at < sizeof objects; k++)
    at += (size_t)snprintf(objects + at, sizeof objects - at, "%s%s", k ? ", " : "", f->objects[k]);
  if (f->nobject > SHOWN && at < sizeof objects)
    snprintf(objects + at, sizeof objects - at, ", ... (%d in all)", f->nobject);
  printf("\n%s  %s\n         ", f->warning ? "warning" : "note   ", f->rule);
  print_wrapped(objects, 9, 100);
  printf("         ");
  print_wrapped(f->reason, 9, 100);
  printf("         -> ");
  print_wrapped(f->remedy, 12, 100);
}

static void print_all(const inspection *s, const lint *l) {
  int warnings = 0;
  for (int i = 0; i < l->nfinding; i++) warnings += l->findings[i].warning;
  for (int pass = 1; pass >= 0; pass--)
    for (int i = 0; i < l->nfinding; i++)
      if (l->findings[i].warning == pass) print_finding(&l->findings[i]);
  int notes = l->nfinding - warnings;
  printf("%s%s: %d warning%s, %d note%s\n", l->nfinding ? "\n" : "", s->job.path, warnings, warnings == 1 ? "" : "s",
         notes, notes == 1 ? "" : "s");
}

static int print_json(const inspection *s, const lint *l) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "model", s->job.path);
  cJSON *array = cJSON_AddArrayToObject(o, "findings");
  for (int i = 0; i < l->nfinding; i++) {
    const lint_finding *f = &l->findings[i];
    cJSON *x = cJSON_CreateObject();
    cJSON_AddStringToObject(x, "rule", f->rule);
    cJSON_AddStringToObject(x, "level", f->warning ? "warning" : "note");
    cJSON *objects = cJSON_AddArrayToObject(x, "objects");
    for (int k = 0; k < f->nobject; k++) cJSON_AddItemToArray(objects, cJSON_CreateString(f->objects[k]));
    cJSON_AddStringToObject(x, "reason", f->reason);
    cJSON_AddStringToObject(x, "remedy", f->remedy);
    cJSON_AddItemToArray(array, x);
  }
  return json_print(o);
}

int lint_model(inspection *s) {
  lint l = {.model = s->job.model, .info = s->job.info, .flags = s->flags};
  const lint_rule *const tables[] = {lint_parameter_rules, lint_model_rules};
  for (int t = 0; t < 2; t++)
    for (const lint_rule *rule = tables[t]; rule->name && !l.failed; rule++) {
      l.rule = rule->name, l.warning = rule->warning;
      rule->run(&l);
    }
  int status = l.failed ? cli_fail(SC_ERROR_INTERNAL) : 0;
  if (!status && s->options->json)
    status = print_json(s, &l);
  else if (!status)
    print_all(s, &l);
  free_findings(&l);
  return status;
}
