#include "server/rpc/peers/peer_channel.h"

#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::rpc {

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenPeerChannel(const PeerEndpoint& endpoint,
                                                               grpc::ChannelArguments arguments) {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  const auto read = [&](const char* name, const std::string& file) {
    return ReadPemFile(absl::StrCat(endpoint.field, ".", name), file);
  };
  if (!endpoint.ca_file.empty()) {
    grpc::SslCredentialsOptions options;
    ISO_ASSIGN_OR_RETURN(options.pem_root_certs, read("ca_file", endpoint.ca_file));
    ISO_ASSIGN_OR_RETURN(options.pem_cert_chain,
                         read("certificate_file", endpoint.certificate_file));
    ISO_ASSIGN_OR_RETURN(options.pem_private_key,
                         read("private_key_file", endpoint.private_key_file));
    credentials = grpc::SslCredentials(options);
  }
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2'000);  // what one attempt may take
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  return grpc::CreateCustomChannel(endpoint.address, credentials, arguments);
}

}  // namespace isocenter::rpc
