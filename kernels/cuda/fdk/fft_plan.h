// Transforms by cuFFT. Its library is ten times as large as everything else together and needed for
// very wide rows only, so it is not linked but opened when it is first used.
#pragma once

#include <cuda_runtime_api.h>
#include <cufft.h>

#include <utility>

#include "absl/status/statusor.h"

namespace isocenter::cuda {

struct CufftLibrary;

/// A batched one-dimensional transform of real rows.
class FftPlan {
 public:
  /// `type` is CUFFT_R2C or CUFFT_C2R; rows of `n` reals, stored densely, to or from n/2+1 complex
  /// values, on `stream`. Errors: FAILED_PRECONDITION (the library is not installed; its name),
  /// RESOURCE_EXHAUSTED, INTERNAL.
  static absl::StatusOr<FftPlan> Create(int n, int batch, cufftType type, cudaStream_t stream);
  FftPlan(FftPlan&& other) noexcept
      : library_(std::exchange(other.library_, nullptr)), plan_(other.plan_) {}
  FftPlan& operator=(FftPlan&&) = delete;
  ~FftPlan();

  /// Not normalised. The input of the second is overwritten.
  absl::Status Forward(float* reals, cufftComplex* spectrum) const;
  absl::Status Inverse(cufftComplex* spectrum, float* reals) const;

 private:
  FftPlan(const CufftLibrary* library, cufftHandle plan) : library_(library), plan_(plan) {}
  const CufftLibrary* library_;  // null once moved from
  cufftHandle plan_;
};

}  // namespace isocenter::cuda
