// Asks the other nodes of the cluster how they are.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/node/cluster.h"

namespace isocenter::rpc {

struct PeerTiming {
  absl::Duration between = absl::Seconds(2);
  absl::Duration answer = absl::Seconds(1);  // what one node has for its answer
};

/// Asks all at once, every two seconds; who wants to know gets what was answered last, and waits
/// for nobody. Thread-safe.
class PeerWatch {
 public:
  /// Of a peer's answer, which is not believed to be short. A node with 200 rooms has 10 KiB.
  static constexpr int kLongestAnswer = 32 << 10;

  /// `cluster` has its defaults. Errors: NOT_FOUND, INVALID_ARGUMENT (a file of the configuration).
  static absl::StatusOr<std::unique_ptr<PeerWatch>> Start(const v1::ClusterConfig& cluster,
                                                          PeerTiming timing = {});
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// All of cluster.node but this one, in that order.
  std::vector<node::Peer> Get() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Question;
  struct Watched;

  explicit PeerWatch(PeerTiming timing);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void AskAll() ABSL_LOCKS_EXCLUDED(mutex_);

  const PeerTiming timing_;
  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<Watched>> peers_;  // whose answers the mutex guards
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace isocenter::rpc
