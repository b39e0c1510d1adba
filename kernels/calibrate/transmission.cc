#include "kernels/calibrate/transmission.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/median.h"
#include "kernels/calibrate/figure.h"
#include "kernels/ops/corrections.h"

namespace isocenter::calibrate {
namespace {

struct Tile {
  double mean = 0;
  double slope = 0;  // by how much its halves differ, of the mean: the larger of both directions
};

struct Mean {
  double sum = 0;
  int good = 0;
  void Add(float value) {
    sum += value;
    ++good;
  }
  double value() const { return good > 0 ? sum / good : 0; }
};

/// Of the good pixels of whole tiles; a tile that is half defective is none.
std::vector<Tile> TilesOf(const std::vector<float>& frame, const Detector& detector) {
  constexpr int kTile = ops::kAirTile;
  std::vector<Tile> tiles;
  for (int v = 0; v + kTile <= detector.rows; v += kTile) {
    for (int u = 0; u + kTile <= detector.columns; u += kTile) {
      Mean all, left, right, top, bottom;
      for (int i = 0; i < kTile * kTile; ++i) {
        const int y = i / kTile, x = i % kTile;
        const float value = frame[size_t(v + y) * detector.columns + u + x];
        if (std::isnan(value)) continue;
        all.Add(value);
        (x < kTile / 2 ? left : right).Add(value);
        (y < kTile / 2 ? top : bottom).Add(value);
      }
      if (2 * all.good < kTile * kTile) continue;
      const double difference =
          std::max(std::abs(left.value() - right.value()), std::abs(top.value() - bottom.value()));
      tiles.push_back({all.value(), difference / all.value()});
    }
  }
  return tiles;
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
  const std::vector<Tile> tiles = TilesOf(frame, detector);
  double brightest = 0;
  for (const Tile& tile : tiles) brightest = std::max(brightest, tile.mean);
  constexpr absl::string_view kAdvice =
      "air must be seen beside the object, with the dose of the flat frames";
  if (!(brightest >= ops::kLeastDose && brightest <= ops::kMostDose)) {
    return NotGoodEnough({"the brightest part of a frame", brightest, "of the empty beam"},
                         absl::StrCat(ops::kLeastDose, " to ", ops::kMostDose), kAdvice);
  }
  double sum = 0;
  std::vector<double> slopes;
  for (const Tile& tile : tiles) {
    if (tile.mean < (1 - kSameAir) * brightest) continue;
    sum += tile.mean;
    slopes.push_back(tile.slope);
  }
  const auto bright = static_cast<double>(slopes.size());
  if (const double slope = MedianOf(slopes); !(slope <= kFlatAir)) {
    return NotGoodEnough({absl::StrCat("the difference between the halves of the brightest ",
                                       ops::kAirTile, " x ", ops::kAirTile, " pixels of a frame"),
                          100 * slope, "%"},
                         absl::StrCat("at most ", 100 * kFlatAir, " %"),
                         "the object shades them; air must be seen beside it, as wide as that");
  }
  if (dose != nullptr) *dose = sum / bright;
  const auto scale = static_cast<float>(bright / sum);
  for (float& value : frame) value *= scale;
  return frame;
}

}  // namespace isocenter::calibrate
