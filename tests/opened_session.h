// A session for who needs but one of a device.
#pragma once

#include <memory>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/ops/registry.h"

namespace isocenter {

struct OpenedSession {
  std::unique_ptr<ops::Device> device;
  std::unique_ptr<ops::Session> session;

  ops::Session& operator*() const { return *session; }
  ops::Session* operator->() const { return session.get(); }
};

/// Errors: those of Registry::OpenDevice and Device::NewSession.
inline absl::StatusOr<OpenedSession> OpenSession(const ops::Registry& registry,
                                                 absl::string_view backend,
                                                 const ops::DeviceLimits& limits) {
  ISO_ASSIGN_OR_RETURN(auto device, registry.OpenDevice(backend, limits));
  ISO_ASSIGN_OR_RETURN(auto session, device->NewSession());
  return OpenedSession{std::move(device), std::move(session)};
}

}  // namespace isocenter
