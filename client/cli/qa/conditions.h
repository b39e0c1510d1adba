// Under which conditions a phantom was scanned, and which figures a change of them changes.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/formats/facts/volume_facts.h"
#include "isocenter/v1/jobs.pb.h"
#include "kernels/geometry/vec3.h"
#include "kernels/quality/constancy.h"

namespace isocenter::cli {

/// What is not known is empty, or 0.
struct Conditions {
  std::string phantom;
  Vec3 voxel_mm;
  formats::VolumeFacts facts;
  absl::Time acquired = absl::InfinitePast();
};

/// Of a job's volume; of a refinement, the acquisition's time is not known.
Conditions ConditionsOf(const v1::Job& job);

/// Into a report: voxel_mm, and "conditions" of what is known.
void AddTo(nlohmann::ordered_json& report, const Conditions& conditions);
/// Of such a report, legal for ParseBaseline; what it does not tell is not known.
Conditions ParseConditions(absl::string_view report);

/// One condition that is another than the baseline's.
struct ConditionChange {
  enum class What { kVoxels, kVoltage, kFilter, kProtocol, kCorrected, kSet };
  What what;
  std::string text;  // "the voxels are .., those of the baseline .."
};
/// Those that both tell. Voxels: by more than 1 % along an axis; voltage: by more than 1 kV.
std::vector<ConditionChange> Changes(const Conditions& baseline, const Conditions& now);
/// Names of conditions that one of both does not tell.
std::vector<std::string> Untold(const Conditions& baseline, const Conditions& now);

/// Whether a figure differs for that change alone. Another set of the same detector is a part of
/// what constancy tests test: no figure is beyond comparison for it.
bool DependsOn(absl::string_view figure, ConditionChange::What change);
/// Marks the verdicts on figures that depend on one of the changes as not comparable.
void MarkNotComparable(std::span<const ConditionChange> changes,
                       std::vector<quality::Verdict>& verdicts);

/// FAILED_PRECONDITION where the scan is the baseline's own, and so would pass whatever the room
/// has become: by its frames, or since every one of five and more figures is the same in six
/// digits, as no two scans' are. INVALID_ARGUMENT for another phantom.
absl::Status CheckIsATest(absl::string_view name_of_baseline, const Conditions& baseline,
                          std::span<const quality::Measure> of_baseline, const Conditions& now,
                          std::span<const quality::Measure> measures);

/// Comment on a scan that nothing corrected; empty: it was corrected, or that is not known.
std::string UncorrectedText(const Conditions& conditions);

}  // namespace isocenter::cli
