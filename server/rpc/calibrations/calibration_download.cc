#include "server/rpc/calibrations/calibration_download.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

CalibrationDownload* CalibrationDownload::New(const CalibrationContext& shared,
                                              grpc::CallbackServerContext& context,
                                              const Method& method) {
  std::shared_ptr<CalibrationDownload> call(new CalibrationDownload(shared, context, method));
  call->self_ = call;
  return call.get();
}

void CalibrationDownload::OnRequest(const grpc::ByteBuffer& bytes) {
  v1::GetCalibrationRequest request;
  if (absl::Status parsed = ParseRequest(bytes, request); !parsed.ok()) {
    return Finish(ToGrpc(parsed, context()));
  }
  watch_ = IdleWatch::Start({shared_.idle_limit}, [weak = weak_from_this()] {
    if (const auto self = weak.lock(); self != nullptr) self->context().TryCancel();
  });
  shared_.disk.Submit([self = shared_from_this(), name = request.name()] {
    const absl::Status opened = self->Open(name);
    opened.ok() ? self->SendPiece() : self->Finish(ToGrpc(opened, self->context()));
  });
}

absl::Status CalibrationDownload::Open(const std::string& name) {
  if (shared_.store == nullptr) return absl::NotFoundError("this node keeps no calibrations");
  ISO_ASSIGN_OR_RETURN(*piece_.mutable_calibration(), shared_.store->Find(name));
  ISO_ASSIGN_OR_RETURN(const std::filesystem::path path, shared_.store->VerifiedFile(name));
  left_ = static_cast<int64_t>(piece_.calibration().file_bytes());
  file_.open(path, std::ios::binary);
  return ReadPiece();
}

absl::Status CalibrationDownload::ReadPiece() {
  std::string& data = *piece_.mutable_data();
  data.resize(std::min(left_, CalibrationUpload::kMostPieceBytes));
  if (!file_.read(data.data(), static_cast<std::streamsize>(data.size()))) {
    return absl::DataLossError("the calibration cannot be read to its end");
  }
  left_ -= static_cast<int64_t>(data.size());
  return absl::OkStatus();
}

void CalibrationDownload::SendPiece() {
  outgoing_ = BytesOf(piece_);
  StartWrite(&outgoing_);
}

void CalibrationDownload::OnWriteDone(bool ok) {
  watch_->Touch();
  if (!ok) return Finish(grpc::Status::CANCELLED);
  if (left_ == 0) return Finish(grpc::Status::OK);
  piece_.clear_calibration();
  const absl::Status read = ReadPiece();
  read.ok() ? SendPiece() : Finish(ToGrpc(read, context()));
}

void CalibrationDownload::OnEnd() {
  if (watch_ != nullptr) watch_->Stop();
  const std::shared_ptr<CalibrationDownload> last = std::move(self_);
}

}  // namespace isocenter::rpc
