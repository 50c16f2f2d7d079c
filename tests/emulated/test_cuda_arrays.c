/* The arrays of a solver on the device: reading and writing the caller's own, vectors over dofs, and calls that are not legal. */
#include "../support/tolerances.h"
#include "sweep_cases.h"

/* ------------------------------------------------------------------ the caller's own */

/* every array of sc_cuda_arrays that is there always, and its bytes */
#define MOST_ARRAYS 25
typedef struct { void **at; size_t bytes; } array;

static int list_arrays(sc_cuda_arrays *a, array *list) {
  size_t n = a->nv_offset[a->nenv], m = a->efc_offset[a->nenv], c = a->con_offset[a->nenv], N = (size_t)a->nenv;
  const struct { double **at; size_t n; } numbers[] = {
      {&a->efc_solref, 2 * m}, {&a->efc_solimp, 5 * m}, {&a->efc_pos, m}, {&a->efc_margin, m}, {&a->efc_vel, m}, {&a->efc_diagA, m},
      {&a->efc_curvature, m}, {&a->efc_adhesion, m}, {&a->efc_frictionloss, m}, {&a->contact_friction, 5 * c},
      {&a->contact_solreffriction, 2 * c}, {&a->timestep, N}, {&a->impratio, N}, {&a->qacc, n}, {&a->qfrc_constraint, n},
      {&a->efc_force, m}, {&a->gap, N}, {&a->gap_floor, N}, {&a->qacc_bound, N}, {&a->objective, N}};
  int count = 0;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    list[count++] = (array){(void **)numbers[i].at, numbers[i].n * sizeof(double)};
  list[count++] = (array){(void **)&a->refsafe, N * sizeof(int32_t)};
  list[count++] = (array){(void **)&a->flags, N * sizeof(uint32_t)};
  list[count++] = (array){(void **)&a->iterations, N * sizeof(int32_t)};
  list[count++] = (array){(void **)&a->status, N};
  list[count++] = (array){(void **)&a->efc_state, m};
  cr_assert_eq(count, MOST_ARRAYS);
  return count;
}

/* memory of one's own in the place of all of them; parameters copied, the rest unset */
static void take_own(sweep *s, sc_cuda_arrays *own) {
  array from[MOST_ARRAYS], to[MOST_ARRAYS];
  *own = s->a;
  int count = list_arrays(&s->a, from);
  list_arrays(own, to);
  for (int i = 0; i < count; i++) {
    void *host = malloc(from[i].bytes + 1);
    cuda_memory_get(host, *from[i].at, from[i].bytes, s->stream);
    *to[i].at = cuda_memory_create(from[i].bytes);
    int input = i < 13 || to[i].at == (void **)&own->refsafe;
    if (input) cuda_memory_put(*to[i].at, host, from[i].bytes, s->stream);
    CALL(sc_solver_wait(s->t.solver));
    free(host);
  }
}

static void give_back(sc_cuda_arrays *own) {
  array list[MOST_ARRAYS];
  int count = list_arrays(own, list);
  for (int i = 0; i < count; i++) cuda_memory_destroy(*list[i].at);
}

Test(cuda_arrays, ones_own_are_read_and_written) {
  EACH_CUDA_PRECISION(precision) {
    sweep plain = open_packed(precision, sweep_cases()), s = open_sweep("cuda", 0, precision, sweep_cases(), 1);
    sc_cuda_arrays own;
    s.q[4].of.tau[0] = NAN; /* bad from the beginning */
    for (int i = 0; i < s.n; i++) cr_assert_eq(sc_batch_set(s.t.batch, i, &s.q[i].p), i == 4 ? SC_ERROR_VALUE : SC_OK);
    CALL(sc_solver_pack(s.t.solver, s.t.batch));
    CALL(sc_cuda_arrays_get(s.t.solver, &s.a));
    take_own(&s, &own);
    CALL(sc_cuda_arrays_set(s.t.solver, &own));
    run_sweep(&plain), run_sweep(&s);
    size_t dof = own.nv_offset[4];
    cr_expect(s.t.r.status[4] == SC_BAD_INPUT && isnan(s.t.r.qacc[dof]), "the bad one: %s", sc_status_name(s.t.r.status[4]));
    for (int i = 0; i < s.n; i++)
      if (i != 4) same_bits(&s.t, i, &plain.t, i, "own arrays", name_of(&s, i));
    double there;
    cuda_memory_get(&there, own.qacc + own.nv_offset[13], sizeof there, s.stream);
    cr_expect_eq(there, s.t.r.qacc[own.nv_offset[13]], "qacc is not in the caller's memory");
    /* what changes in them is what the next run reads */
    for (int i = 0; i < s.n; i++) {
      set_parameters(&s.q[i], 60 + i), put_parameters(&own, i, &s.q[i], s.stream);
      set_parameters(&plain.q[i], 60 + i), put_parameters(&plain.a, i, &plain.q[i], plain.stream);
    }
    run_sweep(&plain), run_sweep(&s);
    for (int i = 0; i < s.n; i++)
      if (i != 4) same_bits(&s.t, i, &plain.t, i, "own arrays, changed", name_of(&s, i));
    /* packing takes its own again */
    CALL(sc_solver_pack(plain.t.solver, plain.t.batch));
    CALL(sc_solver_pack(s.t.solver, plain.t.batch));
    sc_cuda_arrays again;
    CALL(sc_cuda_arrays_get(s.t.solver, &again));
    cr_expect(again.qacc != own.qacc && again.efc_solref != own.efc_solref && !again.qfrc_smooth && !again.efc_K);
    give_back(&own);
    run_sweep(&plain), run_sweep(&s);
    for (int i = 0; i < s.n; i++) same_bits(&s.t, i, &plain.t, i, "own again", name_of(&s, i));
    cr_expect_leq(emu_count("races"), 0, "%ld races", emu_count("races"));
    close_sweep(&s), close_sweep(&plain);
  }
}

/* ------------------------------------------------------------------ vectors over dofs */

/* one of them in device memory, from the problems' own; made: other numbers than those that were packed */
static double *device_vector(sweep *s, double *(*of)(sweep_problem *), int made) {
  size_t n = s->a.nv_offset[s->n];
  double *host = calloc(n + 1, sizeof *host), *there = cuda_memory_create(n * sizeof *host);
  for (int i = 0; i < s->n; i++) {
    test_random r = {(uint64_t)(made + i)};
    for (int k = 0; k < s->q[i].p.nv; k++) host[s->a.nv_offset[i] + (size_t)k] = of(&s->q[i])[k] = 5 * random_signed(&r);
  }
  cuda_memory_put(there, host, n * sizeof *host, s->stream);
  CALL(sc_solver_wait(s->t.solver));
  free(host);
  return there;
}

static double *tau_of(sweep_problem *q) { return q->of.tau; }
static double *s_of(sweep_problem *q) { return q->of.s; }
static double *warm_of(sweep_problem *q) { return q->of.warm; }

/* which: bits for qfrc_smooth, qacc_smooth, qacc_warmstart */
static void vectors(int precision, int which) {
  static const char *const names[] = {"", "force", "acceleration", "both", "start", "force and start", "acceleration and start", "all"};
  sweep s = open_packed(precision, sweep_cases());
  sc_cuda_arrays a = s.a;
  if (which & 1) a.qfrc_smooth = device_vector(&s, tau_of, 10);
  if (which & 2) a.qacc_smooth = device_vector(&s, s_of, 20);
  if (which & 4) a.qacc_warmstart = device_vector(&s, warm_of, 30);
  for (int i = 0; i < s.n; i++) {
    sc_problem *p = &s.q[i].p;
    if (which & 3) p->qfrc_smooth = which & 1 ? s.q[i].of.tau : NULL, p->qacc_smooth = which & 2 ? s.q[i].of.s : NULL;
    if (which & 4) p->qacc_warmstart = s.q[i].of.warm;
  }
  CALL(sc_cuda_arrays_set(s.t.solver, &a));
  run_sweep(&s);
  if ((which & 3) != 3) expect_reference(&s, precision, names[which]); /* two that contradict each other have no answer */
  double *all[] = {a.qfrc_smooth, a.qacc_smooth, a.qacc_warmstart};
  sweep fresh = open_sweep("cuda", 0, precision, s.n, 1);
  for (int i = 0; i < s.n; i++) CALL(sc_batch_set(fresh.t.batch, i, &s.q[i].p));
  solve_run(&fresh.t);
  for (int i = 0; i < s.n; i++) {
    const double *x = run_qacc(&s.t, i), *y = run_qacc(&fresh.t, i);
    double most = 0, error = 0;
    for (int k = 0; k < s.q[i].p.nv; k++) most = fmax(most, fabs(y[k])), error = fmax(error, fabs(x[k] - y[k]));
    cr_expect(error <= (precision == SC_F64 ? 1e-9 : 1e-2) * (most + 1e-300), "%s: \"%s\": qacc differs from that of packing by %g of %g",
              names[which], name_of(&s, i), error, most);
  }
  for (int k = 0; k < 3; k++)
    if (all[k]) cuda_memory_destroy(all[k]);
  close_sweep(&fresh), close_sweep(&s);
}

Test(cuda_arrays, vectors_in_device_memory_are_those_of_the_problem) {
  EACH_CUDA_PRECISION(precision)
  for (int which = 1; which < 8; which++) vectors(precision, which);
}

/* the last answer is the next start: there is less to do */
Test(cuda_arrays, a_run_may_start_where_the_last_one_ended) {
  sweep s = open_packed(SC_F64, NPROBLEM);
  sc_cuda_arrays a = s.a;
  a.qacc_warmstart = a.qacc;
  run_sweep(&s);
  int first = 0, then = 0;
  for (int i = 0; i < s.n; i++) first += s.t.r.iterations[i];
  CALL(sc_cuda_arrays_set(s.t.solver, &a));
  run_sweep(&s);
  for (int i = 0; i < s.n; i++) {
    then += s.t.r.iterations[i];
    cr_expect_eq(s.t.r.status[i], SC_SOLVED, "\"%s\": %s", name_of(&s, i), sc_status_name(s.t.r.status[i]));
  }
  cr_expect_lt(2 * then, first, "%d iterations, and %d before", then, first);
  close_sweep(&s);
}

Test(cuda_arrays, a_vector_that_is_not_finite_is_bad_input) {
  sweep good = open_packed(SC_F64, NPROBLEM), s = open_packed(SC_F64, NPROBLEM);
  sc_cuda_arrays a = s.a, b = good.a;
  a.qfrc_smooth = device_vector(&s, tau_of, 10), b.qfrc_smooth = device_vector(&good, tau_of, 10);
  CALL(sc_cuda_arrays_set(s.t.solver, &a));
  CALL(sc_cuda_arrays_set(good.t.solver, &b));
  double nan = NAN;
  cuda_memory_put(a.qfrc_smooth + s.a.nv_offset[13] + 2, &nan, sizeof nan, s.stream);
  run_sweep(&s), run_sweep(&good);
  cr_expect_eq(s.t.r.status[13], SC_BAD_INPUT, "%s", sc_status_name(s.t.r.status[13]));
  for (int i = 0; i < s.n; i++)
    if (i != 13) same_bits(&s.t, i, &good.t, i, "beside", name_of(&s, i));
  double *back = device_vector(&s, tau_of, 10);
  a.qfrc_smooth = back;
  CALL(sc_cuda_arrays_set(s.t.solver, &a));
  run_sweep(&s);
  same_bits(&s.t, 13, &good.t, 13, "repaired", name_of(&s, 13));
  close_sweep(&s), close_sweep(&good);
}

/* ------------------------------------------------------------------ how it runs */

Test(cuda_arrays, a_sweep_is_one_launch_and_waits_for_nothing) {
  sweep s = open_packed(SC_F32, NPROBLEM);
  sc_cuda_arrays a = s.a;
  a.qfrc_smooth = device_vector(&s, tau_of, 10);
  CALL(sc_cuda_arrays_set(s.t.solver, &a));
  counted calls = count_from("calls"), allocations = count_from("allocations");
  counted copied = count_from("copied"), launches = count_from("launches");
  CALL(sc_solver_run(s.t.solver));
  cr_expect_leq(counted_since(calls), 2, "%ld calls of CUDA for a run", counted_since(calls));
  CALL(sc_cuda_rows_eval(s.t.solver));
  cr_expect_leq(counted_since(calls), 4, "%ld calls of CUDA for a run and the rows", counted_since(calls));
  CALL(sc_solver_wait(s.t.solver));
  cr_expect_eq(counted_since(allocations), 0);
  cr_expect_eq(counted_since(copied), 0);
  cr_expect_eq(counted_since(launches), 2);
  cuda_memory_destroy(a.qfrc_smooth);
  close_sweep(&s);
}

/* environments of both forms in one batch; none with parameters */
Test(cuda_arrays, rows_that_are_ready_stay_as_they_are) {
  sweep s = open_sweep("cuda", 0, SC_F64, 4, 1);
  test_run ready = open_run("cuda", 1, SC_F64, 1e-15, 4);
  for (int i = 0; i < 4; i++) {
    set_case(&ready, i, 13, i);
    free_sweep(&s.q[i]), s.q[i] = make_sweep(13, i);
    if (i % 2) set_case(&s.t, i, 13, i);
    else CALL(sc_batch_set(s.t.batch, i, &s.q[i].p));
  }
  CALL(sc_solver_pack(s.t.solver, s.t.batch));
  CALL(sc_cuda_arrays_get(s.t.solver, &s.a));
  for (int i = 0; i < 4; i += 2) set_parameters(&s.q[i], 70 + i), put_parameters(&s.a, i, &s.q[i], s.stream);
  run_sweep(&s);
  solve_run(&ready);
  for (int i = 1; i < 4; i += 2) same_bits(&s.t, i, &ready, i, "ready", "everything");
  for (int i = 0; i < 4; i += 2) cr_expect_eq(s.t.r.status[i], SC_SOLVED, "%s", sc_status_name(s.t.r.status[i]));
  sc_cuda_arrays a;
  CALL(sc_cuda_arrays_get(ready.solver, &a));
  cr_expect(!a.efc_solref && !a.con_offset && a.qacc && a.nenv == 4 && a.efc_offset[4]);
  CALL(sc_cuda_arrays_set(ready.solver, &a));
  cr_expect_eq(sc_cuda_rows_eval(ready.solver), SC_ERROR_ARGUMENT);
  cr_expect(strstr(sc_error_text(), "no environment has parameters"), "%s", sc_error_text());
  close_run(&ready);
  close_sweep(&s);
}

/* ------------------------------------------------------------------ errors */

static void expect_refused(int code, int want, const char *text) {
  cr_expect_eq(code, want, "code %d", code);
  cr_expect(strstr(sc_error_text(), text), "\"%s\" does not say \"%s\"", sc_error_text(), text);
}

Test(cuda_arrays, calls_that_are_not_legal_change_nothing) {
  sweep s = open_sweep("cuda", 0, SC_F64, 3, 12), cpu = open_sweep("auto", 0, SC_F64, 3, 12);
  sc_cuda_arrays a, before, after;
  expect_refused(sc_cuda_arrays_get(NULL, &a), SC_ERROR_ARGUMENT, "solver is NULL");
  expect_refused(sc_cuda_arrays_get(s.t.solver, &a), SC_ERROR_ARGUMENT, "nothing is packed");
  expect_refused(sc_cuda_rows_eval(s.t.solver), SC_ERROR_ARGUMENT, "nothing is packed");
  set_all(&cpu);
  CALL(sc_solver_pack(cpu.t.solver, cpu.t.batch));
  expect_refused(sc_cuda_arrays_get(cpu.t.solver, &a), SC_ERROR_UNSUPPORTED, "not \"cuda\"");
  expect_refused(sc_cuda_rows_eval(cpu.t.solver), SC_ERROR_UNSUPPORTED, "not \"cuda\"");
  cr_expect_null(sc_cuda_stream(cpu.t.context));
  cr_expect_null(sc_cuda_stream(NULL));
  pack_sweep(&s);
  before = s.a;
  expect_refused(sc_cuda_arrays_get(s.t.solver, NULL), SC_ERROR_ARGUMENT, "arrays is NULL");
  expect_refused(sc_cuda_arrays_set(s.t.solver, NULL), SC_ERROR_ARGUMENT, "arrays is NULL");
  a = s.a, a.size = 8;
  expect_refused(sc_cuda_arrays_set(s.t.solver, &a), SC_ERROR_ARGUMENT, "sc_cuda_arrays_init");
  double host[64];
  a = s.a, a.efc_solref = NULL;
  expect_refused(sc_cuda_arrays_set(s.t.solver, &a), SC_ERROR_ARGUMENT, "efc_solref is NULL");
  a = s.a, a.gap = host;
  expect_refused(sc_cuda_arrays_set(s.t.solver, &a), SC_ERROR_ARGUMENT, "gap is");
  a = s.a, a.qfrc_smooth = host;
  expect_refused(sc_cuda_arrays_set(s.t.solver, &a), SC_ERROR_ARGUMENT, "no memory that the device can access");
  a = s.a, a.efc_K = (double *)(void *)((char *)s.a.efc_pos + 4);
  expect_refused(sc_cuda_arrays_set(s.t.solver, &a), SC_ERROR_ARGUMENT, "efc_K is");
  CALL(sc_cuda_arrays_get(s.t.solver, &after));
  cr_expect(!memcmp(&before, &after, sizeof before), "something was changed");
  a = s.a, a.qacc_smooth = s.a.efc_solref; /* as long, at least */
  CALL(sc_cuda_arrays_set(s.t.solver, &a));
  expect_refused(sc_cuda_arrays_set(s.t.solver, &s.a), SC_ERROR_ARGUMENT, "qacc_smooth is NULL, but was set");
  close_sweep(&s), close_sweep(&cpu);
}

/* a sweep from beginning to end; the first code that is not SC_OK */
static int live(void) {
  test_run t;
  sweep_problem q = make_sweep(13, 1);
  sc_cuda_arrays a;
  int code = try_open(&t, NULL, 1);
  if (!code) code = sc_batch_set(t.batch, 0, &q.p);
  if (!code) code = sc_solver_pack(t.solver, t.batch);
  if (!code) code = sc_cuda_arrays_get(t.solver, &a);
  if (!code) a.efc_R = a.efc_force, a.gap = a.qacc_bound; /* any memory that is there */
  if (!code) code = sc_cuda_arrays_set(t.solver, &a);
  if (!code) a.efc_R = NULL, code = sc_cuda_arrays_set(t.solver, &a);
  if (!code) code = sc_cuda_rows_eval(t.solver);
  if (!code) code = sc_solver_run(t.solver);
  if (!code) code = sc_solver_result(t.solver, &t.r);
  if (!code) cr_expect_eq(t.r.status[0], SC_SOLVED, "%s", sc_status_name(t.r.status[0]));
  close_run(&t);
  free_sweep(&q);
  return code;
}

Test(cuda_arrays, every_call_that_fails_is_told_and_leaves_nothing) {
  counted calls = count_from("calls");
  CALL(live());
  long n = counted_since(calls), silent = 0;
  cr_assert_geq(n, 60, "%ld calls", n);
  for (long i = 1; i <= n; i++) {
    int code = live_without(live, i);
    cr_expect(!code || strstr(sc_error_text(), "CUDA: "), "call %ld: \"%s\"", i, sc_error_text());
    silent += !code;
  }
  cr_expect_leq(silent, 10, "%ld of %ld failing calls are not told", silent, n); /* while destroying */
}
