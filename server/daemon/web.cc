#include "server/daemon/web.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/host_name.h"
#include "server/config/server_config.h"
#include "server/storage/files.h"

namespace isocenter::daemon {
namespace {

/// Whether the disk takes data: the kernel makes one that fails read-only.
absl::Status CheckDisk(const std::string& directory) {
  struct statvfs about {};
  if (statvfs(directory.c_str(), &about) != 0) {
    return storage::FileError(errno, "use", directory);
  }
  if ((about.f_flag & ST_RDONLY) != 0) {
    return absl::InternalError("the spool's disk is read-only");
  }
  return absl::OkStatus();
}

/// Where the page is: as configured, beside an installed program, or in the source tree.
std::filesystem::path PageDirectory(const v1::WebConfig& config) {
  if (!config.page_directory().empty()) return config.page_directory();
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path installed =
      program.parent_path().parent_path() / "share/isocenter/web";
  if (!error && std::filesystem::is_directory(installed, error)) return installed;
  return ISOCENTER_SOURCE_PAGE;
}

}  // namespace

node::NodeOptions NodeOptionsOf(const v1::ServerConfig& config, const std::string& backend,
                                const spool::Spool& spool,
                                const std::atomic<double>& last_sync_seconds) {
  return {.server = HostName(),
          .version = ISOCENTER_VERSION,
          .backend = backend,
          .max_active_jobs = static_cast<int>(config.limits().max_active_jobs()),
          .spool = [&spool, &last_sync_seconds, directory = config::SpoolDirectory(config)] {
            const spool::SpoolUsage usage = spool.usage();
            const absl::StatusOr<uint64_t> free = storage::FreeBytes(directory);
            absl::Status error = CheckDisk(directory);
            if (error.ok()) error = free.status();
            return node::SpoolState{.capacity_bytes = usage.capacity_bytes,
                                    .used_bytes = usage.used_bytes,
                                    .reclaimable_bytes = usage.reclaimable_bytes,
                                    .disk_free_bytes = free.ok() ? static_cast<int64_t>(*free) : 0,
                                    .last_sync_seconds = last_sync_seconds,
                                    .error = std::move(error)};
          }};
}

absl::StatusOr<std::unique_ptr<Web>> Web::Start(const v1::ServerConfig& config,
                                                const roles::Roster& roster, node::Node& node,
                                                const node::Activity& activity, node::JobFeed& feed,
                                                jobs::JobTable& table, pipeline::Engine& engine,
                                                jobs::ResultStore& results,
                                                archive::TransferQueue& transfers,
                                                audit::Recorder& audit) {
  std::unique_ptr<Web> web(new Web(feed));
  const v1::WebConfig& wanted = config.web();
  if (wanted.disabled()) return web;
  const http::WebOptions options{.address = wanted.address(),
                                 .tls = {.certificate_file = wanted.tls().certificate_file(),
                                         .private_key_file = wanted.tls().private_key_file(),
                                         .client_ca_file = wanted.tls().client_ca_file()},
                                 .page_directory = PageDirectory(wanted)};
  ISO_ASSIGN_OR_RETURN(
      web->volumes_, viewer::VolumeCache::Open(config::VolumeCacheDirectory(config),
                                               static_cast<int64_t>(wanted.volume_cache_bytes())));
  // A deleted volume leaves nothing behind. The cache outlives the web server, not the table.
  web->deletions_ = table.SubscribeAll(
      [volumes = std::weak_ptr<viewer::VolumeCache>(web->volumes_), &table](const std::string& id) {
        const auto cache = volumes.lock();
        if (cache != nullptr && !table.Get(id).ok()) cache->Forget(id);
      });
  if (config.dicom_node().destination_size() > 0) {
    web->transfers_ = std::make_unique<QueuedTransfers>(config.dicom_node(), transfers);
  }
  ISO_ASSIGN_OR_RETURN(web->server_,
                       http::WebServer::Start(options, {.roster = roster,
                                                        .node = node,
                                                        .activity = activity,
                                                        .feed = feed,
                                                        .table = table,
                                                        .engine = engine,
                                                        .results = results,
                                                        .volumes = *web->volumes_,
                                                        .transfers = web->transfers_.get(),
                                                        .audit = &audit}));
  const std::string& given = wanted.address();
  web->address_ = absl::StrCat(given.substr(0, given.rfind(':')), ":", web->server_->port());
  return web;
}

void Web::Stop() {
  feed_.Stop();
  server_.reset();
}

}  // namespace isocenter::daemon
