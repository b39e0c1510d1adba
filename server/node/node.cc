#include "server/node/node.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/bytes_text.h"
#include "server/base/log.h"

namespace isocenter::node {
namespace {

constexpr double kGiga = 1e9;
// Below this part of its capacity the spool has no room for an acquisition worth the name.
constexpr int64_t kSpoolParts = 100;

void CheckDevices(const scheduler::Scheduler& scheduler, std::vector<Reason>& reasons) {
  if (scheduler.healthy_slots() > 0) return;
  std::vector<std::string> why;
  for (const auto& slot : scheduler.slots()) {
    why.push_back(absl::StrCat(slot->name, ": ", slot->quarantine_reason()));
  }
  reasons.push_back(
      {"devices", absl::StrCat("no device computes (", absl::StrJoin(why, "; "), ")")});
}

void CheckSpool(const SpoolState& spool, std::vector<Reason>& reasons) {
  if (!spool.error.ok()) {
    reasons.push_back({"spool", std::string(spool.error.message())});
    return;
  }
  int64_t left = spool.disk_free_bytes + spool.reclaimable_bytes;
  if (spool.capacity_bytes > 0) {
    left = std::min(left, spool.capacity_bytes - spool.used_bytes + spool.reclaimable_bytes);
  }
  const int64_t least = spool.capacity_bytes / kSpoolParts;
  if (left >= least && left > 0) return;
  // Without a figure that changes all the time: a reason is told when it changes.
  reasons.push_back({"spool", spool.capacity_bytes > 0
                                  ? absl::StrCat("less than 1 % of the spool's ",
                                                 BytesText(spool.capacity_bytes), " is free")
                                  : "the spool's disk is full"});
}

void CheckArchive(const absl::StatusOr<int64_t>& room, int64_t scan_bytes,
                  std::vector<Reason>& reasons) {
  if (!room.ok()) {
    reasons.push_back({"archive", std::string(room.status().message())});
  } else if (*room < scan_bytes) {
    reasons.push_back({"archive", absl::StrCat("the archive's disk has no room for the ",
                                               BytesText(scan_bytes), " of a scan's result")});
  }
}

/// An error of the disk, with what holds all the same.
absl::Status After(const char* what_holds, const absl::Status& kept) {
  if (kept.ok()) return kept;
  spdlog::error("event=drain_not_kept what=\"{}\" error=\"{}\"", what_holds,
                std::string(kept.message()));
  return absl::Status(kept.code(), absl::StrCat(what_holds, ": ", kept.message()));
}

jobs::JobFilter Active() {
  return {.states = {jobs::JobState::kReceiving, jobs::JobState::kReconstructing,
                     jobs::JobState::kRefining, jobs::JobState::kExporting}};
}

}  // namespace

Node::Node(NodeOptions options, pipeline::Engine& engine, const scheduler::Scheduler& scheduler,
           const jobs::JobTable& table)
    : options_(std::move(options)),
      start_time_(options_.clock()),
      engine_(engine),
      scheduler_(scheduler),
      table_(table),
      kept_drain_(options_.drain_file) {
  TakeUpDrain();
}

void Node::TakeUpDrain() {
  absl::MutexLock changing(&changing_);
  const std::optional<Drained> kept = kept_drain_.Read();
  if (!kept) return;
  absl::MutexLock lock(&mutex_);
  drained_ = kept;
  engine_.SetDrained(kept->reason);
  spdlog::warn("event=drained_since time={} by=\"{}\" reason=\"{}\" todo=\"isocenter resume\"",
               absl::FormatTime(absl::RFC3339_sec, kept->since, absl::UTCTimeZone()), kept->by,
               kept->reason);
}

absl::Status Node::Drain(const std::string& reason, const std::string& by) {
  if (reason.size() > kLongestReason || std::ranges::any_of(reason, absl::ascii_iscntrl)) {
    return absl::InvalidArgumentError(absl::StrCat("reason has ", reason.size(),
                                                   " bytes; legal are up to ", kLongestReason,
                                                   " without control characters"));
  }
  absl::MutexLock changing(&changing_);
  std::optional<Drained> said = drained();
  if (!said) {
    said = Drained{options_.clock(), reason, by};
    SetDrained(said);
    spdlog::warn("event=node_drained by=\"{}\" reason=\"{}\"", by, reason);
  }
  // Also of a node that is drained: the disk may have been full when that was said.
  return After("the node is drained, but a restart would resume it", kept_drain_.Keep(*said));
}

absl::Status Node::Resume(const std::string& by) {
  absl::MutexLock changing(&changing_);
  if (drained()) {
    SetDrained(std::nullopt);
    spdlog::warn("event=node_resumed by=\"{}\"", by);
  }
  return After("the node is resumed, but a restart would drain it again", kept_drain_.Forget());
}

void Node::SetDrained(const std::optional<Drained>& drained) {
  {
    absl::MutexLock lock(&mutex_);
    drained_ = drained;
    engine_.SetDrained(drained ? std::optional(drained->reason) : std::nullopt);
  }
  Tell();
}

void Node::SetListener(std::function<void()> told) {
  absl::MutexLock lock(&listener_mutex_);
  listener_ = std::move(told);
}

void Node::Tell() {
  absl::MutexLock lock(&listener_mutex_);
  if (listener_) listener_();
}

void Node::SetStarted() {
  {
    absl::MutexLock lock(&mutex_);
    started_ = true;
  }
  Tell();
}

bool Node::started() const {
  absl::MutexLock lock(&mutex_);
  return started_;
}

void Node::SetStopping() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  Tell();
}

std::optional<Drained> Node::drained() const {
  absl::MutexLock lock(&mutex_);
  return drained_;
}

std::vector<Reason> Node::NotReady() const {
  return ReasonsOf(options_.spool(), scheduler_.active_jobs());
}

std::vector<Reason> Node::ReasonsOf(const SpoolState& spool, int active_jobs) const {
  std::vector<Reason> reasons;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) {
      reasons.push_back({"service", "the service is shutting down"});
    } else if (!started_) {
      reasons.push_back({"service", "the service is starting"});
    }
    if (drained_) {
      const std::string& why = drained_->reason;
      reasons.push_back({"admission", absl::StrCat("the node is drained", why.empty() ? "" : ": ",
                                                   why, "; resume it to accept acquisitions")});
    }
  }
  if (active_jobs >= options_.max_active_jobs) {
    reasons.push_back({"admission", absl::StrCat("all ", options_.max_active_jobs,
                                                 " places of active jobs are taken")});
  }
  CheckDevices(scheduler_, reasons);
  CheckSpool(spool, reasons);
  CheckArchive(engine_.RoomForLive(), options_.scan_bytes, reasons);
  return reasons;
}

NodeStatus Node::Status() const {
  NodeStatus status{.server = options_.name,
                    .version = options_.version,
                    .backend = options_.backend,
                    .now = options_.clock(),
                    .start_time = start_time_,
                    .drained = drained(),
                    .active_jobs = scheduler_.active_jobs(),
                    .max_active_jobs = options_.max_active_jobs,
                    .queue_chunks = scheduler_.queue_depth(),
                    .jobs = table_.Count(),
                    .spool = options_.spool(),
                    .access = options_.access()};
  status.reasons = ReasonsOf(status.spool, status.active_jobs);
  return status;
}

std::vector<DeviceState> Node::Devices() const {
  std::vector<DeviceState> devices;
  for (const auto& slot : scheduler_.slots()) {
    DeviceState device{.name = slot->name,
                       .healthy = slot->healthy(),
                       .quarantine_reason = slot->quarantine_reason(),
                       .memory_limit_bytes = slot->memory.limit(),
                       .memory_used_bytes = slot->memory.used(),
                       .speed_gups = 1 / slot->cost.PredictSeconds(kGiga),
                       .queue_chunks = slot->lanes.queue_depth()};
    for (const jobs::JobClass job_class :
         {jobs::JobClass::kLive, jobs::JobClass::kInteractive, jobs::JobClass::kBatch}) {
      const auto i = static_cast<size_t>(job_class);
      device.backlog_updates[i] = slot->backlog.Ahead(job_class);
      device.wait_seconds[i] = slot->cost.PredictSeconds(device.backlog_updates[i]);
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

Summary Node::Summary() const {
  const NodeStatus status = Status();
  node::Summary summary{.node = options_.name,
                        .server = status.server,
                        .version = status.version,
                        .start_time = status.start_time,
                        .ready = status.ready(),
                        .is_drained = status.drained.has_value(),
                        .active_jobs = status.active_jobs,
                        .max_active_jobs = status.max_active_jobs,
                        .queue_chunks = status.queue_chunks,
                        .spool_free_bytes = status.spool.disk_free_bytes,
                        .archive_free_bytes = options_.archive_free_bytes(),
                        .replication = options_.replication()};
  for (const Reason& reason : status.reasons) summary.reasons.push_back(reason.message);
  std::set<std::string> rooms;
  for (const jobs::JobSnapshot& job : Queue()) {
    if (jobs::IsAcquisition(*job) && !job->station_name.empty()) rooms.insert(job->station_name);
  }
  summary.rooms.assign(rooms.begin(), rooms.end());
  for (const DeviceState& device : Devices()) {
    summary.devices.push_back({device.name, device.healthy, device.speed_gups});
  }
  return summary;
}

std::vector<jobs::JobSnapshot> Node::Queue() const {
  // As many as can be active, and refinements that wait without a place.
  constexpr int kMost = 2000;
  std::vector<jobs::JobSnapshot> queue = table_.List(Active(), std::nullopt, kMost);
  const auto key = [](const jobs::JobSnapshot& job) {
    return std::tie(job->job_class, job->deadline, job->create_time, job->id);
  };
  std::ranges::sort(queue, {}, key);
  return queue;
}

}  // namespace isocenter::node
