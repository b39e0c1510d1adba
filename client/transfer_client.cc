#include "client/transfer_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "client/rpc_status.h"
#include "isocenter/v1/destinations.grpc.pb.h"
#include "isocenter/v1/transfers.grpc.pb.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {
namespace {

constexpr int kLargestPage = 1000;

}  // namespace

struct TransferClient::Stub {
  std::unique_ptr<v1::TransferService::Stub> service;
  std::unique_ptr<v1::DestinationService::Stub> destinations;
};

TransferClient::TransferClient(const ServiceChannel& channel)
    : stub_(std::make_unique<Stub>(v1::TransferService::NewStub(channel.grpc_channel()),
                                   v1::DestinationService::NewStub(channel.grpc_channel()))) {}
TransferClient::~TransferClient() = default;

absl::StatusOr<std::vector<v1::Transfer>> TransferClient::List(v1::ListTransfersRequest filter,
                                                               int limit) const {
  std::vector<v1::Transfer> transfers;
  filter.clear_page_token();
  do {
    filter.set_page_size(std::clamp(limit - static_cast<int>(transfers.size()), 1, kLargestPage));
    v1::ListTransfersResponse response;
    ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
      return stub_->service->ListTransfers(&context, filter, &response);
    }));
    for (v1::Transfer& transfer : *response.mutable_transfer()) {
      transfers.push_back(std::move(transfer));
    }
    filter.set_page_token(response.next_page_token());
  } while (!filter.page_token().empty() && static_cast<int>(transfers.size()) < limit);
  return transfers;
}

absl::StatusOr<v1::SendJobResponse> TransferClient::Send(const v1::SendJobRequest& request) const {
  v1::SendJobResponse response;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->service->SendJob(&context, request, &response);
  }));
  return response;
}

absl::StatusOr<v1::SendJobsResponse> TransferClient::Send(
    const v1::SendJobsRequest& request) const {
  v1::SendJobsResponse response;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->service->SendJobs(&context, request, &response);
  }));
  return response;
}

absl::StatusOr<int> TransferClient::Retry(const v1::RetryTransfersRequest& request) const {
  v1::RetryTransfersResponse response;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->service->RetryTransfers(&context, request, &response);
  }));
  return static_cast<int>(response.instance_count());
}

absl::StatusOr<std::vector<v1::Destination>> TransferClient::Destinations() const {
  v1::ListDestinationsResponse response;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->destinations->ListDestinations(&context, {}, &response);
  }));
  return std::vector<v1::Destination>(response.destination().begin(), response.destination().end());
}

}  // namespace isocenter::client
