// One refinement that is begun while its frames still come, before there is a job of it.
#pragma once

#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/frame_spool.h"
#include "server/pipeline/active_job.h"
#include "server/pipeline/frames/frame_ledger.h"
#include "server/pipeline/runs/refinement_run.h"

namespace isocenter::pipeline {

/// Drives a run by the frames of a spool that are there, one unit after the other in the run's
/// lane, until somebody takes the run away. Thread-safe.
class EarlyRefinement : public std::enable_shared_from_this<EarlyRefinement> {
 public:
  /// `failed` is called when a unit has failed, on the slot's thread; the run is gone by then, as
  /// if it had been taken, and given to it.
  using Failed = std::function<void(std::shared_ptr<RefinementRun> run, const absl::Status& why)>;
  /// `keeper` outlives the units.
  EarlyRefinement(std::shared_ptr<RefinementRun> run, std::shared_ptr<jobs::JobSpool> spool,
                  JobKeeper& keeper, Failed failed);

  /// So many frames at the beginning are in the spool, none of them given up. Never blocks.
  void OnFrames(int present);
  /// The scan's own volume is complete, so that the device is free: the run goes on as its job
  /// would, which comes when that volume is stored. `ledger` is complete. Never blocks.
  void OnScanComplete(std::unique_ptr<const FrameLedger> ledger);

  /// Takes the run away: null where it is gone already. No unit of this waits any more; one may be
  /// under way, after which those go that are submitted to the run's lane.
  std::shared_ptr<RefinementRun> Take();
  /// All is done that could be with so many first frames.
  int frames_done() const;

 private:
  void Submit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work();

  const std::shared_ptr<jobs::JobSpool> spool_;
  JobKeeper& keeper_;
  const Failed failed_;

  mutable absl::Mutex mutex_;
  std::shared_ptr<RefinementRun> run_ ABSL_GUARDED_BY(mutex_);
  int present_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<const FrameLedger> ledger_ ABSL_GUARDED_BY(mutex_);  // null: the scan goes on
  int frames_done_ ABSL_GUARDED_BY(mutex_) = 0;
  bool working_ ABSL_GUARDED_BY(mutex_) = false;  // a unit waits or is under way
};

}  // namespace isocenter::pipeline
