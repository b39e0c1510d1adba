// From a function that takes a CudaSession to a factory of the registry.
#pragma once

#include <utility>

#include "kernels/cuda/device/session.h"

namespace isocenter::cuda {

/// Errors: INVALID_ARGUMENT (another backend's).
inline absl::StatusOr<CudaSession*> AsCuda(ops::Session& session) {
  auto* own = dynamic_cast<CudaSession*>(&session);
  if (own == nullptr) return ops::ForeignBuffer("session", "cuda");
  return own;
}

/// The factory that calls `make` with the CudaSession that the session is.
template <class Make>
auto OnCuda(Make make) {
  return [make](ops::Session& session,
                const auto&... arguments) -> decltype(make(std::declval<CudaSession&>(),
                                                           arguments...)) {
    ISO_ASSIGN_OR_RETURN(CudaSession * own, AsCuda(session));
    return make(*own, arguments...);
  };
}

}  // namespace isocenter::cuda
