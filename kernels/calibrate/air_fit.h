// The empty beam from everywhere, from a sweep of the arm with nothing in it.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/calibrate/figure.h"
#include "kernels/geometry/detector.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

/// Angles of the table: the frames between are averaged.
inline constexpr double kAirAngleStepDeg = 4;
inline constexpr int kLeastAirFrames = 20;
/// What a table may leave of the sweep that it was made of, but for each frame's dose (% of air,
/// root mean square of blocks).
inline constexpr double kMostAirLeftPercent = 0.3;

struct AirSweepFit {
  ops::AirSweep sweep;
  Figures figures;
};

/// Frames of the empty beam, one after the other in the order of the arm's way.
class AirFrames {
 public:
  explicit AirFrames(const Detector& detector) : detector_(detector) {}

  /// `frame`: relative to the response's air, not a number where a pixel is defective
  /// (calibrate::Normalized); `angle`: of the source about the axis, -π to π. Errors:
  /// FAILED_PRECONDITION (a block without good pixels; light that is not 0.5 to 2 of the air's).
  absl::Status Add(std::span<const float> frame, double angle);

  /// Means of blocks at angles kAirAngleStepDeg apart (or as the frames are, where they are further
  /// apart), by a straight line through the frames about each. A sweep that closes to a turn goes
  /// on from its end to its beginning. The level of the beam stays as it was: what the tube gives
  /// more or less at an angle is part of the table, and what flickers is averaged. Errors:
  /// FAILED_PRECONDITION (fewer than kLeastAirFrames, an arm that turns back, kMostAirLeftPercent);
  /// those of ops::CheckAirSweep.
  absl::StatusOr<AirSweepFit> Fit() const;

 private:
  /// `turned`: what the table's angles are less than the frames' (radians).
  absl::Status Judge(double turned, AirSweepFit& fit) const;

  const Detector detector_;
  std::vector<double> angles_;              // ascending or descending, unwrapped
  std::vector<std::vector<float>> blocks_;  // of each frame
};

}  // namespace isocenter::calibrate
