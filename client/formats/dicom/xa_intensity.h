// What the stored values of an X-ray angiographic run mean.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "client/formats/dicom/xa_attributes.h"

namespace isocenter::formats {

/// From stored values to counts that are proportional to the X-ray intensity, the lookup table of
/// 65536 (or of 256 where 8 bits are allocated) entries that are indexed by what stands in memory.
struct XaIntensity {
  std::vector<uint16_t> counts;
  int bits_allocated = 16;
  uint16_t largest = 0;  // the brightest count that the file can hold
};

/// From Bits Allocated, Bits Stored, High Bit, Pixel Intensity Relationship (0028,1040) and its
/// Sign, and the table that makes LOG data linear: Modality LUT Sequence (PS3.3 C.8.7.1.1.2), or
/// Pixel Intensity Relationship LUT Sequence with the function TO_LINEAR (C.7.6.16.2.13). Errors:
/// INVALID_ARGUMENT (value and what is legal): LOG without a table, DISP, signed or coloured
/// pixels.
absl::StatusOr<XaIntensity> ReadXaIntensity(const XaAttributes& run);

}  // namespace isocenter::formats
