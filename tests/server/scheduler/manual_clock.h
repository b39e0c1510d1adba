// A clock that stands until it is told to go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/time/time.h"

namespace isocenter::scheduler {

/// Thread-safe. Must outlive the functions that it gives out.
class ManualClock {
 public:
  absl::Time Now() const { return absl::FromUnixNanos(nanos_.load()); }
  void Advance(absl::Duration duration) { nanos_ += absl::ToInt64Nanoseconds(duration); }
  std::function<absl::Time()> function() const {
    return [this] { return Now(); };
  }

 private:
  std::atomic<int64_t> nanos_{int64_t{1'700'000'000} * 1'000'000'000};
};

}  // namespace isocenter::scheduler
