// Whether the shared index can be used: one line in the log each time that it changes.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::cluster_index {

/// Thread-safe.
class State {
 public:
  enum class Part { kReading, kPublishing };

  void Set(Part part, const absl::Status& status);
  /// Both parts work. Nothing is known before each has been set once: then they do not.
  bool is_up() const;

 private:
  bool IsUp() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return reading_.ok() && publishing_.ok();
  }

  mutable absl::Mutex mutex_;
  absl::Status reading_ ABSL_GUARDED_BY(mutex_) = absl::UnknownError("not tried yet");
  absl::Status publishing_ ABSL_GUARDED_BY(mutex_) = absl::UnknownError("not tried yet");
  bool is_told_ ABSL_GUARDED_BY(mutex_) = false;  // that it is away
};

}  // namespace isocenter::cluster_index
