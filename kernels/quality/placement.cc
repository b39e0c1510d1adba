#include "kernels/quality/placement.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::quality {
namespace {

// Voxels within `radius` of `center`, as far as they are in the volume. Those that are not finite
// are left out.
void VisitBall(const VolumeView& volume, Vec3 center, double radius,
               absl::FunctionRef<void(double, Vec3)> visit) {
  const VolumeGrid& grid = volume.grid;
  const Vec3 at = grid.WorldToVoxel(center);
  const auto first = [radius](double c, double spacing) {
    return static_cast<int>(std::max(0.0, std::floor(c - radius / spacing)));
  };
  const auto last = [radius](double c, double spacing, int count) {
    return static_cast<int>(std::min(count - 1.0, std::ceil(c + radius / spacing)));
  };
  for (int k = first(at.z, grid.spacing.z); k <= last(at.z, grid.spacing.z, grid.nz); ++k) {
    for (int j = first(at.y, grid.spacing.y); j <= last(at.y, grid.spacing.y, grid.ny); ++j) {
      for (int i = first(at.x, grid.spacing.x); i <= last(at.x, grid.spacing.x, grid.nx); ++i) {
        const Vec3 p = grid.VoxelToWorld(i, j, k);
        const double value = volume.voxels(k, j, i);
        if (std::isfinite(value) && Norm(p - center) <= radius) visit(value, p);
      }
    }
  }
}

// "-32.0 to 32.0, ... mm along x, y, z": what the voxels cover of the world.
std::string CoverText(const VolumeGrid& grid) {
  Vec3 low = grid.VoxelToWorld(-0.5, -0.5, -0.5), high = low;
  for (int corner = 1; corner < 8; ++corner) {
    const Vec3 p =
        grid.VoxelToWorld(corner & 1 ? grid.nx - 0.5 : -0.5, corner & 2 ? grid.ny - 0.5 : -0.5,
                          corner & 4 ? grid.nz - 0.5 : -0.5);
    low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
  }
  return absl::StrFormat("%.1f to %.1f, %.1f to %.1f and %.1f to %.1f mm along x, y and z", low.x,
                         high.x, low.y, high.y, low.z, high.z);
}

bool Covers(const VolumeGrid& grid, Vec3 point) {
  const Vec3 at = grid.WorldToVoxel(point);
  return at.x >= -0.5 && at.y >= -0.5 && at.z >= -0.5 && at.x <= grid.nx - 0.5 &&
         at.y <= grid.ny - 0.5 && at.z <= grid.nz - 0.5;
}

struct Mass {
  double sum = 0;
  Vec3 moment;
  void Add(double weight, Vec3 p) {
    sum += weight;
    moment = moment + weight * p;
  }
};

absl::StatusOr<Vec3> FindMarker(const VolumeView& volume, const Marker& marker, double search_mm,
                                int number) {
  const double threshold = 0.4 * marker.hounsfield;
  Mass found;
  VisitBall(volume, marker.center, search_mm, [&](double value, Vec3 p) {
    if (value > threshold) found.Add(value - threshold, p);
  });
  if (found.sum <= 0 && !Covers(volume.grid, marker.center)) {
    return absl::NotFoundError(absl::StrFormat(
        "marker %d should be at (%.1f, %.1f, %.1f) mm, which is outside of the volume: it covers "
        "%s; is the whole phantom in it, and is it placed so?",
        number, marker.center.x, marker.center.y, marker.center.z, CoverText(volume.grid)));
  }
  if (found.sum <= 0) {
    return absl::NotFoundError(absl::StrFormat(
        "marker %d is not within %.1f mm of (%.1f, %.1f, %.1f) mm: no voxel there is above %.0f "
        "HU; is it this phantom, and is it placed "
        "so?",
        number, search_mm, marker.center.x, marker.center.y, marker.center.z, threshold));
  }
  Vec3 center = (1 / found.sum) * found.moment;
  for (int round = 0; round < 4; ++round) {
    double around = 0, count = 0;
    const double inner = 1.5 * marker.radius_mm + 1, outer = 2 * marker.radius_mm + 2;
    VisitBall(volume, center, outer, [&](double value, Vec3 p) {
      if (Norm(p - center) < inner) return;
      around += value;
      ++count;
    });
    Mass mass;
    VisitBall(volume, center, inner,
              [&](double value, Vec3 p) { mass.Add(value - around / std::max(1.0, count), p); });
    if (mass.sum <= 0) break;
    center = (1 / mass.sum) * mass.moment;
  }
  return center;
}

using Quaternion = std::array<double, 4>;

// The eigenvector of the largest eigenvalue of a symmetric matrix, by powers of it; what is added
// to its diagonal makes all eigenvalues positive.
Quaternion LargestEigenvector(std::array<Quaternion, 4> matrix) {
  double bound = 0;
  for (const Quaternion& row : matrix) {
    double sum = 0;
    for (double value : row) sum += std::abs(value);
    bound = std::max(bound, sum);
  }
  for (int i = 0; i < 4; ++i) matrix[i][i] += bound;
  Quaternion q{1, 0.01, 0.01, 0.01};
  for (int round = 0; round < 2000; ++round) {
    Quaternion next{};
    double square = 0;
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) next[i] += matrix[i][j] * q[j];
      square += next[i] * next[i];
    }
    for (int i = 0; i < 4; ++i) q[i] = next[i] / std::sqrt(square);
  }
  return q;
}

Placement Fit(std::span<const Marker> markers, const std::vector<Vec3>& found) {
  const double share = 1.0 / static_cast<double>(found.size());
  Vec3 from, to;
  for (size_t i = 0; i < found.size(); ++i) {
    from = from + share * markers[i].center;
    to = to + share * found[i];
  }
  double s[3][3] = {};
  for (size_t i = 0; i < found.size(); ++i) {
    const Vec3 a = markers[i].center - from, b = found[i] - to;
    const double av[] = {a.x, a.y, a.z}, bv[] = {b.x, b.y, b.z};
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) s[r][c] += av[r] * bv[c];
    }
  }
  const auto [w, x, y, z] = LargestEigenvector(
      {{{s[0][0] + s[1][1] + s[2][2], s[1][2] - s[2][1], s[2][0] - s[0][2], s[0][1] - s[1][0]},
        {s[1][2] - s[2][1], s[0][0] - s[1][1] - s[2][2], s[0][1] + s[1][0], s[2][0] + s[0][2]},
        {s[2][0] - s[0][2], s[0][1] + s[1][0], s[1][1] - s[0][0] - s[2][2], s[1][2] + s[2][1]},
        {s[0][1] - s[1][0], s[2][0] + s[0][2], s[1][2] + s[2][1], s[2][2] - s[0][0] - s[1][1]}}});
  Placement placement;
  placement.rotation = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                        2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                        2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  placement.shift = to - placement.Turn(from);
  return placement;
}

absl::Status Check(const VolumeView& volume, std::span<const Marker> markers, double search_mm) {
  ISO_RETURN_IF_ERROR(ValidateGrid(volume.grid));
  if (volume.voxels.shape() != volume.grid.shape()) {
    return absl::InvalidArgumentError(absl::StrFormat("the volume has %d voxels; its grid has %d",
                                                      volume.voxels.shape().count(),
                                                      volume.grid.voxels()));
  }
  if (markers.size() < 4) {
    return absl::InvalidArgumentError(
        absl::StrFormat("there are %d markers; legal is 4 or more", markers.size()));
  }
  if (!(search_mm > 0 && search_mm <= 100)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("markers are looked for within %g mm; legal is up to 100", search_mm));
  }
  const Vec3 line = markers[1].center - markers[0].center;
  double most = 0;
  for (const Marker& marker : markers)
    most = std::max(most, Norm(Cross(line, marker.center - markers[0].center)));
  if (most > 10 * Norm(line) && Norm(line) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "all markers are within 10 mm of a line; legal is one farther from it");
}

}  // namespace

Vec3 Placement::Turn(Vec3 p) const {
  const auto& r = rotation;
  return {r[0] * p.x + r[1] * p.y + r[2] * p.z, r[3] * p.x + r[4] * p.y + r[5] * p.z,
          r[6] * p.x + r[7] * p.y + r[8] * p.z};
}

double Placement::angle() const {
  return std::acos(std::clamp(0.5 * (rotation[0] + rotation[4] + rotation[8] - 1), -1.0, 1.0));
}

absl::StatusOr<FoundMarkers> FindMarkers(const VolumeView& volume, std::span<const Marker> markers,
                                         double search_mm) {
  ISO_RETURN_IF_ERROR(Check(volume, markers, search_mm));
  FoundMarkers result;
  for (size_t i = 0; i < markers.size(); ++i) {
    ISO_ASSIGN_OR_RETURN(const Vec3 center,
                         FindMarker(volume, markers[i], search_mm, static_cast<int>(i)));
    result.centers.push_back(center);
  }
  result.placement = Fit(markers, result.centers);
  double squares = 0, ratios = 0, pairs = 0;
  for (size_t i = 0; i < markers.size(); ++i) {
    const Vec3 left = result.centers[i] - result.placement.ToWorld(markers[i].center);
    squares += Dot(left, left) / static_cast<double>(markers.size());
    for (size_t j = 0; j < i; ++j) {
      const double truth = Norm(markers[i].center - markers[j].center);
      const double measured = Norm(result.centers[i] - result.centers[j]);
      result.largest_distance_error_mm =
          std::max(result.largest_distance_error_mm, std::abs(measured - truth));
      ratios += measured / truth;
      ++pairs;
    }
  }
  result.rms_mm = std::sqrt(squares);
  result.scale = ratios / pairs;
  return result;
}

}  // namespace isocenter::quality
