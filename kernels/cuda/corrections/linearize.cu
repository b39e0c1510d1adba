#include <cmath>

#include "kernels/cuda/corrections/methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

struct Polynomial {
  int coefficients = 0;  // none: p
  float coefficient[6] = {};
};

__global__ void LinearizeKernel(Polynomial water, const float* doses, float least, int pixels,
                                float* frames) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  const int view = blockIdx.y;
  if (pixel >= pixels) return;
  float& value = frames[static_cast<int64_t>(view) * pixels + pixel];
  const float ratio = value / doses[view];
  const float p = -logf(isfinite(ratio) ? fmaxf(ratio, least) : least);
  if (water.coefficients == 0) {
    value = p;
    return;
  }
  float sum = 0;
  for (int n = water.coefficients - 1; n >= 0; --n) sum = fmaf(sum, p, water.coefficient[n]);
  value = sum * p;
}

class Linearize final : public ops::Linearize {
 public:
  Linearize(CudaSession& session, const ops::Calibration& calibration) : session_(session) {
    for (const double coefficient : calibration.water.coefficient) {
      water_.coefficient[water_.coefficients++] = static_cast<float>(coefficient);
    }
  }

 private:
  absl::Status DoRun(int64_t views, const ops::ProjectionStack& doses,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* dose, AsStack(doses));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    if (views == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int pixels = static_cast<int>(stack->shape().middle * stack->shape().fast);
    const dim3 grid((pixels + 255) / 256, static_cast<unsigned>(views));
    LinearizeKernel<<<grid, 256, 0, session_.stream()>>>(
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
