#include "kernels/physics/blur.h"

#include <cassert>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/phantom/pixel_rays.h"

namespace isocenter::physics {
namespace {

template <typename T>
absl::Status Check(absl::string_view name, T value, T least, T most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("blur.", name, " is ", value, "; legal is ", least, " to ", most));
}

// `after` steps behind a frame, up to one half.
ProjectionMatrix Between(const Trajectory& trajectory, size_t frame, double after) {
  if (trajectory.size() < 2) return trajectory[frame];
  const bool forward = after > 0;
  const bool there = forward ? frame + 1 < trajectory.size() : frame > 0;
  const size_t other = forward == there ? frame + 1 : frame - 1;
  const double weight = there ? std::abs(after) : -std::abs(after);
  ProjectionMatrix matrix = trajectory[frame];
  for (size_t i = 0; i < matrix.m.size(); ++i) {
    matrix.m[i] += weight * (trajectory[other].m[i] - matrix.m[i]);
  }
  return matrix;
}

// The source moves along the detector's axes, the detector stays.
ProjectionMatrix FromSpot(const Camera& camera, double du_mm, double dv_mm,
                          double source_to_detector_mm) {
  Camera moved = camera;
  moved.source = camera.source + du_mm * camera.u_axis + dv_mm * camera.v_axis;
  moved.principal_u_px +=
      (camera.focal_u_px * du_mm + camera.skew_px * dv_mm) / source_to_detector_mm;
  moved.principal_v_px += camera.focal_v_px * dv_mm / source_to_detector_mm;
  return Compose(moved);
}

}  // namespace

absl::Status ValidateBlur(const Blur& blur) {
  ISO_RETURN_IF_ERROR(Check("focal_spot_mm", blur.focal_spot_mm, 0.0, 5.0));
  ISO_RETURN_IF_ERROR(Check("exposure_share", blur.exposure_share, 0.0, 1.0));
  return Check("samples", blur.samples, 2, 16);
}

absl::StatusOr<std::vector<ProjectionMatrix>> BlurredPoses(const Trajectory& trajectory,
                                                           size_t frame, const Detector& detector,
                                                           const Blur& blur) {
  assert(frame < trajectory.size());
  const std::vector<double> offsets = phantom::SubsampleOffsets(blur.samples);
  std::vector<ProjectionMatrix> arm{trajectory[frame]};
  if (blur.exposure_share > 0) {
    arm.clear();
    for (double offset : offsets) {
      arm.push_back(Between(trajectory, frame, blur.exposure_share * offset));
    }
  }
  if (blur.focal_spot_mm == 0) return arm;
  std::vector<ProjectionMatrix> poses;
  for (const ProjectionMatrix& matrix : arm) {
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
    const double distance = camera.focal_u_px * detector.pitch_u_mm;
    for (double dv : offsets) {
      for (double du : offsets) {
        poses.push_back(
            FromSpot(camera, blur.focal_spot_mm * du, blur.focal_spot_mm * dv, distance));
      }
    }
  }
  return poses;
}

}  // namespace isocenter::physics
