#include "kernels/cpu/cell_tile.h"

#include <algorithm>
#include <cmath>

namespace isocenter::cpu {
namespace {

// Lower neighbours' indices, first to last.
struct IndexRange {
  int first, last;
  int count() const { return last - first + 1; }
};

// Those of the rays that leave the source at `source` with one of four slopes, and of all between
// them: the projection of a tile to a plane is the hull of its corners'.
IndexRange LowerIndices(double source, const std::array<double, 4>& slopes, double distance,
                        double extent) {
  constexpr double kSlack = 1e-3;  // of float32's positions
  double low = 1e300, high_enter = -1e300, high_leave = -1e300;
  for (const double slope : slopes) {
    const double enter = source + slope * (distance - 0.5 * extent);
    const double leave = source + slope * (distance + 0.5 * extent);
    low = std::min({low, enter, leave});
    high_enter = std::max(high_enter, enter);
    high_leave = std::max(high_leave, leave);
  }
  const double half = extent > 0 ? 0.5 : 0;  // from a voxel's centre to its face
  const double high = std::min(high_enter, high_leave);
  const auto whole = [](double index) {
    return static_cast<int>(std::clamp(std::floor(index), -1e8, 1e8));
  };
  return {whole(low + half - kSlack), whole(high + half + kSlack)};
}

bool IsSeen(IndexRange range, int size) { return range.last >= -1 && range.first < size; }

}  // namespace

CellTile NextPlanes(const RayView& view, const VolumeShape& volume, RayAxes axes,
                    const DetectorTile& tile, const PlaneRun& planes, bool slabs) {
  std::array<double, 4> slopes_b, slopes_c;
  for (int corner = 0; corner < 4; ++corner) {
    const double u = corner % 2 == 0 ? tile.first_u : tile.last_u - 1;
    const double v = corner / 2 == 0 ? tile.first_v : tile.last_v - 1;
    const double per_a = 1 / view.Direction(axes.a, u, v);
    slopes_b[corner] = view.Direction(axes.b, u, v) * per_a;
    slopes_c[corner] = view.Direction(axes.c, u, v) * per_a;
  }
  CellTile next{.action = CellTile::Action::kUnseen, .planes = planes, .boxes = {}, .cells = 0};
  int count = 0;
  for (; count < std::min(planes.count(), kScatterPlanes); ++count) {
    const double distance = planes.at + count - view.source[axes.a];
    const double extent = slabs ? planes.thickness : 0;
    const IndexRange b = LowerIndices(view.source[axes.b], slopes_b, distance, extent);
    const IndexRange c = LowerIndices(view.source[axes.c], slopes_c, distance, extent);
    const int row_cells = c.count() + 1;
    const int64_t cells = int64_t{b.count()} * row_cells + 1;
    CellTile::Action action = CellTile::Action::kCells;
    if (!IsSeen(b, volume.size[axes.b]) || !IsSeen(c, volume.size[axes.c])) {
      action = CellTile::Action::kUnseen;
    } else if (cells > kMaxCells) {
      action = CellTile::Action::kDirect;
    }
    if (count == 0) next.action = action;
    if (action != next.action) break;
    if (action != CellTile::Action::kCells) continue;
    if (next.cells + cells > kMaxCells) break;
    next.boxes[count] = {.first_b = b.first,
                         .first_c = c.first,
                         .cells_b = b.count(),
                         .cells_c = c.count(),
                         .row_cells = row_cells,
                         .first_cell = next.cells + 1};
    next.cells += cells;
  }
  next.planes.last = planes.first + count;
  return next;
}

}  // namespace isocenter::cpu
