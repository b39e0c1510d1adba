// Tells the shared index what this node has, by a thread of its own. While the database is away,
// changes wait in the node's index.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/archive/index_changes.h"
#include "server/base/backoff.h"
#include "server/cluster_index/connection.h"
#include "server/cluster_index/connection_string.h"
#include "server/cluster_index/state.h"

namespace isocenter::cluster_index {

struct PublisherOptions {
  ConnectionParameters connection;
  std::string node;
  absl::Duration first_retry = absl::Milliseconds(200), longest_retry = absl::Seconds(10);
};

/// Thread-safe.
class Publisher {
 public:
  /// `changes` keeps changes; it and `state` outlive this.
  Publisher(PublisherOptions options, archive::IndexChanges& changes, State& state);
  ~Publisher();

  /// Waits until the index has all that the node had when it was called. Whether it has.
  bool WaitUntilPublished(absl::Time deadline);
  /// Changes that the index has not, those that it does not take included; -1: not known.
  int64_t waiting() const;

 private:
  void Run();
  /// With one connection, until it breaks or this stops.
  absl::Status Serve();
  absl::Status Join(Connection& connection);
  /// Whether there is nothing left to tell but what is refused.
  absl::StatusOr<bool> PublishSome(Connection& connection);
  void Wake();
  void WaitForWork(absl::Duration longest);
  bool IsStopping() const;

  const PublisherOptions options_;
  archive::IndexChanges& changes_;
  State& state_;
  Backoff backoff_;
  std::set<int64_t> refused_;  // changes that the database does not take; its thread's
  mutable absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_woken_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t rounds_ ABSL_GUARDED_BY(mutex_) = 0;  // changes that were looked for, to whoever waits
  std::thread thread_;
};

}  // namespace isocenter::cluster_index
