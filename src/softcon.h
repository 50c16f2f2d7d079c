/* softcon: soft constraints of many independent environments, solved in one call.
 *
 * The problem of one environment (MuJoCo documentation, "Computation: constraint solver"):
 *
 *     minimise  P(a) = 1/2 (a - a_smooth)' M (a - a_smooth) + sum_k phi_k(J_k a - aref_k)
 *
 * over the acceleration a (nv). M is the joint inertia, J the constraint Jacobian (nefc x nv), and phi the cost of a
 * row or of an elliptic contact. Constraint forces are f = -phi'(J a - aref); when every row is an equality the problem
 * is (A + R) f = -b with A = J M^-1 J', b = J a_smooth - aref.
 *
 * Conventions. All numbers handed over are double, in SI units, matrices row-major. Functions that can fail return an
 * sc_code: SC_OK or a negative number, and then sc_error_text() says which call, field, environment, row, value and
 * bound. The library never prints, exits or aborts. How the solve of one environment ended is no error of the call: it
 * is the environment's verdict (sc_status). Structs that a caller fills begin with `size` and have an init function.
 * An object received through a pointer to a pointer belongs to the caller until he destroys it; pointers inside a
 * result are borrowed. Distinct objects may be used from distinct threads at once; one object by one thread at a time,
 * except where a function says otherwise. */
#ifndef SOFTCON_H
#define SOFTCON_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) || !defined(__GNUC__)
#define SC_API
#else
#define SC_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SC_VERSION_MAJOR 0
#define SC_VERSION_MINOR 1
#define SC_VERSION_PATCH 0

/* "major.minor.patch" of the library that is linked. */
SC_API const char *sc_version(void);

/* ------------------------------------------------------------------ errors */

/* What a call returns. */
typedef enum sc_code {
  SC_OK = 0,
  SC_ERROR_ARGUMENT = -1,     /* the call is not legal: nothing was changed */
  SC_ERROR_VALUE = -2,        /* one environment's numbers are not valid: it is kept and its verdict will be bad_input */
  SC_ERROR_MEMORY = -3,       /* not enough memory: nothing was changed, unless a function says so */
  SC_ERROR_UNSUPPORTED = -4,  /* legal, but not something this version does */
  SC_ERROR_DEVICE = -5,       /* the device asked for cannot be used */
  SC_ERROR_FILE = -6,         /* a file cannot be read or written, or is not what it should be */
  SC_ERROR_INTERNAL = -7      /* a defect of this library */
} sc_code;

/* Text of the last error of the calling thread; "" when there was none. Borrowed, valid until that thread's next error. */
SC_API const char *sc_error_text(void);

/* For libraries built on this one: set the calling thread's error text and return code. */
SC_API int sc_error_set(int code, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* ------------------------------------------------------------------ words */

/* Kind of a row; the numbers are mjtConstraint's. */
typedef enum sc_type {
  SC_EQUALITY = 0,
  SC_FRICTION_DOF = 1,        /* dry friction: |force| <= frictionloss */
  SC_FRICTION_TENDON = 2,
  SC_LIMIT_JOINT = 3,         /* one-sided: force >= 0 */
  SC_LIMIT_TENDON = 4,
  SC_CONTACT_FRICTIONLESS = 5,
  SC_CONTACT_PYRAMIDAL = 6,   /* one of the 2 (dim - 1) edges of a pyramid, one-sided */
  SC_CONTACT_ELLIPTIC = 7,    /* one of the dim rows of a contact: normal, tangents, spin, rolls */
  SC_NTYPE = 8
} sc_type;

/* Zone of a row at the answer; the numbers are mjtConstraintState's. */
typedef enum sc_state {
  SC_SATISFIED = 0,           /* no force */
  SC_QUADRATIC = 1,           /* force = -D (J a - aref) */
  SC_LINEARNEG = 2,           /* dry friction saturated, force = +frictionloss */
  SC_LINEARPOS = 3,           /* dry friction saturated, force = -frictionloss */
  SC_CONE = 4                 /* elliptic contact slides: force on the cone's surface */
} sc_state;

/* Verdict of an environment: how its solve ended. sc_status_name gives the word. */
typedef enum sc_status {
  SC_SOLVED = 0,              /* the certificate holds */
  SC_INACCURATE = 1,          /* finished, but the certificate does not hold */
  SC_ITERATION_LIMIT = 2,     /* the same, and the iterations ran out */
  SC_STALLED = 3,             /* the same, and the line search found no further descent */
  SC_BAD_INPUT = 4,           /* its data are not finite or not valid; no answer (NaN) */
  SC_NOT_FINITE = 5,          /* arithmetic broke; no answer (NaN) */
  SC_NOT_SPD = 6,             /* M is not positive definite; no answer (NaN) */
  SC_NSTATUS = 7
} sc_status;

/* What was done to an environment's data or answer; bits, none excludes SC_SOLVED. sc_flag_name gives the word of a bit. */
typedef enum sc_flag {
  SC_REPAIRED = 1 << 0,       /* a solref of mixed signs was replaced by (0.02, 1), solreffriction by "not given" */
  SC_CLAMPED = 1 << 1,        /* refsafe raised a time constant to 2 timesteps, or solimp was outside its range */
  SC_ROWS_DROPPED = 1 << 2,   /* more rows or contacts than the capacity: sc_batch_capacity */
  SC_RETRIED_F64 = 1 << 3,    /* solved again in double */
  SC_NOSLIP_APPLIED = 1 << 4, /* the forces were changed by noslip after the verdict */
  SC_NFLAG = 5                /* how many there are */
} sc_flag;

SC_API const char *sc_status_name(int status);  /* "solved", "inaccurate", ...; "unknown" out of range */
SC_API const char *sc_flag_name(int bit);       /* bit number 0 .. SC_NFLAG-1 -> "repaired", "clamped", ... */

/* ------------------------------------------------------------------ one row */

/* Everything that one row's parameters depend on. */
typedef struct sc_row_input {
  size_t size;                /* sizeof(sc_row_input); set by sc_row_init */
  int type;                   /* sc_type; default SC_CONTACT_FRICTIONLESS. Dry friction has no spring: K = 0 */
  int refsafe;                /* raise a positive time constant to 2 timesteps; default 1 */
  double pos;                 /* constraint violation: distance or residual, m or rad */
  double margin;              /* the row acts on pos - margin; default 0 */
  double vel;                 /* J qvel, m/s or rad/s */
  double timestep;            /* s; default 0.002 */
  double diagA;               /* inverse inertia seen by the row, exact or approximate: 1/kg or 1/(kg m^2); default 1 */
  double curvature;           /* dJ/dt qvel, subtracted from aref (connect and weld); default 0 */
  double solref[2];           /* (time constant s, damping ratio), or both <= 0: (-stiffness, -damping); default 0.02 1 */
  double solimp[5];           /* (d0, dwidth, width, midpoint, power); default 0.9 0.95 0.001 0.5 2 */
} sc_row_input;

/* The row's parameters. */
typedef struct sc_row_output {
  double K, B;                /* stiffness 1/s^2 and damping 1/s of the reference (MuJoCo: efc_KBIP[0..1]) */
  double d, dp;               /* impedance in (0, 1) and its derivative by pos (efc_KBIP[2..3]) */
  double R, D;                /* regularisation max(1e-15, (1-d)/d diagA), and 1/R */
  double aref;                /* reference acceleration -B vel - K d (pos - margin) - curvature */
  unsigned flags;             /* SC_REPAIRED, SC_CLAMPED */
} sc_row_output;

SC_API void sc_row_init(sc_row_input *in);

/* Source: MuJoCo documentation, "Modeling: solver parameters"; one law for every path of this library (kernels/law.h).
 * SC_ERROR_VALUE names a number that is not finite, a negative width or diagA, a timestep that is not positive. */
SC_API int sc_row_eval(const sc_row_input *in, sc_row_output *out);

/* Force of a row that is alone: -(a0 - aref)/(A + R), cut to what its kind allows: one-sided >= 0, two-sided (equality)
 * any, dry friction within +-frictionloss. A: J M^-1 J' of the row; a0: its acceleration without the force, J a_smooth. */
SC_API double sc_row_force(int type, double A, double R, double aref, double a0, double frictionloss);

/* ------------------------------------------------------------------ one environment's problem */

/* The data of one environment. Pointers are read during the call that takes the struct, never kept. Names are MuJoCo's.
 *
 * Rows come in one of two forms:
 *   parameters: efc_pos, efc_vel, efc_solref, efc_solimp (and margin, diagA, curvature if there are any): softcon
 *               evaluates K, B, d, R, D, aref, cones included;
 *   ready:      efc_D and efc_aref (and contact_mu for elliptic contacts), as in mjData after mj_forward.
 * The form is "ready" exactly when efc_D is not NULL.
 *
 * Contacts with friction. Rows of type pyramidal and elliptic come in blocks: contact i (in the order in which the
 * blocks appear) has contact_dim[i] = 3, 4 or 6, and so 2 (dim - 1) pyramidal or dim elliptic rows, one after another.
 * Rows may otherwise come in any order. */
typedef struct sc_problem {
  size_t size;                /* sizeof(sc_problem); set by sc_problem_init */
  int nv;                     /* degrees of freedom, >= 0 */
  int nefc;                   /* rows, >= 0 */
  int ncon;                   /* contacts with friction (those with pyramidal or elliptic rows) */
  int refsafe;                /* parameters: 1 (default) raises time constants to 2 timesteps */
  double timestep;            /* parameters: s, > 0; default 0.002 */
  double impratio;            /* parameters: ratio of frictional to normal impedance, > 0; default 1 */

  const double *M;            /* nv x nv, symmetric positive definite, the lower triangle is read; or, with M_rownnz,
                                 the lower triangle's entries, row i at M_rowadr[i] */
  const int *M_rownnz;        /* nv; NULL: M is dense */
  const int *M_rowadr;        /* nv */
  const int *M_colind;        /* column of each entry, <= its row */
  const double *qfrc_smooth;  /* nv: force without constraints, M a_smooth; NULL: computed from qacc_smooth */
  const double *qacc_smooth;  /* nv: acceleration without constraints; NULL: computed from qfrc_smooth. One must be given */
  const double *qacc_warmstart; /* nv: where to start; NULL: qacc_smooth */

  const int *efc_type;        /* nefc: sc_type */
  const int *efc_id;          /* nefc, or NULL: consecutive equality rows of equal id >= 0 form one block with one impedance,
                                 taken at the norm of their pos (connect: 3 rows, weld: 6); NULL: every row by itself */
  const double *efc_J;        /* nefc x nv, or, with J_rownnz, the entries of row i at J_rowadr[i] */
  const int *J_rownnz, *J_rowadr, *J_colind;
  const double *efc_frictionloss; /* nefc, or NULL (0): largest dry friction force, N or N m, >= 0; other rows ignore it */

  const double *efc_pos;      /* nefc: m or rad */
  const double *efc_margin;   /* nefc, or NULL (0) */
  const double *efc_vel;      /* nefc, J qvel; NULL: 0 */
  const double *efc_solref;   /* nefc x 2; of a contact with friction its first row's counts, also of solimp and diagA */
  const double *efc_solimp;   /* nefc x 5 */
  const double *efc_diagA;    /* nefc: inverse inertia of the row, exact or approximate, >= 0; NULL: exact, J M^-1 J',
                                 by a sparse factor of M */
  const double *efc_curvature;/* nefc, or NULL (0) */
  const double *efc_adhesion; /* nefc, or NULL (0): pull along the row, N: R times it is added to aref (MuJoCo 4.0) */

  const double *efc_D;        /* nefc, > 0: 1/R */
  const double *efc_aref;     /* nefc */

  const int *contact_dim;     /* ncon: 3, 4 or 6 */
  const double *contact_friction;       /* ncon x 5: tangent 1, tangent 2, spin, roll 1, roll 2; >= 1e-5 or raised to it */
  const double *contact_solreffriction; /* ncon x 2, or NULL: solref of an elliptic contact's friction rows */
  const double *contact_mu;   /* ready form: ncon, sqrt(friction[0]^2 R_1/R_0); not read for pyramidal contacts */
} sc_problem;

SC_API void sc_problem_init(sc_problem *problem);

/* ------------------------------------------------------------------ context */

/* Threads and device; nothing is kept outside it. */
typedef struct sc_context sc_context;

typedef struct sc_context_options {
  size_t size;                /* sizeof(sc_context_options); set by sc_context_options_init */
  int threads;                /* worker threads, the caller's included; 0 (default): as many as the process may run on */
  const char *backend;        /* NULL or "auto" (default): the fastest for this processor, on x86 the widest that it has, elsewhere
                                 as "measured", which times those with the same rounding on a small batch (some milliseconds) and
                                 takes the fastest, whose bits are those of the others; "reference": one lane of double; or one
                                 of sc_backend_name(), which may be "cuda" */
  int device;                 /* "cuda": which of CUDA's devices; default 0 */
  void *stream;               /* "cuda": a cudaStream_t of that device, on which everything is ordered; borrowed until the
                                 context is destroyed. NULL (default): the context makes one */
} sc_context_options;

SC_API void sc_context_options_init(sc_context_options *options);

/* options may be NULL. Errors: argument, memory; SC_ERROR_DEVICE for a backend that this processor does not have, for "cuda"
 * without driver or device or in a build without CUDA, and whatever CUDA reports. */
SC_API int sc_context_create(const sc_context_options *options, sc_context **out);
SC_API void sc_context_destroy(sc_context *context);     /* NULL is allowed; destroy batches and solvers first */
SC_API const char *sc_context_backend(const sc_context *context);
SC_API int sc_context_threads(const sc_context *context);
SC_API const char *sc_backend_name(int i);               /* i-th backend that can be used here; NULL past the end */

/* Call work(arg, i, worker) for i = 0 .. n-1, spread over the context's threads in no fixed order; worker is in
 * 0 .. threads-1 and no two calls share one at a time. Returns when all are done; not from inside `work`. */
SC_API void sc_context_each(sc_context *context, int n, void (*work)(void *arg, int i, int worker), void *arg);

/* Floating-point operations per second that the context's threads reach together when they only multiply and add in
 * registers, in the kernels' vectors of that precision (mixed: those of float): what the speed of a solve can be measured by.
 * Takes about `seconds` > 0 and at least one hundred microseconds. Products and sums count one each. */
SC_API int sc_context_peak(sc_context *context, int precision, double seconds, double *flops);

/* ------------------------------------------------------------------ batch */

/* The problems of nenv environments, of any sizes. */
typedef struct sc_batch sc_batch;

SC_API int sc_batch_create(sc_context *context, int nenv, sc_batch **out);
SC_API void sc_batch_destroy(sc_batch *batch);
SC_API int sc_batch_nenv(const sc_batch *batch);

SC_API size_t sc_batch_bytes(const sc_batch *batch); /* memory that it holds; NULL: 0 */

/* The most rows and contacts that an environment may have, for every sc_batch_set from now on; 0 (at first): any number.
 * Contacts are all that have rows, frictionless ones too. An environment with more loses whole contacts, and never anything
 * else: its contacts are taken in the order of the acceleration that they ask for along their normals (aref: deep or
 * fast approaching ones first; equal ones in the order of their rows), and each is kept if it still fits. So what is
 * dropped does not depend on other environments. It is flagged SC_ROWS_DROPPED, and sc_rows and sc_result tell how many rows
 * and contacts it needs. Where equalities, dry friction and limits alone are more than max_rows, sc_batch_set returns
 * SC_ERROR_VALUE and the environment is bad, flagged too. Errors: argument. */
SC_API int sc_batch_capacity(sc_batch *batch, int max_rows, int max_contacts);

/* Copy one environment's problem in, rows evaluated. May be called for distinct environments from several threads at
 * once. Memory of the environment's previous problem is used again. An environment never set counts as nv = 0.
 * Errors: SC_ERROR_ARGUMENT (sizes, pointers, types, blocks: nothing changed); SC_ERROR_VALUE (a number that is not
 * finite or out of bounds, or the capacity: the environment is marked, its verdict will be bad_input, the batch remains
 * usable). */
SC_API int sc_batch_set(sc_batch *batch, int env, const sc_problem *problem);

/* Mark an environment for which there is no problem, with nv dofs and no rows: its verdict will be bad_input, and sc_rows
 * tells why (copied). Threads as in sc_batch_set. Errors: argument, memory. */
SC_API int sc_batch_set_bad(sc_batch *batch, int env, int nv, const char *why);

/* What the batch holds of an environment, in the ready form with sparse M and J; and the row parameters behind it.
 * Borrowed until the environment is set again. Of a bad environment what was handed over is there, what would have been
 * evaluated is 0. */
typedef struct sc_rows {
  const double *K, *B, *d, *dp; /* nefc each; NULL for problems handed over in the ready form */
  const double *R;            /* nefc */
  const double *diagA;        /* nefc, rewritten to R d/(1-d) as MuJoCo stores it; NULL in the ready form */
  unsigned flags;             /* sc_flag */
  int bad;                    /* 1: marked by SC_ERROR_VALUE or sc_batch_set_bad */
  const char *why;            /* of a bad environment: the error's text; else NULL, also where memory ran out for it */
  int rows_needed, contacts_needed; /* what the environment has without a capacity: sc_batch_capacity */
} sc_rows;
SC_API int sc_batch_get(const sc_batch *batch, int env, sc_problem *problem, sc_rows *rows);

/* ------------------------------------------------------------------ solver */

/* SC_NEWTON; SC_CG: conjugate gradients; SC_PGS: projected Gauss-Seidel on the dual, qacc = qacc_smooth + M^-1 J'f. Its sweeps are
 * cheap and many: problems that are stiff or whose rows share many dofs may take thousands, and where they run out the verdict
 * says so. SC_DIRECT: problems whose every row is an equality, (A + R) f = -b: by a Cholesky factor of A + R (one iteration) up
 * to 256 rows of an environment, beyond that by conjugate gradients on f; packing refuses other rows. */
typedef enum sc_method { SC_NEWTON = 0, SC_CG = 1, SC_PGS = 2, SC_DIRECT = 3, SC_NMETHOD = 4 } sc_method;
SC_API const char *sc_method_name(int method);  /* "newton", "cg", "pgs", "direct"; "unknown" out of range */
typedef enum sc_precision { SC_F64 = 0, SC_F32 = 1, SC_MIXED = 2, SC_NPRECISION = 3 } sc_precision;

typedef struct sc_solver_options {
  size_t size;                /* sizeof(sc_solver_options); set by sc_solver_options_init */
  int method;                 /* sc_method; default SC_NEWTON. SC_CG: nonlinear conjugate gradients preconditioned by M,
                                 Hager and Zhang's rule, as in MuJoCo; it ends by the scaled gap alone */
  int precision;              /* sc_precision of the iteration; the certificate is always in double; default SC_F64. SC_MIXED:
                                 what the method in float has left is refined by Newton steps with residual and iterate
                                 in double and the factor in float, to the accuracy of double; they count as iterations,
                                 and what they leave unsolved is tried again as in float (retry) */
  int iterations;             /* at most; default 100 */
  int ls_iterations;          /* line search evaluations per iteration at most, unless there is no step yet; default 50 */
  double tolerance;           /* >= 0, on scale |gradient| and on scale gap, scale = 1/trace M (MuJoCo 4.0); default 1e-8.
                                 SC_PGS ends when a sweep gains less and the gap is less, MuJoCo already at the first */
  double ls_tolerance;        /* in (0, 1): slope along the step left by the line search, relative to that at its start;
                                 default 0.01 */
  int warmstart;              /* 1 (default): start at qacc_warmstart where its cost is not above that of qacc_smooth */
  int retry;                  /* 1 (default): what float leaves unsolved is solved again in double, alone, and flagged
                                 SC_RETRIED_F64; its iterations are those of both */
  int noslip_iterations;      /* >= 0: sweeps of noslip after the verdict, of any method; default 0. Friction forces are
                                 solved once more without regularisation, the others stay. What it changes is the answer of
                                 no one problem: such environments are flagged SC_NOSLIP_APPLIED, and status, gap,
                                 gap_floor, qacc_bound and objective are those of the answer before it */
  double noslip_tolerance;    /* >= 0: scaled decrease of a sweep below which noslip ends; default 1e-6 */
} sc_solver_options;

SC_API void sc_solver_options_init(sc_solver_options *options);

/* Workspace and results. */
typedef struct sc_solver sc_solver;

SC_API int sc_solver_create(sc_context *context, const sc_solver_options *options, sc_solver **out);
SC_API void sc_solver_destroy(sc_solver *solver);

SC_API size_t sc_solver_bytes(const sc_solver *solver); /* memory that it holds for packs, results and workers; NULL: 0 */

/* Group the batch's environments and copy them into the layout that the kernels read; M is factored. The batch is not
 * needed afterwards. Earlier results are gone, also when memory runs out. */
SC_API int sc_solver_pack(sc_solver *solver, const sc_batch *batch);

/* Solve and certify what was packed last. Allocates nothing; may be repeated, with the same result. After sc_solve there is
 * nothing left to do, and nothing is done. With "cuda" the work is enqueued on the context's stream and the call returns at
 * once; it can be captured in a CUDA graph, which may be replayed until the solver packs again or is destroyed, also after
 * parameters were changed in device memory: softcon_cuda.h. */
SC_API int sc_solver_run(sc_solver *solver);

/* Return when all runs are done; only "cuda" has something to wait for. */
SC_API int sc_solver_wait(sc_solver *solver);

/* Both, pack by pack: each worker has one pack in memory, whatever the number of environments. The results are those of
 * sc_solver_pack and sc_solver_run, bit by bit. Allocates nothing when the same batch, or one alike, was solved before. With
 * "cuda" it is the one and then the other. */
SC_API int sc_solve(sc_solver *solver, const sc_batch *batch);

/* The answers, environment by environment. Arrays are borrowed: valid until the solver packs again or is destroyed.
 * With "cuda" this call waits for the stream and copies them from the device, each time.
 * An environment without an answer (bad_input, not_spd, not_finite) has NaN in qacc, qfrc_constraint, efc_force, gap,
 * gap_floor, qacc_bound, objective. gap, floor and bound are computed in double from the data as handed
 * over and qacc as delivered: with g = M a - qfrc_smooth - J'f(J a - aref),
 *   gap = 1/2 g' M^-1 g >= P(a) - P*  and  >= 1/2 |a - a*|_M^2,   qacc_bound = sqrt(2 gap)/max(|a|_M, |a_smooth|_M). */
typedef struct sc_result {
  int nenv;
  const size_t *nv_offset;    /* nenv+1: environment i has entries nv_offset[i] .. nv_offset[i+1]-1 of arrays over nv */
  const size_t *efc_offset;   /* nenv+1: the same for arrays over rows */
  const double *qacc;         /* acceleration, rad/s^2 or m/s^2 */
  const double *qfrc_constraint; /* J' efc_force */
  const double *efc_force;    /* rows in the caller's order: N, N m. f(J qacc - aref); of solved environments with rows so
                                 stiff that rounding of qacc moves it, that of qacc before it was rounded (not beyond 256 dofs
                                 by a method other than SC_NEWTON, which makes no factor for it); after noslip,
                                 its forces, and qacc = qacc_smooth + M^-1 J' efc_force */
  const uint8_t *efc_state;   /* sc_state; after noslip, which bounds the forces are on */
  const uint8_t *status;      /* nenv: sc_status */
  const uint32_t *flags;      /* nenv: sc_flag */
  const int32_t *iterations;  /* nenv; sweeps of noslip are not counted */
  const double *gap;          /* nenv, in the unit of the cost */
  const double *gap_floor;    /* nenv: what rounding alone can leave at the solver's precision */
  const double *qacc_bound;   /* nenv: bound on |a - a*|_M / max(|a|_M, |a_smooth|_M) */
  const double *objective;    /* nenv: P(qacc) */
  const int32_t *rows_needed, *contacts_needed; /* nenv: what each has without a capacity: sc_batch_capacity */
} sc_result;
SC_API int sc_solver_result(const sc_solver *solver, sc_result *result);

/* Inverse dynamics: what forces belong to given accelerations, in closed form f = f(J qacc - aref), without iteration.
 *
 * Arrays are the caller's, laid out as in sc_result (nv_offset, efc_offset); outputs may be NULL. An environment whose data
 * are bad, or whose qacc is not finite, gets NaN (efc_state 0); M need not be positive definite.
 *
 * qfrc_inverse is what must be applied beyond qfrc_smooth for qacc to come about, and so 0 at the solution of the forward
 * problem. MuJoCo's qfrc_inverse counts everything that must be applied: it is this plus qfrc_applied + qfrc_actuator +
 * J'xfrc_applied, the part of qfrc_smooth that is. MuJoCo's fwdinv diagnostic comes to the same in both. */
typedef struct sc_inverse {
  size_t size;                /* sizeof(sc_inverse); set by sc_inverse_init */
  const double *qacc;         /* in, over dofs; NULL: the answers of the last sc_solver_run */
  double *efc_force;          /* rows: f */
  uint8_t *efc_state;         /* rows: sc_state */
  double *qfrc_constraint;    /* dofs: J'f */
  double *qfrc_inverse;       /* dofs: M qacc - qfrc_smooth - J'f */
  double *fwdinv;             /* nenv x 2: |J'f of the last run - J'f| and |qfrc_inverse|. Newton's and CG's first is
                                 rounding, since their forces are f(J qacc - aref); the second is the gradient, unscaled */
} sc_inverse;
SC_API void sc_inverse_init(sc_inverse *inverse);

/* For the environments of the last sc_solver_pack (sc_solve keeps no packs), on the context's threads, in double whatever the
 * solver's precision. Changes no result; allocates nothing. Errors: argument (nothing is packed, or qacc and fwdinv need an
 * sc_solver_run that was not made). */
SC_API int sc_solver_inverse(sc_solver *solver, const sc_inverse *inverse);

/* Seconds spent, added up over threads, by the last sc_solver_pack and sc_solver_run; "cuda" has only `pack`. */
typedef struct sc_phases {
  double pack, solve, certificate, unpack;
} sc_phases;
SC_API int sc_solver_phases(const sc_solver *solver, sc_phases *phases);

/* ------------------------------------------------------------------ independent verification */

/* What an answer is worth, computed from the data in plain dense arithmetic, in extended precision, whose arithmetic shares nothing with the solver.
 * `problem` is in the ready form (sc_batch_get makes one). */
typedef struct sc_check_report {
  double gap;                 /* 1/2 g' M^-1 g at qacc */
  double gradient;            /* |g|_2 */
  double qacc_bound;
  double scale;               /* 1/trace M */
  double objective;           /* P(qacc) */
  double force_error;         /* max |efc_force - f(J qacc - aref)| over rows, divided by max(1, the largest |f|) */
  double cone_error;          /* largest violation of a force's bounds (sign, friction loss, cone), same divisor */
  int worst_row;              /* row of the larger of the last two; -1 without rows */
  int spd;                    /* 1: M is positive definite */
} sc_check_report;

/* efc_force may be NULL: then only qacc is judged. SC_ERROR_VALUE names an entry that is not finite. */
SC_API int sc_check(const sc_problem *problem, const double *qacc, const double *efc_force, sc_check_report *report);

/* Improve qacc (in: any finite start, out: the optimum to rounding): Newton steps in dense arithmetic, residuals in
 * extended precision, until the gradient stops falling. efc_force (nefc) receives the forces there; may be NULL.
 * Slow on purpose: nv^3 per step. SC_ERROR_VALUE when M is not positive definite or a number is not finite. */
SC_API int sc_check_polish(const sc_problem *problem, double *qacc, double *efc_force);

/* The errors of an answer against the optimum:
 *   qacc:  |a - a*|_M / max(|a*|_M, |a_smooth|_M, tiny),   force: |f - f*|_R / max(|f*|_R, tiny). force may be NULL. */
SC_API int sc_check_error(const sc_problem *problem, const double *qacc, const double *qacc_opt, const double *efc_force,
                          const double *force_opt, double *qacc_error, double *force_error);

#ifdef __cplusplus
}
#endif

#include "softcon_rows.h" /* rows from descriptors of equalities, limits, dry friction and contacts */

#endif /* SOFTCON_H */
