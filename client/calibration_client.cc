#include "client/calibration_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>

#include "client/rpc_status.h"
#include "isocenter/v1/calibration_service.grpc.pb.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

/// The server gives up after as long.
void SetTransferDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(10));
}

}  // namespace

struct CalibrationClient::Stub {
  std::unique_ptr<v1::CalibrationService::Stub> service;
};

CalibrationClient::CalibrationClient(const ServiceChannel& channel)
    : stub_(std::make_unique<Stub>(v1::CalibrationService::NewStub(channel.grpc_channel()))) {}
CalibrationClient::~CalibrationClient() = default;

absl::StatusOr<v1::ListCalibrationsResponse> CalibrationClient::List(
    const v1::ListCalibrationsRequest& request) const {
  v1::ListCalibrationsResponse response;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->service->ListCalibrations(&context, request, &response);
  }));
  return response;
}

absl::StatusOr<v1::KeptCalibration> CalibrationClient::Add(const std::string& name,
                                                           absl::string_view file) const {
  grpc::ClientContext context;
  SetTransferDeadline(context);
  v1::KeptCalibration kept;
  const auto writer = stub_->service->AddCalibration(&context, &kept);
  v1::AddCalibrationRequest request;
  request.set_name(name);
  request.set_file_bytes(file.size());
  // A server that refuses ends the call, and says why at its end.
  bool taken = writer->Write(request);
  request.Clear();
  for (; taken && !file.empty(); file.remove_prefix(std::min(file.size(), kPieceBytes))) {
    request.set_data(std::string(file.substr(0, kPieceBytes)));
    taken = writer->Write(request);
  }
  writer->WritesDone();
  ISO_RETURN_IF_ERROR(FromGrpc(writer->Finish(), context));
  return kept;
}

absl::StatusOr<v1::KeptCalibration> CalibrationClient::Get(
    const std::string& name, const std::function<absl::Status(absl::string_view)>& write) const {
  grpc::ClientContext context;
  SetTransferDeadline(context);
  v1::GetCalibrationRequest request;
  request.set_name(name);
  const auto reader = stub_->service->GetCalibration(&context, request);
  v1::KeptCalibration kept;
  for (v1::GetCalibrationResponse response; reader->Read(&response);) {
    if (response.has_calibration()) kept = response.calibration();
    if (absl::Status written = write(response.data()); !written.ok()) {
      context.TryCancel();
      (void)reader->Finish();
      return written;
    }
  }
  ISO_RETURN_IF_ERROR(FromGrpc(reader->Finish(), context));
  return kept;
}

absl::StatusOr<v1::KeptCalibration> CalibrationClient::Withdraw(const std::string& name) const {
  v1::WithdrawCalibrationRequest request;
  request.set_name(name);
  v1::KeptCalibration kept;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->service->WithdrawCalibration(&context, request, &kept);
  }));
  return kept;
}

}  // namespace isocenter::client
