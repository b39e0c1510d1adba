#include "client/channel.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_interceptor.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/connection_failure.h"
#include "client/credentials/certificate_facts.h"
#include "client/credentials/mismatch.h"
#include "client/credentials/pem_file.h"
#include "client/nodes.h"
#include "client/rpc_status.h"
#include "client/server_target.h"
#include "client/token_file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {
namespace {

/// Without the network in between.
bool IsOnThisMachine(absl::string_view address) {
  const absl::string_view host = address.substr(0, address.rfind(':'));
  return absl::StartsWith(address, "unix:") || host == "localhost" || host == "[::1]" ||
         (absl::StartsWith(host, "127.") &&
          host.find_first_not_of("0123456789.") == absl::string_view::npos);
}

/// By name.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// Goes along with every call.
class MetadataInterceptor : public grpc::experimental::Interceptor {
 public:
  explicit MetadataInterceptor(Metadata metadata) : metadata_(std::move(metadata)) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      for (const auto& [name, value] : metadata_) {
        methods->GetSendInitialMetadata()->emplace(name, value);
      }
    }
    methods->Proceed();
  }

 private:
  const Metadata metadata_;  // what gRPC sends points into it
};

/// Finds out why there was no connection, where gRPC's words hardly tell.
class MismatchInterceptor : public grpc::experimental::Interceptor {
 public:
  explicit MismatchInterceptor(std::shared_ptr<const Endpoint> endpoint)
      : endpoint_(std::move(endpoint)) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::POST_RECV_STATUS)) {
      Explain(*methods->GetRecvStatus());
    }
    methods->Proceed();
  }

 private:
  void Explain(grpc::Status& status) const {
    const std::string text = status.error_message();
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE || !NeverStood(text) ||
        !(IsMismatch(text) || IsCutHandshake(text))) {
      return;
    }
    const std::string found = ExplainMismatch(*endpoint_);
    if (!found.empty()) {
      status = grpc::Status(grpc::StatusCode::UNAVAILABLE, found, kMismatchDetails);
    }
  }

  const std::shared_ptr<const Endpoint> endpoint_;
};

class MismatchInterceptorFactory : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit MismatchInterceptorFactory(std::shared_ptr<const Endpoint> endpoint)
      : endpoint_(std::move(endpoint)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new MismatchInterceptor(endpoint_);  // gRPC owns it
  }

 private:
  const std::shared_ptr<const Endpoint> endpoint_;
};

class MetadataInterceptorFactory : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  /// `token`: null: none goes along.
  MetadataInterceptorFactory(Metadata metadata, std::shared_ptr<TokenFile> token)
      : metadata_(std::move(metadata)), token_(std::move(token)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    Metadata metadata = metadata_;
    if (token_ != nullptr) {
      metadata.emplace_back("authorization", absl::StrCat("Bearer ", token_->Token()));
    }
    return new MetadataInterceptor(std::move(metadata));  // gRPC owns it
  }

 private:
  const Metadata metadata_;
  const std::shared_ptr<TokenFile> token_;
};

std::shared_ptr<grpc::Channel> Connect(const std::shared_ptr<const Endpoint>& endpoint,
                                       const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                       const grpc::ChannelArguments& arguments,
                                       const Metadata& metadata,
                                       const std::shared_ptr<TokenFile>& token) {
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<MismatchInterceptorFactory>(endpoint));
  if (!metadata.empty() || token != nullptr) {
    interceptors.push_back(std::make_unique<MetadataInterceptorFactory>(metadata, token));
  }
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      endpoint->target, credentials, arguments, std::move(interceptors));
}

}  // namespace

absl::Status CheckAddress(const ServerAddress& address) {
  ISO_RETURN_IF_ERROR(ServerTarget(address.address).status());
  if (address.certificate_file.empty() != address.private_key_file.empty()) {
    return absl::InvalidArgumentError(
        "a client certificate (certificate_file; --cert, ISOCENTER_CERT) and its private key "
        "(private_key_file; --key, ISOCENTER_KEY) must be given together");
  }
  if (address.ca_file.empty() && !address.certificate_file.empty()) {
    return absl::InvalidArgumentError(
        "a client certificate needs TLS: give the certificate authority (CA) of the server, too");
  }
  if (address.ca_file.empty() && !address.token_file.empty() && !IsOnThisMachine(address.address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the token would cross the network in plain text to ", address.address,
                     ": give the certificate authority (CA) of the server, too"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ServiceChannel> ServiceChannel::Open(const ServerAddress& address) {
  ISO_RETURN_IF_ERROR(CheckAddress(address));
  auto endpoint = std::make_shared<Endpoint>(Endpoint{
      .ca_file = address.ca_file, .certificate_file = address.certificate_file, .credentials = {}});
  ISO_ASSIGN_OR_RETURN(endpoint->target, ServerTarget(address.address));
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!address.ca_file.empty()) {
    Credentials& held = endpoint->credentials;
    ISO_ASSIGN_OR_RETURN(held.authorities, ReadCertificates("the CA file", address.ca_file));
    if (!address.certificate_file.empty()) {
      ISO_ASSIGN_OR_RETURN(held.certificate,
                           ReadCertificates("the certificate file", address.certificate_file));
      ISO_ASSIGN_OR_RETURN(held.private_key,
                           ReadPrivateKey("the private key file", address.private_key_file));
      if (!IsKeyOf(held.private_key, held.certificate)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the private key file is ", address.private_key_file,
            ", which does not belong to the certificate file ", address.certificate_file,
            "; legal is the private key (--key, ISOCENTER_KEY) that its certificate (--cert, "
            "ISOCENTER_CERT) was made for"));
      }
    }
    credentials = grpc::SslCredentials({.pem_root_certs = held.authorities,
                                        .pem_private_key = held.private_key,
                                        .pem_cert_chain = held.certificate});
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
  Metadata metadata;
  if (!address.node.empty()) metadata.emplace_back(kNodeMetadata, address.node);
  std::shared_ptr<TokenFile> token;
  if (!address.token_file.empty()) {
    ISO_ASSIGN_OR_RETURN(token, TokenFile::Open(address.token_file));
  }
  ServiceChannel channel(nullptr, address.node);
  channel.connect_ = [=] { return Connect(endpoint, credentials, arguments, metadata, token); };
  channel.channel_ = channel.connect_();
  return channel;
}

ServiceChannel ServiceChannel::Anew() const {
  ServiceChannel other = *this;
  if (connect_) other.channel_ = connect_();
  return other;
}

}  // namespace isocenter::client
