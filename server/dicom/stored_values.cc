#include "server/dicom/stored_values.h"

#include <bit>

namespace isocenter::dicom {

void ToStoredValues(std::span<const float> hounsfield, std::span<int16_t> stored) {
  // Adding 1.5 * 2^23 leaves the rounded integer in the low bits of the significand; unlike
  // lrintf() this needs no call and is done for many values at once.
  constexpr float kShift = 12582912.0f;
  const float* const in = hounsfield.data();
  int16_t* const out = stored.data();
  const size_t count = hounsfield.size();
  for (size_t i = 0; i < count; ++i) {
    float value = in[i] > -32768.0f ? in[i] : -32768.0f;  // also of NaN
    value = value < 32767.0f ? value : 32767.0f;
    out[i] = static_cast<int16_t>(std::bit_cast<int32_t>(value + kShift) -
                                  std::bit_cast<int32_t>(kShift));
  }
}

}  // namespace isocenter::dicom
