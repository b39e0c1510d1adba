// By how much corrections change line integrals, for what a pass says of itself.
#pragma once

#include <cstdint>
#include <span>

namespace isocenter::recon {

/// Rays that were looked at, before and after a correction. Not thread-safe.
class LineChanges {
 public:
  /// As many of each, in the same order.
  void Add(std::span<const float> before, std::span<const float> after);

  /// Of all rays, those that have another line integral now; 0 to 1.
  double changed_share() const;
  /// Mean of (before - after) over those.
  double mean_fall() const;
  /// Root mean square of the difference, over all rays.
  double rms() const;

 private:
  int64_t rays_ = 0, changed_ = 0;
  double falls_ = 0, squares_ = 0;
};

}  // namespace isocenter::recon
