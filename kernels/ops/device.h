// One computing device and its memory, as the recipes in kernels/recon see it: opaque buffers that
// a backend lays out as its kernels want them, and explicit copies to and from host memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::ops {

/// Projections in a device's memory. Not thread-safe.
class ProjectionStack {
 public:
  virtual ~ProjectionStack() = default;
  /// views x rows x columns.
  virtual const Shape3& shape() const = 0;
  virtual int64_t bytes() const = 0;
  /// Copies host projections [view][v][u] to the views from `first_view`. Errors: INVALID_ARGUMENT
  /// (shape).
  virtual absl::Status Upload(int64_t first_view, HostView3<const float> projections) = 0;
  virtual absl::Status Download(int64_t first_view, HostView3<float> projections) const = 0;
};

/// A volume in a device's memory. Not thread-safe.
class VolumeBuffer {
 public:
  virtual ~VolumeBuffer() = default;
  virtual const VolumeGrid& grid() const = 0;
  virtual int64_t bytes() const = 0;
  virtual absl::Status Clear() = 0;
  /// Copies host slices [z][y][x] to the slices from `first_slice`. Errors: INVALID_ARGUMENT
  /// (shape).
  virtual absl::Status Upload(int64_t first_slice, HostView3<const float> slices) = 0;
  virtual absl::Status Download(int64_t first_slice, HostView3<float> slices) const = 0;
};

/// What a projection stack is for; a backend may use another layout for each.
enum class StackUse {
  kLineIntegrals,  // rows contiguous along u: output of Preprocess, input of RampFilter
  kFiltered,       // output of RampFilter, input of Backproject
};

struct DeviceLimits {
  int64_t memory_bytes = 0;
  int threads = 1;
};

/// A device of one backend. Operations of the same backend (kernels/ops/registry.h) accept its
/// buffers; buffers of another backend are refused with INVALID_ARGUMENT. Thread-safe; each buffer
/// belongs to one job at a time.
class Device {
 public:
  virtual ~Device() = default;
  /// "reference", "cpu", "cuda".
  virtual absl::string_view backend() const = 0;
  /// For people: e.g. "AMD EPYC, 2 threads, AVX-512".
  virtual std::string description() const = 0;
  virtual DeviceLimits limits() const = 0;

  /// Zero-filled. Errors: RESOURCE_EXHAUSTED, INVALID_ARGUMENT.
  virtual absl::StatusOr<std::unique_ptr<ProjectionStack>> NewProjectionStack(Shape3 shape,
                                                                              StackUse use) = 0;
  virtual absl::StatusOr<std::unique_ptr<VolumeBuffer>> NewVolume(const VolumeGrid& grid) = 0;
  /// Bytes that the two calls above take; for admission.
  virtual int64_t ProjectionStackBytes(Shape3 shape, StackUse use) const = 0;
  virtual int64_t VolumeBytes(const VolumeGrid& grid) const = 0;

  /// Returns when all work that was started on the device has ended.
  virtual absl::Status Synchronize() = 0;
};

}  // namespace isocenter::ops
