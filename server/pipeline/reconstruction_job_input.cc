// The input of a job: frames from the stream into the spool, and what becomes of missing ones.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/pipeline/measured_matrix.h"
#include "server/pipeline/reconstruction_job.h"

namespace isocenter::pipeline {

using jobs::Job;

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
  bool damaged = false, first = false;
  {
    absl::MutexLock lock(&mutex_);
    --appends_;
    const bool current = stream == stream_;
    if (status.ok()) {
      ledger_.Commit(index);
      first = !std::exchange(began_, true);
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
    if (first) environment_.keeper.OnFirstFrame(*this);
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

}  // namespace isocenter::pipeline
