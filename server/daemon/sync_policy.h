// When frames are on the disk, of this node's scans and of its copies for others.
#pragma once

#include "isocenter/v1/server_config.pb.h"
#include "server/spool/spool.h"

namespace isocenter::daemon {

/// Frames that wait for a second node are synced at intervals here, as on that one.
inline spool::SyncPolicy SyncPolicyOf(const v1::SpoolConfig& config) {
  switch (config.sync()) {
    case v1::SYNC_POLICY_ALWAYS:
      return spool::SyncPolicy::kAlways;
    case v1::SYNC_POLICY_NEVER:
      return spool::SyncPolicy::kNever;
    default:
      return spool::SyncPolicy::kInterval;
  }
}

}  // namespace isocenter::daemon
