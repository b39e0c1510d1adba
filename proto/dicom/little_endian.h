// Numbers of DICOM's little endian syntaxes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace isocenter::dicom {

/// Of at most 4 bytes, the first of which is the lowest.
inline uint32_t LittleEndian(std::span<const std::byte> bytes) {
  uint32_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | std::to_integer<uint32_t>(bytes[i]);
  }
  return number;
}

}  // namespace isocenter::dicom
