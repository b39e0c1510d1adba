// The states of a job, a line each.
#pragma once

#include <cstdio>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "isocenter/v1/jobs.pb.h"

namespace isocenter::cli {

/// Off a terminal a line when the state changes, and every ten seconds; on one a line that changes.
/// Thread-safe.
class StatePrinter {
 public:
  /// `file`: standard output or standard error.
  explicit StatePrinter(std::FILE* file);
  /// Ends the line that changes.
  ~StatePrinter();
  StatePrinter(const StatePrinter&) = delete;
  StatePrinter& operator=(const StatePrinter&) = delete;

  void Show(const v1::JobProgress& progress) ABSL_LOCKS_EXCLUDED(mutex_);
  /// Whether something else is drawn on a terminal now: then nothing is.
  void YieldTerminal(bool yields) ABSL_LOCKS_EXCLUDED(mutex_);
  /// Removes the line that changes, for a line of something else.
  void Clear() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::FILE* const file_;
  const bool terminal_;
  absl::Mutex mutex_;
  bool yields_ ABSL_GUARDED_BY(mutex_) = false;
  v1::JobState state_ ABSL_GUARDED_BY(mutex_) = v1::JOB_STATE_UNSPECIFIED;
  absl::Time last_line_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool drawn_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace isocenter::cli
