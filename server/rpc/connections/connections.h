// The connections that gRPC was given.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>

#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace isocenter::rpc {

/// The other end of a connection.
struct Peer {
  std::string host;  // numeric; IPv4 also where it came as IPv6
  int port = 0;
  friend bool operator==(const Peer&, const Peer&) = default;
};

Peer PeerOf(const sockaddr_storage& address);

/// At most `most` connections, and at most half of them from one host, so that nobody alone can
/// keep the others out; none of a host that has misbehaved of late. gRPC closes connections without
/// telling: how many are open is found out when it matters. Thread-safe.
class Connections {
 public:
  /// For so long a host that was cut off is not let in again. Its other connections stay.
  static constexpr absl::Duration kPenalty = absl::Seconds(10);

  explicit Connections(int most) : most_(most) {}

  /// Whether a connection may go to gRPC, which will close it. Else it is the caller's to close.
  bool Admit(int descriptor, const Peer& peer);
  /// Ends a connection at once, with what it has sent and nobody has read, and lets no other of its
  /// host in for a while. False: there is none.
  bool Cut(const Peer& peer);
  /// Lets no connection of a host in for a while.
  void Shun(const std::string& host);
  /// The hosts of the open connections that are not `known`, each once.
  std::vector<std::string> HostsBeside(const std::vector<Peer>& known);
  /// Forgets those that are closed: how many of which host.
  std::map<std::string, int> ForgetClosed();

 private:
  struct Connection {
    int descriptor;
    ino_t inode;  // the number may be another file's by now: whether it still is this one
    Peer peer;
  };
  /// Why a connection is not let in; empty: it is.
  std::string Refusal(const std::string& host) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::map<std::string, int> Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int most_;
  absl::Mutex mutex_;
  std::vector<Connection> connections_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, absl::Time> shunned_ ABSL_GUARDED_BY(mutex_);  // until when
  absl::Time told_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();     // of a refused connection
};

}  // namespace isocenter::rpc
