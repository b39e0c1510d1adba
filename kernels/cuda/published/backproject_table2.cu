// The configurations of Zinsser & Keck (2013), table II, on the way to its tests 4 and 8 (kernel_a,
// kernel_b): so that what isocenter-bench bottleneck measures is held against the reference, too.
#include "kernels/cuda/device/on_cuda.h"
#include "kernels/cuda/published/backproject_from_texture.cuh"
#include "kernels/cuda/published/zinsser_keck.cuh"

namespace isocenter::cuda {
namespace {

template <int kViews, int kDepth, int kBlockX, int kBlockY, bool kSynchronized>
void LaunchA(const Batch<kViews>& batch, cudaTextureObject_t texture) {
  const Extent& e = batch.extent;
  KernelA<kViews, kDepth, kBlockX, kBlockY, kSynchronized, Work::kAll>
      <<<BlocksCovering(e, dim3(kBlockX, kBlockY, kDepth)), dim3(kBlockX, kBlockY), 0,
         batch.stream>>>(batch.matrices, 0, texture, e, batch.volume);
}

template <int kViews, int kDepth, int kBlockX, int kBlockY>
void LaunchB(const Batch<kViews>& batch, cudaTextureObject_t texture) {
  const Extent& e = batch.extent;
  KernelB<kViews, kDepth, kBlockX, kBlockY, Work::kAll>
      <<<BlocksCovering(e, dim3(kBlockX, kBlockY, kDepth)), dim3(kBlockX, kBlockY), 0,
         batch.stream>>>(batch.matrices, batch.views, 0, texture, e, batch.volume);
}

template <int kViews, TextureLaunch<kViews> kLaunch>
void Add(ops::Registry& registry, std::string name) {
  using Method = BackprojectFromTexture<kViews, kLaunch>;
  const auto make = [](CudaSession& session) -> absl::StatusOr<std::unique_ptr<ops::Backproject>> {
    return std::make_unique<Method>(session);
  };
  registry.backproject.Add("cuda", std::move(name), {OnCuda(make), Taking(Method::Bytes)},
                           ops::Precision::kFast);
}

}  // namespace

void RegisterZinsserKeckTable(ops::Registry& registry) {
  Add<1, LaunchA<1, 512, 32, 8, false>>(registry, "table2_test1");
  Add<4, LaunchA<4, 512, 32, 8, false>>(registry, "table2_test2");
  Add<4, LaunchA<4, 512, 32, 8, true>>(registry, "table2_test3");
  Add<4, LaunchB<4, 8, 32, 8>>(registry, "table2_test5");
  Add<8, LaunchB<8, 4, 16, 16>>(registry, "table2_test6");
  Add<16, LaunchB<16, 4, 16, 32>>(registry, "table2_test7");
}

}  // namespace isocenter::cuda
