#include <utility>

#include "kernels/cuda/corrections/methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

struct LagStep {
  float inverse_passed = 1;  // 1 / (1 - Σ share)
  float share[ops::kMostLagTerms] = {};
  float release[ops::kMostLagTerms] = {};
};

constexpr int kFramesAtOnce = 8;

// A thread has one pixel of all frames; what it keeps, [term][pixel], stays in registers meanwhile.
template <int kTerms>
__global__ void LagKernel(LagStep step, int pixels, int views, float* kept, float* frames) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel >= pixels) return;
  float q[kTerms];
#pragma unroll
  for (int n = 0; n < kTerms; ++n) q[n] = kept[static_cast<int64_t>(n) * pixels + pixel];
  for (int first = 0; first < views; first += kFramesAtOnce) {
    float values[kFramesAtOnce];  // all on their way before the first is written back
#pragma unroll
    for (int k = 0; k < kFramesAtOnce; ++k) {
      if (first + k < views) values[k] = frames[int64_t{first + k} * pixels + pixel];
    }
#pragma unroll
    for (int k = 0; k < kFramesAtOnce; ++k) {
      if (first + k == views) break;
      float exposed = values[k];
#pragma unroll
      for (int n = 0; n < kTerms; ++n) exposed = fmaf(-step.release[n], q[n], exposed);
      exposed *= step.inverse_passed;
      frames[int64_t{first + k} * pixels + pixel] = exposed;
#pragma unroll
      for (int n = 0; n < kTerms; ++n) {
        q[n] = fmaf(step.share[n], exposed, fmaf(-step.release[n], q[n], q[n]));
      }
    }
  }
#pragma unroll
  for (int n = 0; n < kTerms; ++n) kept[static_cast<int64_t>(n) * pixels + pixel] = q[n];
}

using Kernel = void (*)(LagStep, int, int, float*, float*);
constexpr Kernel kKernels[ops::kMostLagTerms] = {LagKernel<1>, LagKernel<2>, LagKernel<3>,
                                                 LagKernel<4>, LagKernel<5>, LagKernel<6>,
                                                 LagKernel<7>, LagKernel<8>};

class CorrectLag final : public ops::CorrectLag {
 public:
  CorrectLag(CudaSession& session, const ops::Calibration& calibration, DeviceBuffer<float> kept)
      : ops::CorrectLag(calibration.detector),
        session_(session),
        terms_(static_cast<int>(calibration.lag.size())),
        kept_(std::move(kept)) {
    double passed = 1;
    for (int n = 0; n < terms_; ++n) {
      step_.share[n] = static_cast<float>(calibration.lag[n].share);
      step_.release[n] = static_cast<float>(calibration.lag[n].release);
      passed -= calibration.lag[n].share;
    }
    step_.inverse_passed = static_cast<float>(1 / passed);
  }

  absl::Status Restart() override {
    if (terms_ == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    return ToStatus(cudaMemsetAsync(kept_.data(), 0, kept_.bytes(), session_.stream()),
                    "cudaMemsetAsync");
  }

 private:
  absl::Status DoRun(int64_t views, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    if (terms_ == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int pixels = detector().rows * detector().columns;
    kKernels[terms_ - 1]<<<(pixels + 255) / 256, 256, 0, session_.stream()>>>(
        step_, pixels, static_cast<int>(views), kept_.data(), stack->data());
    return ToStatus(cudaGetLastError(), "LagKernel");
  }

  CudaSession& session_;
  const int terms_;
  LagStep step_;
  const DeviceBuffer<float> kept_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::CorrectLag>> NewCorrectLag(
    CudaSession& session, const ops::Calibration& calibration) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  DeviceBuffer<float> kept;
  if (!calibration.lag.empty()) {
    const int64_t pixels = int64_t{calibration.detector.rows} * calibration.detector.columns;
    ISO_ASSIGN_OR_RETURN(
        kept, DeviceBuffer<float>::Create(session.memory(), calibration.lag.size() * pixels));
  }
  auto correction = std::make_unique<CorrectLag>(session, calibration, std::move(kept));
  ISO_RETURN_IF_ERROR(correction->Restart());
  return correction;
}

int64_t CorrectLagBytes(const ops::Extents&, const ops::Calibration& calibration) {
  const int64_t pixels = int64_t{calibration.detector.rows} * calibration.detector.columns;
  return static_cast<int64_t>(calibration.lag.size()) * pixels * int64_t{sizeof(float)};
}

}  // namespace isocenter::cuda
