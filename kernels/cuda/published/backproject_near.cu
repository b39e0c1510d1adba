// Views whose source lies in or near the volume: one view per launch, one voxel per thread,
// float64.
#include <algorithm>

#include "kernels/cuda/published/backproject_batches.cuh"

namespace isocenter::cuda {
namespace {

constexpr dim3 kVoxels(32, 4, 2);

struct ExactMatrix {
  double m[12];
};

__global__ __launch_bounds__(256) void NearKernel(const __grid_constant__ ExactMatrix matrix,
                                                  const float* view, Extent e, float* volume) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= e.nx || y >= e.ny || z >= e.nz) return;
  float* const target = volume + OffsetOf(e, x, y, z);
  float sum[1] = {*target};
  AddAnywhere(matrix.m, view, e, x, y, z, sum);
  *target = sum[0];
}

}  // namespace

absl::Status AddNearView(const ProjectionMatrix& indexed, const float* view, const Extent& e,
                         float* volume, cudaStream_t stream) {
  ExactMatrix matrix;
  std::copy(indexed.m.begin(), indexed.m.end(), matrix.m);
  NearKernel<<<BlocksCovering(e, kVoxels), kVoxels, 0, stream>>>(matrix, view, e, volume);
  return ToStatus(cudaGetLastError(), "NearKernel");
}

}  // namespace isocenter::cuda
