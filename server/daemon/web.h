// The node's description and the web server, as the configuration wants them.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/audit/event.h"
#include "server/daemon/transfers.h"
#include "server/http/web_server.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/node/activity.h"
#include "server/node/job_feed.h"
#include "server/node/node.h"
#include "server/pipeline/engine.h"
#include "server/roles/roster.h"
#include "server/spool/spool.h"
#include "server/viewer/volume_cache.h"

namespace isocenter::daemon {

/// `spool` and `last_sync_seconds` must outlive the node.
node::NodeOptions NodeOptionsOf(const v1::ServerConfig& config, const std::string& backend,
                                const spool::Spool& spool,
                                const std::atomic<double>& last_sync_seconds);

/// The web server with what only it needs.
class Web {
 public:
  /// All but the configuration must outlive it. With web.disabled there is no server. Errors:
  /// INVALID_ARGUMENT, NOT_FOUND (TLS files, the page), UNAVAILABLE (the address), those of
  /// VolumeCache::Open.
  static absl::StatusOr<std::unique_ptr<Web>> Start(
      const v1::ServerConfig& config, const roles::Roster& roster, node::Node& node,
      const node::Activity& activity, node::JobFeed& feed, jobs::JobTable& table,
      pipeline::Engine& engine, jobs::ResultStore& results, archive::TransferQueue& transfers,
      audit::Recorder& audit);

  ~Web() { Stop(); }
  Web(const Web&) = delete;
  Web& operator=(const Web&) = delete;

  /// host:port with the port that was chosen, or "off".
  const std::string& address() const { return address_; }
  /// Streams of events end, and with them the feed.
  void Stop();

 private:
  explicit Web(node::JobFeed& feed) : feed_(feed) {}

  node::JobFeed& feed_;
  std::string address_ = "off";
  std::shared_ptr<viewer::VolumeCache> volumes_;  // a deletion may hold it
  jobs::JobTable::Subscription deletions_;
  std::unique_ptr<QueuedTransfers> transfers_;  // null: no destination is configured
  std::unique_ptr<http::WebServer> server_;
};

}  // namespace isocenter::daemon
