// The path of one refinement: frames of another job, iterations or a second pass, volume, stored
// result.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/jobs/frame_spool.h"
#include "server/pipeline/active_job.h"
#include "server/pipeline/frames/frame_ledger.h"
#include "server/pipeline/refinement_request.h"
#include "server/pipeline/runs/refinement_run.h"

namespace isocenter::pipeline {

/// The frames that are refined, as their own job left them.
struct RefinementInput {
  std::shared_ptr<jobs::JobSpool> spool;
  recon::Acquisition acquisition;
  std::optional<jobs::UsedCalibration> calibration;  // that of their own job
  jobs::MissingFrames missing_frames;
  /// Takes the run that began while the frames came, with what it has done; null, or of a null
  /// result: there is none.
  std::function<std::shared_ptr<RefinementRun>()> take_early_run;
};

/// One job that refines another one's volume. It waits until it has its input, its source is
/// completed and there is a run, which it drives unit by unit in the slot's lane, so that more
/// urgent jobs go in between. Thread-safe.
class RefinementJob : public ActiveJob {
 public:
  /// `job` as the table has it. `ended` is told, once, that the source's frames are used no longer.
  RefinementJob(const jobs::Job& job, RefinementRequest request, const JobEnvironment& environment,
                std::function<void(const std::string& source_id)> ended);

  /// Whose frames it uses.
  const std::string& source_id() const { return source_id_; }

  /// Once, before it gets a run. Errors: DATA_LOSS (frames are neither there nor given up).
  absl::Status SetInput(RefinementInput input);

  void SeekRun(RunMaker& runs) override;
  std::string BeginsAgain() const override {
    return "a device failed; the refinement begins again";
  }
  /// Whose deadline passes while it has no run.
  absl::Time EndIfOverdue() override;

 private:
  absl::StatusOr<Output> OutputOf(Run* run) override;
  void OnEnded() override { ended_(source_id_); }

  /// Fails the job when its source will never be completed.
  bool SourceIsCompleted();
  /// The run reads the volume of the request's reference, if it has one. Errors:
  /// FAILED_PRECONDITION (it is not there any more).
  absl::Status OpenReference(RefinementRun& run) const;
  void StartRun(std::shared_ptr<RefinementRun> run);
  void Submit(const std::shared_ptr<RefinementRun>& run);
  void Work(const std::shared_ptr<RefinementRun>& run);
  /// Before the first step, once.
  void EnterRefining();
  /// Tells what has been done, at intervals or `at_once`.
  void PublishProgress(RefinementRun& run, bool at_once);
  void FinishVolume(const std::shared_ptr<RefinementRun>& run, bool all_done);

  const std::string source_id_;
  const RefinementRequest request_;
  const int iterations_;  // that were asked for
  const std::function<void(const std::string& source_id)> ended_;

  absl::once_flag refining_;
  absl::Time last_progress_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::unique_ptr<const RefinementInput> input_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<const FrameLedger> ledger_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::pipeline
