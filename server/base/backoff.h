// How long to wait before something that failed is tried again.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/time/time.h"

namespace isocenter {

/// The first delay, doubled after every failure up to the longest. Each is shortened by chance to
/// between half and all of itself, so that many services that have lost the same peer do not come
/// back to it at the same moment. Not thread-safe.
class Backoff {
 public:
  /// `random` draws uniformly from [0, 1); null: nothing is left to chance.
  Backoff(absl::Duration first, absl::Duration longest, std::function<double()> random = nullptr);

  /// The delay after one more failure.
  absl::Duration Fail() { return After(++failures_); }
  /// The delay after so many failures in a row, 0 as 1, for those who count them elsewhere.
  absl::Duration After(int64_t failures) const;
  /// Forgets all failures.
  void Succeed() { failures_ = 0; }
  /// Failures in a row.
  int failures() const { return failures_; }

 private:
  const absl::Duration first_, longest_;
  const std::function<double()> random_;
  int failures_ = 0;
};

}  // namespace isocenter
