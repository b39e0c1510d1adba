#include "server/daemon/metric_sources.h"

#include <filesystem>
#include <string>
#include <vector>

#include "server/config/server_config.h"

namespace isocenter::daemon {
namespace {

metrics::DiskSpace SpaceOf(const std::string& name, const std::string& directory) {
  std::error_code error;
  const std::filesystem::space_info disk = std::filesystem::space(directory, error);
  if (error) return {.directory = name};
  return {name, static_cast<int64_t>(disk.capacity), static_cast<int64_t>(disk.available)};
}

}  // namespace

metrics::Sources SourcesOf(const v1::ServerConfig& config, const jobs::JobTable& table,
                           const scheduler::Scheduler& scheduler, const spool::Spool& spool,
                           const std::atomic<double>& last_sync_seconds) {
  metrics::Sources sources;
  sources.jobs = [&table] { return table.Count(); };
  sources.queue_depth = [&scheduler] { return scheduler.queue_depth(); };
  sources.device_memory = [&scheduler] {
    std::vector<metrics::DeviceMemory> memory;
    for (const auto& slot : scheduler.slots()) {
      memory.push_back({slot->name, slot->memory.limit(), slot->memory.used()});
    }
    return memory;
  };
  sources.devices_healthy = [&scheduler] {
    std::vector<metrics::DeviceHealth> health;
    for (const auto& slot : scheduler.slots()) health.push_back({slot->name, slot->healthy()});
    return health;
  };
  sources.spool = [&spool, &last_sync_seconds] {
    const spool::SpoolUsage usage = spool.usage();
    return metrics::SpoolState{usage.capacity_bytes, usage.used_bytes, usage.reclaimable_bytes,
                               last_sync_seconds};
  };
  sources.disks = [archive = config.archive_directory(), spooled = config::SpoolDirectory(config)] {
    return std::vector<metrics::DiskSpace>{SpaceOf("archive", archive), SpaceOf("spool", spooled)};
  };
  sources.max_active_jobs = static_cast<int>(config.limits().max_active_jobs());
  return sources;
}

}  // namespace isocenter::daemon
