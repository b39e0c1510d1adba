#include "kernels/cpu/corrections/coarse_frames.h"

#include <algorithm>

#include "kernels/cpu/corrections/block_rows.h"

namespace isocenter::cpu {
namespace {

int64_t FloatsOfThread(const BlockGrid& grid, int fields, int64_t row_floats) {
  return std::max(fields * grid.floats(), row_floats);
}

}  // namespace

int64_t CoarseFrames::Bytes(const ops::Device& device, const Detector& detector, int fields,
                            int64_t views) {
  const BlockGrid grid(detector);
  const int64_t of_thread = FloatsOfThread(grid, fields, RowFloats(grid));
  return (views * grid.floats() + device.limits().threads * of_thread) *
         static_cast<int64_t>(sizeof(float));
}

absl::Status CoarseFrames::Run(int64_t views, const Solve& solve, const Take& take, Stack& frames) {
  const int64_t of_thread = FloatsOfThread(grid_, fields_, RowFloats(grid_));
  // For the largest number of views at once: growing would take more than was stated.
  const int64_t of_views = frames.shape().slow * grid_.floats();
  ISO_RETURN_IF_ERROR(
      DeviceMemory::Reserve(budget_, of_views + pool_->threads() * of_thread, memory_));
  const std::function<float*(int)> work = [&](int worker) {
    return memory_->data() + of_views + worker * of_thread;
  };
  FindMeans(views, frames, work);
  pool_->ParallelFor(views,
                     [&](int64_t view, int worker) { solve(view, blocks(view), work(worker)); });
  TakeOff(views, take, frames, work);
  return absl::OkStatus();
}

void CoarseFrames::FindMeans(int64_t views, const Stack& frames,
                             const std::function<float*(int)>& work) {
  const RowLayout layout(frames.shape());
  pool_->ParallelFor(views * grid_.rows, [&](int64_t index, int worker) {
    const int64_t view = index / grid_.rows;
    const int row = static_cast<int>(index % grid_.rows), first = row * ops::kCoarseBlock;
    BlockMeans(frames.data() + view * layout.view_stride + first * layout.row_stride,
               layout.row_stride, std::min(ops::kCoarseBlock, detector_.rows - first),
               detector_.columns, work(worker), blocks(view) + row * grid_.stride);
  });
}

void CoarseFrames::TakeOff(int64_t views, const Take& take, Stack& frames,
                           const std::function<float*(int)>& work) {
  const RowLayout layout(frames.shape());
  pool_->ParallelFor(views * grid_.rows, [&](int64_t index, int worker) {
    const int64_t view = index / grid_.rows;
    const int first = static_cast<int>(index % grid_.rows) * ops::kCoarseBlock;
    float* const interpolated = work(worker);
    float* const blended = interpolated + grid_.pixels();
    for (int v = first; v < std::min(first + ops::kCoarseBlock, detector_.rows); ++v) {
      InterpolateRow(grid_, blocks(view), v, blended, interpolated);
      take(view, interpolated + ops::kCoarseBlock / 2,
           frames.data() + view * layout.view_stride + v * layout.row_stride);
    }
  });
}

}  // namespace isocenter::cpu
