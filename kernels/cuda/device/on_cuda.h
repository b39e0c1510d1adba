// From a function that takes a CudaSession to a factory of the registry.
#pragma once

#include <utility>

#include "kernels/cuda/device/session.h"
#include "kernels/ops/registry.h"

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

/// What the registry asks a method to state, from a function of the largest arguments alone.
template <class Bytes>
auto Taking(Bytes bytes) {
  return [bytes](const ops::Device&, const ops::Extents& extents, const auto&... spec) {
    return bytes(extents, spec...);
  };
}

}  // namespace isocenter::cuda
