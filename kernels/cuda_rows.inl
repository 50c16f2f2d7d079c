/* What is made anew in front of a solve: rows by the law from parameters in device memory, a thread a block of rows, matrices and
 * vectors. Included among the kernels in double. */
#include "law_block.h"

#include <float.h>

/* What a thread has found, as bits beside the law's flags. */
#define FOUND_BAD 0x10000u
#define FOUND_BEYOND 0x20000u /* a number that is too large for float */

/* the bits of all threads */
FN unsigned found_by_all(unsigned found) {
  unsigned all = 0;
  const unsigned bits[] = {LAW_REPAIRED, LAW_CLAMPED, FOUND_BAD, FOUND_BEYOND};
  for (int k = 0; k < 4; k++)
    if (anywhere((found & bits[k]) != 0)) all |= bits[k];
  return all;
}

FN int all_finite(const double *x, int n) {
  int ok = 1;
  for (int i = 0; i < n; i++) ok = ok && finite_lane(x[i]);
  return ok;
}
FN int not_negative(double x) { return x >= 0 && finite_lane(x); }
FN int positive(double x) { return x > 0 && finite_lane(x); }

/* ------------------------------------------------------------------ a block of rows */

/* its inputs; row: of its environment's first row among those of all */
FN law_block block_inputs(const sc_device_rows *in, const sc_row_block *r, size_t row) {
  size_t contact = r->contact < 0 ? 0 : in->con_offset[r->env] + (size_t)r->contact, first = row + (size_t)r->row;
  law_block b;
  b.type = r->type, b.rows = r->rows, b.step = 1;
  b.solref = in->solref + 2 * first, b.solimp = in->solimp + 5 * first;
  b.solreffriction = r->contact < 0 ? NULL : in->solreffriction + 2 * contact;
  b.friction = r->contact < 0 ? NULL : in->friction + 5 * contact;
  b.pos = in->pos + first, b.margin = in->margin + first, b.diagA = in->diagA + first;
  b.timestep = in->timestep[r->env], b.impratio = in->impratio[r->env], b.refsafe = in->refsafe[r->env];
  return b;
}

/* whether those that the law reads are what sc_batch_set asks of them; first: the block's first row among those of all */
FN int block_is_valid(const sc_device_rows *in, const law_block *b, size_t first) {
  int cone = block_has_cone(b), ok = positive(b->timestep) && positive(b->impratio);
  for (int k = 0; k < b->rows; k++) {
    size_t i = first + (size_t)k;
    ok = ok && finite_lane(in->pos[i]) && finite_lane(in->margin[i]) && finite_lane(in->vel[i]);
    ok = ok && finite_lane(in->curvature[i]) && finite_lane(in->adhesion[i]);
    if (k > 0 && cone) continue;
    ok = ok && all_finite(in->solref + 2 * i, 2) && all_finite(in->solimp + 5 * i, 5) && not_negative(in->solimp[5 * i + 2]);
    ok = ok && not_negative(in->diagA[i]);
  }
  for (int k = 0; cone && k < 5; k++) ok = ok && not_negative(b->friction[k]);
  if (cone) ok = ok && all_finite(b->solreffriction, 2);
  if (block_is_dry(b)) ok = ok && not_negative(in->frictionloss[first]);
  return ok;
}

/* row i of all, which is v */
FN double block_aref(const sc_device_rows *in, size_t i, const law_row *v) {
  double aref = law_aref(v->K, v->B, v->d, in->pos[i] - in->margin[i], in->vel[i], in->curvature[i]);
  return law_pulled(aref, v->R, in->adhesion[i]);
}

/* ------------------------------------------------------------------ rows alone, in the caller's order */

FN void store_law(const sc_device_law *out, size_t i, const law_row *v, double aref) {
  if (out->K) out->K[i] = v->K;
  if (out->B) out->B[i] = v->B;
  if (out->d) out->d[i] = v->d;
  if (out->dp) out->dp[i] = v->dp;
  if (out->R) out->R[i] = v->R;
  if (out->D) out->D[i] = 1 / v->R;
  if (out->aref) out->aref[i] = aref;
}

FN void evaluate_all(const sc_cuda_rows_args *args) {
  const sc_device_rows *in = &args->in;
  size_t step = (size_t)gridDim.x * blockDim.x;
  for (size_t k = (size_t)blockIdx.x * blockDim.x + threadIdx.x; k < in->sizes.b; k += step) {
    const sc_row_block *r = in->block + k;
    size_t row = args->efc_offset[r->env], first = row + (size_t)r->row;
    law_block b = block_inputs(in, r, row);
    law_parameters c = {};
    unsigned flags = 0;
    law_row v = law_block_begin(&b, &flags);
    for (int i = 0; i < b.rows; i++) {
      law_block_row(&b, i, &c, &v, &flags);
      store_law(&args->out, first + (size_t)i, &v, block_aref(in, first + (size_t)i, &v));
    }
    if (r->contact >= 0 && args->out.mu) args->out.mu[in->con_offset[r->env] + (size_t)r->contact] = v.mu;
  }
}

/* ------------------------------------------------------------------ rows in front of a solve */

/* a number of the environment, in double and as the iteration in float reads it */
FN unsigned put(sc_array wide, sc_array narrow, int i, double x, int single) {
  ((double *)wide)[i] = x;
  if (!single) return 0;
  ((float *)narrow)[i] = (float)x;
  return absolute(x) > (double)FLT_MAX ? FOUND_BEYOND : 0;
}
#define PUT(name, i, x) put(p->num[SC_F64].name, p->num[SC_F32].name, i, x, single)

FN unsigned put_cone(const sc_pack *p, const sc_row_block *r, const law_block *b, double mu, double D, int single) {
  double *coef = (double *)p->num[SC_F64].cone + r->cone;
  unsigned found = 0;
  cone_coefficients(r->rows, mu, D, b->friction, coef);
  for (int j = 0; j < CONE_COEF(r->rows); j++) found |= PUT(cone, r->cone + j, coef[j]);
  return found;
}

/* a block's rows to the numbers of its environment; returns what was found */
PROC unsigned assemble_block(const sc_cuda_args *args, const sc_pack *p, const sc_row_block *r, int single) {
  const sc_device_rows *in = &args->rows;
  size_t row = args->out.efc_offset[r->env], first = row + (size_t)r->row;
  law_block b = block_inputs(in, r, row);
  law_parameters c = {};
  unsigned found = 0;
  int ok = block_is_valid(in, &b, first);
  law_row v = law_block_begin(&b, &found);
  for (int k = 0; k < b.rows; k++) {
    law_block_row(&b, k, &c, &v, &found);
    double D = 1 / v.R, aref = block_aref(in, first + (size_t)k, &v);
    ok = ok && finite_lane(v.R) && finite_lane(D) && finite_lane(aref);
    found |= PUT(D, r->place + k, D) | PUT(aref, r->place + k, aref);
    if (k == 0 && r->cone >= 0) found |= put_cone(p, r, &b, v.mu, D, single);
  }
  if (block_is_dry(&b)) {
    double eta = in->frictionloss[first];
    found |= PUT(eta, r->place - p->ne, eta) | PUT(edge, r->place - p->ne, law_edge(eta, v.R));
  }
  return ok ? found : found | FOUND_BAD;
}

/* ------------------------------------------------------------------ matrices in front of a solve */

/* vectors over dofs as the iteration in float reads them */
FN unsigned narrow_vectors(const sc_pack *p, int single) {
  const double *tau = NUM(p, tau), *s = NUM(p, s), *warm = NUM(p, warm);
  unsigned found = 0;
  EACH(i, single ? p->nv4 : 0) found |= PUT(tau, i, tau[i]) | PUT(s, i, s[i]) | PUT(warm, i, warm[i]);
  return found;
}

/* M, nv x nv, of which the lower triangle is read, to the tiles that are there; what lies beside them must be 0. 0: not valid */
PROC int take_inertia(const sc_pack *p, const double *in, int nv) {
  double *M = NUM(p, M), *scale = NUM(p, scale), trace = 0;
  int ok = 1;
  EACH(i, nv * nv) {
    int row = nv - 1 - i % nv, col = nv - 1 - i / nv; /* of the pack */
    if (row < col) continue;
    int t = p->m.adr[col / 4], end = p->m.adr[col / 4 + 1];
    while (t < end && p->m.row[t] != row / 4) t++;
    ok = ok && finite_lane(in[i]) && (t < end || in[i] == 0);
    if (row == col) trace += in[i];
    if (t == end) continue;
    M[16 * t + 4 * (row % 4) + col % 4] = in[i];
    if (row / 4 == col / 4) M[16 * t + 4 * (col % 4) + row % 4] = in[i];
  }
  trace = total(trace);
  ONCE { *scale = trace > 0 ? 1 / trace : 0; }
  return ok;
}

/* J, nefc x nv, to the blocks that are there; what lies beside them must be 0. place: of each row. 0: not valid */
PROC int take_jacobian(const sc_pack *p, const double *in, int nefc, int nv, const int32_t *place) {
  double *J = NUM(p, J);
  int ok = 1;
  for (int r = 0; r < nefc; r++, in += nv) {
    int first = p->jadr[place[r]], end = p->jadr[place[r] + 1];
    EACH(c, nv) {
      int i = nv - 1 - c, e = first;
      while (e < end && p->jcol[e] != i / 4) e++;
      ok = ok && finite_lane(in[c]) && (e < end || in[c] == 0);
      if (e < end) J[4 * e + i % 4] = in[c];
    }
  }
  return ok;
}

FN int has_matrices(const sc_cuda_args *args) { return args->inputs.M || args->inputs.J; }

/* those that are the caller's, in double, and the factor of M; w: a workspace in double. 0: not valid */
PROC int take_matrices(const sc_cuda_args *args, const sc_cuda_env *e, sc_work *w) {
  const sc_pack *p = &e->pack;
  const sc_cuda_inputs *in = &args->inputs;
  size_t dof = args->out.nv_offset[e->env], row = args->out.efc_offset[e->env];
  int nv = (int)(args->out.nv_offset[e->env + 1] - dof), nefc = (int)(args->out.efc_offset[e->env + 1] - row);
  double *alive = NUM(p, alive);
  int ok = !in->M || take_inertia(p, in->M + e->M_first, nv);
  ok = (!in->J || take_jacobian(p, in->J + e->J_first, nefc, nv, args->out.rowmap + row)) && ok;
  if (in->M) {
    ONCE { *alive = 1; }
    SYNC;
    prepare(p, w);
  }
  SYNC;
  return !anywhere(!ok);
}

/* and as the iteration in float reads them */
PROC unsigned narrow_matrices(const sc_cuda_env *e) {
  const sc_pack *p = &e->pack;
  const int single = 1;
  const double *M = NUM(p, M), *J = NUM(p, J), *L = NUM(p, L);
  unsigned found = 0;
  EACH(i, 16 * p->m.ntile) found |= PUT(M, i, M[i]);
  EACH(i, 4 * p->nblock) found |= PUT(J, i, J[i]);
  EACH(i, e->factor ? 16 * p->m.ntile : 0) found |= PUT(L, i, L[i]);
  ONCE { found |= PUT(scale, 0, *NUM(p, scale)); }
  found |= narrow_vectors(p, single);
  SYNC;
  return found;
}

/* ------------------------------------------------------------------ vectors over dofs in front of a solve */

/* reversed, as a pack has them; whether all are finite */
FN int take_vector(double *to, const double *from, int nv) {
  int ok = 1;
  if (from) EACH(i, nv) {
    to[nv - 1 - i] = from[i];
    ok = ok && finite_lane(from[i]);
  }
  return ok;
}

/* those that are the caller's, and what follows from them; scratch: nv4 numbers */
PROC unsigned take_vectors(const sc_cuda_args *args, const sc_cuda_env *e, double *scratch, int single) {
  const sc_pack *p = &e->pack;
  const sc_cuda_inputs *in = &args->inputs;
  size_t dof = args->out.nv_offset[e->env];
  int nv = (int)(args->out.nv_offset[e->env + 1] - dof);
  double *tau = NUM(p, tau), *s = NUM(p, s), *warm = NUM(p, warm), *given = NUM(p, given);
  int ok = take_vector(tau, in->tau ? in->tau + dof : NULL, nv);
  ok = take_vector(s, in->s ? in->s + dof : NULL, nv) && ok;
  ok = take_vector(warm, in->warm ? in->warm + dof : NULL, nv) && ok;
  SYNC;
  if (in->tau || in->s) complete(p, scratch, in->tau != NULL, in->s != NULL, in->warm || given[2] > 0);
  unsigned found = narrow_vectors(p, single);
  return ok ? found : found | FOUND_BAD;
}

/* ------------------------------------------------------------------ all */

/* what is too large for float: one of the kinds of SC_BEYOND_..., and whether it was made anew as a whole */
FN unsigned beyond_now(unsigned beyond, unsigned kind, int anew, unsigned found) {
  if (anew) beyond &= ~kind;
  return found & FOUND_BEYOND ? beyond | kind : beyond;
}

/* everything else that the environment's numbers are made from anew; then b->bad, b->flags and what is too large are known */
FN void assemble(const sc_cuda_args *args, sc_cuda_block *b, int single) {
  sc_cuda_env *e = &b->env;
  const sc_pack *p = &e->pack;
  const sc_cuda_inputs *in = &args->inputs;
  int rows = e->kept, vectors = in->tau || in->s || in->warm;
  unsigned of_rows = 0, of_matrices = 0, of_vectors = 0, beyond = e->beyond_float;
  if (has_matrices(args) && single) of_matrices = narrow_matrices(e);
  if (rows && !(positive(args->rows.timestep[e->env]) && positive(args->rows.impratio[e->env]))) of_rows = FOUND_BAD;
  EACH(i, rows ? e->nblock : 0) of_rows |= assemble_block(args, p, e->block + i, single);
  if (vectors) of_vectors = take_vectors(args, e, single ? b->judge.a : b->iterate.v, single);
  of_rows = found_by_all(of_rows), of_matrices = found_by_all(of_matrices), of_vectors = found_by_all(of_vectors);
  beyond = beyond_now(beyond, SC_BEYOND_ROWS, rows, of_rows);
  beyond = beyond_now(beyond, SC_BEYOND_MATRICES, in->M && in->J, of_matrices);
  beyond = beyond_now(beyond, SC_BEYOND_VECTORS, vectors, of_vectors);
  SYNC;
  ONCE {
    b->bad = b->bad || ((of_rows | of_vectors) & FOUND_BAD) != 0;
    b->flags = of_rows & (LAW_REPAIRED | LAW_CLAMPED);
    e->beyond_float = beyond;
    if (single) *(float *)p->num[SC_F32].alive = beyond ? 0 : (float)*NUM(p, alive);
  }
  SYNC;
}
