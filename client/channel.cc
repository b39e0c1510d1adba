#include "client/channel.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_interceptor.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/nodes.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {
namespace {

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return absl::NotFoundError(absl::StrCat("cannot read the credential file ", path));
  }
  return text.str();
}

/// Says in every call which node it is meant for.
class NodeInterceptor : public grpc::experimental::Interceptor {
 public:
  explicit NodeInterceptor(std::string node) : node_(std::move(node)) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace(kNodeMetadata, node_);
    }
    methods->Proceed();
  }

 private:
  const std::string node_;
};

class NodeInterceptorFactory : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit NodeInterceptorFactory(std::string node) : node_(std::move(node)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new NodeInterceptor(node_);  // gRPC owns it
  }

 private:
  const std::string node_;
};

std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
NodeInterceptors(const std::string& node) {
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<NodeInterceptorFactory>(node));
  return interceptors;
}

}  // namespace

absl::StatusOr<ServiceChannel> ServiceChannel::Open(const ServerAddress& address) {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (address.certificate_file.empty() != address.private_key_file.empty()) {
    return absl::InvalidArgumentError(
        "a client certificate and its private key must be given together");
  }
  if (!address.ca_file.empty()) {
    grpc::SslCredentialsOptions options;
    ISO_ASSIGN_OR_RETURN(options.pem_root_certs, ReadPem(address.ca_file));
    if (!address.certificate_file.empty()) {
      ISO_ASSIGN_OR_RETURN(options.pem_cert_chain, ReadPem(address.certificate_file));
      ISO_ASSIGN_OR_RETURN(options.pem_private_key, ReadPem(address.private_key_file));
    }
    credentials = grpc::SslCredentials(options);
  } else if (!address.certificate_file.empty()) {
    return absl::InvalidArgumentError(
        "a client certificate needs TLS: give the certificate authority (CA) of the server, too");
  }
  grpc::ChannelArguments arguments;
  // The server states its own limit; what it sends back is bounded by pieces of a volume.
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  // gRPC would have all channels of a process to one server share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A server that comes back is found within seconds, and a cable that was pulled is noticed.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);  // what one attempt may take
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  if (address.node.empty()) {
    return ServiceChannel(grpc::CreateCustomChannel(address.address, credentials, arguments));
  }
  return ServiceChannel(
      grpc::experimental::CreateCustomChannelWithInterceptors(
          address.address, credentials, arguments, NodeInterceptors(address.node)),
      address.node);
}

}  // namespace isocenter::client
