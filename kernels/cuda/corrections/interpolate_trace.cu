#include <cstdint>

#include "kernels/cuda/corrections/second_pass_methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

constexpr float kFloor = static_cast<float>(ops::kPriorFloor);

// A thread has one pixel of one frame: whether there is metal within the margin.
__global__ void MarkTraceKernel(const float* metal, float least, int margin, int rows, int columns,
                                uint8_t* hidden) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel >= rows * columns) return;
  const int64_t frame = static_cast<int64_t>(blockIdx.y) * rows * columns;
  const int v = pixel / columns, u = pixel % columns;
  bool found = false;
  for (int y = max(v - margin, 0); y <= min(v + margin, rows - 1); ++y) {
    const float* const row = metal + frame + static_cast<int64_t>(y) * columns;
    for (int x = max(u - margin, 0); x <= min(u + margin, columns - 1); ++x) {
      found |= row[x] > least;
    }
  }
  hidden[frame + pixel] = found;
}

__device__ float Scale(const float* prior, int u) {
  return prior == nullptr ? kFloor : fmaxf(prior[u], 0.f) + kFloor;
}

// A thread has one pixel. It reads pixels outside of the trace alone, which nobody changes.
__global__ void InterpolateTraceKernel(const uint8_t* hidden, const float* prior, int rows,
                                       int columns, float* frames) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel >= rows * columns) return;
  const int64_t row = static_cast<int64_t>(blockIdx.y) * rows * columns + pixel / columns * columns;
  const int u = pixel % columns;
  const uint8_t* const in_trace = hidden + row;
  if (!in_trace[u]) return;
  const float* const expected = prior == nullptr ? nullptr : prior + row;
  float* const p = frames + row;
  int a = u - 1, b = u + 1;
  while (a >= 0 && in_trace[a]) --a;
  while (b < columns && in_trace[b]) ++b;
  if (a < 0 && b == columns) return;
  const float right =
      b < columns ? (p[b] + kFloor) / Scale(expected, b) : (p[a] + kFloor) / Scale(expected, a);
  const float left = a >= 0 ? (p[a] + kFloor) / Scale(expected, a) : right;
  const float step = (right - left) / static_cast<float>(b - a);
  p[u] = Scale(expected, u) * (left + step * static_cast<float>(u - a)) - kFloor;
}

class InterpolateTrace final : public ops::InterpolateTrace {
 public:
  explicit InterpolateTrace(CudaSession& session) : session_(session) {}

 private:
  absl::Status DoRun(int64_t views, const ops::MetalTrace& trace, const ops::ProjectionStack& metal,
                     const ops::ProjectionStack* prior, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* paths, AsStack(metal));
    const Stack* expected = nullptr;
    if (prior != nullptr) {
      ISO_ASSIGN_OR_RETURN(expected, AsStack(*prior));
    }
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    if (views == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const Shape3 shape = stack->shape();
    ISO_RETURN_IF_ERROR(hidden_.Reserve(session_.memory(), shape.count()));
    const int rows = static_cast<int>(shape.middle), columns = static_cast<int>(shape.fast);
    const dim3 grid((rows * columns + 255) / 256, static_cast<unsigned>(views));
    MarkTraceKernel<<<grid, 256, 0, session_.stream()>>>(
        paths->data(), static_cast<float>(trace.least), trace.margin, rows, columns,
        hidden_.data());
    ISO_RETURN_IF_ERROR(ToStatus(cudaGetLastError(), "MarkTraceKernel"));
    InterpolateTraceKernel<<<grid, 256, 0, session_.stream()>>>(
        hidden_.data(), expected == nullptr ? nullptr : expected->data(), rows, columns,
        stack->data());
    return ToStatus(cudaGetLastError(), "InterpolateTraceKernel");
  }

  CudaSession& session_;
  DeviceBuffer<uint8_t> hidden_;  // [view][v][u]
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::InterpolateTrace>> NewInterpolateTrace(CudaSession& session) {
  return std::make_unique<InterpolateTrace>(session);
}

int64_t InterpolateTraceBytes(const ops::Extents& extents) { return extents.stack.count(); }

}  // namespace isocenter::cuda
