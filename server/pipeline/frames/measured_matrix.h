// Matrices that are measured for a frame.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::pipeline {

/// Normalises a measured matrix and checks that it is a plausible correction of the planned one:
/// the source within 100 mm and the isocentre within a quarter of the detector's larger side.
/// Errors: INVALID_ARGUMENT with what was found.
absl::StatusOr<ProjectionMatrix> CheckedMeasuredMatrix(const ProjectionMatrix& measured,
                                                       const ProjectionMatrix& planned,
                                                       const Detector& detector);

}  // namespace isocenter::pipeline
