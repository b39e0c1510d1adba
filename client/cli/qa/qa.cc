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
#include "client/cli/output/table.h"
#include "client/cli/output/warnings.h"
#include "client/cli/qa/conditions.h"
#include "client/cli/qa/record.h"
#include "client/cli/qa/report.h"
#include "client/cli/qa/study_json.h"
#include "client/flags/wrong_usage.h"
#include "client/formats/destination.h"
#include "client/formats/dicom/series_facts.h"
#include "client/formats/file.h"
#include "client/formats/volume_input.h"
#include "client/job_client.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "kernels/quality/unmeasured_figures.h"

namespace isocenter::cli {
namespace {

using quality::Measure;
using quality::Verdict;

struct Options {
  client::ServerAddress server;
  std::string volume, again, job;
  std::string phantom = "quality";
  std::optional<double> scale_mm;
  std::string report, baseline;
  JsonOutput json;
  std::vector<std::string> tolerances;
  std::string station, protocol;
  bool record = false, as_baseline = false;
};

/// A job's volume, in memory.
class MemorySink : public client::VolumeSink {
 public:
  absl::Status OnGrid(const VolumeGrid& grid) override {
    ISO_RETURN_IF_ERROR(ValidateGrid(grid));
    ISO_RETURN_IF_ERROR(
        CheckAvailableMemory("the volume", static_cast<int64_t>(sizeof(float)) * grid.voxels()));
    volume.grid = grid;
    volume.voxels.reserve(grid.voxels());
    return absl::OkStatus();
  }
  absl::Status OnVoxels(std::span<const float> voxels) override {
    if (static_cast<int64_t>(volume.voxels.size() + voxels.size()) > volume.grid.voxels()) {
      return absl::DataLossError("the server sends more voxels than the grid has");
    }
    volume.voxels.insert(volume.voxels.end(), voxels.begin(), voxels.end());
    return absl::OkStatus();
  }
  formats::Volume volume;
};

/// A scan of the phantom, and how it was made.
struct Scan {
  formats::Volume volume;
  Conditions conditions;
};

/// What a file tells beside what its job does.
absl::Status AddFacts(const Options& options, const formats::VolumeFacts& of_file,
                      Conditions& conditions) {
  formats::VolumeFacts& facts = conditions.facts;
  if (options.job.empty()) {
    facts = of_file;
    return absl::OkStatus();
  }
  // Files of jobs have the job's name as the mark of their frames.
  if (absl::StartsWith(of_file.frames, "job ") && of_file.frames != facts.frames) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.volume, " is of the frames of another job than --job ", options.job,
                     "; legal is the job whose volume it is"));
  }
  facts.filter = of_file.filter;
  facts.tube_voltage_kv = of_file.tube_voltage_kv;
  if (!of_file.calibration.empty()) facts.calibration = of_file.calibration;
  return absl::OkStatus();
}

absl::StatusOr<Scan> Load(const Options& options) {
  Scan scan;
  if (!options.job.empty()) {
    ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                         ServiceOfJob(options.server, options.job));
    const client::JobClient jobs(channel);
    ISO_ASSIGN_OR_RETURN(const v1::Job job, jobs.Get(options.job));
    scan.conditions = ConditionsOf(job);
    if (options.volume.empty()) {
      MemorySink sink;
      ISO_RETURN_IF_ERROR(jobs.DownloadVolume(options.job, sink));
      scan.volume = std::move(sink.volume);
    }
  }
  if (!options.volume.empty()) {
    ISO_ASSIGN_OR_RETURN(scan.volume, formats::ReadVolume(options.volume));
    ISO_RETURN_IF_ERROR(AddFacts(options, scan.volume.facts, scan.conditions));
    std::error_code ignored;
    if (options.job.empty() && std::filesystem::is_directory(options.volume, ignored)) {
      ISO_ASSIGN_OR_RETURN(const formats::SeriesFacts series,
                           formats::ReadSeriesFacts(options.volume));
      scan.conditions.acquired = series.acquired;
    }
  }
  scan.conditions.voxel_mm = scan.volume.grid.spacing;
  scan.conditions.phantom = options.phantom;
  return scan;
}

/// The second scan. Errors: those of reading; FAILED_PRECONDITION for one of the same frames.
absl::StatusOr<formats::Volume> LoadAgain(const Options& options, const Conditions& first) {
  ISO_ASSIGN_OR_RETURN(formats::Volume again, formats::ReadVolume(options.again));
  if (!formats::SameFrames(again.facts, first.facts)) return again;
  return absl::FailedPreconditionError(absl::StrCat(
      "--again ", options.again, " is of the same frames as ",
      options.volume.empty() ? options.job : options.volume, " (", first.facts.frames,
      "): their noise is one, and goes in the difference; needed is a second scan of the phantom, "
      "of frames of its own, reconstructed as the first"));
}

QualityPhantom PhantomOf(const Options& options) {
  return QualityPhantomNamed(options.phantom,
                             options.scale_mm.value_or(DefaultPhantomScaleMm(options.phantom)));
}

absl::Status CheckTolerances(const Options& options) {
  const std::vector<std::string> names = quality::FigureNames(PhantomOf(options));
  for (const std::string& text : options.tolerances) {
    const auto tolerance = quality::ParseTolerance(text);
    if (!tolerance.ok()) return flags::WrongUsage(tolerance.status().message());
    if (std::ranges::find(names, tolerance->name) != names.end()) continue;
    return flags::WrongUsage(absl::StrCat("--tolerance is of '", tolerance->name,
                                          "'; legal is a figure of the phantom ", options.phantom,
                                          DidYouMean(tolerance->name, names)));
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const Options& options) {
  if (!options.volume.empty() && !options.job.empty() && !options.record) {
    return flags::WrongUsage(
        "VOLUME and --job are given; legal is one of them, unless --record says whose volume it "
        "is");
  }
  if (options.volume.empty() && options.job.empty()) {
    return flags::WrongUsage("neither VOLUME nor --job is given; legal is one of them");
  }
  if (options.record && options.job.empty() &&
      (options.station.empty() || options.protocol.empty())) {
    return flags::WrongUsage(
        "--record without a room or protocol; legal is --station and --protocol, or --job");
  }
  if (!options.record && (options.as_baseline || !options.station.empty())) {
    return flags::WrongUsage(
        "--as-baseline, --station and --protocol are for the server; legal is with --record");
  }
  if (!options.baseline.empty() && !options.tolerances.empty()) {
    return flags::WrongUsage(
        "--tolerance beside --baseline; legal is one of them: tolerances are the baseline's, given "
        "when it is made");
  }
  ISO_RETURN_IF_ERROR(CheckTolerances(options));
  const std::vector<std::filesystem::path> inputs = {options.volume, options.again,
                                                     options.baseline};
  ISO_RETURN_IF_ERROR(options.json.Check(inputs));
  if (options.report.empty()) return absl::OkStatus();
  return formats::CheckFileDestination(
      {.flag = "--report", .path = options.report, .endings = {".html", ".htm"}, .inputs = inputs});
}

/// Of a file of an earlier scan.
struct Baseline {
  std::vector<Measure> measures;
  Conditions conditions;
};

/// That of --baseline; none where it is not given.
absl::StatusOr<Baseline> BaselineOf(const Options& options) {
  if (options.baseline.empty()) return Baseline();
  ISO_ASSIGN_OR_RETURN(const std::string text,
                       formats::ReadText(options.baseline, kMostBaselineBytes));
  ISO_ASSIGN_OR_RETURN(std::vector<Measure> measures, ParseBaseline(text, options.baseline));
  return Baseline{std::move(measures), ParseConditions(text)};
}

/// Verdicts against the file, and what differs beside the figures said on stderr.
absl::StatusOr<std::vector<Verdict>> Against(const Baseline& baseline, const Options& options,
                                             const Conditions& conditions,
                                             const std::vector<Measure>& measures) {
  if (baseline.measures.empty()) return std::vector<Verdict>();
  ISO_RETURN_IF_ERROR(
      CheckIsATest(options.baseline, baseline.conditions, baseline.measures, conditions, measures));
  std::vector<Verdict> verdicts = quality::Compare(baseline.measures, measures);
  if (verdicts.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.baseline, ": none of its ", baseline.measures.size(), " figures can be judged: ",
        baseline.measures.front().name, ": ", quality::WhyNotJudged(baseline.measures.front())));
  }
  const std::vector<ConditionChange> changes = Changes(baseline.conditions, conditions);
  std::vector<std::string> warnings;
  for (const ConditionChange& change : changes) {
    warnings.push_back(absl::StrCat(change.text, " (", options.baseline, ")"));
  }
  PrintWarnings(warnings);
  if (const auto untold = Untold(baseline.conditions, conditions); !untold.empty()) {
    std::fprintf(stderr, "isocenter: not told by both the scan and %s, and not compared: %s\n",
                 options.baseline.c_str(), absl::StrJoin(untold, ", ").c_str());
  }
  if (const auto missing = quality::NotInBaseline(baseline.measures, measures); !missing.empty()) {
    std::fprintf(stderr,
                 "isocenter: not in %s, and not judged: %s; a baseline that is made now has them\n",
                 options.baseline.c_str(), absl::StrJoin(missing, ", ").c_str());
  }
  MarkNotComparable(changes, verdicts);
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

/// What is said of a verdict in the table.
const char* WordFor(const Verdict& verdict) {
  if (!verdict.not_comparable.empty()) return "NOT COMPARABLE";
  return verdict.passed() ? "passed" : "NOT PASSED";
}

std::string Table(const std::vector<Measure>& measures, const std::vector<Verdict>& verdicts) {
  std::vector<TableRow> rows = {{"FIGURE", "VALUE"}};
  if (!verdicts.empty()) rows = {{"FIGURE", "VALUE", "BASELINE", "TOLERANCE", "VERDICT"}};
  for (const Measure& measure : measures) {
    TableRow& row =
        rows.emplace_back(TableRow{measure.name, absl::StrFormat("%.5g", measure.value)});
    if (verdicts.empty()) continue;
    const auto verdict = std::ranges::find(verdicts, measure.name, &Verdict::name);
    if (verdict == verdicts.end()) {
      row.insert(row.end(), {"", "", ""});
      continue;
    }
    row.push_back(absl::StrFormat("%.5g", verdict->baseline));
    row.push_back(absl::StrFormat("%.3g", verdict->tolerance));
    row.push_back(WordFor(*verdict));
  }
  for (const Verdict& verdict : verdicts) {
    if (verdict.value) continue;
    rows.push_back({verdict.name, "", absl::StrFormat("%.5g", verdict.baseline),
                    absl::StrFormat("%.3g", verdict.tolerance), "NOT MEASURED"});
  }
  return FormatTable(rows);
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

absl::Status Report(const Options& options, const Scan& scan, const QualityPhantom& phantom,
                    const quality::PhantomStudy& study, const std::vector<Measure>& measures,
                    const std::vector<Verdict>& verdicts,
                    const std::vector<std::pair<std::string, std::string>>& not_judged) {
  const std::string name = options.volume.empty() ? options.job : options.volume;
  nlohmann::ordered_json json = {{"volume", name}, {"phantom", phantom.name}};
  AddTo(json, scan.conditions);
  json["comments"] = nlohmann::ordered_json::array();
  const std::string uncorrected = UncorrectedText(scan.conditions);
  if (!uncorrected.empty()) json["comments"].push_back(uncorrected);
  json["measures"] = ToJson(measures);
  if (!verdicts.empty()) {
    json["passed"] = quality::Passed(verdicts);
    json["verdicts"] = ToJson(verdicts);
  }
  json["not_judged"] = nlohmann::ordered_json::array();
  for (const auto& [figure, why] : not_judged) {
    json["not_judged"].push_back({{"name", figure}, {"why", why}});
  }
  PrintReasons("not judged", not_judged);
  json.update(ToJson(study));
  ISO_RETURN_IF_ERROR(options.json.Report(Table(measures, verdicts), json));
  if (options.report.empty()) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(const std::string html,
                       RenderReport({.volume = name,
                                     .made = absl::Now(),
                                     .comment = uncorrected,
                                     .view = {scan.volume.grid, scan.volume.view()},
                                     .phantom = phantom,
                                     .study = study,
                                     .measures = measures,
                                     .verdicts = verdicts,
                                     .not_judged = not_judged}));
  return formats::WriteText(options.report, html);
}

absl::Status Judge(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> failed, not_comparable;
  for (const Verdict& verdict : verdicts) {
    if (verdict.passed()) continue;
    (verdict.not_comparable.empty() ? failed : not_comparable).push_back(verdict.name);
  }
  if (failed.empty() && not_comparable.empty()) return absl::OkStatus();
  std::string text = "the constancy test is not passed: ";
  if (!failed.empty()) {
    absl::StrAppend(&text, failed.size(), " of ", verdicts.size(),
                    " figures are beyond their tolerance: ", absl::StrJoin(failed, ", "));
  }
  if (!not_comparable.empty()) {
    absl::StrAppend(
        &text, failed.empty() ? "" : "; ", not_comparable.size(), " of ", verdicts.size(),
        " are not comparable, under other conditions: ", absl::StrJoin(not_comparable, ", "));
  }
  return flags::NotPassed(text);
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
  ISO_ASSIGN_OR_RETURN(const Scan scan, Load(options));
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
  std::vector<Measure> measures = quality::MeasuresOf(study);
  ISO_RETURN_IF_ERROR(CheckWater(measures));
  for (const std::string& tolerance : options.tolerances) {
    ISO_RETURN_IF_ERROR(quality::SetTolerance(tolerance, measures));
  }
  if (const std::string text = UncorrectedText(scan.conditions); !text.empty()) {
    std::fprintf(stderr, "isocenter: comment: %s\n", text.c_str());
  }
  ISO_ASSIGN_OR_RETURN(const Baseline baseline, BaselineOf(options));
  ISO_ASSIGN_OR_RETURN(std::vector<Verdict> verdicts,
                       Against(baseline, options, scan.conditions, measures));
  if (options.record) {
    ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                         options.job.empty() ? TheService(options.server)
                                             : ServiceOfJob(options.server, options.job));
    ISO_ASSIGN_OR_RETURN(std::vector<Verdict> judged,
                         Record(channel,
                                {options.station, options.protocol, options.job, options.phantom,
                                 options.as_baseline},
                                scan.conditions, measures, options.json.progress()));
    if (verdicts.empty()) verdicts = std::move(judged);
  }
  PrintReasons("not measured", {study.unmeasured.begin(), study.unmeasured.end()});
  ISO_RETURN_IF_ERROR(Report(options, scan, phantom, study, measures, verdicts,
                             NotJudged(baseline.measures.empty() ? measures : baseline.measures)));
  return Judge(verdicts);
}

void AddServerPart(flags::Command command, Options& o) {
  command.AddSwitch("--record", o.record,
                    "have the server keep the result, and compare it with the baseline of its room "
                    "and protocol");
  command.AddSwitch("--as-baseline", o.as_baseline,
                    "with --record: later results are compared with this one");
  command.Add("--station", o.station, "with --record: the room (default: the job's)")
      .Type("NAME")
      .Identifier();
  command.Add("--protocol", o.protocol, "with --record: the protocol (default: the job's)")
      .Type("NAME");
  command.Add("--job", o.job, "the job whose volume it is; without VOLUME, it is fetched")
      .Type("JOB");
  AddServerFlags(command, o.server);
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
      "  isocenter qa --job JOB --record                        against the room's baseline\n"
      "The JSON file of a scan is the baseline of later ones. docs/qa.md has the figures, their\n"
      "definitions and tolerances.");
  command.Add("volume", o.volume, "volume in HU, or the directory of a DICOM CT series")
      .Type("VOLUME");
  command.Add("--phantom", o.phantom, "which phantom was scanned")
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
  command
      .Add("--tolerance", o.tolerances,
           "another tolerance for when this scan is the baseline, in the figure's unit or percent")
      .Type("NAME=VALUE|NAME=N%");
  AddServerPart(command, o);
  command.Does([options] { return Qa(*options); });
}

}  // namespace isocenter::cli
