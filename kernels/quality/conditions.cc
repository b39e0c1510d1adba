#include "kernels/quality/conditions.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/crc32c.h"

namespace isocenter::quality {
namespace {

using What = ConditionChange::What;

constexpr double kSameVoxels = 0.01;  // relative
constexpr double kSameKv = 1;
constexpr double kSameFigure = 1e-4;  // relative: what rounding to whole HU leaves
constexpr double kMostAlike = 0.9;    // of the figures; noise changes nearly all
constexpr int kLeastFigures = 5;

bool SameVoxels(const Vec3& a, const Vec3& b) {
  const auto alike = [](double x, double y) { return std::abs(x - y) <= kSameVoxels * y; };
  return alike(a.x, b.x) && alike(a.y, b.y) && alike(a.z, b.z);
}

bool IsCorrected(const Conditions& conditions) {
  return conditions.calibration != kUncorrectedScan;
}

bool StartsWithOne(absl::string_view figure, std::initializer_list<const char*> beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](const char* part) { return absl::StartsWith(figure, part); });
}

void AddTextChange(const std::string& was, const std::string& is, What what, const char* name,
                   std::vector<ConditionChange>& changes) {
  if (was.empty() || is.empty() || was == is) return;
  changes.push_back(
      {what, absl::StrCat("the ", name, " is '", is, "', that of the baseline '", was, "'")});
}

bool SameFigures(std::span<const Measure> one, std::span<const Measure> other) {
  int same = 0;
  for (const Measure& was : one) {
    const auto is = std::ranges::find(other, was.name, &Measure::name);
    if (is == other.end()) continue;
    if (std::abs(is->value - was.value) <= kSameFigure * std::abs(was.value)) ++same;
  }
  return same >= kLeastFigures && same >= kMostAlike * static_cast<double>(one.size());
}

}  // namespace

std::string FramesOf(absl::string_view scheme, absl::string_view identity) {
  return absl::StrFormat("%s %08x", scheme,
                         Crc32c(std::as_bytes(std::span(identity.data(), identity.size()))));
}

std::string FramesOfJob(absl::string_view job_id) { return FramesOf("job", job_id); }

std::vector<ConditionChange> Changes(const Conditions& baseline, const Conditions& now) {
  std::vector<ConditionChange> changes;
  AddTextChange(baseline.station, now.station, What::kStation, "room", changes);
  const Vec3 &is = now.voxel_mm, &was = baseline.voxel_mm;
  if (was.x > 0 && is.x > 0 && !SameVoxels(is, was)) {
    changes.push_back({What::kVoxels, absl::StrFormat("the voxels are %.4g x %.4g x %.4g mm, those "
                                                      "of the baseline %.4g x %.4g x %.4g mm",
                                                      is.x, is.y, is.z, was.x, was.y, was.z)});
  }
  const double kv = now.tube_voltage_kv, kv_was = baseline.tube_voltage_kv;
  if (kv > 0 && kv_was > 0 && std::abs(kv - kv_was) > kSameKv) {
    changes.push_back(
        {What::kVoltage,
         absl::StrFormat("the tube voltage is %g kV, that of the baseline %g kV", kv, kv_was)});
  }
  AddTextChange(baseline.filter, now.filter, What::kFilter, "filter", changes);
  AddTextChange(baseline.protocol, now.protocol, What::kProtocol, "protocol", changes);
  AddTextChange(baseline.calibration, now.calibration,
                IsCorrected(baseline) == IsCorrected(now) ? What::kSet : What::kCorrected,
                "calibration set", changes);
  return changes;
}

std::vector<std::string> Untold(const Conditions& baseline, const Conditions& now) {
  std::vector<std::string> names;
  const auto add = [&](const char* name, bool told) {
    if (!told) names.emplace_back(name);
  };
  add("voxel size", now.voxel_mm.x > 0 && baseline.voxel_mm.x > 0);
  add("tube voltage", now.tube_voltage_kv > 0 && baseline.tube_voltage_kv > 0);
  add("filter", !now.filter.empty() && !baseline.filter.empty());
  add("protocol", !now.protocol.empty() && !baseline.protocol.empty());
  add("calibration set", !now.calibration.empty() && !baseline.calibration.empty());
  add("room", !now.station.empty() && !baseline.station.empty());
  return names;
}

bool DependsOn(absl::string_view figure, What change) {
  const bool is_place = figure == "distance_error_mm" || figure == "scale";
  switch (change) {
    case What::kStation:
      return true;
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

void MarkNotComparable(std::span<const ConditionChange> changes, std::vector<Verdict>& verdicts) {
  for (Verdict& verdict : verdicts) {
    for (const ConditionChange& change : changes) {
      if (!DependsOn(verdict.name, change.what)) continue;
      absl::StrAppend(&verdict.not_comparable, verdict.not_comparable.empty() ? "" : "; ",
                      change.text);
    }
  }
}

std::string WhySameScan(const Conditions& one, std::span<const Measure> of_one,
                        const Conditions& other, std::span<const Measure> of_other) {
  if (!one.frames.empty() && one.frames == other.frames) return "it is of the same frames";
  if (!SameFigures(of_one, of_other)) return "";
  return absl::StrCat("nearly all ", of_one.size(),
                      " figures are the same in four digits, as of one scan alone (",
                      of_one.front().name, ": ", of_one.front().value, ")");
}

absl::Status CheckIsATest(absl::string_view name_of_baseline, const Conditions& baseline,
                          std::span<const Measure> of_baseline, const Conditions& now,
                          std::span<const Measure> measures) {
  if (!baseline.phantom.empty() && !now.phantom.empty() && baseline.phantom != now.phantom) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the phantom is '", now.phantom, "', that of the baseline ", name_of_baseline, " '",
        baseline.phantom, "'; legal is a scan of the baseline's, or another baseline"));
  }
  const std::string same = WhySameScan(baseline, of_baseline, now, measures);
  if (same.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the scan is that of the baseline ", name_of_baseline, ": ", same,
                   "; it would pass whatever the room has become; needed is a scan of its own, of "
                   "another day"));
}

std::string UncorrectedText(const Conditions& conditions) {
  if (IsCorrected(conditions)) return "";
  return "the frames were not corrected (no calibration set): Hounsfield units, uniformity and "
         "noise are those of raw counts, and say nothing of scans that are corrected";
}

}  // namespace isocenter::quality
