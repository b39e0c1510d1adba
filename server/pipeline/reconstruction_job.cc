#include "server/pipeline/reconstruction_job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/device_lost.h"
#include "server/pipeline/measured_matrix.h"
#include "spdlog/spdlog.h"

namespace isocenter::pipeline {
namespace {

using jobs::Job;
using jobs::JobState;

double Gups(double updates, double seconds) { return seconds > 0 ? updates / seconds / 1e9 : 0; }

void LogUnsaved(const std::string& id, const absl::Status& status) {
  if (!status.ok()) spdlog::error("event=save_failed job={} error=\"{}\"", id, status.ToString());
}

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

// ---- Input -------------------------------------------------------------------------------------

absl::StatusOr<int64_t> ReconstructionJob::Attach(std::weak_ptr<FrameProducer> producer) {
  std::shared_ptr<FrameProducer> previous;
  int64_t stream = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_) {
      // Its volume is stored, of which the table is being told: the stream waits for the result.
      if (end_reason_.ok()) return ++stream_;
      return end_reason_;
    }
    previous = producer_.lock();
    producer_ = std::move(producer);
    producer_waits_ = false;
    console_deadline_ = absl::InfiniteFuture();
    ledger_.BeginStream();
    stream = ++stream_;
  }
  if (previous != nullptr) {
    previous->OnRefused(
        absl::AbortedError(absl::StrCat("another stream has taken over job '", id_, "'")));
  }
  return stream;
}

absl::Status ReconstructionJob::CheckFrame(const Frame& frame) const {
  const recon::Acquisition& acquisition = request_.acquisition;
  if (frame.index >= static_cast<uint32_t>(frames())) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame.index is ", frame.index, "; legal is 0 to ", frames() - 1));
  }
  size_t bytes = 0;
  for (const auto& piece : frame.pixels) bytes += piece.size();
  if (static_cast<int64_t>(bytes) != FrameBytes(acquisition)) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame.pixels of frame ", frame.index, " has ", bytes, " bytes; legal is ",
                     FrameBytes(acquisition), " (", acquisition.detector.rows, " rows of ",
                     acquisition.detector.columns, " columns of ",
                     recon::PixelBytes(acquisition.pixel_type), " bytes)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ReconstructionJob::AddFrame(int64_t stream, Frame frame) {
  const absl::Time came = absl::Now();
  const int index = static_cast<int>(frame.index);
  ISO_RETURN_IF_ERROR(CheckFrame(frame));
  jobs::SpoolFrame spooled{.index = index,
                           .pixels = std::move(frame.pixels),
                           .crc32c = frame.crc32c,
                           .memory = std::move(frame.memory)};
  if (frame.measured_matrix) {
    absl::StatusOr<ProjectionMatrix> matrix =
        CheckedMeasuredMatrix(*frame.measured_matrix, request_.acquisition.trajectory[index],
                              request_.acquisition.detector);
    if (!matrix.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("frame.measured_matrix of frame ", index, ": ", matrix.status().message()));
    }
    spooled.measured_matrix = *matrix;
  }
  FrameLedger::Taken taken;
  bool room = true;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_) return EndStatusLocked();
    if (stream != stream_) return absl::AbortedError("another stream has taken over the job");
    taken = ledger_.Begin(index);
    if (taken == FrameLedger::Taken::kNew) {
      if (finish_announced_) {
        ledger_.Abort(index);
        return absl::FailedPreconditionError(
            absl::StrCat("frame.index is ", index, "; no frame is legal after finish"));
      }
      ++callbacks_;
      first_frame_time_ = std::min(first_frame_time_, came);
      last_frame_time_ = came;
      room = ++appends_ < MostAppends(urgency_.job_class);
      producer_waits_ = !room;
    }
  }
  if (taken == FrameLedger::Taken::kLate) {
    Warn({jobs::WarningKind::kLateFrame, index,
          absl::StrCat("frame ", index, " came after it had been replaced; it is not used")});
  }
  if (taken != FrameLedger::Taken::kNew) return true;
  environment_.observer.OnFrame(FrameBytes(request_.acquisition));
  {
    std::vector<jobs::JobWarning> warnings;
    {
      absl::MutexLock lock(&monitor_mutex_);
      warnings = monitor_.OnFrame(index, spooled.pixels, spooled.measured_matrix);
    }
    for (jobs::JobWarning& warning : warnings) Warn(std::move(warning));
  }
  spool_->Append(std::move(spooled),
                 [self = shared_from_this(), stream, index, came](const absl::Status& status) {
                   self->OnAppended(stream, index, came, status);
                   self->EndCallback();
                 });
  return room;
}

void ReconstructionJob::OnAppended(int64_t stream, int index, absl::Time came,
                                   const absl::Status& status) {
  std::shared_ptr<FrameProducer> waiting, refused;
  std::vector<int> overdue;
  int present = 0;
  bool damaged = false;
  {
    absl::MutexLock lock(&mutex_);
    --appends_;
    const bool current = stream == stream_;
    if (status.ok()) {
      ledger_.Commit(index);
      overdue = ledger_.Overdue();
      for (const int late : overdue) ledger_.BeginGiveUp(late);
    } else {
      ledger_.Abort(index);
      damaged = absl::IsDataLoss(status);
      if (damaged && current) {
        refused = producer_.lock();
        producer_.reset();
        ++stream_;  // what this stream sends from now on is not taken
        finish_announced_ = false;
        console_deadline_ = absl::Now() + environment_.reconnect_limit;
      }
    }
    present = ledger_.present();
    if (producer_waits_ && current) {
      producer_waits_ = false;
      waiting = producer_.lock();
    }
  }
  if (!status.ok() && !damaged) return Fail(status);
  if (refused != nullptr) {
    environment_.keeper.OnConsoleLeft();
    return refused->OnRefused(status);
  }
  if (status.ok()) {
    environment_.observer.OnFrameSpooled(absl::ToDoubleSeconds(absl::Now() - came));
    const absl::Status recorded = GiveUp(overdue);
    if (!recorded.ok()) return Fail(recorded);
    // The chunk goes first: what is left after the last frame should not wait for book-keeping.
    Schedule();
    environment_.table.Update(id_, [&](Job& job) {
      job.progress.frames_received = std::max(job.progress.frames_received, present);
    });
  }
  CloseInput();
  if (waiting != nullptr) waiting->OnRoom();
}

void ReconstructionJob::EndCallback() {
  {
    absl::MutexLock lock(&mutex_);
    if (--callbacks_ > 0 || !frees_after_callbacks_) return;
    frees_after_callbacks_ = false;
  }
  FreeMemory();
}

absl::Status ReconstructionJob::GiveUp(const std::vector<int>& indices) {
  for (const int index : indices) {
    // Recorded first: a restart must give up the same frames, or the volume would differ.
    ISO_RETURN_IF_ERROR(spool_->DeclareGap(index));
  }
  if (indices.empty()) return absl::OkStatus();
  int lost = 0;
  {
    absl::MutexLock lock(&mutex_);
    for (const int index : indices) ledger_.GiveUp(index);
    lost = ledger_.lost();
  }
  environment_.table.Update(id_, [&](Job& job) { job.progress.frames_lost = lost; });
  const bool blended = request_.missing_frames.policy == jobs::MissingFramesPolicy::kInterpolate;
  Warn({jobs::WarningKind::kFrameGap, indices.front(),
        absl::StrCat(
            indices.size() == 1
                ? absl::StrCat("frame ", indices.front(), " is")
                : absl::StrCat(indices.size(), " frames from ", indices.front(), " are"),
            " missing and ",
            blended ? "computed from the frames beside" : "replaced by the nearest frame")});
  return absl::OkStatus();
}

absl::Status ReconstructionJob::FinishInput(int64_t stream) {
  {
    absl::MutexLock lock(&mutex_);
    if (stream != stream_) return absl::AbortedError("another stream has taken over the job");
    if (finish_announced_ || input_closed_) return absl::OkStatus();
    if (ended_) return EndStatusLocked();
    finish_announced_ = true;
  }
  CloseInput();
  absl::MutexLock lock(&mutex_);
  return ended_ && !end_reason_.ok() ? end_reason_ : absl::OkStatus();
}

void ReconstructionJob::CloseInput() {
  absl::StatusOr<std::vector<int>> missing;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || input_closed_ || ledger_.being_recorded() > 0) return;
    if (!finish_announced_ && !ledger_.complete()) return;
    input_closed_ = true;
    finish_announced_ = true;
    console_deadline_ = absl::InfiniteFuture();
    missing = ledger_.MissingAtEnd();
    if (missing.ok()) {
      for (const int index : *missing) ledger_.BeginGiveUp(index);
    }
  }
  if (!missing.ok()) return Fail(missing.status());
  absl::Status recorded = GiveUp(*missing);
  if (recorded.ok()) recorded = spool_->Finish();
  if (!recorded.ok()) return Fail(recorded);
  Schedule();
  EnterReconstructing();
}

void ReconstructionJob::EnterReconstructing() {
  absl::call_once(reconstructing_, [this] {
    const absl::Status saved = environment_.table.Transition(id_, JobState::kReconstructing);
    if (saved.ok()) return;
    absl::MutexLock lock(&mutex_);
    if (!ended_) LogUnsaved(id_, saved);
  });
}

void ReconstructionJob::Detach(int64_t stream) {
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || stream != stream_) return;
    producer_.reset();
    if (input_closed_) return;
    console_deadline_ = absl::Now() + environment_.reconnect_limit;
  }
  environment_.keeper.OnConsoleLeft();
}

void ReconstructionJob::Reject(int64_t stream, const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (stream != stream_ || finish_announced_ || input_closed_) return;
    if (ledger_.present() + ledger_.lost() + ledger_.being_recorded() == ledger_.frames()) return;
  }
  Fail(why);
}

ReconstructionJob::Input ReconstructionJob::input() const {
  absl::MutexLock lock(&mutex_);
  return {ledger_.present(), ledger_.lost(), ledger_.prefix(), ledger_.Beyond()};
}

absl::Time ReconstructionJob::console_deadline() const {
  absl::MutexLock lock(&mutex_);
  return ended_ ? absl::InfiniteFuture() : console_deadline_;
}

void ReconstructionJob::GiveUpConsole() {
  int present = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || input_closed_ || absl::Now() < console_deadline_) return;
    console_deadline_ = absl::InfiniteFuture();
    present = ledger_.present();
    if (ledger_.MissingAtEnd().ok()) finish_announced_ = true;  // good enough without the rest
  }
  CloseInput();
  {
    absl::MutexLock lock(&mutex_);
    if (finish_announced_) return;  // closed now, or when what is being written is
  }
  Fail(absl::DeadlineExceededError(
      absl::StrCat("the console's stream ended after ", present, " of ", frames(),
                   " frames and did not come back within ",
                   absl::FormatDuration(environment_.reconnect_limit))));
}

void ReconstructionJob::Warn(jobs::JobWarning warning) {
  environment_.observer.OnWarning(warning.kind);
  spdlog::warn("event=job_warning job={} kind={} text=\"{}\"", id_,
               std::string(jobs::Name(warning.kind)), warning.text);
  environment_.table.Update(id_, [&](Job& job) {
    if (job.warnings.size() >= Job::kMostWarnings) return;
    job.result.warnings.push_back(warning.text);
    job.warnings.push_back(warning);
  });
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
  ISO_RETURN_IF_ERROR(environment_.keeper.BeforeChunk(run));
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
    // The speed is written into the objects, whose encoding begins before the volume is complete.
    const absl::Status traced = run->TakeTrace();
    if (!traced.ok()) return OnRunFailed(run, traced);
    const double gups = Gups(run->plan().voxel_updates, run->seconds().backproject);
    environment_.table.Update(id_, [&](Job& job) { job.result.kernel_gups = gups; });
  }
  const absl::StatusOr<bool> all_started = run->FinishStep();
  if (!all_started.ok()) return OnRunFailed(run, all_started.status());
  if (!*all_started) {
    run->lane().Submit([self = shared_from_this(), run] { self->FinishVolume(run, false); });
    return;
  }
  run->completion().Submit([self = shared_from_this(), run] { self->CompleteVolume(run); });
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || run_ != run) return;
    storing_ = true;
  }
  export_->Submit([self = shared_from_this(), run] { self->StoreVolume(run); });
}

void ReconstructionJob::CompleteVolume(const std::shared_ptr<ReconstructionRun>& run) {
  const absl::StatusOr<absl::Time> complete = run->Complete();
  if (!complete.ok()) {
    OnRunFailed(run, complete.status());
    run->slices().Close(complete.status());
    return;
  }
  double acquisition_seconds = 0, after_last_frame = 0;
  bool current = true;
  {
    absl::MutexLock lock(&mutex_);
    current = !ended_ && run_ == run;
    volume_complete_ = current;
    acquisition_seconds =
        std::max(0.0, absl::ToDoubleSeconds(last_frame_time_ - first_frame_time_));
    after_last_frame = absl::ToDoubleSeconds(*complete - last_frame_time_);
  }
  if (!current) return run->slices().Close(absl::CancelledError("the job has ended"));
  // The end of the input may still be on its way to the disk.
  EnterReconstructing();
  const recon::StageSeconds seconds = run->seconds();
  const double updates = run->plan().voxel_updates;
  run->slot().cost.Add(updates, seconds.busy);
  environment_.observer.OnPrediction(run->slot().name, run->predicted_seconds(), seconds.busy);
  LogUnsaved(id_, environment_.table.Transition(id_, JobState::kExporting, [&](Job& job) {
    job.result.timings.upload = seconds.upload;
    job.result.timings.download = seconds.download;
    job.result.timings.preprocess = seconds.preprocess;
    job.result.timings.filter = seconds.filter;
    job.result.timings.backproject = seconds.backproject;
    job.result.timings.hounsfield = seconds.hounsfield;
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
  // Nobody's volume should fail because of its trace.
  const absl::Status traced = environment_.table.SaveTrace(id_, recon::ChromeTrace(run->trace()));
  if (!traced.ok()) spdlog::warn("event=trace_lost job={} error=\"{}\"", id_, traced.ToString());
  if (!ClaimEnd(absl::OkStatus(), Ending::kByExporter)) return;
  PublishEnd(JobState::kCompleted, absl::OkStatus(), [&](Job& changed) {
    changed.result.study_instance_uid = stored->study_instance_uid;
    changed.result.series_instance_uid = stored->series_instance_uid;
    changed.result.frame_of_reference_uid = stored->frame_of_reference_uid;
    changed.result.instance_count = stored->instance_count;
    changed.result.seconds_to_stored = absl::ToDoubleSeconds(end - last_frame);
    changed.result.timings.export_ = absl::ToDoubleSeconds(end - begin);
    changed.result.timings.total = absl::ToDoubleSeconds(end - accepted_time_);
    // Whoever added the last frames may not have come to say so.
    changed.progress.frames_received = present;
    changed.progress.frames_lost = lost;
    changed.progress.slices_exported = changed.progress.slices_total;
  });
}

void ReconstructionJob::OnRunFailed(const std::shared_ptr<ReconstructionRun>& run,
                                    const absl::Status& why) {
  if (!IsCurrent(run)) return;
  if (ops::IsDeviceLost(why)) {
    environment_.keeper.OnDeviceLost(*run, why);
  } else {
    Fail(why);
  }
}

// ---- End ---------------------------------------------------------------------------------------

void ReconstructionJob::Cancel(const absl::Status& why) {
  bool waits_for_exporter = false;
  {
    absl::MutexLock lock(&mutex_);
    if (storing_ && !ended_) {
      if (!cancel_requested_) end_reason_ = why;
      cancel_requested_ = true;
      if (export_begun_) return;
      // The exporter may be at work on another job's volume for seconds; it frees the memory.
      ended_ = waits_for_exporter = true;
    }
  }
  if (waits_for_exporter) return PublishState(JobState::kCancelled, why);
  if (ClaimEnd(why, Ending::kByAnyone)) PublishEnd(JobState::kCancelled, why);
}

void ReconstructionJob::Fail(const absl::Status& why) {
  if (ClaimEnd(why, Ending::kByAnyone)) PublishEnd(JobState::kFailed, why);
}

void ReconstructionJob::Suspend() {
  const absl::Status why = absl::UnavailableError(
      absl::StrCat("the service stops; job '", id_, "' goes on when it starts again"));
  std::shared_ptr<FrameProducer> producer;
  bool storing = false;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || cancel_requested_) return;
    suspended_ = true;
    end_reason_ = why;
    producer = producer_.lock();
    storing = storing_;
    if (storing) {
      cancel_requested_ = true;
    } else {
      ended_ = true;
    }
  }
  if (producer != nullptr) producer->OnRefused(why);
  if (!storing) FreeMemory();  // else the exporter does
}

bool ReconstructionJob::ClaimEnd(const absl::Status& why, Ending ending) {
  absl::MutexLock lock(&mutex_);
  if (ended_ || (storing_ && ending != Ending::kByExporter)) return false;
  ended_ = true;
  end_reason_ = why;
  return true;
}

void ReconstructionJob::PublishEnd(JobState state, const absl::Status& why,
                                   const std::function<void(Job&)>& change) {
  PublishState(state, why, change);
  FreeMemory();
}

void ReconstructionJob::PublishState(JobState state, const absl::Status& why,
                                     const std::function<void(Job&)>& change) {
  const absl::Time now = absl::Now();
  LogUnsaved(id_, environment_.table.Transition(id_, state, [&](Job& job) {
    job.error = why;
    job.end_time = now;
    job.preview = nullptr;
    if (change) change(job);
  }));
}

void ReconstructionJob::FreeMemory() {
  std::shared_ptr<ReconstructionRun> run;
  {
    absl::MutexLock lock(&mutex_);
    // The spool still calls back, with what may be gone once the keeper has let go of the job.
    frees_after_callbacks_ = callbacks_ > 0;
    if (frees_after_callbacks_) return;
    run = std::move(run_);
  }
  if (run == nullptr) return environment_.keeper.OnJobEnded(*this);
  FreeOnSlotThread(std::move(run),
                   [self = shared_from_this()] { self->environment_.keeper.OnJobEnded(*self); });
}

absl::Status ReconstructionJob::EndStatusLocked() const {
  return end_reason_.ok() ? absl::FailedPreconditionError(absl::StrCat("job '", id_, "' has ended"))
                          : end_reason_;
}

}  // namespace isocenter::pipeline
