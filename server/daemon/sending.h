// The configured destinations, for the rooms that send.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/archive/archive.h"
#include "server/dicom/sending/sender.h"
#include "server/metrics/metrics.h"

namespace isocenter::daemon {

/// Which results go where by themselves. `config` has its defaults and is valid, here and below.
std::vector<archive::Route> RoutesOf(const v1::DicomNodeConfig& config);

/// Begins to send what is in the archive's queues. `node` has the peers. Errors: the queue's.
absl::StatusOr<std::unique_ptr<dicom::Sender>> StartSender(const v1::DicomNodeConfig& config,
                                                           const dicom::NodeOptions& node,
                                                           archive::Archive& archive,
                                                           metrics::Metrics& metrics);

/// What is shown of the queues; nothing when they cannot be read.
std::vector<metrics::SendQueue> SendQueues(archive::TransferQueue& queue);

}  // namespace isocenter::daemon
