// What the frames of a sweep have in common, and how they differ, pixel by pixel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace isocenter::calibrate {

/// Each half of a sweep needs enough frames to do without its largest and its smallest.
inline constexpr int kLeastSweepFrames = 10;
inline constexpr int kMostSweepFrames = 10000;

/// INVALID_ARGUMENT with `sweep`, the number and what is legal.
absl::Status CheckSweepFrames(absl::string_view sweep, int64_t frames);

/// Frames are added one by one and not kept. Of each half of the sweep every pixel's largest and
/// smallest value is left out, so that a single event changes nothing. Memory: 52 bytes a pixel.
class SweepStatistics {
 public:
  /// `frames` as CheckSweepFrames.
  SweepStatistics(size_t pixels, int frames);

  /// All of the `frames`, in the order of exposure; values are finite.
  void Add(std::span<const float> frame);

  int frames() const { return frames_; }
  size_t pixels() const { return halves_[0].sum.size(); }

  /// Without the extremes.
  double Mean(size_t pixel) const;
  /// Of the second half less the first.
  double Change(size_t pixel) const;
  /// Of a frame, without the extremes: too small by what they do, for comparing pixels.
  double TrimmedSigma(size_t pixel) const;
  /// Of a frame.
  double Sigma(size_t pixel) const;

 private:
  struct Half {
    int frames = 0;
    std::vector<double> sum, squares;
    std::vector<float> least, most;

    double Mean(size_t pixel) const;
    double TrimmedVariance(size_t pixel) const;
  };

  int frames_;
  int added_ = 0;
  std::vector<float> first_;  // squares are of the difference from it, which keeps their digits
  Half halves_[2];
};

/// Brings frames of an empty beam to one level, whatever each one's dose was. Memory: 58 bytes a
/// pixel.
class FlatFrames {
 public:
  /// `offsets` are those of the dark frames; both live longer than this.
  FlatFrames(std::span<const float> offsets, int frames);

  void Add(std::span<const uint16_t> counts);

  /// Pixels relative to the frame's level.
  const SweepStatistics& statistics() const { return statistics_; }
  /// Median counts above the offset of each frame.
  const std::vector<double>& levels() const { return levels_; }
  /// Their mean in the second half of the sweep, when lag has settled: what dose 1 is.
  double Level() const;
  /// Of the pixels, the share that reads nothing but the largest counts that any of them reads.
  double SaturatedShare() const;

 private:
  const std::span<const float> offsets_;
  SweepStatistics statistics_;
  std::vector<uint16_t> least_;  // counts of each pixel
  std::vector<double> levels_;
  std::vector<float> frame_;
  uint16_t largest_ = 0;
};

}  // namespace isocenter::calibrate
