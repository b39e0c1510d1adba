#include "kernels/scatter/plane.h"

#include <cmath>

#include "kernels/base/status_macros.h"

namespace isocenter::scatter {

absl::StatusOr<Plane> Plane::Of(const ProjectionMatrix& matrix, const Detector& detector) {
  ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
  Plane plane;
  plane.source_ = camera.source;
  plane.normal_ = camera.depth_axis;
  // Columns along u_axis; of a mirrored detector focal_v_px is negative and rows go against v_axis.
  const double pitch_u = detector.pitch_u_mm;
  const double distance = std::abs(camera.focal_u_px) * pitch_u;
  const auto at = [&](double u, double v) {
    const double y = (v - camera.principal_v_px) / camera.focal_v_px;
    const double x = (u - camera.principal_u_px - camera.skew_px * y) / camera.focal_u_px;
    return camera.source + distance * (camera.depth_axis + x * camera.u_axis + y * camera.v_axis);
  };
  plane.corner_ = at(-0.5, -0.5);
  plane.across_ = at(detector.columns - 0.5, -0.5) - plane.corner_;
  plane.down_ = at(-0.5, detector.rows - 0.5) - plane.corner_;
  plane.area_ = Norm(Cross(plane.across_, plane.down_));
  return plane;
}

}  // namespace isocenter::scatter
