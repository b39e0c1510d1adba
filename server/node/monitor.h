// Notices what changes about the node by itself, and samples what it does.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/node/activity.h"
#include "server/node/node.h"

namespace isocenter::node {

/// Looks at the node every second, and whenever somebody has changed it. Thread-safe.
class Monitor {
 public:
  /// `changed` is called from the monitor's thread, the first time at once: with the reasons why
  /// the node is not ready, when one, draining or a device's health is another than before. Both
  /// must outlive the monitor.
  Monitor(Node& node, Activity& activity, std::function<void(const std::vector<Reason>&)> changed);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

 private:
  /// Looks now, and returns when `changed` has been told.
  void Look() ABSL_LOCKS_EXCLUDED(mutex_);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  Node& node_;
  Activity& activity_;
  const std::function<void(const std::vector<Reason>&)> changed_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t asked_ ABSL_GUARDED_BY(mutex_) = 1;
  int64_t looked_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace isocenter::node
