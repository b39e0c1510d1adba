#include "server/daemon/frames.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "server/config/server_config.h"
#include "server/storage/files.h"

namespace isocenter::daemon {

absl::StatusOr<std::unique_ptr<spool::Spool>> OpenSpool(const v1::ServerConfig& config,
                                                        std::atomic<double>& last_sync_seconds) {
  const v1::SpoolConfig& wanted = config.spool();
  spool::SpoolOptions options{
      .directory = config::SpoolDirectory(config),
      .sync = wanted.sync() == v1::SYNC_POLICY_ALWAYS  ? spool::SyncPolicy::kAlways
              : wanted.sync() == v1::SYNC_POLICY_NEVER ? spool::SyncPolicy::kNever
                                                       : spool::SyncPolicy::kInterval,
      .sync_interval = absl::Seconds(wanted.sync_interval_seconds()),
      .capacity_bytes = static_cast<int64_t>(wanted.capacity_bytes()),
      .retention = absl::Seconds(wanted.retain_seconds()),
      .on_sync = [&](absl::Duration took) { last_sync_seconds = absl::ToDoubleSeconds(took); }};
  if (options.capacity_bytes == 0) {
    std::error_code error;
    std::filesystem::create_directories(options.directory, error);
    const absl::StatusOr<uint64_t> free = storage::FreeBytes(options.directory);
    if (free.ok()) options.capacity_bytes = static_cast<int64_t>(*free / 2);
  }
  return spool::Spool::Open(std::move(options));
}

std::function<bool(const jobs::Job&)> ResumableFrom(const spool::Spool& spool) {
  const std::vector<std::string> jobs = spool.Jobs();
  return
      [spooled = absl::flat_hash_set<std::string>(jobs.begin(), jobs.end())](const jobs::Job& job) {
        if (job.pair_role == jobs::PairRole::kSubtraction) return true;  // made of stored volumes
        return spooled.contains(jobs::IsRefinement(job) ? job.source_job_ids.front() : job.id);
      };
}

}  // namespace isocenter::daemon
