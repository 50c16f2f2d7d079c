/* Random problems, legal and not, from a seed; what must hold of every answer; and random harm to files. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include "solve.h"
#include "tolerances.h"

#include <stdio.h>

/* a stream of its own for every seed and purpose: the generator's own streams of neighbouring seeds overlap */
static inline test_random random_stream(uint64_t seed, uint64_t purpose) {
  test_random r = {seed ^ purpose << 48};
  return (test_random){random_bits(&r) ^ purpose};
}
static inline int random_below(test_random *r, int n) { return (int)(random_bits(r) % (uint64_t)n); }
static inline int random_one_in(test_random *r, int n) { return random_below(r, n) == 0; }

/* ------------------------------------------------------------------ a problem */

/* Sizes that every array has room for, whatever the sizes of the struct say. */
enum { MOST_DOFS = 20, MOST_ROWS = 48, MOST_CONTACTS = 16 };

#define FUZZ_DOUBLES(F)                                                                                                     \
  F(M, MOST_DOFS * MOST_DOFS) F(qfrc_smooth, MOST_DOFS) F(qacc_smooth, MOST_DOFS) F(qacc_warmstart, MOST_DOFS)              \
  F(efc_J, MOST_ROWS * MOST_DOFS) F(efc_frictionloss, MOST_ROWS) F(efc_pos, MOST_ROWS) F(efc_margin, MOST_ROWS)             \
  F(efc_vel, MOST_ROWS) F(efc_solref, 2 * MOST_ROWS) F(efc_solimp, 5 * MOST_ROWS) F(efc_diagA, MOST_ROWS)                   \
  F(efc_curvature, MOST_ROWS) F(efc_adhesion, MOST_ROWS) F(efc_D, MOST_ROWS) F(efc_aref, MOST_ROWS)                         \
  F(contact_friction, 5 * MOST_CONTACTS) F(contact_solreffriction, 2 * MOST_CONTACTS) F(contact_mu, MOST_CONTACTS)
#define FUZZ_INTS(F)                                                                                                        \
  F(M_rownnz, MOST_DOFS) F(M_rowadr, MOST_DOFS) F(M_colind, MOST_DOFS * MOST_DOFS) F(J_rownnz, MOST_ROWS)                   \
  F(J_rowadr, MOST_ROWS) F(J_colind, MOST_ROWS * MOST_DOFS) F(efc_type, MOST_ROWS) F(efc_id, MOST_ROWS)                     \
  F(contact_dim, MOST_CONTACTS)

typedef struct {
  sc_problem p;             /* its pointers, where not NULL, are to the arrays below */
  char what[256];           /* what was done to it */
#define FIELD(name, count) double name[count];
  FUZZ_DOUBLES(FIELD)
#undef FIELD
#define FIELD(name, count) int name[count];
  FUZZ_INTS(FIELD)
#undef FIELD
} fuzz_problem;

static inline void fuzz_note(fuzz_problem *f, const char *what, int where) {
  size_t n = strlen(f->what);
  snprintf(f->what + n, sizeof f->what - n, " %s[%d]", what, where);
}

static inline const problem_case *fuzz_case(test_random *r, int plain) {
  for (;;) {
    const problem_case *c = &problem_cases[random_below(r, NPROBLEM)];
    int rows = c->ne + c->nf + c->nlimit + 4 * c->npyramid + 3 * c->ncone3 + 4 * c->ncone4 + 6 * c->ncone6;
    if (c->nv <= MOST_DOFS && rows <= MOST_ROWS && (!plain || (c->spread <= 2 && !c->redundant))) return c;
  }
}

/* parameters of rows, so that softcon evaluates them; legal, seldom sensible */
static inline void fuzz_parameters(fuzz_problem *f, test_random *r) {
  for (int i = 0; i < f->p.nefc; i++) {
    f->efc_pos[i] = 0.01 * random_signed(r), f->efc_margin[i] = 0.001 * random_unit(r), f->efc_vel[i] = random_signed(r);
    f->efc_solref[2 * i] = random_one_in(r, 4) ? -random_scale(r, 6) : 0.05 * random_unit(r);
    f->efc_solref[2 * i + 1] = random_one_in(r, 4) ? -random_scale(r, 4) : 2 * random_unit(r);
    f->efc_solimp[5 * i] = random_unit(r), f->efc_solimp[5 * i + 1] = random_unit(r), f->efc_solimp[5 * i + 2] = 0.01 * random_unit(r);
    f->efc_solimp[5 * i + 3] = random_unit(r), f->efc_solimp[5 * i + 4] = 1 + 3 * random_unit(r);
    f->efc_diagA[i] = random_scale(r, 2), f->efc_curvature[i] = random_signed(r), f->efc_adhesion[i] = random_unit(r);
  }
  for (int i = 0; i < 2 * f->p.ncon; i++) f->contact_solreffriction[i] = random_unit(r);
  f->p.efc_D = f->p.efc_aref = NULL;
  f->p.efc_pos = f->efc_pos, f->p.efc_solref = f->efc_solref, f->p.efc_solimp = f->efc_solimp;
  if (random_one_in(r, 2)) f->p.efc_margin = f->efc_margin;
  if (random_one_in(r, 2)) f->p.efc_vel = f->efc_vel;
  if (random_one_in(r, 2)) f->p.efc_diagA = f->efc_diagA;
  if (random_one_in(r, 4)) f->p.efc_curvature = f->efc_curvature;
  if (random_one_in(r, 4)) f->p.efc_adhesion = f->efc_adhesion;
  if (random_one_in(r, 4)) f->p.contact_solreffriction = f->contact_solreffriction;
  if (random_one_in(r, 4)) f->p.efc_id = f->efc_id;
  f->p.refsafe = random_below(r, 2);
}

/* compressed rows of the dense arrays, in place of them */
static inline void fuzz_sparse(fuzz_problem *f) {
  int n = f->p.nv, at = 0;
  for (int i = 0; i < n; i++) {
    f->M_rowadr[i] = at;
    for (int j = 0; j <= i; j++)
      if (f->M[i * n + j] != 0) f->M[at] = f->M[i * n + j], f->M_colind[at++] = j; /* at <= i n + j */
    f->M_rownnz[i] = at - f->M_rowadr[i];
  }
  at = 0;
  for (int i = 0; i < f->p.nefc; i++) {
    f->J_rowadr[i] = at;
    for (int j = 0; j < n; j++)
      if (f->efc_J[i * n + j] != 0) f->efc_J[at] = f->efc_J[i * n + j], f->J_colind[at++] = j;
    f->J_rownnz[i] = at - f->J_rowadr[i];
  }
  f->p.M_rownnz = f->M_rownnz, f->p.M_rowadr = f->M_rowadr, f->p.M_colind = f->M_colind;
  f->p.J_rownnz = f->J_rownnz, f->p.J_rowadr = f->J_rowadr, f->p.J_colind = f->J_colind;
}

/* a legal problem: one of the table's, in either form, dense or sparse. plain: in the ready form and well scaled */
static inline void fuzz_legal(fuzz_problem *f, test_random *r, int plain) {
  test_problem t = make_problem(fuzz_case(r, plain), random_bits(r));
  size_t n = (size_t)t.p.nv, m = (size_t)t.p.nefc, c = (size_t)t.p.ncon;
  memset(f, 0, sizeof *f);
  f->p = t.p;
#define TAKE(field, from, count) memcpy(f->field, from, (count) * sizeof *f->field), f->p.field = f->field
  TAKE(M, t.M, n * n);
  TAKE(efc_J, t.J, m * n);
  TAKE(qfrc_smooth, t.tau, n);
  TAKE(efc_D, t.D, m);
  TAKE(efc_aref, t.aref, m);
  TAKE(efc_frictionloss, t.eta, m);
  TAKE(contact_friction, t.friction, 5 * c);
  TAKE(contact_mu, t.mu, c);
  TAKE(efc_type, t.type, m);
  TAKE(contact_dim, t.dim, c);
#undef TAKE
  for (size_t i = 0; i < n; i++) f->qacc_warmstart[i] = t.warm[i], f->qacc_smooth[i] = t.tau[i];
  for (size_t i = 0; i < MOST_ROWS; i++) f->efc_id[i] = random_below(r, 3) - 1;
  free_problem(&t);
  if (random_one_in(r, 2)) f->p.qacc_warmstart = f->qacc_warmstart;
  if (!plain && random_one_in(r, 3)) fuzz_parameters(f, r);
  if (random_one_in(r, 3)) fuzz_sparse(f);
}

/* ------------------------------------------------------------------ harm */

static inline double fuzz_number(test_random *r) {
  static const double some[] = {0, -0.0, 1, -1, 1e300, -1e300, 1e-300, 1e-310, 4.9e-324, -4.9e-324, 1e150, 1e-150, 1e30, 1e-30, 1e16, 1e-16, NAN, INFINITY, -INFINITY};
  double x;
  uint64_t bits = random_bits(r);
  if (random_one_in(r, 3)) return some[bits % (sizeof some / sizeof *some)];
  if (random_one_in(r, 2)) return (bits & 1 ? -1 : 1) * pow(10, 600 * random_unit(r) - 300);
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* integers around every bound */
static inline int fuzz_int(test_random *r) {
  static const int some[] = {-2147483647 - 1, -1000, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 1000, 2147483647};
  return some[random_below(r, (int)(sizeof some / sizeof *some))];
}

static inline void fuzz_harm_numbers(fuzz_problem *f, test_random *r) {
  struct { const char *name; double *x; const double **field; int count; } all[] = {
#define FIELD(name, count) {#name, f->name, &f->p.name, count},
      FUZZ_DOUBLES(FIELD)
#undef FIELD
  };
  int k = random_below(r, (int)(sizeof all / sizeof *all)), times = random_one_in(r, 4) ? 10 : 1;
  if (!*all[k].field && random_one_in(r, 8)) *all[k].field = all[k].x;
  /* small numbers in front are what problems use */
  for (int i = 0; i < times; i++) {
    int at = random_below(r, 1 + random_below(r, all[k].count));
    all[k].x[at] = random_one_in(r, 3) ? all[k].x[at] * random_scale(r, 20) : fuzz_number(r);
    fuzz_note(f, all[k].name, at);
  }
}

static inline void fuzz_harm_ints(fuzz_problem *f, test_random *r) {
  struct { const char *name; int *x, count; } all[] = {
#define FIELD(name, count) {#name, f->name, count},
      FUZZ_INTS(FIELD)
#undef FIELD
  };
  int k = random_below(r, (int)(sizeof all / sizeof *all)), at = random_below(r, 1 + random_below(r, all[k].count));
  int value = fuzz_int(r), is_address = all[k].x == f->M_rowadr || all[k].x == f->J_rowadr;
  if (is_address && value > MOST_DOFS) value = MOST_DOFS; /* no address past the memory: nobody could tell */
  all[k].x[at] = value;
  fuzz_note(f, all[k].name, at);
}

static inline void fuzz_harm_pointer(fuzz_problem *f, test_random *r) {
  const void *none = NULL;
  struct { const char *name; void *field; } all[] = {
#define FIELD(name, count) {#name, (void *)&f->p.name},
      FUZZ_DOUBLES(FIELD) FUZZ_INTS(FIELD)
#undef FIELD
  };
  int k = random_below(r, (int)(sizeof all / sizeof *all));
  memcpy(all[k].field, &none, sizeof none);
  fuzz_note(f, all[k].name, -1);
}

static inline void fuzz_harm_sizes(fuzz_problem *f, test_random *r) {
  int *sizes[] = {&f->p.nv, &f->p.nefc, &f->p.ncon, &f->p.refsafe};
  const int most[] = {MOST_DOFS, MOST_ROWS, MOST_CONTACTS, 2147483647};
  int k = random_below(r, 4);
  int64_t value = random_one_in(r, 2) ? fuzz_int(r) : (int64_t)*sizes[k] + random_below(r, 5) - 2;
  *sizes[k] = value > most[k] ? most[k] : value < INT32_MIN ? INT32_MIN : (int)value;
  if (random_one_in(r, 16)) f->p.size = (size_t)random_below(r, 500);
  if (random_one_in(r, 8)) f->p.timestep = fuzz_number(r);
  if (random_one_in(r, 8)) f->p.impratio = fuzz_number(r);
  fuzz_note(f, "sizes", k);
}

static inline void fuzz_harm(fuzz_problem *f, test_random *r) {
  for (int k = random_below(r, 4); k >= 0; k--) switch (random_below(r, 8)) {
      case 0: fuzz_harm_sizes(f, r); break;
      case 1: fuzz_harm_pointer(f, r); break;
      case 2: fuzz_harm_ints(f, r); break;
      default: fuzz_harm_numbers(f, r);
    }
}

/* ------------------------------------------------------------------ what must hold */

static inline int all_nan(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isnan(x[i])) return 0;
  return 1;
}
static inline int all_finite(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(x[i])) return 0;
  return 1;
}

/* an answer that is called solved, by the independent verifier; "" or what is wrong */
static inline const char *fuzz_refuted(const test_run *t, int env, double tolerance, char *text, size_t size) {
  const sc_result *r = &t->r;
  sc_problem p;
  sc_check_report c;
  CALL(sc_batch_get(t->batch, env, &p, NULL));
  int code = sc_check(&p, run_qacc(t, env), run_force(t, env), &c);
  text[0] = 0;
  double slack = 1 + TOL_GAP, floor = r->gap_floor[env];
  double gap = pow(fmax(0, sqrt(c.gap) - sqrt(floor)), 2); /* both gaps are known up to rounding, which the floor bounds */
  if (code)
    snprintf(text, size, "sc_check: %s", sc_error_text());
  else if (!c.spd)
    snprintf(text, size, "M is not positive definite");
  else if (!(c.scale * gap <= tolerance * slack || (gap <= floor * slack && c.qacc_bound <= 2e-2 * slack)))
    snprintf(text, size, "gap %g (scaled %g), its floor %g, bound %g; reported: gap %g, bound %g", c.gap, c.scale * c.gap, floor, c.qacc_bound,
             r->gap[env], r->qacc_bound[env]);
  return text;
}

/* every environment's answer is whole: a verdict's word, and numbers or NaN as the verdict says */
static inline void fuzz_check_answer(const test_run *t, int env, double tolerance, const char *what) {
  const sc_result *r = &t->r;
  size_t n = r->nv_offset[env + 1] - r->nv_offset[env], m = r->efc_offset[env + 1] - r->efc_offset[env];
  int status = r->status[env], answer = status <= SC_STALLED;
  char text[300];
  cr_expect(status < SC_NSTATUS, "%s: status %d", what, status);
  cr_expect(r->flags[env] < 1u << SC_NFLAG, "%s: flags %u", what, r->flags[env]);
  cr_expect(r->iterations[env] >= 0, "%s: iterations %d", what, r->iterations[env]);
  const struct { const char *name; const double *x; size_t n; } fields[] = {
      {"qacc", run_qacc(t, env), n}, {"qfrc_constraint", r->qfrc_constraint + r->nv_offset[env], n}, {"efc_force", run_force(t, env), m},
      {"gap", r->gap + env, 1},      {"objective", r->objective + env, 1}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    cr_expect(answer ? all_finite(fields[i].x, fields[i].n) : all_nan(fields[i].x, fields[i].n), "%s: %s is wrong for \"%s\"", what, fields[i].name,
              sc_status_name(status));
  for (size_t i = 0; i < m; i++) cr_expect(r->efc_state[r->efc_offset[env] + i] <= SC_CONE, "%s: efc_state[%zu]", what, i);
  if (status == SC_SOLVED) cr_expect_str_empty(fuzz_refuted(t, env, tolerance, text, sizeof text), "%s: called solved: %s", what, text);
}

/* the bits of an environment's answer are those of another run's */
static inline int fuzz_same(const test_run *a, int i, const test_run *b, int k) {
  size_t n = a->r.nv_offset[i + 1] - a->r.nv_offset[i], m = a->r.efc_offset[i + 1] - a->r.efc_offset[i];
  if (n != b->r.nv_offset[k + 1] - b->r.nv_offset[k] || m != b->r.efc_offset[k + 1] - b->r.efc_offset[k]) return 0;
  return !memcmp(run_qacc(a, i), run_qacc(b, k), n * sizeof(double)) && !memcmp(run_force(a, i), run_force(b, k), m * sizeof(double)) &&
         a->r.status[i] == b->r.status[k] && a->r.iterations[i] == b->r.iterations[k] && !memcmp(&a->r.gap[i], &b->r.gap[k], sizeof(double));
}

/* ------------------------------------------------------------------ one round */

enum { FUZZ_ENVS = 12 };
static const char *const fuzz_precisions[SC_NPRECISION] = {"f64", "f32", "mixed"};

/* What sc_batch_set promises of an environment that held a good problem before: `code` decides whose answer it has now. */
static inline void fuzz_check_set(const test_run *alone, const test_run *mixed, int env, int code, double tolerance, const char *what) {
  if (code == SC_ERROR_ARGUMENT || code == SC_ERROR_UNSUPPORTED)
    cr_expect(fuzz_same(alone, env, mixed, env), "%s: refused, but the environment has changed", what);
  else if (code == SC_ERROR_VALUE)
    cr_expect_eq(mixed->r.status[env], SC_BAD_INPUT, "%s: %s", what, sc_status_name(mixed->r.status[env]));
  else
    cr_expect(code == SC_OK && mixed->r.status[env] != SC_BAD_INPUT, "%s: code %d, %s", what, code, sc_status_name(mixed->r.status[env]));
  fuzz_check_answer(mixed, env, tolerance, what);
}

/* Good problems alone; then a random one in place of every second; the others keep their bits. */
static inline void fuzz_round(uint64_t seed) {
  test_random r = random_stream(seed, 1);
  static fuzz_problem good, bad;
  char what[FUZZ_ENVS][400];
  int code[FUZZ_ENVS], backends = 0;
  while (sc_backend_name(backends)) backends++;
  const char *backend = sc_backend_name(random_below(&r, backends));
  int precision = random_below(&r, SC_NPRECISION), threads = 1 + random_below(&r, 2);
  double tolerance = random_one_in(&r, 2) ? 1e-8 : 1e-12;
  test_run alone = open_run(backend, threads, precision, tolerance, FUZZ_ENVS), mixed = open_run(backend, threads, precision, tolerance, FUZZ_ENVS);
  for (int i = 0; i < FUZZ_ENVS; i++) {
    fuzz_legal(&good, &r, 1);
    CALL(sc_batch_set(alone.batch, i, &good.p));
    CALL(sc_batch_set(mixed.batch, i, &good.p));
  }
  for (int i = 0; i < FUZZ_ENVS; i += 2) {
    fuzz_legal(&bad, &r, 0);
    fuzz_harm(&bad, &r);
    code[i] = sc_batch_set(mixed.batch, i, &bad.p);
    snprintf(what[i], sizeof what[i], "seed %llu, environment %d (%s, %s):%s%s%s", (unsigned long long)seed, i, backend, fuzz_precisions[precision], bad.what,
             code[i] ? ": " : "", code[i] ? sc_error_text() : "");
    cr_expect(code[i] == SC_OK || strstr(sc_error_text(), "sc_batch_set: environment"), "%s: no reason", what[i]);
  }
  solve_run(&alone);
  solve_run(&mixed);
  for (int i = 0; i < FUZZ_ENVS; i++)
    if (i % 2)
      cr_expect(fuzz_same(&alone, i, &mixed, i), "seed %llu: environment %d was changed by its neighbours (%s, %s)", (unsigned long long)seed, i, backend,
                fuzz_precisions[precision]);
    else
      fuzz_check_set(&alone, &mixed, i, code[i], tolerance, what[i]);
  close_run(&alone);
  close_run(&mixed);
}

/* ------------------------------------------------------------------ smaller calls */

/* The verifier on a struct as it is, not as a batch keeps it. */
static inline void fuzz_verifier(uint64_t seed) {
  test_random r = random_stream(seed, 2);
  static fuzz_problem f;
  sc_check_report report;
  double a[MOST_DOFS], force[MOST_ROWS], error[2];
  fuzz_legal(&f, &r, 0);
  fuzz_harm(&f, &r);
  for (int i = 0; i < MOST_DOFS; i++) a[i] = random_one_in(&r, 20) ? fuzz_number(&r) : random_signed(&r);
  for (int i = 0; i < MOST_ROWS; i++) force[i] = random_one_in(&r, 20) ? fuzz_number(&r) : random_signed(&r);
  const struct { const char *name; int code; } calls[] = {
      {"sc_check", sc_check(&f.p, a, force, &report)},
      {"sc_check_error", sc_check_error(&f.p, a, a, force, force, &error[0], &error[1])},
      {"sc_check_polish", sc_check_polish(&f.p, a, force)},
  };
  for (int k = 0; k < 3; k++)
    cr_expect(calls[k].code == SC_OK || calls[k].code == SC_ERROR_ARGUMENT || calls[k].code == SC_ERROR_VALUE, "seed %llu: %s: code %d:%s",
              (unsigned long long)seed, calls[k].name, calls[k].code, f.what);
}

/* One row from any numbers: refused with a reason, or its parameters are numbers. */
static inline void fuzz_row(uint64_t seed) {
  test_random r = random_stream(seed, 3);
  sc_row_input in;
  sc_row_output out;
  sc_row_init(&in);
  double *fields[] = {&in.pos, &in.margin, &in.vel, &in.timestep, &in.diagA, &in.curvature, &in.solref[0], &in.solref[1], &in.solimp[0], &in.solimp[1],
                      &in.solimp[2], &in.solimp[3], &in.solimp[4]};
  in.type = random_one_in(&r, 10) ? fuzz_int(&r) : random_below(&r, SC_NTYPE), in.refsafe = random_below(&r, 2);
  for (int k = random_below(&r, 4); k >= 0; k--) *fields[random_below(&r, 13)] = fuzz_number(&r);
  int code = sc_row_eval(&in, &out);
  cr_expect(code == SC_OK || ((code == SC_ERROR_ARGUMENT || code == SC_ERROR_VALUE) && strstr(sc_error_text(), "sc_row_eval")), "seed %llu: code %d",
            (unsigned long long)seed, code);
  if (code) return;
  cr_expect(out.d > 0 && out.d < 1 && out.R > 0 && !isnan(out.K) && !isnan(out.B) && !isnan(out.dp) && out.D > 0,
            "seed %llu: d %g, dp %g, K %g, B %g, R %g, D %g from pos %g, solref %g %g, solimp %g %g %g %g %g, diagA %g", (unsigned long long)seed, out.d, out.dp,
            out.K, out.B, out.R, out.D, in.pos, in.solref[0], in.solref[1], in.solimp[0], in.solimp[1], in.solimp[2], in.solimp[3], in.solimp[4], in.diagA);
}

/* ------------------------------------------------------------------ files */

/* a few of its bytes changed, or a piece of it taken out, doubled or cut off; returns the new length (at most 2 n) */
static inline size_t fuzz_bytes(test_random *r, unsigned char *data, size_t n) {
  size_t at = (size_t)random_below(r, (int)n), length = 1 + (size_t)random_below(r, random_one_in(r, 2) ? 8 : 200);
  if (length > n - at) length = n - at;
  switch (random_below(r, 8)) {
  case 0: return at;
  case 1: memmove(data + at, data + at + length, n - at - length); return n - length;
  case 2: memmove(data + at + length, data + at, n - at); return n + length;
  case 3: memset(data + at, random_one_in(r, 2) ? 0xff : 0, length); return n;
  default:
    for (int k = 1 + random_below(r, 6); k > 0; k--) data[random_below(r, (int)n)] ^= (unsigned char)(1u << random_below(r, 8));
    return n;
  }
}

#endif
