// Holds the encoder back until slices of the volume have arrived in host memory.
#pragma once

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::pipeline {

/// Thread-safe.
class SliceGate {
 public:
  explicit SliceGate(int slices) : arrived_(slices, false) {}

  /// In any order.
  void Arrived(int first, int count) {
    absl::MutexLock lock(&mutex_);
    for (int i = first; i < first + count; ++i) arrived_[i] = true;
    while (leading_ < static_cast<int>(arrived_.size()) && arrived_[leading_]) ++leading_;
  }
  /// The volume is complete, or will never be. Once.
  void Close(const absl::Status& status) {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    status_ = status;
  }
  /// Waits for the first `slices`; for all of them until Close. The status of Close when that comes
  /// first.
  absl::Status Await(int slices) {
    absl::MutexLock lock(&mutex_);
    const auto open = [this, slices]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return closed_ || (leading_ >= slices && slices < static_cast<int>(arrived_.size()));
    };
    mutex_.Await(absl::Condition(&open));
    return closed_ ? status_ : absl::OkStatus();
  }

 private:
  absl::Mutex mutex_;
  std::vector<bool> arrived_ ABSL_GUARDED_BY(mutex_);
  int leading_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::pipeline
