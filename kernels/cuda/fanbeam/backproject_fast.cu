// Compiled with the compiler's fast math.
#include "kernels/cuda/fanbeam/backproject.cuh"

namespace isocenter::cuda {

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectFast(
    CudaSession& session) {
  return std::make_unique<FanBackproject<float, FanAngles::kPolynomial, true, FanMath::kFast>>(
      session);
}

}  // namespace isocenter::cuda
