// Kernel B of Zinsser & Keck (2013) as fast as the paper could make it, test 8 of its table II: up
// to 32 views per launch, four voxels per thread, blocks of 16 x 32 threads.
#include "kernels/cuda/published/backproject_from_texture.cuh"
#include "kernels/cuda/published/zinsser_keck.cuh"

namespace isocenter::cuda {
namespace {

constexpr int kViews = 32, kDepth = 4;
constexpr dim3 kBlock(16, 32);

void LaunchKernelB(const Batch<kViews>& batch, cudaTextureObject_t texture) {
  const Extent& e = batch.extent;
  KernelB<kViews, kDepth, kBlock.x, kBlock.y, Work::kAll>
      <<<BlocksCovering(e, dim3(kBlock.x, kBlock.y, kDepth)), kBlock, 0, batch.stream>>>(
          batch.matrices, batch.views, 0, texture, e, batch.volume);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectKernelB(CudaSession& session) {
  return std::make_unique<BackprojectFromTexture<kViews, LaunchKernelB>>(session);
}

int64_t BackprojectKernelBBytes(const ops::Extents& extents) {
  return BackprojectFromTexture<kViews, LaunchKernelB>::Bytes(extents);
}

}  // namespace isocenter::cuda
