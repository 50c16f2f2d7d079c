/* A block an environment, with everything in device memory: what dense.inl does in float or double. Included among the kernels in
 * double; NARROW are those in float. */

template <int single> static __device__ __forceinline__ void dense_begin_each(const sc_cuda_args *args) {
  const sc_cuda_dense *dense = args->dense + blockIdx.x;
  sc_cuda_rounds *r = (sc_cuda_rounds *)dense->memory;
  ONCE { r->block.next = blockIdx.x; }
  SYNC;
  load(args, &r->block, NULL, (char *)(r + 1), single);
  if (single) NARROW::dense_begin(&r->block.env.pack, r, dense, !r->block.bad);
  else dense_begin(&r->block.env.pack, r, dense, !r->block.bad);
}

template <int single> static __device__ __forceinline__ void dense_step_each(const sc_cuda_args *args) {
  const sc_cuda_dense *dense = args->dense + blockIdx.x;
  sc_cuda_rounds *r = (sc_cuda_rounds *)dense->memory;
  if (r->ended) return;
  int last = r->taken + 1 == args->rounds;
  if (single) NARROW::dense_step(&r->block.env.pack, r, dense, last);
  else dense_step(&r->block.env.pack, r, dense, last);
}
