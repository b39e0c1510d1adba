#include "kernels/cpu/ray_projector.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/cpu/cell_tile.h"
#include "kernels/cpu/device.h"
#include "kernels/cpu/page_buffer.h"

namespace isocenter::cpu {
namespace {

absl::Status CheckViews(std::span<const ProjectionMatrix> matrices, const Stack& stack) {
  if (static_cast<int64_t>(matrices.size()) <= stack.shape().slow) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      matrices.size(), " matrices for a projection stack of ", stack.shape().slow, " views"));
}

class RayForwardProject final : public ops::ForwardProject {
 public:
  RayForwardProject(std::shared_ptr<ThreadPool> pool, RunForward run)
      : pool_(std::move(pool)), run_(run) {}

  absl::Status Run(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                   ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(projections, ops::StackUse::kProjections));
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(volume));
    ISO_RETURN_IF_ERROR(CheckViews(matrices, *stack));
    const std::vector<RayView> views = MakeRayViews(matrices, source->grid(), stack->shape());
    const VolumeShape shape(source->grid());
    // Neighbouring views see nearly the same of the volume through the same columns.
    const auto columns = static_cast<int>(stack->shape().fast);
    const auto count = static_cast<int64_t>(views.size());
    pool_->ParallelFor((columns + kColumns - 1) / kColumns * count, [&](int64_t index, int) {
      const int first = static_cast<int>(index / count) * kColumns;
      run_({.view = views[index % count],
            .volume = shape,
            .voxels = source->data(),
            .stack = stack->data(),
            .first_column = first,
            .last_column = std::min(first + kColumns, columns)});
    });
    return absl::OkStatus();
  }

  int64_t WorkspaceBytes(const VolumeGrid&, Shape3) const override { return 0; }

 private:
  static constexpr int kColumns = 16;
  std::shared_ptr<ThreadPool> pool_;
  RunForward run_;
};

class RayMatchedBackproject final : public ops::MatchedBackproject {
 public:
  RayMatchedBackproject(std::shared_ptr<ThreadPool> pool, RunScatter run)
      : pool_(std::move(pool)), run_(run) {}

  absl::Status Run(std::span<const ProjectionMatrix> matrices,
                   const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(projections, ops::StackUse::kProjections));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    ISO_RETURN_IF_ERROR(CheckViews(matrices, *stack));
    if (cells_.floats() == 0) {
      ISO_ASSIGN_OR_RETURN(cells_, PageBuffer::Create(pool_->threads() * kThreadFloats));
    }
    const std::vector<RayView> views = MakeRayViews(matrices, target->grid(), stack->shape());
    const VolumeShape shape(target->grid());
    // One axis after the other: the planes of two axes have voxels in common.
    for (int axis = 0; axis < 3; ++axis) {
      const int planes = shape.size[axis];
      pool_->ParallelFor((planes + kScatterPlanes - 1) / kScatterPlanes,
                         [&](int64_t index, int worker) {
                           const int first = static_cast<int>(index) * kScatterPlanes;
                           run_({.views = views,
                                 .volume = shape,
                                 .voxels = target->data(),
                                 .stack = stack->data(),
                                 .axis = axis,
                                 .first_plane = first,
                                 .last_plane = std::min(first + kScatterPlanes, planes),
                                 .cells = cells_.data() + worker * kThreadFloats});
                         });
    }
    return absl::OkStatus();
  }

  int64_t WorkspaceBytes(const VolumeGrid&, Shape3) const override {
    return pool_->threads() * kThreadFloats * static_cast<int64_t>(sizeof(float));
  }

 private:
  static constexpr int64_t kThreadFloats = kMaxCells * kCellFloats + kCellMargin;
  std::shared_ptr<ThreadPool> pool_;
  RunScatter run_;
  PageBuffer cells_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewRayForwardProject(ops::Device& device,
                                                                          RunForward run) {
  ISO_ASSIGN_OR_RETURN(CpuDevice * own, AsCpuDevice(device));
  return std::make_unique<RayForwardProject>(own->pool(), run);
}

absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewRayMatchedBackproject(
    ops::Device& device, RunScatter run) {
  ISO_ASSIGN_OR_RETURN(CpuDevice * own, AsCpuDevice(device));
  return std::make_unique<RayMatchedBackproject>(own->pool(), run);
}

}  // namespace isocenter::cpu
