#include "server/traces/job_spans.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/crypto/digests.h"
#include "server/traces/trace_context.h"

namespace isocenter::traces {
namespace {

using jobs::Job;
using jobs::JobState;

// The same for the same piece of the same job.
std::string PieceId(absl::string_view job_id, absl::string_view piece) {
  return crypto::Sha256Hex(absl::StrCat("span of ", piece, " of job ", job_id)).substr(0, 16);
}

std::optional<TraceContext> SampledContext(const Job& job) {
  std::optional<TraceContext> context = ParseTraceParent(job.trace_parent);
  if (context && !context->sampled) context.reset();
  return context;
}

const char* NameOf(const Job& job) {
  if (jobs::IsSecondPass(job)) return "second pass";
  if (jobs::IsRefinement(job)) return "refinement";
  return jobs::IsAcquisition(job) ? "acquisition" : "subtraction";
}

const char* NameOf(JobState state) {
  switch (state) {
    case JobState::kReceiving:
      return "receive";
    case JobState::kReconstructing:
      return "reconstruct";
    case JobState::kRefining:
      return "refine";
    default:
      return "export";
  }
}

Span WholeOf(const Job& job, const TraceContext& context) {
  Span span{.trace_id = context.trace_id,
            .span_id = JobSpanId(job.id),
            .parent_span_id = job.source_job_ids.empty() ? context.span_id
                                                         : JobSpanId(job.source_job_ids.front()),
            .name = NameOf(job),
            .begin = job.create_time,
            .end = job.end_time,
            .is_request = true};
  // A trace that begins with this job.
  if (span.parent_span_id == span.span_id) span.parent_span_id.clear();
  span.attributes = {{"isocenter.job_id", job.id},
                     {"isocenter.protocol", job.protocol},
                     {"isocenter.station", job.station_name},
                     {"isocenter.state", std::string(Name(job.state))},
                     {"isocenter.frames", int64_t{job.progress.frames_received}},
                     {"isocenter.frames_lost", int64_t{job.progress.frames_lost}}};
  if (job.state == JobState::kCompleted) {
    span.attributes.emplace_back("isocenter.instances", int64_t{job.result.instance_count});
    span.attributes.emplace_back("isocenter.backend", job.result.backend);
    span.attributes.emplace_back("isocenter.kernel_gups", job.result.kernel_gups);
    span.attributes.emplace_back("isocenter.whole_gups", job.result.whole_gups);
  } else {
    // The code alone: a message may name a patient.
    span.error = absl::StatusCodeToString(job.error.code());
  }
  return span;
}

// Of one stage of one device, in microseconds since the first of all.
struct Work {
  double begin = 0, end = 0, busy = 0;
  int64_t pieces = 0;
};
struct DeviceWork {
  absl::Time zero;
  std::map<std::pair<int64_t, std::string>, Work> stages;  // by device and stage
};

// Nothing where the text is no trace, says not when it began, or has a value that is none of its
// type: the file may be damaged, and the library reports that by an exception.
std::optional<DeviceWork> ReadWork(absl::string_view kept_trace) {
  using Json = nlohmann::json;
  try {
    const Json trace = Json::parse(kept_trace);
    const Json& began = trace.at(Json::json_pointer("/otherData/begin_unix_us"));
    DeviceWork work{.zero = absl::FromUnixMicros(began.get_ref<const Json::number_unsigned_t&>())};
    for (const Json& event : trace.at("traceEvents")) {
      if (event.value("ph", "") != "X") continue;
      const double begin = event.at("ts"), length = event.at("dur");
      const std::pair<int64_t, std::string> key(event.at("pid"), event.at("name"));
      Work& of = work.stages.try_emplace(key, Work{begin, begin + length}).first->second;
      of.begin = std::min(of.begin, begin);
      of.end = std::max(of.end, begin + length);
      of.busy += length;
      ++of.pieces;
    }
    return work;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<Span> SpansOf(const Job& job, const std::vector<StateChange>& changes) {
  const std::optional<TraceContext> context = SampledContext(job);
  if (!context) return {};
  std::vector<Span> spans = {WholeOf(job, *context)};
  for (size_t i = 0; i < changes.size(); ++i) {
    if (jobs::HasEnded(changes[i].to)) break;
    const std::string name = NameOf(changes[i].to);
    const absl::Time end = i + 1 < changes.size() ? changes[i + 1].time : job.end_time;
    spans.push_back({.trace_id = context->trace_id,
                     .span_id = PieceId(job.id, absl::StrCat(name, " ", i)),
                     .parent_span_id = spans[0].span_id,
                     .name = name,
                     .begin = changes[i].time,
                     .end = std::max(end, changes[i].time)});
  }
  return spans;
}

std::vector<Span> DeviceSpansOf(const Job& job, const std::vector<Span>& spans,
                                absl::string_view kept_trace) {
  const std::optional<DeviceWork> work = ReadWork(kept_trace);
  if (spans.empty() || !work) return {};
  std::vector<Span> found;
  for (const auto& [key, of] : work->stages) {
    const std::string name = absl::StrCat("device ", key.first, " ", key.second);
    const auto at = [&](double us) { return work->zero + absl::Microseconds(us); };
    // Chunks are computed while frames come: the state that the work began in.
    const auto within = std::ranges::find_if(spans.begin() + 1, spans.end(), [&](const Span& s) {
      return s.begin <= at(of.begin) && at(of.begin) < s.end;
    });
    found.push_back({.trace_id = spans[0].trace_id,
                     .span_id = PieceId(job.id, name),
                     .parent_span_id = within == spans.end() ? spans[0].span_id : within->span_id,
                     .name = name,
                     .begin = at(of.begin),
                     .end = at(of.end),
                     .attributes = {{"isocenter.busy_seconds", of.busy * 1e-6},
                                    {"isocenter.chunks", of.pieces}}});
  }
  return found;
}

std::vector<Span> SendSpanOf(const Job& job, const std::string& destination, int64_t instances,
                             int64_t failed, absl::Time end) {
  const std::optional<TraceContext> context = SampledContext(job);
  if (!context) return {};
  // A job's instances may take several associations; their ends tell them apart.
  Span span{.trace_id = context->trace_id,
            .span_id = PieceId(job.id, absl::StrCat("sending to ", destination, " until ",
                                                    absl::ToUnixNanos(end))),
            .parent_span_id = JobSpanId(job.id),
            .name = absl::StrCat("send to ", destination),
            .begin = std::min(job.end_time, end),
            .end = end,
            .attributes = {{"isocenter.destination", destination},
                           {"isocenter.instances", instances},
                           {"isocenter.instances_failed", failed}}};
  if (failed > 0) span.error = "UNAVAILABLE";
  return {span};
}

}  // namespace isocenter::traces
