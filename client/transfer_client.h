// Results on their way to DICOM destinations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/channel.h"
#include "isocenter/v1/destinations.pb.h"
#include "isocenter/v1/transfers.pb.h"

namespace isocenter::client {

/// Thread-safe. Errors are those that transfers.proto states, and UNAVAILABLE.
class TransferClient {
 public:
  explicit TransferClient(const ServiceChannel& channel);
  ~TransferClient();

  /// All that match, newest first, at most `limit`. Paging fields of `filter` are ignored.
  absl::StatusOr<std::vector<v1::Transfer>> List(v1::ListTransfersRequest filter, int limit) const;
  /// An empty destination: the only one that is configured.
  absl::StatusOr<v1::SendJobResponse> Send(const v1::SendJobRequest& request) const;
  /// All that the request is about, newest first.
  absl::StatusOr<v1::SendJobsResponse> Send(const v1::SendJobsRequest& request) const;
  /// Returns the number of instances that are tried again.
  absl::StatusOr<int> Retry(const v1::RetryTransfersRequest& request) const;
  /// As the node's configuration has them.
  absl::StatusOr<std::vector<v1::Destination>> Destinations() const;

 private:
  struct Stub;
  std::unique_ptr<Stub> stub_;
};

}  // namespace isocenter::client
