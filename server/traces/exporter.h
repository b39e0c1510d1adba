// Traces of jobs, sent to a collector. No job waits for it: what happens to jobs is noted, spans
// are made and sent by a thread of the exporter's own, and dropped where the collector does not
// take them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/audit/event.h"
#include "server/jobs/job.h"
#include "server/jobs/job_table.h"
#include "server/traces/job_spans.h"
#include "server/traces/span.h"

namespace isocenter::traces {

struct ExporterOptions {
  /// "service.name" and what else says whose spans they are.
  std::vector<std::pair<std::string, Value>> resource;
  /// Sends a request: Post, or a test's.
  std::function<absl::Status(const std::string& json)> post;
  /// The trace that is kept with a job; see DeviceSpansOf.
  std::function<absl::StatusOr<std::string>(const std::string& job_id)> kept_trace;
  absl::Duration first_retry = absl::Seconds(1), longest_retry = absl::Minutes(1);
};

struct ExporterCounts {
  int64_t exported = 0, dropped = 0;  // spans
};

/// Thread-safe.
class Exporter {
 public:
  /// Jobs that have not ended, ended ones that wait, and spans: what is beyond is dropped.
  static constexpr size_t kMostJobs = 4096;
  static constexpr size_t kMostSpans = 8192;

  explicit Exporter(ExporterOptions options);
  /// Sends what waits, for two seconds at most.
  ~Exporter();

  void OnJobAccepted(const jobs::Job& job, absl::Time now);
  void OnStateChanged(const jobs::Job& job, absl::Time now);
  void OnJobEnded(const jobs::Job& job);
  void OnSent(const jobs::Job& job, const std::string& destination, int64_t instances,
              int64_t failed, absl::Time end);

  ExporterCounts counts() const;

 private:
  struct Ended {
    jobs::Job job;
    std::vector<StateChange> changes;
  };

  void Run();
  void Drop(size_t spans) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Queue(std::vector<Span> spans) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Span> SpansOfNext(const Ended& ended) const;
  void SendNext();

  const ExporterOptions options_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::vector<StateChange>> changes_ ABSL_GUARDED_BY(mutex_);
  std::deque<Ended> ended_ ABSL_GUARDED_BY(mutex_);
  std::deque<Span> waiting_ ABSL_GUARDED_BY(mutex_);
  ExporterCounts counts_ ABSL_GUARDED_BY(mutex_);
  absl::Time stop_by_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::thread thread_;
};

/// Tells of transmissions, of which the audit trail is told, and passes all on. `table` and `next`
/// outlive it. Thread-safe.
class Transmissions : public audit::Recorder {
 public:
  Transmissions(Exporter& exporter, const jobs::JobTable& table, audit::Recorder& next)
      : exporter_(exporter), table_(table), next_(next) {}
  void Record(audit::Event event) override;

 private:
  Exporter& exporter_;
  const jobs::JobTable& table_;
  audit::Recorder& next_;
};

}  // namespace isocenter::traces
