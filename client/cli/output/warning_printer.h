// Warnings of a job, on stderr as they come.
#pragma once

#include <isocenter/v1/jobs.pb.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::cli {

/// Prints each warning once, however often and by whichever way it is reported, and of those that
/// say the same with other numbers the first: how many more there were, and at which frames, is one
/// line at the end. Thread-safe.
class WarningPrinter {
 public:
  WarningPrinter() = default;
  WarningPrinter(const WarningPrinter&) = delete;
  WarningPrinter& operator=(const WarningPrinter&) = delete;
  /// Finishes.
  ~WarningPrinter();

  void Print(const std::string& text) ABSL_LOCKS_EXCLUDED(mutex_);
  void Print(const v1::JobWarning& warning) ABSL_LOCKS_EXCLUDED(mutex_);
  /// Tells of those that were held back so far.
  void Finish() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  /// Of the same shape (ShapeOf).
  struct Alike {
    std::string first;  // as it was printed
    int held_back = 0;
    std::vector<uint32_t> frames;  // of those, where they have one
  };

  void Take(const std::string& text, const v1::JobWarning* warning)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  std::set<std::string> texts_ ABSL_GUARDED_BY(mutex_);  // all that were told
  std::set<std::pair<std::string, uint32_t>> at_frames_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Alike> alike_ ABSL_GUARDED_BY(mutex_);  // by shape
};

}  // namespace isocenter::cli
