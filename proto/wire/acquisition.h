// The geometry and the pixels of an acquisition header.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "isocenter/v1/acquisition.pb.h"
#include "kernels/recon/plan.h"

namespace isocenter::wire {

/// Bytes of one frame. Errors: INVALID_ARGUMENT when the header's detector, pixel type or frame
/// count are outside what the contract allows, or a listed trajectory has not one matrix of 12
/// finite values per frame; the field, its value and what is legal are named.
absl::StatusOr<int64_t> CheckedFrameBytes(const v1::AcquisitionHeader& header);

/// Errors: INVALID_ARGUMENT naming pixel_type, its value and what is legal.
absl::StatusOr<recon::PixelType> PixelTypeFromProto(v1::PixelType type);

/// Detector, pixels and planned trajectory, valid in all; listed matrices are within
/// CheckArmBounds. Errors: INVALID_ARGUMENT naming each field that is wrong, its value and what is
/// legal.
absl::StatusOr<recon::Acquisition> AcquisitionFromProto(const v1::AcquisitionHeader& header);

}  // namespace isocenter::wire
