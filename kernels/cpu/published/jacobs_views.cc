#include "kernels/cpu/published/jacobs_views.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/cpu/device/session.h"

namespace isocenter::cpu {
namespace {

// Detector columns of a task.
constexpr int kColumns = 16;

// Calls column(view, u) for all columns of all views, on all threads.
template <class Column>
void ForColumns(ThreadPool& pool, const std::vector<RayView>& views, int columns, Column column) {
  const int runs = (columns + kColumns - 1) / kColumns;
  pool.ParallelFor(static_cast<int64_t>(views.size()) * runs, [&](int64_t task, int) {
    const RayView& view = views[static_cast<size_t>(task / runs)];
    const int first = static_cast<int>(task % runs) * kColumns;
    for (int u = first; u < std::min(first + kColumns, columns); ++u) column(view, u);
  });
}

class ColumnForward final : public ops::ForwardProject {
 public:
  ColumnForward(std::shared_ptr<ThreadPool> pool, ProjectColumn project)
      : pool_(std::move(pool)), project_(project) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                     ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(volume));
    const VolumeShape shape(source->grid());
    ForColumns(*pool_, MakeRayViews(matrices, source->grid(), stack->shape()),
               static_cast<int>(stack->shape().fast), [&](const RayView& view, int u) {
                 project_(view, u, shape, source->data(), stack->data());
               });
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
  ProjectColumn project_;
};

class ColumnBack final : public ops::MatchedBackproject {
 public:
  ColumnBack(std::shared_ptr<ThreadPool> pool, SpreadColumn spread)
      : pool_(std::move(pool)), spread_(spread) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const VolumeShape shape(target->grid());
    const bool alone = pool_->threads() == 1;
    ForColumns(*pool_, MakeRayViews(matrices, target->grid(), stack->shape()),
               static_cast<int>(stack->shape().fast), [&](const RayView& view, int u) {
                 spread_(view, u, shape, target->data(), stack->data(), alone);
               });
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
  SpreadColumn spread_;
};

}  // namespace

double MillimetresPerW(const RayView& view, double u, double v) {
  double square = 0;
  for (int i = 0; i < 3; ++i) {
    const double component = view.world0[i] + u * view.world_u[i] + v * view.world_v[i];
    square += component * component;
  }
  return std::sqrt(square);
}

ForwardProjectOr NewColumnForward(ops::Session& session, ProjectColumn project) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<ColumnForward>(own->pool(), project);
}

MatchedBackprojectOr NewColumnBack(ops::Session& session, SpreadColumn spread) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<ColumnBack>(own->pool(), spread);
}

}  // namespace isocenter::cpu
