// Back-projections that read batches of views through the texture unit: everything but the kernel.
#pragma once

#include "kernels/cuda/published/backproject_batches.cuh"
#include "kernels/cuda/published/layered_texture.h"

namespace isocenter::cuda {

/// Starts a kernel that adds a batch; its views are the first layers of the texture.
template <int kViews>
using TextureLaunch = void (*)(const Batch<kViews>&, cudaTextureObject_t);

template <int kViews, TextureLaunch<kViews> kLaunch>
class BackprojectFromTexture final : public ops::Backproject {
 public:
  explicit BackprojectFromTexture(CudaSession& session) : session_(session) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume) override {
    return RunInBatches<kViews>(
        session_, matrices, filtered, volume, [this](const Batch<kViews>& batch) -> absl::Status {
          ISO_RETURN_IF_ERROR(texture_.Fill(batch.projections, batch.views, batch.extent.rows,
                                            batch.extent.columns, batch.stream));
          kLaunch(batch, texture_.texture());
          return absl::OkStatus();
        });
  }

 private:
  CudaSession& session_;
  LayeredTexture texture_;
};

}  // namespace isocenter::cuda
