#include <algorithm>
#include <cmath>

#include "kernels/cuda/corrections/methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

constexpr int kCoefficients = 6;
constexpr int kThreads = 256;
constexpr int kPixelsOfThread = 4;  // in flight at once

// c[0] p + c[1] p² + ...: as many terms as there may be, so that they stay in registers.
struct Polynomial {
  float c[kCoefficients] = {1.f};
};

__global__ __launch_bounds__(kThreads) void LinearizeKernel(Polynomial water, const float* doses,
                                                            float least, int pixels,
                                                            float* frames) {
  const int view = static_cast<int>(blockIdx.y);
  const int first = static_cast<int>(blockIdx.x) * kThreads * kPixelsOfThread + threadIdx.x;
  float* const frame = frames + static_cast<int64_t>(view) * pixels;
  const float per_dose = 1 / doses[view];
  float values[kPixelsOfThread];
#pragma unroll
  for (int k = 0; k < kPixelsOfThread; ++k) {
    const int pixel = first + k * kThreads;
    values[k] = pixel < pixels ? frame[pixel] : 1.f;
  }
#pragma unroll
  for (int k = 0; k < kPixelsOfThread; ++k) {
    const int pixel = first + k * kThreads;
    const float ratio = values[k] * per_dose;
    const float p = -logf(ratio < INFINITY ? fmaxf(ratio, least) : least);
    float sum = water.c[kCoefficients - 1];
#pragma unroll
    for (int n = kCoefficients - 2; n >= 0; --n) sum = fmaf(sum, p, water.c[n]);
    if (pixel < pixels) frame[pixel] = sum * p;
  }
}

class Linearize final : public ops::Linearize {
 public:
  Linearize(CudaSession& session, const ops::Calibration& calibration) : session_(session) {
    const auto& coefficients = calibration.water.coefficient;
    std::copy(coefficients.begin(), coefficients.end(), water_.c);
  }

 private:
  absl::Status DoRun(int64_t views, const ops::ProjectionStack& doses,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* dose, AsStack(doses));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    if (views == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int pixels = static_cast<int>(stack->shape().middle * stack->shape().fast);
    constexpr int kPixelsOfBlock = kThreads * kPixelsOfThread;
    const dim3 grid((pixels + kPixelsOfBlock - 1) / kPixelsOfBlock, static_cast<unsigned>(views));
    LinearizeKernel<<<grid, kThreads, 0, session_.stream()>>>(
        water_, dose->data(), static_cast<float>(std::exp(-ops::kLongestLineIntegral)), pixels,
        stack->data());
    return ToStatus(cudaGetLastError(), "LinearizeKernel");
  }

  CudaSession& session_;
  Polynomial water_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Linearize>> NewLinearize(CudaSession& session,
                                                             const ops::Calibration& calibration) {
  return std::make_unique<Linearize>(session, calibration);
}

}  // namespace isocenter::cuda
