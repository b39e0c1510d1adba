// Translation between the library's geometry and the messages of isocenter.v1.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "isocenter/v1/acquisition.pb.h"
#include "isocenter/v1/geometry.pb.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::client {

v1::VolumeGrid ToProto(const VolumeGrid& grid);
/// Errors: INVALID_ARGUMENT as ValidateGrid.
absl::StatusOr<VolumeGrid> FromProto(const v1::VolumeGrid& grid);
v1::ProjectionMatrix ToProto(const ProjectionMatrix& matrix);
v1::DetectorGeometry ToProto(const Detector& detector);

/// Bytes of one frame. Errors: INVALID_ARGUMENT when the header's detector, pixel type or frame
/// count are outside what the contract allows, or a listed trajectory has not one matrix of 12
/// finite values per frame; the field, its value and what is legal are named.
absl::StatusOr<int64_t> CheckedFrameBytes(const v1::AcquisitionHeader& header);

}  // namespace isocenter::client
