#include "kernels/cuda/fanbeam/backproject.cuh"

namespace isocenter::cuda {

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectPolynomial(
    CudaSession& session) {
  return std::make_unique<FanBackproject<float, FanAngles::kPolynomial, false>>(session);
}

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectPlain(
    CudaSession& session) {
  return std::make_unique<FanBackproject<float, FanAngles::kLibrary, false>>(session);
}

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectDouble(
    CudaSession& session) {
  return std::make_unique<FanBackproject<double, FanAngles::kLibrary, false>>(session);
}

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectTexture(
    CudaSession& session) {
  return std::make_unique<FanBackproject<float, FanAngles::kLibrary, true>>(session);
}

int64_t FanBeamBackprojectBytes(const ops::Extents& extents) {
  return FanBackproject<double, FanAngles::kLibrary, false>::Bytes(extents);
}

int64_t FanBeamBackprojectTextureBytes(const ops::Extents& extents) {
  return FanBackproject<float, FanAngles::kLibrary, true>::Bytes(extents);
}

}  // namespace isocenter::cuda
