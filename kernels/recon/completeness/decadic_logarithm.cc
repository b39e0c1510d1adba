#include "kernels/recon/completeness/decadic_logarithm.h"

#include <algorithm>
#include <cstdint>
#include <numbers>

#include "absl/strings/str_format.h"
#include "kernels/base/share_text.h"

namespace isocenter::recon {
namespace {

constexpr int64_t kMostRows = 20'000;  // of the volume, evenly
constexpr float kObjectHu = -800;
constexpr double kDecadicWaterHu = 1000 * (1 / std::numbers::ln10 - 1);  // -566
constexpr float kAround = 100, kWaterFrom = -150, kWaterTo = 200;
constexpr double kLeastShare = 0.3, kLeastTimes = 3;
constexpr double kLeastOfVolume = 0.01;

}  // namespace

std::optional<std::string> DecadicLogarithmText(HostView3<const float> hounsfield, PixelType type) {
  const Shape3 shape = hounsfield.shape();
  const int64_t rows = shape.slow * shape.middle;
  const int64_t step = std::max<int64_t>(1, rows / kMostRows);
  int64_t voxels = 0, object = 0, decadic = 0, water = 0;
  for (int64_t row = 0; row < rows; row += step) {
    const float* values = hounsfield.row(row / shape.middle, row % shape.middle);
    for (int64_t i = 0; i < shape.fast; ++i) {
      const float hu = values[i];
      ++voxels;
      object += hu > kObjectHu;
      decadic += hu > kDecadicWaterHu - kAround && hu < kDecadicWaterHu + kAround;
      water += hu > kWaterFrom && hu < kWaterTo;
    }
  }
  const auto share = [](int64_t part, int64_t of) {
    return static_cast<double>(part) / static_cast<double>(of);
  };
  if (object == 0 || share(object, voxels) < kLeastOfVolume) return std::nullopt;
  if (share(decadic, object) < kLeastShare) return std::nullopt;
  if (static_cast<double>(decadic) < kLeastTimes * static_cast<double>(water)) return std::nullopt;
  if (type == PixelType::kUint16Counts) {
    return absl::StrFormat(
        "%s of what the volume shows (above %.0f HU) lies about %.0f HU, %s about water: "
        "as of counts that went through a square root or the table of a display, whose logarithm "
        "is about half of what it should be; legal are counts that are proportional to the light",
        ShareText(share(decadic, object)), kObjectHu, kDecadicWaterHu,
        ShareText(share(water, object)));
  }
  return absl::StrFormat(
      "%s of what the volume shows (above %.0f HU) lies about %.0f HU, %s about water: "
      "as of line integrals that are decadic logarithms, log10(I0 / I), %.2f times too small; "
      "legal are natural ones, ln(I0 / I)",
      ShareText(share(decadic, object)), kObjectHu, kDecadicWaterHu,
      ShareText(share(water, object)), std::numbers::ln10);
}

}  // namespace isocenter::recon
