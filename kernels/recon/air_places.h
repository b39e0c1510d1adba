// Where an acquisition's frames are in a sweep of the empty beam.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/ops/calibration.h"

namespace isocenter::recon {

/// How far beyond its first and last angle a sweep is believed (degrees), which also is less than
/// what separates the two ends of a full turn.
inline constexpr double kBeyondSweepDeg = 0.5;

/// The angle of a frame's source about z, from x towards y (radians, -π to π). Errors: those of
/// Decompose.
absl::StatusOr<double> SourceAngle(const ProjectionMatrix& matrix);

/// Of each planned frame, between which of the sweep's angles its source stands: 0 to the last
/// one's index, as ops::CorrectAirSweep takes it. Empty for an empty sweep. Errors:
/// INVALID_ARGUMENT naming the first frame that the sweep did not see, its angle and those of the
/// sweep.
absl::StatusOr<std::vector<float>> AirPlaces(const ops::AirSweep& sweep,
                                             const Trajectory& trajectory);

}  // namespace isocenter::recon
