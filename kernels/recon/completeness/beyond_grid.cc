#include "kernels/recon/completeness/beyond_grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

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

  enum class Place { kInside, kBeside, kPastAnEnd };

  /// Where the ray to (u, v) passes: heights are those where it comes nearest to the grid's axis.
  /// Nothing for rays beside what is above or below the grid.
  std::optional<Place> PlaceOf(double u, double v) const {
    const Vec3 way = Times(u, v, 1);
    double begin = -std::numeric_limits<double>::infinity(), end = -begin;
    Narrow(source_.x, way.x, grid_.nx, begin, end);
    Narrow(source_.y, way.y, grid_.ny, begin, end);
    const double sx = grid_.spacing.x, sy = grid_.spacing.y;
    const double dx = sx * way.x, dy = sy * way.y;
    const double cx = sx * (0.5 * (grid_.nx - 1) - source_.x),
                 cy = sy * (0.5 * (grid_.ny - 1) - source_.y);
    const double k = source_.z + (cx * dx + cy * dy) / (dx * dx + dy * dy) * way.z;
    const bool in_height = k > -0.5 && k < grid_.nz - 0.5;
    if (end > begin) return in_height ? Place::kInside : Place::kPastAnEnd;
    return in_height ? std::optional(Place::kBeside) : std::nullopt;
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

void BeyondGrid::Rows::Count(double line) {
  ++asked;
  if (!(line > kLine)) return;
  ++above_line;
  most_line = std::max(most_line, line);
}

void BeyondGrid::Views::Count(const Rows& rows, double share) {
  if (rows.above_line <= share * rows.asked) return;
  ++views;
  most_line = std::max(most_line, rows.most_line);
}

BeyondGrid::BeyondGrid(const Acquisition& acquisition, const VolumeGrid& grid,
                       const std::optional<Surrounded>& surrounded)
    : acquisition_(acquisition),
      grid_(grid),
      low_(surrounded && surrounded->grid.nz < kLeastCoarse * surrounded->factor ? surrounded
                                                                                 : std::nullopt),
      columns_(OutermostColumns(acquisition.detector)) {}

void BeyondGrid::Add(const ProjectionMatrix& matrix, const ops::RawFrames& frames, int view,
                     double dose) {
  const Looked all = LookAt(grid_, matrix, frames, view, dose);
  wide_.Count(all.beside, kRows);
  long_.Count(all.past, kRowsPastEnds);
  if (!low_) return;
  past_low_.Count(LookAt(low_->grid, matrix, frames, view, dose).past, kRowsPastEnds);
}

BeyondGrid::Looked BeyondGrid::LookAt(const VolumeGrid& grid, const ProjectionMatrix& matrix,
                                      const ops::RawFrames& frames, int view, double dose) const {
  using Place = RaysInGrid::Place;
  const RaysInGrid rays(matrix, grid);
  const Detector& detector = acquisition_.detector;
  const int looked_at = std::min(kLookedAt, detector.rows);
  Looked looked;
  for (int i = 0; i < looked_at; ++i) {
    const int v = (2 * i + 1) * detector.rows / (2 * looked_at);
    const FrameRow row = RowOf(frames, view, v);
    double inside_line = 0, beside_line = -1, past_line = 0;
    for (int u = 0; u + columns_ <= detector.columns; u += columns_) {
      const std::optional<Place> place = rays.PlaceOf(u, v);
      if (!place || rays.PlaceOf(u + columns_ - 1, v) != place) continue;
      double& most = *place == Place::kInside   ? inside_line
                     : *place == Place::kBeside ? beside_line
                                                : past_line;
      most = std::max(std::max(most, 0.0),
                      LineOf(acquisition_, SumOf(acquisition_, row, u, columns_), dose));
    }
    if (beside_line >= 0) looked.beside.Count(beside_line);
    if (std::max(inside_line, past_line) > kLine) looked.past.Count(past_line);
  }
  return looked;
}

std::vector<std::string> BeyondGrid::Texts() const {
  const auto views = static_cast<int>(acquisition_.trajectory.size());
  std::vector<std::string> texts;
  if (wide_.views > kViews * views) {
    texts.push_back(absl::StrFormat(
        "in %d of %d views rays that pass beside the grid have line integrals of up to %.1f; "
        "expected are at most %.1f: the object is wider than the grid, whose voxels stand for what "
        "lies around it, too, and may be wrong by hundreds of HU; a grid that holds the object, or "
        "surroundings in coarse voxels, are right",
        wide_.views, views, wide_.most_line, kLine));
  }
  if (long_.views > kViews * views) {
    texts.push_back(absl::StrFormat(
        "in %d of %d views rays that pass above or below the grid have line integrals of up to "
        "%.1f, in more than %.0f %% of the rows that see the object; expected are at most %.1f: "
        "the object is longer than the grid, whose first and last slices, or all where there are "
        "few, stand for what lies beyond them, too, and may be wrong by hundreds of HU; a grid "
        "with more slices is right, surroundings in coarse voxels are better than nothing",
        long_.views, views, long_.most_line, 100 * kRowsPastEnds, kLine));
  }
  if (past_low_.views > kViews * views) {
    texts.push_back(absl::StrFormat(
        "the grid has %d slices, and in %d of %d views rays that pass above or below them have "
        "line integrals of up to %.1f; expected are at most %.1f, or %d slices and more: the "
        "object is longer than the grid, and what surrounds it is in voxels %d times as coarse, "
        "whose errors the grid's first and last slices, or all where there are few, take over: "
        "tens to hundreds of HU; a grid with more slices is right, surroundings that are less "
        "coarse are better",
        low_->grid.nz, past_low_.views, views, past_low_.most_line, kLine,
        kLeastCoarse * low_->factor, low_->factor));
  }
  return texts;
}

}  // namespace isocenter::recon
