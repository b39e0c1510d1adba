// Frames whose rows have another length than the detector's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// A header that exchanges columns and rows fits frames to the byte, and shears them: each row
/// begins where the one before has not ended. Pixels of two rows that follow each other are alike;
/// where those that lie as many pixels apart as the detector has rows are much more so, the two
/// numbers are exchanged. Says nothing of square detectors, of
/// those with fewer rows than half of the columns, and of frames without an object.
/// Not thread-safe.
class RowLength {
 public:
  static constexpr int kMostViews = 32;
  static constexpr double kTimes = 2;  // as unlike, on average

  /// `acquisition`: valid, and must outlive this.
  explicit RowLength(const Acquisition& acquisition);

  /// Some rows of a view that follow each other, each view once, in any order.
  void Add(int view, std::span<const FrameRow> rows);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  const Acquisition& acquisition_;
  const int step_;  // between views that are looked at
  int64_t pairs_ = 0;
  double as_told_ = 0, exchanged_ = 0;  // sums of absolute differences
};

}  // namespace isocenter::recon
