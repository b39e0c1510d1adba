// Where the service is, and with which credentials it is reached.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace grpc {
class Channel;
}

namespace isocenter::client {

/// TLS is used when `ca_file` is set; mutual TLS when certificate and key are, too. A token goes
/// along with every call.
struct ServerAddress {
  std::string address = "127.0.0.1:50051";  // host:port, host, or unix:PATH
  // Each has its initializer: compilers warn who names the first one alone.
  std::string ca_file = {};           // PEM, authorities that may have signed the server
  std::string certificate_file = {};  // PEM, of this client
  std::string private_key_file = {};  // PEM
  std::string token_file = {};        // its first line is this client's token; read anew
  std::string node = {};  // of several behind the address, the one that all calls are meant for
};

/// What is wrong with it can be known without its files: the address, a certificate without key or
/// CA, a token that the network could read. Errors: INVALID_ARGUMENT, with the value and what is
/// legal.
absl::Status CheckAddress(const ServerAddress& address);

/// A connection to one server; connects when it is first used. Thread-safe; copies share the
/// connection.
class ServiceChannel {
 public:
  /// Errors: NOT_FOUND, PERMISSION_DENIED (a credential file that is not there, or that others may
  /// read), INVALID_ARGUMENT (a credential that is none; as of CheckAddress). Each names the value
  /// and what is legal.
  static absl::StatusOr<ServiceChannel> Open(const ServerAddress& address);
  explicit ServiceChannel(std::shared_ptr<grpc::Channel> channel, std::string node = "")
      : channel_(std::move(channel)), node_(std::move(node)) {}
  const std::shared_ptr<grpc::Channel>& grpc_channel() const { return channel_; }
  /// Empty: whichever the proxy chooses.
  const std::string& node() const { return node_; }
  /// Another connection to the same server, with the same credentials. One that was not made by
  /// Open is itself.
  ServiceChannel Anew() const;

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::string node_;
  std::function<std::shared_ptr<grpc::Channel>()> connect_;  // makes such a channel
};

}  // namespace isocenter::client
