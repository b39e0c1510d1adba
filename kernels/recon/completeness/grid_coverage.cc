#include "kernels/recon/completeness/grid_coverage.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/share_text.h"
#include "kernels/geometry/field_of_view.h"

namespace isocenter::recon {
namespace {

constexpr int kPointsPerAxis = 11;
constexpr int kMostViews = 64;

/// `count` voxels at most, evenly from the first to the last.
std::vector<int> Sampled(int size, int count) {
  count = std::min(size, count);
  std::vector<int> indices;
  for (int i = 0; i < count; ++i) {
    indices.push_back(count == 1 ? size / 2
                                 : static_cast<int>(int64_t{i} * (size - 1) / (count - 1)));
  }
  return indices;
}

std::vector<Vec3> Points(const VolumeGrid& grid, int per_axis) {
  std::vector<Vec3> points;
  for (const int k : Sampled(grid.nz, per_axis)) {
    for (const int j : Sampled(grid.ny, per_axis)) {
      for (const int i : Sampled(grid.nx, per_axis)) points.push_back(grid.VoxelToWorld(i, j, k));
    }
  }
  return points;
}

/// Whether a line along one of the detector's sides has all points of a convex body beyond it.
bool IsBeside(const ProjectionMatrix& matrix, const Detector& detector,
              const std::vector<Vec3>& corners) {
  std::array<bool, 4> beyond{true, true, true, true};
  for (const Vec3& corner : corners) {
    const Projected p = matrix.Project(corner);
    if (!(p.w > 0)) return false;
    beyond[0] &= p.u() < 0;
    beyond[1] &= p.u() > detector.columns - 1;
    beyond[2] &= p.v() < 0;
    beyond[3] &= p.v() > detector.rows - 1;
  }
  return std::ranges::any_of(beyond, [](bool side) { return side; });
}

bool IsOnDetector(const ProjectionMatrix& matrix, const Detector& detector, Vec3 point) {
  const Projected p = matrix.Project(point);
  return p.w > 0 && p.u() >= 0 && p.u() <= detector.columns - 1 && p.v() >= 0 &&
         p.v() <= detector.rows - 1;
}

/// Where a grid should be, where that can be said.
std::string SeenText(const Acquisition& acquisition) {
  const auto field = ComputeFieldOfView(acquisition.trajectory, acquisition.detector);
  if (!field.ok()) return "";
  return absl::StrFormat(
      "; all views see a cylinder around the isocentre of %.0f mm radius and, on the axis, %.0f mm "
      "to either side",
      field->radius_mm, field->half_height_mm);
}

std::string Text(const VolumeGrid& grid) {
  const Vec3 middle =
      grid.VoxelToWorld(0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0.5 * (grid.nz - 1));
  return absl::StrFormat(
      "the grid (%dx%dx%d voxels of %.4g x %.4g x %.4g mm around (%.4g, %.4g, "
      "%.4g) mm)",
      grid.nx, grid.ny, grid.nz, grid.spacing.x, grid.spacing.y, grid.spacing.z, middle.x, middle.y,
      middle.z);
}

}  // namespace

absl::Status CheckGridIsSeen(const Acquisition& acquisition, const VolumeGrid& grid) {
  const std::vector<Vec3> corners = Points(grid, 2);
  for (const ProjectionMatrix& matrix : acquisition.trajectory) {
    if (!IsBeside(matrix, acquisition.detector, corners)) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Text(grid), " lies beside the detector in all ", acquisition.trajectory.size(),
                   " views; legal is one that some view sees", SeenText(acquisition)));
}

std::optional<std::string> LittleSeenText(const Acquisition& acquisition, const VolumeGrid& grid) {
  const std::vector<Vec3> points = Points(grid, kPointsPerAxis);
  const std::vector<int> views =
      Sampled(static_cast<int>(acquisition.trajectory.size()), kMostViews);
  int seen = 0;
  for (const Vec3& point : points) {
    const auto on_detector = std::ranges::count_if(views, [&](int view) {
      return IsOnDetector(acquisition.trajectory[view], acquisition.detector, point);
    });
    seen += 2 * on_detector >= static_cast<std::ptrdiff_t>(views.size());
  }
  const double share = seen / static_cast<double>(points.size());
  if (share >= kLeastSeenShare) return std::nullopt;
  return absl::StrFormat(
      "half of the views or more see only %s of %s; expected is %.0f %% or more%s",
      ShareText(share), Text(grid), 100 * kLeastSeenShare, SeenText(acquisition));
}

}  // namespace isocenter::recon
