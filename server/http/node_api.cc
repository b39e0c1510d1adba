// The node, its devices, queue, rooms and history; draining.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "kernels/base/status_macros.h"
#include "server/http/apis.h"
#include "server/http/job_json.h"
#include "server/http/node_json.h"
#include "server/http/parameters.h"
#include "server/http/transport/answers.h"

namespace isocenter::http {
namespace {

Json StatusNow(const WebEnvironment& environment) {
  return StatusJson(environment.node.Status(), OffersOf(environment));
}

absl::StatusOr<Response> Drain(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(const Json body, BodyOf(call.request, {"reason"}));
  ISO_ASSIGN_OR_RETURN(const std::string reason, TextOf(body, "reason"));
  call.about.detail = reason;
  ISO_RETURN_IF_ERROR(environment.node.Drain(reason, call.caller.name));
  return JsonAnswer(StatusNow(environment));
}

absl::StatusOr<Response> Resume(const WebEnvironment& environment, const Call& call) {
  ISO_RETURN_IF_ERROR(environment.node.Resume(call.caller.name));
  return JsonAnswer(StatusNow(environment));
}

/// From memory: nobody waits for a node that does not answer.
absl::StatusOr<Response> Cluster(const WebEnvironment& environment) {
  Json nodes = Json::array();
  nodes.push_back(ThisNodeJson(environment.node.Summary()));
  for (const node::Peer& peer : environment.node.Peers()) nodes.push_back(PeerJson(peer));
  return JsonAnswer({{"nodes", std::move(nodes)}});
}

absl::StatusOr<Response> Devices(const WebEnvironment& environment) {
  Json devices = Json::array();
  for (const node::DeviceState& device : environment.node.Devices()) {
    devices.push_back(DeviceJson(device));
  }
  return JsonAnswer({{"devices", std::move(devices)}});
}

absl::StatusOr<Response> Queue(const WebEnvironment& environment) {
  const node::NodeStatus status = environment.node.Status();
  Json jobs = Json::array();
  for (const jobs::JobSnapshot& job : environment.node.Queue()) {
    jobs.push_back(JobJson(*job, environment.feed.FramesPerSecond(job->id)));
  }
  return JsonAnswer({{"queue_chunks", status.queue_chunks},
                     {"active_jobs", status.active_jobs},
                     {"max_active_jobs", status.max_active_jobs},
                     {"jobs", std::move(jobs)}});
}

/// What the newest jobs tell of one station.
struct Room {
  jobs::JobSnapshot last_job;
  absl::Time last_seen = absl::InfinitePast();
  int active_jobs = 0, completed_24h = 0, failed_24h = 0;
  bool receives = false;
  double frames_per_second = 0;
};

absl::StatusOr<Response> Rooms(const WebEnvironment& environment) {
  constexpr int kJobs = 1000;
  const absl::Time now = environment.clock();
  std::map<std::string, Room> rooms;
  for (const jobs::JobSnapshot& job : environment.table.List({}, std::nullopt, kJobs)) {
    if (job->station_name.empty()) continue;
    Room& room = rooms[job->station_name];
    if (room.last_job == nullptr) room.last_job = job;  // newest first
    const bool active = !jobs::HasEnded(job->state);
    room.last_seen =
        std::max(room.last_seen, active ? now : std::max(job->create_time, job->end_time));
    room.active_jobs += active;
    room.receives |= job->state == jobs::JobState::kReceiving;
    room.frames_per_second += environment.feed.FramesPerSecond(job->id).value_or(0);
    if (active || now - job->end_time > absl::Hours(24)) continue;
    room.completed_24h += job->state == jobs::JobState::kCompleted;
    room.failed_24h += job->state == jobs::JobState::kFailed;
  }
  Json list = Json::array();
  for (const auto& [name, room] : rooms) {
    list.push_back(
        {{"station_name", name},
         {"state", room.receives          ? "scanning"
                   : room.active_jobs > 0 ? "computing"
                                          : "idle"},
         {"active_jobs", room.active_jobs},
         {"frames_per_second", room.receives ? Json(room.frames_per_second) : Json(nullptr)},
         {"last_seen_time", TimeJson(room.last_seen)},
         {"last_job", JobJson(*room.last_job, environment.feed.FramesPerSecond(room.last_job->id))},
         {"completed_24h", room.completed_24h},
         {"failed_24h", room.failed_24h}});
  }
  return JsonAnswer({{"rooms", std::move(list)}});
}

absl::StatusOr<Response> History(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(const int seconds,
                       IntegerParameter(call.request, "seconds", 60, 86400, 3600));
  ISO_ASSIGN_OR_RETURN(const int points, IntegerParameter(call.request, "points", 2, 2000, 360));
  const int step = static_cast<int>(absl::ToInt64Seconds(node::Activity::kStep));
  const int samples = seconds / step;
  Json json = {{"step_seconds", step * std::max(1, (samples + points - 1) / points)}};
  json.update(HistoryJson(
      environment.activity.History(environment.clock(), absl::Seconds(seconds), points)));
  json["last_refusals"] = RefusalsJson(environment.activity.Refusals());
  return JsonAnswer(json);
}

}  // namespace

void AddNodeRoutes(const WebEnvironment& environment, Router& router) {
  router.Add("GET", "/api/v1/status", Role::kViewer,
             [environment](const Call&) { return JsonAnswer(StatusNow(environment)); });
  router.Add(
      "POST", "/api/v1/node:drain", Role::kOperator,
      [environment](const Call& call) { return Drain(environment, call); }, audit::Action::kDrain);
  router.Add(
      "POST", "/api/v1/node:resume", Role::kOperator,
      [environment](const Call& call) { return Resume(environment, call); },
      audit::Action::kUndrain);
  router.Add("GET", "/api/v1/cluster", Role::kViewer,
             [environment](const Call&) { return Cluster(environment); });
  router.Add("GET", "/api/v1/devices", Role::kViewer,
             [environment](const Call&) { return Devices(environment); });
  router.Add("GET", "/api/v1/queue", Role::kViewer,
             [environment](const Call&) { return Queue(environment); });
  router.Add("GET", "/api/v1/rooms", Role::kViewer,
             [environment](const Call&) { return Rooms(environment); });
  router.Add("GET", "/api/v1/history", Role::kViewer,
             [environment](const Call& call) { return History(environment, call); });
}

}  // namespace isocenter::http
