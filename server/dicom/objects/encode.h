// DICOM files whose pixels are written after all that comes before them, piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

class DcmDataset;

namespace isocenter::dicom {

/// The most bytes of pixels in one object. The standard's limit is 2^32 - 2, as lengths have 32
/// bits; readers that hold them with a sign stop at half of it.
inline constexpr int64_t kMostPixelBytes = (int64_t{1} << 31) - 2;

/// A DICOM file (Explicit VR Little Endian) up to and with the header of its pixel data, whose
/// `pixel_bytes`, 16-bit values in little-endian order, must follow and end the file. The data set
/// has no pixel data. Errors: INTERNAL, INVALID_ARGUMENT (more than kMostPixelBytes).
absl::StatusOr<std::vector<std::byte>> EncodeUpToPixels(std::unique_ptr<DcmDataset> dataset,
                                                        int64_t pixel_bytes);

}  // namespace isocenter::dicom
