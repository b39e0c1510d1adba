// What an acquisition's console is told: acknowledgements, warnings, progress, previews, the
// result.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/proto_buffer_writer.h"
#include "server/rpc/acquisition_stream.h"
#include "server/rpc/translation/status_translation.h"
#include "server/rpc/translation/translate.h"

namespace isocenter::rpc {
namespace {

/// False: there is nothing to acknowledge.
bool FillAcknowledgement(const pipeline::ReconstructionJob::Input& input,
                         v1::Acknowledgement& acknowledgement) {
  if (input.prefix > 0) acknowledgement.set_frame_index(input.prefix - 1);
  for (const pipeline::FrameRange& range : input.beyond) {
    v1::FrameRange& further = *acknowledgement.add_beyond();
    further.set_first(range.first);
    further.set_last(range.last);
  }
  return input.prefix > 0 || !input.beyond.empty();
}

}  // namespace

void AcquisitionStream::OnJobChanged() {
  absl::MutexLock lock(&mutex_);
  Pump();
}

void AcquisitionStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    last_activity_ = SteadyNow();
    if (ok) return Pump();
  }
  HandleLeft(absl::CancelledError("the console has gone"));
}

void AcquisitionStream::Pump() {
  if (writing_ || finished_) return;
  if (phase_ != Phase::kClosed) {
    const std::optional<v1::AcquireResponse> response = NextResponse();
    if (response) {
      outgoing_.Clear();
      bool own_buffer = false;
      grpc::SerializationTraits<v1::AcquireResponse>::Serialize(*response, &outgoing_, &own_buffer);
      writing_ = true;
      last_activity_ = SteadyNow();
      StartWrite(&outgoing_);
      return;
    }
  }
  if (phase_ != Phase::kClosed) return;
  finished_ = true;
  Finish(ToGrpc(final_status_, *call_));
}

std::optional<v1::AcquireResponse> AcquisitionStream::NextResponse() {
  if (job_id_.empty()) return std::nullopt;
  if (accepted_) return std::exchange(accepted_, std::nullopt);
  const absl::StatusOr<jobs::JobSnapshot> snapshot = shared_.table.Get(job_id_);
  if (!snapshot.ok()) {
    phase_ = Phase::kClosed;
    final_status_ = absl::AbortedError(absl::StrCat("job '", job_id_, "' has been deleted"));
    return std::nullopt;
  }
  const jobs::Job& job = **snapshot;
  v1::AcquireResponse response;
  if (job_ != nullptr && FillAcknowledgement(job_->input(), *response.mutable_acknowledgement())) {
    std::string acknowledgement = response.acknowledgement().SerializeAsString();
    if (acknowledgement != acknowledged_) {
      acknowledged_ = std::move(acknowledgement);
      return response;
    }
  }
  if (notice_) return std::exchange(notice_, std::nullopt);
  response.Clear();
  if (job.warnings.size() > warnings_sent_) {
    *response.mutable_warning() = WarningToProto(job.warnings[warnings_sent_++]);
    return response;
  }
  // Received frames are acknowledged already; progress tells of the rest.
  std::string progress =
      absl::StrCat(static_cast<int>(job.state), " ", job.progress.frames_backprojected, " ",
                   job.progress.slices_exported, " ", job.progress.frames_lost);
  if (progress != progress_sent_) {
    progress_sent_ = std::move(progress);
    *response.mutable_progress() = ProgressToProto(job);
    return response;
  }
  if (job.preview != nullptr && job.preview != preview_sent_) {
    preview_sent_ = job.preview;
    *response.mutable_preview() = PreviewToProto(job);
    return response;
  }
  if (!jobs::HasEnded(job.state)) return std::nullopt;
  if (job.state == jobs::JobState::kCompleted && !result_sent_) {
    result_sent_ = true;
    *response.mutable_result() = ResultToProto(job);
    return response;
  }
  phase_ = Phase::kClosed;
  final_status_ = job.error;
  return std::nullopt;
}

}  // namespace isocenter::rpc
