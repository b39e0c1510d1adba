// This server as a whole: whether it takes acquisitions, and why not; its devices; draining.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/jobs/job_table.h"
#include "server/node/cluster.h"
#include "server/node/kept_drain.h"
#include "server/pipeline/engine.h"
#include "server/scheduler/scheduler.h"

namespace isocenter::node {

/// Why acquisitions are not taken.
struct Reason {
  std::string component;  // "devices", "spool", "archive", "admission" or "service"
  std::string message;    // a sentence for operators
  friend bool operator==(const Reason&, const Reason&) = default;
};

/// The disk of the frame spool.
struct SpoolState {
  int64_t capacity_bytes = 0;     // 0: no bound but the disk
  int64_t used_bytes = 0;         // by all jobs
  int64_t reclaimable_bytes = 0;  // of these, by jobs that have ended
  int64_t disk_free_bytes = 0;
  double last_sync_seconds = 0;
  absl::Status error;  // why nothing can be written
};

/// How callers prove who they are.
struct Access {
  bool tls = false, client_certificates = false;
  int named_certificates = 0;
  bool tokens = false, tokens_file_ok = false;
  std::string openid_issuer;  // empty: no identity provider is asked
};

/// One slot of the scheduler.
struct DeviceState {
  std::string name;
  bool healthy = true;
  std::string quarantine_reason;  // empty while healthy
  int64_t memory_limit_bytes = 0, memory_used_bytes = 0;
  double speed_gups = 0;  // voxel updates in 1e9 per second, of whole jobs
  int64_t queue_chunks = 0;
  /// By jobs::JobClass: voxel updates that a new job has before it, and how long they take.
  std::array<double, 3> backlog_updates{}, wait_seconds{};
};

struct NodeStatus {
  std::string server, version, backend;
  absl::Time now, start_time;
  std::vector<Reason> reasons;  // empty: ready
  std::optional<Drained> drained;
  int active_jobs = 0, max_active_jobs = 0;
  int64_t queue_chunks = 0;
  jobs::JobCounts jobs;
  SpoolState spool;
  Access access;

  bool ready() const { return reasons.empty(); }
};

struct NodeOptions {
  std::string version, backend;
  int max_active_jobs = 0;
  int64_t scan_bytes = 0;  // that the result of a usual scan takes in the archive
  std::function<SpoolState()> spool;
  std::function<absl::Time()> clock = absl::Now;
  std::string name;  // cluster.node_name, by which it is called everywhere
  std::function<int64_t()> archive_free_bytes = [] { return int64_t{0}; };
  /// Nothing: this node neither has a keeper nor is one.
  std::function<std::optional<Replication>()> replication = [] { return std::nullopt; };
  /// Answers at once.
  std::function<std::vector<Peer>()> peers = [] { return std::vector<Peer>(); };
  std::function<Access()> access = [] { return Access(); };
  std::filesystem::path drain_file;  // that outlasts the process; empty: a drain ends with it
};

/// Thread-safe.
class Node {
 public:
  static constexpr size_t kLongestReason = 200;

  /// A node that was drained when an earlier process ended is drained. All but `options` must
  /// outlive the node.
  Node(NodeOptions options, pipeline::Engine& engine, const scheduler::Scheduler& scheduler,
       const jobs::JobTable& table);

  /// From now on new acquisitions and refinements are refused with that reason; what exists goes
  /// on. Lasts until Resume, also over a restart or a crash. A node that is drained keeps its first
  /// reason. Errors: INVALID_ARGUMENT (the reason's length, control characters);
  /// RESOURCE_EXHAUSTED, PERMISSION_DENIED, INTERNAL (it is drained, but that cannot be kept on the
  /// disk).
  absl::Status Drain(const std::string& reason, const std::string& by);
  /// Without effect on a node that is not drained. Errors: PERMISSION_DENIED, INTERNAL (it takes
  /// acquisitions, but the disk does not forget the drain).
  absl::Status Resume(const std::string& by);

  /// `told` is called after what the functions here have changed; null: nobody is told.
  void SetListener(std::function<void()> told);

  /// All endpoints serve, and what was left of an earlier run has been taken up.
  void SetStarted();
  bool started() const;
  /// The service ends.
  void SetStopping();

  /// Why an acquisition would not be taken now; empty: it is, as far as anybody can know before it
  /// comes.
  std::vector<Reason> NotReady() const;
  std::optional<Drained> drained() const;
  int active_jobs() const { return scheduler_.active_jobs(); }
  NodeStatus Status() const;
  std::vector<DeviceState> Devices() const;
  /// Active jobs in the order in which devices serve them.
  std::vector<jobs::JobSnapshot> Queue() const;
  /// What other nodes show of this one.
  node::Summary Summary() const;
  /// The other nodes of the cluster, in the order of the configuration; also those that do not
  /// answer. Does not wait for them.
  std::vector<Peer> Peers() const { return options_.peers(); }

 private:
  void Tell() ABSL_LOCKS_EXCLUDED(listener_mutex_);
  void TakeUpDrain();
  void SetDrained(const std::optional<Drained>& drained);
  std::vector<Reason> ReasonsOf(const SpoolState& spool, int active_jobs) const;

  const NodeOptions options_;
  const absl::Time start_time_;
  pipeline::Engine& engine_;
  const scheduler::Scheduler& scheduler_;
  const jobs::JobTable& table_;
  absl::Mutex changing_;  // held while the disk is written, so that it has what was said last
  const KeptDrain kept_drain_ ABSL_GUARDED_BY(changing_);
  mutable absl::Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<Drained> drained_ ABSL_GUARDED_BY(mutex_);
  absl::Mutex listener_mutex_;  // held while it is told, so that it ends with SetListener
  std::function<void()> listener_ ABSL_GUARDED_BY(listener_mutex_);
};

}  // namespace isocenter::node
