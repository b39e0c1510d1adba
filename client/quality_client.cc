#include "client/quality_client.h"

#include <grpcpp/grpcpp.h>

#include "client/rpc_status.h"
#include "isocenter/v1/quality.grpc.pb.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {

struct QualityClient::Stub {
  std::unique_ptr<v1::QualityService::Stub> service;
};

QualityClient::QualityClient(const ServiceChannel& channel)
    : stub_(std::make_unique<Stub>(v1::QualityService::NewStub(channel.grpc_channel()))) {}
QualityClient::~QualityClient() = default;

absl::StatusOr<v1::QualityResult> QualityClient::Record(
    const v1::RecordQualityRequest& request) const {
  v1::QualityResult result;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->service->RecordQuality(&context, request, &result);
  }));
  return result;
}

absl::StatusOr<v1::ListQualityResponse> QualityClient::List(
    const v1::ListQualityRequest& request) const {
  v1::ListQualityResponse response;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->service->ListQuality(&context, request, &response);
  }));
  return response;
}

absl::StatusOr<v1::QualityResult> QualityClient::SetBaseline(const std::string& id) const {
  v1::SetQualityBaselineRequest request;
  request.set_id(id);
  v1::QualityResult result;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->service->SetQualityBaseline(&context, request, &result);
  }));
  return result;
}

}  // namespace isocenter::client
