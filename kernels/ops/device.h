// One computing device: what it is, what it can hold, and sessions (kernels/ops/session.h), in
// which all its work is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/ops/buffers.h"

namespace isocenter::ops {

class Session;

/// Host memory that a device copies to and from as fast as it can.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  virtual std::byte* data() = 0;
};

/// What is asked of a device that is opened, and what an open one has.
struct DeviceLimits {
  int64_t memory_bytes = 0;
  int threads = 1;  // of the host: its own, or those that may work beside it
  int ordinal = 0;  // which of the backend's devices, from 0
};

/// What a session is for.
struct SessionOptions {
  /// Somebody waits for it: its work goes before that of other sessions of the device where it can,
  /// without stopping what has begun.
  bool urgent = false;
};

/// How a device likes its work.
struct DeviceTraits {
  /// Its memory is not the host's: copies between the two can run beside its other work, and what
  /// does not fit stays in host memory until it is needed.
  bool own_memory = false;
  /// Views that are best filtered and back-projected at once when all are there.
  int chunk_views = 16;
  /// Slices in a row of which a multiple is best reconstructed at once.
  int slab_slices = 1;
};

/// A device of one backend. Thread-safe; it outlives its sessions and their buffers.
class Device {
 public:
  virtual ~Device() = default;
  /// "reference", "cpu", "cuda".
  virtual absl::string_view backend() const = 0;
  /// For people: e.g. "AMD EPYC, 2 threads, AVX-512".
  virtual std::string description() const = 0;
  virtual DeviceLimits limits() const = 0;
  virtual DeviceTraits traits() const { return {}; }

  /// A queue of work of its own. Errors: RESOURCE_EXHAUSTED, INTERNAL.
  virtual absl::StatusOr<std::unique_ptr<Session>> NewSession(const SessionOptions& options) = 0;
  absl::StatusOr<std::unique_ptr<Session>> NewSession();
  /// Not initialised: it may hold what an earlier owner left, pixels of another acquisition
  /// included. An owner writes before it reads, hands out no more than it has written, and gives it
  /// back only when no copy to or from it is under way. Errors: RESOURCE_EXHAUSTED.
  virtual absl::StatusOr<std::unique_ptr<HostMemory>> NewHostMemory(int64_t bytes);
  /// Bytes that a session's buffers take; for admission.
  virtual int64_t ProjectionStackBytes(Shape3 shape, StackUse use) const = 0;
  virtual int64_t VolumeBytes(const VolumeGrid& grid) const = 0;

  /// The error that says so if the device is lost (device_lost.h). Waits for no session.
  virtual absl::Status Check() { return absl::OkStatus(); }
  /// Makes the device fail as a lost one does, where the backend can, and returns the error that
  /// says so. For tests of what happens then.
  virtual absl::Status Break();
};

}  // namespace isocenter::ops
