#include "client/cli/qa/record.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/warnings.h"
#include "client/job_client.h"
#include "client/quality_client.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"

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

/// Of a job; nothing of one that is no longer there.
std::optional<v1::Job> Find(const client::ServiceChannel& channel, const std::string& job) {
  if (job.empty()) return std::nullopt;
  auto found = client::JobClient(channel).Get(job);
  if (!found.ok()) return std::nullopt;
  return *std::move(found);
}

/// The baseline of the request's room and protocol among the newest results.
absl::StatusOr<std::optional<v1::QualityResult>> BaselineOf(const client::ServiceChannel& channel,
                                                            const RecordRequest& request) {
  v1::ListQualityRequest list;
  list.set_station_name(request.station);
  list.set_protocol(request.protocol);
  list.set_max_results(kMostResults);
  if (const auto job = Find(channel, request.job)) {
    if (request.station.empty()) list.set_station_name(job->station_name());
    if (request.protocol.empty()) list.set_protocol(job->protocol());
  }
  ISO_ASSIGN_OR_RETURN(const v1::ListQualityResponse found,
                       client::QualityClient(channel).List(list));
  const auto baseline = std::ranges::find_if(found.result(), [&](const v1::QualityResult& result) {
    return result.baseline() && result.station_name() == list.station_name() &&
           result.protocol() == list.protocol();
  });
  if (baseline == found.result().end()) return std::nullopt;
  return *baseline;
}

/// Those that the server cannot see, and that make its verdicts wrong.
absl::Status CheckChanges(const std::string& baseline,
                          const std::vector<ConditionChange>& changes) {
  using What = ConditionChange::What;
  std::vector<std::string> texts;
  for (const ConditionChange& change : changes) {
    // A set that is lost, or new, is what the room has become.
    if (change.what == What::kCorrected || change.what == What::kSet) continue;
    texts.push_back(change.text);
  }
  if (texts.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("not recorded: ", absl::StrJoin(texts, "; "), " (", baseline,
                   "); legal are the baseline's conditions, or --as-baseline for a new one"));
}

std::vector<Verdict> VerdictsOf(const v1::QualityResult& kept) {
  std::vector<Verdict> verdicts;
  for (const v1::QualityVerdict& verdict : kept.verdict()) {
    verdicts.push_back(
        {.name = verdict.name(),
         .value = verdict.has_value() ? std::optional(verdict.value()) : std::nullopt,
         .baseline = verdict.baseline(),
         .tolerance = verdict.tolerance()});
  }
  return verdicts;
}

}  // namespace

absl::StatusOr<std::vector<Verdict>> Record(const client::ServiceChannel& channel,
                                            const RecordRequest& request,
                                            const Conditions& conditions,
                                            const std::vector<Measure>& measures,
                                            std::FILE* progress) {
  std::vector<ConditionChange> changes;
  if (!request.as_baseline) {
    ISO_ASSIGN_OR_RETURN(const std::optional<v1::QualityResult> baseline,
                         BaselineOf(channel, request));
    if (baseline) {
      Conditions was;
      if (const auto job = Find(channel, baseline->job_id())) was = ConditionsOf(*job);
      was.phantom = baseline->phantom();
      // A room's protocol is the name that both are kept under.
      was.facts.protocol.clear();
      std::vector<Measure> of_baseline;
      for (const v1::QualityMeasure& measure : baseline->measure()) {
        of_baseline.push_back({measure.name(), measure.value(), measure.tolerance()});
      }
      ISO_RETURN_IF_ERROR(CheckIsATest(baseline->id(), was, of_baseline, conditions, measures));
      changes = Changes(was, conditions);
      ISO_RETURN_IF_ERROR(CheckChanges(baseline->id(), changes));
    }
  }
  v1::RecordQualityRequest proto;
  proto.set_station_name(request.station);
  proto.set_protocol(request.protocol);
  proto.set_job_id(request.job);
  proto.set_phantom(request.phantom);
  proto.set_baseline(request.as_baseline);
  for (const Measure& measure : measures) {
    v1::QualityMeasure& each = *proto.add_measure();
    each.set_name(measure.name);
    each.set_value(measure.value);
    each.set_tolerance(measure.tolerance);
  }
  const client::QualityClient service(channel);
  ISO_ASSIGN_OR_RETURN(const v1::QualityResult kept, service.Record(proto));
  std::vector<Verdict> verdicts = VerdictsOf(kept);
  std::fprintf(progress, "recorded as %s of %s, %s%s%s\n", kept.id().c_str(),
               kept.station_name().c_str(), kept.protocol().c_str(),
               kept.baseline()    ? ", which is the baseline"
               : verdicts.empty() ? "; there is no baseline to compare with"
                                  : "",
               FirstOfItsRoom(service, kept.station_name()).c_str());
  std::vector<std::string> texts;
  for (const ConditionChange& change : changes) texts.push_back(change.text);
  PrintWarnings(texts);
  MarkNotComparable(changes, verdicts);
  return verdicts;
}

}  // namespace isocenter::cli
