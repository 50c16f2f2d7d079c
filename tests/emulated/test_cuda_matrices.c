/* M and J in device memory, read before each solve: other numbers than those that were packed, and what is not valid. */
#include "sweep_cases.h"

#include <stdio.h>

typedef struct { double *M, *J; } matrices;

/* those of the problems as they are now */
static void put_matrices(const sweep *s, const matrices *there) {
  for (int i = 0; i < s->n; i++) {
    const sc_problem *p = &s->q[i].p;
    size_t nv = (size_t)p->nv;
    if (nv) cuda_memory_put(there->M + s->a.M_offset[i], p->M, nv * nv * sizeof(double), s->stream);
    if (nv && p->nefc) cuda_memory_put(there->J + s->a.J_offset[i], p->efc_J, (size_t)p->nefc * nv * sizeof(double), s->stream);
  }
  CALL(sc_solver_wait(s->t.solver));
}

static matrices device_matrices(const sweep *s) {
  matrices there = {cuda_memory_create((s->a.M_offset[s->n] + 1) * sizeof(double)), cuda_memory_create((s->a.J_offset[s->n] + 1) * sizeof(double))};
  put_matrices(s, &there);
  return there;
}

static void free_matrices(const matrices *m) { cuda_memory_destroy(m->M), cuda_memory_destroy(m->J); }

/* other masses and lever arms in the same places */
static void change_matrices(sweep_problem *q, int which, uint64_t seed) {
  test_random r = {seed};
  int n = q->p.nv;
  for (int i = 0; which & 1 && i < n; i++) {
    double by = 0.5 + random_unit(&r);
    for (int k = 0; k < n; k++) q->of.M[i * n + k] *= by, q->of.M[k * n + i] *= by;
  }
  for (int i = 0; which & 2 && i < q->p.nefc * n; i++) q->of.J[i] *= 0.5 + random_unit(&r);
}

/* which: bits for M, efc_J, and qfrc_smooth beside them. Against the reference, and against packing the changed problems. */
static void check_changed(int method, int precision, int which) {
  static const char *const names[] = {"", "M", "J", "M and J", "force", "M and force", "J and force", "all"};
  sweep s = open_packed(precision, method == SC_NEWTON && which == 3 ? sweep_cases() : 14);
  sc_solver_options o;
  sc_solver_options_init(&o);
  o.method = method, o.precision = precision, o.tolerance = precision == SC_F64 ? 1e-15 : 1e-8, o.iterations = 100;
  use_solver(&s.t, &o);
  pack_sweep(&s);
  matrices m = device_matrices(&s);
  double *tau = cuda_memory_create((s.a.nv_offset[s.n] + 1) * sizeof(double));
  sc_cuda_arrays a = s.a;
  if (which & 1) a.M = m.M;
  if (which & 2) a.efc_J = m.J;
  if (which & 4) a.qfrc_smooth = tau;
  CALL(sc_cuda_arrays_set(s.t.solver, &a));
  for (int round = 0; round < 2; round++) { /* in place, again */
    for (int i = 0; i < s.n; i++) {
      sweep_problem *q = &s.q[i];
      change_matrices(q, which, (uint64_t)(100 * round + i));
      if (which & 4) q->p.qfrc_smooth = q->of.tau, q->p.qacc_smooth = NULL;
      for (int k = 0; which & 4 && k < q->p.nv; k++) q->of.tau[k] *= 1.25;
      if (which & 4 && q->p.nv) cuda_memory_put(tau + s.a.nv_offset[i], q->of.tau, (size_t)q->p.nv * sizeof(double), s.stream);
    }
    put_matrices(&s, &m);
    run_sweep(&s);
    if (method == SC_NEWTON) expect_reference(&s, precision, names[which]);
    test_run fresh = open_run("cuda", 1, precision, o.tolerance, s.n);
    use_solver(&fresh, &o);
    for (int i = 0; i < s.n; i++) CALL(sc_batch_set(fresh.batch, i, &s.q[i].p));
    solve_run(&fresh);
    for (int i = 0; i < s.n; i++) {
      sc_problem p;
      double error;
      CALL(sc_batch_get(fresh.batch, i, &p, NULL));
      CALL(sc_check_error(&p, run_qacc(&s.t, i), run_qacc(&fresh, i), NULL, NULL, &error, NULL));
      double bound = s.t.r.qacc_bound[i] + fresh.r.qacc_bound[i] + TOL_F64_QACC;
      cr_expect_leq(error, bound, "%s, %s: \"%s\": qacc differs by %g from that of packing, bounds allow %g", sc_method_name(method),
                    names[which], name_of(&s, i), error, bound);
      cr_expect_eq(s.t.r.status[i], fresh.r.status[i], "%s, %s: \"%s\": %s, but %s when packed", sc_method_name(method), names[which],
                   name_of(&s, i), sc_status_name(s.t.r.status[i]), sc_status_name(fresh.r.status[i]));
    }
    close_run(&fresh);
  }
  cr_expect_leq(emu_count("races"), 0, "%ld races", emu_count("races"));
  cuda_memory_destroy(tau);
  free_matrices(&m);
  close_sweep(&s);
}

Test(cuda_matrices, those_in_device_memory_are_the_problem_s) {
  EACH_CUDA_PRECISION(precision)
  for (int which = 1; which < 8; which += which == 3 ? 4 : 1) check_changed(SC_NEWTON, precision, which);
}

/* methods that read the factor of M in the iteration, which is made anew */
Test(cuda_matrices, of_the_other_methods_too) {
  EACH_CUDA_PRECISION(precision)
  for (int method = SC_CG; method <= SC_PGS; method++) check_changed(method, precision, 3);
}

/* as packed: the bits are those of packing, and stay so */
Test(cuda_matrices, the_same_numbers_give_the_same_bits) {
  EACH_CUDA_PRECISION(precision) {
    sweep s = open_packed(precision, sweep_cases()), plain = open_packed(precision, sweep_cases());
    matrices m = device_matrices(&s);
    sc_cuda_arrays a = s.a;
    a.efc_J = m.J;
    CALL(sc_cuda_arrays_set(s.t.solver, &a));
    run_sweep(&s), run_sweep(&plain);
    for (int i = 0; i < s.n; i++) same_bits(&s.t, i, &plain.t, i, "J", name_of(&s, i));
    a.M = m.M;
    CALL(sc_cuda_arrays_set(s.t.solver, &a));
    run_sweep(&s);
    sweep again = open_packed(precision, sweep_cases());
    a = again.a, a.M = m.M, a.efc_J = m.J;
    CALL(sc_cuda_arrays_set(again.t.solver, &a));
    run_sweep(&again), run_sweep(&again);
    for (int i = 0; i < s.n; i++) same_bits(&s.t, i, &again.t, i, "M and J", name_of(&s, i));
    free_matrices(&m);
    close_sweep(&s), close_sweep(&plain), close_sweep(&again);
  }
}

/* one environment's number is broken: its verdict, and no other bit; mended, it has its answer again */
static void check_broken(int precision, int in_J, int env, size_t at, double value, int want) {
  sweep s = open_packed(precision, NPROBLEM), good = open_packed(precision, NPROBLEM);
  matrices m = device_matrices(&s), n = device_matrices(&good);
  sc_cuda_arrays a = s.a, b = good.a;
  a.M = m.M, a.efc_J = m.J, b.M = n.M, b.efc_J = n.J;
  CALL(sc_cuda_arrays_set(s.t.solver, &a));
  CALL(sc_cuda_arrays_set(good.t.solver, &b));
  run_sweep(&good);
  cuda_memory_put(in_J ? m.J + s.a.J_offset[env] + at : m.M + s.a.M_offset[env] + at, &value, sizeof value, s.stream);
  run_sweep(&s);
  cr_expect_eq(s.t.r.status[env], want, "precision %d, %s[%zu] = %g: %s", precision, in_J ? "J" : "M", at, value, sc_status_name(s.t.r.status[env]));
  cr_expect(isnan(s.t.r.qacc[s.a.nv_offset[env]]), "an answer: %g", s.t.r.qacc[s.a.nv_offset[env]]);
  for (int i = 0; i < s.n; i++)
    if (i != env) same_bits(&s.t, i, &good.t, i, "beside", name_of(&s, i));
  put_matrices(&s, &m);
  run_sweep(&s);
  for (int i = 0; i < s.n; i++) same_bits(&s.t, i, &good.t, i, "mended", name_of(&s, i));
  free_matrices(&m), free_matrices(&n);
  close_sweep(&s), close_sweep(&good);
}

/* a row of J of case 13 whose last block of four dofs is empty, or -1 */
static int narrow_row(const sweep_problem *q) {
  for (int r = 0; r < q->p.nefc; r++) {
    int used = 0;
    for (int c = 0; c < 3; c++) used += q->p.efc_J[r * q->p.nv + c] != 0;
    if (!used) return r;
  }
  return -1;
}

Test(cuda_matrices, what_is_not_valid_is_named_and_stays_alone) {
  sweep_problem q = make_sweep(13, 14);
  int row = narrow_row(&q), nv = q.p.nv;
  EACH_CUDA_PRECISION(precision) {
    check_broken(precision, 0, 13, 0, NAN, SC_BAD_INPUT);
    check_broken(precision, 0, 13, (size_t)(2 * nv + 2), -1, SC_NOT_SPD);
    check_broken(precision, 1, 13, 3, INFINITY, SC_BAD_INPUT);
    if (row >= 0) check_broken(precision, 1, 13, (size_t)(row * nv), 1, SC_BAD_INPUT);
  }
  printf("a row that leaves dofs out: %d\n", row);
  free_sweep(&q);
}
