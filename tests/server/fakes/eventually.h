// Waiting for what happens on other threads.
#pragma once

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace isocenter::testing {

/// Asks until it is so; false after 100 seconds.
template <class Condition>
bool Eventually(const Condition& condition) {
  const absl::Time deadline = absl::Now() + absl::Seconds(100);
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return true;
}

}  // namespace isocenter::testing
