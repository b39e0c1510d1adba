// How often the log tells of what others can repeat as often as they like.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace isocenter {

/// At most one line a second of each subject. Memory is bounded: beyond kSubjects those of other
/// seconds are forgotten, with what was left out of them. Thread-safe.
class LineRate {
 public:
  static constexpr size_t kSubjects = 1024;

  /// Nothing: the line is to be left out. Else how many were, since the last of this subject.
  std::optional<int64_t> Admit(absl::string_view subject, absl::Time now);

 private:
  struct Told {
    int64_t second = 0;
    int64_t suppressed = 0;  // since then
  };
  absl::Mutex mutex_;
  std::map<std::string, Told, std::less<>> told_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter
