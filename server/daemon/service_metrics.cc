// What the metrics ask of the rooms of a service, each time they are read.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/archive/archive.h"
#include "server/audit/trail.h"
#include "server/base/log.h"
#include "server/cluster_index/cluster_index.h"
#include "server/config/server_config.h"
#include "server/daemon/no_device_record.h"
#include "server/daemon/service.h"
#include "server/daemon/slots.h"
#include "server/dicom/worklist/procedure_steps.h"
#include "server/metrics/metrics.h"
#include "server/node/node.h"
#include "server/pipeline/engine.h"
#include "server/quality/store.h"
#include "server/roles/openid/sign_on.h"
#include "server/roles/roster.h"
#include "server/scheduler/scheduler.h"
#include "server/spool/spool.h"
#include "server/traces/exporter.h"

namespace isocenter::daemon {
namespace {

metrics::DiskSpace SpaceOf(const std::string& name, const std::string& directory,
                           int64_t promised_bytes) {
  std::error_code error;
  const std::filesystem::space_info disk = std::filesystem::space(directory, error);
  if (error) return {.directory = name};
  return {name, static_cast<int64_t>(disk.capacity), static_cast<int64_t>(disk.available),
          promised_bytes};
}

std::vector<metrics::DeviceMemory> MemoryOf(const scheduler::Scheduler& scheduler) {
  std::vector<metrics::DeviceMemory> memory;
  for (const auto& slot : scheduler.slots()) {
    memory.push_back({slot->name, slot->memory.limit(), slot->memory.used()});
  }
  return memory;
}

std::vector<metrics::DeviceHealth> HealthOf(const scheduler::Scheduler& scheduler,
                                            const std::vector<pipeline::SlotDevices>& devices) {
  std::vector<metrics::DeviceHealth> health;
  for (size_t i = 0; i < devices.size(); ++i) {
    const scheduler::DeviceSlot& slot = *scheduler.slots()[i];
    const bool own_memory = devices[i][0]->traits().own_memory;
    health.push_back(
        {slot.name, slot.healthy(), own_memory ? static_cast<int>(devices[i].size()) : 0});
  }
  return health;
}

/// Each of `states` with its name and its count, 0 where there is none.
template <class State, size_t n>
std::vector<std::pair<std::string, int64_t>> CountsOf(const std::map<State, int64_t>& counts,
                                                      const State (&states)[n]) {
  std::vector<std::pair<std::string, int64_t>> shown;
  for (const State state : states) {
    const auto count = counts.find(state);
    shown.emplace_back(std::string(Name(state)), count == counts.end() ? 0 : count->second);
  }
  return shown;
}

metrics::Readiness ReadinessOf(const node::Node& node) {
  metrics::Readiness readiness{.is_drained = node.drained().has_value()};
  for (const node::Reason& reason : node.NotReady()) {
    readiness.not_ready.push_back(reason.component);
  }
  return readiness;
}

double SecondsSince(absl::Time time) {
  return std::max(0.0, absl::ToDoubleSeconds(absl::Now() - time));
}

/// Nothing when they cannot be read; here and below.
std::vector<metrics::SendQueue> SendQueuesOf(archive::TransferQueue& queue) {
  using archive::TransferState;
  std::vector<metrics::SendQueue> shown;
  const auto lengths = queue.Lengths();
  if (!lengths.ok()) return shown;
  for (const auto& [destination, length] : *lengths) {
    metrics::SendQueue& row = shown.emplace_back();
    row.destination = destination;
    row.instances = CountsOf(length.counts, {TransferState::kQueued, TransferState::kSending,
                                             TransferState::kSent, TransferState::kCommitted,
                                             TransferState::kFailed, TransferState::kSkipped});
    if (length.oldest) row.oldest_seconds = SecondsSince(*length.oldest);
  }
  return shown;
}

metrics::ProcedureSteps StepsOf(dicom::ProcedureSteps& steps) {
  using jobs::ProcedureStepState;
  metrics::ProcedureSteps shown;
  const auto length = steps.Count();
  if (!length.ok()) return shown;
  shown.steps =
      CountsOf(length->counts, {ProcedureStepState::kBeginning, ProcedureStepState::kInProgress,
                                ProcedureStepState::kEnding, ProcedureStepState::kFailed});
  if (length->oldest) shown.oldest_seconds = SecondsSince(*length->oldest);
  return shown;
}

/// The newest of each room and protocol.
std::vector<metrics::QualityTest> QualityOf(const quality_records::Store& store) {
  std::vector<metrics::QualityTest> tests;
  for (const v1::QualityResult& result : store.Newest()) {
    metrics::QualityTest& test = tests.emplace_back(
        metrics::QualityTest{.station = result.station_name(),
                             .protocol = result.protocol(),
                             .unix_seconds = static_cast<double>(result.record_time().seconds())});
    std::map<std::string, std::optional<double>> deviations;
    for (const v1::QualityVerdict& verdict : result.verdict()) {
      // Under other conditions than the baseline's a distance from it says nothing of the room.
      if (!verdict.not_comparable().empty()) continue;
      deviations[verdict.name()] =
          verdict.has_value() ? (verdict.value() - verdict.baseline()) / verdict.tolerance()
                              : std::numeric_limits<double>::infinity();
    }
    for (const v1::QualityMeasure& measure : result.measure()) {
      test.figures.push_back({measure.name(), measure.value(), deviations[measure.name()]});
      deviations.erase(measure.name());
    }
    for (const auto& [name, deviation] : deviations) test.figures.push_back({name, 0, deviation});
  }
  return tests;
}

}  // namespace

metrics::Sources Service::MetricSources() const {
  const v1::ServerConfig& config = configuration_.config;
  metrics::Sources sources;
  sources.readiness = [this] { return ReadinessOf(*node_); };
  sources.jobs = [this] { return table_->Count(); };
  sources.queue_depth = [this] { return scheduler_->queue_depth(); };
  sources.device_memory = [this] { return MemoryOf(*scheduler_); };
  sources.devices_healthy = [this] { return HealthOf(*scheduler_, devices_->groups); };
  const absl::StatusOr<double> no_device = LastTimeWithoutDevice(config.archive_directory());
  if (!no_device.ok()) {
    spdlog::warn("event=record_unread error=\"{}\"", no_device.status().ToString());
  }
  sources.no_device_unix_seconds = no_device.value_or(0);
  sources.spool = [this] {
    const spool::SpoolUsage usage = spool_->usage();
    return metrics::SpoolState{usage.capacity_bytes, usage.used_bytes, usage.reclaimable_bytes,
                               usage.last_sync_seconds};
  };
  sources.disks = [this, archive = config.archive_directory(),
                   spooled = config::SpoolDirectory(config)] {
    return std::vector<metrics::DiskSpace>{
        SpaceOf("archive", archive, engine_->promised_disk_bytes()),
        SpaceOf("spool", spooled, engine_->promised_spool_disk_bytes())};
  };
  sources.damaged_job_records = [this] { return static_cast<int>(table_->damaged().size()); };
  if (audit_->State().has_file) {
    sources.audit_file = [this] {
      const audit::TrailState state = audit_->State();
      return metrics::AuditFileState{static_cast<int64_t>(state.fill.used_bytes),
                                     static_cast<int64_t>(state.fill.limit_bytes), state.lost,
                                     !state.is_failing};
    };
  }
  if (audit_->State().has_syslog) {
    sources.audit_waiting = [this] { return audit_->State().waiting_to_send; };
  }
  if (traces_ != nullptr) {
    sources.trace_spans = [this] {
      const traces::ExporterCounts counts = traces_->counts();
      return metrics::TraceSpans{counts.exported, counts.dropped};
    };
  }
  if (shared_index_ != nullptr) {
    sources.shared_index = [this] {
      return metrics::SharedIndexState{shared_index_->is_up(), shared_index_->waiting()};
    };
  }
  if (replicas_ != nullptr || replicated_spool_ != nullptr) {
    sources.replication = [this] { return Replication(); };
  }
  sources.jobs_waiting_for_room = [this] { return engine_->jobs_waiting_for_room(); };
  sources.send_queues = [this] { return SendQueuesOf(archive_->transfers()); };
  if (procedure_steps_ != nullptr) {
    sources.procedure_steps = [this] { return StepsOf(*procedure_steps_); };
  }
  if (const roles::Roster& roster = *configuration_.roster; roster.takes_tokens()) {
    sources.tokens_are_right = [&roster] { return roster.tokens_are_right(); };
  }
  if (const openid::SignOn* sign_on = configuration_.roster->sign_on(); sign_on != nullptr) {
    sources.provider_keys_unix_seconds = [sign_on] {
      const absl::Time fetched = sign_on->keys_fetched_at();
      return fetched == absl::InfinitePast() ? 0
                                             : absl::ToDoubleSeconds(fetched - absl::UnixEpoch());
    };
  }
  sources.quality = [this] { return QualityOf(*quality_); };
  sources.max_active_jobs = static_cast<int>(config.limits().max_active_jobs());
  return sources;
}

}  // namespace isocenter::daemon
