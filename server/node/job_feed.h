// Changes of all jobs, for those who follow them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/job_table.h"

namespace isocenter::node {

/// The last change of one job, or of the node.
struct FeedEvent {
  enum class Kind { kJob, kJobRemoved, kNode };
  Kind kind = Kind::kJob;
  int64_t number = 0;     // ascends, from 1
  std::string job_id;     // empty for kNode
  jobs::JobSnapshot job;  // kJob
};

/// Numbers the changes of jobs. Who reads gets the last change of each job since the one that he
/// saw last; changes of one job within a fifth of a second are one. Memory is bounded. Thread-safe.
class JobFeed {
 public:
  /// Jobs whose last change is kept for those who come back.
  static constexpr size_t kEventsKept = 1000;

  /// `table` must outlive the feed.
  explicit JobFeed(jobs::JobTable& table);
  /// As Stop.
  ~JobFeed();
  JobFeed(const JobFeed&) = delete;
  JobFeed& operator=(const JobFeed&) = delete;

  /// Readiness, draining or the health of a device has changed, or an acquisition was refused.
  void OnNodeChanged();

  /// The number of the newest event; 0: none yet.
  int64_t newest() const;
  /// Whether all that came after that event is still known.
  bool Knows(int64_t number) const;
  /// Events after `number`, in order; waits for one until `deadline`, of SteadyNow. Empty: none
  /// came, or the feed has stopped.
  std::vector<FeedEvent> Read(int64_t number, absl::Time deadline) const;
  bool stopped() const;

  /// Frames per second of a job over the last seconds; empty: it receives none.
  std::optional<double> FramesPerSecond(const std::string& job_id) const;

  /// From now on nobody waits.
  void Stop();

 private:
  /// What the table tells it; outlives the feed where a notification has begun.
  struct Inbox {
    absl::Mutex mutex;
    std::set<std::string> changed ABSL_GUARDED_BY(mutex);
    bool stopping ABSL_GUARDED_BY(mutex) = false;
  };
  struct Progress {
    absl::Time time;
    int frames = 0;
  };

  void Run();
  void Publish(FeedEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteProgress(const jobs::Job& job, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const jobs::JobTable& table_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  mutable absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t newest_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t forgotten_ ABSL_GUARDED_BY(mutex_) = 0;  // the newest one that is known no longer
  std::map<int64_t, FeedEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int64_t> last_of_job_ ABSL_GUARDED_BY(mutex_);  // "": of the node
  std::map<std::string, std::deque<Progress>> receiving_ ABSL_GUARDED_BY(mutex_);
  jobs::JobTable::Subscription subscription_;
  std::thread thread_;
};

}  // namespace isocenter::node
