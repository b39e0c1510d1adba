#include "kernels/quality/edge_spread.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "absl/strings/str_format.h"
#include "kernels/base/units.h"

namespace isocenter::quality {
namespace {

constexpr int kFrequencies = 64;
constexpr double kLeastPhased = 0.4;  // of an edge: below, noise may turn its phase by a half

double Sinc(double x) { return x == 0 ? 1 : std::sin(kPi * x) / (kPi * x); }

/// What bins and differences take away is put back; phases are about the middle of the spread.
struct Transform {
  std::vector<double> frequencies;
  std::vector<std::complex<double>> values;
};
Transform TransformOf(std::span<const double> spread, double width, double end) {
  const int lines = static_cast<int>(spread.size()) - 1;
  std::vector<double> line(lines);
  for (int i = 0; i < lines; ++i) {
    const double off = std::abs(2.0 * (i + 0.5) / lines - 1);  // 0 in the middle, 1 at the ends
    const double taper = off < 0.6 ? 1 : 0.5 * (1 + std::cos(kPi * (off - 0.6) / 0.4));
    line[i] = taper * (spread[i + 1] - spread[i]);
  }
  Transform transform;
  double whole = 0;
  for (int n = 0; n <= kFrequencies; ++n) {
    const double frequency = end * n / kFrequencies;
    std::complex<double> sum = 0;
    for (int i = 0; i < lines; ++i) {
      sum += std::polar(1.0, -2 * kPi * frequency * (i - 0.5 * (lines - 1)) * width) * line[i];
    }
    if (n == 0) whole = sum.real();
    const double lost = Sinc(frequency * width) * Sinc(frequency * width);
    transform.frequencies.push_back(frequency);
    transform.values.push_back(sum / whole / lost);
  }
  return transform;
}

}  // namespace

absl::StatusOr<std::vector<double>> SpreadByDistance(std::span<const DistanceValue> values,
                                                     double from, double width, int bins) {
  std::vector<double> sums(bins), counts(bins);
  for (const DistanceValue& each : values) {
    const double bin = std::floor((each.distance - from) / width);
    if (bin < 0 || bin >= bins) continue;
    sums[static_cast<int>(bin)] += each.value;
    ++counts[static_cast<int>(bin)];
  }
  const auto empty = std::count(counts.begin(), counts.end(), 0.0);
  if (empty * 2 > bins) {
    return absl::InvalidArgumentError(
        absl::StrFormat("of %d distances from the edge %d have no voxel; legal is a half at most: "
                        "take a larger rod or more slices",
                        bins, empty));
  }
  // A centre on the grid has few different distances. Beyond the first and the last the spread is
  // flat.
  int last = -1;
  for (int i = 0; i < bins; ++i) {
    if (counts[i] == 0) continue;
    sums[i] /= counts[i];
    if (last < 0) {
      std::fill_n(sums.begin(), i, sums[i]);
      last = i;
    }
    for (int j = last + 1; j < i; ++j)
      sums[j] = sums[last] + (sums[i] - sums[last]) * (j - last) / (i - last);
    last = i;
  }
  std::fill(sums.begin() + last + 1, sums.end(), sums[last]);
  return sums;
}

FrequencyCurve TransformSpread(std::span<const double> spread, double width, double end) {
  Transform transform = TransformOf(spread, width, end);
  FrequencyCurve curve{.frequencies = std::move(transform.frequencies)};
  for (const std::complex<double>& value : transform.values)
    curve.values.push_back(std::abs(value));
  return curve;
}

FrequencyCurve TransformSymmetric(std::span<const double> spread, double width, double end) {
  Transform transform = TransformOf(spread, width, end);
  // The edge's place, by the phase where much is left of it: a straight line through 0.
  double sum = 0, weights = 0;
  for (size_t n = 1; n < transform.values.size(); ++n) {
    const double size = std::abs(transform.values[n]), f = transform.frequencies[n];
    if (size < kLeastPhased) break;
    sum += size * size * f * std::arg(transform.values[n]);
    weights += size * size * f * f;
  }
  const double turns = weights > 0 ? sum / weights : 0;  // of phase for a frequency
  FrequencyCurve curve{.frequencies = transform.frequencies};
  for (size_t n = 0; n < transform.values.size(); ++n) {
    const auto back = std::polar(1.0, -turns * transform.frequencies[n]);
    curve.values.push_back((transform.values[n] * back).real());
  }
  return curve;
}

Level LevelBetween(std::span<const DistanceValue> values, double from, double to) {
  double count = 0, sum = 0, squares = 0;
  for (const DistanceValue& each : values) {
    if (each.distance < from || each.distance > to) continue;
    ++count;
    sum += each.value;
    squares += each.value * each.value;
  }
  if (count < 2) return {};
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean) / count)};
}

absl::Status CheckContrast(const Level& inside, const Level& outside) {
  const double contrast = inside.mean - outside.mean;
  const double error = std::hypot(inside.error, outside.error);
  if (std::abs(contrast) > 20 * error) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("the edge's contrast is %.1f HU with a standard error of %.2f; legal is 20 "
                      "times it or more",
                      contrast, error));
}

}  // namespace isocenter::quality
