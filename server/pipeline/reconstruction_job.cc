#include "server/pipeline/reconstruction_job.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/completeness/hounsfield_levels.h"
#include "server/pipeline/job_record.h"
#include "server/pipeline/runs/run_maker.h"

namespace isocenter::pipeline {
namespace {

using jobs::Job;
using jobs::JobState;

std::vector<bool> PresentOf(const std::vector<jobs::FrameState>& states) {
  std::vector<bool> present;
  for (const jobs::FrameState state : states) {
    present.push_back(state == jobs::FrameState::kPresent);
  }
  return present;
}

double Gups(double updates, double seconds) { return seconds > 0 ? updates / seconds / 1e9 : 0; }

}  // namespace

ReconstructionJob::ReconstructionJob(std::string id, AcquisitionRequest request,
                                     const VolumeGrid& grid, std::shared_ptr<jobs::JobSpool> spool,
                                     absl::Time accepted_time, const JobEnvironment& environment,
                                     AcquisitionKeeper& acquisitions, const AbsentConsole& absent)
    : ActiveJob(std::move(id), grid, {request.job_class, accepted_time + request.deadline},
                accepted_time, environment),
      request_(std::move(request)),
      spool_(std::move(spool)),
      acquisitions_(acquisitions),
      absent_(absent),
      monitor_(request_.acquisition, request_.settings.truncation),
      ledger_(spool_->states(), request_.missing_frames),
      phases_(spool_->phases(), PresentOf(spool_->states())),
      // Without a stream, as after a restart, the job waits for one.
      console_deadline_(environment_.steady_clock() + absent.limit),
      last_frame_time_(accepted_time_) {
  if (spool_->finished()) input_ = InputState::kAnnounced;
}

void ReconstructionJob::SeekRun(RunMaker& runs) {
  auto run = runs.Make(request_, grid_, urgency_);
  if (run.ok()) {
    const std::string backend((*run)->place().devices[0]->backend());
    environment_.table.Update(id_, [&](Job& changed) { changed.result.backend = backend; });
    StartRun(*std::move(run));
  } else if (!absl::IsResourceExhausted(run.status()) && !absl::IsUnavailable(run.status())) {
    Fail(run.status());
  }
}

void ReconstructionJob::StartRun(std::shared_ptr<ReconstructionRun> run) {
  {
    absl::MutexLock lock(&mutex_);
    if (!TakeRun(std::move(run))) return;
    chunks_scheduled_ = 0;
  }
  {
    absl::MutexLock tell_lock(&tell_mutex_);
    TellExpectedEnd();
  }
  CloseInput();
  Schedule();
}

// ---- Computation -------------------------------------------------------------------------------

void ReconstructionJob::Schedule() {
  absl::MutexLock lock(&mutex_);
  if (life_ != LifeState::kComputing) return;
  const auto run = std::static_pointer_cast<ReconstructionRun>(run_);
  const auto self = std::static_pointer_cast<ReconstructionJob>(shared_from_this());
  const std::vector<recon::Chunk>& chunks = run->plan().chunks;
  while (chunks_scheduled_ < chunks.size() && ledger_.Ready(chunks[chunks_scheduled_])) {
    const recon::Chunk& chunk = chunks[chunks_scheduled_++];
    run->lane().Submit(
        [self, run, sources = ledger_.Sources(chunk)] { self->ComputeChunk(run, sources); });
    if (chunks_scheduled_ == chunks.size()) {
      run->lane().Submit([self, run] { self->FinishVolume(run, /*first=*/true); });
    }
  }
}

void ReconstructionJob::ComputeChunk(const std::shared_ptr<ReconstructionRun>& run,
                                     const Sources& sources) {
  if (!IsCurrentNow(run)) return;
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
  if (!IsCurrentNow(run)) return;
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
  const auto self = std::static_pointer_cast<ReconstructionJob>(shared_from_this());
  {
    absl::MutexLock lock(&mutex_);
    if (!IsCurrent(run)) return;
    if (!*all_started) {
      run->lane().Submit([self, run] { self->FinishVolume(run, false); });
      return;
    }
    run->completion().Submit([self, run] { self->CompleteVolume(run); });
    Apply(LifeEvent::kHandedOver);
  }
  acquisitions_.WhenIdentified(*this, [self, run] { self->SubmitExport(run); });
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
    current = IsCurrent(run) && Apply(LifeEvent::kVolumeComplete) != Duty::kNone;
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
  acquisitions_.OnVolumeComplete(*this);
}

absl::StatusOr<ActiveJob::Output> ReconstructionJob::OutputOf(Run* run) {
  auto& volume = static_cast<ReconstructionRun&>(*run);
  return Output{volume.volume(), [this, &volume](int slices) {
                  ISO_RETURN_IF_ERROR(volume.slices().Await(slices));
                  if (slices == grid_.nz) WarnOfVolume(volume.volume());
                  return absl::OkStatus();
                }};
}

void ReconstructionJob::WarnOfVolume(HostView3<const float> hounsfield) {
  std::optional<std::string> other =
      recon::ImplausibleHounsfieldText(hounsfield, request_.acquisition.pixel_type);
  if (!other) return;
  const absl::StatusOr<jobs::JobSnapshot> job = environment_.table.Get(id_);
  // It is stored again where it found no room, or the service has been restarted.
  if (job.ok() && std::ranges::find((*job)->warnings, *other, &jobs::JobWarning::text) !=
                      (*job)->warnings.end()) {
    return;
  }
  Warn({jobs::WarningKind::kAirLevel, std::nullopt, *std::move(other)});
}

ActiveJob::Change ReconstructionJob::Summary(absl::Time stored_at) {
  absl::MutexLock lock(&mutex_);
  const double seconds_to_stored = absl::ToDoubleSeconds(stored_at - last_frame_time_);
  return [=, present = ledger_.present(), lost = ledger_.lost()](Job& changed) {
    changed.result.seconds_to_stored = seconds_to_stored;
    // Whoever added the last frames may not have come to say so.
    changed.progress.frames_received = present;
    changed.progress.frames_lost = lost;
  };
}

void ReconstructionJob::EnterReconstructing() {
  absl::call_once(reconstructing_, [this] {
    // Takes milliseconds, while the last chunk is computed; whoever ends the job waits here.
    WarnOfScan();
    bool tells_phases = false;
    {
      absl::MutexLock lock(&mutex_);
      tells_phases = phases_.told();
    }
    const absl::Status saved =
        environment_.table.Transition(id_, JobState::kReconstructing, [&](Job& job) {
          if (tells_phases) job.facts.phase_cycle = request_.phase_cycle;
        });
    if (saved.ok()) return;
    absl::MutexLock lock(&mutex_);
    if (!IsOver(life_)) LogUnsaved(id_, saved);
  });
}

}  // namespace isocenter::pipeline
