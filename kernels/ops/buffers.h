// What a session (kernels/ops/session.h) keeps in its device's memory, as the recipes in
// kernels/recon see it: opaque buffers that a backend lays out as its kernels want them, and
// explicit copies to and from host memory.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::ops {

/// What arithmetic (kernels/ops/arithmetic.h) works on: numbers in a device's memory.
class Vector {
 public:
  virtual ~Vector() = default;
  virtual int64_t bytes() const = 0;
};

/// What a projection stack is for; a backend may use another layout for each.
enum class StackUse {
  kLineIntegrals,  // rows contiguous along u: frames, output of Preprocess, input of RampFilter
  kProjections,    // output of RampFilter and ForwardProject, input of the back-projections
};

/// Projections in a device's memory. Not thread-safe.
class ProjectionStack : public Vector {
 public:
  /// views x rows x columns.
  virtual const Shape3& shape() const = 0;
  virtual StackUse use() const = 0;
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
  /// Session::Synchronize. Work that was started on the device before has ended when the slices
  /// change; work that is started on the volume meanwhile waits for them.
  virtual absl::Status StartUpload(int64_t first_slice, HostView3<const float> slices);
  /// Download that may go on after the call: the host memory must stay until Session::Synchronize,
  /// and work that is started on the volume meanwhile waits for it. `arrived`, if there is one, is
  /// called once when the slices are in host memory, from any thread and perhaps before this
  /// returns; it is not called when the copy fails. It should be quick, must not use the session,
  /// and has returned when Session::Synchronize returns OK.
  virtual absl::Status StartDownload(int64_t first_slice, HostView3<float> slices,
                                     std::function<void()> arrived);
  absl::Status StartDownload(int64_t first_slice, HostView3<float> slices) {
    return StartDownload(first_slice, slices, nullptr);
  }
};

}  // namespace isocenter::ops
