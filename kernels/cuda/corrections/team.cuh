// The blocks of threads that work on one view together: a cluster where the device has them, else
// one block.
#pragma once

#include <cooperative_groups.h>

namespace isocenter::cuda {

/// A kernel's grid is parts x views. How the work is divided between parts and threads must not
/// change what is computed.
struct Team {
  __device__ int part() const { return static_cast<int>(blockIdx.x); }
  __device__ int parts() const { return static_cast<int>(gridDim.x); }
  __device__ int view() const { return static_cast<int>(blockIdx.y); }
  /// This part's share of `count` things that lie side by side.
  __device__ int Begin(int count) const { return count * part() / parts(); }
  __device__ int End(int count) const { return count * (part() + 1) / parts(); }
  /// What any thread of the team has written before is seen by all after.
  __device__ void Sync() const {
#if __CUDA_ARCH__ >= 900
    cooperative_groups::this_cluster().sync();
#else
    __syncthreads();
#endif
  }
};

}  // namespace isocenter::cuda
