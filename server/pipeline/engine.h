// Admits acquisitions and keeps the active ones until they have ended.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/ops/registry.h"
#include "server/jobs/frame_spool.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/jobs/worklist.h"
#include "server/pipeline/acquisition_request.h"
#include "server/pipeline/order_lookup.h"
#include "server/pipeline/reconstruction_job.h"
#include "server/pipeline/refinements.h"
#include "server/pipeline/request_decoders.h"
#include "server/pipeline/run_maker.h"
#include "server/scheduler/scheduler.h"

namespace isocenter::pipeline {

/// Makes a device fail, for tests of what happens then.
struct DeviceFault {
  std::string slot;  // "cpu0"
  int chunks = 0;    // that it computes before
};

/// What the engine works with; all of it outlives the engine.
struct EngineEnvironment {
  const ops::Registry& registry;
  scheduler::Scheduler& scheduler;
  jobs::JobTable& table;
  jobs::FrameSpool& spool;
  jobs::ResultStore& results;
  jobs::JobObserver& observer;
  jobs::Worklist* worklist = nullptr;  // null: none
};

struct EngineOptions {
  absl::Duration reconnect_limit = absl::Minutes(2);
  std::optional<DeviceFault> fault;
  /// Called once, when the last healthy slot is gone; from any thread.
  std::function<void()> no_device_left;
  RequestDecoders decoders;
  /// From the acceptance of an acquisition; see OrderLookup.
  absl::Duration worklist_timeout = absl::Seconds(10);
  /// The observer tells the information system of performed procedure steps, to which results
  /// therefore refer.
  bool reports_procedure_steps = false;
};

/// Thread-safe.
class Engine : private JobKeeper {
 public:
  /// devices[i] belong to scheduler.slots()[i].
  Engine(const EngineEnvironment& environment, std::vector<SlotDevices> devices,
         EngineOptions options = {});
  /// Suspends all jobs and waits until they have let go.
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Goes on with the jobs that were active when the service stopped. Once, before Accept. Jobs
  /// that cannot go on fail with the reason.
  void Recover();

  struct Accepted {
    /// Where the frames go; null when the job has ended already.
    std::shared_ptr<ReconstructionJob> job;
    jobs::JobSnapshot snapshot;
    int64_t peak_bytes = 0;
    double predicted_seconds = 0;  // 0 until something has been measured
  };
  using AcceptDone = std::function<void(absl::StatusOr<Accepted>)>;

  /// Plans and admits on a thread of its own, one acquisition after the other, and calls `done`
  /// there. `wanted` is asked when the turn comes: a console that has left costs no planning. A
  /// request id that is known gives the job that it belongs to. Errors: INVALID_ARGUMENT,
  /// RESOURCE_EXHAUSTED (memory, spool or disk: what is needed and what is free; see
  /// scheduler::RetryAfter), UNAVAILABLE (drained, stopping, no device), CANCELLED (not wanted any
  /// more), those of the job store.
  void Accept(AcquisitionRequest request, std::function<bool()> wanted, AcceptDone done);

  struct Quote {
    RunForecast forecast;
    int active_jobs = 0;
    /// The job of the request id is here, or the other half of the pair.
    bool holds_related_job = false;
  };
  using QuoteDone = std::function<void(absl::StatusOr<Quote>)>;

  /// What Accept would answer, without taking anything; in its turn among the acquisitions, and
  /// with its arguments. Errors: as Accept, but for the spool's and the disk's.
  void Predict(AcquisitionRequest request, std::function<bool()> wanted, QuoteDone done);

  /// The job of a stream that broke. Errors: NOT_FOUND.
  absl::StatusOr<Accepted> Resume(const std::string& job_id);

  /// As Refinements::Refine; also UNAVAILABLE (drained, or stopping).
  void Refine(const std::string& job_id, RefinementRequest request, Refinements::Done done);

  /// Errors: NOT_FOUND, FAILED_PRECONDITION (it has ended already).
  absl::Status Cancel(const std::string& job_id, const absl::Status& why);

  /// While there is a reason, an operator wants nothing new here: acquisitions and refinements are
  /// refused with UNAVAILABLE and that sentence. Those that exist go on, and may be resumed.
  void SetDrained(std::optional<std::string> reason);

  /// From now on nothing is admitted, for good.
  void StopAdmitting();
  /// Whether all jobs ended before `deadline`. Jobs whose console is gone are not waited for.
  bool WaitUntilIdle(absl::Time deadline);
  /// Lets go of all jobs without ending them: the next start goes on with them.
  void SuspendAll();

 private:
  /// What is known of an acquisition before it is planned.
  struct Screened {
    std::optional<Accepted> known;  // the job of its request id; the rest is unset
    VolumeGrid grid;
    bool has_other_half = false;  // of its pair, from which the request now has what it lacked
  };
  /// Errors: INVALID_ARGUMENT, UNAVAILABLE (drained, stopping).
  absl::StatusOr<Screened> Screen(AcquisitionRequest& request) const;
  absl::StatusOr<Accepted> AcceptNow(AcquisitionRequest request);
  absl::StatusOr<Quote> QuoteNow(AcquisitionRequest request);
  /// Errors: UNAVAILABLE (drained).
  absl::Status CheckNotDrained() const;
  absl::StatusOr<Accepted> Existing(const AcquisitionRequest& request,
                                    const jobs::JobSnapshot& job) const;
  jobs::Job NewJob(const AcquisitionRequest& request, const VolumeGrid& grid) const;
  JobEnvironment EnvironmentOf(jobs::JobClass job_class);
  absl::Status RecoverJob(const jobs::Job& job);
  absl::Status CompleteStored(const jobs::Job& job, const jobs::StoredSeries& stored);
  void RecoverRefinements();
  /// What the protocol asks for beyond the volume, when that is stored.
  void FollowUp(const std::string& id, const jobs::StoredSeries& stored,
                const AcquisitionRequest& request, std::shared_ptr<jobs::JobSpool> spool);
  /// Looks for a slot for every job that has none, acquisitions first: soon, on the admission's
  /// thread. From any thread.
  void SeekPlaces();
  void StartWaiting();
  void AddActive(const std::shared_ptr<ReconstructionJob>& job);
  /// Null: it is not active.
  std::shared_ptr<ReconstructionJob> FindActive(const std::string& job_id) const;
  std::vector<std::shared_ptr<ReconstructionJob>> ActiveJobs() const;
  void WatchConsoles();
  /// The exporter subtracts, where both halves of a pair are there by then.
  void SubmitSubtraction(const std::string& pair_id);
  void SubtractIfComplete(const std::string& pair_id);

  /// Puts a slot into quarantine. Once for each.
  void LoseSlot(scheduler::DeviceSlot& slot, const absl::Status& why);
  /// Takes the runs from lost slots, and sees to it that their jobs find other places.
  void ReplaceLostRuns();

  absl::Status MakeRoomFor(const VolumeGrid& grid) override;
  absl::Status BeforeUnit(const RunPlace& place) override;
  void OnDeviceLost(const RunPlace& place, const absl::Status& why) override;
  void OnFirstFrame(ReconstructionJob& job) override;
  void WhenIdentified(ReconstructionJob& job, std::function<void()> then) override;
  void OnConsoleLeft() override;
  void OnStored(ReconstructionJob& job, const jobs::StoredSeries& stored) override;
  void OnJobEnded(ReconstructionJob& job) override;

  const EngineEnvironment environment_;
  const EngineOptions options_;
  std::atomic<int> chunks_on_faulty_slot_{0};
  std::atomic<bool> no_device_reported_{false};
  std::atomic<bool> seeking_places_{false};  // one waits for its turn

  mutable absl::Mutex mutex_;
  bool admitting_ ABSL_GUARDED_BY(mutex_) = true;
  std::optional<std::string> drain_reason_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool consoles_changed_ ABSL_GUARDED_BY(mutex_) = false;
  int runs_being_freed_ ABSL_GUARDED_BY(mutex_) = 0;  // whose device is lost
  std::map<std::string, std::shared_ptr<ReconstructionJob>> active_ ABSL_GUARDED_BY(mutex_);

  // Last: their threads end before anything that they use.
  RunMaker runs_;
  scheduler::LaneExecutor exporter_{"iso-export"};
  /// An export takes seconds, and cannot be interrupted by a more urgent one.
  scheduler::LaneExecutor live_exporter_{"iso-export-live"};
  OrderLookup orders_;
  Refinements refinements_;
  scheduler::LaneExecutor admission_{"iso-admission"};
  const std::shared_ptr<scheduler::LaneExecutor::Lane> admission_lane_ = admission_.NewLane();
  std::thread consoles_;
};

}  // namespace isocenter::pipeline
