#include <cfloat>
#include <cstdint>

#include "kernels/cuda/corrections/medians.cuh"
#include "kernels/cuda/corrections/second_pass_methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

constexpr int kThreads = 256;

// Columns at both ends of a row have no pairs.
constexpr int kMargin = 2 * ops::kStripePairs;

// A thread has one pixel of one view: what is not the median of pairs around it.
__global__ void HighPassKernel(const float* frames, int pixels, int columns, float* high) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel >= pixels) return;
  const int u = pixel % columns;
  if (min(u, columns - 1 - u) < kMargin) return;
  const int64_t at = static_cast<int64_t>(blockIdx.y) * pixels + pixel;
  const float* const p = frames + at;
  float pairs[ops::kStripePairs];
#pragma unroll
  for (int n = 0; n < ops::kStripePairs; ++n) {
    const int k = n + 1;
    pairs[n] = (4 * (p[-k] + p[k]) - (p[-2 * k] + p[2 * k])) / 6;
  }
  high[at] = *p - MedianOf(pairs);
}

// The lower median of `count` values that are `stride` apart, bit by bit.
__device__ float MedianOfColumn(const float* values, int count, int64_t stride) {
  uint32_t key = 0;
  for (uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
    int below = 0;
    for (int i = 0; i < count; ++i) below += KeyOf(values[i * stride]) < (key | bit);
    // The median is at least `key` with the bit if no more than its rank are below that.
    if (below <= (count - 1) / 2) key |= bit;
  }
  return ValueOf(key);
}

// A thread has one pixel of all views: its stripe is taken off each.
__global__ void TakeOffKernel(const float* high, int pixels, int columns, int views,
                              float* frames) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel >= pixels) return;
  const int u = pixel % columns;
  if (min(u, columns - 1 - u) < kMargin) return;
  float least = FLT_MAX, low = FLT_MAX, most = -FLT_MAX, highest = -FLT_MAX;
  for (int part = 0; part < ops::kStripeParts; ++part) {
    const int begin = part * views / ops::kStripeParts;
    const int end = (part + 1) * views / ops::kStripeParts;
    const float median =
        MedianOfColumn(high + static_cast<int64_t>(begin) * pixels + pixel, end - begin, pixels);
    // The second smallest and the second largest.
    low = fminf(low, fmaxf(least, median));
    least = fminf(least, median);
    highest = fmaxf(highest, fminf(most, median));
    most = fmaxf(most, median);
  }
  const float stripe =
      Believed(low > 0 ? low : fminf(highest, 0.f), static_cast<float>(ops::kMostStripe));
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
    if (shape.slow < ops::kStripeParts) return absl::OkStatus();
    const int pixels = static_cast<int>(shape.middle * shape.fast);
    const int columns = static_cast<int>(shape.fast);
    const int views = static_cast<int>(shape.slow);
    const unsigned blocks = (pixels + kThreads - 1) / kThreads;
    const dim3 frames_grid(blocks, static_cast<unsigned>(views));
    for (int pass = 0; pass < ops::kStripePasses; ++pass) {
      HighPassKernel<<<frames_grid, kThreads, 0, session_.stream()>>>(stack->data(), pixels,
                                                                      columns, high_.data());
      ISO_RETURN_IF_ERROR(ToStatus(cudaGetLastError(), "HighPassKernel"));
      TakeOffKernel<<<blocks, kThreads, 0, session_.stream()>>>(high_.data(), pixels, columns,
                                                                views, stack->data());
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
