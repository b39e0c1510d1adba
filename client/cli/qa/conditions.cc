#include "client/cli/qa/conditions.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/options/job_facts.h"
#include "client/cli/output/json_output.h"
#include "proto/wire/calibration.h"

namespace isocenter::cli {
namespace {

using Json = nlohmann::ordered_json;
using What = ConditionChange::What;

constexpr double kSameVoxels = 0.01;  // relative
constexpr double kSameKv = 1;
constexpr double kSameFigure = 1e-4;  // relative: what rounding to whole HU leaves
constexpr double kMostAlike = 0.9;    // of the figures; noise changes nearly all
constexpr int kLeastFigures = 5;

constexpr std::pair<const char*, std::string formats::VolumeFacts::*> kTexts[] = {
    {"frames", &formats::VolumeFacts::frames},
    {"protocol", &formats::VolumeFacts::protocol},
    {"filter", &formats::VolumeFacts::filter},
    {"calibration", &formats::VolumeFacts::calibration},
};

bool SameVoxels(const Vec3& a, const Vec3& b) {
  const auto alike = [](double x, double y) { return std::abs(x - y) <= kSameVoxels * y; };
  return alike(a.x, b.x) && alike(a.y, b.y) && alike(a.z, b.z);
}

bool IsCorrected(const Conditions& conditions) {
  return conditions.facts.calibration != formats::kUncorrected;
}

bool StartsWithOne(absl::string_view figure, std::initializer_list<const char*> beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](const char* part) { return absl::StartsWith(figure, part); });
}

void AddTextChange(const Conditions& baseline, const Conditions& now,
                   std::string formats::VolumeFacts::*member, What what, const char* name,
                   std::vector<ConditionChange>& changes) {
  const std::string &was = baseline.facts.*member, &is = now.facts.*member;
  if (was.empty() || is.empty() || was == is) return;
  changes.push_back(
      {what, absl::StrCat("the ", name, " is '", is, "', that of the baseline '", was, "'")});
}

/// Whether nearly every figure of five and more is that of the baseline.
bool SameFigures(std::span<const quality::Measure> baseline,
                 std::span<const quality::Measure> measures) {
  int same = 0;
  for (const quality::Measure& was : baseline) {
    const auto is = std::ranges::find(measures, was.name, &quality::Measure::name);
    if (is == measures.end()) continue;
    if (std::abs(is->value - was.value) <= kSameFigure * std::abs(was.value)) ++same;
  }
  return same >= kLeastFigures && same >= kMostAlike * static_cast<double>(baseline.size());
}

constexpr char kAnotherScan[] =
    "it would pass whatever the room has become; needed is a scan of its own, of another day";

}  // namespace

Conditions ConditionsOf(const v1::Job& job) {
  Conditions conditions{.facts = JobFacts(job)};
  conditions.facts.frames = formats::FramesOfJob(FramesJob(job));
  const v1::VolumeGrid& grid = job.grid();
  conditions.voxel_mm = {grid.spacing_x_mm(), grid.spacing_y_mm(), grid.spacing_z_mm()};
  if (job.refines_job_id().empty() && job.has_create_time()) {
    conditions.acquired = wire::TimeFromProto(job.create_time());
  }
  return conditions;
}

void AddTo(Json& report, const Conditions& conditions) {
  const Vec3& voxel = conditions.voxel_mm;
  report["voxel_mm"] = {voxel.x, voxel.y, voxel.z};
  Json& told = report["conditions"] = Json::object();
  for (const auto& [name, member] : kTexts) {
    if (!(conditions.facts.*member).empty()) told[name] = conditions.facts.*member;
  }
  if (conditions.facts.tube_voltage_kv > 0) {
    told["tube_voltage_kv"] = conditions.facts.tube_voltage_kv;
  }
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
    if (told.contains(name) && told[name].is_string()) conditions.facts.*member = told[name];
  }
  if (told.contains("tube_voltage_kv") && told["tube_voltage_kv"].is_number()) {
    conditions.facts.tube_voltage_kv = told["tube_voltage_kv"];
  }
  return conditions;
}

std::vector<ConditionChange> Changes(const Conditions& baseline, const Conditions& now) {
  std::vector<ConditionChange> changes;
  const Vec3 &is = now.voxel_mm, &was = baseline.voxel_mm;
  if (was.x > 0 && is.x > 0 && !SameVoxels(is, was)) {
    changes.push_back({What::kVoxels, absl::StrFormat("the voxels are %.4g x %.4g x %.4g mm, those "
                                                      "of the baseline %.4g x %.4g x %.4g mm",
                                                      is.x, is.y, is.z, was.x, was.y, was.z)});
  }
  const double kv = now.facts.tube_voltage_kv, kv_was = baseline.facts.tube_voltage_kv;
  if (kv > 0 && kv_was > 0 && std::abs(kv - kv_was) > kSameKv) {
    changes.push_back(
        {What::kVoltage,
         absl::StrFormat("the tube voltage is %g kV, that of the baseline %g kV", kv, kv_was)});
  }
  AddTextChange(baseline, now, &formats::VolumeFacts::filter, What::kFilter, "filter", changes);
  AddTextChange(baseline, now, &formats::VolumeFacts::protocol, What::kProtocol, "protocol",
                changes);
  AddTextChange(baseline, now, &formats::VolumeFacts::calibration,
                IsCorrected(baseline) == IsCorrected(now) ? What::kSet : What::kCorrected,
                "calibration set", changes);
  return changes;
}

std::vector<std::string> Untold(const Conditions& baseline, const Conditions& now) {
  std::vector<std::string> names;
  const auto add = [&](const char* name, bool told) {
    if (!told) names.emplace_back(name);
  };
  const formats::VolumeFacts &is = now.facts, &was = baseline.facts;
  add("voxel size", now.voxel_mm.x > 0 && baseline.voxel_mm.x > 0);
  add("tube voltage", is.tube_voltage_kv > 0 && was.tube_voltage_kv > 0);
  add("filter", !is.filter.empty() && !was.filter.empty());
  add("protocol", !is.protocol.empty() && !was.protocol.empty());
  add("calibration set", !is.calibration.empty() && !was.calibration.empty());
  return names;
}

bool DependsOn(absl::string_view figure, What change) {
  const bool is_place = figure == "distance_error_mm" || figure == "scale";
  switch (change) {
    case What::kVoxels:
    case What::kFilter:  // an algorithm that iterates has no slice width of its own, either
      return StartsWithOne(figure,
                           {"noise_", "mtf", "slice_", "ramp_", "nps_", "cnr_", "detectability_"});
    case What::kVoltage:
      return !is_place && !StartsWithOne(figure, {"mtf", "slice_", "ramp_", "nps_"});
    case What::kProtocol:
    case What::kCorrected:
      return !is_place;
    case What::kSet:
      break;
  }
  return false;
}

void MarkNotComparable(std::span<const ConditionChange> changes,
                       std::vector<quality::Verdict>& verdicts) {
  for (quality::Verdict& verdict : verdicts) {
    for (const ConditionChange& change : changes) {
      if (!DependsOn(verdict.name, change.what)) continue;
      absl::StrAppend(&verdict.not_comparable, verdict.not_comparable.empty() ? "" : "; ",
                      change.text);
    }
  }
}

absl::Status CheckIsATest(absl::string_view name_of_baseline, const Conditions& baseline,
                          std::span<const quality::Measure> of_baseline, const Conditions& now,
                          std::span<const quality::Measure> measures) {
  if (!baseline.phantom.empty() && !now.phantom.empty() && baseline.phantom != now.phantom) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the phantom is ", now.phantom, ", that of the baseline ", name_of_baseline, " ",
        baseline.phantom, "; legal is a scan of the baseline's, or another baseline"));
  }
  if (formats::SameFrames(baseline.facts, now.facts)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the scan is of the same frames as the baseline ", name_of_baseline, ": ", kAnotherScan));
  }
  if (SameFigures(of_baseline, measures)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "nearly all ", of_baseline.size(), " figures are those of the baseline ", name_of_baseline,
        " in four digits, as of the same scan (", of_baseline.front().name, ": ",
        of_baseline.front().value, "): ", kAnotherScan));
  }
  return absl::OkStatus();
}

std::string UncorrectedText(const Conditions& conditions) {
  if (IsCorrected(conditions)) return "";
  return "the frames were corrected with no calibration set: Hounsfield units, uniformity and "
         "noise are those of raw counts, and say nothing of scans that are corrected";
}

}  // namespace isocenter::cli
