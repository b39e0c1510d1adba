// Connections to other nodes.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/channel_arguments.h"

namespace isocenter::rpc {

/// A node's own endpoint, and with which files it is reached; no files: without TLS.
struct PeerEndpoint {
  std::string field;  // of the configuration, for errors
  std::string address, ca_file, certificate_file, private_key_file;
};

/// Connects when it is first used. A node that comes back is found within seconds, a cable that was
/// pulled is noticed. Errors: NOT_FOUND, INVALID_ARGUMENT (a file).
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenPeerChannel(const PeerEndpoint& endpoint,
                                                               grpc::ChannelArguments arguments);

}  // namespace isocenter::rpc
