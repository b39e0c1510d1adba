// Hounsfield units as the integers that images hold.
#pragma once

#include <cstdint>
#include <span>

namespace isocenter::dicom {

/// Rounds to the nearest integer and clamps to what int16 holds; NaN becomes the least value.
/// `stored` has the length of `hounsfield`.
void ToStoredValues(std::span<const float> hounsfield, std::span<int16_t> stored);

}  // namespace isocenter::dicom
