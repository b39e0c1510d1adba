// Time that nobody sets. The system's clock is for what people and other machines read; waits and
// limits that only count seconds go by this one (docs/adr/0099-clocks-that-are-set.md).
#pragma once

#include <chrono>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace isocenter {

/// Only differences mean something, and only within this process.
absl::Time SteadyNow();

/// The deadline `duration` from now, for gRPC, which wants it by the system's clock and waits by
/// another. absl::Now would not do: it sees up to two seconds later that the clock has been set.
std::chrono::system_clock::time_point DeadlineIn(absl::Duration duration);

/// absl::Mutex::AwaitWithTimeout, which waits until a time of the system's clock: when that is set
/// back meanwhile, by so much longer. Waits with `mutex` given back until `condition` holds or
/// `duration` has passed; returns whether it holds. `mutex` is held before and afterwards. The
/// condition must depend on nothing but what `mutex` guards.
bool AwaitFor(absl::Mutex& mutex, const absl::Condition& condition, absl::Duration duration)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

}  // namespace isocenter
