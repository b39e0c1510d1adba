#include "kernels/physics/bow_tie.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter::physics {
namespace {

constexpr size_t kMostPoints = 1000;

absl::Status CheckRange(absl::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, "; legal is ", low, " to ", high));
}

absl::Status CheckProfile(const BowTieProfile& profile) {
  const std::vector<BowTieProfile::Point>& points = profile.points;
  if (points.size() < 2 || points.size() > kMostPoints) {
    return absl::InvalidArgumentError(absl::StrCat("the number of bow_tie.point is ", points.size(),
                                                   "; legal is 2 to ", kMostPoints));
  }
  for (size_t i = 0; i < points.size(); ++i) {
    ISO_RETURN_IF_ERROR(CheckRange("bow_tie.point.fan_deg", points[i].fan_deg, -60, 60));
    ISO_RETURN_IF_ERROR(CheckRange("bow_tie.point.mm", points[i].mm, 0, 300));
    if (i == 0 || points[i].fan_deg > points[i - 1].fan_deg) continue;
    return absl::InvalidArgumentError(absl::StrCat("bow_tie.point.fan_deg is ", points[i].fan_deg,
                                                   " after ", points[i - 1].fan_deg,
                                                   "; legal are ascending ones"));
  }
  return CheckRange("bow_tie.sway_deg", profile.sway_deg, -5, 5);
}

}  // namespace

absl::StatusOr<BowTie> BowTie::Make(BowTieProfile profile) {
  absl::StatusOr<Material> material = FindMaterial(profile.material);
  if (!material.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("bow_tie.material: ", material.status().message()));
  }
  ISO_RETURN_IF_ERROR(CheckProfile(profile));
  return BowTie(std::move(profile), *std::move(material));
}

void BowTie::FilterByMiddle(const std::vector<double>& kev, std::vector<double>& photons) const {
  for (size_t i = 0; i < kev.size(); ++i) {
    photons[i] *= std::exp(-LinearAttenuation(material_, kev[i]) * middle_mm());
  }
}

double BowTie::AtMm(double fan) const {
  const std::vector<BowTieProfile::Point>& points = profile_.points;
  const double degrees =
      std::clamp(RadiansToDegrees(fan), points.front().fan_deg, points.back().fan_deg);
  const auto after =
      std::upper_bound(points.begin() + 1, points.end() - 1, degrees,
                       [](double value, const auto& point) { return value < point.fan_deg; });
  const auto& low = *(after - 1);
  return std::lerp(low.mm, after->mm, (degrees - low.fan_deg) / (after->fan_deg - low.fan_deg));
}

double BowTie::BeyondMiddleMm(const Camera& camera, Vec3 direction) const {
  const double along_u = Dot(direction, camera.u_axis), depth = Dot(direction, camera.depth_axis);
  const double in_plane = std::hypot(along_u, depth);
  const double sway =
      DegreesToRadians(profile_.sway_deg) * std::sin(std::atan2(camera.source.y, camera.source.x));
  return AtMm(std::atan2(along_u, depth) - sway) / in_plane - middle_mm();
}

}  // namespace isocenter::physics
