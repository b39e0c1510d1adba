// Kernel A of Zinsser & Keck (2013) as fast as the paper could make it, test 4 of its table II:
// four views per launch, eight voxels per thread, blocks of 32 x 8 threads without synchronisation.
#include "kernels/cuda/published/backproject_from_texture.cuh"
#include "kernels/cuda/published/zinsser_keck.cuh"

namespace isocenter::cuda {
namespace {

constexpr int kViews = 4, kDepth = 8;
constexpr dim3 kBlock(32, 8);

void LaunchKernelA(const Batch<kViews>& batch, cudaTextureObject_t texture) {
  const Extent& e = batch.extent;
  KernelA<kViews, kDepth, kBlock.x, kBlock.y, false, Work::kAll>
      <<<BlocksCovering(e, dim3(kBlock.x, kBlock.y, kDepth)), kBlock, 0, batch.stream>>>(
          batch.matrices, 0, texture, e, batch.volume);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectKernelA(CudaSession& session) {
  return std::make_unique<BackprojectFromTexture<kViews, LaunchKernelA>>(session);
}

}  // namespace isocenter::cuda
