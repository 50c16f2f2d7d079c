/* One block solves one environment after the other: numbers into shared memory, rows and vectors made anew, iteration, certificate, answer. Included
 * among the kernels in double; NARROW are those in float. */

FN void copy_words(void *to, const void *from, size_t bytes) {
  EACH(i, (int)(bytes / 16)) ((sc_words *)to)[i] = ((const sc_words *)from)[i];
}

FN void attach(sc_work *w, sc_cuda_block *b, const sc_task *task) {
  w->task = *task;
  w->iterations = &b->iterations, w->end = &b->end, w->stale = &b->stale, w->changed = &b->changed;
  w->view = &b->view, w->fresh = 0;
  w->gap = &b->certificate.gap, w->floor = &b->certificate.floor, w->bound = &b->certificate.bound;
  w->objective = &b->certificate.objective, w->solved = &b->certificate.solved;
}

/* the environment's description into the block's memory, which is handed out for its arrays; arrays: the fast part of it, or NULL;
 * slow: the rest */
PROC void place(const sc_cuda_args *args, sc_cuda_block *b, char *arrays, char *slow, int single) {
  copy_words(&b->env, args->env + b->next, sizeof(sc_cuda_env));
  SYNC;
  ONCE {
    sc_cuda_map m = {arrays, slow, arrays ? args->fast - sizeof(sc_cuda_block) : 0, 0, 0, 1};
    if (arrays) SC_FORGET(arrays);
    else b->env.near = 0;
    sc_cuda_place(&m, &b->env, single, &b->iterate, &b->judge, b->copy);
    attach(&b->iterate, b, &args->task);
    attach(&b->judge, b, &args->task);
  }
  SYNC;
}

FN void copy_pieces(const sc_cuda_block *b, int first) {
  for (int k = first; k < SC_CUDA_PIECES; k++)
    if (b->copy[k].to) copy_words(b->copy[k].to, b->copy[k].from, b->copy[k].bytes);
  SYNC;
}

/* in float: the certificate's workspace is used from here on, in place of the iteration's; see sc_cuda_place */
FN void reuse(const sc_cuda_block *b) {
  if (!SC_GUARD_BYTES) return;
  ONCE { SC_FORGET((char *)b->judge.a.at + sc_round16((size_t)b->env.pack.nv4 * sizeof(double)) + SC_GUARD_BYTES); }
  SYNC;
}

/* and its numbers. The caller's matrices are taken in double: in float before all else, in the workspace of the certificate,
 * which lies over what is copied then */
PROC void load(const sc_cuda_args *args, sc_cuda_block *b, char *arrays, char *slow, int single) {
  int ok = 1;
  place(args, b, arrays, slow, single);
  if (single && has_matrices(args)) {
    copy_pieces(b, SC_CUDA_LISTS);
    if (arrays) reuse(b);
    ok = take_matrices(args, &b->env, &b->judge);
    place(args, b, arrays, slow, single);
  }
  copy_pieces(b, 0);
  if (!single && has_matrices(args)) ok = take_matrices(args, &b->env, &b->iterate);
  ONCE { b->earlier = b->iterations = b->ended = 0, b->bad = !ok; }
  SYNC;
  assemble(args, b, single);
}

/* the answer in double, where the certificate reads it; without rows it is qacc_smooth as handed over */
PROC void widen(const sc_cuda_args *args, sc_cuda_block *b, int single) {
  const sc_pack *p = &b->env.pack;
  const double *smooth = NUM(p, s);
  double *a = single ? b->judge.a : b->iterate.a;
  const float *narrow = b->iterate.a;
  int env = b->env.env, free = args->out.efc_offset[env] == args->out.efc_offset[env + 1];
  EACH(i, p->nv4) {
    if (free) a[i] = smooth[i];
    else if (single) a[i] = (double)narrow[i];
  }
  SYNC;
}

/* whether every number of the answer is finite */
FN int answer_is_finite(const sc_cuda_args *args, const sc_work *w, int env, int nv4) {
  const double *a = w->a, *Jf = w->g1, *f = w->f;
  mask broken = never();
  EACH(i, nv4) broken = either(broken, not(both(finite_lane(a[i]), finite_lane(Jf[i]))));
  size_t first = args->out.efc_offset[env];
  EACH(r, (int)(args->out.efc_offset[env + 1] - first)) broken = either(broken, not(finite_lane(f[args->out.rowmap[first + r]])));
  return !anywhere(broken);
}

/* to the results, in the caller's order; + 0.0 makes a zero's sign plain, which depends on what a pack skips */
PROC void store(const sc_cuda_args *args, const sc_cuda_block *b, const sc_work *w, int status, uint32_t flags) {
  const sc_results *r = &args->out;
  int env = b->env.env, answered = status != SC_NOT_FINITE && status != SC_NOT_SPD && status != SC_BAD_INPUT;
  size_t dof = r->nv_offset[env], row = r->efc_offset[env];
  int nv = (int)(r->nv_offset[env + 1] - dof), nefc = (int)(r->efc_offset[env + 1] - row);
  const double *a = w->a, *Jf = w->g1, *f = w->f, *zone = w->k;
  EACH(i, nv) {
    r->qacc[dof + i] = answered ? a[nv - 1 - i] + 0.0 : NAN;
    r->qfrc_constraint[dof + i] = answered ? Jf[nv - 1 - i] + 0.0 : NAN;
  }
  EACH(i, nefc) {
    r->efc_force[row + i] = answered ? f[r->rowmap[row + i]] + 0.0 : NAN;
    r->efc_state[row + i] = answered ? (uint8_t)zone[r->rowmap[row + i]] : (uint8_t)SC_SATISFIED;
  }
  ONCE {
    const sc_certificate *c = &b->certificate;
    r->gap[env] = answered ? c->gap : NAN;
    r->gap_floor[env] = answered ? c->floor : NAN;
    r->qacc_bound[env] = answered ? c->bound : NAN;
    r->objective[env] = answered ? c->objective + 0.0 : NAN;
    r->status[env] = (uint8_t)status;
    r->iterations[env] = b->earlier + b->iterations;
    r->flags[env] = b->env.flags | flags;
  }
}

/* the word for what stands in the workspace of the certificate */
PROC int judge(const sc_cuda_args *args, const sc_cuda_block *b, const sc_work *w, int narrow) {
  const sc_pack *p = &b->env.pack;
  if (narrow && b->env.beyond_float) return SC_NOT_FINITE;
  if (!(*NUM(p, alive) > 0)) return SC_NOT_SPD;
  int finite = answer_is_finite(args, w, b->env.env, p->nv4);
  return finite ? sc_verdict(&b->certificate, b->end) : SC_NOT_FINITE;
}

/* Of a kernel with `dual`: also the methods on the dual problem, and noslip. Apart, for they take registers and memory; AFTER_ROUNDS
 * in its place: noslip, and Newton's method alone. */
#define AFTER_ROUNDS 2
template <int dual> static __device__ __forceinline__ void iterate(int method, const sc_pack *p, sc_work *w) {
  if (dual == 1 && method == SC_PGS) pgs(p, w);
  else if (dual == 1 && method == SC_DIRECT) direct(p, w);
  else if (dual != AFTER_ROUNDS && method == SC_CG) cg(p, w);
  else newton(p, w);
}
template <int dual> static __device__ __forceinline__ void iterate_narrow(int method, const sc_pack *p, sc_work *w) {
  if (dual == 1 && method == SC_PGS) NARROW::pgs(p, w);
  else if (dual == 1 && method == SC_DIRECT) NARROW::direct(p, w);
  else if (dual != AFTER_ROUNDS && method == SC_CG) NARROW::cg(p, w);
  else NARROW::newton(p, w);
}

/* Of an environment that has been through the rounds of cuda_dense.inl: its answer, where they ended it; else the iteration goes on
 * from where they left it. */
PROC void resume(const sc_cuda_args *args, sc_cuda_block *b, int single) {
  const sc_cuda_rounds *r = (const sc_cuda_rounds *)args->dense[b->next].memory;
  const sc_pack *p = &b->env.pack;
  sc_array from = r->block.iterate.a, to = r->ended ? b->iterate.a : p->num[single].warm;
  EACH(i, p->nv4) {
    if (single) ((float *)to)[i] = ((const float *)from)[i];
    else ((double *)to)[i] = ((const double *)from)[i];
  }
  ONCE {
    if (r->ended) {
      b->iterations = r->block.iterations, b->end = r->block.end, b->ended = 1;
    } else {
      b->earlier = r->taken;
      b->iterate.task.iterations -= r->taken, b->iterate.task.warmstart = 1;
    }
  }
  SYNC;
}

/* whether the iteration is in float: asked anew each time, as registers are full */
FN int in_float(const sc_cuda_block *b, int single) { return single && !(b->flags & SC_RETRIED_F64); }

/* a call, so that what it copies is not read ahead of the iteration, into registers */
PROC void again_in_double(const sc_cuda_args *args, sc_cuda_block *b) {
  SYNC;
  ONCE { b->judge.task = args->again, b->earlier += b->iterations, b->ended = 0, b->flags |= SC_RETRIED_F64; }
  SYNC;
}

/* the environment that is loaded; what float leaves unsolved is solved again in double */
template <int single, int dual> static __device__ __forceinline__ void solve(const sc_cuda_args *args, sc_cuda_block *b) {
  const sc_pack *p = &b->env.pack;
  sc_work *w = single ? &b->judge : &b->iterate;
  int status;
  if (b->bad) {
    store(args, b, w, SC_BAD_INPUT, 0);
    return;
  }
  if (dual == AFTER_ROUNDS) resume(args, b, single);
  for (;;) {
    int there = dual == AFTER_ROUNDS && b->ended;
    if (!there && in_float(b, single)) iterate_narrow<dual>(args->method, p, &b->iterate);
    else if (!there) iterate<dual>(args->method, p, w);
    if (in_float(b, single) || !single) widen(args, b, single);
    if (in_float(b, single)) reuse(b);
    certify(p, w);
    SYNC;
    if (dual && args->task.noslip_iterations > 0) {
      noslip(p, w);
      SYNC;
    }
    status = judge(args, b, w, in_float(b, single));
    if (!in_float(b, single) || !args->retry || status == SC_SOLVED || status == SC_NOT_SPD) break;
    again_in_double(args, b);
  }
  uint32_t flags = b->flags;
  if (dual && args->task.noslip_iterations > 0 && b->changed) flags |= SC_NOSLIP_APPLIED;
  store(args, b, w, status, flags);
}

template <int single, int dual> static __device__ __forceinline__ void solve_all(const sc_cuda_args *args) {
  sc_cuda_block *b = (sc_cuda_block *)sc_shared;
  char *arrays = (char *)sc_shared + sizeof(sc_cuda_block);
  for (;;) {
    ONCE { b->next = atomicAdd(args->queue, 1u); }
    SYNC;
    if (b->next >= (uint32_t)args->nenv) break;
    load(args, b, arrays, args->spill + (size_t)blockIdx.x * args->slow, single);
    solve<single, dual>(args, b);
  }
  ONCE { /* the last block leaves the queue as it found it */
    if (atomicAdd(args->queue + 1, 1u) == gridDim.x - 1) {
      atomicExch(args->queue, 0u);
      atomicExch(args->queue + 1, 0u);
    }
  }
}
