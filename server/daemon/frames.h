// The spool of this configuration, and what a restart finds in it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/jobs/job.h"
#include "server/spool/spool.h"

namespace isocenter::daemon {

/// `last_sync_seconds`, which outlives the spool, is what the last write to the disk took. Without
/// a capacity in the configuration: half of what the disk has free. Errors: those of Spool::Open.
absl::StatusOr<std::unique_ptr<spool::Spool>> OpenSpool(const v1::ServerConfig& config,
                                                        std::atomic<double>& last_sync_seconds);

/// Tells whether a job of an earlier run of the service can go on, by what `spool` holds now.
std::function<bool(const jobs::Job&)> ResumableFrom(const spool::Spool& spool);

}  // namespace isocenter::daemon
