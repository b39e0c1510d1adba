// The input of a job: frames from the stream into the spool, and what becomes of missing ones.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/corrections.h"
#include "kernels/recon/completeness/frame_bytes.h"
#include "kernels/recon/completeness/repair/illegal_lines.h"
#include "server/pipeline/frames/measured_matrix.h"
#include "server/pipeline/job_record.h"
#include "server/pipeline/reconstruction_job.h"

namespace isocenter::pipeline {

using jobs::Job;

namespace {

recon::IllegalLines IllegalLinesOf(const recon::Acquisition& acquisition,
                                   const jobs::SpoolFrame& frame) {
  if (acquisition.pixel_type != recon::PixelType::kFloat32LineIntegrals) return {};
  return recon::FindIllegalLines(frame.pixels);
}

uint32_t Crc32cOf(const std::vector<std::span<const std::byte>>& pixels) {
  uint32_t crc32c = 0;
  for (const std::span<const std::byte> piece : pixels) crc32c = ExtendCrc32c(crc32c, piece);
  return crc32c;
}

absl::Status NoFrameAfterFinish(int index) {
  return absl::FailedPreconditionError(
      absl::StrCat("frame.index is ", index, "; no frame is legal after finish"));
}

bool IsIntact(const jobs::SpoolFrame& frame) {
  return !frame.crc32c || *frame.crc32c == Crc32cOf(frame.pixels);
}

}  // namespace

int64_t ReconstructionJob::AttachNow(std::weak_ptr<FrameProducer> producer) {
  producer_ = std::move(producer);
  sent_all_.reset();
  waits_for_room_.reset();
  console_deadline_ = absl::InfiniteFuture();
  rejected_ = absl::OkStatus();
  contradicts_itself_ = false;
  ledger_.BeginStream();
  return ++stream_;
}

absl::StatusOr<int64_t> ReconstructionJob::Attach(std::weak_ptr<FrameProducer> producer) {
  std::shared_ptr<FrameProducer> previous;
  int64_t stream = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (IsOver(life_)) {
      // Its volume is stored, of which the table is being told: the stream waits for the result.
      if (reason_.ok()) return ++stream_;
      return reason_;
    }
    previous = producer_.lock();
    stream = AttachNow(std::move(producer));
  }
  TellConsoleDeadline();
  if (previous != nullptr) {
    previous->OnRefused(
        absl::AbortedError(absl::StrCat("another stream has taken over job '", id_, "'")));
  }
  return stream;
}

absl::StatusOr<int64_t> ReconstructionJob::AttachIfFree(std::weak_ptr<FrameProducer> producer) {
  int64_t stream = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (IsOver(life_)) {
      if (reason_.ok()) return ++stream_;  // as Attach
      return reason_;
    }
    if (!producer_.expired()) {
      std::erase_if(listeners_, [](const auto& listener) { return listener.expired(); });
      listeners_.push_back(std::move(producer));
      return 0;
    }
    stream = AttachNow(std::move(producer));
  }
  TellConsoleDeadline();
  return stream;
}

absl::StatusOr<std::optional<ProjectionMatrix>> ReconstructionJob::MatrixOf(
    const Frame& frame) const {
  const recon::Acquisition& acquisition = request_.acquisition;
  if (frame.index >= static_cast<uint32_t>(frames())) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame.index is ", frame.index, "; legal is 0 to ", frames() - 1));
  }
  size_t bytes = 0;
  for (const auto& piece : frame.pixels) bytes += piece.size();
  ISO_RETURN_IF_ERROR(recon::CheckFrameBytes(frame.index, static_cast<int64_t>(bytes),
                                             acquisition.detector, acquisition.pixel_type));
  if (const absl::Status dose = ops::CheckGivenDose(frame.index, frame.dose); !dose.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("frame.dose: ", dose.message()));
  }
  if (!frame.measured_matrix) return std::nullopt;
  const absl::StatusOr<ProjectionMatrix> matrix = CheckedMeasuredMatrix(
      *frame.measured_matrix, acquisition.trajectory[frame.index], acquisition.detector);
  if (matrix.ok()) return *matrix;
  return absl::InvalidArgumentError(absl::StrCat("frame.measured_matrix of frame ", frame.index,
                                                 ": ", matrix.status().message()));
}

absl::Status ReconstructionJob::CheckFrame(const Frame& frame) const {
  ISO_RETURN_IF_ERROR(MatrixOf(frame).status());
  ISO_RETURN_IF_ERROR(CheckSame(static_cast<int>(frame.index), frame.crc32c, frame.pixels));
  absl::MutexLock lock(&mutex_);
  return phases_.Check(static_cast<int>(frame.index), frame.phase);
}

absl::StatusOr<jobs::SpoolFrame> ReconstructionJob::CheckedFrame(Frame frame) const {
  ISO_ASSIGN_OR_RETURN(const std::optional<ProjectionMatrix> matrix, MatrixOf(frame));
  return jobs::SpoolFrame{.index = static_cast<int>(frame.index),
                          .pixels = std::move(frame.pixels),
                          .crc32c = frame.crc32c,
                          .measured_matrix = matrix,
                          .dose = frame.dose,
                          .phase = frame.phase,
                          .memory = std::move(frame.memory)};
}

absl::StatusOr<ReconstructionJob::Intake> ReconstructionJob::TakeIn(int64_t stream,
                                                                    const jobs::SpoolFrame& frame,
                                                                    absl::Time came) {
  const int index = frame.index;
  absl::MutexLock lock(&mutex_);
  if (IsOver(life_)) return EndStatus();
  if (stream != stream_) return absl::AbortedError("another stream has taken over the job");
  ISO_RETURN_IF_ERROR(phases_.Check(index, frame.phase));
  const Intake intake{ledger_.Begin(index, came), appends_ + 1 < MostAppends(urgency_.job_class)};
  if (intake.taken != FrameLedger::Taken::kNew) return intake;
  if (input_ != InputState::kOpen) {
    ledger_.Abort(index);
    return NoFrameAfterFinish(index);
  }
  phases_.Take(index, frame.phase);
  ++holds_;  // the spool calls back
  ++appends_;
  last_frame_time_ = Now();
  first_frame_time_ = std::min(first_frame_time_, last_frame_time_);
  waits_for_room_ = intake.has_room ? std::weak_ptr<FrameProducer>() : producer_;
  return intake;
}

absl::Status ReconstructionJob::CheckSame(
    int index, std::optional<uint32_t> crc32c,
    const std::vector<std::span<const std::byte>>& pixels) const {
  const absl::StatusOr<uint32_t> held = spool_->Checksum(index);
  if (!held.ok()) return absl::OkStatus();  // it is missing, being written, or was given up
  if (crc32c == *held) return absl::OkStatus();
  const uint32_t sent = Crc32cOf(pixels);
  // What was damaged on its way says nothing, and is not needed.
  if (sent == *held || (crc32c && *crc32c != sent)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "frame.pixels of frame %d have CRC-32C %08x, those that the job has of it %08x: they are of "
      "another scan, or two frames have one index",
      index, sent, *held));
}

absl::Status ReconstructionJob::CheckRepeated(int64_t stream, const jobs::SpoolFrame& frame) {
  absl::Status same = CheckSame(frame.index, frame.crc32c, frame.pixels);
  if (same.ok()) return same;
  absl::MutexLock lock(&mutex_);
  contradicts_itself_ = contradicts_itself_ || stream == stream_;
  return same;
}

absl::Status ReconstructionJob::CheckCountsFromZero(int64_t stream, uint32_t index) {
  if (index != static_cast<uint32_t>(frames())) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  if (!ledger_.IsMissing(0)) return absl::OkStatus();
  contradicts_itself_ = contradicts_itself_ || stream == stream_;
  return absl::InvalidArgumentError(absl::StrCat(
      "frame.index is ", index, "; legal is 0 to ", frames() - 1,
      ", and 0 has not come: frames that are counted from 1 have each the matrix of the next"));
}

absl::StatusOr<bool> ReconstructionJob::AddFrame(int64_t stream, Frame frame) {
  const absl::Time came = environment_.steady_clock();
  ISO_RETURN_IF_ERROR(CheckCountsFromZero(stream, frame.index));
  ISO_ASSIGN_OR_RETURN(jobs::SpoolFrame spooled, CheckedFrame(std::move(frame)));
  const int index = spooled.index;
  const recon::IllegalLines illegal = IllegalLinesOf(request_.acquisition, spooled);
  // What was damaged on its way is the spool's to refuse.
  if (illegal.too_many() && IsIntact(spooled)) {
    ISO_RETURN_IF_ERROR(LeaveOut(stream, spooled, illegal));
    return true;
  }
  ISO_ASSIGN_OR_RETURN(const Intake intake, TakeIn(stream, spooled, came));
  if (intake.taken == FrameLedger::Taken::kLate) {
    Warn({jobs::WarningKind::kLateFrame, index,
          absl::StrCat("frame ", index, " came after it had been replaced; it is not used")});
  }
  if (intake.taken == FrameLedger::Taken::kDuplicate) {
    ISO_RETURN_IF_ERROR(CheckRepeated(stream, spooled));
  }
  if (intake.taken != FrameLedger::Taken::kNew) return true;
  environment_.observer.OnFrame(FrameBytes(request_.acquisition));
  {
    std::vector<jobs::JobWarning> warnings;
    {
      absl::MutexLock lock(&monitor_mutex_);
      warnings =
          monitor_.OnFrame(index, spooled.pixels, illegal, spooled.measured_matrix, spooled.dose);
    }
    for (jobs::JobWarning& warning : warnings) Warn(std::move(warning));
  }
  const auto self = std::static_pointer_cast<ReconstructionJob>(shared_from_this());
  spool_->Append(std::move(spooled), [self, stream, index, came](const absl::Status& status) {
    self->OnAppended(stream, index, came, status);
    self->Release();
  });
  return intake.has_room;
}

absl::Status ReconstructionJob::LeaveOut(int64_t stream, const jobs::SpoolFrame& frame,
                                         const recon::IllegalLines& illegal) {
  const int index = frame.index;
  std::string why;
  {
    absl::MutexLock lock(&monitor_mutex_);
    why = monitor_.WhyUnusable(index, frame.pixels, illegal);
  }
  ISO_RETURN_IF_ERROR(CheckRepeated(stream, frame));
  {
    absl::MutexLock lock(&mutex_);
    if (IsOver(life_)) return EndStatus();
    if (stream != stream_) return absl::AbortedError("another stream has taken over the job");
    if (!ledger_.IsMissing(index)) return absl::OkStatus();
    if (input_ != InputState::kOpen) return NoFrameAfterFinish(index);
    if (!ledger_.MayLose(index)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "frame.pixels of frame ", index, ": ", why, ". It would be missing, and of ", frames(),
          " frames ", ledger_.lost(), " are already; ", ledger_.ToleratedText()));
    }
    ledger_.BeginGiveUp(index);
    last_frame_time_ = Now();
    first_frame_time_ = std::min(first_frame_time_, last_frame_time_);
  }
  environment_.observer.OnFrame(FrameBytes(request_.acquisition));
  if (const absl::Status recorded = GiveUp({index}, why); !recorded.ok()) {
    Fail(recorded);
    return recorded;
  }
  Schedule();
  CloseInput();
  return absl::OkStatus();
}

void ReconstructionJob::OnAppended(int64_t stream, int index, absl::Time came,
                                   const absl::Status& status) {
  std::shared_ptr<FrameProducer> waiting, refused;
  std::vector<int> overdue;
  Input input;
  const bool damaged = absl::IsDataLoss(status);
  {
    absl::MutexLock lock(&mutex_);
    --appends_;
    const bool current = stream == stream_;
    if (status.ok()) {
      ledger_.Commit(index);
      overdue = ledger_.Overdue(environment_.steady_clock());
      for (const int late : overdue) ledger_.BeginGiveUp(late);
    } else {
      ledger_.Abort(index);
      if (damaged && current) {
        rejected_ = status;
        refused = producer_.lock();
        if (refused == nullptr) refused = sent_all_.lock();
        producer_.reset();
        sent_all_.reset();
        ++stream_;  // what this stream sends from now on is not taken
        input_ = InputState::kOpen;
        console_deadline_ = environment_.steady_clock() + absent_.limit;
      }
    }
    input = {.present = ledger_.present(), .lost = ledger_.lost(), .prefix = ledger_.prefix()};
    if (current) waiting = std::exchange(waits_for_room_, {}).lock();
  }
  if (!status.ok() && !damaged) return Fail(status);
  if (refused != nullptr) {
    environment_.keeper.OnDeadlineSet();
    TellConsoleDeadline();
    return refused->OnRefused(status);
  }
  if (status.ok()) {
    environment_.observer.OnFrameSpooled(absl::ToDoubleSeconds(environment_.steady_clock() - came));
    const absl::Status recorded = OnCommitted(overdue, input);
    if (!recorded.ok()) return Fail(recorded);
  }
  CloseInput();
  if (waiting != nullptr) waiting->OnRoom();
}

absl::Status ReconstructionJob::OnCommitted(const std::vector<int>& overdue, const Input& input) {
  if (input.present == 1) acquisitions_.OnFirstFrame(*this);
  ISO_RETURN_IF_ERROR(GiveUp(overdue));
  // The chunk goes first: what is left after the last frame should not wait for book-keeping.
  Schedule();
  if (input.lost == 0) acquisitions_.OnFrames(*this, input.prefix);
  environment_.table.Update(id_, [&](Job& job) {
    job.progress.frames_received = std::max(job.progress.frames_received, input.present);
  });
  return absl::OkStatus();
}

absl::Status ReconstructionJob::GiveUp(const std::vector<int>& indices, absl::string_view why) {
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
  const bool in_a_row =
      indices.back() - indices.front() + 1 == static_cast<int>(indices.size());  // ascending
  const bool blended = request_.missing_frames.policy == jobs::MissingFramesPolicy::kInterpolate;
  Warn({jobs::WarningKind::kFrameGap, indices.front(),
        absl::StrCat(
            indices.size() == 1 ? absl::StrCat("frame ", indices.front(), " is")
                                : absl::StrCat(indices.size(), " frames ",
                                               in_a_row ? "from " : "between ", indices.front(),
                                               in_a_row ? " to " : " and ", indices.back(), " are"),
            why.empty() ? " missing and " : " not used, and ",
            blended ? "computed from the frames beside" : "replaced by the nearest frame",
            why.empty() ? "" : ": ", why,
            // The last index of such a console may come when the scan has all it waits for.
            why.empty() && indices.back() == 0
                ? "; if the console counts frames from 1, all have the matrix of the next"
                : "")});
  return absl::OkStatus();
}

absl::Status ReconstructionJob::FinishInput(int64_t stream) {
  {
    absl::MutexLock lock(&mutex_);
    if (stream != stream_) return absl::AbortedError("another stream has taken over the job");
    if (input_ != InputState::kOpen) return absl::OkStatus();
    if (IsOver(life_)) return EndStatus();
    input_ = InputState::kAnnounced;
  }
  CloseInput();
  absl::MutexLock lock(&mutex_);
  return IsOver(life_) ? reason_ : absl::OkStatus();
}

void ReconstructionJob::CloseInput() {
  absl::StatusOr<std::vector<int>> missing;
  {
    absl::MutexLock lock(&mutex_);
    if (IsOver(life_) || input_ == InputState::kClosed || ledger_.being_recorded() > 0) return;
    if (input_ == InputState::kOpen && !ledger_.complete()) return;
    input_ = InputState::kClosed;
    console_deadline_ = absl::InfiniteFuture();
    missing = ledger_.MissingAtEnd();
    if (missing.ok()) {
      for (const int index : *missing) ledger_.BeginGiveUp(index);
    }
  }
  TellConsoleDeadline();
  if (!missing.ok()) return Fail(missing.status());
  absl::Status recorded = GiveUp(*missing);
  if (recorded.ok()) recorded = spool_->Finish();
  if (!recorded.ok()) return Fail(recorded);
  Schedule();
  EnterReconstructing();
}

void ReconstructionJob::WarnOfScan() {
  FrameMonitor::WholeScan scan;
  {
    absl::MutexLock lock(&monitor_mutex_);
    scan = monitor_.OnEnd();
  }
  for (jobs::JobWarning& warning : scan.warnings) Warn(std::move(warning));
  if (scan.findings.empty()) return;
  for (const std::string& finding : scan.findings) LogFinding(id_, finding);
  environment_.table.Update(id_,
                            [&](Job& job) { job.refinement.findings = std::move(scan.findings); });
}

void ReconstructionJob::Detach(int64_t stream) {
  {
    absl::MutexLock lock(&mutex_);
    if (IsOver(life_) || stream != stream_) return;
    producer_.reset();
    waits_for_room_.reset();
    if (input_ == InputState::kClosed) return;
    console_deadline_ = environment_.steady_clock() + absent_.limit;
  }
  environment_.keeper.OnDeadlineSet();
  TellConsoleDeadline();
}

ReconstructionJob::Absence ReconstructionJob::EndSending(int64_t stream) {
  Absence absence;
  {
    absl::MutexLock lock(&mutex_);
    if (IsOver(life_) || stream != stream_) return absence;
    sent_all_ = producer_;
    if (input_ == InputState::kOpen) {
      absence = {.missing = ledger_.frames() - ledger_.present() - ledger_.lost() -
                            ledger_.being_recorded(),
                 .first_missing = ledger_.first_missing(),
                 .limit = absent_.limit};
    }
  }
  Detach(stream);
  return absence;
}

void ReconstructionJob::Reject(int64_t stream, const absl::Status& why, bool began) {
  bool ends = false;
  {
    absl::MutexLock lock(&mutex_);
    if (stream != stream_) return;
    const int held = ledger_.present() + ledger_.lost() + ledger_.being_recorded();
    if (input_ == InputState::kOpen && held < ledger_.frames()) {
      rejected_ = why;
      ends = began && (contradicts_itself_ || held == 0);
    }
  }
  if (ends) return Fail(why);
  Detach(stream);
}

ReconstructionJob::Input ReconstructionJob::input() const {
  absl::MutexLock lock(&mutex_);
  return {ledger_.present(), ledger_.lost(), ledger_.prefix(), ledger_.Beyond()};
}

absl::Time ReconstructionJob::console_deadline() const {
  absl::MutexLock lock(&mutex_);
  return IsOver(life_) ? absl::InfiniteFuture() : console_deadline_;
}

void ReconstructionJob::TellConsoleDeadline() {
  // Also while the table is told, so that of two threads the later one has the last word.
  absl::MutexLock tell_lock(&tell_mutex_);
  TellExpectedEnd();
  absl::Time deadline = absl::InfiniteFuture();
  {
    absl::MutexLock lock(&mutex_);
    // A console that has sent all is not waited for.
    if (!IsOver(life_) && input_ == InputState::kOpen && !ledger_.complete()) {
      deadline = console_deadline_;
    }
  }
  if (deadline == told_deadline_) return;
  told_deadline_ = deadline;
  const absl::Time until = Now() + (deadline - environment_.steady_clock());
  environment_.table.Update(id_, [&](Job& job) { job.awaits_console_until = until; });
}

void ReconstructionJob::TellExpectedEnd() {
  const auto current = run();
  if (current == nullptr) return;
  absl::Time end = current->predicted_finish();
  const absl::Time deadline = console_deadline();
  // Whoever is refused a place would come again for nothing while a console is waited for.
  if (deadline < absl::InfiniteFuture()) {
    end = std::max(end, Now() + (deadline - environment_.steady_clock()));
  }
  current->admission().ExpectEnd(end);
}

absl::Time ReconstructionJob::EndIfOverdue() {
  if (console_deadline() <= environment_.steady_clock()) GiveUpConsole();
  // By the clock of the other deadlines, as of now.
  return Now() + (console_deadline() - environment_.steady_clock());
}

void ReconstructionJob::OnSuspended(const absl::Status& why) {
  std::vector<std::weak_ptr<FrameProducer>> told;
  {
    absl::MutexLock lock(&mutex_);
    told = std::exchange(listeners_, {});
    told.push_back(producer_);
  }
  for (const auto& each : told) {
    if (const auto producer = each.lock()) producer->OnRefused(why);
  }
}

void ReconstructionJob::GiveUpConsole() {
  int present = 0;
  absl::Status rejected;
  {
    absl::MutexLock lock(&mutex_);
    if (IsOver(life_) || input_ == InputState::kClosed ||
        environment_.steady_clock() < console_deadline_) {
      return;
    }
    console_deadline_ = absl::InfiniteFuture();
    present = ledger_.present();
    rejected = rejected_;
    const bool good_enough = ledger_.MissingAtEnd().ok();
    if (good_enough && !absent_.may_be_elsewhere) input_ = InputState::kAnnounced;
  }
  CloseInput();
  {
    absl::MutexLock lock(&mutex_);
    if (input_ != InputState::kOpen) return;  // closed now, or when what is being written is
  }
  if (const std::optional<std::string> node = absent_.handed_back_to()) {
    return Cancel(absl::AbortedError(absl::StrCat("handed back: node ", *node,
                                                  ", from which this one took the job over, lives "
                                                  "and has it again; here it had ",
                                                  present, " of ", frames(),
                                                  " frames, of which nothing is made")));
  }
  Fail(absl::DeadlineExceededError(
      absl::StrCat("the console's stream ended after ", present, " of ", frames(),
                   " frames and did not come back within ", absl::FormatDuration(absent_.limit),
                   rejected.ok() ? "" : "; what it sent last was refused: ", rejected.message())));
}

}  // namespace isocenter::pipeline
