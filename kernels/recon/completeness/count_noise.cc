#include "kernels/recon/completeness/count_noise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_format.h"
#include "kernels/base/median.h"

namespace isocenter::recon {
namespace {

constexpr size_t kMostOfLevel = 4000, kLeastOfLevel = 200;  // differences
// Fourth differences, of which what is smooth has nearly none. Of independent values such a one has
// 70 times the variance of one, and the difference of two frames twice that.
constexpr std::array kFourth{1, -4, 6, -4, 1};
constexpr double kTimesVariance = 140;
constexpr double kOfMiddle = 0.6745;  // of a normal distribution's absolute values, the middle one
// Those of white noise change their sign from one to the next in 80 of 100, those of what an object
// leaves in less than half.
constexpr double kLeastChanges = 0.65;
constexpr double kLeastDifference = 20;  // counts, the middle one: rounding is less
constexpr double kBrightOctaves = 3;     // in which read-out noise is little
constexpr double kLeastRatio = 1.4;      // of the means of the levels
constexpr size_t kLeastLevels = 4;
// The pedestal is told by the darkest levels, as far as they are straight.
constexpr double kDarkShare = 0.15;      // of i0_counts
constexpr double kPedestalOfMean = 0.2;  // of the darkest level's
constexpr double kLeastDarkRatio = 2;    // of their means: what lies close together tells no zero
constexpr double kMostBent = 1.6;        // of the slope, up to air
constexpr double kLeastSigmas = 5;

uint16_t CountAt(std::span<const std::byte> row, size_t u) {
  uint16_t count;
  std::memcpy(&count, &row[u * sizeof count], sizeof count);
  return count;
}

}  // namespace

CountNoise::CountNoise(const Acquisition& acquisition) : acquisition_(acquisition) {
  if (acquisition.pixel_type != PixelType::kUint16Counts || acquisition.calibration != nullptr ||
      acquisition.detector.pitch_u_mm > kMostPitchMm) {
    return;
  }
  const auto views = static_cast<int>(acquisition.trajectory.size());
  step_ = std::max(2, views / kMostPairs);
}

void CountNoise::Add(int view, std::span<const FrameRow> rows) {
  if (step_ == 0) return;
  if (view == last_view_ + 1 && rows.size() == last_.size()) {
    for (size_t i = 0; i < rows.size(); ++i) AddRow(last_[i], rows[i].pixels);
  }
  last_view_ = -2;
  if (view % step_ != 0) return;
  last_.clear();
  for (const FrameRow& row : rows) last_.emplace_back(row.pixels.begin(), row.pixels.end());
  last_view_ = view;
}

void CountNoise::AddRow(std::span<const std::byte> before, std::span<const std::byte> now) {
  const size_t columns = now.size() / sizeof(uint16_t);
  // What is at the ends of the range has no noise, and its neighbours less.
  uint16_t highest = 0;
  for (size_t u = 0; u < columns; ++u) {
    highest = std::max({highest, CountAt(before, u), CountAt(now, u)});
  }
  const auto is_cut = [&](size_t u) {
    const uint16_t a = CountAt(before, u), b = CountAt(now, u);
    return a == 0 || b == 0 || a == highest || b == highest;
  };
  size_t level_before = levels_.size();
  double difference_before = 0;
  for (size_t first = 0; first + kFourth.size() <= columns; ++first) {
    double mean = 0, difference = 0, lowest = 2 * UINT16_MAX, highest_sum = 0;
    bool cut = false;
    for (size_t i = 0; i < kFourth.size(); ++i) {
      const double a = CountAt(before, first + i), b = CountAt(now, first + i);
      cut |= is_cut(first + i);
      mean += (a + b) / (2 * kFourth.size());
      difference += kFourth[i] * (b - a);
      lowest = std::min(lowest, a + b);
      highest_sum = std::max(highest_sum, a + b);
    }
    if (cut) {
      level_before = levels_.size();
      continue;
    }
    const auto at = std::min(static_cast<size_t>(kLevelsPerOctave * std::max(0.0, std::log2(mean))),
                             levels_.size() - 1);
    Level& level = levels_[at];
    if (at == level_before) {
      ++level.neighbours;
      level.changes += (difference < 0) != (difference_before < 0);
    }
    level_before = at;
    difference_before = difference;
    if (level.count == kMostOfLevel) continue;
    level.windows.push_back(
        {static_cast<float>(std::abs(difference)), static_cast<float>(highest_sum - lowest)});
    level.means += mean;
    // Not all at the end, where somebody waits for the volume.
    if (++level.count == kMostOfLevel) {
      level.middle = MiddleDifference(level.windows);
      level.windows = {};
    }
  }
}

float CountNoise::MiddleDifference(std::vector<Window>& windows) {
  const auto half = static_cast<std::ptrdiff_t>(windows.size() / 2);
  const auto smooth_end = windows.begin() + half, middle = windows.begin() + half / 2;
  std::ranges::nth_element(windows, smooth_end, {}, &Window::roughness);
  std::nth_element(windows.begin(), middle, smooth_end,
                   [](const Window& a, const Window& b) { return a.difference < b.difference; });
  return middle->difference;
}

std::vector<CountNoise::Point> CountNoise::Points() const {
  std::vector<Point> points;
  for (const Level& level : levels_) {
    const size_t n = level.count / 2;
    if (n < kLeastOfLevel || level.changes < kLeastChanges * level.neighbours) continue;
    std::vector<Window> rest = level.windows;
    const float middle = rest.empty() ? level.middle : MiddleDifference(rest);
    if (middle < kLeastDifference) continue;
    const double sigma = middle / kOfMiddle;
    points.push_back({level.means / static_cast<double>(level.count),
                      sigma * sigma / kTimesVariance, static_cast<double>(n)});
  }
  return points;
}

std::optional<std::string> CountNoise::ExponentText(const std::vector<Point>& points) const {
  std::vector<double> slopes;
  const double brightest = points.back().mean;
  double darkest = brightest;
  size_t levels = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].mean < brightest * std::exp2(-kBrightOctaves)) continue;
    ++levels;
    darkest = std::min(darkest, points[i].mean);
    for (size_t k = i + 1; k < points.size(); ++k) {
      slopes.push_back(std::log(points[k].variance / points[i].variance) /
                       std::log(points[k].mean / points[i].mean));
    }
  }
  if (levels < kLeastLevels || brightest < kLeastRatio * darkest) return std::nullopt;
  const double exponent = MedianOf(slopes);
  if (exponent >= kLeastExponent) return std::nullopt;
  return absl::StrFormat(
      "the noise of the counts is not that of photons: its variance goes with the counts to the "
      "power of %.1f (from %.0f to %.0f counts); legal is %g or more, photons have 1. Counts that "
      "went through a square root have 0, those of a display's table or a logarithm, or with light "
      "and dark exchanged, are below: are they raw? Attenuation is not right otherwise",
      exponent, darkest, brightest, kLeastExponent);
}

std::optional<std::string> CountNoise::PedestalText(const std::vector<Point>& points) const {
  const double i0 = acquisition_.i0_counts;
  // Least squares of variance = slope · (mean - pedestal), each by its own uncertainty, which is a
  // share of the variance.
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  size_t levels = 0;
  for (const Point& point : points) {
    if (point.mean > kDarkShare * i0) break;
    const double weight = point.weight / (point.variance * point.variance);
    w += weight;
    wx += weight * point.mean;
    wy += weight * point.variance;
    wxx += weight * point.mean * point.mean;
    wxy += weight * point.mean * point.variance;
    ++levels;
  }
  if (levels < kLeastLevels || points[levels - 1].mean < kLeastDarkRatio * points[0].mean) {
    return std::nullopt;
  }
  const double spread = w * wxx - wx * wx;
  const double slope = (w * wxy - wx * wy) / spread;
  if (!(slope > 0)) return std::nullopt;
  const double pedestal = (wx * slope - wy) / w / slope;
  // Air goes on along the same line; noise that is a share of the counts does not.
  const Point& air = points.back();
  const double along = air.variance / (slope * (air.mean - pedestal));
  if (along < 1 / kMostBent || along > kMostBent) return std::nullopt;
  // Of the middle of absolute values, 2.7 / n of the variance's square; or as levels scatter about
  // the line, where that is more: windows side by side share pixels, and edges are in some.
  double scatter = 0;
  for (const Point& point : std::span(points).first(levels)) {
    const double off = (point.variance - slope * (point.mean - pedestal)) / point.variance;
    scatter += point.weight * off * off / static_cast<double>(levels - 2);
  }
  const double of_square = std::max(2.7, scatter);
  const double middle = wx / w;
  const double variance_of_slope = of_square * w / spread, variance_of_level = of_square / w;
  const double sigma =
      std::sqrt(variance_of_level + std::pow(middle - pedestal, 2) * variance_of_slope) / slope;
  const double least = std::max(kMostPedestal * i0, kPedestalOfMean * points.front().mean);
  if (pedestal < least || pedestal < kLeastSigmas * sigma) return std::nullopt;
  return absl::StrFormat(
      "the counts stand on a pedestal of about %.0f (sigma %.0f), %.1f %% of i0_counts, which has "
      "no noise of photons; legal is below %g %%. An offset that was not taken off, or veiling "
      "glare, does that: thick rays look thinner, and the middle of the object is tens of HU too "
      "low; a calibration takes both off",
      pedestal, sigma, 100 * pedestal / i0, 100 * kMostPedestal);
}

std::optional<std::string> CountNoise::Text() const {
  const std::vector<Point> points = Points();
  if (points.size() < kLeastLevels) return std::nullopt;
  if (auto exponent = ExponentText(points)) return exponent;
  return PedestalText(points);
}

}  // namespace isocenter::recon
