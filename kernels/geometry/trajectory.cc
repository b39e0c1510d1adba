#include "kernels/geometry/trajectory.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter {
namespace {

constexpr double kLeastSourceRadiusMm = 0.1;

absl::Status CheckRange(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();  // false for NaN
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", value, "; legal is ", low, " to ", high));
}

absl::Status ValidateOrbit(const CircularOrbit& orbit, const Detector& detector) {
  ISO_RETURN_IF_ERROR(CheckRange("views", orbit.views, 1, kMaxViews));
  ISO_RETURN_IF_ERROR(CheckRange("source_to_isocenter_mm", orbit.source_to_isocenter_mm, 1, 10000));
  if (!(orbit.source_to_detector_mm > orbit.source_to_isocenter_mm &&
        orbit.source_to_detector_mm <= 20000)) {
    return absl::InvalidArgumentError(absl::StrCat("source_to_detector_mm is ",
                                                   orbit.source_to_detector_mm,
                                                   "; legal is above source_to_isocenter_mm (",
                                                   orbit.source_to_isocenter_mm, ") up to 20000"));
  }
  // Degrees, as these fields stand in files and flags; a little more than the limit for rounding.
  ISO_RETURN_IF_ERROR(
      CheckRange("start_angle_deg", RadiansToDegrees(orbit.start_angle), -36000, 36000));
  ISO_RETURN_IF_ERROR(CheckRange("arc_deg", RadiansToDegrees(orbit.arc), -720.0001, 720.0001));
  ISO_RETURN_IF_ERROR(CheckRange("offset_u_px", orbit.offset_u_px, -1e5, 1e5));
  ISO_RETURN_IF_ERROR(CheckRange("offset_v_px", orbit.offset_v_px, -1e5, 1e5));
  ISO_RETURN_IF_ERROR(CheckRange("detector.columns", detector.columns, 1, 8192));
  ISO_RETURN_IF_ERROR(CheckRange("detector.rows", detector.rows, 1, 8192));
  ISO_RETURN_IF_ERROR(CheckRange("detector.pitch_u_mm", detector.pitch_u_mm, 1e-4, 10));
  return CheckRange("detector.pitch_v_mm", detector.pitch_v_mm, 1e-4, 10);
}

}  // namespace

absl::StatusOr<Trajectory> MakeCircularOrbit(const CircularOrbit& orbit, const Detector& detector) {
  ISO_RETURN_IF_ERROR(ValidateOrbit(orbit, detector));
  Camera camera;
  camera.v_axis = {0, 0, -1};
  camera.focal_u_px = orbit.source_to_detector_mm / detector.pitch_u_mm;
  camera.focal_v_px = orbit.source_to_detector_mm / detector.pitch_v_mm;
  camera.principal_u_px = 0.5 * (detector.columns - 1) + orbit.offset_u_px;
  camera.principal_v_px = 0.5 * (detector.rows - 1) + orbit.offset_v_px;
  const double step = orbit.views > 1 ? orbit.arc / (orbit.views - 1) : 0;
  Trajectory trajectory;
  trajectory.reserve(orbit.views);
  for (int view = 0; view < orbit.views; ++view) {
    const double angle = orbit.start_angle + view * step;
    const Vec3 radial{std::cos(angle), std::sin(angle), 0};
    camera.source = orbit.source_to_isocenter_mm * radial;
    camera.u_axis = {-radial.y, radial.x, 0};
    camera.depth_axis = -radial;
    trajectory.push_back(Compose(camera));
  }
  return trajectory;
}

Trajectory Binned(const Trajectory& trajectory, int binning) {
  Trajectory binned = trajectory;
  const double shift = 0.5 * (binning - 1);
  for (ProjectionMatrix& p : binned) {
    for (int c = 0; c < 4; ++c) {
      p.m[c] = (p.m[c] - shift * p.m[8 + c]) / binning;
      p.m[4 + c] = (p.m[4 + c] - shift * p.m[8 + c]) / binning;
    }
  }
  return binned;
}

absl::StatusOr<std::vector<double>> SourceAngles(const Trajectory& trajectory) {
  std::vector<double> angles;
  angles.reserve(trajectory.size());
  for (size_t view = 0; view < trajectory.size(); ++view) {
    const absl::StatusOr<Camera> camera = Decompose(trajectory[view]);
    if (!camera.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("trajectory, view ", view, ": ", camera.status().message()));
    }
    const Vec3 source = camera->source;
    const double radius = std::hypot(source.x, source.y);
    if (!(radius >= kLeastSourceRadiusMm)) {
      return absl::InvalidArgumentError(
          absl::StrCat("trajectory, view ", view, ": the source is ", radius,
                       " mm from the rotation axis; legal is ", kLeastSourceRadiusMm,
                       " or more, else it has no angle"));
    }
    double angle = std::atan2(source.y, source.x);
    if (!angles.empty()) {
      angle = angles.back() + std::remainder(angle - angles.back(), 2 * kPi);
    }
    angles.push_back(angle);
  }
  return angles;
}

}  // namespace isocenter
