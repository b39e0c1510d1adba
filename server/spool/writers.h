// The threads that write frames.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::spool {

/// Runs tasks in the order in which they came, several at a time. Thread-safe.
class Writers {
 public:
  explicit Writers(int threads);
  /// Returns when all tasks have run, those included that tasks have added.
  ~Writers();
  Writers(const Writers&) = delete;
  Writers& operator=(const Writers&) = delete;

  /// Does not wait.
  void Add(std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Work();

  absl::Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace isocenter::spool
