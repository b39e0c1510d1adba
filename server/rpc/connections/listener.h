// Takes gRPC's connections from the network (docs/adr/0034-own-accept-loop.md).
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/server_builder.h"
#include "server/rpc/connections/connections.h"

namespace isocenter::rpc {

/// How many connections a process with so many descriptors may serve: the others belong to scans,
/// the archive and the other doors.
int MostConnections(int64_t descriptors);

/// Accepts, and hands what it has accepted to gRPC. It goes on whatever happens: without
/// descriptors it waits until there are some. Connections that are not to be served it closes at
/// once. Thread-safe.
class Listener {
 public:
  /// Binds `address` (host:port; port 0 picks a free one). Errors: UNAVAILABLE (why it
  /// cannot be listened on).
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const std::string& address, int most);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }
  Connections& connections() { return connections_; }

  /// From now on connections go to `acceptor`, whose server has started. Once.
  void Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor);
  /// No further connections; before the server shuts down.
  void Stop();

 private:
  Listener(std::vector<int> sockets, int port, int most);
  void Run();
  void Accept(int socket);

  const std::vector<int> sockets_;
  const int port_;
  int stop_;  // readable when the loop is to end
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  Connections connections_;
  std::thread thread_;
};

}  // namespace isocenter::rpc
