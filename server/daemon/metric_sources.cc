#include "server/daemon/metric_sources.h"

#include <filesystem>
#include <string>
#include <vector>

#include "server/config/server_config.h"
#include "server/daemon/no_device_record.h"
#include "spdlog/spdlog.h"

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
                           const scheduler::Scheduler& scheduler,
                           const std::vector<pipeline::SlotDevices>& devices,
                           const spool::Spool& spool,
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
  sources.devices_healthy = [&scheduler, &devices] {
    std::vector<metrics::DeviceHealth> health;
    for (size_t i = 0; i < devices.size(); ++i) {
      const scheduler::DeviceSlot& slot = *scheduler.slots()[i];
      const bool own_memory = devices[i][0]->traits().own_memory;
      health.push_back(
          {slot.name, slot.healthy(), own_memory ? static_cast<int>(devices[i].size()) : 0});
    }
    return health;
  };
  const absl::StatusOr<double> no_device = LastTimeWithoutDevice(config.archive_directory());
  if (!no_device.ok())
    spdlog::warn("event=record_unread error=\"{}\"", no_device.status().ToString());
  sources.no_device_unix_seconds = no_device.value_or(0);
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
