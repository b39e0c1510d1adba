// Pixels that stand still while the scan goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// A tile of a panel whose read-out hangs, or a piece of a buffer that nobody fills any more, shows
/// in every frame what it showed in one, noise and all: nothing that is implausible beside its
/// neighbours. But noise hardly gives a pixel one value in all views. Told are kLeastPixels and
/// more of those that are looked at, where the others have noise, which a value seldom survives.
///
/// Not told are pixels of 0 (dead), of a counter's end (overexposed), and those whose neighbour
/// stands still at the same value: a shutter that a console fills in. Without noise, air and
/// what is round stand still in every good scan, and nothing is said. Not thread-safe.
class StillPixels {
 public:
  static constexpr int kLeastViews = 20;
  static constexpr int kMostViews = 128;  // that are looked at, from all over the scan
  static constexpr int kLeastPixels = 8;
  static constexpr double kMost = 0.25;         // of the pixels; of more it is the scan that stands
  static constexpr double kMostRepeats = 0.15;  // of the others' values, from view to view

  /// `acquisition`: valid, and must outlive this.
  explicit StillPixels(const Acquisition& acquisition);

  /// Some rows of a view, the same of each, each view once, in any order.
  void Add(int view, std::span<const FrameRow> rows);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  /// `at`: of last_. Whether it may show anything, and had one value in all views.
  bool IsStill(size_t at) const;

  const Acquisition& acquisition_;
  const int step_;  // between views that are looked at
  int views_ = 0;
  std::vector<int> rows_;         // of the detector
  std::vector<uint32_t> last_;    // [row][u]: counts, or the bits of a line integral
  std::vector<uint8_t> repeats_;  // [row][u]: views in which it had the value of the view before
};

}  // namespace isocenter::recon
