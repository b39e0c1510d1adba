#include "kernels/recon/completeness/repair/frame_blend.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace isocenter::recon {
namespace {

template <typename T>
void Blend(std::span<std::byte> out, std::span<const std::byte> other, float weight) {
  T* const a = reinterpret_cast<T*>(out.data());
  const T* const b = reinterpret_cast<const T*>(other.data());
  for (size_t i = 0; i < out.size() / sizeof(T); ++i) {
    const float blended =
        (1 - weight) * static_cast<float>(a[i]) + weight * static_cast<float>(b[i]);
    if constexpr (std::is_integral_v<T>) {
      a[i] = static_cast<T>(std::lround(blended));
    } else {
      a[i] = blended;
    }
  }
}

}  // namespace

void BlendFrames(PixelType type, std::span<std::byte> frame, std::span<const std::byte> other,
                 float weight) {
  if (type == PixelType::kUint16Counts) {
    Blend<uint16_t>(frame, other, weight);
  } else {
    Blend<float>(frame, other, weight);
  }
}

}  // namespace isocenter::recon
