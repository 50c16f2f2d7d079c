/* Rows that the device evaluates from parameters in its memory: against the host's law, alone and in front of a solve. */
#include "../support/tolerances.h"
#include "sweep_cases.h"

#include <stdio.h>

static int seeds(void) { return racing() ? 2 : 4; }

/* ------------------------------------------------------------------ the law */

/* the largest difference so far, and where it is */
typedef struct { double error; const char *field, *name; int seed, row, type; } offender;

static void compare(offender *w, double x, double y, double size, const char *field, const char *name, int seed, int row, int type) {
  double error = x == y ? 0 : fabs(x - y) / size;
  if (error <= w->error) return; /* NaN counts */
  *w = (offender){error, field, name, seed, row, type};
}

/* rows of environment env as the device has them (law[k], k = K, B, d, dp, R, D, aref) against the batch's */
static void compare_rows(offender *worst, const sweep *s, int env, double *const *law, const double *mu) {
  static const char *const names[] = {"K", "B", "d", "dp", "R", "D", "aref"};
  const sweep_problem *q = &s->q[env];
  sc_problem p;
  sc_rows r;
  CALL(sc_batch_get(s->t.batch, env, &p, &r));
  const double *host[] = {r.K, r.B, r.d, r.dp, r.R, p.efc_D, p.efc_aref};
  size_t first = s->a.efc_offset[env];
  for (int i = 0; i < p.nefc; i++)
    for (int k = 0; k < 7; k++) {
      double size = fabs(host[k][i]);
      if (k == 6) /* its terms may cancel */
        size += fabs(r.B[i] * q->vel[i]) + fabs(r.K[i] * r.d[i] * (q->pos[i] - q->margin[i])) + fabs(q->curvature[i]) +
                r.R[i] * q->adhesion[i];
      int type = p.efc_type[i];
      compare(&worst[type], law[k][first + (size_t)i], host[k][i], size + 1e-300, names[k], name_of(s, env), q->seed, i, type);
    }
  for (int i = 0, contact = 0; i < p.nefc; i++) {
    int type = p.efc_type[i];
    if (type < SC_CONTACT_PYRAMIDAL) continue;
    double want = p.contact_mu[contact];
    compare(&worst[type], mu[s->a.con_offset[env] + (size_t)contact], want, want, "mu", name_of(s, env), q->seed, i, type);
    i += (type == SC_CONTACT_ELLIPTIC ? p.contact_dim[contact] : 2 * (p.contact_dim[contact] - 1)) - 1;
    contact++;
  }
}

/* the device's rows of a packed sweep, by type of row */
static void evaluate_sweep(sweep *s, offender *worst) {
  size_t m = s->a.efc_offset[s->n], c = s->a.con_offset[s->n];
  double *law[8], *there[8];
  sc_cuda_arrays a = s->a;
  for (int k = 0; k < 8; k++) {
    size_t bytes = (k < 7 ? m : c) * sizeof(double);
    law[k] = malloc(bytes), there[k] = cuda_memory_create(bytes);
  }
  a.efc_K = there[0], a.efc_B = there[1], a.efc_d = there[2], a.efc_dp = there[3], a.efc_R = there[4], a.efc_D = there[5];
  a.efc_aref = there[6], a.contact_mu = there[7];
  CALL(sc_cuda_arrays_set(s->t.solver, &a));
  CALL(sc_cuda_rows_eval(s->t.solver));
  for (int k = 0; k < 8; k++) cuda_memory_get(law[k], there[k], (k < 7 ? m : c) * sizeof(double), s->stream);
  for (int i = 0; i < s->n; i++) compare_rows(worst, s, i, law, law[7]);
  CALL(sc_cuda_arrays_set(s->t.solver, &s->a));
  for (int k = 0; k < 8; k++) free(law[k]), cuda_memory_destroy(there[k]);
}

static void expect_the_law(const offender *worst) {
  for (int type = 0; type < SC_NTYPE; type++) {
    const offender *w = &worst[type];
    printf("rows of type %d: worst relative difference %.1e (%s)\n", type, w->error < 0 ? 0 : w->error, w->error > 0 ? w->field : "none");
    cr_expect_geq(w->error, 0, "no row of type %d was compared", type);
    cr_expect(w->error <= TOL_LAW, "type %d: \"%s\" seed %d: row %d: %s differs by %g", type, w->name, w->seed, w->row, w->field, w->error);
  }
}

#define NO_OFFENDER {-1, "", "", 0, 0, 0}
#define NO_OFFENDERS {NO_OFFENDER, NO_OFFENDER, NO_OFFENDER, NO_OFFENDER, NO_OFFENDER, NO_OFFENDER, NO_OFFENDER, NO_OFFENDER}

Test(cuda_rows, every_kind_is_evaluated_by_the_hosts_law) {
  offender worst[] = NO_OFFENDERS;
  sweep s = open_sweep("cuda", 0, SC_F64, sweep_cases() * seeds(), 0);
  pack_sweep(&s);
  evaluate_sweep(&s, worst);
  expect_the_law(worst);
  cr_expect_leq(emu_count("races"), 0, "%ld races", emu_count("races"));
  close_sweep(&s);
}

/* what a capacity drops is not there on the device either, and the rest has moved up */
Test(cuda_rows, dropped_contacts) {
  offender worst[] = NO_OFFENDERS;
  int env = 16; /* many contacts */
  sweep s = open_sweep("cuda", 0, SC_F64, env + 1, 3);
  CALL(sc_batch_capacity(s.t.batch, 0, 7));
  pack_sweep(&s);
  run_sweep(&s);
  cr_assert(s.t.r.flags[env] & SC_ROWS_DROPPED, "nothing was dropped");
  size_t n = s.a.con_offset[env + 1] - s.a.con_offset[env];
  cr_assert_leq(n, 7, "%zu contacts", n);
  sc_problem p;
  sc_rows r;
  CALL(sc_batch_get(s.t.batch, env, &p, &r));
  size_t m = s.a.efc_offset[s.n], first = s.a.efc_offset[env];
  double *there = cuda_memory_create(m * sizeof(double)), *D = calloc(m, sizeof(double));
  sc_cuda_arrays a = s.a;
  a.efc_D = there;
  CALL(sc_cuda_arrays_set(s.t.solver, &a));
  CALL(sc_cuda_rows_eval(s.t.solver));
  cuda_memory_get(D, there, m * sizeof(double), s.stream);
  for (int i = 0; i < p.nefc; i++)
    compare(&worst[0], D[first + (size_t)i], p.efc_D[i], p.efc_D[i], "D", name_of(&s, env), 0, i, p.efc_type[i]);
  cr_expect(worst[0].error <= TOL_LAW, "row %d: D differs by %g", worst[0].row, worst[0].error);
  cr_expect_eq(s.t.r.flags[env] & (SC_REPAIRED | SC_CLAMPED), r.flags & (SC_REPAIRED | SC_CLAMPED));
  free(D), cuda_memory_destroy(there);
  close_sweep(&s);
}

/* ------------------------------------------------------------------ sweeps */

/* the run's answers against those of the CPU for the same problems */
static void expect_the_cpu(const sweep *s, int precision, const char *what) {
  sweep cpu = open_sweep("reference", 0, precision, s->n, 0);
  for (int i = 0; i < s->n; i++) CALL(sc_batch_set(cpu.t.batch, i, &s->q[i].p));
  solve_run(&cpu.t);
  offender worst = NO_OFFENDER;
  for (int i = 0; i < s->n; i++) {
    sc_problem p;
    double error, limit = precision == SC_F64 ? TOL_F64_QACC : TOL_F32_QACC_WORST;
    CALL(sc_batch_get(cpu.t.batch, i, &p, NULL));
    CALL(sc_check_error(&p, run_qacc(&s->t, i), run_qacc(&cpu.t, i), NULL, NULL, &error, NULL));
    if (s->t.r.status[i] == SC_SOLVED && error > worst.error) worst = (offender){error, "qacc", name_of(s, i), s->q[i].seed, 0, 0};
    cr_expect_eq(s->t.r.status[i], SC_SOLVED, "%s: \"%s\": %s", what, name_of(s, i), sc_status_name(s->t.r.status[i]));
    cr_expect(error <= limit, "%s: \"%s\" seed %d: qacc differs by %g", what, name_of(s, i), s->q[i].seed, error);
    uint32_t flags = SC_REPAIRED | SC_CLAMPED;
    cr_expect_eq(s->t.r.flags[i] & flags, cpu.t.r.flags[i] & flags, "%s: \"%s\": flags %x, not %x", what, name_of(s, i),
                 s->t.r.flags[i], cpu.t.r.flags[i]);
  }
  printf("%s: worst difference of qacc from the CPU %.1e (\"%s\")\n", what, worst.error, worst.name ? worst.name : "");
  close_sweep(&cpu);
}

/* and with those of a solver that packs these problems anew, bit by bit */
static void expect_fresh_bits(const sweep *s, int precision, const char *what) {
  sweep fresh = open_sweep("cuda", 0, precision, s->n, 0);
  for (int i = 0; i < s->n; i++) CALL(sc_batch_set(fresh.t.batch, i, &s->q[i].p));
  solve_run(&fresh.t);
  for (int i = 0; i < s->n; i++) same_bits(&s->t, i, &fresh.t, i, what, name_of(s, i));
  close_sweep(&fresh);
}

static int enqueue(void *solver) { return sc_solver_run(solver); }

/* parameters change in device memory, in place, and a captured graph is replayed: no packing, no launch beside it */
Test(cuda_rows, a_graph_is_replayed_after_parameters_have_changed) {
  EACH_CUDA_PRECISION(precision) {
    void *stream = cuda_stream_create(0);
    sweep s = open_sweep_on(stream, "cuda", 0, precision, sweep_cases(), 1);
    cr_assert_eq(sc_cuda_stream(s.t.context), stream);
    pack_sweep(&s);
    int code;
    void *graph = cuda_graph_capture(stream, enqueue, s.t.solver, &code);
    cr_assert_eq(code, SC_OK, "%s", sc_error_text());
    counted allocations = count_from("allocations"), launches = count_from("launches");
    for (int step = 1; step <= 3; step++) {
      for (int i = 0; i < s.n; i++) set_parameters(&s.q[i], 100 * step + i), put_parameters(&s.a, i, &s.q[i], stream);
      cuda_graph_replay(graph, stream);
      CALL(sc_solver_result(s.t.solver, &s.t.r));
      cr_expect_eq(counted_since(allocations), 0);
      int rounds = racing() ? 0 : 1 + DENSE_ROUNDS + 1; /* of the largest case */
      cr_expect_leq(counted_since(launches), 2 + rounds, "%ld launches", counted_since(launches)); /* one a size of teams */
      expect_the_cpu(&s, precision, "swept");
      expect_fresh_bits(&s, precision, "swept");
      allocations = count_from("allocations"), launches = count_from("launches");
    }
    cuda_graph_destroy(graph);
    close_sweep(&s);
    cuda_stream_destroy(stream);
  }
}

/* the law alone sees what changed, too */
Test(cuda_rows, evaluated_after_parameters_have_changed) {
  offender worst[] = NO_OFFENDERS;
  sweep s = open_sweep("cuda", 0, SC_F64, sweep_cases(), 1);
  pack_sweep(&s);
  for (int i = 0; i < s.n; i++) set_parameters(&s.q[i], 50 + i), put_parameters(&s.a, i, &s.q[i], s.stream);
  set_all(&s); /* the batch is what is compared with */
  evaluate_sweep(&s, worst);
  expect_the_law(worst);
  close_sweep(&s);
}

Test(cuda_rows, contexts_on_two_devices_sweep_side_by_side) {
  sweep a = open_sweep("cuda", 0, SC_F64, NPROBLEM, 1), b = open_sweep("cuda", 1, SC_F64, NPROBLEM, 1);
  pack_sweep(&a), pack_sweep(&b);
  for (int i = 0; i < NPROBLEM; i++) {
    set_parameters(&a.q[i], 300 + i), put_parameters(&a.a, i, &a.q[i], a.stream);
    set_parameters(&b.q[i], 400 + i), put_parameters(&b.a, i, &b.q[i], b.stream);
  }
  CALL(sc_solver_run(a.t.solver));
  CALL(sc_solver_run(b.t.solver));
  CALL(sc_solver_result(b.t.solver, &b.t.r));
  CALL(sc_solver_result(a.t.solver, &a.t.r));
  expect_the_cpu(&a, SC_F64, "device 0");
  expect_the_cpu(&b, SC_F64, "device 1");
  close_sweep(&a), close_sweep(&b);
}

/* ------------------------------------------------------------------ numbers that are not valid */

/* one number of environment 1 that the device finds bad; the value that it has otherwise comes back afterwards */
typedef struct { const char *name; double *at; double value; } fault;

static void expect_one_bad(sweep *s, const sweep *good, const fault *f) {
  double before;
  cuda_memory_get(&before, f->at, sizeof before, s->stream);
  cuda_memory_put(f->at, &f->value, sizeof f->value, s->stream);
  run_sweep(s);
  for (int i = 0; i < s->n; i++)
    if (i != 1) same_bits(&s->t, i, &good->t, i, f->name, name_of(s, i));
  const sc_result *r = &s->t.r;
  size_t dof = r->nv_offset[1], row = r->efc_offset[1];
  cr_expect_eq(r->status[1], SC_BAD_INPUT, "%s is %g: %s", f->name, f->value, sc_status_name(r->status[1]));
  cr_expect(isnan(r->qacc[dof]) && isnan(r->qfrc_constraint[dof]) && isnan(r->efc_force[row]) && isnan(r->gap[1]) &&
                isnan(r->gap_floor[1]) && isnan(r->qacc_bound[1]) && isnan(r->objective[1]) && r->iterations[1] == 0 && r->efc_state[row] == 0,
            "%s: there is an answer", f->name);
  cuda_memory_put(f->at, &before, sizeof before, s->stream);
  run_sweep(s);
  same_bits(&s->t, 1, &good->t, 1, "repaired", f->name);
}

/* environment 1 is "everything": 3 equalities, 5 dry frictions, 4 limits, 2 pyramids, then cones */
static sweep three_of_everything(int precision) {
  sweep s = open_sweep("cuda", 0, precision, 3, 1);
  for (int i = 0; i < 3; i++) free_sweep(&s.q[i]), s.q[i] = make_sweep(13, 7 + i);
  pack_sweep(&s);
  run_sweep(&s);
  return s;
}

Test(cuda_rows, a_number_that_is_not_valid_is_that_environments_bad_input) {
  EACH_CUDA_PRECISION(precision) {
    sweep good = three_of_everything(precision), s = three_of_everything(precision);
    const sc_cuda_arrays *a = &s.a;
    size_t row = a->efc_offset[1], con = a->con_offset[1], cone = row + 12;
    const fault faults[] = {
        {"solref", a->efc_solref + 2 * row, NAN},          {"solref of a contact", a->efc_solref + 2 * cone + 1, INFINITY},
        {"solimp", a->efc_solimp + 5 * row + 3, NAN},      {"a negative width", a->efc_solimp + 5 * cone + 2, -1},
        {"pos", a->efc_pos + row + 1, NAN},                {"margin", a->efc_margin + row + 4, INFINITY},
        {"vel", a->efc_vel + cone + 1, NAN},               {"diagA", a->efc_diagA + row + 3, -1},
        {"curvature", a->efc_curvature + row + 2, NAN},    {"adhesion", a->efc_adhesion + cone, NAN},
        {"frictionloss", a->efc_frictionloss + row + 3, -1}, {"friction", a->contact_friction + 5 * con + 1, NAN},
        {"a negative friction", a->contact_friction + 5 * con + 10, -1}, {"solreffriction", a->contact_solreffriction + 2 * con + 4, NAN},
        {"timestep", a->timestep + 1, 0},                  {"impratio", a->impratio + 1, NAN},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) expect_one_bad(&s, &good, &faults[i]);
    close_sweep(&s), close_sweep(&good);
  }
}

/* every number is valid, but R = (1-d)/d diagA is not finite */
Test(cuda_rows, rows_that_overflow_are_bad_input) {
  static const double low[2] = {1e-4, 1e-4};
  sweep good = three_of_everything(SC_F64), s = three_of_everything(SC_F64);
  size_t row = s.a.efc_offset[1];
  cuda_memory_put(s.a.efc_solimp + 5 * row, low, sizeof low, s.stream);
  cuda_memory_put(good.a.efc_solimp + 5 * row, low, sizeof low, good.stream);
  run_sweep(&good);
  expect_one_bad(&s, &good, &(fault){"rows that overflow", s.a.efc_diagA + row, 1e308});
  close_sweep(&s), close_sweep(&good);
}

/* of a contact its first row's solref, solimp and diagA count, and frictionloss only in dry friction */
Test(cuda_rows, what_the_law_does_not_read_may_be_anything) {
  sweep good = three_of_everything(SC_F64), s = three_of_everything(SC_F64);
  size_t row = s.a.efc_offset[1], cone = row + 12;
  const sc_cuda_arrays *a = &s.a;
  double nan = NAN, *ignored[] = {a->efc_solref + 2 * (cone + 1), a->efc_solimp + 5 * (cone + 1), a->efc_diagA + cone + 1, a->efc_frictionloss + row};
  for (int i = 0; i < 4; i++) cuda_memory_put(ignored[i], &nan, sizeof nan, s.stream);
  run_sweep(&s);
  for (int i = 0; i < 3; i++) same_bits(&s.t, i, &good.t, i, "ignored", name_of(&s, i));
  close_sweep(&s), close_sweep(&good);
}

/* rows that float cannot hold are solved in double, as on the CPU, and in float again when they are smaller */
Test(cuda_rows, too_large_for_float) {
  sweep good = three_of_everything(SC_F32), s = three_of_everything(SC_F32);
  size_t row = s.a.efc_offset[1];
  double large = 1e45, before;
  cuda_memory_get(&before, s.a.efc_vel + row, sizeof before, s.stream);
  cuda_memory_put(s.a.efc_vel + row, &large, sizeof large, s.stream);
  run_sweep(&s);
  sweep cpu = open_sweep("reference", 0, SC_F32, 1, 0);
  s.q[1].vel[0] = large;
  CALL(sc_batch_set(cpu.t.batch, 0, &s.q[1].p));
  solve_run(&cpu.t);
  cr_expect_eq(s.t.r.status[1], cpu.t.r.status[0], "%s, not %s", sc_status_name(s.t.r.status[1]), sc_status_name(cpu.t.r.status[0]));
  cr_expect_eq(s.t.r.flags[1], cpu.t.r.flags[0], "flags %x, not %x", s.t.r.flags[1], cpu.t.r.flags[0]);
  cr_expect(s.t.r.flags[1] & SC_RETRIED_F64, "it was not tried again in double");
  for (int i = 0; i < 3; i += 2) same_bits(&s.t, i, &good.t, i, "beside it", name_of(&s, i));
  cuda_memory_put(s.a.efc_vel + row, &before, sizeof before, s.stream);
  run_sweep(&s);
  for (int i = 0; i < 3; i++) same_bits(&s.t, i, &good.t, i, "small again", name_of(&s, i));
  /* and where they were too large when they were packed */
  CALL(sc_batch_set(s.t.batch, 1, &s.q[1].p));
  CALL(sc_solver_pack(s.t.solver, s.t.batch));
  CALL(sc_cuda_arrays_get(s.t.solver, &s.a));
  cuda_memory_put(s.a.efc_vel + row, &before, sizeof before, s.stream);
  run_sweep(&s);
  for (int i = 0; i < 3; i++) same_bits(&s.t, i, &good.t, i, "small now", name_of(&s, i));
  close_sweep(&s), close_sweep(&good), close_sweep(&cpu);
}
