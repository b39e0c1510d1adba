// Slows down who guesses tokens.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace isocenter::roles {

/// Counts failed sign-ins by address. Memory is bounded: of too many addresses, the one whose
/// failures are oldest is forgotten. Thread-safe.
class AttemptLimiter {
 public:
  static constexpr int kFailures = 10;
  static constexpr absl::Duration kWithin = absl::Minutes(1);
  static constexpr size_t kAddresses = 1024;

  /// How long an address has to wait before it may try again; 0: it may.
  absl::Duration Wait(const std::string& address, absl::Time now);
  void OnFailure(const std::string& address, absl::Time now);

 private:
  absl::Mutex mutex_;
  std::map<std::string, std::deque<absl::Time>> failures_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::roles
