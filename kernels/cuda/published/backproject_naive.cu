// The plainest back-projection, which the others are measured against: one view per launch, one
// voxel per thread, four pixels from global memory and their interpolation in float32. The naive
// configuration of Papenhausen, Zheng & Mueller, "GPU-Accelerated Back-Projection Revisited" (HPIR
// 2011).
#include "kernels/cuda/published/backproject_batches.cuh"

namespace isocenter::cuda {
namespace {

constexpr dim3 kVoxels(32, 4, 2);

__global__ __launch_bounds__(256) void NaiveKernel(const __grid_constant__ ViewMatrices<1> matrices,
                                                   const float* view, Extent e, float* volume) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= e.nx || y >= e.ny || z >= e.nz) return;
  const Homogeneous q = PositionOf(matrices.m[0], x, y, z);
  const float r = __frcp_rn(q.w);
  float* const target = volume + OffsetOf(e, x, y, z);
  *target = fmaf(r * r, SampleAnywhere(view, e, q.uw * r, q.vw * r), *target);
}

class BackprojectNaive final : public ops::Backproject {
 public:
  explicit BackprojectNaive(CudaSession& session) : session_(session) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume) override {
    return RunInBatches<1>(session_, matrices, filtered, volume, [](const Batch<1>& batch) {
      NaiveKernel<<<BlocksCovering(batch.extent, kVoxels), kVoxels, 0, batch.stream>>>(
          batch.matrices, batch.projections, batch.extent, batch.volume);
      return absl::OkStatus();
    });
  }

 private:
  CudaSession& session_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectNaive(CudaSession& session) {
  return std::make_unique<BackprojectNaive>(session);
}

}  // namespace isocenter::cuda
