#include "kernels/recon/trace.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"

namespace isocenter::recon {
namespace {

using ops::Stage;

double& SecondsFor(StageSeconds& seconds, Stage stage) {
  switch (stage) {
    case Stage::kUpload:
      return seconds.upload;
    case Stage::kPreprocess:
      return seconds.preprocess;
    case Stage::kFilter:
      return seconds.filter;
    case Stage::kBackproject:
      return seconds.backproject;
    case Stage::kHounsfield:
      return seconds.hounsfield;
    case Stage::kForwardProject:
      return seconds.forward_project;
    default:
      return seconds.download;
  }
}

double BusySeconds(const std::vector<DeviceSpan>& trace) {
  std::vector<std::pair<double, double>> spans;
  for (const DeviceSpan& entry : trace) spans.emplace_back(entry.span.begin, entry.span.end);
  std::sort(spans.begin(), spans.end());
  double busy = 0, end = spans.empty() ? 0 : spans.front().first;
  for (const auto& [begin, last] : spans) {
    busy += std::max(0.0, last - std::max(begin, end));
    end = std::max(end, last);
  }
  return busy;
}

struct Lane {
  int id;
  const char* name;
};

Lane LaneOf(Stage stage) {
  if (stage == Stage::kUpload) return {1, "uploads"};
  if (stage == Stage::kDownload) return {3, "downloads"};
  return {2, "kernels"};
}

std::string Metadata(const char* what, int process, int thread, const std::string& name) {
  return absl::StrFormat(R"({"name":"%s","ph":"M","pid":%d,"tid":%d,"args":{"name":"%s"}})", what,
                         process, thread, name);
}

double Start(const std::vector<DeviceSpan>& trace) {
  double start = trace.empty() ? 0 : trace.front().span.begin;
  for (const DeviceSpan& entry : trace) start = std::min(start, entry.span.begin);
  return start;
}

}  // namespace

StageSeconds SecondsOf(const std::vector<DeviceSpan>& trace) {
  std::map<int, StageSeconds> devices;
  for (const DeviceSpan& entry : trace) {
    SecondsFor(devices[entry.device], entry.span.stage) += entry.span.end - entry.span.begin;
  }
  StageSeconds all{.busy = BusySeconds(trace)};
  for (auto& [device, own] : devices) {
    for (const Stage stage :
         {Stage::kUpload, Stage::kPreprocess, Stage::kFilter, Stage::kBackproject,
          Stage::kHounsfield, Stage::kDownload, Stage::kForwardProject}) {
      double& most = SecondsFor(all, stage);
      most = std::max(most, SecondsFor(own, stage));
    }
  }
  return all;
}

absl::Time BeginOf(const std::vector<DeviceSpan>& trace) {
  return absl::Now() - absl::Seconds(ops::SteadySeconds() - Start(trace));
}

std::string ChromeTrace(const std::vector<DeviceSpan>& trace, absl::string_view plan,
                        absl::Time began) {
  std::vector<std::string> events;
  std::map<int, bool> named;
  const double start = Start(trace);
  std::map<std::pair<int, Stage>, int> count;
  for (const DeviceSpan& entry : trace) {
    if (!std::exchange(named[entry.device], true)) {
      events.push_back(
          Metadata("process_name", entry.device, 0, absl::StrCat("device ", entry.device)));
      for (const Stage stage : {Stage::kUpload, Stage::kFilter, Stage::kDownload}) {
        const Lane lane = LaneOf(stage);
        events.push_back(Metadata("thread_name", entry.device, lane.id, lane.name));
      }
    }
    const ops::Span& span = entry.span;
    events.push_back(absl::StrFormat(
        R"({"name":"%s","ph":"X","pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{"index":%d}})",
        absl::string_view(ops::Name(span.stage).data(), ops::Name(span.stage).size()), entry.device,
        LaneOf(span.stage).id, (span.begin - start) * 1e6, (span.end - span.begin) * 1e6,
        count[{entry.device, span.stage}]++));
  }
  // A plan's text has no quotes.
  std::string json = absl::StrCat("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"plan\":\"",
                                  absl::StrReplaceAll(plan, {{"\n", "\\n"}}), "\"");
  if (began != absl::InfinitePast()) {
    absl::StrAppend(&json, ",\"begin_unix_us\":", absl::ToUnixMicros(began));
  }
  absl::StrAppend(&json, "},\"traceEvents\":[\n");
  for (size_t i = 0; i < events.size(); ++i) {
    absl::StrAppend(&json, events[i], i + 1 < events.size() ? ",\n" : "\n");
  }
  return json + "]}\n";
}

}  // namespace isocenter::recon
