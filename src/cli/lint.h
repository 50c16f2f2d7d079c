/* Settings of a model that will not do what their author thinks. */
#ifndef SC_CLI_LINT_H
#define SC_CLI_LINT_H

#include "inspect.h"

/* One finding; objects with the same finding share one. */
typedef struct lint_finding {
  const char *rule;
  int warning; /* 0: a note */
  char **objects;
  int nobject;
  char *reason, *remedy;
} lint_finding;

typedef struct lint {
  const sc_model *model;
  sc_model_info info;
  sc_flags_info flags;
  lint_finding *findings;
  int nfinding;
  int failed; /* no memory, or a call failed: sc_error_text() */
  /* of the rule that runs */
  const char *rule;
  int warning;
} lint;

void lint_report(lint *l, const char *object, const char *remedy, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 4, 5)))
#endif
    ;

/* "geom floor"; "geom 3" for what has no name. */
const char *lint_object(const lint *l, int object, int id, char *buffer, size_t size);

/* All rules. */
typedef struct lint_rule {
  const char *name;
  int warning;
  void (*run)(lint *l); /* over the whole model */
} lint_rule;
extern const lint_rule lint_parameter_rules[], lint_model_rules[]; /* end with a NULL name */

int lint_model(inspection *s); /* run them and print; an exit status */

#endif
