// Cameras of a whole sweep.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "kernels/base/thread_pool.h"
#include "kernels/calibrate/geometry/pinhole.h"

namespace isocenter::calibrate {

struct FrameShadows {
  Pinhole camera;
  std::vector<BeadShadow> shadows;
};

/// Of a camera's parameters, in the order of Pinhole::Moved, for residuals of 1 pixel; 0 for those
/// that were not fitted.
using CameraCovariance = Eigen::Matrix<double, kCameraParameters, kCameraParameters>;

/// Every frame for itself: kSquareParameters or kCameraParameters. Returns their covariances.
std::vector<CameraCovariance> FitFrames(const BeadTable& table, int parameters, double scale_px,
                                        ThreadPool& pool, std::vector<FrameShadows>& frames);

/// Bundle adjustment of an arm that bends smoothly: focal length and principal point, and with
/// kCameraParameters also aspect and skew, are uniform cubic B-splines over the frames with
/// `intervals` intervals, and every frame has a pose of its own. What single frames tell badly, how
/// far the source is and how the detector is tilted, is then told by all of them. Gauss-Newton with
/// Cauchy's weights; poses are eliminated from the normal equations (Triggs et al., Vision
/// Algorithms 1999, 298). `frames` come from FitFrames. Errors: FAILED_PRECONDITION (the splines do
/// not follow from these shadows).
absl::StatusOr<std::vector<CameraCovariance>> FitArm(const BeadTable& table, int parameters,
                                                     double scale_px, int intervals,
                                                     ThreadPool& pool,
                                                     std::vector<FrameShadows>& frames);

/// Intervals for a sweep: one for 20 degrees that the source travels about the phantom's z axis,
/// at least 2, and with five frames or more in each.
int SplineIntervals(const std::vector<FrameShadows>& frames);

}  // namespace isocenter::calibrate
