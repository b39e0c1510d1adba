// isocenter quality: results of qa that the server keeps and follows.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/table.h"
#include "client/cli/qa/conditions.h"
#include "client/cli/qa/record.h"
#include "client/cli/qa/trend.h"
#include "client/job_client.h"
#include "client/quality_client.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/quality_conditions.h"

namespace isocenter::cli {
namespace {

constexpr int kMostResults = 1000;  // of one answer

struct Options {
  client::ServerAddress server;
  std::string station, protocol, measure, id;
  int limit = 100;
  std::optional<int> every_days;
  JsonOutput json;
};

int FailedOf(const v1::QualityResult& result) {
  return static_cast<int>(
      std::count_if(result.verdict().begin(), result.verdict().end(),
                    [](const v1::QualityVerdict& verdict) { return !verdict.passed(); }));
}

std::string VerdictOf(const v1::QualityResult& result) {
  if (result.baseline()) return "baseline";
  if (result.verdict().empty()) return "no baseline";
  const int failed = FailedOf(result);
  if (failed == 0) return "passed";
  const auto incomparable = std::count_if(
      result.verdict().begin(), result.verdict().end(),
      [](const v1::QualityVerdict& verdict) { return !verdict.not_comparable().empty(); });
  if (incomparable == failed) return absl::StrCat(incomparable, " not comparable");
  return absl::StrCat(failed - incomparable, " not passed",
                      incomparable == 0 ? "" : absl::StrCat(", ", incomparable, " not comparable"));
}

std::string Table(const std::vector<v1::QualityResult>& results, const std::string& measure) {
  std::vector<TableRow> rows = {{"ID", "RECORDED", "STATION", "PROTOCOL", "PHANTOM", "VERDICT"}};
  if (!measure.empty()) rows.front().push_back(measure);
  for (const v1::QualityResult& result : results) {
    TableRow& row = rows.emplace_back(TableRow{result.id(), LocalTime(result.record_time()),
                                               result.station_name(), result.protocol(),
                                               result.phantom(), VerdictOf(result)});
    if (measure.empty()) continue;
    row.emplace_back();
    for (const v1::QualityMeasure& each : result.measure()) {
      if (each.name() == measure) row.back() = absl::StrFormat("%.5g", each.value());
    }
  }
  return FormatTable(rows);
}

nlohmann::ordered_json ToJson(const v1::QualityResult& result) {
  nlohmann::ordered_json json = {{"id", result.id()},
                                 {"record_time", JsonTime(result.record_time())},
                                 {"station_name", result.station_name()},
                                 {"protocol", result.protocol()},
                                 {"job_id", result.job_id()},
                                 {"phantom", result.phantom()},
                                 {"baseline", result.baseline()},
                                 {"verdict", VerdictOf(result)}};
  json["measures"] = nlohmann::ordered_json::array();
  for (const v1::QualityMeasure& measure : result.measure()) {
    json["measures"].push_back(
        {{"name", measure.name()}, {"value", measure.value()}, {"tolerance", measure.tolerance()}});
  }
  json["not_passed"] = nlohmann::ordered_json::array();
  json["not_comparable"] = nlohmann::ordered_json::array();
  for (const v1::QualityVerdict& verdict : result.verdict()) {
    if (!verdict.passed()) json["not_passed"].push_back(verdict.name());
    if (!verdict.not_comparable().empty()) json["not_comparable"].push_back(verdict.name());
  }
  if (result.has_conditions()) {
    quality::Conditions conditions = wire::ConditionsFromProto(result.conditions());
    AddTo(json, conditions);
  }
  json["changed_conditions"] = nlohmann::ordered_json::array();
  for (const std::string& change : result.changed_condition()) {
    json["changed_conditions"].push_back(change);
  }
  if (!result.same_scan_id().empty()) json["same_scan_id"] = result.same_scan_id();
  if (!result.replaced_id().empty()) json["replaced_id"] = result.replaced_id();
  return json;
}

/// A figure that none of the results has is a typo rather than one that nobody could measure.
absl::Status CheckMeasure(const v1::ListQualityResponse& found, const std::string& measure) {
  if (measure.empty() || found.result().empty()) return absl::OkStatus();
  std::set<std::string> names;
  for (const v1::QualityResult& result : found.result()) {
    for (const v1::QualityMeasure& each : result.measure()) names.insert(each.name());
  }
  if (names.contains(measure)) return absl::OkStatus();
  const std::vector<std::string> known(names.begin(), names.end());
  return absl::NotFoundError(absl::StrCat("none of the results has --measure '", measure,
                                          "'; legal is one of ", absl::StrJoin(known, ", "),
                                          DidYouMean(measure, known)));
}

absl::Status List(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, AnyService(options.server));
  v1::ListQualityRequest request;
  request.set_station_name(options.station);
  request.set_protocol(options.protocol);
  request.set_max_results(options.limit);
  ISO_ASSIGN_OR_RETURN(const v1::ListQualityResponse found,
                       client::QualityClient(channel).List(request));
  ISO_RETURN_IF_ERROR(CheckMeasure(found, options.measure));
  if (found.result().empty()) std::fputs("isocenter: no result matches\n", stderr);
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const v1::QualityResult& result : found.result()) all.push_back(ToJson(result));
  ISO_RETURN_IF_ERROR(options.json.Report(
      Table({found.result().begin(), found.result().end()}, options.measure), all));
  if (found.truncated()) {
    std::fprintf(stderr, "isocenter: there are more than %d; --limit shows more\n", options.limit);
  }
  return absl::OkStatus();
}

/// What a room owes: figures to act on, and tests that were not made.
std::vector<std::string> Owed(const std::vector<RoomTrend>& rooms, const Options& options) {
  std::vector<std::string> owed;
  for (const RoomTrend& room : rooms) {
    const std::string where = absl::StrCat(room.station, " ", room.protocol);
    std::vector<std::string> outside;
    for (const FigureTrend& figure : room.figures) {
      if (figure.level == ConstancyLevel::kAction) outside.push_back(figure.name);
      if (figure.level == ConstancyLevel::kNotComparable) {
        outside.push_back(absl::StrCat(figure.name, " (not comparable)"));
      }
    }
    if (!outside.empty()) owed.push_back(absl::StrCat(where, ": ", absl::StrJoin(outside, ", ")));
    const double days = absl::ToDoubleHours(absl::Now() - room.latest_time) / 24;
    if (options.every_days && days > *options.every_days) {
      owed.push_back(
          absl::StrFormat("%s: the last test is %.0f days old, where one is due every %d days",
                          where, days, *options.every_days));
    }
  }
  return owed;
}

/// How the scans of results that do not tell it were made, where their jobs are still there.
ScansByJob ScansOf(const client::ServiceChannel& channel, const v1::ListQualityResponse& found) {
  const client::JobClient jobs(channel);
  ScansByJob scans;
  for (const v1::QualityResult& result : found.result()) {
    if (result.has_conditions() || result.job_id().empty() || scans.contains(result.job_id())) {
      continue;
    }
    const auto job = jobs.Get(result.job_id());
    if (!job.ok()) continue;
    quality::Conditions& conditions = scans[result.job_id()] = ConditionsOf(*job);
    // Rooms' results are kept by their protocol, whatever a refinement's is called.
    conditions.protocol.clear();
    if (job->refines_job_id().empty()) continue;
    if (const auto acquired = jobs.Get(job->refines_job_id()); acquired.ok()) {
      conditions.acquired = ConditionsOf(*acquired).acquired;
    }
  }
  return scans;
}

/// What the figures alone do not say of a room.
void PrintNotes(const RoomTrend& room) {
  std::vector<std::string> notes;
  if (room.tests == 1) notes.push_back("no test since the baseline: LATEST is the baseline itself");
  if (room.same_scan > 0) {
    notes.push_back(
        absl::StrCat(room.same_scan, " records are of scans that count already, and left out"));
  }
  if (room.by_record_time > 0) {
    notes.push_back(absl::StrCat("of ", room.by_record_time, " of ", room.tests,
                                 " tests the time is that of the record: no job tells when the "
                                 "scan was made, or under which conditions"));
  }
  for (const std::string& change : room.changes) notes.push_back(change);
  for (const std::string& note : notes) {
    std::fprintf(stderr, "isocenter: %s %s: %s\n", room.station.c_str(), room.protocol.c_str(),
                 note.c_str());
  }
}

absl::Status Trend(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, AnyService(options.server));
  v1::ListQualityRequest request;
  request.set_station_name(options.station);
  request.set_protocol(options.protocol);
  request.set_max_results(kMostResults);
  ISO_ASSIGN_OR_RETURN(const v1::ListQualityResponse found,
                       client::QualityClient(channel).List(request));
  ISO_RETURN_IF_ERROR(CheckMeasure(found, options.measure));
  const std::vector<RoomTrend> rooms = TrendsOf(found.result(), ScansOf(channel, found));
  if (rooms.empty()) {
    return absl::NotFoundError(
        absl::StrCat("none of the ", found.result_size(),
                     " results that match is a baseline; `isocenter qa --record --as-baseline` and "
                     "`isocenter quality baseline ID` make one"));
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const RoomTrend& room : rooms) all.push_back(ToJson(room, options.measure));
  ISO_RETURN_IF_ERROR(options.json.Report(TrendTable(rooms, options.measure), all));
  if (found.truncated()) {
    std::fprintf(stderr, "isocenter: there are more than %d; --station and --protocol choose\n",
                 kMostResults);
  }
  for (const RoomTrend& room : rooms) PrintNotes(room);
  const std::vector<std::string> owed = Owed(rooms, options);
  if (owed.empty()) return absl::OkStatus();
  return flags::NotPassed(absl::StrCat("constancy is not given: ", absl::StrJoin(owed, "; ")));
}

absl::Status SetBaseline(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, TheService(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::QualityResult result,
                       client::QualityClient(channel).SetBaseline(options.id));
  const std::string replaced = ReplacedText(result);
  if (!replaced.empty()) {
    std::fprintf(stderr, "isocenter: %s is the baseline of %s, %s%s\n", result.id().c_str(),
                 result.station_name().c_str(), result.protocol().c_str(), replaced.c_str());
  }
  return options.json.Report(Table({result}, ""), ToJson(result));
}

}  // namespace

void AddQualityCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command =
      program.Subcommand("quality", "Image quality of rooms: results of qa that the server keeps");
  command.Footer(
      "Examples:\n  isocenter quality list --station room1 --measure noise_hu\n  isocenter quality "
      "baseline q1764110000000\n`isocenter qa --record` adds results.");
  flags::Command list = command.Subcommand("list", "List them, newest first");
  AddServerFlags(list, o.server);
  list.Add("--station", o.station, "only of this station").Type("NAME").Identifier();
  list.Add("--protocol", o.protocol, "only of this protocol").Type("NAME");
  list.Add("--measure", o.measure, "also show this figure").Type("NAME");
  list.Add("--limit", o.limit, "at most this many").ShowDefault().Range(1, 1000);
  o.json.AddFlag(list);
  list.Does([options] { return List(*options); });
  flags::Command trend = command.Subcommand(
      "trend", "How the figures of rooms have gone since their baselines; exit code 3: act");
  trend.Footer(
      "Example:\n  isocenter quality trend --station room1 --every-days 31\n"
      "LEVEL: within; watch, from two thirds of the tolerance on; action, beyond it or not "
      "measured; not comparable, where another condition changes the figure; not judged, where a "
      "disc "
      "that is gone would pass. Times are those of the scans, each of which counts once.\nDRIFT is "
      "the line through five "
      "and more tests of a week and more, where it is more than noise; LEAVES, when it leaves the "
      "tolerance.");
  AddServerFlags(trend, o.server);
  trend.Add("--station", o.station, "only of this station").Type("NAME").Identifier();
  trend.Add("--protocol", o.protocol, "only of this protocol").Type("NAME");
  trend.Add("--measure", o.measure, "only this figure").Type("NAME");
  trend
      .Add("--every-days", o.every_days, "how often a test is due: an older one is not passed, too")
      .Range(1, 3650);
  o.json.AddFlag(trend);
  trend.Does([options] { return Trend(*options); });
  flags::Command baseline = command.Subcommand(
      "baseline", "Compare later results of its room and protocol with this one");
  AddServerFlags(baseline, o.server);
  o.json.AddFlag(baseline);
  baseline.Add("id", o.id, "of the result").Required().Type("ID");
  baseline.Does([options] { return SetBaseline(*options); });
}

}  // namespace isocenter::cli
