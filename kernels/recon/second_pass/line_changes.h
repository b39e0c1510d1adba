// By how much corrections change line integrals, for what a pass says of itself.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/status.h"
#include "kernels/base/views.h"

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

/// Runs `correct`, which changes lines [view][v][u] of views from `first_view` on, and adds what it
/// changes of every stride-th view to `changes`.
absl::Status CountChanges(HostView3<float> lines, int first_view, int stride,
                          const std::function<absl::Status()>& correct, LineChanges& changes);

}  // namespace isocenter::recon
