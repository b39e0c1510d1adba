#include "kernels/recon/completeness/byte_order.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_format.h"

namespace isocenter::recon {
namespace {

constexpr int64_t kLeastPixels = 64;
constexpr float kLargest = 1e10F, kSmallest = 1e-20F;
constexpr double kOddAsSent = 0.3, kOddSwapped = 0.001;
constexpr double kLeastSmoother = 8;
constexpr size_t kLeastLowBytes = 3;

uint16_t Swapped(uint16_t value) { return __builtin_bswap16(value); }

bool IsOdd(uint32_t bits) {
  float line = 0;
  std::memcpy(&line, &bits, sizeof line);
  const float size = std::abs(line);
  return !std::isfinite(line) || size > kLargest || (size != 0 && size < kSmallest);
}

std::optional<std::string> OfLineIntegrals(std::span<const FrameRow> rows) {
  int64_t pixels = 0, odd = 0, odd_swapped = 0;  // zero is zero in any order
  for (const FrameRow& row : rows) {
    for (size_t at = 0; at + sizeof(uint32_t) <= row.pixels.size(); at += sizeof(uint32_t)) {
      uint32_t bits = 0;
      std::memcpy(&bits, &row.pixels[at], sizeof bits);
      if (bits == 0) continue;
      ++pixels;
      odd += IsOdd(bits);
      odd_swapped += IsOdd(__builtin_bswap32(bits));
    }
  }
  const auto share = [pixels](int64_t part) {
    return static_cast<double>(part) / static_cast<double>(pixels);
  };
  if (pixels < kLeastPixels || share(odd) < kOddAsSent || share(odd_swapped) > kOddSwapped) {
    return std::nullopt;
  }
  return absl::StrFormat(
      "the pixels are in the other byte order: %.0f %% of them are no line integrals as they are, "
      "and all are with their bytes swapped; legal is little-endian",
      100 * share(odd));
}

std::optional<std::string> OfCounts(std::span<const FrameRow> rows) {
  int64_t pixels = 0, steps = 0, steps_swapped = 0;
  std::bitset<256> low_bytes;
  for (const FrameRow& row : rows) {
    uint16_t before = 0;
    for (size_t at = 0; at + sizeof(uint16_t) <= row.pixels.size(); at += sizeof(uint16_t)) {
      uint16_t count = 0;
      std::memcpy(&count, &row.pixels[at], sizeof count);
      low_bytes.set(count & 0xff);
      ++pixels;
      if (at > 0) {
        steps += std::abs(count - before);
        steps_swapped += std::abs(Swapped(count) - Swapped(before));
      }
      before = count;
    }
  }
  const double smoother =
      static_cast<double>(steps) / static_cast<double>(std::max<int64_t>(1, steps_swapped));
  if (pixels < kLeastPixels || smoother < kLeastSmoother || low_bytes.count() < kLeastLowBytes) {
    return std::nullopt;
  }
  return absl::StrFormat(
      "the pixels are in the other byte order: with the bytes of each swapped, neighbours differ "
      "%.0f times less; legal is little-endian",
      smoother);
}

}  // namespace

std::optional<std::string> OtherByteOrderText(std::span<const FrameRow> rows, PixelType type) {
  return type == PixelType::kUint16Counts ? OfCounts(rows) : OfLineIntegrals(rows);
}

}  // namespace isocenter::recon
