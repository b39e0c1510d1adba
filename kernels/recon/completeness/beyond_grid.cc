#include "kernels/recon/completeness/beyond_grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "kernels/recon/completeness/frame_row.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

constexpr int kLookedAt = 8;  // rows of a frame, at most

/// Rays of one view, in voxel indices.
class RaysInGrid {
 public:
  RaysInGrid(const ProjectionMatrix& matrix, const VolumeGrid& grid)
      : grid_(grid), matrix_(ToVoxelIndices(matrix, grid)), inverse_(InverseLeft(matrix_)) {
    const Vec3 moved = Times(matrix_.m[3], matrix_.m[7], matrix_.m[11]);
    source_ = {-moved.x, -moved.y, -moved.z};
  }

  /// Whether the ray to (u, v) passes beside the grid, in the height of its slices where it comes
  /// nearest to the grid's axis.
  bool PassesBeside(double u, double v) const {
    const Vec3 way = Times(u, v, 1);
    double begin = -std::numeric_limits<double>::infinity(), end = -begin;
    Narrow(source_.x, way.x, grid_.nx, begin, end);
    Narrow(source_.y, way.y, grid_.ny, begin, end);
    if (end > begin) return false;
    const double sx = grid_.spacing.x, sy = grid_.spacing.y;
    const double dx = sx * way.x, dy = sy * way.y;
    const double cx = sx * (0.5 * (grid_.nx - 1) - source_.x),
                 cy = sy * (0.5 * (grid_.ny - 1) - source_.y);
    const double k = source_.z + (cx * dx + cy * dy) / (dx * dx + dy * dy) * way.z;
    return k > -0.5 && k < grid_.nz - 0.5;
  }

 private:
  Vec3 Times(double a, double b, double c) const {
    const auto& m = inverse_;
    return {m[0] * a + m[1] * b + m[2] * c, m[3] * a + m[4] * b + m[5] * c,
            m[6] * a + m[7] * b + m[8] * c};
  }

  /// To where a ray lies between the borders of `count` voxels.
  static void Narrow(double origin, double way, int count, double& begin, double& end) {
    const double low = -0.5 - origin, high = count - 0.5 - origin;
    if (way == 0) {
      if (low > 0 || high < 0) end = -std::numeric_limits<double>::infinity();
      return;
    }
    begin = std::max(begin, std::min(low / way, high / way));
    end = std::min(end, std::max(low / way, high / way));
  }

  const VolumeGrid& grid_;
  const ProjectionMatrix matrix_;
  const std::array<double, 9> inverse_;
  Vec3 source_;
};

}  // namespace

BeyondGrid::BeyondGrid(const Acquisition& acquisition, const VolumeGrid& grid)
    : acquisition_(acquisition), grid_(grid), columns_(OutermostColumns(acquisition.detector)) {}

void BeyondGrid::Add(const ProjectionMatrix& matrix, const ops::RawFrames& frames, int view,
                     double dose) {
  const RaysInGrid rays(matrix, grid_);
  const Detector& detector = acquisition_.detector;
  const int looked_at = std::min(kLookedAt, detector.rows);
  int beside = 0, wide = 0;
  double most = 0;
  for (int i = 0; i < looked_at; ++i) {
    const int v = (2 * i + 1) * detector.rows / (2 * looked_at);
    const FrameRow row = RowOf(frames, view, v);
    double line = -1;
    for (int u = 0; u + columns_ <= detector.columns; u += columns_) {
      if (!rays.PassesBeside(u, v) || !rays.PassesBeside(u + columns_ - 1, v)) continue;
      line = std::max(std::max(line, 0.0),
                      LineOf(acquisition_, SumOf(acquisition_, row, u, columns_), dose));
    }
    if (line >= 0) ++beside;
    if (!(line > kLine)) continue;
    ++wide;
    most = std::max(most, line);
  }
  if (wide <= kRows * beside) return;
  ++wide_views_;
  most_line_ = std::max(most_line_, most);
}

std::optional<std::string> BeyondGrid::Text() const {
  const auto views = static_cast<int>(acquisition_.trajectory.size());
  if (wide_views_ <= kViews * views) return std::nullopt;
  return absl::StrFormat(
      "in %d of %d views rays that pass beside the grid have line integrals of up to %.1f; "
      "expected are at most %.1f: the object is wider than the grid, whose voxels stand for what "
      "lies around it, too, and may be wrong by hundreds of HU; a grid that holds the object, or "
      "surroundings in coarse voxels, are right",
      wide_views_, views, most_line_, kLine);
}

}  // namespace isocenter::recon
