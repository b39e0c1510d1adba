#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/fdk/backproject_job.h"
#include "kernels/cpu/fdk/methods.h"
#include "kernels/cpu/fdk/turned_views.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fdk/backproject_voxel.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come before the headers that it compiles once per target.
#include "hwy/highway.h"
#include "kernels/cpu/fdk/backproject_gather-inl.h"
#include "kernels/cpu/fdk/backproject_windows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

// Views that are added to a box before the next ones: so many that the volume is not read and
// written too often, so few that the part of them that a box sees fits into the second cache.
constexpr size_t kGroup = 4;

void RunJob(const BackprojectJob& job) {
  BlockTable table;
  int32_t voxel_offset[kTableBlocks];
  for (int i = 0; i < kTableBlocks; ++i) {
    const int column = i % kLanes;
    voxel_offset[i] = static_cast<int32_t>(column % kPatchX * job.column_stride +
                                           column / kPatchX * job.row_stride + i / kLanes * kLanes);
  }
  const size_t groups = (job.views.size() + kGroup - 1) / kGroup;
  const size_t units = job.boxes.size() * groups;
  const auto views_of = [&](size_t unit) {
    const size_t first = unit % groups * kGroup;
    return job.views.subspan(first, std::min(kGroup, job.views.size() - first));
  };
  for (size_t unit = 0; unit < units; ++unit) {
    const VoxelBox& box = job.boxes[unit / groups];
    const auto views = views_of(unit);
    // Each view of the next unit is prefetched while one of this unit is worked on.
    const size_t next = unit + 1;
    ViewPrefetcher prefetchers[kGroup];
    bool regular[kGroup];
    for (size_t i = 0; i < views.size(); ++i) {
      regular[i] = IsRegularEverywhere(views[i], box, kLanes);
    }
    int lines = 0;
    if (next < units) {
      const auto next_views = views_of(next);
      const int steps =
          (box.x1 - box.x0 + kPatchX - 1) / kPatchX * ((box.y1 - box.y0 + kPatchY - 1) / kPatchY);
      for (size_t i = 0; i < next_views.size(); ++i) {
        prefetchers[i] = ViewPrefetcher(next_views[i], job.boxes[next / groups]);
        lines = std::max(lines, static_cast<int>(prefetchers[i].lines() / steps + 1));
      }
    }
    for (int y = box.y0; y < box.y1; y += kPatchY) {
      for (int x = box.x0; x < box.x1; x += kPatchX) {
        const bool whole = x + kPatchX <= box.x1 && y + kPatchY <= box.y1;
        const VoxelBox patch{
            x, std::min(x + kPatchX, box.x1), y, std::min(y + kPatchY, box.y1), box.z0, box.z1};
        float* voxels = job.volume + y * job.row_stride + x * job.column_stride + box.z0;
        for (size_t i = 0; i < views.size(); ++i) {
          prefetchers[i].Issue(lines);
          AddPatch(views[i], patch, whole && regular[i], voxel_offset, voxels, table);
        }
      }
    }
  }
}

#else

void RunJob(const BackprojectJob& job) {
  const int lanes = static_cast<int>(hn::Lanes(D()));
  for (const VoxelBox& box : job.boxes) {
    for (int y = box.y0; y < box.y1; ++y) {
      for (int x = box.x0; x < box.x1; ++x) {
        float* column = job.volume + y * job.row_stride + x * job.column_stride;
        for (const BackprojectView& view : job.views) {
          for (int z = box.z0; z < box.z1; z += lanes) GatherBlock(view, x, y, z, column + z);
        }
      }
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(RunJob);

// A box is small enough that what it sees of a few views stays in a core's second cache, and large
// enough that little of it is read for the neighbouring box again.
constexpr int kBoxSide = 16;
constexpr size_t kBoxesPerJob = 8;  // the next one's views are prefetched

// How the columns of a volume are worked on: nx x ny of them, nz voxels each, in boxes.
struct Columns {
  int nx, ny, nz, box_side;
  int64_t column_stride, row_stride;
};

// Columns are done in patches of several along x and y. Where a grid has but one row of them they
// are taken as rows of kFold, one after the other, so that patches are full.
constexpr int kFold = 4;
bool IsFolded(const VolumeGrid& grid) { return grid.ny == 1 && grid.nx % kFold == 0; }

Columns ColumnsOf(const VolumeGrid& grid) {
  const VolumeLayout layout(grid);
  if (IsFolded(grid)) {
    // A plane's boxes are small, or there would be fewer than threads.
    return {kFold, grid.nx / kFold,      grid.nz,
            kFold, layout.column_stride, kFold * layout.column_stride};
  }
  return {grid.nx, grid.ny, grid.nz, kBoxSide, layout.column_stride, layout.row_stride};
}

ProjectionMatrix ToColumnIndices(const ProjectionMatrix& world, const VolumeGrid& grid) {
  ProjectionMatrix indexed = ToVoxelIndices(world, grid);
  if (IsFolded(grid)) {
    for (int row = 0; row < 3; ++row) indexed.m[4 * row + 1] = kFold * indexed.m[4 * row];
  }
  return indexed;
}

std::vector<VoxelBox> CutIntoBoxes(const Columns& c) {
  std::vector<VoxelBox> boxes;
  for (int y = 0; y < c.ny; y += c.box_side) {
    for (int z = 0; z < c.nz; z += kBoxHeight) {
      for (int x = 0; x < c.nx; x += c.box_side) {
        boxes.push_back({x, std::min(x + c.box_side, c.nx), y, std::min(y + c.box_side, c.ny), z,
                         std::min(z + kBoxHeight, c.nz)});
      }
    }
  }
  return boxes;
}

class BackprojectVoxel final : public ops::Backproject {
 public:
  explicit BackprojectVoxel(const CpuSession& session)
      : pool_(session.pool()), turned_(session.budget()) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const VolumeGrid& grid = target->grid();
    const ColumnLayout columns(stack->shape());
    std::vector<BackprojectView> views;
    for (size_t i = 0; i < matrices.size(); ++i) {
      views.push_back(
          {.matrix = ToColumnIndices(matrices[i], grid),
           .image = stack->data() + static_cast<int64_t>(i) * columns.view_stride + columns.first,
           .stride = columns.column_stride,
           .rows = static_cast<int>(stack->shape().middle),
           .columns = static_cast<int>(stack->shape().fast)});
    }
    ISO_RETURN_IF_ERROR(turned_.Turn(matrices, grid, *pool_, views));
    const Columns voxels = ColumnsOf(grid);
    const std::vector<VoxelBox> boxes = CutIntoBoxes(voxels);
    const auto run = HWY_DYNAMIC_DISPATCH(RunJob);
    // Of few boxes each thread gets some.
    const size_t per_job = std::clamp<size_t>(boxes.size() / pool_->threads(), 1, kBoxesPerJob);
    const auto jobs = static_cast<int64_t>((boxes.size() + per_job - 1) / per_job);
    pool_->ParallelFor(jobs, [&](int64_t index, int) {
      const size_t first = static_cast<size_t>(index) * per_job;
      run({.views = views,
           .boxes = std::span(boxes).subspan(first, std::min(per_job, boxes.size() - first)),
           .volume = target->data(),
           .column_stride = voxels.column_stride,
           .row_stride = voxels.row_stride});
    });
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
  TurnedViews turned_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectVoxel(ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<BackprojectVoxel>(*own);
}

int64_t BackprojectVoxelBytes(const ops::Device&, const ops::Extents& extents) {
  return TurnedViews::Bytes(extents.stack);
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
