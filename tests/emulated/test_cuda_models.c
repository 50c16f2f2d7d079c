/* Recorded states of real robots on the emulated CUDA backend, in double and in float, against the packs. */
#include "../support/recorded.h"
#include "../support/tolerances.h"
#include "control.h"

#define MOST 24

typedef struct { double worst, median; int where, solved; } summary;

static int ascending(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* qacc against that of `reference` */
static summary compare(const test_run *t, const test_run *reference) {
  summary s = {0, 0, 0, 0};
  double errors[MOST];
  for (int i = 0; i < t->r.nenv; i++) {
    sc_problem p;
    CALL(sc_batch_get(reference->batch, i, &p, NULL));
    CALL(sc_check_error(&p, run_qacc(t, i), run_qacc(reference, i), NULL, NULL, &errors[i], NULL));
    if (t->r.status[i] == SC_SOLVED && !(errors[i] <= s.worst)) s.worst = errors[i], s.where = i;
    s.solved += t->r.status[i] == SC_SOLVED;
  }
  qsort(errors, (size_t)t->r.nenv, sizeof *errors, ascending);
  s.median = errors[t->r.nenv / 2];
  return s;
}

static test_run solve_states(const char *backend, int precision, const recorded *s, int n) {
  test_run t = open_run(backend, 1, precision, precision == SC_F64 ? 1e-15 : 1e-8, n);
  batch_states(&t, s->model, s->states, s->sig, n);
  solve_run(&t);
  return t;
}

/* What a run moves to and from device memory over the bytes that it touches, at most: J in double is read twice by the certificate,
 * D and tau more often; and J and M once more where it refines forces of stiff rows, as in many states of the last two. */
static double most_traffic(const char *name) { return strstr(name, "aloha_pot") ? 1.58 : strstr(name, "boxes4") ? 1.45 : 1.33; }

/* A run's launches and, where accesses are traced, its traffic. */
static void check_run(const test_run *t, const char *name) {
  long near = emu_count("loads") + emu_count("stores"), meetings = emu_count("barriers") + emu_count("exchanges");
  long launches = emu_count("launches"), moved = emu_count("read") + emu_count("written"), touched = emu_count("touched");
  CALL(sc_solver_pack(t->solver, t->batch));
  CALL(sc_solver_run(t->solver));
  CALL(sc_solver_wait(t->solver));
  launches = emu_count("launches") - launches;
  near = emu_count("loads") + emu_count("stores") - near, meetings = emu_count("barriers") + emu_count("exchanges") - meetings;
  moved = emu_count("read") + emu_count("written") - moved, touched = emu_count("touched") - touched;
  if (touched > 0)
    printf("%-24s an environment: %ld bytes of device memory, %.2f times what it needs; %ld accesses of shared memory, %ld meetings\n", name,
           moved / t->r.nenv, (double)moved / (double)touched, near / t->r.nenv, meetings / t->r.nenv);
  cr_expect_eq(launches, 1, "%s: %ld launches", name, launches);
  cr_expect_leq((double)moved, most_traffic(name) * (double)touched, "%s: %ld bytes moved for %ld that are needed", name, moved, touched);
}

static void check_model(const cJSON *entry, int elliptic) {
  recorded s = open_recorded(entry, elliptic);
  int n = s.n < MOST ? s.n : MOST;
  test_run packs = solve_states("auto", SC_F64, &s, n), d = solve_states("cuda", SC_F64, &s, n);
  test_run f = solve_states("cuda", SC_F32, &s, n), narrow = solve_states("auto", SC_F32, &s, n);
  summary in_double = compare(&d, &packs), in_float = compare(&f, &packs), of_float = compare(&f, &narrow);
  printf("%-24s f64 worst %.1e; f32 median %.1e, worst %.1e; against the float packs %.1e\n", s.name, in_double.worst, in_float.median,
         in_float.worst, of_float.worst);
  cr_expect_eq(in_double.solved, n, "%s, f64: %d of %d solved", s.name, in_double.solved, n);
  cr_expect_leq(in_double.worst, TOL_F64_QACC, "%s, f64: state %d differs by %g", s.name, in_double.where, in_double.worst);
  cr_expect_geq(in_float.solved, TOL_F32_SOLVED * n, "%s, f32: %d of %d solved", s.name, in_float.solved, n);
  cr_expect_leq(in_float.median, TOL_F32_QACC_MEDIAN, "%s, f32: median difference %g", s.name, in_float.median);
  cr_expect_leq(in_float.worst, TOL_F32_QACC_WORST, "%s, f32: state %d differs by %g", s.name, in_float.where, in_float.worst);
  cr_expect_leq(of_float.worst, TOL_F32_QACC_WORST, "%s, f32: state %d differs from the packs by %g", s.name, of_float.where, of_float.worst);
  check_run(&f, s.name);
  cr_expect_leq(emu_count("races"), 0, "%s: %ld races", s.name, emu_count("races"));
  test_run *all[] = {&packs, &d, &f, &narrow};
  for (int k = 0; k < 4; k++) close_run(all[k]);
  close_recorded(&s);
}

ParameterizedTestParameters(cuda_models, all) { return recorded_indices(); }

ParameterizedTest(int *index, cuda_models, all, .timeout = 600) { each_recorded(*index, check_model); }
