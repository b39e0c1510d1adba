// The scan that is measured: a C-arm with a flat panel.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::bench {

inline constexpr Detector kFullDetector{
    .columns = 1240, .rows = 960, .pitch_u_mm = 0.308, .pitch_v_mm = 0.308};

/// `views` matrices for kFullDetector, spread over all of a trajectory file; without a file, a
/// wobbling C-arm. Errors: those of the file, INVALID_ARGUMENT (it has too few views).
absl::StatusOr<Trajectory> MakeTrajectory(const std::string& file, int views);

}  // namespace isocenter::bench
