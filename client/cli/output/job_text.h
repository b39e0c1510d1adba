// Jobs and results as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "isocenter/v1/jobs.pb.h"

namespace isocenter::cli {

/// "receiving", "completed", ...
std::string StateName(v1::JobState state);
/// Why a job has not completed; FAILED_PRECONDITION where it does not say.
absl::StatusCode CodeOf(const v1::Job& job);
/// "live", "interactive" or "batch".
std::string ClassName(v1::JobClass job_class);
/// One line of progress, e.g. "receiving: frames 120/248, back-projected 112".
std::string ProgressLine(const v1::JobProgress& progress);
/// "phase 0.25 of width 0.2, 61 frames".
std::string PhaseText(const v1::JobPhase& phase);
/// "second pass against metal and bone".
std::string SecondPassText(const v1::SecondPass& second_pass);
/// "room1-2026-01 (outside of its validity)".
std::string SetText(const v1::UsedCalibration& set);
/// "2026-01-31 12:00:00" in local time; empty when unset.
std::string LocalTime(const google::protobuf::Timestamp& time);
/// "256 x 256 x 256 of 0.9 x 0.9 x 0.9 mm".
std::string GridText(const v1::VolumeGrid& grid);

nlohmann::ordered_json ToJson(const v1::VolumeGrid& grid);
nlohmann::ordered_json ToJson(const v1::UsedCalibration& set);
nlohmann::ordered_json ToJson(const v1::Job& job);
nlohmann::ordered_json ToJson(const v1::JobResult& result);

}  // namespace isocenter::cli
