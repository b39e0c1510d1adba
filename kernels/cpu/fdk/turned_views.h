// Views for grids along whose z a detector row is followed, and not a column: planes across the
// rotation axis.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "kernels/base/thread_pool.h"
#include "kernels/cpu/device/buffers.h"
#include "kernels/cpu/fdk/backproject_job.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cpu {

/// Back-projection from register windows needs neighbouring voxels along z to see neighbouring
/// pixels of a detector column. Where they see those of a row, u and v are exchanged, in a copy of
/// the rows that the grid sees; this is done where they are few, as with a plane. Not thread-safe.
class TurnedViews {
 public:
  explicit TurnedViews(std::shared_ptr<ops::MemoryBudget> budget) : budget_(std::move(budget)) {}
  /// Of the copies of all views of a stack, at most.
  static int64_t Bytes(const Shape3& stack);

  /// Replaces those of `views` for which it is worth it; they refer to memory that stays until the
  /// next call. `world` are their matrices, `grid` the volume's. Whether a view is turned depends
  /// on it and the grid alone. Errors: RESOURCE_EXHAUSTED.
  absl::Status Turn(std::span<const ProjectionMatrix> world, const VolumeGrid& grid,
                    ThreadPool& pool, std::span<BackprojectView> views);

 private:
  std::shared_ptr<ops::MemoryBudget> budget_;
  std::optional<DeviceMemory> copies_;
};

}  // namespace isocenter::cpu
