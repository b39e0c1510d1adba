// What gRPC counts of its connections.
#pragma once

#include <cstdint>
#include <vector>

#include "server/rpc/connections/connections.h"

namespace isocenter::rpc {

/// gRPC's own accounts (channelz) of one server. Calls are streams (RFC 9113), which gRPC counts
/// where it reads their headers, also those that no handler ever sees. Thread-safe.
class Channelz {
 public:
  /// Of the server that was made last.
  static Channelz OfNewestServer();

  struct Connection {
    int64_t id = 0;
    Peer peer;
    int64_t begun = 0;     // streams
    int64_t answered = 0;  // of them, until their status
  };
  /// Streams of all connections, also of those that are closed.
  int64_t StreamsBegun() const;
  std::vector<Connection> OpenConnections() const;

 private:
  explicit Channelz(int64_t server) : server_(server) {}
  const int64_t server_;  // 0: gRPC keeps no accounts
};

}  // namespace isocenter::rpc
