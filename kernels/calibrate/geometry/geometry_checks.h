// Whether a sweep is good enough, and what is said of it.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "kernels/calibrate/geometry/arm_fit.h"
#include "kernels/calibrate/geometry/bead_centers.h"
#include "kernels/calibrate/geometry/geometry_fit.h"

namespace isocenter::calibrate {

/// A frame of a sweep, measured.
struct SweepFrame {
  absl::Status status = absl::FailedPreconditionError("the frame was not added");
  FrameShadows shadows;
  std::vector<BeadState> states;  // of all balls
  std::vector<double> sizes;      // as BeadCenters
  FrameReport report;
};

/// FAILED_PRECONDITION with the first frame that shows no phantom, or too few of its balls.
absl::Status CheckFrames(const std::vector<SweepFrame>& frames);

/// Standard deviations, for residuals of `variance` (pixels², of one coordinate).
GeometrySigmas SigmasOf(const BeadTable& table, const std::vector<FrameShadows>& frames,
                        const std::vector<CameraCovariance>& covariances, double variance);

/// Sets the figures and warnings from all else.
void Summarise(GeometryFit& fit);

/// FAILED_PRECONDITION with the figure and its bound.
absl::Status CheckFit(const GeometryFit& fit);

}  // namespace isocenter::calibrate
