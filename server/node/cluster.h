// The nodes of a cluster, as one of them knows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace isocenter::node {

/// Copies of frames between this node and others
/// (docs/adr/0103-copies-of-frames-on-a-second-node.md).
struct Replication {
  std::string keeper;  // of this node's copies; empty: nobody
  bool keeper_reached = false;
  int kept_jobs = 0, degraded_jobs = 0;  // under way: the keeper has all frames, or has not
  struct Origin {
    std::string node;
    int copies = 0;                    // that this node keeps
    int orphans = 0, being_taken = 0;  // of these
  };
  std::vector<Origin> origins;
  int64_t used_bytes = 0, capacity_bytes = 0;  // of the copies
  int64_t taken_over_jobs = 0;                 // since the start
};

struct DeviceSummary {
  std::string name;
  bool healthy = true;
  double speed_gups = 0;
};

/// What a node says of itself to others.
struct Summary {
  std::string node, server, version;
  absl::Time start_time;
  bool ready = false;
  std::vector<std::string> reasons;  // why not
  bool is_drained = false;
  int64_t active_jobs = 0, max_active_jobs = 0, queue_chunks = 0;
  std::vector<std::string> rooms;  // whose scans are under way there
  std::vector<DeviceSummary> devices;
  int64_t spool_free_bytes = 0, archive_free_bytes = 0;
  std::optional<Replication> replication;
};

/// Another node, as this one sees it.
struct Peer {
  std::string node;
  std::string address;                     // empty: it is not asked
  bool reachable = false;                  // it answered the last time that it was asked
  absl::Time seen = absl::InfinitePast();  // when it answered last
  std::string error;                       // why it is not reachable
  std::optional<Summary> summary;          // what it answered last
};

}  // namespace isocenter::node
