// In which frame matrices are told that were measured with a phantom.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::calibrate {

/// The same matrices in the frame of the orbit (GeometryWorld::kOrbit). Errors: FAILED_PRECONDITION
/// (an arc so short that it has no axis, rays that meet nowhere), INVALID_ARGUMENT (the isocentre
/// is behind a source).
absl::StatusOr<Trajectory> InOrbitFrame(const Trajectory& trajectory, const Detector& detector);

}  // namespace isocenter::calibrate
