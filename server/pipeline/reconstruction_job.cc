#include "server/pipeline/reconstruction_job.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/device_lost.h"
#include "server/pipeline/job_record.h"
#include "spdlog/spdlog.h"

namespace isocenter::pipeline {
namespace {

using jobs::Job;
using jobs::JobState;

double Gups(double updates, double seconds) { return seconds > 0 ? updates / seconds / 1e9 : 0; }

}  // namespace

ReconstructionJob::ReconstructionJob(std::string id, AcquisitionRequest request, VolumeGrid grid,
                                     std::shared_ptr<jobs::JobSpool> spool,
                                     const JobEnvironment& environment)
    : id_(std::move(id)),
      request_(std::move(request)),
      grid_(grid),
      spool_(std::move(spool)),
      environment_(environment),
      accepted_time_(absl::Now()),
      urgency_{request_.job_class, accepted_time_ + request_.deadline},
      export_(environment.exporter.NewLane(urgency_)),
      monitor_(request_.acquisition),
      ledger_(spool_->states(), request_.missing_frames),
      last_frame_time_(accepted_time_) {
  absl::MutexLock lock(&mutex_);
  finish_announced_ = spool_->finished();
  began_ = ledger_.present() > 0;
  // Without a stream, as after a restart, the job waits for one.
  console_deadline_ = accepted_time_ + environment_.reconnect_limit;
}

void ReconstructionJob::StartRun(std::shared_ptr<ReconstructionRun> run) {
  {
    absl::MutexLock lock(&mutex_);
    if (ended_) return;
    run_ = std::move(run);
    chunks_scheduled_ = 0;
    volume_complete_ = false;
  }
  CloseInput();
  Schedule();
}

std::shared_ptr<ReconstructionRun> ReconstructionJob::DropRun() {
  std::shared_ptr<ReconstructionRun> run;
  bool suspended = false;
  absl::Status why;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || volume_complete_) return nullptr;
    storing_ = export_begun_ = false;
    run = std::exchange(run_, nullptr);
    if (!cancel_requested_) return run;
    // The exporter, which was to end the job, has nothing more to do with it.
    ended_ = true;
    suspended = suspended_;
    why = end_reason_;
  }
  if (suspended) {
    FreeMemory();
  } else {
    PublishEnd(JobState::kCancelled, why);
  }
  return run;
}

std::shared_ptr<ReconstructionRun> ReconstructionJob::run() const {
  absl::MutexLock lock(&mutex_);
  return run_;
}

bool ReconstructionJob::IsCurrent(const std::shared_ptr<ReconstructionRun>& run) const {
  absl::MutexLock lock(&mutex_);
  return !ended_ && run_ == run;
}

// ---- Computation -------------------------------------------------------------------------------

void ReconstructionJob::Schedule() {
  absl::MutexLock lock(&mutex_);
  if (ended_ || run_ == nullptr) return;
  const std::vector<recon::Chunk>& chunks = run_->plan().chunks;
  while (chunks_scheduled_ < chunks.size() && ledger_.Ready(chunks[chunks_scheduled_])) {
    const recon::Chunk& chunk = chunks[chunks_scheduled_++];
    run_->lane().Submit([self = shared_from_this(), run = run_, sources = ledger_.Sources(chunk)] {
      self->ComputeChunk(run, sources);
    });
    if (chunks_scheduled_ == chunks.size()) {
      run_->lane().Submit(
          [self = shared_from_this(), run = run_] { self->FinishVolume(run, /*first=*/true); });
    }
  }
}

void ReconstructionJob::ComputeChunk(const std::shared_ptr<ReconstructionRun>& run,
                                     const Sources& sources) {
  if (!IsCurrent(run)) return;
  const absl::Status status = TryChunk(*run, sources);
  if (!status.ok()) OnRunFailed(run, status);
}

absl::Status ReconstructionJob::TryChunk(ReconstructionRun& run, const Sources& sources) {
  ISO_RETURN_IF_ERROR(environment_.keeper.BeforeUnit(run.place()));
  ISO_RETURN_IF_ERROR(run.Push(*spool_, sources));
  std::shared_ptr<const jobs::Preview> preview;
  const int done = sources.back().view + 1;
  if (done < frames()) {  // the last would only delay the volume
    ISO_ASSIGN_OR_RETURN(preview, run.PreviewIfDue());
  }
  environment_.table.Update(id_, [&](Job& job) {
    job.progress.frames_backprojected = done;
    if (preview != nullptr) job.preview = preview;
  });
  return absl::OkStatus();
}

void ReconstructionJob::FinishVolume(const std::shared_ptr<ReconstructionRun>& run, bool first) {
  if (!IsCurrent(run)) return;
  if (first) {
    // Speed and duration are written into the objects, whose encoding begins before the volume is
    // complete.
    const absl::Status traced = run->TakeTrace();
    if (!traced.ok()) return OnRunFailed(run, traced);
    const double gups = Gups(run->plan().voxel_updates, run->seconds().backproject);
    const double acquisition_seconds = AcquisitionSeconds();
    environment_.table.Update(id_, [&](Job& job) {
      job.result.kernel_gups = gups;
      // A console's own word is worth more than when its frames arrived.
      if (job.facts.acquisition_seconds == 0) job.facts.acquisition_seconds = acquisition_seconds;
    });
  }
  const absl::StatusOr<bool> all_started = run->FinishStep();
  if (!all_started.ok()) return OnRunFailed(run, all_started.status());
  {
    // Under the lock: who takes the run from the job drops its units afterwards.
    absl::MutexLock lock(&mutex_);
    if (ended_ || run_ != run) return;
    if (!*all_started) {
      run->lane().Submit([self = shared_from_this(), run] { self->FinishVolume(run, false); });
      return;
    }
    run->completion().Submit([self = shared_from_this(), run] { self->CompleteVolume(run); });
    storing_ = true;
  }
  environment_.keeper.WhenIdentified(*this, [self = shared_from_this(), run] {
    self->export_->Submit([self, run] { self->StoreVolume(run); });
  });
}

double ReconstructionJob::AcquisitionSeconds() const {
  absl::MutexLock lock(&mutex_);
  return std::max(0.0, absl::ToDoubleSeconds(last_frame_time_ - first_frame_time_));
}

void ReconstructionJob::CompleteVolume(const std::shared_ptr<ReconstructionRun>& run) {
  const absl::StatusOr<absl::Time> complete = run->Complete();
  if (!complete.ok()) {
    OnRunFailed(run, complete.status());
    run->slices().Close(complete.status());
    return;
  }
  const double acquisition_seconds = AcquisitionSeconds();
  double after_last_frame = 0;
  bool current = true;
  {
    absl::MutexLock lock(&mutex_);
    current = !ended_ && run_ == run;
    volume_complete_ = current;
    after_last_frame = absl::ToDoubleSeconds(*complete - last_frame_time_);
  }
  if (!current) return run->slices().Close(absl::CancelledError("the job has ended"));
  // The end of the input may still be on its way to the disk.
  EnterReconstructing();
  const recon::StageSeconds seconds = run->seconds();
  const double updates = run->plan().voxel_updates;
  run->slot().cost.Add(updates, seconds.busy);
  environment_.observer.OnPrediction(run->slot().name, run->predicted_seconds(), seconds.busy);
  environment_.observer.OnComputed(run->slot().name, updates, seconds.busy);
  LogUnsaved(id_, environment_.table.Transition(id_, JobState::kExporting, [&](Job& job) {
    RecordStages(seconds, job.result.timings);
    job.result.timings.acquisition = acquisition_seconds;
    job.result.seconds_after_last_frame = after_last_frame;
    job.result.kernel_gups = Gups(updates, seconds.backproject);
    job.result.whole_gups = Gups(updates, seconds.busy);
  }));
  run->slices().Close(absl::OkStatus());
}

absl::StatusOr<jobs::StoredSeries> ReconstructionJob::Store(ReconstructionRun& run) {
  ISO_RETURN_IF_ERROR(environment_.keeper.MakeRoomFor(grid_));
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot job, environment_.table.Get(id_));
  return environment_.results.Store(
      *job, run.volume(), [&](int slices) { return run.slices().Await(slices); },
      [&](int slices) {
        environment_.table.Update(id_,
                                  [&](Job& changed) { changed.progress.slices_exported = slices; });
        return !cancel_requested_;
      });
}

void ReconstructionJob::StoreVolume(const std::shared_ptr<ReconstructionRun>& run) {
  const absl::Time begin = absl::Now();
  bool cancelled = false;
  {
    absl::MutexLock lock(&mutex_);
    if (run_ != run) return;  // its device was lost
    cancelled = ended_;
    export_begun_ = true;
  }
  if (cancelled) return FreeMemory();
  const absl::StatusOr<jobs::StoredSeries> stored = Store(*run);
  absl::Status why;
  bool suspended = false;
  {
    absl::MutexLock lock(&mutex_);
    if (run_ != run) return;  // its device was lost; another run computes the volume again
    suspended = suspended_;
    why = cancel_requested_ ? EndStatusLocked() : stored.status();
  }
  if (!stored.ok()) {
    // The completion's thread deals with a lost device.
    if (ops::IsDeviceLost(stored.status()) && !cancel_requested_) return;
    if (!ClaimEnd(why, Ending::kByExporter)) return;
    if (suspended) return FreeMemory();
    return PublishEnd(cancel_requested_ ? JobState::kCancelled : JobState::kFailed, why);
  }
  const absl::Time end = absl::Now();
  absl::Time last_frame;
  int present = 0, lost = 0;
  {
    absl::MutexLock lock(&mutex_);
    last_frame = last_frame_time_;
    present = ledger_.present();
    lost = ledger_.lost();
  }
  SaveTrace(id_, run->trace(), run->PlanText(), environment_.table);
  if (!ClaimEnd(absl::OkStatus(), Ending::kByExporter)) return;
  environment_.keeper.OnStored(*this, *stored);
  PublishEnd(JobState::kCompleted, absl::OkStatus(), [&](Job& changed) {
    jobs::RecordStored(*stored, changed);
    changed.result.seconds_to_stored = absl::ToDoubleSeconds(end - last_frame);
    changed.result.timings.export_ = absl::ToDoubleSeconds(end - begin);
    changed.result.timings.total = absl::ToDoubleSeconds(end - accepted_time_);
    // Whoever added the last frames may not have come to say so.
    changed.progress.frames_received = present;
    changed.progress.frames_lost = lost;
  });
}

void ReconstructionJob::OnRunFailed(const std::shared_ptr<ReconstructionRun>& run,
                                    const absl::Status& why) {
  if (!IsCurrent(run)) return;
  if (ops::IsDeviceLost(why)) {
    environment_.keeper.OnDeviceLost(run->place(), why);
  } else {
    Fail(why);
  }
}

// ---- State -------------------------------------------------------------------------------------

void ReconstructionJob::EnterReconstructing() {
  absl::call_once(reconstructing_, [this] {
    const absl::Status saved = environment_.table.Transition(id_, JobState::kReconstructing);
    if (saved.ok()) return;
    absl::MutexLock lock(&mutex_);
    if (!ended_) LogUnsaved(id_, saved);
  });
}

void ReconstructionJob::Warn(jobs::JobWarning warning) {
  PublishWarning(id_, warning, environment_.table, environment_.observer);
}

}  // namespace isocenter::pipeline
