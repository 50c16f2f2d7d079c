/* How the CUDA backend runs: the same bits whatever the company, streams, graphs, devices, and what happens when CUDA fails. */
#include "../support/tolerances.h"
#include "control.h"
#include "cuda_cases.h"

/* ------------------------------------------------------------------ bits */

static test_run one_of_each(int precision) {
  test_run t = open_run("cuda", 1, precision, 1e-10, NCASE);
  for (int i = 0; i < NCASE; i++) set_case(&t, i, i, 1);
  solve_run(&t);
  return t;
}

Test(cuda, alone_and_in_company) {
  EACH_CUDA_PRECISION(precision) {
    test_run all = one_of_each(precision), one = open_run("cuda", 1, precision, 1e-10, 1);
    for (int i = 0; i < NCASE; i++) {
      set_case(&one, 0, i, 1);
      solve_run(&one);
      same_bits(&all, i, &one, 0, "alone", case_of(i)->name);
    }
    close_run(&one);
    close_run(&all);
  }
}

Test(cuda, order_and_poisoned_neighbours) {
  EACH_CUDA_PRECISION(precision) {
    test_run all = one_of_each(precision), mixed = open_run("cuda", 1, precision, 1e-10, 2 * NCASE);
    for (int i = 0; i < NCASE; i++) {
      set_case(&mixed, 2 * (NCASE - 1 - i), i, 1);
      test_problem q = make_problem(case_of(i), 2);
      if (q.p.nv) q.M[0] = i % 2 ? -1 : q.M[0], q.tau[0] = i % 2 ? 0 : 1e300;
      CALL(sc_batch_set(mixed.batch, 2 * (NCASE - 1 - i) + 1, &q.p));
      free_problem(&q);
    }
    solve_run(&mixed);
    for (int i = 0; i < NCASE; i++) same_bits(&all, i, &mixed, 2 * (NCASE - 1 - i), "order", case_of(i)->name);
    for (int i = 1; i < NCASE; i += 2) {
      int status = mixed.r.status[2 * (NCASE - 1 - i) + 1];
      cr_expect(status == SC_NOT_SPD || !case_of(i)->nv, "\"%s\" with an indefinite M: %s", case_of(i)->name, sc_status_name(status));
    }
    close_run(&mixed);
    close_run(&all);
  }
}

Test(cuda, repetition_and_order_of_lanes) {
  EACH_CUDA_PRECISION(precision) {
    test_run first = one_of_each(precision);
    for (int seed = 0; seed < 4; seed++) {
      emu_seed(seed);
      test_run again = one_of_each(precision);
      CALL(sc_solver_run(again.solver));
      CALL(sc_solver_run(again.solver));
      CALL(sc_solver_wait(again.solver));
      CALL(sc_solver_result(again.solver, &again.r));
      for (int i = 0; i < NCASE; i++) same_bits(&first, i, &again, i, "repetition", case_of(i)->name);
      close_run(&again);
    }
    close_run(&first);
  }
}

/* ------------------------------------------------------------------ odd batches and verdicts */

Test(cuda, verdicts_without_an_answer_are_those_of_the_packs) {
  EACH_CUDA_PRECISION(precision) {
    test_run t = open_run("cuda", 1, precision, 1e-10, 4), reference = open_run("reference", 1, precision, 1e-10, 4);
    test_run *runs[2] = {&t, &reference};
    for (int k = 0; k < 2; k++) {
      test_problem q = make_problem(&problem_cases[13], 1);
      double tau = q.tau[0];
      q.tau[0] = NAN;
      cr_expect_eq(sc_batch_set(runs[k]->batch, 0, &q.p), SC_ERROR_VALUE);
      q.tau[0] = tau, q.M[0] = -1;
      CALL(sc_batch_set(runs[k]->batch, 1, &q.p));
      free_problem(&q);
      q = make_problem(&problem_cases[13], 1);
      q.aref[0] = 1e200; /* too large for float */
      CALL(sc_batch_set(runs[k]->batch, 2, &q.p));
      free_problem(&q);
      solve_run(runs[k]);
    }
    for (int i = 0; i < 4; i++) {
      cr_expect_eq(t.r.status[i], reference.r.status[i], "environment %d: %s, not %s", i, sc_status_name(t.r.status[i]),
                   sc_status_name(reference.r.status[i]));
      cr_expect_eq(t.r.flags[i], reference.r.flags[i], "environment %d: flags %x, not %x", i, t.r.flags[i], reference.r.flags[i]);
      cr_expect(isnan(t.r.gap[i]) == isnan(reference.r.gap[i]), "environment %d: gap %g, not %g", i, t.r.gap[i], reference.r.gap[i]);
    }
    close_run(&t);
    close_run(&reference);
  }
}

Test(cuda, iterations_that_run_out_are_said_so) {
  test_run t = open_run("cuda", 1, SC_F64, 1e-12, 1);
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.iterations = 1, o.tolerance = 1e-12;
  sc_solver_destroy(t.solver);
  CALL(sc_solver_create(t.context, &o, &t.solver));
  set_case(&t, 0, 14, 1);
  solve_run(&t);
  cr_expect_eq(t.r.status[0], SC_ITERATION_LIMIT, "%s after %d iterations", sc_status_name(t.r.status[0]), t.r.iterations[0]);
  cr_expect_eq(t.r.iterations[0], 1);
  close_run(&t);
}

Test(cuda, no_environments) {
  test_run t = open_run("cuda", 1, SC_F64, 1e-10, 0);
  solve_run(&t);
  cr_expect_eq(t.r.nenv, 0);
  close_run(&t);
}

/* batches of growing and shrinking size in one solver */
Test(cuda, memory_is_used_again) {
  test_run t = open_run("cuda", 1, SC_F32, 1e-8, 2);
  const int sizes[] = {4, 18, 2, 19, 13};
  for (int k = 0; k < 5; k++) {
    test_run fresh = open_run("cuda", 1, SC_F32, 1e-8, 2);
    for (int i = 0; i < 2; i++) set_case(&t, i, sizes[k], i), set_case(&fresh, i, sizes[k], i);
    solve_run(&t);
    solve_run(&fresh);
    for (int i = 0; i < 2; i++) same_bits(&t, i, &fresh, i, "used again", case_of(sizes[k])->name);
    close_run(&fresh);
  }
  close_run(&t);
  cr_expect_eq(emu_count("live"), 0, "%ld allocations are left", emu_count("live"));
  cr_expect_eq(emu_count("streams"), 0, "%ld streams are left", emu_count("streams"));
}

/* ------------------------------------------------------------------ streams, graphs, devices */

static int enqueue(void *solver) { return sc_solver_run(solver); }

static test_run on_stream(int device, void *stream, int precision) {
  test_run t = {0};
  sc_context_options c;
  sc_solver_options o;
  sc_context_options_init(&c);
  c.backend = "cuda", c.device = device, c.stream = stream, c.threads = 1;
  CALL(sc_context_create(&c, &t.context));
  CALL(sc_batch_create(t.context, NPROBLEM, &t.batch));
  sc_solver_options_init(&o);
  o.precision = precision, o.tolerance = 1e-10;
  CALL(sc_solver_create(t.context, &o, &t.solver));
  for (int i = 0; i < NPROBLEM; i++) set_case(&t, i, i, 1);
  return t;
}

Test(cuda, a_run_is_one_launch_and_waits_for_nothing) {
  EACH_CUDA_PRECISION(precision) {
    test_run t = on_stream(0, NULL, precision);
    CALL(sc_solver_pack(t.solver, t.batch));
    counted launches = count_from("launches"), calls = count_from("calls"), allocations = count_from("allocations"), copied = count_from("copied");
    CALL(sc_solver_run(t.solver));
    cr_expect_leq(counted_since(calls), 2, "%ld calls of CUDA for a run", counted_since(calls)); /* the current device, the launch */
    cr_expect_eq(counted_since(allocations), 0);
    cr_expect_eq(counted_since(copied), 0);
    CALL(sc_solver_wait(t.solver));
    cr_expect_eq(counted_since(launches), 1, "%ld launches", counted_since(launches));
    close_run(&t);
  }
}

Test(cuda, a_graph_replays_a_run) {
  EACH_CUDA_PRECISION(precision) {
    void *stream = cuda_stream_create(0);
    test_run plain = on_stream(0, NULL, precision), t = on_stream(0, stream, precision);
    int code;
    solve_run(&plain);
    CALL(sc_solver_pack(t.solver, t.batch));
    counted launches = count_from("launches");
    void *graph = cuda_graph_capture(stream, enqueue, t.solver, &code);
    cr_assert_eq(code, SC_OK, "%s", sc_error_text());
    CALL(sc_solver_result(t.solver, &t.r));
    for (int i = 0; i < NPROBLEM; i++) cr_expect_eq(t.r.status[i], SC_BAD_INPUT, "captured work has run");
    for (int k = 0; k < 3; k++) cuda_graph_replay(graph, stream);
    CALL(sc_solver_result(t.solver, &t.r));
    cr_expect_eq(counted_since(launches), 3);
    for (int i = 0; i < NPROBLEM; i++) same_bits(&plain, i, &t, i, "graph", problem_cases[i].name);
    cuda_graph_destroy(graph);
    close_run(&t);
    close_run(&plain);
    cuda_stream_destroy(stream);
  }
}

Test(cuda, two_devices_side_by_side) {
  void *streams[2] = {cuda_stream_create(0), cuda_stream_create(1)};
  test_run a = on_stream(0, streams[0], SC_F64), b = on_stream(1, streams[1], SC_F64);
  CALL(sc_solver_pack(a.solver, a.batch));
  CALL(sc_solver_pack(b.solver, b.batch));
  CALL(sc_solver_run(a.solver));
  CALL(sc_solver_run(b.solver));
  CALL(sc_solver_result(b.solver, &b.r));
  CALL(sc_solver_result(a.solver, &a.r));
  for (int i = 0; i < NPROBLEM; i++) same_bits(&a, i, &b, i, "devices", problem_cases[i].name);
  close_run(&a);
  close_run(&b);
  for (int k = 0; k < 2; k++) cuda_stream_destroy(streams[k]);
}

Test(cuda, a_device_that_is_not_there_is_named) {
  sc_context_options c;
  sc_context *context;
  sc_context_options_init(&c);
  c.backend = "cuda", c.device = 7;
  cr_expect_eq(sc_context_create(&c, &context), SC_ERROR_DEVICE);
  cr_expect(strstr(sc_error_text(), "device is 7") && strstr(sc_error_text(), "2 devices"), "%s", sc_error_text());
  cr_expect_null(context);
}

/* ------------------------------------------------------------------ CUDA fails */

/* a whole life: context, two packs of growing size, runs, results; the first code that is not SC_OK */
static int live(void) {
  test_run t;
  int code = try_open(&t, NULL, 2);
  for (int k = 0; !code && k < 2; k++) {
    test_problem q = make_problem(k ? &large_cases[0] : &problem_cases[13], 1);
    CALL(sc_batch_set(t.batch, k, &q.p));
    free_problem(&q);
    code = sc_solver_pack(t.solver, t.batch);
    if (!code) code = sc_solver_run(t.solver);
    if (!code) code = sc_solver_wait(t.solver);
    if (!code) code = sc_solver_result(t.solver, &t.r);
    if (!code) cr_expect_eq(t.r.status[k], SC_SOLVED, "%s", sc_status_name(t.r.status[k]));
  }
  close_run(&t);
  return code;
}

Test(cuda, every_call_that_fails_is_told_and_leaves_nothing) {
  counted calls = count_from("calls");
  CALL(live());
  long n = counted_since(calls);
  cr_assert_geq(n, 20, "%ld calls", n);
  int told = 0, silent = 0;
  for (long i = 1; i <= n; i++) {
    int code = live_without(live, i);
    if (code) cr_expect(strstr(sc_error_text(), "CUDA: "), "call %ld: \"%s\"", i, sc_error_text());
    told += code != SC_OK, silent += code == SC_OK; /* while destroying, where nothing can be told */
  }
  cr_expect_geq(told, 20, "%d of %ld failing calls are told", told, n);
  cr_expect_leq(silent, 12, "%d of %ld failing calls are not", silent, n);
}
