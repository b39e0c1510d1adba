#include "server/rpc/calibrations/calibration_upload.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/calibration_file.h"
#include "server/base/log.h"
#include "server/rpc/translation/field_checks.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

void RecordCalibration(const Permit& permit, const char* what, const std::string& name,
                       const absl::Status& outcome) {
  permit.Record(audit::Action::kCalibration, {}, outcome, [&](audit::Event& event) {
    event.detail =
        absl::StrCat(what, " ", Shown(name), event.detail.empty() ? "" : ": ", event.detail);
  });
  if (!outcome.ok()) return;
  spdlog::info("event=calibration_{} name={} by=\"{}\"", what, name, permit.caller());
}

CalibrationUpload* CalibrationUpload::New(const CalibrationContext& shared,
                                          grpc::CallbackServerContext& context,
                                          const Method& method) {
  std::shared_ptr<CalibrationUpload> upload(new CalibrationUpload(shared, context, method));
  upload->self_ = upload;
  return upload.get();
}

void CalibrationUpload::OnRequest(const grpc::ByteBuffer& bytes) {
  v1::AddCalibrationRequest request;
  absl::Status begun = ParseRequest(bytes, request);
  name_ = request.name();
  if (begun.ok()) begun = Begin(request);
  if (!begun.ok()) return Refuse(begun);
  watch_ = IdleWatch::Start({shared_.idle_limit, kLongest}, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->End(absl::DeadlineExceededError(
        absl::StrCat("nothing came for ", absl::FormatDuration(self->shared_.idle_limit),
                     ", or not all within ", absl::FormatDuration(kLongest))));
  });
  GoOn();
}

void CalibrationUpload::GoOn() {
  absl::MutexLock lock(&mutex_);
  if (!ended_) ReadNext();
}

absl::Status CalibrationUpload::Begin(const v1::AddCalibrationRequest& request) {
  if (shared_.store == nullptr) {
    return absl::FailedPreconditionError("this node keeps no calibrations");
  }
  ISO_RETURN_IF_ERROR(CheckIdentifier("name", request.name()));
  if (request.name().empty()) return Illegal("name", "\"\"", "that of the set");
  if (request.file_bytes() <= wire::kCalibrationHeaderBytes ||
      request.file_bytes() > uint64_t{wire::kMostCalibrationFileBytes}) {
    return Illegal(
        "file_bytes", absl::StrCat(request.file_bytes()),
        absl::StrCat(wire::kCalibrationHeaderBytes + 1, " to ", wire::kMostCalibrationFileBytes));
  }
  file_bytes_ = request.file_bytes();
  // What scans were promised of the disk is not for it. From here on the file has its room.
  ISO_ASSIGN_OR_RETURN(const scheduler::DiskPromise room,
                       shared_.engine.ReserveDisk(static_cast<int64_t>(file_bytes_)));
  ISO_ASSIGN_OR_RETURN(upload_, shared_.store->Begin(name_, file_bytes_));
  return upload_->Append(request.data());
}

absl::Status CalibrationUpload::Take(const grpc::ByteBuffer& bytes) {
  if (static_cast<int64_t>(bytes.Length()) > kLongestBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the request has ", bytes.Length(),
                                                   " bytes; legal is at most ", kLongestBytes));
  }
  v1::AddCalibrationRequest request;
  ISO_RETURN_IF_ERROR(ParseRequest(bytes, request));
  if (request.data().empty()) return Illegal("data", "no bytes", "the next of the file");
  return upload_->Append(request.data());
}

void CalibrationUpload::OnNext(const grpc::ByteBuffer* bytes) {
  if (bytes != nullptr) {
    watch_->Touch();
    const absl::Status taken = Take(*bytes);
    return taken.ok() ? GoOn() : Refuse(taken);
  }
  watch_->Stop();
  if (context().IsCancelled()) return Refuse(absl::CancelledError("the client went away"));
  absl::MutexLock lock(&mutex_);
  if (ended_) return;  // and nobody else will end it now
  shared_.disk.Submit([self = shared_from_this()] { self->Commit(); });
}

absl::StatusOr<v1::KeptCalibration> CalibrationUpload::Keep() {
  // Read, parsed, and made into maps.
  ISO_ASSIGN_OR_RETURN(const scheduler::MemoryPromise memory,
                       shared_.engine.ReserveMemory(3 * static_cast<int64_t>(file_bytes_)));
  return upload_->Commit();
}

void CalibrationUpload::Commit() {
  const auto kept = Keep();
  upload_.reset();
  End(kept);
}

void CalibrationUpload::Refuse(const absl::Status& why) {
  upload_.reset();
  End(why);
}

void CalibrationUpload::End(const absl::StatusOr<v1::KeptCalibration>& outcome) {
  {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(ended_, true)) return;
  }
  RecordCalibration(permit(), "add", name_, outcome.status());
  if (!outcome.ok()) return Finish(ToGrpc(outcome.status(), context()));
  answer_ = BytesOf(*outcome);
  StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
}

void CalibrationUpload::OnEnd() {
  if (watch_ != nullptr) watch_->Stop();
  upload_.reset();
  const std::shared_ptr<CalibrationUpload> last = std::move(self_);
}

}  // namespace isocenter::rpc
