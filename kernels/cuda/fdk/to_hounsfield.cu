#include <algorithm>

#include "kernels/cuda/device/hinges.cuh"
#include "kernels/cuda/fdk/methods.h"

namespace isocenter::cuda {
namespace {

__global__ void ToHounsfieldKernel(float* volume, int64_t voxels, float scale,
                                   ops::HounsfieldHinges hinges) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < voxels;
       i += stride) {
    const float measured = fmaf(volume[i], scale, -1000.f);
    volume[i] = isfinite(measured) ? At(hinges, measured) : -1000.f;
  }
}

class ToHounsfield final : public ops::ToHounsfield {
 public:
  explicit ToHounsfield(CudaSession& session) : session_(session) {}

  absl::Status DoRun(const ops::HounsfieldScale& scale, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int64_t voxels = target->grid().voxels();
    const int blocks = static_cast<int>(std::min<int64_t>(4096, (voxels + 255) / 256));
    ToHounsfieldKernel<<<blocks, 256, 0, session_.stream()>>>(
        target->data(), voxels, static_cast<float>(1000 / scale.mu_water_per_mm),
        ops::HingesOf(scale.table));
    return ToStatus(cudaGetLastError(), "ToHounsfieldKernel");
  }

 private:
  CudaSession& session_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ToHounsfield>> NewToHounsfield(CudaSession& session) {
  return std::make_unique<ToHounsfield>(session);
}

}  // namespace isocenter::cuda
