// Connections for whoever asks the shared index. They are made by a thread of the pool's own: a
// query never waits for a database that is away.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/cluster_index/connection.h"
#include "server/cluster_index/connection_string.h"
#include "server/cluster_index/state.h"

namespace isocenter::cluster_index {

/// Thread-safe.
class ReaderPool {
 public:
  /// Queries at once; others wait for one to end.
  static constexpr size_t kConnections = 4;

  /// `state` outlives it. `longest_statement`: the database ends what takes longer.
  ReaderPool(ConnectionParameters parameters, absl::Duration longest_statement, State& state);
  /// After the last connection was given back.
  ~ReaderPool();

  /// One of them. Errors: UNAVAILABLE, at once (the database is away); DEADLINE_EXCEEDED (all are
  /// in use until then).
  absl::StatusOr<std::unique_ptr<Connection>> Take(absl::Time deadline);
  void GiveBack(std::unique_ptr<Connection> connection);

 private:
  void Run();
  absl::StatusOr<std::unique_ptr<Connection>> Open();
  bool IsStopping() const;

  const ConnectionParameters parameters_;
  const absl::Duration longest_statement_;
  State& state_;
  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_ ABSL_GUARDED_BY(mutex_);
  size_t missing_ ABSL_GUARDED_BY(mutex_) = kConnections;
  absl::Status away_ ABSL_GUARDED_BY(mutex_);  // why no connection can be made
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace isocenter::cluster_index
