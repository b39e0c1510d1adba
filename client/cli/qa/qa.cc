// isocenter qa: image quality from a scan of a phantom, and whether it has stayed what it was.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/options/phantom_flags.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/warnings.h"
#include "client/cli/qa/conditions.h"
#include "client/cli/qa/limits_file.h"
#include "client/cli/qa/record.h"
#include "client/cli/qa/report.h"
#include "client/cli/qa/scan.h"
#include "client/cli/qa/seal.h"
#include "client/cli/qa/study_json.h"
#include "client/cli/qa/verdict_text.h"
#include "client/flags/wrong_usage.h"
#include "client/formats/destination.h"
#include "client/formats/file.h"
#include "client/formats/volume_input.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "kernels/quality/limits.h"
#include "kernels/quality/slice_width.h"
#include "kernels/quality/unmeasured_figures.h"

namespace isocenter::cli {
namespace {

using quality::Conditions;
using quality::LimitVerdict;
using quality::Measure;
using quality::Verdict;

struct Options {
  ScanSource scan;
  std::string again;
  std::optional<double> scale_mm;
  std::string report, baseline, limits;
  JsonOutput json;
  std::vector<std::string> tolerances;
  bool record = false, as_baseline = false;
  std::string replaces;
};

/// The second scan. Errors: those of reading; FAILED_PRECONDITION for one of the same frames.
absl::StatusOr<formats::Volume> LoadAgain(const Options& options, const Conditions& first) {
  ISO_ASSIGN_OR_RETURN(formats::Volume again, formats::ReadVolume(options.again));
  if (first.frames.empty() || again.facts.frames != first.frames) return again;
  return absl::FailedPreconditionError(absl::StrCat(
      "--again ", options.again, " is of the same frames as ",
      options.scan.volume.empty() ? options.scan.job : options.scan.volume, " (", first.frames,
      "): their noise is one, and goes in the difference; needed is a second scan of the phantom, "
      "of frames of its own, reconstructed as the first"));
}

double ScaleMm(const Options& options) {
  return options.scale_mm.value_or(DefaultPhantomScaleMm(options.scan.phantom));
}

QualityPhantom PhantomOf(const Options& options) {
  return QualityPhantomNamed(options.scan.phantom, ScaleMm(options));
}

/// Slice widths that a later scan may not be able to measure, and why.
std::vector<std::pair<std::string, std::string>> NarrowSlices(const std::vector<Measure>& measures,
                                                              double slice_mm) {
  std::vector<std::pair<std::string, std::string>> narrow;
  for (const Measure& measure : measures) {
    if (measure.name != "slice_fwhm_mm" && measure.name != "ramp_fwhm_mm") continue;
    const double slices = measure.value / slice_mm;
    if (slices >= quality::kSureSliceWidth) continue;
    narrow.emplace_back(
        measure.name,
        absl::StrFormat("it is %.2f slices; as a baseline it should be %g or more, since a later "
                        "scan that reads less than %g has it unmeasured, which is not passed: "
                        "reconstruct the phantom on slices of %.2g mm",
                        slices, quality::kSureSliceWidth, quality::kLeastSliceWidth, slice_mm / 2));
  }
  return narrow;
}

/// Of a scan that may become a baseline: later ones are held against its distances.
std::vector<std::string> WrongDistances(const std::vector<Measure>& measures,
                                        const Options& options, const VolumeGrid& grid) {
  constexpr double kMostErrorMm = 0.5, kMostErrorVoxels = 0.5;
  const double most = std::max(kMostErrorMm, kMostErrorVoxels * grid.spacing.x);
  const auto error = std::ranges::find(measures, "distance_error_mm", &Measure::name);
  if (error == measures.end() || error->value <= most) return {};
  return {absl::StrFormat(
      "distances within the phantom are wrong by up to %.2f mm; expected are at most %.2g mm: "
      "--scale-mm %g is not that of this phantom, or the room's geometry or the voxels' size is "
      "wrong",
      error->value, most, ScaleMm(options))};
}

absl::Status CheckTolerances(const Options& options) {
  const std::vector<std::string> names = quality::FigureNames(PhantomOf(options));
  for (const std::string& text : options.tolerances) {
    const auto tolerance = quality::ParseTolerance(text);
    if (!tolerance.ok()) return flags::WrongUsage(tolerance.status().message());
    if (std::ranges::find(names, tolerance->name) != names.end()) continue;
    return flags::WrongUsage(
        absl::StrCat("--tolerance is of '", tolerance->name, "'; legal is a figure of the phantom ",
                     options.scan.phantom, DidYouMean(tolerance->name, names)));
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const Options& options) {
  if (!options.scan.volume.empty() && !options.scan.job.empty() && !options.record) {
    return flags::WrongUsage(
        "VOLUME and --job are given; legal is one of them, unless --record says whose volume it "
        "is");
  }
  if (options.scan.volume.empty() && options.scan.job.empty()) {
    return flags::WrongUsage("neither VOLUME nor --job is given; legal is one of them");
  }
  if (options.record && options.scan.job.empty() &&
      (options.scan.station.empty() || options.scan.protocol.empty())) {
    return flags::WrongUsage(
        "--record without a room or protocol; legal is --station and --protocol, or --job");
  }
  if (!options.record &&
      (options.as_baseline || !options.scan.protocol.empty() || !options.replaces.empty())) {
    return flags::WrongUsage(
        "--as-baseline, --replaces and --protocol are for the server; legal is with --record");
  }
  if (!options.replaces.empty() && !options.as_baseline) {
    return flags::WrongUsage("--replaces without --as-baseline; legal is with it");
  }
  if (!options.baseline.empty() && !options.tolerances.empty()) {
    return flags::WrongUsage(
        "--tolerance beside --baseline; legal is one of them: tolerances are the baseline's, given "
        "when it is made");
  }
  ISO_RETURN_IF_ERROR(CheckTolerances(options));
  const std::vector<std::filesystem::path> inputs = {options.scan.volume, options.again,
                                                     options.baseline, options.limits};
  ISO_RETURN_IF_ERROR(options.json.Check(inputs));
  if (options.report.empty()) return absl::OkStatus();
  return formats::CheckFileDestination(
      {.flag = "--report", .path = options.report, .endings = {".html", ".htm"}, .inputs = inputs});
}

/// Of a file of an earlier scan.
struct Baseline {
  std::vector<Measure> measures;
  Conditions conditions;
  bool is_sealed = true;  // it would tell edits
};

/// That of --baseline; none where it is not given.
absl::StatusOr<Baseline> BaselineOf(const Options& options) {
  if (options.baseline.empty()) return Baseline();
  ISO_ASSIGN_OR_RETURN(const std::string text,
                       formats::ReadText(options.baseline, kMostBaselineBytes));
  ISO_ASSIGN_OR_RETURN(std::vector<Measure> measures, ParseBaseline(text, options.baseline));
  return Baseline{std::move(measures), ParseConditions(text),
                  absl::StrContains(text, "\"checksum\"")};
}

absl::StatusOr<std::vector<quality::Limit>> LimitsOf(const Options& options) {
  if (options.limits.empty()) return std::vector<quality::Limit>();
  ISO_ASSIGN_OR_RETURN(const std::string text, formats::ReadText(options.limits, kMostLimitsBytes));
  return ParseLimits(text, options.limits, quality::FigureNames(PhantomOf(options)));
}

/// What the baseline does not tell, on stderr.
void PrintGaps(const std::string& file, const Baseline& baseline, const Conditions& conditions,
               const std::vector<Measure>& measures) {
  if (const auto untold = quality::Untold(baseline.conditions, conditions); !untold.empty()) {
    std::fprintf(stderr, "isocenter: not told by both the scan and %s, and not compared: %s\n",
                 file.c_str(), absl::StrJoin(untold, ", ").c_str());
  }
  if (const auto missing = quality::NotInBaseline(baseline.measures, measures); !missing.empty()) {
    std::fprintf(stderr,
                 "isocenter: not in %s, and not judged: %s; a baseline that is made now has them\n",
                 file.c_str(), absl::StrJoin(missing, ", ").c_str());
  }
  if (!baseline.is_sealed) {
    std::fprintf(stderr,
                 "isocenter: %s has no checksum: whether it was edited since it was made is not "
                 "known\n",
                 file.c_str());
  }
}

/// Verdicts against the file, and what differs beside the figures said on stderr.
absl::StatusOr<std::vector<Verdict>> Against(const Baseline& baseline, const Options& options,
                                             const Conditions& conditions,
                                             const std::vector<Measure>& measures) {
  if (baseline.measures.empty()) return std::vector<Verdict>();
  ISO_RETURN_IF_ERROR(quality::CheckIsATest(options.baseline, baseline.conditions,
                                            baseline.measures, conditions, measures));
  std::vector<Verdict> verdicts = quality::Compare(baseline.measures, measures);
  if (verdicts.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.baseline, ": none of its ", baseline.measures.size(), " figures can be judged: ",
        baseline.measures.front().name, ": ", quality::WhyNotJudged(baseline.measures.front())));
  }
  const auto changes = quality::Changes(baseline.conditions, conditions);
  std::vector<std::string> warnings;
  for (const quality::ConditionChange& change : changes) {
    warnings.push_back(absl::StrCat(change.text, " (", options.baseline, ")"));
  }
  PrintWarnings(warnings);
  PrintGaps(options.baseline, baseline, conditions, measures);
  quality::MarkNotComparable(changes, verdicts);
  return verdicts;
}

/// Names of what cannot be judged, and why.
std::vector<std::pair<std::string, std::string>> NotJudged(const std::vector<Measure>& baseline) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const Measure& measure : baseline) {
    const std::string why = quality::WhyNotJudged(measure);
    if (!why.empty()) list.emplace_back(measure.name, why);
  }
  return list;
}

/// A line for each reason, which several figures may have.
void PrintReasons(const char* what,
                  const std::vector<std::pair<std::string, std::string>>& figures) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [name, why] : figures) {
    const auto same = std::ranges::find_if(
        lines, [&text = why](const auto& line) { return line.second == text; });
    if (same == lines.end()) {
      lines.emplace_back(name, why);
    } else {
      absl::StrAppend(&same->first, ", ", name);
    }
  }
  for (const auto& [names, why] : lines) {
    std::fprintf(stderr, "isocenter: %s: %s: %s\n", what, names.c_str(), why.c_str());
  }
}

/// All that is told of a scan.
struct Findings {
  const Scan& scan;
  const QualityPhantom& phantom;
  const quality::PhantomStudy& study;
  std::vector<Measure> measures;
  Conditions conditions;
  std::vector<Verdict> verdicts;  // empty: there is no baseline
  std::vector<LimitVerdict> limits;
  std::vector<std::pair<std::string, std::string>> not_judged;
};

nlohmann::ordered_json DocumentOf(const std::string& name, const Findings& found,
                                  const std::string& comment) {
  nlohmann::ordered_json json = {{"volume", name}, {"phantom", found.phantom.name}};
  json["made_time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
  json["isocenter_version"] = ISOCENTER_VERSION;
  AddTo(json, found.conditions);
  json["comments"] = nlohmann::ordered_json::array();
  if (!comment.empty()) json["comments"].push_back(comment);
  json["measures"] = ToJson(found.measures);
  if (!found.verdicts.empty()) {
    json["passed"] = quality::Passed(found.verdicts);
    json["verdicts"] = ToJson(found.verdicts);
  }
  if (!found.limits.empty()) {
    json["limits_passed"] = std::ranges::all_of(found.limits, &LimitVerdict::passed);
    json["limits"] = ToJson(found.limits);
  }
  json["not_judged"] = nlohmann::ordered_json::array();
  for (const auto& [figure, why] : found.not_judged) {
    json["not_judged"].push_back({{"name", figure}, {"why", why}});
  }
  json.update(ToJson(found.study));
  json = WithoutUnknown(std::move(json));  // as it is written
  Seal(json);
  return json;
}

absl::Status Report(const Options& options, const Findings& found) {
  const std::string name = options.scan.volume.empty() ? options.scan.job : options.scan.volume;
  const std::string comment = quality::UncorrectedText(found.conditions);
  PrintReasons("not judged", found.not_judged);
  std::string text = FigureTable(found.measures, found.verdicts);
  if (!found.limits.empty()) absl::StrAppend(&text, "\n", LimitTable(found.limits));
  ISO_RETURN_IF_ERROR(options.json.Report(text, DocumentOf(name, found, comment)));
  if (options.report.empty()) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(const std::string html,
                       RenderReport({.volume = name,
                                     .made = absl::Now(),
                                     .version = ISOCENTER_VERSION,
                                     .comment = comment,
                                     .conditions = found.conditions,
                                     .view = {found.scan.volume.grid, found.scan.volume.view()},
                                     .phantom = found.phantom,
                                     .study = found.study,
                                     .measures = found.measures,
                                     .verdicts = found.verdicts,
                                     .limits = found.limits,
                                     .not_judged = found.not_judged}));
  return formats::WriteText(options.report, html);
}

/// What to do where the baseline has widths of less than one slice, which no scan passes any more;
/// else empty.
std::string OldWidthsText(const Options& options, const Findings& found) {
  const double slice_mm = found.scan.volume.grid.spacing.z;
  std::vector<std::string> names;
  for (const Verdict& verdict : found.verdicts) {
    const bool is_width = verdict.name == "slice_fwhm_mm" || verdict.name == "ramp_fwhm_mm";
    if (is_width && !verdict.value && verdict.baseline < slice_mm) names.push_back(verdict.name);
  }
  if (names.empty()) return "";
  const std::string anew =
      options.baseline.empty()
          ? "isocenter qa --job ACCEPTED --record --as-baseline --replaces BASELINE, of which "
            "isocenter quality list has the id"
          : absl::StrCat("isocenter qa ACCEPTED --json ", options.baseline);
  return absl::StrFormat(
      "; the baseline has %s of less than one slice (%.3g mm), which is not measured any more: "
      "make the baseline anew of the accepted scan with `%s`",
      absl::StrJoin(names, ", "), slice_mm, anew);
}

absl::Status Judge(const Options& options, const Findings& found) {
  const std::string constancy = ConstancyText(found.verdicts), limits = LimitsText(found.limits);
  if (constancy.empty() && limits.empty()) return absl::OkStatus();
  return flags::NotPassed(absl::StrCat(constancy, OldWidthsText(options, found),
                                       constancy.empty() || limits.empty() ? "" : "; ", limits));
}

/// Of what is taken for water. Raw counts make hundreds of HU of it, but never air.
absl::Status CheckWater(const std::vector<Measure>& measures) {
  constexpr double kMostHu = 700;
  const auto water = std::ranges::find(measures, std::string("water_hu"), &Measure::name);
  if (water == measures.end() || std::abs(water->value) <= kMostHu) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "the uniform module reads %.4g HU where it is water; legal is within %g HU: the phantom was "
      "found where it is not, as in a volume that is mirrored or turned, or the numbers are no "
      "Hounsfield units",
      water->value, kMostHu));
}

absl::Status Qa(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckOptions(options));
  ISO_ASSIGN_OR_RETURN(const Baseline baseline, BaselineOf(options));
  ISO_ASSIGN_OR_RETURN(const std::vector<quality::Limit> limits, LimitsOf(options));
  ISO_ASSIGN_OR_RETURN(const Scan scan, LoadScan(options.scan));
  const formats::Volume& volume = scan.volume;
  std::optional<formats::Volume> again;
  std::optional<quality::VolumeView> again_view;
  if (!options.again.empty()) {
    ISO_ASSIGN_OR_RETURN(again, LoadAgain(options, scan.conditions));
    again_view = quality::VolumeView{again->grid, again->view()};
  }
  const QualityPhantom phantom = PhantomOf(options);
  const absl::StatusOr<quality::PhantomStudy> made = quality::StudyPhantom(
      {volume.grid, volume.view()}, phantom, again_view ? &*again_view : nullptr);
  // A phantom that is not in the volume is no name of something that is not there.
  if (absl::IsNotFound(made.status())) {
    return absl::FailedPreconditionError(made.status().message());
  }
  ISO_RETURN_IF_ERROR(made.status());
  const quality::PhantomStudy& study = *made;
  Findings found{.scan = scan,
                 .phantom = phantom,
                 .study = study,
                 .measures = quality::MeasuresOf(study),
                 .conditions = scan.conditions,
                 .limits = quality::Judge(limits, quality::MeasuresOf(study))};
  ISO_RETURN_IF_ERROR(CheckWater(found.measures));
  for (const std::string& tolerance : options.tolerances) {
    ISO_RETURN_IF_ERROR(quality::SetTolerance(tolerance, found.measures));
  }
  if (const std::string text = quality::UncorrectedText(scan.conditions); !text.empty()) {
    std::fprintf(stderr, "isocenter: comment: %s\n", text.c_str());
  }
  ISO_ASSIGN_OR_RETURN(found.verdicts, Against(baseline, options, scan.conditions, found.measures));
  if (options.record) {
    ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                         options.scan.job.empty()
                             ? TheService(options.scan.server)
                             : ServiceOfJob(options.scan.server, options.scan.job));
    ISO_ASSIGN_OR_RETURN(Recorded recorded,
                         Record(channel,
                                {.station = options.scan.station,
                                 .protocol = options.scan.protocol,
                                 .job = options.scan.job,
                                 .as_baseline = options.as_baseline,
                                 .replaces = options.replaces},
                                scan.conditions, found.measures, options.json.progress()));
    if (found.verdicts.empty() && !recorded.verdicts.empty()) {
      found.verdicts = std::move(recorded.verdicts);
      found.not_judged = std::move(recorded.not_judged);
    }
    found.conditions = std::move(recorded.conditions);
  }
  PrintReasons("not measured", {study.unmeasured.begin(), study.unmeasured.end()});
  // What this scan could not judge as a baseline is of interest where it may become one.
  const bool is_judged = !found.verdicts.empty() && baseline.measures.empty();
  if (!is_judged) {
    found.not_judged = NotJudged(baseline.measures.empty() ? found.measures : baseline.measures);
  }
  if (!is_judged && baseline.measures.empty()) {
    PrintReasons("near the least that is measured",
                 NarrowSlices(found.measures, volume.grid.spacing.z));
    PrintWarnings(WrongDistances(found.measures, options, volume.grid));
  }
  ISO_RETURN_IF_ERROR(Report(options, found));
  return Judge(options, found);
}

void AddServerPart(flags::Command command, Options& o) {
  command.AddSwitch("--record", o.record,
                    "have the server keep the result, and compare it with the baseline of its room "
                    "and protocol");
  command.AddSwitch("--as-baseline", o.as_baseline,
                    "with --record: later results are compared with this one");
  command
      .Add("--replaces", o.replaces,
           "with --as-baseline: the baseline that there is, which is replaced")
      .Type("ID");
  command.Add("--station", o.scan.station, "the room (default: the job's, or the series')")
      .Type("NAME")
      .Identifier();
  command.Add("--protocol", o.scan.protocol, "with --record: the protocol (default: the job's)")
      .Type("NAME");
  command.Add("--job", o.scan.job, "the job whose volume it is; without VOLUME, it is fetched")
      .Type("JOB");
  AddServerFlags(command, o.scan.server);
}

}  // namespace

void AddQaCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command =
      program.Subcommand("qa", "Measure image quality from a scan of a phantom; constancy tests");
  command.Footer(
      "Examples:\n"
      "  isocenter qa series --report qa.html --json qa.json\n"
      "  isocenter qa today.mha --baseline accepted.json        exit code 3: not passed\n"
      "  isocenter qa today.mha --limits limits.json            the same, against limits\n"
      "  isocenter qa --job JOB --record                        against the room's baseline\n"
      "The JSON file of a scan is the baseline of later ones. docs/qa.md has the figures, their\n"
      "definitions and tolerances.");
  command.Add("volume", o.scan.volume, "volume in HU, or the directory of a DICOM CT series")
      .Type("VOLUME");
  command.Add("--phantom", o.scan.phantom, "which phantom was scanned")
      .OneOf(QualityPhantomNames())
      .ShowDefault();
  command.Add("--scale-mm", o.scale_mm, "scale of the phantom (default: that of simulate)")
      .Range(10.0, 1000.0);
  command
      .Add("--again", o.again,
           "a second scan of it on the same grid: noise power from their difference")
      .Type("VOLUME");
  o.json.AddFlag(command);
  command.Add("--report", o.report, "write an HTML page with curves and pictures").Type("FILE");
  command.Add("--baseline", o.baseline, "compare with this file of an earlier --json").Type("FILE");
  command.Add("--limits", o.limits, "judge by the limits of this file, too: an acceptance test")
      .Type("FILE");
  command
      .Add("--tolerance", o.tolerances,
           "another tolerance for when this scan is the baseline, in the figure's unit or percent")
      .Type("NAME=VALUE|NAME=N%");
  AddServerPart(command, o);
  command.Does([options] { return Qa(*options); });
}

}  // namespace isocenter::cli
