/* Words and defaults of the public API. */
#include "softcon.h"

#include <string.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *sc_version(void) { return TEXT(SC_VERSION_MAJOR) "." TEXT(SC_VERSION_MINOR) "." TEXT(SC_VERSION_PATCH); }

const char *sc_status_name(int status) {
  static const char *const names[SC_NSTATUS] = {"solved",    "inaccurate", "iteration_limit", "stalled",
                                                "bad_input", "not_finite", "not_spd"};
  return status >= 0 && status < SC_NSTATUS ? names[status] : "unknown";
}

const char *sc_method_name(int method) {
  static const char *const names[SC_NMETHOD] = {"newton", "cg", "pgs", "direct"};
  return method >= 0 && method < SC_NMETHOD ? names[method] : "unknown";
}

const char *sc_flag_name(int bit) {
  static const char *const names[SC_NFLAG] = {"repaired", "clamped", "rows_dropped", "retried_f64", "noslip_applied"};
  return bit >= 0 && bit < SC_NFLAG ? names[bit] : "unknown";
}

void sc_row_init(sc_row_input *in) {
  memset(in, 0, sizeof *in);
  in->size = sizeof *in;
  in->type = SC_CONTACT_FRICTIONLESS;
  in->refsafe = 1;
  in->timestep = 0.002;
  in->diagA = 1;
  in->solref[0] = 0.02, in->solref[1] = 1;
  in->solimp[0] = 0.9, in->solimp[1] = 0.95, in->solimp[2] = 0.001, in->solimp[3] = 0.5, in->solimp[4] = 2;
}

void sc_problem_init(sc_problem *problem) {
  memset(problem, 0, sizeof *problem);
  problem->size = sizeof *problem;
  problem->refsafe = 1;
  problem->timestep = 0.002;
  problem->impratio = 1;
}

void sc_context_options_init(sc_context_options *options) {
  memset(options, 0, sizeof *options);
  options->size = sizeof *options;
}

void sc_inverse_init(sc_inverse *inverse) {
  memset(inverse, 0, sizeof *inverse);
  inverse->size = sizeof *inverse;
}

void sc_solver_options_init(sc_solver_options *options) {
  memset(options, 0, sizeof *options);
  options->size = sizeof *options;
  options->method = SC_NEWTON;
  options->noslip_tolerance = 1e-6;
  options->precision = SC_F64;
  options->iterations = 100;
  options->ls_iterations = 50;
  options->tolerance = 1e-8;
  options->ls_tolerance = 0.01;
  options->warmstart = 1;
  options->retry = 1;
}
