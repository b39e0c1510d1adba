#include "server/rpc/download_stream.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "proto/wire/geometry.h"
#include "server/jobs/completed.h"
#include "server/node/job_audit.h"
#include "server/rpc/translation/status_translation.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

DownloadStream* DownloadStream::New(const DownloadContext& shared,
                                    grpc::CallbackServerContext& context, const Method& method) {
  std::shared_ptr<DownloadStream> stream(new DownloadStream(shared, context, method));
  stream->self_ = stream;
  return stream.get();
}

void DownloadStream::OnRequest(const grpc::ByteBuffer& bytes) {
  v1::DownloadResultRequest request;
  const absl::Status parsed = ParseRequest(bytes, request);
  if (!parsed.ok()) return Finish(ToGrpc(parsed, context()));
  job_id_ = request.job_id();
  const absl::Status opened = Open(request);
  if (!opened.ok()) {
    outcome_ = opened;
    return Finish(ToGrpc(opened, context()));
  }
  WatchReader();
  SendPiece();
}

void DownloadStream::WatchReader() {
  absl::MutexLock lock(&mutex_);
  if (!taken_) return context().TryCancel();
  taken_ = false;
  alarm_ = std::make_unique<grpc::Alarm>();
  // The alarm belongs to the stream and keeps its callback, which must not keep the stream.
  alarm_->Set(DeadlineIn(shared_.idle_limit), [weak = weak_from_this()](bool expired) {
    const auto self = weak.lock();
    if (expired && self != nullptr) self->WatchReader();
  });
}

absl::Status DownloadStream::Open(const v1::DownloadResultRequest& request) {
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot job, shared_.table.Get(request.job_id()));
  ISO_RETURN_IF_ERROR(jobs::CheckCompleted(*job));
  switch (request.format()) {
    case v1::RESULT_FORMAT_DICOM: {
      ISO_ASSIGN_OR_RETURN(files_, shared_.results.DicomFiles(job->id));
      piece_.set_file_count(static_cast<uint32_t>(files_.size()));
      named_ = true;
      return absl::OkStatus();
    }
    case v1::RESULT_FORMAT_RAW_FLOAT32: {
      ISO_ASSIGN_OR_RETURN(std::filesystem::path file, shared_.results.RawFile(job->id));
      files_ = {std::move(file)};
      *piece_.mutable_grid() = wire::ToProto(PatientGrid(job->grid, job->facts.patient_position));
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("format is ", static_cast<int>(request.format()),
                       "; legal is RESULT_FORMAT_DICOM or RESULT_FORMAT_RAW_FLOAT32"));
  }
}

absl::Status DownloadStream::ReadPiece() {
  piece_.Clear();
  if (!file_.is_open()) {
    if (next_file_ == files_.size()) {
      done_ = true;
      return absl::OkStatus();
    }
    const std::filesystem::path& path = files_[next_file_++];
    std::error_code error;
    left_ = static_cast<int64_t>(std::filesystem::file_size(path, error));
    if (!error) file_.open(path, std::ios::binary);
    if (error || !file_.is_open()) {
      return absl::AbortedError("the result was deleted while it was being sent");
    }
    if (named_) piece_.set_file_name(path.filename().string());
  }
  std::string& data = *piece_.mutable_data();
  data.resize(std::min(left_, kPieceBytes));
  if (!file_.read(data.data(), static_cast<std::streamsize>(data.size()))) {
    return absl::DataLossError(absl::StrCat("file ", next_file_, " of ", files_.size(),
                                            " of the result cannot be read to its end"));
  }
  left_ -= static_cast<int64_t>(data.size());
  if (left_ == 0) {
    piece_.set_end_of_file(true);
    file_.close();
  }
  return absl::OkStatus();
}

void DownloadStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    taken_ = true;
  }
  if (!ok) return Finish(grpc::Status::CANCELLED);
  const absl::Status status = ReadPiece();
  if (!status.ok() || done_) {
    outcome_ = status;
    return Finish(ToGrpc(status, context()));
  }
  SendPiece();
}

void DownloadStream::SendPiece() {
  outgoing_ = BytesOf(piece_);
  StartWrite(&outgoing_);
}

void DownloadStream::OnEnd() {
  if (!job_id_.empty()) {
    permit().Record(audit::Action::kDownload, *node::JobNamed(shared_.table, job_id_), outcome_);
  }
  std::shared_ptr<DownloadStream> last;
  absl::MutexLock lock(&mutex_);
  alarm_.reset();
  last = std::move(self_);
}

}  // namespace isocenter::rpc
