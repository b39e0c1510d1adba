// The engine: what admits acquisitions and refinements, computes them and goes on after a restart.
#pragma once

#include <atomic>
#include <functional>
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
#include "server/pipeline/acquisitions.h"
#include "server/pipeline/active_jobs.h"
#include "server/pipeline/admission.h"
#include "server/pipeline/device_loss.h"
#include "server/pipeline/early/early_refinements.h"
#include "server/pipeline/engine_environment.h"
#include "server/pipeline/orders/order_lookup.h"
#include "server/pipeline/refinements.h"
#include "server/scheduler/scheduler.h"

namespace isocenter::pipeline {

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

  using Accepted = AcceptedJob;
  using AcceptDone = std::function<void(absl::StatusOr<Accepted>)>;

  /// Plans and admits on a thread of its own, one acquisition after the other, and calls `done`
  /// there. `wanted` is asked when the turn comes: a console that has left costs no planning. A
  /// request id that is known gives the job that it belongs to. Errors: INVALID_ARGUMENT,
  /// PERMISSION_DENIED (the request id is another caller's), RESOURCE_EXHAUSTED (memory, spool or
  /// disk: what is needed and what is free; see RetryAfter), FAILED_PRECONDITION (the
  /// calibration that the protocol requires), UNAVAILABLE (drained, stopping, no device), CANCELLED
  /// (not wanted any more), those of the job store.
  void Accept(AcquisitionRequest request, std::function<bool()> wanted, AcceptDone done);

  using Quote = AdmissionQuote;
  using QuoteDone = std::function<void(absl::StatusOr<Quote>)>;

  /// What Accept would answer, without taking anything; with its arguments, and when nothing waits
  /// to be accepted, or else now and then between two of those. Errors: as Accept, but for the
  /// spool's and the disk's.
  void Predict(AcquisitionRequest request, std::function<bool()> wanted, QuoteDone done);

  /// The job of a stream that broke. Nothing is taken over yet. Errors: NOT_FOUND,
  /// PERMISSION_DENIED (another caller began it), INVALID_ARGUMENT (with another acquisition; names
  /// what differs).
  absl::StatusOr<Accepted> Resume(const ResumeRequest& request);

  /// As Refinements::Refine; also UNAVAILABLE (drained, or stopping).
  void Refine(const std::string& job_id, RefinementRequest request, Refinements::Done done);

  /// Errors: NOT_FOUND, FAILED_PRECONDITION (it has ended already).
  absl::Status Cancel(const std::string& job_id, const absl::Status& why);

  /// While there is a reason, an operator wants nothing new here: acquisitions and refinements are
  /// refused with UNAVAILABLE and that sentence. Those that exist go on, and may be resumed.
  void SetDrained(std::optional<std::string> reason);

  /// Room on the archive's disk for what is no result. Errors: as PromisedDisk::Reserve.
  absl::StatusOr<scheduler::DiskPromise> ReserveDisk(int64_t bytes) { return disk_.Reserve(bytes); }
  /// Of the host's memory. Errors: as scheduler::PromisedMemory::Reserve.
  absl::StatusOr<scheduler::MemoryPromise> ReserveMemory(int64_t bytes) {
    return parts_.scheduler.slots()[0]->host_memory.Reserve(bytes);
  }
  /// What of the archive's disk is promised to active jobs, in bytes; and of it, what lies on the
  /// spool's disk: all or nothing.
  int64_t promised_disk_bytes() const { return disk_.promised(); }
  int64_t promised_spool_disk_bytes() const { return disk_.promised_on_spool(); }
  /// What results of live acquisitions may take of the archive's disk now. Errors: INTERNAL.
  absl::StatusOr<int64_t> RoomForLive() const { return pipeline::RoomForLive(parts_); }
  /// Jobs whose result found no room on the disk.
  int jobs_waiting_for_room() const { return active_.WaitingForRoom(); }

  /// From now on nothing is admitted, for good.
  void StopAdmitting();
  /// Whether all jobs ended before `deadline`. Jobs whose console is gone are not waited for.
  bool WaitUntilIdle(absl::Time deadline);
  /// Lets go of all jobs without ending them: the next start goes on with them.
  void SuspendAll();

 private:
  /// Has WatchDeadlines look at all jobs.
  void WakeWatch();
  void WatchDeadlines();
  /// Looks for a slot for every job that has none: soon, on the admission's thread. From any
  /// thread.
  void SeekPlaces();

  absl::Status BeforeUnit(const RunPlace& place) override { return device_loss_.BeforeUnit(place); }
  void OnDeviceLost(const RunPlace& place, const absl::Status& why) override {
    device_loss_.OnDeviceLost(place, why);
  }
  void OnDeadlineSet() override { WakeWatch(); }
  void OnGone(ActiveJob& job) override { active_.Remove(job.id()); }

  const EngineOptions options_;
  const EngineParts parts_;
  std::atomic<bool> seeking_places_{false};  // one waits for its turn

  absl::Mutex mutex_;
  enum class Watch { kSleeps, kHasNews, kEnds };
  Watch watch_ ABSL_GUARDED_BY(mutex_) = Watch::kHasNews;

  scheduler::PromisedDisk disk_;
  ActiveJobs active_;
  EarlyRefinements early_;
  DeviceLoss device_loss_;
  // Whoever completes the volume of a job that has just left may still say that a device is lost:
  // the thread that would look for places, and finds no job, ends after the one that says so.
  scheduler::LaneExecutor admission_thread_{"iso-admission"};
  const std::shared_ptr<scheduler::LaneExecutor::Lane> admission_lane_ =
      admission_thread_.NewLane();
  const std::shared_ptr<scheduler::LaneExecutor::Lane> quote_lane_ =
      admission_thread_.NewLane({.job_class = jobs::JobClass::kBatch});
  /// No console waits for what is planned beyond its volume.
  const std::shared_ptr<scheduler::LaneExecutor::Lane> early_lane_ =
      admission_thread_.NewLane({.job_class = jobs::JobClass::kBatch});
  LoadedCalibrations loaded_calibrations_;
  RunMaker runs_;
  // Their threads end before what is above.
  scheduler::LaneExecutor exporter_{"iso-export"};
  scheduler::LaneExecutor live_exporter_{"iso-export-live"};
  OrderLookup orders_;
  Refinements refinements_;
  Acquisitions acquisitions_;
  AcquisitionAdmission admission_;
  std::thread watcher_;
};

}  // namespace isocenter::pipeline
