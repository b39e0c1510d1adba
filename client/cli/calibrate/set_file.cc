#include "client/cli/calibrate/set_file.h"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/cli/options/overwrite_flag.h"
#include "client/cli/options/set_fit.h"
#include "client/cli/output/table.h"
#include "client/cli/output/warnings.h"
#include "client/formats/destination.h"
#include "client/formats/file.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/calibration_scope.h"
#include "proto/wire/calibration.h"
#include "proto/wire/calibration_file.h"
#include "proto/wire/verification.h"

namespace isocenter::cli {
namespace {

void EraseFigures(const std::string& part, v1::CalibrationSet& set) {
  auto& quality = *set.mutable_quality();
  for (int i = quality.size() - 1; i >= 0; --i) {
    if (absl::StartsWith(quality[i].name(), absl::StrCat(part, ": "))) quality.DeleteSubrange(i, 1);
  }
}

void SetFigures(const Report& report, v1::CalibrationSet& set) {
  const std::string prefix = absl::StrCat(report.part, ": ");
  EraseFigures(report.part, set);
  for (const calibrate::Figure& figure : report.figures) {
    v1::QualityFigure& added = *set.add_quality();
    added.set_name(absl::StrCat(prefix, figure.name));
    added.set_value(figure.value);
    added.set_unit(figure.unit);
  }
}

/// Commands whose parts the set has, and which looked at frames or volumes that the part changes.
std::vector<std::string> Outdated(const v1::CalibrationSet& set, const std::string& part) {
  std::vector<std::string> commands;
  if ((part == "lag" || part == "glare") && set.has_water()) {
    commands.emplace_back("beam-hardening");
  }
  if (part == "beam hardening") {
    if (set.has_bone()) commands.emplace_back("bone");
    if (set.has_scatter()) commands.emplace_back("scatter");
    if (set.has_scatter_model()) commands.emplace_back("scatter-model");
  }
  if (part != "hu" && set.has_hounsfield()) commands.emplace_back("hu");
  return commands;
}

/// Leaves out a verification that is of other parts than the set has. Returns what is to be warned
/// of, or nothing.
std::vector<std::string> EndStaleVerification(v1::CalibrationSet& set) {
  if (!set.has_verification() || wire::IsVerified(set)) return {};
  set.clear_verification();
  EraseFigures(kVerifyPart, set);
  return {
      "the set was verified with other parts than it has now, and is not verified any more; "
      "`isocenter calibrate verify` verifies it anew"};
}

void WarnOfUntold(const std::string& set_name, const SetFit& fit, const SweepSource& sweep) {
  if (fit.untold.empty()) return;
  std::fprintf(stderr, "warning: %s: %s\n", sweep.where().c_str(),
               UntoldText(set_name, fit).c_str());
}

}  // namespace

void AddIntoFlags(flags::Command command, IntoSet& options) {
  command.Add("--into", options.into, "calibration set that the part is added to")
      .Required()
      .Type("FILE");
  command
      .Add("--name", options.name,
           "of the set that is written (default: that of --into); a service keeps one set of a "
           "name, for good")
      .Type("NAME");
  command.Add("--out", options.to.out, "write the set here and leave --into as it is").Type("FILE");
  AddReportFlags(command, options.to);
}

void AddReportFlags(flags::Command command, SetOutput& output) {
  AddOverwriteFlag(command, output.overwrite);
  command.Add("--picture", output.picture, "also write the picture of the part to this .png")
      .Type("FILE");
  output.json.AddFlag(command);
}

absl::Status CheckOutputs(const SetOutput& output, std::vector<std::filesystem::path> inputs) {
  ISO_RETURN_IF_ERROR(output.json.Check(inputs));
  ISO_RETURN_IF_ERROR(formats::CheckFileDestination(
      {.flag = "--out", .path = output.out, .replaces = output.overwrite, .inputs = inputs}));
  if (output.picture.empty()) return absl::OkStatus();
  return formats::CheckFileDestination({.flag = "--picture",
                                        .path = output.picture,
                                        .endings = {".png"},
                                        .inputs = std::move(inputs)});
}

absl::Status CheckInto(const IntoSet& options, std::vector<std::filesystem::path> inputs) {
  SetOutput output = options.to;
  if (output.out.empty()) output.out = options.into;
  std::error_code error;  // one of them is not there
  if (std::filesystem::equivalent(output.out, options.into, error)) output.overwrite = true;
  return CheckOutputs(output, std::move(inputs));
}

absl::StatusOr<OpenedSet> OpenInto(const IntoSet& options) {
  OpenedSet opened;
  ISO_ASSIGN_OR_RETURN(opened.lock, SetLock::Take(options.into));
  ISO_ASSIGN_OR_RETURN(opened.set, wire::ReadCalibrationFile("--into", options.into));
  PrintWarnings(EndStaleVerification(opened.set));
  ISO_ASSIGN_OR_RETURN(opened.calibration, wire::CalibrationFromProto(opened.set));
  if (options.name.empty()) return opened;
  v1::CalibrationSet renamed = wire::CalibrationLabel(opened.set);
  renamed.set_name(options.name);
  ISO_RETURN_IF_ERROR(wire::CheckCalibrationLabel(renamed));
  return opened;
}

absl::Status CheckSweep(const OpenedSet& opened, const SweepSource& sweep) {
  if (!opened.calibration.response) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the set ", opened.set.name(),
        " has no offsets and gains; legal is one that `isocenter calibrate detector` made"));
  }
  const Detector& of_set = opened.calibration.detector;
  const Detector& detector = sweep.detector();
  if (of_set == detector) {
    const SetFit fit = FitOf(opened.set, sweep.header());
    if (fit.misfits.empty()) {
      WarnOfUntold(opened.set.name(), fit, sweep);
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat(sweep.where(), ": ", ops::MisfitText(opened.set.name(), fit.misfits),
                     "; legal is a sweep of the set's own station, detector mode and tube voltage; "
                     "of others `isocenter calibrate detector` begins a set of their own"));
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "the frames have %d x %d pixels of %g x %g mm; legal are those of the set, %d x %d of %g x "
      "%g mm",
      detector.columns, detector.rows, detector.pitch_u_mm, detector.pitch_v_mm, of_set.columns,
      of_set.rows, of_set.pitch_u_mm, of_set.pitch_v_mm));
}

absl::Status CheckLabel(const v1::CalibrationSet& label, const SweepSource& sweep,
                        const std::string& flags) {
  const SetFit fit = FitOf(label, sweep.header());
  if (fit.misfits.empty()) {
    WarnOfUntold(label.name(), fit, sweep);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(sweep.where(), " does not fit ", flags, ": the set ",
                   absl::StrJoin(fit.misfits, "; the set "),
                   "; legal is what the acquisition says of itself, or one that says nothing"));
}

std::string FigureTable(const calibrate::Figures& figures) {
  std::vector<TableRow> rows = {{"FIGURE", "VALUE", "UNIT", "LEGAL"}};
  for (const calibrate::Figure& figure : figures) {
    rows.push_back({figure.name, absl::StrFormat("%.6g", figure.value), figure.unit, figure.limit});
  }
  return FormatTable(rows);
}

nlohmann::ordered_json ToJson(const calibrate::Figures& figures) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const calibrate::Figure& figure : figures) {
    nlohmann::ordered_json& told = all.emplace_back(nlohmann::ordered_json{
        {"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}});
    if (!figure.limit.empty()) told["legal"] = figure.limit;
  }
  return all;
}

absl::Status WriteSet(v1::CalibrationSet set, const Report& report, const SetOutput& output,
                      const nlohmann::ordered_json& details) {
  SetFigures(report, set);
  ISO_ASSIGN_OR_RETURN(*set.mutable_picture_png(), formats::EncodePng(report.picture));
  ISO_ASSIGN_OR_RETURN(const ops::Calibration calibration, wire::CalibrationFromProto(set));
  if (!output.picture.empty()) {
    ISO_RETURN_IF_ERROR(formats::WriteText(output.picture, set.picture_png()));
  }
  ISO_RETURN_IF_ERROR(formats::WriteText(output.out, wire::CalibrationFile(set)));
  PrintWarnings(report.warnings);
  const std::string ranges = ops::FittedRangesText(calibration);
  nlohmann::ordered_json json{{"name", set.name()}, {"part", report.part},
                              {"out", output.out},  {"figures", ToJson(report.figures)},
                              {"ranges", ranges},   {"warnings", report.warnings}};
  json.update(details);
  const bool is_whole = set.has_water() || set.has_geometry();
  return output.json.Report(
      absl::StrCat(FigureTable(report.figures), ranges, ranges.empty() ? "" : "\n", output.out,
                   ": ", set.name(),
                   is_whole ? "; "
                            : "; it does not know water yet: `isocenter calibrate "
                              "beam-hardening --into` adds that, before ",
                   "`isocenter calibrations add ", output.out, "` has the service keep it\n"),
      json);
}

absl::Status WriteInto(v1::CalibrationSet set, Report report, IntoSet into) {
  for (const std::string& command : Outdated(set, report.part)) {
    report.warnings.push_back(absl::StrCat("the set's part of `isocenter calibrate ", command,
                                           "` was measured before the ", report.part,
                                           " that it has now; measure it anew"));
  }
  for (std::string& ended : EndStaleVerification(set)) report.warnings.push_back(std::move(ended));
  const ops::Validity validity{wire::TimeFromProto(set.valid_from()),
                               wire::TimeFromProto(set.valid_until())};
  if (!validity.Has(absl::Now())) {
    report.warnings.push_back(
        absl::StrCat(ops::NotValidText(set.name(), validity),
                     ": a service refuses or warns of it, as the protocol says; `isocenter "
                     "calibrate detector` begins a new one"));
  }
  if (into.to.out.empty()) into.to.out = into.into;
  if (!into.name.empty() && into.name != set.name()) {
    // Newer than the set that it goes on from, before which a service then takes it.
    wire::SetTime(absl::Now(), *set.mutable_created());
    set.set_name(into.name);
  }
  return WriteSet(std::move(set), report, into.to);
}

}  // namespace isocenter::cli
