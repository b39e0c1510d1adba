#include "client/imaging/comparable.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace isocenter::imaging {
namespace {

// Beyond any linear attenuation in 1/mm or 1/cm and any line integral that a detector of 16 bits
// can tell (ln 65535 = 11.1).
constexpr float kMostAttenuation = 20;
constexpr float kMostCt = 4095;       // of 12 bits, which is what scanners write
constexpr double kSameAxisDeg = 0.1;  // files with few digits

Vec3 Axis(const VolumeGrid& grid, int axis) {
  return {grid.direction[axis], grid.direction[3 + axis], grid.direction[6 + axis]};
}

/// The largest angle between axes of the same index.
double LargestTurnDeg(const VolumeGrid& a, const VolumeGrid& b) {
  double largest = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double cosine = std::clamp(Dot(Axis(a, axis), Axis(b, axis)), -1.0, 1.0);
    largest = std::max(largest, std::acos(cosine) * 180 / std::numbers::pi);
  }
  return largest;
}

std::string Size(const VolumeGrid& grid) {
  return absl::StrFormat("%d x %d x %d voxels of %.4g x %.4g x %.4g mm", grid.nx, grid.ny, grid.nz,
                         grid.spacing.x, grid.spacing.y, grid.spacing.z);
}

bool SameSpacing(const Vec3& a, const Vec3& b) {
  const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-4 * std::max(x, y); };
  return near(a.x, b.x) && near(a.y, b.y) && near(a.z, b.z);
}

}  // namespace

std::string DoubtfulHounsfield(const std::string& name, std::span<const float> values) {
  if (values.empty()) return "";
  const auto [low, high] = std::ranges::minmax(values);
  if (low == high) return "";  // one number says nothing of its unit
  const std::string range = absl::StrCat(name, " has values of ", low, " to ", high);
  if (low >= -1 && high <= kMostAttenuation) {
    return absl::StrCat(range,
                        ", as attenuation or line integrals have; legal are Hounsfield units "
                        "(air -1000, water 0)");
  }
  if (low >= 0 && high > kMostCt) {
    return absl::StrCat(range,
                        ", none below 0, as counts of a detector or shifted units have; legal are "
                        "Hounsfield units (air -1000, water 0)");
  }
  return "";
}

std::vector<std::string> GridDifferences(const std::string& volume_name, const VolumeGrid& volume,
                                         const std::string& truth_name, const VolumeGrid& truth) {
  std::vector<std::string> differences;
  const double turn = LargestTurnDeg(volume, truth);
  if (turn > kSameAxisDeg) {
    differences.push_back(absl::StrFormat(
        "the axes of %s and %s differ by up to %.4g degrees: places are compared as both files "
        "state them; if one was written without its orientation, the figures mean nothing",
        volume_name, truth_name, turn));
  }
  const bool same_size = volume.nx == truth.nx && volume.ny == truth.ny && volume.nz == truth.nz;
  if (!same_size || !SameSpacing(volume.spacing, truth.spacing)) {
    differences.push_back(absl::StrCat("the grids differ: ", volume_name, " has ", Size(volume),
                                       ", ", truth_name, " has ", Size(truth),
                                       "; the latter is interpolated, which softens its edges"));
  }
  return differences;
}

}  // namespace isocenter::imaging
