// What each room had: the station names that consoles send, as labels.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "server/jobs/job.h"

namespace isocenter::metrics {

/// Counts ended jobs by station. Names come from consoles, so only the first kMostStations have
/// series of their own; all others share "other". Jobs without a name count as "unnamed".
/// Thread-safe.
class StationMetrics {
 public:
  static constexpr size_t kMostStations = 64;

  /// Its series are in `registry`, which must outlive it.
  explicit StationMetrics(prometheus::Registry& registry);

  /// An acquisition or a subtraction; completed, failed or cancelled.
  void OnJobEnded(const jobs::Job& job);

 private:
  /// The label of a station.
  std::string LabelOf(const std::string& station);

  prometheus::Family<prometheus::Counter>& jobs_;
  prometheus::Family<prometheus::Counter>& frames_;
  prometheus::Family<prometheus::Counter>& warnings_;
  prometheus::Family<prometheus::Histogram>& after_last_frame_;
  absl::Mutex mutex_;
  std::set<std::string> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::metrics
