#include "client/cli/output/node_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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
  return json;
}

}  // namespace isocenter::cli
