// DestinationService on the configuration and the archive's queues.
#pragma once

#include <vector>

#include "isocenter/v1/destinations.grpc.pb.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/archive/transfer_queue.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

class DestinationService : public SingleRequestService<v1::DestinationService> {
 public:
  /// `guard` and `queue` must outlive the service. Without a queue nothing is on its way.
  DestinationService(const Guard& guard, archive::TransferQueue* queue,
                     const v1::DicomNodeConfig& config);

 private:
  void OnListDestinations(
      UnaryCall<v1::ListDestinationsRequest, v1::ListDestinationsResponse>& call);

  archive::TransferQueue* const queue_;
  const std::vector<v1::Destination> destinations_;
};

}  // namespace isocenter::rpc
