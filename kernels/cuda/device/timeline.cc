#include "kernels/cuda/device/timeline.h"

#include <algorithm>
#include <utility>

namespace isocenter::cuda {

absl::StatusOr<EventTimeline> EventTimeline::Create(int ordinal, cudaStream_t main_stream) {
  ISO_ASSIGN_OR_RETURN(Event origin, Event::Create(cudaEventDefault));
  ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(origin.get(), main_stream));
  ISO_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(origin.get()));
  return EventTimeline(ordinal, main_stream, std::move(origin), ops::SteadySeconds());
}

void EventTimeline::Begin(ops::Stage stage) {
  MakeCurrent();
  open_ = BeginIn(stage, main_stream_);
}

void EventTimeline::End() {
  MakeCurrent();
  EndIn(open_, main_stream_);
  open_ = kNone;
}

size_t EventTimeline::BeginIn(ops::Stage stage, cudaStream_t stream) {
  absl::StatusOr<Event> begin = Event::Create(cudaEventDefault);
  absl::StatusOr<Event> end = Event::Create(cudaEventDefault);
  status_.Update(begin.status());
  status_.Update(end.status());
  if (!status_.ok()) return pairs_.size();
  status_.Update(ToStatus(cudaEventRecord(begin->get(), stream), "cudaEventRecord"));
  pairs_.push_back({stage, *std::move(begin), *std::move(end)});
  return pairs_.size() - 1;
}

void EventTimeline::BeginNow() {
  if (open_ >= pairs_.size()) return;
  status_.Update(
      ToStatus(cudaEventRecord(pairs_[open_].begin.get(), main_stream_), "cudaEventRecord"));
}

void EventTimeline::EndIn(size_t span, cudaStream_t stream) {
  if (span >= pairs_.size()) return;  // its events could not be made
  status_.Update(ToStatus(cudaEventRecord(pairs_[span].end.get(), stream), "cudaEventRecord"));
}

absl::StatusOr<std::vector<ops::Span>> EventTimeline::Take() {
  MakeCurrent();
  const std::vector<Pair> pairs = std::exchange(pairs_, {});
  ISO_RETURN_IF_ERROR(std::exchange(status_, absl::OkStatus()));
  const auto seconds = [this](const Event& event) -> absl::StatusOr<double> {
    ISO_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(event.get()));
    float milliseconds = 0;
    ISO_RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&milliseconds, origin_.get(), event.get()));
    return origin_seconds_ + 1e-3 * milliseconds;
  };
  std::vector<ops::Span> spans;
  for (const Pair& pair : pairs) {
    ISO_ASSIGN_OR_RETURN(const double begin, seconds(pair.begin));
    ISO_ASSIGN_OR_RETURN(const double end, seconds(pair.end));
    spans.push_back({pair.stage, begin, end});
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const ops::Span& a, const ops::Span& b) { return a.begin < b.begin; });
  return spans;
}

}  // namespace isocenter::cuda
