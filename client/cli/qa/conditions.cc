#include "client/cli/qa/conditions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "client/cli/options/job_facts.h"
#include "client/cli/output/json_output.h"
#include "proto/wire/calibration.h"

namespace isocenter::cli {
namespace {

using Json = nlohmann::ordered_json;
using quality::Conditions;

constexpr std::pair<const char*, std::string Conditions::*> kTexts[] = {
    {"station_name", &Conditions::station},    {"frames", &Conditions::frames},
    {"protocol", &Conditions::protocol},       {"filter", &Conditions::filter},
    {"calibration", &Conditions::calibration},
};

}  // namespace

Conditions ConditionsOf(const v1::Job& job) {
  const v1::VolumeGrid& grid = job.grid();
  Conditions conditions{
      .station = job.station_name(),
      .voxel_mm = {grid.spacing_x_mm(), grid.spacing_y_mm(), grid.spacing_z_mm()}};
  TakeUp(JobFacts(job), conditions);
  conditions.frames = quality::FramesOfJob(FramesJob(job));
  if (job.refines_job_id().empty() && job.has_create_time()) {
    conditions.acquired = wire::TimeFromProto(job.create_time());
  }
  return conditions;
}

void TakeUp(const formats::VolumeFacts& facts, Conditions& conditions) {
  const auto take = [](const std::string& told, std::string& known) {
    if (!told.empty()) known = told;
  };
  take(facts.frames, conditions.frames);
  take(facts.protocol, conditions.protocol);
  take(facts.filter, conditions.filter);
  take(facts.calibration, conditions.calibration);
  if (facts.tube_voltage_kv > 0) conditions.tube_voltage_kv = facts.tube_voltage_kv;
}

void AddTo(Json& report, const Conditions& conditions) {
  const Vec3& voxel = conditions.voxel_mm;
  report["voxel_mm"] = {voxel.x, voxel.y, voxel.z};
  Json& told = report["conditions"] = Json::object();
  for (const auto& [name, member] : kTexts) {
    if (!(conditions.*member).empty()) told[name] = conditions.*member;
  }
  if (conditions.tube_voltage_kv > 0) told["tube_voltage_kv"] = conditions.tube_voltage_kv;
  if (conditions.acquired > absl::InfinitePast()) {
    google::protobuf::Timestamp time;
    time.set_seconds(absl::ToUnixSeconds(conditions.acquired));
    told["acquired_time"] = JsonTime(time);
  }
}

Conditions ParseConditions(absl::string_view report) {
  Conditions conditions;
  const auto json = nlohmann::json::parse(report, nullptr, false);
  if (!json.is_object()) return conditions;
  if (json.contains("phantom") && json["phantom"].is_string()) {
    conditions.phantom = json["phantom"];
  }
  if (json.contains("voxel_mm")) {
    const nlohmann::json& told = json["voxel_mm"];
    if (told.is_array() && told.size() == 3 &&
        std::ranges::all_of(told, [](const auto& each) { return each.is_number(); })) {
      conditions.voxel_mm = {told[0], told[1], told[2]};
    }
  }
  if (!json.contains("conditions") || !json["conditions"].is_object()) return conditions;
  const nlohmann::json& told = json["conditions"];
  for (const auto& [name, member] : kTexts) {
    if (told.contains(name) && told[name].is_string()) conditions.*member = told[name];
  }
  if (told.contains("tube_voltage_kv") && told["tube_voltage_kv"].is_number()) {
    conditions.tube_voltage_kv = told["tube_voltage_kv"];
  }
  return conditions;
}

}  // namespace isocenter::cli
