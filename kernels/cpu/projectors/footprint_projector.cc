#include "kernels/cpu/projectors/footprint_projector.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/device/layout.h"
#include "kernels/cpu/projectors/footprint_plain.h"
#include "kernels/cpu/projectors/methods.h"
#include "kernels/geometry/source_position.h"
#include "kernels/ops/check.h"

namespace isocenter::cpu {
namespace {

// What a box sees of a few views stays in a core's second cache.
constexpr int kBoxSide = 16;
// Views that are worked on while a box is in the cache.
constexpr int64_t kGroup = 4;

// In whole voxels.
struct Box {
  int x0, x1, y0, y1, z0, z1;
};

std::vector<Box> CutIntoBoxes(const VolumeGrid& grid, int parts) {
  const int height = kRunHeight / parts;
  std::vector<Box> boxes;
  for (int y = 0; y < grid.ny; y += kBoxSide) {
    for (int x = 0; x < grid.nx; x += kBoxSide) {
      for (int z = 0; z < grid.nz; z += height) {
        boxes.push_back({x, std::min(x + kBoxSide, grid.nx), y, std::min(y + kBoxSide, grid.ny), z,
                         std::min(z + height, grid.nz)});
      }
    }
  }
  return boxes;
}

double Determinant(const ProjectionMatrix& p) {
  return Dot({p(0, 0), p(0, 1), p(0, 2)},
             Cross({p(1, 0), p(1, 1), p(1, 2)}, {p(2, 0), p(2, 1), p(2, 2)}));
}

FootprintView ViewOf(const ProjectionMatrix& world, const VolumeGrid& grid, int parts) {
  FootprintView view{};
  // Part i' of an axis has its centre at voxel index i'/parts + first.
  const double first = 0.5 / parts - 0.5;
  view.matrix = ToVoxelIndices(world, grid);
  for (int row = 0; row < 3; ++row) {
    double* const m = view.matrix.m.data() + 4 * row;
    m[3] += first * (m[0] + m[1] + m[2]);
    for (int axis = 0; axis < 3; ++axis) m[axis] /= parts;
  }
  const double spacing[] = {grid.spacing.x, grid.spacing.y, grid.spacing.z};
  for (int axis = 0; axis < 3; ++axis) {
    view.step[axis] =
        spacing[axis] / parts *
        Vec3{grid.direction[axis], grid.direction[3 + axis], grid.direction[6 + axis]};
  }
  view.from_source = grid.VoxelToWorld(first, first, first) - SourceOf(world);
  const double volume = spacing[0] * spacing[1] * spacing[2] / (parts * parts * parts);
  view.mass = volume * std::abs(Determinant(world));
  view.axial = ops::AxialAxis(world, grid);
  return view;
}

absl::StatusOr<std::vector<FootprintView>> ViewsOf(std::span<const ProjectionMatrix> matrices,
                                                   const VolumeGrid& grid, const Stack& stack,
                                                   int parts) {
  const Shape3 shape = stack.shape();
  if (static_cast<int64_t>(matrices.size()) > shape.slow) {
    return absl::InvalidArgumentError(absl::StrCat(
        matrices.size(), " matrices for a projection stack of ", shape.slow, " views"));
  }
  const ColumnLayout layout(shape);
  std::vector<FootprintView> views;
  for (size_t i = 0; i < matrices.size(); ++i) {
    FootprintView view = ViewOf(matrices[i], grid, parts);
    // Back-projections do not write to it.
    view.image = const_cast<float*>(stack.data()) + static_cast<int64_t>(i) * layout.view_stride +
                 layout.first;
    view.stride = layout.column_stride;
    view.rows = static_cast<int>(shape.middle);
    view.columns = static_cast<int>(shape.fast);
    views.push_back(view);
  }
  return views;
}

// Calls body(x, y, run) for each run of parts that the voxel column (x, y) of a box is made of.
template <class Body>
void ForEachRunOfParts(const Box& box, int x, int y, int parts, const Body& body) {
  for (int part_y = 0; part_y < parts; ++part_y) {
    for (int part_x = 0; part_x < parts; ++part_x) {
      body(VoxelRun{parts * x + part_x, parts * y + part_y, parts * box.z0,
                    parts * (box.z1 - box.z0)});
    }
  }
}

class Forward final : public ops::ForwardProject {
 public:
  Forward(std::shared_ptr<ThreadPool> pool, const FootprintModel& model)
      : pool_(std::move(pool)), model_(model) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                     ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(volume));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(projections));
    const VolumeGrid& grid = source->grid();
    ISO_ASSIGN_OR_RETURN(const std::vector<FootprintView> views,
                         ViewsOf(matrices, grid, *stack, model_.parts));
    const std::vector<Box> boxes = CutIntoBoxes(grid, model_.parts);
    // Views are cut into ranges of columns until there is enough for all threads. A pixel's sum is
    // over boxes and columns of voxels in their order, however they are cut.
    const int columns = static_cast<int>(stack->shape().fast);
    const auto count = static_cast<int64_t>(views.size());
    const int64_t groups = (count + kGroup - 1) / kGroup;
    constexpr int kLeastColumns = 64;
    const int64_t ranges = groups == 0
                               ? 0
                               : std::clamp<int64_t>((4 * pool_->threads() + groups - 1) / groups,
                                                     1, std::max(1, columns / kLeastColumns));
    std::vector<RunScratch> scratch(static_cast<size_t>(pool_->threads()));
    pool_->ParallelFor(groups * ranges, [&](int64_t job, int worker) {
      const int64_t group = job / ranges, range = job % ranges;
      const ColumnRange wanted{static_cast<int>(columns * range / ranges),
                               static_cast<int>(columns * (range + 1) / ranges)};
      const int64_t first = group * kGroup, end = std::min(first + kGroup, count);
      for (const Box& box : boxes) {
        for (int64_t view = first; view < end; ++view) {
          AddBox(views[view], box, wanted, *source, scratch[worker]);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  void AddBox(const FootprintView& view, const Box& box, ColumnRange wanted, const Volume& volume,
              RunScratch& scratch) const {
    const VolumeLayout layout(volume.grid());
    std::array<float, kRunHeight> parts;
    for (int y = box.y0; y < box.y1; ++y) {
      for (int x = box.x0; x < box.x1; ++x) {
        const float* voxels =
            volume.data() + y * layout.row_stride + x * layout.column_stride + box.z0;
        if (model_.parts > 1) {
          for (int z = 0; z < box.z1 - box.z0; ++z) {
            parts[2 * z] = parts[2 * z + 1] = voxels[z];
          }
          voxels = parts.data();
        }
        ForEachRunOfParts(box, x, y, model_.parts, [&](const VoxelRun& run) {
          RunGeometry geometry;
          switch (Describe(view, model_.footprint, run, wanted, geometry)) {
            case RunKind::kUnseen:
              break;
            case RunKind::kRegular:
              model_.kernels.forward(geometry, voxels, scratch);
              break;
            case RunKind::kOther:
              PlainForward(view, model_.footprint, run, wanted, voxels);
              break;
          }
        });
      }
    }
  }

  std::shared_ptr<ThreadPool> pool_;
  const FootprintModel model_;
};

class Back final : public ops::MatchedBackproject {
 public:
  Back(std::shared_ptr<ThreadPool> pool, const FootprintModel& model)
      : pool_(std::move(pool)), model_(model) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const VolumeGrid& grid = target->grid();
    ISO_ASSIGN_OR_RETURN(const std::vector<FootprintView> views,
                         ViewsOf(matrices, grid, *stack, model_.parts));
    const std::vector<Box> boxes = CutIntoBoxes(grid, model_.parts);
    pool_->ParallelFor(static_cast<int64_t>(boxes.size()), [&](int64_t index, int) {
      for (size_t first = 0; first < views.size(); first += kGroup) {
        const size_t count = std::min<size_t>(kGroup, views.size() - first);
        AddViews(std::span(views).subspan(first, count), boxes[index], *target);
      }
    });
    return absl::OkStatus();
  }

 private:
  void AddViews(std::span<const FootprintView> views, const Box& box, Volume& volume) const {
    const VolumeLayout layout(volume.grid());
    std::array<float, kRunHeight> parts;
    for (int y = box.y0; y < box.y1; ++y) {
      for (int x = box.x0; x < box.x1; ++x) {
        float* const voxels =
            volume.data() + y * layout.row_stride + x * layout.column_stride + box.z0;
        float* const sums = model_.parts > 1 ? parts.data() : voxels;
        if (model_.parts > 1) parts.fill(0);
        ForEachRunOfParts(box, x, y, model_.parts, [&](const VoxelRun& run) {
          for (const FootprintView& view : views) AddView(view, run, sums);
        });
        if (model_.parts > 1) {
          for (int z = 0; z < box.z1 - box.z0; ++z) voxels[z] += parts[2 * z] + parts[2 * z + 1];
        }
      }
    }
  }
  void AddView(const FootprintView& view, const VoxelRun& run, float* voxels) const {
    RunGeometry geometry;
    switch (Describe(view, model_.footprint, run, {0, view.columns}, geometry)) {
      case RunKind::kUnseen:
        break;
      case RunKind::kRegular:
        model_.kernels.back(geometry, voxels);
        break;
      case RunKind::kOther:
        PlainBack(view, model_.footprint, run, voxels);
        break;
    }
  }

  std::shared_ptr<ThreadPool> pool_;
  const FootprintModel model_;
};

}  // namespace

int64_t FootprintForwardBytes(const ops::Device& device, const ops::Extents&) {
  return device.limits().threads * static_cast<int64_t>(sizeof(RunScratch));
}

std::unique_ptr<ops::ForwardProject> NewFootprintForward(std::shared_ptr<ThreadPool> pool,
                                                         const FootprintModel& model) {
  return std::make_unique<Forward>(std::move(pool), model);
}

std::unique_ptr<ops::MatchedBackproject> NewFootprintBack(std::shared_ptr<ThreadPool> pool,
                                                          const FootprintModel& model) {
  return std::make_unique<Back>(std::move(pool), model);
}

}  // namespace isocenter::cpu
