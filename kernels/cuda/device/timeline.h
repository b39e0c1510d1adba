// The timeline of a session: pairs of events in its streams.
#pragma once

#include <vector>

#include "kernels/cuda/device/owners.h"
#include "kernels/ops/timeline.h"

namespace isocenter::cuda {

class EventTimeline final : public ops::Timeline {
 public:
  /// Begin and End act on `main_stream`, of device `ordinal`, which outlives the timeline. Waits
  /// for it once, to tie the device's clock to the host's.
  static absl::StatusOr<EventTimeline> Create(int ordinal, cudaStream_t main_stream);
  EventTimeline(EventTimeline&&) = default;

  void Begin(ops::Stage stage) override;
  void End() override;
  absl::StatusOr<std::vector<ops::Span>> Take() override;

  /// Moves the begin of the open bracket to here: what came before was waiting.
  void BeginNow();
  /// The same in another stream of the device, which is current: EndIn takes what BeginIn returned.
  size_t BeginIn(ops::Stage stage, cudaStream_t stream);
  void EndIn(size_t span, cudaStream_t stream);

 private:
  static constexpr size_t kNone = ~size_t{0};
  struct Pair {
    ops::Stage stage;
    Event begin, end;
  };
  EventTimeline(int ordinal, cudaStream_t main_stream, Event origin, double origin_seconds)
      : ordinal_(ordinal),
        main_stream_(main_stream),
        origin_(std::move(origin)),
        origin_seconds_(origin_seconds) {}
  /// Events are made for the calling thread's device.
  void MakeCurrent() { status_.Update(ToStatus(cudaSetDevice(ordinal_), "cudaSetDevice")); }

  int ordinal_;
  cudaStream_t main_stream_;
  Event origin_;
  double origin_seconds_;
  std::vector<Pair> pairs_;
  size_t open_ = kNone;
  absl::Status status_;  // the first error since the last Take
};

}  // namespace isocenter::cuda
