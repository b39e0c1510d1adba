// The audit trail of a test.
#pragma once

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/audit/event.h"

namespace isocenter::testing {

/// Keeps what is recorded, in its order.
class KeptEvents : public audit::Recorder {
 public:
  void Record(audit::Event event) override {
    absl::MutexLock lock(&mutex_);
    events_.push_back(std::move(event));
  }
  std::vector<audit::Event> events() const {
    absl::MutexLock lock(&mutex_);
    return events_;
  }
  std::vector<audit::Event> Of(audit::Action action) const {
    std::vector<audit::Event> found = events();
    std::erase_if(found, [action](const audit::Event& event) { return event.action != action; });
    return found;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<audit::Event> events_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::testing
