// From a function that takes a CudaDevice to a factory of the registry.
#pragma once

#include <utility>

#include "kernels/cuda/device/device.h"

namespace isocenter::cuda {

/// Errors: INVALID_ARGUMENT (another backend's).
inline absl::StatusOr<CudaDevice*> AsCuda(ops::Device& device) {
  auto* own = dynamic_cast<CudaDevice*>(&device);
  if (own == nullptr)
    return absl::InvalidArgumentError("the device does not belong to the cuda backend");
  return own;
}

/// The factory that calls `make` with the CudaDevice that the device is.
template <class Make>
auto OnCuda(Make make) {
  return [make](ops::Device& device,
                const auto&... arguments) -> decltype(make(std::declval<CudaDevice&>(),
                                                           arguments...)) {
    ISO_ASSIGN_OR_RETURN(CudaDevice * own, AsCuda(device));
    return make(*own, arguments...);
  };
}

}  // namespace isocenter::cuda
