#include <cfloat>
#include <cstdint>

#include "kernels/cuda/corrections/medians.cuh"
#include "kernels/cuda/corrections/second_pass_methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

constexpr int kThreads = 256;

// A thread has one pixel of one view: what is not the median of pairs around it. Beyond the row the
// numbers that leave the lower median of the others where it is: by turns the smallest and the
// largest.
__global__ void HighPassKernel(const float* frames, int pixels, int columns, float* high) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel >= pixels) return;
  const int64_t frame = static_cast<int64_t>(blockIdx.y) * pixels;
  const int u = pixel % columns;
  const float* const row = frames + frame + (pixel - u);
  const int pairs = min(u, columns - 1 - u);
  float means[ops::kStripeReach];
#pragma unroll
  for (int n = 0; n < ops::kStripeReach; ++n) {
    if (n < pairs) {
      means[n] = 0.5f * (row[u - n - 1] + row[u + n + 1]);
    } else {
      means[n] = (n - pairs) % 2 == 0 ? -FLT_MAX : FLT_MAX;
    }
  }
  high[frame + pixel] = pairs == 0 ? 0.f : row[u] - MedianOf(means);
}

// A thread has one pixel of all views: their lower median, bit by bit, is taken off each.
__global__ void TakeOffKernel(const float* high, int pixels, int views, float* frames) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel >= pixels) return;
  uint32_t key = 0;
  for (uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
    int below = 0;
    for (int view = 0; view < views; ++view) {
      below += KeyOf(high[static_cast<int64_t>(view) * pixels + pixel]) < (key | bit);
    }
    // The median is at least `key` with the bit if no more than its rank are below that.
    if (below <= (views - 1) / 2) key |= bit;
  }
  const float stripe = Believed(ValueOf(key), static_cast<float>(ops::kMostStripe));
  for (int view = 0; view < views; ++view) {
    frames[static_cast<int64_t>(view) * pixels + pixel] -= stripe;
  }
}

class RemoveStripes final : public ops::RemoveStripes {
 public:
  explicit RemoveStripes(CudaSession& session) : session_(session) {}

 private:
  absl::Status DoRun(ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const Shape3 shape = stack->shape();
    ISO_RETURN_IF_ERROR(high_.Reserve(session_.memory(), shape.count()));
    const int pixels = static_cast<int>(shape.middle * shape.fast);
    const int views = static_cast<int>(shape.slow);
    const unsigned blocks = (pixels + kThreads - 1) / kThreads;
    const dim3 frames_grid(blocks, static_cast<unsigned>(views));
    for (int pass = 0; pass < ops::kStripePasses; ++pass) {
      HighPassKernel<<<frames_grid, kThreads, 0, session_.stream()>>>(
          stack->data(), pixels, static_cast<int>(shape.fast), high_.data());
      ISO_RETURN_IF_ERROR(ToStatus(cudaGetLastError(), "HighPassKernel"));
      TakeOffKernel<<<blocks, kThreads, 0, session_.stream()>>>(high_.data(), pixels, views,
                                                                stack->data());
      ISO_RETURN_IF_ERROR(ToStatus(cudaGetLastError(), "TakeOffKernel"));
    }
    return absl::OkStatus();
  }

  CudaSession& session_;
  DeviceBuffer<float> high_;  // [view][v][u]
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RemoveStripes>> NewRemoveStripes(CudaSession& session) {
  return std::make_unique<RemoveStripes>(session);
}

int64_t RemoveStripesBytes(const ops::Extents& extents) {
  return extents.stack.count() * static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cuda
