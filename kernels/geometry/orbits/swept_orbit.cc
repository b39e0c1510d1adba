#include "kernels/geometry/orbits/swept_orbit.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter {
namespace {

constexpr double kLargestSweepDeg = 60;

absl::Status Check(const SweptOrbit& orbit) {
  const double sweep_deg = RadiansToDegrees(orbit.sweep);
  if (!(sweep_deg >= 0 && sweep_deg <= kLargestSweepDeg + 1e-9)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the orbit's sweep is ", sweep_deg, " deg; legal is 0 to ", kLargestSweepDeg));
  }
  if (!(orbit.periods >= 0.25 && orbit.periods <= 20)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the orbit's periods are ", orbit.periods, "; legal is 0.25 to 20"));
  }
  if (orbit.shape == SweepShape::kTwoArcs && orbit.base.views < 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("two arcs of ", orbit.base.views, " views; legal is 4 or more"));
  }
  return absl::OkStatus();
}

struct Direction {
  double angle = 0, elevation = 0;
};

Direction DirectionOf(const SweptOrbit& orbit, int view) {
  const CircularOrbit& base = orbit.base;
  const double t = base.views > 1 ? static_cast<double>(view) / (base.views - 1) : 0;
  const double angle = base.start_angle + base.arc * t;
  switch (orbit.shape) {
    case SweepShape::kSine:
      return {angle, orbit.sweep * std::sin(2 * kPi * orbit.periods * t)};
    case SweepShape::kSaddle:
      return {angle, orbit.sweep * std::cos(2 * angle)};
    case SweepShape::kTwoArcs: {
      const int first = base.views / 2, second = base.views - first;
      const double there =
          view < first ? view / (first - 1.0) : 1 - (view - first) / (second - 1.0);
      return {base.start_angle + base.arc * there, view < first ? orbit.sweep : -orbit.sweep};
    }
    case SweepShape::kTilted:
      break;
  }
  return {angle, 0};
}

// The ideal camera of the circle at an angle, lifted.
Camera Lifted(Camera camera, const Direction& direction) {
  const double radius = Norm(camera.source);
  const double ca = std::cos(direction.angle), sa = std::sin(direction.angle);
  const double ce = std::cos(direction.elevation), se = std::sin(direction.elevation);
  const Vec3 outward{ca * ce, sa * ce, se};
  camera.source = radius * outward;
  camera.depth_axis = -outward;
  camera.u_axis = {-sa, ca, 0};
  camera.v_axis = {ca * se, sa * se, -ce};  // along -z where the elevation is 0
  return camera;
}

// About x, by which a circle's plane is tilted.
Vec3 Tilted(Vec3 v, double tilt) {
  const double c = std::cos(tilt), s = std::sin(tilt);
  return {v.x, c * v.y - s * v.z, s * v.y + c * v.z};
}

}  // namespace

absl::StatusOr<Trajectory> MakeSweptOrbit(const SweptOrbit& orbit, const Detector& detector) {
  ISO_RETURN_IF_ERROR(Check(orbit));
  ISO_ASSIGN_OR_RETURN(Trajectory trajectory, MakeCircularOrbit(orbit.base, detector));
  for (int view = 0; view < orbit.base.views; ++view) {
    ISO_ASSIGN_OR_RETURN(Camera camera, Decompose(trajectory[view]));
    camera = Lifted(camera, DirectionOf(orbit, view));
    if (orbit.shape == SweepShape::kTilted) {
      for (Vec3* const vector :
           {&camera.source, &camera.u_axis, &camera.v_axis, &camera.depth_axis}) {
        *vector = Tilted(*vector, orbit.sweep);
      }
    }
    trajectory[view] = Compose(camera);
  }
  return trajectory;
}

}  // namespace isocenter
