// One computing device and its memory, as the recipes in kernels/recon see it: opaque buffers that
// a backend lays out as its kernels want them, and explicit copies to and from host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/timeline.h"

namespace isocenter::ops {

/// What arithmetic (kernels/ops/arithmetic.h) works on: numbers in a device's memory.
class Vector {
 public:
  virtual ~Vector() = default;
  virtual int64_t bytes() const = 0;
};

/// Projections in a device's memory. Not thread-safe.
class ProjectionStack : public Vector {
 public:
  /// views x rows x columns.
  virtual const Shape3& shape() const = 0;
  /// Uses the memory for another shape; what it holds afterwards is undefined. Errors:
  /// INVALID_ARGUMENT (an extent above that of the shape it was made for).
  virtual absl::Status Reshape(Shape3 shape) = 0;
  /// Copies host projections [view][v][u] to the views from `first_view`. Errors: INVALID_ARGUMENT
  /// (shape).
  virtual absl::Status Upload(int64_t first_view, HostView3<const float> projections) = 0;
  virtual absl::Status Download(int64_t first_view, HostView3<float> projections) const = 0;
  /// As those of VolumeBuffer.
  virtual absl::Status StartUpload(int64_t first_view, HostView3<const float> projections);
  virtual absl::Status StartDownload(int64_t first_view, HostView3<float> projections,
                                     std::function<void()> arrived);
  absl::Status StartDownload(int64_t first_view, HostView3<float> projections) {
    return StartDownload(first_view, projections, nullptr);
  }
};

/// A volume in a device's memory. Not thread-safe.
class VolumeBuffer : public Vector {
 public:
  virtual const VolumeGrid& grid() const = 0;
  virtual absl::Status Clear() = 0;
  /// Uses the memory for another grid, zero-filled. Errors: INVALID_ARGUMENT (it has more voxels
  /// along an axis than the grid that the volume was made for).
  virtual absl::Status Regrid(const VolumeGrid& grid) = 0;
  /// The same, but what it holds afterwards is undefined: nothing waits for copies that go on.
  virtual absl::Status Reshape(const VolumeGrid& grid);
  /// Copies host slices [z][y][x] to the slices from `first_slice`. Errors: INVALID_ARGUMENT
  /// (shape).
  virtual absl::Status Upload(int64_t first_slice, HostView3<const float> slices) = 0;
  virtual absl::Status Download(int64_t first_slice, HostView3<float> slices) const = 0;
  /// Upload that may go on after the call: the host memory must stay as it is until
  /// Device::Synchronize. Work that was started on the device before has ended when the slices
  /// change; work that is started on the volume meanwhile waits for them.
  virtual absl::Status StartUpload(int64_t first_slice, HostView3<const float> slices);
  /// Download that may go on after the call: the host memory must stay until Device::Synchronize,
  /// and work that is started on the volume meanwhile waits for it. `arrived`, if there is one, is
  /// called once when the slices are in host memory, from any thread and perhaps before this
  /// returns; it is not called when the copy fails. It should be quick, must not use the device,
  /// and has returned when Device::Synchronize returns OK.
  virtual absl::Status StartDownload(int64_t first_slice, HostView3<float> slices,
                                     std::function<void()> arrived);
  absl::Status StartDownload(int64_t first_slice, HostView3<float> slices) {
    return StartDownload(first_slice, slices, nullptr);
  }
};

/// Host memory that a device copies to and from as fast as it can.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  virtual std::byte* data() = 0;
};

/// What a projection stack is for; a backend may use another layout for each.
enum class StackUse {
  kLineIntegrals,  // rows contiguous along u: output of Preprocess, input of RampFilter
  kProjections,    // output of RampFilter and ForwardProject, input of the back-projections
};

/// What is asked of a device that is opened, and what an open one has.
struct DeviceLimits {
  int64_t memory_bytes = 0;
  int threads = 1;
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

/// A device of one backend. Operations of the same backend (kernels/ops/registry.h) accept its
/// buffers; buffers of another backend are refused with INVALID_ARGUMENT.
///
/// Work may go on after the call that started it has returned; it runs in the order in which it was
/// started, and Download, Synchronize and Timeline::Take wait for it. Host memory that is passed to
/// a call is the caller's again when the call returns, StartUpload and StartDownload excepted.
///
/// Properties, NewSession and NewHostMemory are thread-safe. All else belongs to one thread at a
/// time: jobs that run side by side have a session each.
class Device {
 public:
  virtual ~Device() = default;
  /// "reference", "cpu", "cuda".
  virtual absl::string_view backend() const = 0;
  /// For people: e.g. "AMD EPYC, 2 threads, AVX-512".
  virtual std::string description() const = 0;
  virtual DeviceLimits limits() const = 0;
  virtual DeviceTraits traits() const { return {}; }

  /// The same hardware and memory with a queue of work and a timeline of its own. Errors:
  /// RESOURCE_EXHAUSTED, INTERNAL.
  virtual absl::StatusOr<std::unique_ptr<Device>> NewSession(const SessionOptions& options) = 0;
  absl::StatusOr<std::unique_ptr<Device>> NewSession() { return NewSession(SessionOptions{}); }
  virtual Timeline& timeline() = 0;

  /// Zero-filled. Errors: RESOURCE_EXHAUSTED, INVALID_ARGUMENT.
  virtual absl::StatusOr<std::unique_ptr<ProjectionStack>> NewProjectionStack(Shape3 shape,
                                                                              StackUse use) = 0;
  virtual absl::StatusOr<std::unique_ptr<VolumeBuffer>> NewVolume(const VolumeGrid& grid) = 0;
  /// Not initialised: it may hold what an earlier owner left, pixels of another acquisition
  /// included. An owner writes before it reads, hands out no more than it has written, and gives it
  /// back only when no copy to or from it is under way. Errors: RESOURCE_EXHAUSTED.
  virtual absl::StatusOr<std::unique_ptr<HostMemory>> NewHostMemory(int64_t bytes);
  /// Bytes that the two calls above take; for admission.
  virtual int64_t ProjectionStackBytes(Shape3 shape, StackUse use) const = 0;
  virtual int64_t VolumeBytes(const VolumeGrid& grid) const = 0;

  /// Returns when all work that was started on the device has ended.
  virtual absl::Status Synchronize() = 0;

  /// Makes the device fail as a lost one does, where the backend can, and returns the error that
  /// says so (device_lost.h). For tests of what happens then.
  virtual absl::Status Break();
};

}  // namespace isocenter::ops
