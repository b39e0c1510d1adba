// Takes gRPC's connections from the network (docs/adr/0034-own-accept-loop.md).
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/server_builder.h"

namespace isocenter::rpc {

/// How many connections a process with so many descriptors may serve: the others belong to scans,
/// the archive and the other doors.
int MostConnections(int64_t descriptors);

/// Accepts, and hands what it has accepted to gRPC. It goes on whatever happens: without
/// descriptors it waits until there are some. Beyond `most` connections, and beyond half of them
/// from one host, it closes new ones at once, so that nobody alone can keep the others out.
/// Thread-safe.
class Listener {
 public:
  /// Binds `address` (host:port; port 0 picks a free one). Errors: UNAVAILABLE (why it
  /// cannot be listened on).
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const std::string& address, int most);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }

  /// From now on connections go to `acceptor`, whose server has started. Once.
  void Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor);
  /// No further connections; before the server shuts down.
  void Stop();

 private:
  /// gRPC closes connections without a word, and the number may then be another file's: the inode
  /// says whether it still is this one.
  struct Connection {
    int descriptor;
    ino_t inode;
    std::string host;
  };

  Listener(std::vector<int> sockets, int port, int most);
  void Run();
  void Accept(int socket);
  bool Admit(int descriptor, const std::string& host) ABSL_LOCKS_EXCLUDED(mutex_);
  void ForgetClosed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<int> sockets_;
  const int port_, most_;
  int stop_;  // readable when the loop is to end
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  absl::Mutex mutex_;
  std::vector<Connection> connections_ ABSL_GUARDED_BY(mutex_);
  absl::Time told_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // of a refused connection
  std::thread thread_;
};

}  // namespace isocenter::rpc
