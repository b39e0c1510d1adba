// What moves or has a size while a frame is exposed.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::physics {

struct Blur {
  /// Edge of a square focal spot that shines evenly, parallel to the detector; 0 to 5, 0: a point.
  double focal_spot_mm = 0;
  /// Of the time from frame to frame, that in which a frame is exposed while the arm moves; 0 to 1.
  double exposure_share = 0;
  /// Points along each edge of the spot, and positions of the arm; 2 to 16.
  int samples = 3;
};

/// Errors: INVALID_ARGUMENT with the field, its value and what is legal.
absl::Status ValidateBlur(const Blur& blur);

/// Matrices whose views average to the view of a frame: `samples` positions of the arm times
/// `samples`² of the source, or one of what is off. The detector stays where it is when the source
/// moves within the spot. Between frames matrices are interpolated linearly, before the first and
/// behind the last one extrapolated: for steps of some degrees. Errors: those of Decompose.
absl::StatusOr<std::vector<ProjectionMatrix>> BlurredPoses(const Trajectory& trajectory,
                                                           size_t frame, const Detector& detector,
                                                           const Blur& blur);

}  // namespace isocenter::physics
