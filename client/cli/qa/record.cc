#include "client/cli/qa/record.h"

#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/warnings.h"
#include "client/quality_client.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/quality_conditions.h"

namespace isocenter::cli {
namespace {

using quality::Measure;
using quality::Verdict;

constexpr int kMostResults = 1000;  // of one answer

/// Said of a room of which the server had kept nothing: its name may be mistyped. Nothing where
/// that cannot be told.
std::string FirstOfItsRoom(const client::QualityClient& service, const std::string& station) {
  v1::ListQualityRequest of_room;
  of_room.set_station_name(station);
  of_room.set_max_results(2);
  const auto results = service.List(of_room);
  if (!results.ok() || results->result_size() != 1) return "";
  v1::ListQualityRequest of_all;
  of_all.set_max_results(kMostResults);
  std::set<std::string> others;
  if (const auto all = service.List(of_all); all.ok()) {
    for (const v1::QualityResult& result : all->result()) others.insert(result.station_name());
  }
  others.erase(station);
  return absl::StrCat("; it is the first record of ", station,
                      DidYouMean(station, {others.begin(), others.end()}));
}

std::vector<Verdict> VerdictsOf(const v1::QualityResult& kept) {
  std::vector<Verdict> verdicts;
  for (const v1::QualityVerdict& verdict : kept.verdict()) {
    verdicts.push_back(
        {.name = verdict.name(),
         .value = verdict.has_value() ? std::optional(verdict.value()) : std::nullopt,
         .baseline = verdict.baseline(),
         .tolerance = verdict.tolerance(),
         .not_comparable = verdict.not_comparable()});
  }
  return verdicts;
}

v1::RecordQualityRequest ToProto(const RecordRequest& request,
                                 const quality::Conditions& conditions,
                                 const std::vector<Measure>& measures) {
  v1::RecordQualityRequest proto;
  proto.set_station_name(request.station);
  proto.set_protocol(request.protocol);
  proto.set_job_id(request.job);
  proto.set_phantom(conditions.phantom);
  proto.set_baseline(request.as_baseline);
  if (request.as_baseline) proto.set_replaces_id(request.replaces);
  *proto.mutable_conditions() = wire::ToProto(conditions);
  for (const Measure& measure : measures) {
    v1::QualityMeasure& each = *proto.add_measure();
    each.set_name(measure.name);
    each.set_value(measure.value);
    each.set_tolerance(measure.tolerance);
  }
  return proto;
}

std::string KeptText(const v1::QualityResult& kept) {
  std::string text =
      absl::StrCat("recorded as ", kept.id(), " of ", kept.station_name(), ", ", kept.protocol());
  if (kept.baseline()) {
    absl::StrAppend(&text, ", which is the baseline", ReplacedText(kept));
  } else if (kept.verdict().empty()) {
    absl::StrAppend(&text, "; there is no baseline to compare with");
  }
  if (!kept.same_scan_id().empty()) {
    absl::StrAppend(&text, "; it is the scan of ", kept.same_scan_id(),
                    " again: in a trend the newer of both counts");
  }
  return text;
}

/// What the figures alone do not say of the answer.
void PrintNotes(const v1::QualityResult& kept) {
  PrintWarnings(
      std::vector<std::string>(kept.changed_condition().begin(), kept.changed_condition().end()));
  if (!kept.untold_condition().empty()) {
    std::fprintf(stderr,
                 "isocenter: not told by both the scan and the baseline, and not compared: %s\n",
                 absl::StrJoin(kept.untold_condition(), ", ").c_str());
  }
  if (!kept.has_conditions()) {
    PrintWarnings(std::vector<std::string>{
        "the server is older than this program and does not know conditions of scans: its verdicts "
        "are of the figures alone"});
  }
}

}  // namespace

std::string ReplacedText(const v1::QualityResult& result) {
  if (result.replaced_id().empty()) return "";
  std::vector<std::string> failed;
  for (const v1::QualityVerdict& verdict : result.replaced_verdict()) {
    if (!verdict.passed()) failed.push_back(verdict.name());
  }
  const std::string text = absl::StrCat(" in place of ", result.replaced_id());
  if (failed.empty()) return absl::StrCat(text, ", by which it is passed");
  return absl::StrCat(text, ", by which it is not passed: ", absl::StrJoin(failed, ", "));
}

absl::StatusOr<Recorded> Record(const client::ServiceChannel& channel, const RecordRequest& request,
                                const quality::Conditions& conditions,
                                const std::vector<Measure>& measures, std::FILE* progress) {
  const client::QualityClient service(channel);
  const auto kept = service.Record(ToProto(request, conditions, measures));
  if (request.as_baseline && absl::IsFailedPrecondition(kept.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(kept.status().message(), " (--replaces ID names the one that it replaces)"));
  }
  ISO_RETURN_IF_ERROR(kept.status());
  std::fprintf(progress, "%s%s\n", KeptText(*kept).c_str(),
               FirstOfItsRoom(service, kept->station_name()).c_str());
  PrintNotes(*kept);
  Recorded recorded{.verdicts = VerdictsOf(*kept), .conditions = conditions};
  for (const v1::QualityNotJudged& each : kept->not_judged()) {
    recorded.not_judged.emplace_back(each.name(), each.why());
  }
  if (kept->has_conditions()) {
    recorded.conditions = wire::ConditionsFromProto(kept->conditions());
    recorded.conditions.phantom = conditions.phantom;
  }
  recorded.conditions.station = kept->station_name();
  recorded.conditions.protocol = kept->protocol();
  return recorded;
}

}  // namespace isocenter::cli
