#include "client/formats/dicom/positioner.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {
namespace {

/// Unit vectors in LPS at given angles.
struct Directions {
  Vec3 detector;  // from the isocentre to the image receptor
  Vec3 left;      // towards growing primary angle: the patient's left in the frontal view
  Vec3 feet;      // towards falling secondary angle
};

Directions At(PositionerAngles a) {
  const double cp = std::cos(a.primary), sp = std::sin(a.primary);
  const double cs = std::cos(a.secondary), ss = std::sin(a.secondary);
  return {
      .detector = {sp * cs, -cp * cs, ss}, .left = {cp, sp, 0}, .feet = {sp * ss, -cp * ss, -cs}};
}

/// The direction that letters such as "L" or "PL" name, in LPS; the first letter counts most.
absl::StatusOr<Vec3> Direction(const std::string& letters) {
  Vec3 sum;
  double weight = 1;
  for (const char letter : letters) {
    switch (letter) {
      case 'L':
        sum.x += weight;
        break;
      case 'R':
        sum.x -= weight;
        break;
      case 'P':
        sum.y += weight;
        break;
      case 'A':
        sum.y -= weight;
        break;
      case 'H':
        sum.z += weight;
        break;
      case 'F':
        sum.z -= weight;
        break;
      default:
        weight = 0;
    }
    weight /= 2;
  }
  const double length = Norm(sum);
  if (!(weight > 0) || !(length > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", letters, "' is not a direction; legal is e.g. L, R, A, P, H, F or two of them"));
  }
  return (1 / length) * sum;
}

/// The two numbers of ImageAxes that fit `direction`, or {0, 0} when none does within 45 degrees.
std::array<int, 2> Along(Vec3 direction, PositionerAngles angles) {
  constexpr double kWithin45Degrees = 0.707;
  const Directions d = At(angles);
  const double left = Dot(direction, d.left), feet = Dot(direction, d.feet);
  if (std::abs(left) >= kWithin45Degrees) return {left > 0 ? 1 : -1, 0};
  if (std::abs(feet) >= kWithin45Degrees) return {0, feet > 0 ? 1 : -1};
  return {0, 0};
}

constexpr std::array<int, 2> kNone = {0, 0};

}  // namespace

absl::StatusOr<ImageAxes> AxesOfPatientOrientation(const std::string& row,
                                                   const std::string& column,
                                                   PositionerAngles first) {
  const auto axis = [&](const std::string& letters) -> absl::StatusOr<std::array<int, 2>> {
    ISO_ASSIGN_OR_RETURN(const Vec3 direction, Direction(letters));
    const std::array<int, 2> here = Along(direction, first), frontal = Along(direction, {});
    if (here != kNone && frontal != kNone && here != frontal) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", letters, "' differs between the first frame and the frontal view"));
    }
    if (here == kNone && frontal == kNone) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", letters, "' is no axis of the image at these angles"));
    }
    return here != kNone ? here : frontal;
  };
  const auto row_axis = axis(row), column_axis = axis(column);
  for (const absl::Status& status : {row_axis.status(), column_axis.status()}) {
    if (status.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat("Patient Orientation (0020,0020) is ", row, "\\",
                                                   column, ": ", status.message()));
  }
  if (((*row_axis)[0] == 0) == ((*column_axis)[0] == 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Patient Orientation (0020,0020) is ", row, "\\", column,
                     "; rows and columns of an image are perpendicular"));
  }
  return ImageAxes{(*row_axis)[0], (*row_axis)[1], (*column_axis)[0], (*column_axis)[1]};
}

absl::StatusOr<Trajectory> PositionerTrajectory(const std::vector<PositionerAngles>& angles,
                                                const PositionerGeometry& geometry,
                                                const Detector& detector) {
  const double sid = geometry.source_to_isocenter_mm, sdd = geometry.source_to_detector_mm;
  if (!(sid >= 10 && sid <= 10000)) {
    return absl::InvalidArgumentError(absl::StrCat("Distance Source to Patient (isocentre) is ",
                                                   sid, " mm; legal is 10 to 10000"));
  }
  if (!(sdd > sid && sdd <= 20000)) {
    return absl::InvalidArgumentError(absl::StrCat("Distance Source to Detector is ", sdd,
                                                   " mm; legal is above that to the "
                                                   "isocentre (",
                                                   sid, ") up to 20000"));
  }
  Trajectory trajectory;
  for (const PositionerAngles& a : angles) {
    const Directions d = At(a);
    const auto& k = geometry.axes;
    Camera camera;
    camera.source = -sid * d.detector;
    camera.depth_axis = d.detector;
    camera.u_axis = double(k[0]) * d.left + double(k[1]) * d.feet;
    // Rows of the stored image need not run along the third axis of a right-handed camera: an image
    // that is seen from the detector is a mirrored one, with a negative focal length.
    camera.v_axis = Cross(camera.depth_axis, camera.u_axis);
    const Vec3 rows_run = double(k[2]) * d.left + double(k[3]) * d.feet;
    const double sign = Dot(rows_run, camera.v_axis) > 0 ? 1 : -1;
    camera.focal_u_px = sdd / detector.pitch_u_mm;
    camera.focal_v_px = sign * sdd / detector.pitch_v_mm;
    camera.principal_u_px = geometry.isocenter_u_px;
    camera.principal_v_px = geometry.isocenter_v_px;
    trajectory.push_back(Compose(camera));
  }
  return trajectory;
}

absl::StatusOr<PositionerAngles> AnglesOf(const ProjectionMatrix& matrix) {
  ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
  const Vec3 detector = (-1 / Norm(camera.source)) * camera.source;
  return PositionerAngles{.primary = std::atan2(detector.x, -detector.y),
                          .secondary = std::asin(std::clamp(detector.z, -1.0, 1.0))};
}

double Spread(const std::vector<PositionerAngles>& angles) {
  double least = 1;  // cosine; the first view will do as the end of an arc or a point of a circle
  for (const PositionerAngles& a : angles) {
    least = std::min(least, Dot(At(angles.front()).detector, At(a).detector));
  }
  return std::acos(std::clamp(least, -1.0, 1.0));
}

}  // namespace isocenter::formats
