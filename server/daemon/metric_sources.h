// What the metrics ask of the rooms each time they are read.
#pragma once

#include <atomic>
#include <vector>

#include "isocenter/v1/server_config.pb.h"
#include "server/jobs/job_table.h"
#include "server/metrics/metrics.h"
#include "server/pipeline/run_place.h"
#include "server/scheduler/scheduler.h"
#include "server/spool/spool.h"

namespace isocenter::daemon {

/// `devices` are those of each slot. All of the arguments outlive the metrics. The queues of
/// transfers are not among the sources.
metrics::Sources SourcesOf(const v1::ServerConfig& config, const jobs::JobTable& table,
                           const scheduler::Scheduler& scheduler,
                           const std::vector<pipeline::SlotDevices>& devices,
                           const spool::Spool& spool, const std::atomic<double>& last_sync_seconds);

}  // namespace isocenter::daemon
