#include "kernels/ops/timeline.h"

#include <chrono>
#include <utility>

namespace isocenter::ops {

std::string_view Name(Stage stage) {
  switch (stage) {
    case Stage::kUpload:
      return "upload";
    case Stage::kPreprocess:
      return "preprocess";
    case Stage::kFilter:
      return "filter";
    case Stage::kBackproject:
      return "backproject";
    case Stage::kHounsfield:
      return "hounsfield";
    case Stage::kDownload:
      return "download";
    case Stage::kForwardProject:
      return "forward_project";
  }
  return "unknown";
}

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void HostTimeline::Begin(Stage stage) { spans_.push_back({stage, SteadySeconds(), 0}); }

void HostTimeline::End() { spans_.back().end = SteadySeconds(); }

absl::StatusOr<std::vector<Span>> HostTimeline::Take() { return std::exchange(spans_, {}); }

}  // namespace isocenter::ops
