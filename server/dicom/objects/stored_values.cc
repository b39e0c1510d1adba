#include "server/dicom/objects/stored_values.h"

#include <algorithm>
#include <array>
#include <bit>

namespace isocenter::dicom {
namespace {

// Stays in the first-level cache.
constexpr size_t kBlock = 1024;

/// What int16 holds; the least value of NaN.
void Clamp(std::span<const float> values, float* out) {
  const float* const in = values.data();
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) {
    const float value = in[i] > -32768.0f ? in[i] : -32768.0f;
    out[i] = value < 32767.0f ? value : 32767.0f;
  }
}

/// Adding 1.5 * 2^23 leaves the rounded integer in the low bits of the significand; unlike lrintf()
/// this needs no call.
void Round(const float* in, std::span<int16_t> stored) {
  constexpr float kShift = 12582912.0f;
  static_assert(std::bit_cast<uint32_t>(kShift) << 16 == 0, "the low bits are the integer's alone");
  int16_t* const out = stored.data();
  const size_t count = stored.size();
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<int16_t>(std::bit_cast<int32_t>(in[i] + kShift));
  }
}

}  // namespace

void ToStoredValues(std::span<const float> hounsfield, std::span<int16_t> stored) {
  // Two loops: in one, the compiler makes branches of the clamp and takes the values one by one,
  // which costs eight times as much.
  std::array<float, kBlock> clamped;
  for (size_t first = 0; first < hounsfield.size(); first += kBlock) {
    const size_t count = std::min(kBlock, hounsfield.size() - first);
    Clamp(hounsfield.subspan(first, count), clamped.data());
    Round(clamped.data(), stored.subspan(first, count));
  }
}

}  // namespace isocenter::dicom
