#include "kernels/cpu/fdk/turned_views.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/cpu/device/layout.h"
#include "kernels/cpu/device/transpose.h"
#include "kernels/geometry/detector_rows.h"

namespace isocenter::cpu {
namespace {

// A copy costs about as much as this many rows' share of the ramp filter.
constexpr int kMostRows = 128;

bool FollowsRows(const ProjectionMatrix& indexed, const VolumeGrid& grid) {
  const Projected centre =
      indexed.Project({0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0.5 * (grid.nz - 1)});
  if (!(centre.w > 0)) return false;
  const auto& m = indexed.m;
  return std::abs(m[2] - centre.u() * m[10]) > std::abs(m[6] - centre.v() * m[10]);
}

ColumnLayout LayoutOf(const BackprojectView& view, int rows) {
  return ColumnLayout({.slow = 1, .middle = view.columns, .fast = rows});
}

}  // namespace

absl::Status TurnedViews::Turn(std::span<const ProjectionMatrix> world, const VolumeGrid& grid,
                               ThreadPool& pool, std::span<BackprojectView> views) {
  struct Turned {
    BackprojectView& view;
    RowRange rows;
    int64_t at;  // in copies_
  };
  std::vector<Turned> turned;
  int64_t floats = 0;
  for (size_t i = 0; i < views.size(); ++i) {
    if (!FollowsRows(views[i].matrix, grid)) continue;
    const RowRange rows = RowsSeen(world.subspan(i, 1), grid, views[i].rows);
    if (rows.count > kMostRows) continue;
    turned.push_back({views[i], rows, floats});
    floats += RoundUpToLine(LayoutOf(views[i], rows.count).view_stride);
  }
  if (floats > copies_.floats()) {
    ISO_ASSIGN_OR_RETURN(copies_, PageBuffer::Create(floats));
  }
  pool.ParallelFor(static_cast<int64_t>(turned.size()), [&](int64_t i, int) {
    const auto& [view, rows, at] = turned[i];
    const ColumnLayout layout = LayoutOf(view, rows.count);
    float* const copy = copies_.data() + at;
    std::fill_n(copy, layout.view_stride, 0.0f);
    Transpose(view.image + rows.first, view.stride, view.columns, rows.count, copy + layout.first,
              layout.column_stride);
    ProjectionMatrix matrix = WithoutRowsBefore(view.matrix, rows.first);
    std::swap_ranges(matrix.m.begin(), matrix.m.begin() + 4, matrix.m.begin() + 4);
    view = {.matrix = matrix,
            .image = copy + layout.first,
            .stride = layout.column_stride,
            .rows = view.columns,
            .columns = rows.count};
  });
  return absl::OkStatus();
}

}  // namespace isocenter::cpu
