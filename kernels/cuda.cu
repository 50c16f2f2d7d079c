/* The kernels on a GPU: the text of all the others, an environment a warp or a block, in one launch from the numbers to
 * the verdict. Compiles alone: nvcc -std=c++17 -Isrc -Ikernels -c kernels/cuda.cu */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda.h"

/* memory is copied and a block's is aligned in pieces of this size */
struct __align__(16) sc_words { uint32_t w[4]; };
extern "C" {
extern __shared__ sc_words sc_shared[];
}

#define SC_TEAM SC_TEAM_SMALL
#define SC_SINGLE 1
namespace warp_f32 {
#include "kernels.inl"
}
#include "forget.h"
#define SC_TEAM SC_TEAM_SMALL
#define SC_SINGLE 0
#define NARROW warp_f32
namespace warp_f64 {
#include "kernels.inl"
#include "cuda_rows.inl"
#include "cuda_solve.inl"
}
#include "forget.h"
#define SC_TEAM SC_TEAM_LARGE
#define SC_SINGLE 1
namespace block_f32 {
#include "kernels.inl"
#include "dense.inl"
}
#include "forget.h"
#define SC_TEAM SC_TEAM_LARGE
#define SC_SINGLE 0
#undef NARROW
#define NARROW block_f32
namespace block_f64 {
#include "kernels.inl"
#include "dense.inl"
#include "cuda_rows.inl"
#include "cuda_solve.inl"
#include "cuda_dense.inl"
}

/* registers for so many warps on a multiprocessor: what spills nothing, see docs/gpu.md */
#define BOUNDS(team) __launch_bounds__(team, SC_RESIDENT_WARPS(team) * 32 / team)
#define ARGS const __grid_constant__ sc_cuda_args args
extern "C" {
__global__ void BOUNDS(SC_TEAM_SMALL) sc_cuda_warp_f32(ARGS) { warp_f64::solve_all<1, 0>(&args); }
__global__ void BOUNDS(SC_TEAM_SMALL) sc_cuda_warp_f64(ARGS) { warp_f64::solve_all<0, 0>(&args); }
__global__ void BOUNDS(SC_TEAM_LARGE) sc_cuda_block_f32(ARGS) { block_f64::solve_all<1, 0>(&args); }
__global__ void BOUNDS(SC_TEAM_LARGE) sc_cuda_block_f64(ARGS) { block_f64::solve_all<0, 0>(&args); }
__global__ void BOUNDS(SC_TEAM_SMALL) sc_cuda_dual_warp_f32(ARGS) { warp_f64::solve_all<1, 1>(&args); }
__global__ void BOUNDS(SC_TEAM_SMALL) sc_cuda_dual_warp_f64(ARGS) { warp_f64::solve_all<0, 1>(&args); }
__global__ void BOUNDS(SC_TEAM_LARGE) sc_cuda_dual_block_f32(ARGS) { block_f64::solve_all<1, 1>(&args); }
__global__ void BOUNDS(SC_TEAM_LARGE) sc_cuda_dual_block_f64(ARGS) { block_f64::solve_all<0, 1>(&args); }
__global__ void BOUNDS(SC_TEAM_LARGE) sc_cuda_dense_finish_f32(ARGS) { block_f64::solve_all<1, AFTER_ROUNDS>(&args); }
__global__ void BOUNDS(SC_TEAM_LARGE) sc_cuda_dense_finish_f64(ARGS) { block_f64::solve_all<0, AFTER_ROUNDS>(&args); }
__global__ void BOUNDS(SC_TEAM_LARGE) sc_cuda_dense_begin_f32(ARGS) { block_f64::dense_begin_each<1>(&args); }
__global__ void BOUNDS(SC_TEAM_LARGE) sc_cuda_dense_begin_f64(ARGS) { block_f64::dense_begin_each<0>(&args); }
__global__ void BOUNDS(SC_TEAM_LARGE) sc_cuda_dense_step_f32(ARGS) { block_f64::dense_step_each<1>(&args); }
__global__ void BOUNDS(SC_TEAM_LARGE) sc_cuda_dense_step_f64(ARGS) { block_f64::dense_step_each<0>(&args); }
__global__ void __launch_bounds__(SC_ROWS_THREADS) sc_cuda_rows(const __grid_constant__ sc_cuda_rows_args args) { warp_f64::evaluate_all(&args); }
}
