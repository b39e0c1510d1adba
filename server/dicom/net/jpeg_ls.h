// Lossless JPEG-LS of one image. Source: ISO/IEC 14495-1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace isocenter::dicom {

/// Encodes `rows` x `columns` pixels of 16 bits, row after row. What does not compress, such as
/// noise, gets larger. Errors: INVALID_ARGUMENT (the numbers do not fit each other, or are not 1 to
/// 65535), INTERNAL.
absl::StatusOr<std::vector<uint8_t>> EncodeJpegLs(std::span<const uint16_t> pixels,
                                                  uint32_t columns, uint32_t rows);

}  // namespace isocenter::dicom
