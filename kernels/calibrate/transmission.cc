#include "kernels/calibrate/transmission.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/calibrate/figure.h"
#include "kernels/ops/corrections.h"

namespace isocenter::calibrate {
namespace {

/// Means of the good pixels of whole tiles; a tile that is half defective has none.
std::vector<double> TileMeans(const std::vector<float>& frame, const Detector& detector) {
  constexpr int kTile = ops::kAirTile;
  std::vector<double> means;
  for (int v = 0; v + kTile <= detector.rows; v += kTile) {
    for (int u = 0; u + kTile <= detector.columns; u += kTile) {
      double sum = 0;
      int good = 0;
      for (int i = 0; i < kTile * kTile; ++i) {
        const float value = frame[size_t(v + i / kTile) * detector.columns + u + i % kTile];
        if (std::isnan(value)) continue;
        sum += value;
        ++good;
      }
      if (2 * good >= kTile * kTile) means.push_back(sum / good);
    }
  }
  return means;
}

}  // namespace

std::vector<float> Normalized(std::span<const uint16_t> counts, const ops::PixelResponse& response,
                              const ops::DefectMap& defects) {
  assert(counts.size() == response.air_counts.size());
  std::vector<float> frame(counts.size());
  for (size_t i = 0; i < frame.size(); ++i) {
    frame[i] = (static_cast<float>(counts[i]) - response.offset_counts[i]) / response.air_counts[i];
  }
  for (const int32_t pixel : defects.pixels) {
    frame[pixel] = std::numeric_limits<float>::quiet_NaN();
  }
  return frame;
}

absl::StatusOr<std::vector<float>> Transmission(std::span<const uint16_t> counts,
                                                const ops::PixelResponse& response,
                                                const ops::DefectMap& defects,
                                                const Detector& detector, double* dose) {
  return Transmission(Normalized(counts, response, defects), detector, dose);
}

absl::StatusOr<std::vector<float>> Transmission(std::vector<float> frame, const Detector& detector,
                                                double* dose) {
  const std::vector<double> tiles = TileMeans(frame, detector);
  const double brightest = tiles.empty() ? 0 : *std::max_element(tiles.begin(), tiles.end());
  if (!(brightest >= ops::kLeastDose && brightest <= ops::kMostDose)) {
    return NotGoodEnough({"the brightest part of a frame", brightest, "of the empty beam"},
                         absl::StrCat(ops::kLeastDose, " to ", ops::kMostDose),
                         "air must be seen beside the object, with the dose of the flat frames");
  }
  double sum = 0;
  int bright = 0;
  for (const double tile : tiles) {
    if (tile < (1 - kSameAir) * brightest) continue;
    sum += tile;
    ++bright;
  }
  if (dose != nullptr) *dose = sum / bright;
  const auto scale = static_cast<float>(bright / sum);
  for (float& value : frame) value *= scale;
  return frame;
}

}  // namespace isocenter::calibrate
