// Admits acquisitions and keeps the active ones until they have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/ops/registry.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/pipeline/acquisition_request.h"
#include "server/pipeline/reconstruction_job.h"
#include "server/scheduler/scheduler.h"

namespace isocenter::pipeline {

/// Thread-safe. Everything that it is given must outlive it.
class Engine {
 public:
  /// The devices of one slot share each of its jobs.
  using SlotDevices = std::vector<ops::Device*>;
  /// devices[i] belong to scheduler.slots()[i].
  Engine(const ops::Registry& registry, std::vector<SlotDevices> devices,
         scheduler::Scheduler& scheduler, jobs::JobTable& table, jobs::ResultStore& results,
         jobs::JobObserver& observer);
  /// Ends all jobs and waits for them.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  struct Accepted {
    /// Where the frames go; null when the request id belongs to a job that exists already.
    std::shared_ptr<ReconstructionJob> job;
    jobs::JobSnapshot snapshot;
    int64_t peak_bytes = 0;
    double predicted_seconds = 0;  // assumed until the first job has been measured
  };
  using AcceptDone = std::function<void(absl::StatusOr<Accepted>)>;

  /// Plans and admits on a thread of its own, one acquisition after the other, and calls `done`
  /// there. `wanted` is asked when the turn comes: a console that has left costs no planning.
  /// `room` as in ReconstructionJob. Errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED (memory or disk:
  /// what is needed and what is free), UNAVAILABLE (draining, no healthy device), CANCELLED (not
  /// wanted any more), those of the job store.
  void Accept(AcquisitionRequest request, std::function<bool()> wanted, std::function<void()> room,
              AcceptDone done);

  /// Errors: NOT_FOUND, FAILED_PRECONDITION (it has ended already).
  absl::Status Cancel(const std::string& job_id, const absl::Status& why);

  /// From now on nothing is admitted.
  void StopAdmitting();
  /// Whether all jobs ended before `deadline`.
  bool WaitUntilIdle(absl::Time deadline);
  void CancelAll(const absl::Status& why);

 private:
  absl::StatusOr<Accepted> AcceptNow(const AcquisitionRequest& request, std::function<void()> room);
  absl::StatusOr<Accepted> Existing(const AcquisitionRequest& request,
                                    const jobs::JobSnapshot& job) const;
  void Forget(const std::string& job_id);

  const ops::Registry& registry_;
  const std::vector<SlotDevices> devices_;
  scheduler::Scheduler& scheduler_;
  jobs::JobTable& table_;
  jobs::ResultStore& results_;
  jobs::JobObserver& observer_;

  absl::Mutex mutex_;
  bool admitting_ ABSL_GUARDED_BY(mutex_) = true;
  std::map<std::string, std::shared_ptr<ReconstructionJob>> active_ ABSL_GUARDED_BY(mutex_);

  // Last: their threads end before anything that they use.
  scheduler::LaneExecutor exporter_{"iso-export"};
  scheduler::LaneExecutor admission_{"iso-admission"};
  const std::shared_ptr<scheduler::LaneExecutor::Lane> admission_lane_ = admission_.NewLane();
};

}  // namespace isocenter::pipeline
