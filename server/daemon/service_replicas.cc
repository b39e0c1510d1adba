// Copies of frames between this service and other nodes.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/calibrations/store.h"
#include "server/config/server_config.h"
#include "server/daemon/observer.h"
#include "server/daemon/service.h"
#include "server/daemon/sync_policy.h"
#include "server/metrics/metrics.h"
#include "server/node/cluster.h"
#include "server/pipeline/engine.h"
#include "server/pipeline/job_record.h"
#include "server/replicas/replica_store.h"
#include "server/replicas/replicated_spool.h"
#include "server/replicas/takeover.h"
#include "server/rpc/replicas/grpc_keeper.h"
#include "server/rpc/translation/translate_header.h"
#include "server/spool/spool.h"

namespace isocenter::daemon {
namespace {

/// Each copy is as durable as this node's own frames.
spool::SpoolOptions CopiesOf(const v1::ServerConfig& config) {
  const v1::SpoolConfig& own = config.spool();
  const uint64_t wanted = config.cluster().replication().capacity_bytes();
  spool::SpoolOptions options{
      .directory = std::filesystem::path(config::SpoolDirectory(config)) / "replicas",
      .sync = SyncPolicyOf(own),
      .sync_interval = absl::Seconds(own.sync_interval_seconds()),
      .capacity_bytes = static_cast<int64_t>(wanted),
      .capacity_source = "cluster.replication.capacity_bytes"};
  if (wanted != 0) return options;
  constexpr int64_t kShares = 4;
  options.capacity_follows_disk = true;
  options.shares = kShares;
  options.capacity_bytes = 1;  // a disk of which nothing is known takes no copies
  options.capacity_source =
      "a quarter of the most that the disk had free; cluster.replication.capacity_bytes sets "
      "another figure";
  return options;
}

}  // namespace

absl::Status Service::OpenReplicas() {
  const v1::ReplicationConfig& wanted = configuration_.config.cluster().replication();
  if (wanted.origin().empty()) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(
      replicas_, replicas::ReplicaStore::Open(
                     {.spool = CopiesOf(configuration_.config),
                      .take_over = absl::Seconds(wanted.take_over_seconds()),
                      .keep = absl::Seconds(wanted.keep_seconds()),
                      .promised_bytes = [this] { return engine_->promised_spool_disk_bytes(); },
                      .has_job = [this](const std::string& id) { return table_->Get(id).ok(); },
                      .has_active_job =
                          [this](const std::string& id) {
                            const absl::StatusOr<jobs::JobSnapshot> job = table_->Get(id);
                            return job.ok() && !jobs::HasEnded((*job)->state);
                          }}));
  return absl::OkStatus();
}

absl::Status Service::OpenKeeper() {
  const v1::ClusterConfig& cluster = configuration_.config.cluster();
  if (!cluster.replication().has_keeper()) return absl::OkStatus();
  const v1::ReplicaKeeperConfig& wanted = cluster.replication().keeper();
  ISO_ASSIGN_OR_RETURN(keeper_, rpc::OpenKeeper(wanted));
  ISO_ASSIGN_OR_RETURN(std::string spool_id,
                       replicas::SpoolId(config::SpoolDirectory(configuration_.config)));
  replicated_spool_ = std::make_unique<replicas::ReplicatedSpool>(
      *spool_,
      replicas::LinkEnvironment{
          .keeper = *keeper_,
          .origin = {cluster.node_name(), std::move(spool_id)},
          .keeper_node = wanted.node(),
          .patience = absl::Seconds(wanted.patience_seconds()),
          .begun_by = [this](const std::string& id) -> absl::StatusOr<std::string> {
            ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot job, table_->Get(id));
            if (!jobs::HasEnded(job->state)) return job->begun_by;
            return absl::FailedPreconditionError("the job has ended");
          },
          .on_lost =
              [this, node = wanted.node()](const std::string& id, const std::string& why) {
                pipeline::PublishWarning(
                    id,
                    {jobs::WarningKind::kReplicaLost, std::nullopt,
                     absl::StrCat("the frames are on this node's disk alone: node ", node,
                                  ", which keeps copies, has not all of them (", why, ")")},
                    *table_, *observer_);
              }},
      [](const jobs::JobSpool& frames) -> absl::StatusOr<int64_t> {
        ISO_ASSIGN_OR_RETURN(const pipeline::AcquisitionRequest request,
                             rpc::TranslateRecord(frames.acquisition()));
        return recon::FrameBytes(request.acquisition);
      });
  return absl::OkStatus();
}

jobs::FrameSpool& Service::Frames() const {
  if (replicated_spool_ != nullptr) return *replicated_spool_;
  return *spool_;
}

void Service::StartTakeover() {
  if (replicas_ == nullptr) return;
  takeover_ = std::make_unique<replicas::Takeover>(
      *replicas_, *engine_,
      replicas::TakeoverOptions{.decode = rpc::TranslateRecord,
                                .calibrations = calibrations_.get(),
                                .on_taken_over = [this] { ++taken_over_; }});
}

metrics::ReplicationState Service::Replication() const {
  metrics::ReplicationState state{.taken_over = taken_over_};
  if (replicated_spool_ != nullptr) {
    const replicas::ReplicatedSpool::Usage usage = replicated_spool_->usage();
    state.jobs = usage.jobs;
    state.degraded = usage.degraded;
    state.keeper_reached = usage.keeper_reached;
  }
  if (replicas_ != nullptr) {
    const replicas::ReplicaStore::Usage usage = replicas_->usage();
    state.kept = usage.copies;
    state.kept_bytes = usage.bytes;
    state.capacity_bytes = usage.capacity_bytes;
    for (const auto& [node, counts] : replicas_->Count()) state.orphans += counts.orphans;
  }
  return state;
}

std::optional<node::Replication> Service::ReplicationShown() const {
  if (replicas_ == nullptr && replicated_spool_ == nullptr) return std::nullopt;
  const v1::ReplicationConfig& config = configuration_.config.cluster().replication();
  const metrics::ReplicationState state = Replication();
  node::Replication shown{.keeper = config.keeper().node(),
                          .keeper_reached = state.keeper_reached.value_or(false),
                          .kept_jobs = state.jobs,
                          .degraded_jobs = state.degraded,
                          .used_bytes = state.kept_bytes,
                          .capacity_bytes = state.capacity_bytes,
                          .taken_over_jobs = state.taken_over};
  if (replicas_ == nullptr) return shown;
  std::map<std::string, replicas::ReplicaStore::OriginCounts> counts = replicas_->Count();
  for (const v1::ReplicaOriginConfig& origin : config.origin()) {
    const replicas::ReplicaStore::OriginCounts of = counts[origin.node()];
    counts.erase(origin.node());
    shown.origins.push_back({origin.node(), of.copies, of.orphans, of.being_taken});
  }
  // Of nodes that have left the configuration there may be copies, too.
  for (const auto& [node, of] : counts) {
    shown.origins.push_back({node, of.copies, of.orphans, of.being_taken});
  }
  return shown;
}

}  // namespace isocenter::daemon
