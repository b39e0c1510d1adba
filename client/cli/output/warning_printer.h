// Warnings of a job, on stderr as they come.
#pragma once

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::cli {

/// Prints each text once, however often and by whichever way it is reported. Thread-safe.
class WarningPrinter {
 public:
  void Print(const std::string& text) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  std::set<std::string> printed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::cli
