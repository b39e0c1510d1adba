#include "client/cli/output/node_text.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/json_output.h"

namespace isocenter::cli {

std::string NodeText(const v1::NodeStatus& status) {
  std::string text;
  if (status.ready()) absl::StrAppend(&text, status.server(), " is ready\n");
  for (const v1::NotReadyReason& reason : status.reason()) {
    absl::StrAppend(&text, status.server(), " is not ready: ", reason.message(), "\n");
  }
  absl::StrAppend(&text, "active jobs: ", status.active_jobs(), "\n");
  return text;
}

std::string DeviceText(const v1::NodeDevice& device) {
  if (!device.healthy()) {
    return absl::StrCat(device.name(), ": failed: ", device.quarantine_reason(), "\n");
  }
  return absl::StrFormat("%s: healthy, %.1f GUPS (giga voxel updates per second)\n", device.name(),
                         device.speed_gups());
}

std::string Plain(absl::string_view text) {
  std::string plain(text);
  std::ranges::replace_if(plain, absl::ascii_iscntrl, '?');
  return plain;
}

std::string AccessText(const v1::NodeAccess& access) {
  std::vector<std::string> proofs;
  if (access.client_certificates()) proofs.emplace_back("certificates of a known authority");
  if (access.named_certificates() > 0) {
    proofs.push_back(absl::StrCat(access.named_certificates(), " of them with a role"));
  }
  if (access.tokens()) {
    proofs.emplace_back(access.tokens_file_ok() ? "tokens of a file"
                                                : "tokens of a file, which is NOT RIGHT");
  }
  if (!access.openid_issuer().empty()) {
    proofs.push_back(absl::StrCat("tokens of ", Plain(access.openid_issuer())));
  }
  const bool has_roles =
      access.named_certificates() > 0 || access.tokens() || !access.openid_issuer().empty();
  return absl::StrCat("access: ", access.tls() ? "TLS" : "NO TLS",
                      proofs.empty() ? "" : absl::StrCat(", ", absl::StrJoin(proofs, ", ")),
                      has_roles ? "" : ", no roles: whoever reaches it may do all that gRPC offers",
                      "\n");
}

std::string ReplicationText(const v1::NodeReplication& replication) {
  std::string text;
  if (!replication.keeper().empty()) {
    absl::StrAppend(&text, "copies at ", Plain(replication.keeper()), ": ",
                    replication.keeper_reached() ? "" : "NOT REACHED, ", replication.kept_jobs(),
                    " jobs there, ", replication.degraded_jobs(), " on this disk alone\n");
  }
  for (const v1::NodeOrigin& origin : replication.origin()) {
    absl::StrAppend(&text, "copies for ", Plain(origin.node()), ": ", origin.copies());
    if (origin.orphans() > 0) absl::StrAppend(&text, ", ", origin.orphans(), " of a lost node");
    if (origin.being_taken() > 0) {
      absl::StrAppend(&text, ", ", origin.being_taken(), " being taken over");
    }
    text += "\n";
  }
  if (replication.taken_over_jobs() > 0) {
    absl::StrAppend(&text, "jobs taken over since the start: ", replication.taken_over_jobs(),
                    "\n");
  }
  return text;
}

namespace {

nlohmann::ordered_json ToJson(const v1::NodeAccess& access) {
  nlohmann::ordered_json json{{"tls", access.tls()},
                              {"client_certificates", access.client_certificates()},
                              {"named_certificates", access.named_certificates()},
                              {"tokens", access.tokens()}};
  if (access.tokens()) json["tokens_file_ok"] = access.tokens_file_ok();
  if (!access.openid_issuer().empty()) json["openid_issuer"] = access.openid_issuer();
  return json;
}

nlohmann::ordered_json ToJson(const v1::NodeReplication& replication) {
  nlohmann::ordered_json origins = nlohmann::ordered_json::array();
  for (const v1::NodeOrigin& origin : replication.origin()) {
    origins.push_back({{"node", origin.node()},
                       {"copies", origin.copies()},
                       {"orphans", origin.orphans()},
                       {"being_taken", origin.being_taken()}});
  }
  return {{"keeper", replication.keeper()},
          {"keeper_reached", replication.keeper_reached()},
          {"kept_jobs", replication.kept_jobs()},
          {"degraded_jobs", replication.degraded_jobs()},
          {"origins", std::move(origins)},
          {"used_bytes", replication.used_bytes()},
          {"capacity_bytes", replication.capacity_bytes()},
          {"taken_over_jobs", replication.taken_over_jobs()}};
}

}  // namespace

nlohmann::ordered_json ToJson(const v1::NodeStatus& status) {
  nlohmann::ordered_json json{{"server", status.server()},
                              {"version", status.version()},
                              {"backend", status.backend()},
                              {"start_time", JsonTime(status.start_time())},
                              {"ready", status.ready()},
                              {"active_jobs", status.active_jobs()},
                              {"max_active_jobs", status.max_active_jobs()},
                              {"queue_chunks", status.queue_chunks()},
                              {"station_names", nlohmann::ordered_json::array()},
                              {"reasons", nlohmann::ordered_json::array()},
                              {"devices", nlohmann::ordered_json::array()}};
  for (const std::string& name : status.station_name()) json["station_names"].push_back(name);
  for (const v1::NotReadyReason& reason : status.reason()) {
    json["reasons"].push_back(reason.message());
  }
  if (status.has_drain()) {
    json["drain"] = {{"since_time", JsonTime(status.drain().since_time())},
                     {"reason", status.drain().reason()},
                     {"by", status.drain().by()}};
  }
  for (const v1::NodeDevice& device : status.device()) {
    json["devices"].push_back({{"name", device.name()},
                               {"healthy", device.healthy()},
                               {"speed_gups", device.speed_gups()},
                               {"queue_chunks", device.queue_chunks()},
                               {"quarantine_reason", device.quarantine_reason()}});
  }
  if (status.has_access()) json["access"] = ToJson(status.access());
  if (status.node().empty()) return json;
  json["spool_free_bytes"] = status.spool_free_bytes();
  json["archive_free_bytes"] = status.archive_free_bytes();
  if (status.has_replication()) json["replication"] = ToJson(status.replication());
  return json;
}

}  // namespace isocenter::cli
