// Grids, projection matrices and detectors as they are written on the wire and in the
// configuration.
#pragma once

#include "absl/status/statusor.h"
#include "isocenter/v1/geometry.pb.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::wire {

v1::VolumeGrid ToProto(const VolumeGrid& grid);
/// Errors: INVALID_ARGUMENT naming the field, its value and what is legal.
absl::StatusOr<VolumeGrid> GridFromProto(const v1::VolumeGrid& grid);

v1::ProjectionMatrix ToProto(const ProjectionMatrix& matrix);
/// Row-major 3x4, any scale. Errors: INVALID_ARGUMENT (not 12 finite values).
absl::StatusOr<ProjectionMatrix> MatrixFromProto(const v1::ProjectionMatrix& matrix);

v1::DetectorGeometry ToProto(const Detector& detector);
/// Errors: INVALID_ARGUMENT (columns or rows, its value and what is legal).
absl::StatusOr<Detector> DetectorFromProto(const v1::DetectorGeometry& detector);

}  // namespace isocenter::wire
