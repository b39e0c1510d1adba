#include "kernels/recon/completeness/dose_strips.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "kernels/base/median.h"
#include "kernels/ops/corrections.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

constexpr int kTile = ops::kAirTile;
// Brighter places that single pixels make, which nobody knows to be defective: one in a place of
// one row counts sixteen times what it does in a tile that a dose is read from.
constexpr size_t kSparklers = 2;

}  // namespace

DoseStrips::DoseStrips(const Acquisition& acquisition)
    : acquisition_(acquisition),
      strip_(acquisition.calibration != nullptr ? acquisition.calibration->air.columns : 0) {
  if (acquisition.pixel_type != PixelType::kUint16Counts || strip_ < kTile) return;
  needed_ = static_cast<int>(kViews * static_cast<double>(acquisition.trajectory.size())) + 1;
}

std::optional<DoseStrips::Place> DoseStrips::PlaceAt(const FrameRow& row, int first_column) const {
  const RowSum first = SumOf(acquisition_, row, first_column, kTile / 2);
  const RowSum second = SumOf(acquisition_, row, first_column + kTile / 2, kTile / 2);
  if (first.used == 0 || second.used == 0) return std::nullopt;
  return Place{.brightness = (first.sum + second.sum) / (first.air + second.air),
               .slope = std::abs(LineOf(acquisition_, first, 0) - LineOf(acquisition_, second, 0))};
}

bool DoseStrips::Add(std::span<const FrameRow> rows, double dose) {
  if (needed_ == 0 || dose > 0) return false;
  std::vector<Place> places;
  for (const FrameRow& row : rows) {
    for (int u = 0; u + kTile <= strip_; u += kTile) {
      for (const int first : {u, acquisition_.detector.columns - kTile - u}) {
        const std::optional<Place> place = PlaceAt(row, first);
        if (!place) continue;
        places.push_back(*place);
      }
    }
  }
  if (places.size() <= kSparklers) return false;
  const auto by_brightness = [](const Place& a, const Place& b) {
    return a.brightness > b.brightness;
  };
  std::ranges::nth_element(places, places.begin() + kSparklers, by_brightness);
  const double brightest = places[kSparklers].brightness;
  std::vector<double> slopes;
  for (const Place& place : places) {
    if (place.brightness >= (1 - ops::kAirTolerance) * brightest) slopes.push_back(place.slope);
  }
  const bool beyond = !(brightest >= ops::kLeastDose && brightest <= ops::kMostDose);
  if (!beyond && !(MedianOf(slopes) > kFlat)) return false;
  if (shaded_ + beyond_ == 0) least_ = most_ = brightest;
  least_ = std::min(least_, brightest);
  most_ = std::max(most_, brightest);
  ++(beyond ? beyond_ : shaded_);
  flat_beyond_ += beyond && !slopes.empty() && MedianOf(slopes) <= kFlat;
  if (said_ || shaded_ + beyond_ < needed_) return false;
  said_ = true;
  return true;
}

std::string DoseStrips::Text() const {
  if (2 * flat_beyond_ > shaded_ + beyond_) {
    return absl::StrFormat(
        "in %d views or more the %d columns at either side that their doses are read from are "
        "flat, as air is, and read doses of %.2f to %.2f; legal is %g to %g, others are taken to "
        "be 1, and all line integrals are off by as much: the dose is another one than the "
        "calibration's. "
        "Frames may tell it, or the calibration be made at such a dose",
        shaded_ + beyond_, strip_, least_, most_, ops::kLeastDose, ops::kMostDose);
  }
  return absl::StrFormat(
      "in %d views or more the object reaches the %d columns at either side that their doses are "
      "read from (they read %.2f to %.2f; beyond %g to %g they are taken to be 1), and they do not "
      "tell a dose: HU may be off by tens; legal is a dose told by the frames, or air at one side",
      shaded_ + beyond_, strip_, least_, most_, ops::kLeastDose, ops::kMostDose);
}

}  // namespace isocenter::recon
