/* Environments whose Newton steps are made by batched dense routines: answers, bits, graphs, failures. */
#include "../support/large_problem.h"
#include "../support/stiff.h"
#include "../support/tolerances.h"
#include "control.h"
#include "cuda_cases.h"

/* beyond 128 dofs, in several classes of size; the last two are small */
static const problem_case sizes[] = {
    {"a hundred and twenty-nine dofs", 129, 4, 5, 6, 4, 4, 2, 1, 1, 0}, {"no rows", 140, 0, 0, 0, 0, 0, 0, 0, 1, 0},
    {"pyramids", 150, 0, 0, 9, 12, 0, 0, 0, 1, 0},                      {"equalities", 157, 40, 0, 0, 0, 0, 0, 0, 1, 1},
    {"cones", 190, 0, 0, 0, 0, 12, 6, 6, 1, 0},                         {"dry friction", 200, 6, 60, 12, 0, 0, 0, 0, 1, 0},
    {"three hundred dofs", 300, 6, 9, 12, 6, 9, 4, 4, 1, 0},            {"a block", 85, 6, 9, 8, 4, 4, 2, 2, 1, 0},
    {"a warp", 27, 3, 5, 4, 2, 2, 2, 2, 1, 0},
};
enum { NSIZE = sizeof sizes / sizeof *sizes, NDENSE = NSIZE - 2, BOXES = NSIZE, NENV = NSIZE + 1 };

static const char *name_of(int which) { return which == BOXES ? "boxes" : sizes[which].name; }

static void set_size(test_run *t, int env, int which, int seed) {
  static const problem_case box = {"", 18, 0, 0, 2, 0, 3, 1, 0, 1, 0};
  if (which == BOXES) {
    large_problem q = make_large(&box);
    CALL(sc_batch_set(t->batch, env, &q.p));
    free_large(&q);
    return;
  }
  test_problem q = make_problem(&sizes[which], (uint64_t)seed);
  q.p.qacc_warmstart = seed % 2 ? q.warm : NULL;
  CALL(sc_batch_set(t->batch, env, &q.p));
  free_problem(&q);
}

static test_run with_options(const char *backend, const sc_solver_options *o, int nenv) {
  test_run t = open_run(backend, 1, o->precision, o->tolerance, nenv);
  use_solver(&t, o);
  return t;
}

static double tolerance_of(int precision) { return precision == SC_F64 ? 1e-15 : 1e-8; }

/* the first n, from this seed */
static test_run some_sizes(const char *backend, int precision, int seed, int n) {
  test_run t = open_run(backend, 1, precision, tolerance_of(precision), n);
  for (int i = 0; i < n; i++) set_size(&t, i, i, seed);
  solve_run(&t);
  return t;
}

/* one of each */
static test_run all_sizes(const char *backend, int precision, int seed) { return some_sizes(backend, precision, seed, NENV); }

static double difference(const test_run *t, int env, const test_run *other, int of) {
  sc_problem p;
  double error;
  CALL(sc_batch_get(other->batch, of, &p, NULL));
  CALL(sc_check_error(&p, run_qacc(t, env), run_qacc(other, of), NULL, NULL, &error, NULL));
  return error;
}

static void no_races(void) { cr_expect_leq(emu_count("races"), 0, "%ld races", emu_count("races")); }

/* ------------------------------------------------------------------ answers */

static void expect_forces(const test_run *t, int env, double tolerance) {
  sc_problem p;
  sc_check_report c;
  CALL(sc_batch_get(t->batch, env, &p, NULL));
  CALL(sc_check(&p, run_qacc(t, env), run_force(t, env), &c));
  cr_expect_leq(c.force_error, tolerance, "\"%s\": row %d: force is off by %g", name_of(env), c.worst_row, c.force_error);
  cr_expect_leq(c.cone_error, TOL_FORCE, "\"%s\": row %d: force is out of bounds by %g", name_of(env), c.worst_row, c.cone_error);
}

static void expect_the_packs(const test_run *t, const test_run *best, int precision) {
  double worst = precision == SC_F64 ? TOL_F64_QACC : TOL_F32_QACC_WORST;
  for (int i = 0; i < t->r.nenv; i++) {
    double error = difference(t, i, best, i);
    cr_expect_eq(t->r.status[i], SC_SOLVED, "\"%s\": %s", name_of(i), sc_status_name(t->r.status[i]));
    cr_expect_leq(error, worst, "\"%s\": qacc differs by %g", name_of(i), error);
    cr_expect_leq(error, t->r.qacc_bound[i] * (1 + TOL_BOUND) + TOL_F64_QACC, "\"%s\": error %g is beyond its bound %g", name_of(i), error, t->r.qacc_bound[i]);
    expect_forces(t, i, precision == SC_F64 ? TOL_FORCE : TOL_F32_FORCE);
  }
}

/* all steps in rounds, and in more than one chunk of memory */
Test(cuda_large, agrees_with_the_packs) {
  for (int seed = 0; seed < (racing() ? 1 : 3); seed++) {
    test_run best = all_sizes(NULL, SC_F64, seed);
    EACH_CUDA_PRECISION(precision) {
      counted launches = count_from("launches");
      test_run t = all_sizes("cuda", precision, seed);
      int chunks = (int)(counted_since(launches) - 2) / (1 + DENSE_ROUNDS + 1);
      cr_expect_eq(counted_since(launches), 2 + chunks * (1 + DENSE_ROUNDS + 1), "%ld launches", counted_since(launches));
      cr_expect_geq(chunks, precision == SC_F64 ? 2 : 1, "%d chunks", chunks);
      expect_the_packs(&t, &best, precision);
      for (int i = 0; i < NDENSE && precision == SC_F64; i++)
        cr_expect(abs(t.r.iterations[i] - best.r.iterations[i]) <= 2, "\"%s\": %d steps, and %d of the packs", name_of(i), t.r.iterations[i], best.r.iterations[i]);
      close_run(&t);
    }
    close_run(&best);
  }
  no_races();
}

Test(cuda_large, without_the_libraries_a_block_solves_it) {
  int n = racing() ? 3 : NENV;
  test_run best = some_sizes(NULL, SC_F64, 1, n);
  emu_libraries(0);
  EACH_CUDA_PRECISION(precision) {
    counted library = count_from("library"), launches = count_from("launches");
    test_run t = some_sizes("cuda", precision, 1, n);
    cr_expect_eq(counted_since(library), 0);
    cr_expect_eq(counted_since(launches), n == NENV ? 2 : 1);
    expect_the_packs(&t, &best, precision);
    close_run(&t);
  }
  emu_libraries(1);
  close_run(&best);
  no_races();
}

/* where the routines' factor is none, that of the kernels takes its place */
Test(cuda_large, a_factor_that_fails_is_made_in_the_block) {
  int n = racing() ? 3 : NENV;
  test_run best = some_sizes(NULL, SC_F64, 1, n);
  emu_libraries(2);
  EACH_CUDA_PRECISION(precision) {
    test_run t = some_sizes("cuda", precision, 1, n);
    expect_the_packs(&t, &best, precision);
    close_run(&t);
  }
  emu_libraries(1);
  close_run(&best);
  no_races();
}

/* D A = 1e9 on light dofs: H is indefinite to float, and some factors fail; verdicts are those of one block */
Test(cuda_large, pivots_that_run_out) {
  static const problem_case wide = {"", 140, 2, 3, 6, 2, 4, 2, 2, 2, 1};
  int n = racing() ? 1 : 4;
  EACH_CUDA_PRECISION(precision) {
    sc_solver_options o;
    sc_solver_options_init(&o);
    o.precision = precision, o.tolerance = precision == SC_F64 ? 1e-12 : 1e-8;
    test_run t = with_options("cuda", &o, n), block = with_options("cuda", &o, n);
    o.precision = SC_F64;
    test_run best = with_options(NULL, &o, n), *runs[] = {&t, &block, &best};
    for (int k = 0; k < 3; k++) {
      for (int i = 0; i < n; i++) {
        test_problem q = make_problem(&wide, (uint64_t)i);
        make_stiff(&q, 1 - 1e-9, 1);
        follow_first_rows(&q);
        CALL(sc_batch_set(runs[k]->batch, i, &q.p));
        free_problem(&q);
      }
      emu_libraries(k != 1);
      solve_run(runs[k]);
      emu_libraries(1);
    }
    for (int i = 0; i < n; i++) {
      double error = difference(&t, i, &best, i);
      cr_expect_eq(t.r.status[i], block.r.status[i], "precision %d, seed %d: %s, and in one block %s", precision, i, sc_status_name(t.r.status[i]),
                   sc_status_name(block.r.status[i]));
      cr_expect(t.r.status[i] != SC_SOLVED || error <= t.r.qacc_bound[i] + best.r.qacc_bound[i] + TOL_F64_QACC, "precision %d, seed %d: error %g", precision, i, error);
    }
    close_run(&t), close_run(&block), close_run(&best);
  }
  no_races();
}

/* contacts that slide at D A = 1e8 take more steps than there are rounds: rows are softened in these, and one block goes on */
Test(cuda_large, what_rounds_leave_goes_on_in_one_block) {
  static const problem_case made_of = {"", 132, 0, 0, 2, 0, 6, 2, 2, 1, 0};
  enum { N = 3 };
  int most = 0, n = racing() ? 1 : N;
  EACH_CUDA_PRECISION(precision) {
    test_run t = open_run("cuda", 1, precision, precision == SC_F64 ? 1e-12 : 1e-8, n), best = open_run(NULL, 1, SC_F64, 1e-12, n);
    for (int i = 0; i < n; i++) {
      test_problem q = make_problem(&made_of, (uint64_t)i);
      make_stiff(&q, 1 - 1e-8, 1);
      follow_first_rows(&q);
      CALL(sc_batch_set(t.batch, i, &q.p));
      CALL(sc_batch_set(best.batch, i, &q.p));
      free_problem(&q);
    }
    solve_run(&t);
    solve_run(&best);
    for (int i = 0; i < n; i++) {
      double error = difference(&t, i, &best, i);
      cr_expect_eq(t.r.status[i], SC_SOLVED, "precision %d, seed %d: %s after %d steps", precision, i, sc_status_name(t.r.status[i]), t.r.iterations[i]);
      cr_expect_leq(error, t.r.qacc_bound[i] + best.r.qacc_bound[i], "precision %d, seed %d: error %g", precision, i, error);
      most = t.r.iterations[i] > most ? t.r.iterations[i] : most;
    }
    close_run(&t), close_run(&best);
  }
  cr_expect(most > DENSE_ROUNDS && most <= 2 * MOST_STIFF_STEPS, "%d steps", most);
  no_races();
}

Test(cuda_large, noslip_after_the_rounds) {
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.noslip_iterations = 3;
  int n = racing() ? 1 : NENV, moved = 0;
  test_run t = with_options("cuda", &o, n), best = with_options("reference", &o, n);
  for (int i = 0; i < n; i++) set_size(&t, i, i, 2), set_size(&best, i, i, 2);
  solve_run(&t);
  solve_run(&best);
  for (int i = 0; i < n; i++) {
    double worst = 0, most = 1;
    for (size_t k = t.r.efc_offset[i]; k < t.r.efc_offset[i + 1]; k++) {
      worst = fmax(worst, fabs(t.r.efc_force[k] - best.r.efc_force[k]));
      most = fmax(most, fabs(best.r.efc_force[k]));
    }
    cr_expect_leq(worst, TOL_FORCE * most * 100, "\"%s\": a force differs by %g", name_of(i), worst);
    cr_expect_eq(t.r.flags[i], best.r.flags[i], "\"%s\": flags %x and %x", name_of(i), t.r.flags[i], best.r.flags[i]);
    moved += (t.r.flags[i] & SC_NOSLIP_APPLIED) != 0;
  }
  cr_expect_gt(moved, n / 3, "only %d of %d moved", moved, n);
  close_run(&t), close_run(&best);
  no_races();
}

/* ------------------------------------------------------------------ verdicts */

Test(cuda_large, verdicts_without_an_answer_are_those_of_the_packs) {
  EACH_CUDA_PRECISION(precision) {
    test_run t = open_run("cuda", 1, precision, 1e-10, 4), reference = open_run("reference", 1, precision, 1e-10, 4);
    test_run *runs[2] = {&t, &reference};
    for (int k = 0; k < 2; k++) {
      test_problem q = make_problem(&sizes[0], 1);
      double tau = q.tau[0], M = q.M[0];
      q.tau[0] = NAN;
      cr_expect_eq(sc_batch_set(runs[k]->batch, 0, &q.p), SC_ERROR_VALUE);
      q.tau[0] = tau, q.M[0] = -1;
      CALL(sc_batch_set(runs[k]->batch, 1, &q.p));
      q.M[0] = M, q.aref[0] = 1e200; /* too large for float */
      CALL(sc_batch_set(runs[k]->batch, 2, &q.p));
      free_problem(&q);
      set_size(runs[k], 3, 0, 1);
      solve_run(runs[k]);
    }
    cr_expect_eq(t.r.status[1], SC_NOT_SPD, "%s", sc_status_name(t.r.status[1]));
    cr_expect_eq(t.r.status[3], SC_SOLVED, "%s", sc_status_name(t.r.status[3]));
    for (int i = 0; i < 4; i++) {
      cr_expect_eq(t.r.status[i], reference.r.status[i], "environment %d: %s, not %s", i, sc_status_name(t.r.status[i]), sc_status_name(reference.r.status[i]));
      cr_expect_eq(t.r.flags[i], reference.r.flags[i], "environment %d: flags %x, not %x", i, t.r.flags[i], reference.r.flags[i]);
      cr_expect(isnan(t.r.gap[i]) == isnan(reference.r.gap[i]), "environment %d: gap %g, not %g", i, t.r.gap[i], reference.r.gap[i]);
    }
    close_run(&t), close_run(&reference);
  }
  no_races();
}

/* as many steps, and no more */
Test(cuda_large, iterations_that_run_out_are_said_so) {
  for (int limit = 0; limit <= 3; limit++) {
    sc_solver_options o;
    sc_solver_options_init(&o);
    o.iterations = limit, o.tolerance = 1e-15;
    test_run t = with_options("cuda", &o, 1), reference = with_options("reference", &o, 1);
    set_size(&t, 0, 0, 1), set_size(&reference, 0, 0, 1);
    solve_run(&t), solve_run(&reference);
    cr_expect_eq(t.r.status[0], SC_ITERATION_LIMIT, "%s after %d of %d", sc_status_name(t.r.status[0]), t.r.iterations[0], limit);
    cr_expect_eq(t.r.iterations[0], limit, "%d steps, not %d", t.r.iterations[0], limit);
    cr_expect_leq(difference(&t, 0, &reference, 0), TOL_F64_QACC, "after %d steps qacc differs by %g", limit, difference(&t, 0, &reference, 0));
    close_run(&t), close_run(&reference);
  }
  no_races();
}

/* ------------------------------------------------------------------ bits */

Test(cuda_large, alone_and_in_company) {
  EACH_CUDA_PRECISION(precision) {
    test_run all = all_sizes("cuda", precision, 1), one = open_run("cuda", 1, precision, tolerance_of(precision), 1);
    for (int i = 0; i < (racing() ? 1 : NENV); i++) {
      set_size(&one, 0, i, 1);
      solve_run(&one);
      same_bits(&all, i, &one, 0, "alone", name_of(i));
    }
    close_run(&one), close_run(&all);
  }
  no_races();
}

/* the same classes several times, in another order, beside environments whose numbers are broken */
Test(cuda_large, order_and_poisoned_neighbours) {
  EACH_CUDA_PRECISION(precision) {
    if (racing()) break;
    test_run all = all_sizes("cuda", precision, 1), mixed = open_run("cuda", 1, precision, tolerance_of(precision), 3 * NSIZE);
    for (int i = 0; i < NSIZE; i++) {
      int at = 3 * (NSIZE - 1 - i);
      set_size(&mixed, at, i, 1);
      set_size(&mixed, at + 1, i, 4);
      test_problem q = make_problem(&sizes[i], 2);
      q.M[0] = i % 2 ? -1 : q.M[0], q.tau[0] = i % 2 ? 0 : 1e300;
      CALL(sc_batch_set(mixed.batch, at + 2, &q.p));
      free_problem(&q);
    }
    solve_run(&mixed);
    for (int i = 0; i < NSIZE; i++) {
      int at = 3 * (NSIZE - 1 - i), status = mixed.r.status[at + 2];
      same_bits(&all, i, &mixed, at, "order", name_of(i));
      cr_expect_eq(mixed.r.status[at + 1], SC_SOLVED, "\"%s\": %s", name_of(i), sc_status_name(mixed.r.status[at + 1]));
      cr_expect(i % 2 == 0 || status == SC_NOT_SPD, "\"%s\" with an indefinite M: %s", name_of(i), sc_status_name(status));
    }
    close_run(&mixed), close_run(&all);
  }
}

Test(cuda_large, repetition_and_order_of_lanes) {
  EACH_CUDA_PRECISION(precision) {
    if (racing()) break;
    test_run first = all_sizes("cuda", precision, 1);
    for (int seed = 1; seed < 3; seed++) {
      emu_seed(seed);
      test_run again = all_sizes("cuda", precision, 1);
      CALL(sc_solver_run(again.solver));
      CALL(sc_solver_result(again.solver, &again.r));
      for (int i = 0; i < NENV; i++) same_bits(&first, i, &again, i, "repetition", name_of(i));
      close_run(&again);
    }
    close_run(&first);
  }
}

/* ------------------------------------------------------------------ streams */

/* a small one; two classes of dofs, three of rows, one of these without any */
static const int on_stream_sizes[] = {0, NSIZE - 1, 1, 4};
enum { ON_STREAM = sizeof on_stream_sizes / sizeof *on_stream_sizes, ON_STREAM_CALLS = 2 * 2 + 2 };

static test_run on_stream(int device, void *stream, int precision) {
  test_run t = {0};
  sc_context_options c;
  sc_solver_options o;
  sc_context_options_init(&c);
  sc_solver_options_init(&o);
  c.backend = "cuda", c.device = device, c.stream = stream, c.threads = 1;
  o.precision = precision, o.tolerance = tolerance_of(precision);
  CALL(sc_context_create(&c, &t.context));
  CALL(sc_batch_create(t.context, ON_STREAM, &t.batch));
  CALL(sc_solver_create(t.context, &o, &t.solver));
  for (int i = 0; i < ON_STREAM; i++) set_size(&t, i, on_stream_sizes[i], 1);
  return t;
}

static int enqueue(void *solver) { return sc_solver_run(solver); }

/* captured once, replayed: the launches and the library's calls that docs/gpu.md tells of, no allocation, no copy */
Test(cuda_large, a_graph_is_replayed) {
  EACH_CUDA_PRECISION(precision) {
    void *stream = cuda_stream_create(0);
    test_run plain = on_stream(0, NULL, precision), t = on_stream(0, stream, precision);
    int code, replays = racing() ? 1 : 3;
    solve_run(&plain);
    CALL(sc_solver_pack(t.solver, t.batch));
    counted launches = count_from("launches"), library = count_from("library"), allocations = count_from("allocations"), copied = count_from("copied");
    void *graph = cuda_graph_capture(stream, enqueue, t.solver, &code);
    cr_assert_eq(code, SC_OK, "%s", sc_error_text());
    cr_expect_eq(counted_since(library), 0, "captured work has run");
    for (int k = 0; k < replays; k++) cuda_graph_replay(graph, stream);
    CALL(sc_solver_wait(t.solver));
    cr_expect_eq(counted_since(launches), replays * (1 + DENSE_ROUNDS + 1 + 1), "%ld launches", counted_since(launches));
    cr_expect_eq(counted_since(library), replays * DENSE_ROUNDS * ON_STREAM_CALLS, "%ld calls", counted_since(library));
    cr_expect_eq(counted_since(allocations), 0);
    cr_expect_eq(counted_since(copied), 0);
    CALL(sc_solver_result(t.solver, &t.r));
    for (int i = 0; i < ON_STREAM; i++) same_bits(&plain, i, &t, i, "graph", "on a stream");
    cuda_graph_destroy(graph);
    close_run(&t), close_run(&plain);
    cuda_stream_destroy(stream);
  }
  no_races();
}

Test(cuda_large, two_devices_side_by_side) {
  if (racing()) cr_skip("the plain build does it");
  void *streams[2] = {cuda_stream_create(0), cuda_stream_create(1)};
  test_run a = on_stream(0, streams[0], SC_F64), b = on_stream(1, streams[1], SC_F64);
  CALL(sc_solver_pack(a.solver, a.batch));
  CALL(sc_solver_pack(b.solver, b.batch));
  CALL(sc_solver_run(a.solver));
  CALL(sc_solver_run(b.solver));
  CALL(sc_solver_result(b.solver, &b.r));
  CALL(sc_solver_result(a.solver, &a.r));
  for (int i = 0; i < ON_STREAM; i++) same_bits(&a, i, &b, i, "devices", "on two");
  close_run(&a), close_run(&b);
  for (int k = 0; k < 2; k++) cuda_stream_destroy(streams[k]);
}

/* ------------------------------------------------------------------ failures */

/* a whole life with a large environment, few rounds; the first code that is not SC_OK */
static int live(void) {
  sc_solver_options o;
  test_run t;
  sc_solver_options_init(&o);
  o.iterations = 2, o.precision = SC_F32, o.retry = 0;
  int code = try_open(&t, &o, 1);
  if (!code) set_size(&t, 0, 0, 1);
  if (!code) code = sc_solver_pack(t.solver, t.batch);
  if (!code) code = sc_solver_run(t.solver);
  if (!code) code = sc_solver_result(t.solver, &t.r);
  if (!code) cr_expect_eq(t.r.status[0], SC_ITERATION_LIMIT, "%s", sc_status_name(t.r.status[0]));
  close_run(&t);
  return code;
}

/* memory for the rounds that is not there is the one failure that costs nothing but time */
Test(cuda_large, every_call_that_fails_is_told_and_leaves_nothing) {
  static const char *const calls[] = {"cublasCreate", "cusolverDnCreate", "cublasSgemmStridedBatched", "cusolverDnSpotrfBatched", "cusolverDnSpotrsBatched"};
  enum { NCALLS = sizeof calls / sizeof *calls };
  int told[NCALLS] = {0}, silent = 0, plain = 0;
  if (racing()) cr_skip("the plain build does it");
  counted total = count_from("calls");
  CALL(live());
  long n = counted_since(total);
  for (long i = 1; i <= n; i++) {
    counted library = count_from("library");
    int code = live_without(live, i);
    silent += !code;
    plain += !code && counted_since(library) == 2; /* both were opened, and then not used */
    for (int k = 0; k < NCALLS && code; k++) told[k] += strstr(sc_error_text(), calls[k]) != NULL;
  }
  for (int k = 0; k < NCALLS; k++) cr_expect_eq(told[k], k < 2 ? 1 : 2, "%s: told %d times", calls[k], told[k]);
  cr_expect_eq(plain, 1, "%d times without memory for the rounds", plain);
  cr_expect_leq(silent, 12, "%d of %ld failing calls are not told", silent, n);
}
