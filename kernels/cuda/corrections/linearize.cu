#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

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

__device__ inline float Value(const Polynomial& water, float p) {
  float sum = water.c[kCoefficients - 1];
#pragma unroll
  for (int n = kCoefficients - 2; n >= 0; --n) sum = fmaf(sum, p, water.c[n]);
  return sum * p;
}

// What hardens a column's beam, and what the polynomial makes of that alone.
struct Hardness {
  float h, of_h;
};

template <bool kHardened>
__global__ __launch_bounds__(kThreads) void LinearizeKernel(Polynomial water, const float* doses,
                                                            float least, int pixels,
                                                            const Hardness* hardness, int columns,
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
    float value;
    if constexpr (kHardened) {
      const Hardness column = hardness[pixel % columns];
      value = Value(water, p + column.h) - column.of_h;
    } else {
      value = Value(water, p);
    }
    if (pixel < pixels) frame[pixel] = value;
  }
}

class Linearize final : public ops::Linearize {
 public:
  Linearize(CudaSession& session, const ops::Calibration& calibration,
            DeviceBuffer<Hardness> hardness)
      : session_(session), hardness_(std::move(hardness)) {
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
    const auto kernel = hardness_.count() > 0 ? LinearizeKernel<true> : LinearizeKernel<false>;
    kernel<<<grid, kThreads, 0, session_.stream()>>>(
        water_, dose->data(), static_cast<float>(std::exp(-ops::kLongestLineIntegral)), pixels,
        hardness_.data(), static_cast<int>(stack->shape().fast), stack->data());
    return ToStatus(cudaGetLastError(), "LinearizeKernel");
  }

  CudaSession& session_;
  Polynomial water_;
  const DeviceBuffer<Hardness> hardness_;  // of the columns; none
};

std::vector<Hardness> HardnessOf(const ops::WaterPolynomial& water) {
  std::vector<Hardness> all;
  for (const float h : water.hardness) {
    double of_h = 0;
    for (size_t n = water.coefficient.size(); n > 0; --n) {
      of_h = (of_h + water.coefficient[n - 1]) * h;
    }
    all.push_back({h, static_cast<float>(of_h)});
  }
  return all;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Linearize>> NewLinearize(CudaSession& session,
                                                             const ops::Calibration& calibration) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  const std::vector<Hardness> hardness = HardnessOf(calibration.water);
  DeviceBuffer<Hardness> on_device;
  if (!hardness.empty()) {
    ISO_ASSIGN_OR_RETURN(on_device,
                         DeviceBuffer<Hardness>::Create(session.memory(), hardness.size()));
    ISO_RETURN_IF_CUDA_ERROR(
        cudaMemcpy(on_device.data(), hardness.data(), on_device.bytes(), cudaMemcpyHostToDevice));
  }
  return std::make_unique<Linearize>(session, calibration, std::move(on_device));
}

int64_t LinearizeBytes(const ops::Extents&, const ops::Calibration& calibration) {
  return static_cast<int64_t>(calibration.water.hardness.size() * sizeof(Hardness));
}

}  // namespace isocenter::cuda
