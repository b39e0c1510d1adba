#include "kernels/calibrate/sweep.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

constexpr size_t kLevelPixels = 1 << 16;  // a median of so many is known well enough

}  // namespace

absl::Status CheckSweepFrames(absl::string_view sweep, int64_t frames) {
  if (frames >= kLeastSweepFrames && frames <= kMostSweepFrames) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(sweep, " has ", frames, " frames; legal is ",
                                                 kLeastSweepFrames, " to ", kMostSweepFrames));
}

SweepStatistics::SweepStatistics(size_t pixels, int frames) : frames_(frames), first_(pixels) {
  assert(frames >= kLeastSweepFrames);
  halves_[0].frames = frames / 2;
  halves_[1].frames = frames - frames / 2;
  for (Half& half : halves_) {
    half.sum.assign(pixels, 0);
    half.squares.assign(pixels, 0);
    half.least.assign(pixels, std::numeric_limits<float>::max());
    half.most.assign(pixels, std::numeric_limits<float>::lowest());
  }
}

void SweepStatistics::Add(std::span<const float> frame) {
  assert(frame.size() == pixels() && added_ < frames_);
  if (added_ == 0) first_.assign(frame.begin(), frame.end());
  Half& half = halves_[added_ < halves_[0].frames ? 0 : 1];
  for (size_t i = 0; i < frame.size(); ++i) {
    const float value = frame[i] - first_[i];
    half.sum[i] += value;
    half.squares[i] += double{value} * value;
    half.least[i] = std::min(half.least[i], value);
    half.most[i] = std::max(half.most[i], value);
  }
  ++added_;
}

double SweepStatistics::Half::Mean(size_t pixel) const {
  return (sum[pixel] - least[pixel] - most[pixel]) / (frames - 2);
}

double SweepStatistics::Half::TrimmedVariance(size_t pixel) const {
  const double low = least[pixel], high = most[pixel], mean = Mean(pixel);
  const double squared = (squares[pixel] - low * low - high * high) / (frames - 2);
  return std::max(0.0, squared - mean * mean);
}

double SweepStatistics::Mean(size_t pixel) const {
  const double second = static_cast<double>(halves_[1].frames) / frames_;
  return first_[pixel] + std::lerp(halves_[0].Mean(pixel), halves_[1].Mean(pixel), second);
}

double SweepStatistics::Change(size_t pixel) const {
  return halves_[1].Mean(pixel) - halves_[0].Mean(pixel);
}

double SweepStatistics::TrimmedSigma(size_t pixel) const {
  return std::sqrt((halves_[0].TrimmedVariance(pixel) + halves_[1].TrimmedVariance(pixel)) / 2);
}

double SweepStatistics::Sigma(size_t pixel) const {
  const double mean = (halves_[0].sum[pixel] + halves_[1].sum[pixel]) / frames_;
  const double squares = halves_[0].squares[pixel] + halves_[1].squares[pixel];
  return std::sqrt(std::max(0.0, squares - frames_ * mean * mean) / (frames_ - 1));
}

FlatFrames::FlatFrames(std::span<const float> offsets, int frames)
    : offsets_(offsets),
      statistics_(offsets.size(), frames),
      least_(offsets.size(), std::numeric_limits<uint16_t>::max()),
      frame_(offsets.size()) {}

void FlatFrames::Add(std::span<const uint16_t> counts) {
  assert(counts.size() == frame_.size());
  for (size_t i = 0; i < frame_.size(); ++i) {
    frame_[i] = static_cast<float>(counts[i]) - offsets_[i];
    least_[i] = std::min(least_[i], counts[i]);
    largest_ = std::max(largest_, counts[i]);
  }
  const double level = Median(Thinned(frame_, kLevelPixels));
  levels_.push_back(level);
  // A frame without light has no level; its pixels are then as they are, and the sweep is refused.
  const float scale = level > 0 ? static_cast<float>(1 / level) : 1.0f;
  for (float& value : frame_) value *= scale;
  statistics_.Add(frame_);
}

double FlatFrames::Level() const {
  const auto second = levels_.begin() + static_cast<std::ptrdiff_t>(levels_.size() / 2);
  return std::accumulate(second, levels_.end(), 0.0) / static_cast<double>(levels_.end() - second);
}

double FlatFrames::SaturatedShare() const {
  return static_cast<double>(std::count(least_.begin(), least_.end(), largest_)) /
         static_cast<double>(least_.size());
}

}  // namespace isocenter::calibrate
