// What corrections on blocks have in common: from frames to blocks and back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "kernels/base/thread_pool.h"
#include "kernels/cpu/corrections/block_grid.h"
#include "kernels/cpu/device/buffers.h"
#include "kernels/cpu/device/session.h"
#include "kernels/ops/device.h"

namespace isocenter::cpu {

/// Keeps the device's threads alive.
class CoarseFrames {
 public:
  /// Each thread gets room for `fields` values for each block, to work with.
  CoarseFrames(const CpuSession& session, const Detector& detector, int fields)
      : pool_(session.pool()),
        budget_(session.budget()),
        detector_(detector),
        grid_(detector),
        fields_(fields) {}

  /// Device memory that it takes for stacks of up to `views`.
  static int64_t Bytes(const ops::Device& device, const Detector& detector, int fields,
                       int64_t views);

  const BlockGrid& grid() const { return grid_; }

  /// For the first `views` of the stack: solve(view, blocks, work) finds from the means of a
  /// view's blocks, in place, what is to be taken off, and is called once for each view;
  /// take(view, interpolated, pixels) takes it off a row of pixels. Errors: RESOURCE_EXHAUSTED.
  using Solve = std::function<void(int64_t view, float* blocks, float* work)>;
  using Take = std::function<void(int64_t view, const float* interpolated, float* pixels)>;
  absl::Status Run(int64_t views, const Solve& solve, const Take& take, Stack& frames);

 private:
  // Rows of one thread: sums or interpolated pixels, and blended blocks.
  static int64_t RowFloats(const BlockGrid& grid) { return grid.pixels() + grid.stride; }
  float* blocks(int64_t view) { return memory_->data() + view * grid_.floats(); }
  void FindMeans(int64_t views, const Stack& frames, const std::function<float*(int)>& work);
  void TakeOff(int64_t views, const Take& take, Stack& frames,
               const std::function<float*(int)>& work);

  const std::shared_ptr<ThreadPool> pool_;
  const std::shared_ptr<ops::MemoryBudget> budget_;
  const Detector detector_;
  const BlockGrid grid_;
  const int fields_;
  std::optional<DeviceMemory> memory_;  // blocks of each view, then what each thread works with
};

}  // namespace isocenter::cpu
