// How a phantom was scanned, of what jobs, files and reports tell.
#pragma once

#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"
#include "client/formats/facts/volume_facts.h"
#include "isocenter/v1/jobs.pb.h"
#include "kernels/quality/conditions.h"

namespace isocenter::cli {

/// Of a job's volume; of a refinement, the acquisition's time is not known.
quality::Conditions ConditionsOf(const v1::Job& job);
/// Takes up what a volume's file tells.
void TakeUp(const formats::VolumeFacts& facts, quality::Conditions& conditions);

/// Into a report: voxel_mm, and "conditions" of what is known.
void AddTo(nlohmann::ordered_json& report, const quality::Conditions& conditions);
/// Of such a report, legal for ParseBaseline; what it does not tell is not known.
quality::Conditions ParseConditions(absl::string_view report);

}  // namespace isocenter::cli
