#include "server/http/node_json.h"

#include <optional>
#include <string>
#include <utility>

#include "server/http/job_json.h"

namespace isocenter::http {
namespace {

constexpr double kGiga = 1e9;

Json ByClass(const std::array<double, 3>& values, double unit) {
  Json json = Json::object();
  for (const jobs::JobClass job_class :
       {jobs::JobClass::kLive, jobs::JobClass::kInteractive, jobs::JobClass::kBatch}) {
    json[std::string(jobs::Name(job_class))] = values[static_cast<size_t>(job_class)] / unit;
  }
  return json;
}

Json AddressesJson(const ServiceAddresses& addresses) {
  const auto port = [](int number) { return number == 0 ? Json(nullptr) : Json(number); };
  Json dicom = nullptr;
  if (!addresses.dicom_ae_title.empty()) {
    dicom = {{"ae_title", addresses.dicom_ae_title},
             {"host", addresses.dicom_host},
             {"port", port(addresses.dicom_port)},
             {"tls_port", port(addresses.dicom_tls_port)}};
  }
  return {{"grpc",
           {{"address", addresses.grpc},
            {"tls", addresses.grpc_tls},
            {"client_certificates", addresses.grpc_client_certificates}}},
          {"dicom", std::move(dicom)}};
}

}  // namespace

Json ReasonsJson(const std::vector<node::Reason>& reasons) {
  Json json = Json::array();
  for (const node::Reason& reason : reasons) {
    json.push_back({{"component", reason.component}, {"message", reason.message}});
  }
  return json;
}

Json StatusJson(const node::NodeStatus& status, const PageOffers& offers) {
  Json drained = nullptr;
  if (status.drained) {
    drained = {{"since", TimeJson(status.drained->since)},
               {"reason", status.drained->reason},
               {"by", status.drained->by}};
  }
  Json jobs = Json::object();
  for (int state = 0; state <= static_cast<int>(jobs::JobState::kCancelled); ++state) {
    jobs[std::string(jobs::Name(static_cast<jobs::JobState>(state)))] = 0;
  }
  for (const auto& [key, count] : status.jobs) {
    Json& sum = jobs[std::string(jobs::Name(key.first))];
    sum = sum.get<int>() + count;
  }
  return {{"server", status.server},
          {"version", status.version},
          {"backend", status.backend},
          {"server_time", TimeJson(status.now)},
          {"start_time", TimeJson(status.start_time)},
          {"uptime_seconds", absl::ToDoubleSeconds(status.now - status.start_time)},
          {"ready", status.ready()},
          {"reasons", ReasonsJson(status.reasons)},
          {"draining", std::move(drained)},
          {"active_jobs", status.active_jobs},
          {"max_active_jobs", status.max_active_jobs},
          {"queue_chunks", status.queue_chunks},
          {"jobs", std::move(jobs)},
          {"spool",
           {{"capacity_bytes", status.spool.capacity_bytes},
            {"used_bytes", status.spool.used_bytes},
            {"reclaimable_bytes", status.spool.reclaimable_bytes},
            {"last_sync_seconds", status.spool.last_sync_seconds}}},
          {"transfers_enabled", offers.transfers},
          {"simulated_scans_enabled", offers.simulated_scans},
          {"addresses", AddressesJson(offers.addresses)}};
}

namespace {

Json ReplicationJson(const std::optional<node::Replication>& replication) {
  if (!replication) return nullptr;
  Json origins = Json::array();
  for (const node::Replication::Origin& origin : replication->origins) {
    origins.push_back({{"node", origin.node},
                       {"copies", origin.copies},
                       {"orphans", origin.orphans},
                       {"being_taken", origin.being_taken}});
  }
  return {{"keeper", TextJson(replication->keeper)},
          {"keeper_reached", replication->keeper_reached},
          {"kept_jobs", replication->kept_jobs},
          {"degraded_jobs", replication->degraded_jobs},
          {"origins", std::move(origins)},
          {"used_bytes", replication->used_bytes},
          {"capacity_bytes", replication->capacity_bytes},
          {"taken_over_jobs", replication->taken_over_jobs}};
}

Json SummaryJson(const node::Summary& summary) {
  Json devices = Json::array();
  for (const node::DeviceSummary& device : summary.devices) {
    devices.push_back(
        {{"name", device.name}, {"healthy", device.healthy}, {"speed_gups", device.speed_gups}});
  }
  return {{"server", summary.server},
          {"version", summary.version},
          {"start_time", TimeJson(summary.start_time)},
          {"ready", summary.ready},
          {"reasons", summary.reasons},
          {"drained", summary.is_drained},
          {"active_jobs", summary.active_jobs},
          {"max_active_jobs", summary.max_active_jobs},
          {"queue_chunks", summary.queue_chunks},
          {"station_names", summary.rooms},
          {"devices", std::move(devices)},
          {"spool_free_bytes", summary.spool_free_bytes},
          {"archive_free_bytes", summary.archive_free_bytes},
          {"replication", ReplicationJson(summary.replication)}};
}

}  // namespace

Json ThisNodeJson(const node::Summary& summary) {
  return {{"node", summary.node},
          {"this_node", true},
          {"address", nullptr},
          {"reachable", true},
          {"seen_time", nullptr},
          {"error", nullptr},
          {"status", SummaryJson(summary)}};
}

Json PeerJson(const node::Peer& peer) {
  return {{"node", peer.node},
          {"this_node", false},
          {"address", TextJson(peer.address)},
          {"reachable", peer.reachable},
          {"seen_time", TimeJson(peer.seen)},
          {"error", TextJson(peer.error)},
          {"status", peer.summary ? SummaryJson(*peer.summary) : Json(nullptr)}};
}

Json DeviceJson(const node::DeviceState& device) {
  Json waits = ByClass(device.wait_seconds, 1);
  if (!device.healthy) {
    for (Json& wait : waits) wait = nullptr;
  }
  return {{"name", device.name},
          {"healthy", device.healthy},
          {"quarantine_reason", TextJson(device.quarantine_reason)},
          {"memory_limit_bytes", device.memory_limit_bytes},
          {"memory_used_bytes", device.memory_used_bytes},
          {"speed_gups", device.speed_gups},
          {"queue_chunks", device.queue_chunks},
          {"backlog_gigaupdates", ByClass(device.backlog_updates, kGiga)},
          {"predicted_wait_seconds", std::move(waits)}};
}

Json HistoryJson(const std::vector<node::ActivitySample>& history) {
  constexpr double kMega = 1e6;
  Json columns = {{"time", Json::array()},
                  {"frames_per_second", Json::array()},
                  {"megabytes_per_second", Json::array()},
                  {"kernel_gups", Json::array()},
                  {"whole_gups", Json::array()},
                  {"seconds_after_last_frame", Json::array()},
                  {"active_jobs", Json::array()},
                  {"queue_chunks", Json::array()},
                  {"completed_jobs", Json::array()},
                  {"failed_jobs", Json::array()},
                  {"refused", Json::array()}};
  for (const node::ActivitySample& sample : history) {
    columns["time"].push_back(absl::ToUnixSeconds(sample.end));
    columns["frames_per_second"].push_back(static_cast<double>(sample.frames) / sample.seconds);
    columns["megabytes_per_second"].push_back(static_cast<double>(sample.bytes) / kMega /
                                              sample.seconds);
    columns["kernel_gups"].push_back(OptionalJson(sample.kernel_gups()));
    columns["whole_gups"].push_back(OptionalJson(sample.whole_gups()));
    columns["seconds_after_last_frame"].push_back(OptionalJson(sample.seconds_after_last_frame()));
    columns["active_jobs"].push_back(sample.active_jobs);
    columns["queue_chunks"].push_back(sample.queue_chunks);
    columns["completed_jobs"].push_back(sample.completed_jobs);
    columns["failed_jobs"].push_back(sample.failed_jobs);
    columns["refused"].push_back(sample.refused);
  }
  return columns;
}

Json RefusalsJson(const std::vector<node::Refusal>& refusals) {
  Json list = Json::array();
  for (const node::Refusal& refusal : refusals) {
    list.push_back({{"time", TimeJson(refusal.time)},
                    {"code", CodeName(refusal.why.code())},
                    {"message", std::string(refusal.why.message())},
                    {"station_name", TextJson(refusal.station_name)}});
  }
  return list;
}

}  // namespace isocenter::http
