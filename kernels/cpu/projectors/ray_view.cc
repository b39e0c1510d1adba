#include "kernels/cpu/projectors/ray_view.h"

#include <algorithm>

namespace isocenter::cpu {
namespace {

RayView::Triple Column(const std::array<double, 9>& matrix, int column) {
  return {matrix[column], matrix[3 + column], matrix[6 + column]};
}

// The first plane whose position is above `bound`, or above or at it.
int FirstAbove(double bound, bool or_at, int first, int last) {
  const double plane = or_at ? std::ceil(bound) : std::floor(bound) + 1;
  return static_cast<int>(std::clamp<double>(plane, first, last));
}

PlaneRun Whole(int first, int last) {
  return {.first = first, .last = std::max(first, last), .at = static_cast<double>(first)};
}

}  // namespace

std::vector<RayView> MakeRayViews(std::span<const ProjectionMatrix> matrices,
                                  const VolumeGrid& grid, Shape3 shape) {
  const ColumnLayout layout(shape);
  std::vector<RayView> views;
  views.reserve(matrices.size());
  for (const ProjectionMatrix& world : matrices) {
    const ProjectionMatrix indexed = ToVoxelIndices(world, grid);
    const std::array<double, 9> inverse = InverseLeft(indexed), in_world = InverseLeft(world);
    RayView view{.source = {},
                 .d0 = Column(inverse, 2),
                 .du = Column(inverse, 0),
                 .dv = Column(inverse, 1),
                 .world0 = Column(in_world, 2),
                 .world_u = Column(in_world, 0),
                 .world_v = Column(in_world, 1),
                 .image = static_cast<int64_t>(views.size()) * layout.view_stride + layout.first,
                 .stride = layout.column_stride,
                 .rows = static_cast<int>(shape.middle),
                 .columns = static_cast<int>(shape.fast)};
    for (int i = 0; i < 3; ++i) {
      view.source[i] = -(inverse[3 * i] * indexed(0, 3) + inverse[3 * i + 1] * indexed(1, 3) +
                         inverse[3 * i + 2] * indexed(2, 3));
    }
    views.push_back(view);
  }
  return views;
}

VolumeShape::VolumeShape(const VolumeGrid& grid) : size{grid.nx, grid.ny, grid.nz} {
  const VolumeLayout layout(grid);
  stride = {layout.column_stride, layout.row_stride, 1};
}

PlaneRun PlanesInFront(double source, Heading heading, int first, int last) {
  if (heading.backward) return Whole(first, FirstAbove(source, true, first, last));
  return Whole(FirstAbove(source, false, first, last), last);
}

SlabRuns SlabsInFront(double source, Heading heading, int first, int last) {
  SlabRuns runs;
  double low, high;  // of the slab that the source is in
  int plane;
  if (heading.backward) {
    runs.whole = Whole(first, FirstAbove(source - 0.5, false, first, last));
    plane = runs.whole.last;
    low = plane - 0.5;
    high = source;
  } else {
    runs.whole = Whole(FirstAbove(source + 0.5, true, first, last), last);
    plane = runs.whole.first - 1;
    low = source;
    high = plane + 0.5;
  }
  if (plane >= first && plane < last && high > low && high - low < 1) {
    runs.part = {
        .first = plane, .last = plane + 1, .at = 0.5 * (low + high), .thickness = high - low};
  }
  return runs;
}

}  // namespace isocenter::cpu
