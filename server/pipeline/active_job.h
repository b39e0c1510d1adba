// What jobs of every kind have in common: their life, their run, their end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/pipeline/lifecycle.h"
#include "server/pipeline/runs/run.h"
#include "server/scheduler/lane_executor.h"
#include "server/scheduler/promised_disk.h"

namespace isocenter::pipeline {

class ActiveJob;
class RunMaker;

/// Who keeps the jobs and the devices. Called from any thread.
class JobKeeper {
 public:
  virtual ~JobKeeper() = default;
  /// Before each unit of work, on the slot's thread. An error is the device's.
  virtual absl::Status BeforeUnit(const RunPlace& place) = 0;
  /// A device of a run is lost. Its job waits for another run.
  virtual void OnDeviceLost(const RunPlace& place, const absl::Status& why) = 0;
  /// What EndIfOverdue or StoreAgainIfDue returns is earlier than before.
  virtual void OnDeadlineSet() = 0;
  /// The job has ended or is suspended, and its memory is free. Once; the last that it says.
  virtual void OnGone(ActiveJob& job) = 0;
};

/// What a job works with; all of it outlives the job.
struct JobEnvironment {
  jobs::JobTable& table;
  jobs::ResultStore& results;
  jobs::JobObserver& observer;
  JobKeeper& keeper;
  scheduler::PromisedDisk& disk;
  scheduler::LaneExecutor& exporter;
  std::function<absl::Time()> clock;
  std::function<absl::Time()> steady_clock;  // of what only counts seconds
  absl::Duration store_again;  // what finds no room on the disk is tried again after so long
};

/// A job that has not ended. What happens to it is decided by Next (lifecycle.h) under one lock,
/// and done once that is given back; a kind of job is a class of its own work only. Thread-safe.
/// The job keeps itself alive while work of it is under way.
class ActiveJob : public std::enable_shared_from_this<ActiveJob> {
 public:
  virtual ~ActiveJob() = default;
  ActiveJob(const ActiveJob&) = delete;
  ActiveJob& operator=(const ActiveJob&) = delete;

  const std::string& id() const { return id_; }
  const VolumeGrid& grid() const { return grid_; }
  scheduler::Urgency urgency() const { return urgency_; }

  /// Whether it has no run, and needs one.
  bool waits() const;
  /// The run that computes or has computed, or null.
  std::shared_ptr<Run> run() const;
  /// Takes the run from the job, which waits for another one, or ends if it was to be cancelled or
  /// suspended. False: it has another one or none, has ended, or its volume is complete.
  bool DropRun(const std::shared_ptr<Run>& run);

  /// Room on the disk that is promised to the result, until it is stored or the job has ended. A
  /// job without looks for it when it is stored.
  void TakeRoom(scheduler::DiskPromise room);
  int64_t room_bytes() const;
  /// Whether its result found no room on the disk, and is not stored yet.
  bool waits_for_room() const;
  /// The exporter comes again to a job that waits for room, when it has waited for long enough; the
  /// job is suspended when `draining`. Returns when it will have waited, or InfiniteFuture.
  absl::Time StoreAgainIfDue(bool draining);

  /// Ends the job as CANCELLED. While the result is being written, the job ends a moment later, and
  /// may still complete. The first who cancels it is the one whose reason is told.
  void Cancel(const absl::Status& why) { Stop(LifeEvent::kCancel, why); }
  /// Ends the job as FAILED, unless it has ended or is being stored.
  void Fail(const absl::Status& why) { Stop(LifeEvent::kFail, why); }
  /// Lets go of the job without ending it: the next start of the service goes on with it.
  void Suspend();
  /// Tells whoever waits for the job, and the operators.
  void Warn(jobs::JobWarning warning);

  // ---- What kinds of jobs differ in ----

  /// Whether it begins after jobs that do not, and a live acquisition may take its run: then it
  /// waits, and begins again.
  virtual bool gives_way() const { return true; }
  /// The job waits: it gets a run, fails, or waits on. By the thread that makes runs.
  virtual void SeekRun(RunMaker& /*runs*/) {}
  /// What is said of a job whose run is taken because its device is lost.
  virtual std::string BeginsAgain() const { return "a device failed; it begins again"; }
  /// Ends the job if it has waited too long for what did not come. Returns when it will have, or
  /// InfiniteFuture.
  virtual absl::Time EndIfOverdue() { return absl::InfiniteFuture(); }

 protected:
  /// Of a job that was accepted at `accepted_time`.
  ActiveJob(std::string id, const VolumeGrid& grid, const scheduler::Urgency& urgency,
            absl::Time accepted_time, const JobEnvironment& environment);

  /// What the exporter stores of a job.
  struct Output {
    HostView3<const float> volume;                  // Hounsfield units
    std::function<absl::Status(int slices)> await;  // as in ResultStore::Store
  };
  /// On the exporter's thread. What it returns is valid as long as `run`, which is null in a job
  /// that needs none.
  virtual absl::StatusOr<Output> OutputOf(Run* run) = 0;
  /// The volume is stored; next the job is COMPLETED.
  virtual void OnStored(const jobs::StoredSeries& /*stored*/) {}
  /// What the record of a completed job says beside its series and how long it took.
  using Change = std::function<void(jobs::Job&)>;
  virtual Change Summary(absl::Time /*stored_at*/) { return nullptr; }
  /// The job is suspended; its memory is still held.
  virtual void OnSuspended(const absl::Status& /*why*/) {}
  /// The job has ended, which the table knows, and its memory is free. Once.
  virtual void OnEnded() {}

  absl::Time Now() const { return environment_.clock(); }
  /// Says what has happened. The caller does what is to be done.
  Duty Apply(LifeEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// The job begins with this run. False: it has ended.
  bool TakeRun(std::shared_ptr<Run> run) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Whether the job has not ended, and this is its run. A unit of a run must ask under the lock
  /// before it submits the next: who takes the run from the job does so under the lock, too, and
  /// drops its units afterwards. One that was added later would hold the run's memory when
  /// everybody believes that it is free.
  bool IsCurrent(const std::shared_ptr<Run>& run) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool IsCurrentNow(const std::shared_ptr<Run>& run) const ABSL_LOCKS_EXCLUDED(mutex_);
  /// A step of the run has failed.
  void OnRunFailed(const std::shared_ptr<Run>& run, const absl::Status& why);
  /// The exporter stores the volume of a job that is kCompleting or kComplete, when its turn comes.
  void SubmitExport(std::shared_ptr<Run> run);
  /// That with which the job has ended.
  absl::Status EndStatus() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  /// A part of the job is done that holds it: its end, or what was counted in holds_. The last one
  /// gives the memory back and leaves the keeper.
  void Release() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string id_;
  const VolumeGrid grid_;
  const scheduler::Urgency urgency_;
  const absl::Time accepted_time_;
  const JobEnvironment environment_;

  mutable absl::Mutex mutex_;
  LifeState life_ ABSL_GUARDED_BY(mutex_) = LifeState::kWaiting;
  std::shared_ptr<Run> run_ ABSL_GUARDED_BY(mutex_);  // until it is dropped, or freed at the end
  absl::Status reason_ ABSL_GUARDED_BY(mutex_);       // of the end, or for which it is to end
  /// One until the end; and one for each callback under way that uses what is gone when the keeper
  /// has let go of the job.
  int holds_ ABSL_GUARDED_BY(mutex_) = 1;

 private:
  void Stop(LifeEvent event, const absl::Status& why);
  /// What Apply has said. `change` goes with the state that is published.
  void Do(Duty duty, const absl::Status& why, const Change& change = nullptr);
  void Publish(jobs::JobState state, const absl::Status& why, const Change& change);
  void StoreVolume(const std::shared_ptr<Run>& run);
  /// `lacks_room` tells that the error is a full disk's.
  absl::StatusOr<jobs::StoredSeries> Store(Run* run, bool& lacks_room);
  absl::Status FindRoom(const jobs::Job& job);
  void OnStoreFailed(const std::shared_ptr<Run>& run, absl::Status why);
  /// The volume is kept, and stored when there is room.
  void OnNoRoom(const std::shared_ptr<Run>& run, absl::Status why);
  void StoreAgain();
  void Complete(const std::shared_ptr<Run>& run, const jobs::StoredSeries& stored,
                absl::Time begin);
  void Leave();

  const std::shared_ptr<scheduler::LaneExecutor::Lane> export_;
  scheduler::DiskPromise room_ ABSL_GUARDED_BY(mutex_);
  absl::Time store_again_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();  // of the steady clock
  bool found_no_room_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace isocenter::pipeline
