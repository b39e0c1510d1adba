// Asks the worklist for the orders of acquisitions, while frames come.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/job_table.h"
#include "server/jobs/worklist.h"
#include "server/pipeline/order_match.h"
#include "server/pipeline/reconstruction_job.h"
#include "server/scheduler/lane_executor.h"

namespace isocenter::pipeline {

/// Settles who and what was acquired, once per job: with the worklist's answer, or without it when
/// that takes too long. One question at a time, on a thread of its own. Thread-safe.
class OrderLookup {
 public:
  /// `worklist`: null when there is none; then nothing is asked and nothing waited for. Both must
  /// outlive this object. `timeout`: from Begin.
  OrderLookup(jobs::Worklist* worklist, jobs::JobTable& table, absl::Duration timeout,
              std::function<absl::Time()> clock)
      : worklist_(worklist), table_(table), timeout_(timeout), clock_(std::move(clock)) {}

  /// Before the job's first frame. Without effect when its order is settled already.
  void Begin(const std::shared_ptr<ReconstructionJob>& job);
  /// Told whether the identity is settled; it is not when the lookup was stopped before.
  using Then = std::function<void(bool settled)>;
  /// Calls `then` once the job's identity will not change any more: now, or from another thread.
  void WhenSettled(const std::string& job_id, Then then);
  /// Settles what has waited too long. Returns when the next one will have.
  absl::Time EndOverdue();
  /// Lets go of all that waits; nothing is settled any more.
  void Stop();

 private:
  struct Pending {
    std::shared_ptr<ReconstructionJob> job;
    absl::Time deadline;
    bool settling = false;
    std::vector<Then> then;
  };

  void Ask(const std::string& job_id);
  absl::StatusOr<OrderMatch> Find(const ReconstructionJob& job, absl::Time deadline);
  /// Without effect when another thread has done so.
  void Settle(const std::string& job_id, const absl::StatusOr<OrderMatch>& found);

  jobs::Worklist* const worklist_;
  jobs::JobTable& table_;
  const absl::Duration timeout_;
  const std::function<absl::Time()> clock_;
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Pending> pending_ ABSL_GUARDED_BY(mutex_);
  // Last: its thread uses all of the above.
  scheduler::LaneExecutor executor_{"iso-worklist"};
  const std::shared_ptr<scheduler::LaneExecutor::Lane> lane_ = executor_.NewLane();
};

}  // namespace isocenter::pipeline
