#include "kernels/cpu/projectors/ray_projector.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/cpu/device/session.h"

namespace isocenter::cpu {
namespace {

std::span<const RayView> GroupOf(std::span<const RayView> views, int64_t group) {
  const size_t first = static_cast<size_t>(group) * kRayViews;
  return views.subspan(first, std::min<size_t>(kRayViews, views.size() - first));
}

// Runs jobs of some columns and views each, by all threads. `voxels` may be null.
void RunColumns(ThreadPool& pool, RunForward run, std::span<const ProjectionMatrix> matrices,
                const VolumeGrid& grid, const float* voxels, Stack& stack) {
  constexpr int kColumns = 16;
  const std::vector<RayView> views = MakeRayViews(matrices, grid, stack.shape());
  const VolumeShape shape(grid);
  const auto columns = static_cast<int>(stack.shape().fast);
  const auto groups = (static_cast<int64_t>(views.size()) + kRayViews - 1) / kRayViews;
  pool.ParallelFor((columns + kColumns - 1) / kColumns * groups, [&](int64_t index, int) {
    const int first = static_cast<int>(index / groups) * kColumns;
    run({.views = GroupOf(views, index % groups),
         .volume = shape,
         .voxels = voxels,
         .stack = stack.data(),
         .first_column = first,
         .last_column = std::min(first + kColumns, columns)});
  });
}

class RayForwardProject final : public ops::ForwardProject {
 public:
  RayForwardProject(std::shared_ptr<ThreadPool> pool, RunForward run)
      : pool_(std::move(pool)), run_(run) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                     ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(volume));
    RunColumns(*pool_, run_, matrices, source->grid(), source->data(), *stack);
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
  RunForward run_;
};

class RayRowSums final : public ops::RowSums {
 public:
  RayRowSums(std::shared_ptr<ThreadPool> pool, RunForward run)
      : pool_(std::move(pool)), run_(run) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid,
                     ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(projections));
    RunColumns(*pool_, run_, matrices, grid, nullptr, *stack);
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
  RunForward run_;
};

class RayMatchedBackproject final : public ops::MatchedBackproject {
 public:
  RayMatchedBackproject(std::shared_ptr<ThreadPool> pool, RunScatter run)
      : pool_(std::move(pool)), run_(run) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const std::vector<RayView> views = MakeRayViews(matrices, target->grid(), stack->shape());
    const VolumeShape shape(target->grid());
    // One axis after the other: the planes of two axes have voxels in common.
    for (int axis = 0; axis < 3; ++axis) {
      std::vector<RayView> along;
      for (const RayView& view : views) {
        Heading heading;
        if (!view.IsUniform(heading) || heading.axis == axis) along.push_back(view);
      }
      if (along.empty()) continue;
      const int planes = shape.size[axis];
      pool_->ParallelFor((planes + kPlanes - 1) / kPlanes, [&](int64_t index, int) {
        const int first = static_cast<int>(index) * kPlanes;
        run_({.views = along,
              .volume = shape,
              .voxels = target->data(),
              .stack = stack->data(),
              .axis = axis,
              .first_plane = first,
              .last_plane = std::min(first + kPlanes, planes)});
      });
    }
    return absl::OkStatus();
  }

 private:
  // Fewer would make the set-up of a block of rays a larger part, more leave threads without work.
  static constexpr int kPlanes = 32;
  std::shared_ptr<ThreadPool> pool_;
  RunScatter run_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewRayForwardProject(ops::Session& session,
                                                                          RunForward run) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<RayForwardProject>(own->pool(), run);
}

absl::StatusOr<std::unique_ptr<ops::RowSums>> NewRayRowSums(ops::Session& session, RunForward run) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<RayRowSums>(own->pool(), run);
}

absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewRayMatchedBackproject(
    ops::Session& session, RunScatter run) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<RayMatchedBackproject>(own->pool(), run);
}

}  // namespace isocenter::cpu
