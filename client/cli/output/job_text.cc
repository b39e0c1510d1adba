#include "client/cli/output/job_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/cli/output/job_warnings.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/motion_text.h"
#include "client/cli/output/self_calibration_text.h"
#include "client/cli/output/transfer_text.h"

namespace isocenter::cli {
namespace {

std::string RoleName(v1::PairRole role) {
  return absl::AsciiStrToLower(
      std::string(absl::StripPrefix(v1::PairRole_Name(role), "PAIR_ROLE_")));
}

absl::Time FromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

void PutWarnings(const v1::Job& job, nlohmann::ordered_json& json) {
  json["warnings"] = nlohmann::ordered_json::array();
  for (const v1::JobWarning& warning : job.warning()) json["warnings"].push_back(warning.text());
  json["warning_kinds"] = nlohmann::ordered_json::array();
  for (const v1::WarningKind kind : KindsOf(job)) json["warning_kinds"].push_back(KindName(kind));
  json["doubts"] = nlohmann::ordered_json::array();
  for (const v1::WarningKind kind : DoubtsOf(job)) json["doubts"].push_back(KindName(kind));
}

}  // namespace

std::string StateName(v1::JobState state) {
  return absl::AsciiStrToLower(
      std::string(absl::StripPrefix(v1::JobState_Name(state), "JOB_STATE_")));
}

absl::StatusCode CodeOf(const v1::Job& job) {
  const auto code = static_cast<absl::StatusCode>(job.error_code());
  return code == absl::StatusCode::kOk ? absl::StatusCode::kFailedPrecondition : code;
}

/// "unknown", "cardiac" or "respiratory".
std::string PhaseCycleName(v1::PhaseCycle cycle) {
  if (cycle == v1::PHASE_CYCLE_UNSPECIFIED) return "unknown";
  return absl::AsciiStrToLower(absl::StripPrefix(v1::PhaseCycle_Name(cycle), "PHASE_CYCLE_"));
}

std::string ClassName(v1::JobClass job_class) {
  if (job_class == v1::JOB_CLASS_UNSPECIFIED) job_class = v1::JOB_CLASS_LIVE;
  return absl::AsciiStrToLower(
      std::string(absl::StripPrefix(v1::JobClass_Name(job_class), "JOB_CLASS_")));
}

std::string ProgressLine(const v1::JobProgress& p) {
  std::string line =
      absl::StrFormat("%s: frames %d/%d, back-projected %d", StateName(p.state()),
                      p.frames_received(), p.frames_total(), p.frames_backprojected());
  if (p.iterations_total() > 0) {
    absl::StrAppendFormat(&line, ", iterations %d/%d (%.0f %%)", p.iterations_done(),
                          p.iterations_total(), 100 * p.refined_fraction());
  } else if (p.refined_fraction() > 0) {
    absl::StrAppendFormat(&line, ", second pass %.0f %%", 100 * p.refined_fraction());
  }
  if (p.slices_exported() > 0) {
    absl::StrAppend(&line, ", slices stored ", p.slices_exported(), "/", p.slices_total());
  }
  if (p.frames_lost() > 0) absl::StrAppend(&line, ", frames lost ", p.frames_lost());
  return line;
}

std::string SecondPassText(const v1::SecondPass& second_pass) {
  std::vector<absl::string_view> against;
  if (second_pass.scatter()) against.push_back("scatter");
  if (second_pass.metal()) against.push_back("metal");
  if (second_pass.bone()) against.push_back("bone");
  if (second_pass.cone_beam()) against.push_back("the cone-beam artefact");
  if (second_pass.motion()) against.push_back("motion");
  if (second_pass.self_calibrate()) against.push_back("a detector elsewhere");
  if (second_pass.complete_rows()) against.push_back("rows that the detector cuts");
  const std::string& reference = second_pass.reference_job_id();
  return absl::StrCat("second pass against ", absl::StrJoin(against, " and "),
                      reference.empty() ? "" : absl::StrCat(", by the volume of job ", reference));
}

std::string PhaseText(const v1::JobPhase& phase) {
  return absl::StrFormat("phase %g of width %g, %d frames", phase.phase(), phase.width(),
                         phase.frames());
}

std::string SetText(const v1::UsedCalibration& set) {
  return absl::StrCat(set.name(), set.verified() ? " (verified)" : "",
                      set.outside_validity() ? " (outside of its validity)" : "");
}

std::string LocalTime(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S%Ez", FromProto(time), absl::LocalTimeZone());
}

std::string GridText(const v1::VolumeGrid& grid) {
  return absl::StrFormat("%d x %d x %d of %.4g x %.4g x %.4g mm", grid.nx(), grid.ny(), grid.nz(),
                         grid.spacing_x_mm(), grid.spacing_y_mm(), grid.spacing_z_mm());
}

nlohmann::ordered_json ToJson(const v1::VolumeGrid& grid) {
  return {{"size", {grid.nx(), grid.ny(), grid.nz()}},
          {"spacing_mm", {grid.spacing_x_mm(), grid.spacing_y_mm(), grid.spacing_z_mm()}}};
}

nlohmann::ordered_json ToJson(const v1::UsedCalibration& set) {
  nlohmann::ordered_json json{{"name", set.name()},
                              {"crc32c", absl::StrFormat("%08x", set.crc32c())},
                              {"outside_validity", set.outside_validity()},
                              {"verified", set.verified()}};
  if (set.has_created()) json["create_time"] = JsonTime(set.created());
  return json;
}

nlohmann::ordered_json ToJson(const v1::JobResult& result) {
  const v1::StageTimings& t = result.timings();
  nlohmann::ordered_json json{{"job_id", result.job_id()},
                              {"study_instance_uid", result.study_instance_uid()},
                              {"series_instance_uid", result.series_instance_uid()},
                              {"frame_of_reference_uid", result.frame_of_reference_uid()},
                              {"instance_count", result.instance_count()},
                              {"timings",
                               {{"upload_seconds", t.upload_seconds()},
                                {"download_seconds", t.download_seconds()},
                                {"preprocess_seconds", t.preprocess_seconds()},
                                {"filter_seconds", t.filter_seconds()},
                                {"backproject_seconds", t.backproject_seconds()},
                                {"hounsfield_seconds", t.hounsfield_seconds()},
                                {"refine_seconds", t.refine_seconds()},
                                {"export_seconds", t.export_seconds()},
                                {"acquisition_seconds", t.acquisition_seconds()},
                                {"total_seconds", t.total_seconds()}}},
                              {"grid", ToJson(result.grid())},
                              {"backend", result.backend()},
                              {"warnings", nlohmann::ordered_json::array()}};
  for (const std::string& warning : result.warning()) json["warnings"].push_back(warning);
  // Refinements and subtractions have no last frame, and no speed of back-projection.
  for (const auto& [name, value] :
       {std::pair("seconds_after_last_frame", result.seconds_after_last_frame()),
        std::pair("seconds_to_stored", result.seconds_to_stored()),
        std::pair("kernel_gups", result.kernel_gups()),
        std::pair("whole_gups", result.whole_gups())}) {
    if (value > 0) json[name] = value;
  }
  return json;
}

nlohmann::ordered_json ToJson(const v1::Job& job) {
  nlohmann::ordered_json json{{"job_id", job.job_id()},
                              {"state", StateName(job.state())},
                              {"class", ClassName(job.job_class())},
                              {"protocol", job.protocol()},
                              {"station_name", job.station_name()},
                              {"accession_number", job.accession_number()},
                              {"study_instance_uid", job.study_instance_uid()},
                              {"frames_received", job.progress().frames_received()},
                              {"frames_backprojected", job.progress().frames_backprojected()},
                              {"frames_lost", job.progress().frames_lost()},
                              {"frames_total", job.progress().frames_total()},
                              {"grid", ToJson(job.grid())}};
  if (job.has_create_time()) {
    json["create_time"] = JsonTime(job.create_time());
  }
  if (job.has_end_time()) {
    json["end_time"] = JsonTime(job.end_time());
  }
  if (job.has_predicted_finish_time()) {
    json["predicted_finish_time"] = JsonTime(job.predicted_finish_time());
  }
  if (job.has_awaits_console_until_time()) {
    json["awaits_console_until_time"] = JsonTime(job.awaits_console_until_time());
  }
  if (job.has_calibration()) json["calibration"] = ToJson(job.calibration());
  if (job.has_geometry()) json["geometry"] = ToJson(job.geometry());
  if (!job.pair_id().empty()) {
    json["pair_id"] = job.pair_id();
    json["pair_role"] = RoleName(job.pair_role());
  }
  if (!job.refines_job_id().empty()) {
    json["refines_job_id"] = job.refines_job_id();
    json["iterations_done"] = job.progress().iterations_done();
    json["iterations_total"] = job.progress().iterations_total();
    if (job.has_second_pass()) {
      json["second_pass"] = {{"metal", job.second_pass().metal()},
                             {"bone", job.second_pass().bone()},
                             {"scatter", job.second_pass().scatter()},
                             {"cone_beam", job.second_pass().cone_beam()},
                             {"motion", job.second_pass().motion()},
                             {"self_calibrate", job.second_pass().self_calibrate()},
                             {"complete_rows", job.second_pass().complete_rows()}};
      if (const std::string& reference = job.second_pass().reference_job_id(); !reference.empty()) {
        json["second_pass"]["reference_job_id"] = reference;
      }
    }
  }
  if (job.has_phase()) {
    json["phase"] = {{"phase", job.phase().phase()},
                     {"width", job.phase().width()},
                     {"frames", job.phase().frames()},
                     {"largest_gap_deg", job.phase().largest_gap_deg()}};
  }
  if (job.has_phase_cycle()) json["phase_cycle"] = PhaseCycleName(job.phase_cycle());
  for (const v1::IterationReport& report : job.iteration()) {
    nlohmann::ordered_json& entry = json["iterations"].emplace_back(
        nlohmann::ordered_json{{"iteration", report.iteration()},
                               {"relative_residual", report.relative_residual()},
                               {"seconds", report.seconds()}});
    if (report.has_objective()) entry["objective"] = report.objective();
  }
  if (job.has_second_pass() || job.has_phase() || job.finding_size() > 0) {
    json["findings"] = job.finding();
  }
  if (job.has_motion()) json["motion"] = MotionJson(job.motion());
  if (job.has_self_calibration()) {
    json["self_calibration"] = SelfCalibrationJson(job.self_calibration());
  }
  PutWarnings(job, json);
  if (job.error_code() != 0) {
    json["error_code"] = absl::StatusCodeToString(static_cast<absl::StatusCode>(job.error_code()));
    json["error_message"] = job.error_message();
  }
  for (const v1::Transfer& transfer : job.transfer()) {
    json["transfers"].push_back(ToJson(transfer));
  }
  if (job.has_result()) json["result"] = ToJson(job.result());
  return json;
}

}  // namespace isocenter::cli
