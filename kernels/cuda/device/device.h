// A CUDA device: linear float32 arrays in its memory; a session has a stream for its kernels and
// one for each direction of copies.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "kernels/cuda/device/host_memory_pool.h"
#include "kernels/cuda/device/owners.h"
#include "kernels/cuda/device/timeline.h"
#include "kernels/cuda/device/transfers.h"
#include "kernels/ops/check.h"
#include "kernels/ops/device.h"

namespace isocenter::cuda {

class CudaDevice;

/// A share of a device's memory limit, given back with the scope.
class Reservation {
 public:
  /// `used` is the device's count of reserved bytes.
  /// Errors: RESOURCE_EXHAUSTED, naming `what`, the bytes, what is in use and the limit.
  static absl::StatusOr<Reservation> Take(std::shared_ptr<std::atomic<int64_t>> used, int64_t bytes,
                                          int64_t limit, absl::string_view what);
  Reservation(Reservation&& other) noexcept = default;
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation() {
    if (used_ != nullptr) *used_ -= bytes_;
  }
  int64_t bytes() const { return bytes_; }

 private:
  Reservation(std::shared_ptr<std::atomic<int64_t>> used, int64_t bytes)
      : used_(std::move(used)), bytes_(bytes) {}
  std::shared_ptr<std::atomic<int64_t>> used_;
  int64_t bytes_;
};

/// [view][v][u] in device memory, for both uses.
class Stack final : public ops::ProjectionStack {
 public:
  Stack(CudaDevice& device, Shape3 shape, ops::StackUse use, Reservation reservation,
        DeviceBuffer<float> data, Transfers transfers)
      : device_(device),
        capacity_(shape),
        shape_(shape),
        use_(use),
        reservation_(std::move(reservation)),
        data_(std::move(data)),
        transfers_(std::move(transfers)) {}
  const Shape3& shape() const override { return shape_; }
  int64_t bytes() const override { return reservation_.bytes(); }
  absl::Status Reshape(Shape3 shape) override;
  absl::Status Upload(int64_t first_view, HostView3<const float> projections) override;
  absl::Status Download(int64_t first_view, HostView3<float> projections) const override;
  absl::Status StartUpload(int64_t first_view, HostView3<const float> projections) override;
  using ProjectionStack::StartDownload;
  absl::Status StartDownload(int64_t first_view, HostView3<float> projections,
                             std::function<void()> arrived) override;

  ops::StackUse use() const { return use_; }
  /// The shape that it was made for.
  const Shape3& capacity() const { return capacity_; }
  float* data() const { return data_.data(); }
  /// The session that it was made by.
  CudaDevice& device() const { return device_; }
  /// As Transfers.
  absl::Status WaitForUploads() const;
  absl::Status WaitForCopies();

 private:
  CudaDevice& device_;
  const Shape3 capacity_;
  Shape3 shape_;
  ops::StackUse use_;
  Reservation reservation_;
  DeviceBuffer<float> data_;
  mutable Transfers transfers_;  // who reads has to wait, too
};

/// [z][y][x] in device memory.
class Volume final : public ops::VolumeBuffer {
 public:
  Volume(CudaDevice& device, const VolumeGrid& grid, Reservation reservation,
         DeviceBuffer<float> data, Transfers transfers)
      : device_(device),
        capacity_(grid.shape()),
        grid_(grid),
        reservation_(std::move(reservation)),
        data_(std::move(data)),
        transfers_(std::move(transfers)) {}
  const VolumeGrid& grid() const override { return grid_; }
  int64_t bytes() const override { return reservation_.bytes(); }
  absl::Status Clear() override;
  absl::Status Regrid(const VolumeGrid& grid) override;
  absl::Status Reshape(const VolumeGrid& grid) override;
  absl::Status Upload(int64_t first_slice, HostView3<const float> slices) override;
  absl::Status Download(int64_t first_slice, HostView3<float> slices) const override;
  absl::Status StartUpload(int64_t first_slice, HostView3<const float> slices) override;
  using VolumeBuffer::StartDownload;
  absl::Status StartDownload(int64_t first_slice, HostView3<float> slices,
                             std::function<void()> arrived) override;

  float* data() const { return data_.data(); }
  /// The session that it was made by.
  CudaDevice& device() const { return device_; }
  /// As Transfers.
  absl::Status WaitForUploads() const;
  absl::Status WaitForCopies();

 private:
  CudaDevice& device_;
  const Shape3 capacity_;
  VolumeGrid grid_;
  Reservation reservation_;
  DeviceBuffer<float> data_;
  mutable Transfers transfers_;  // who reads has to wait, too
};

class CudaDevice final : public ops::Device {
 public:
  /// What WorkspaceBytes is to answer: it knows the operations, which the device does not.
  using Workspace = int64_t (*)(Shape3);
  /// Errors: UNAVAILABLE (no driver, no device of that ordinal; CUDA's reason).
  static absl::StatusOr<std::unique_ptr<ops::Device>> Open(const ops::DeviceLimits& limits,
                                                           Workspace workspace);

  absl::string_view backend() const override { return "cuda"; }
  std::string description() const override { return hardware_.description; }
  ops::DeviceLimits limits() const override { return hardware_.limits; }
  ops::DeviceTraits traits() const override;
  absl::StatusOr<std::unique_ptr<ops::Device>> NewSession(
      const ops::SessionOptions& options) override;
  EventTimeline& timeline() override { return timeline_; }
  absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> NewProjectionStack(
      Shape3 shape, ops::StackUse use) override;
  absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> NewVolume(const VolumeGrid& grid) override;
  absl::StatusOr<std::unique_ptr<ops::HostMemory>> NewHostMemory(int64_t bytes) override;
  int64_t ProjectionStackBytes(Shape3 shape, ops::StackUse use) const override;
  int64_t VolumeBytes(const VolumeGrid& grid) const override;
  int64_t WorkspaceBytes(Shape3 shape) const override { return hardware_.workspace(shape); }
  absl::Status Synchronize() override;
  /// Has a kernel write where there is no memory. The context is the process's: all sessions of the
  /// device fail from then on, and no new one can be made.
  absl::Status Break() override;

  /// Kernels; copies to the device; copies from it.
  cudaStream_t stream() const { return streams_.kernels.get(); }
  cudaStream_t upload_stream() const { return streams_.uploads.get(); }
  cudaStream_t download_stream() const { return streams_.downloads.get(); }
  /// Calls of host functions, so that no copy waits for one to return.
  cudaStream_t arrival_stream() const { return streams_.arrivals.get(); }
  /// Makes this device the calling thread's; every entry point does so first.
  absl::Status MakeCurrent() const;
  int ordinal() const { return hardware_.limits.ordinal; }

 private:
  struct Streams {
    Stream kernels, uploads, downloads, arrivals;
  };
  // What all sessions of a device have in common.
  struct Hardware {
    std::string description;
    ops::DeviceLimits limits;
    Workspace workspace;
    std::shared_ptr<std::atomic<int64_t>> used;  // bytes
    std::shared_ptr<HostMemoryPool> host_memory;
  };
  CudaDevice(Hardware hardware, Streams streams, EventTimeline timeline)
      : hardware_(std::move(hardware)),
        streams_(std::move(streams)),
        timeline_(std::move(timeline)) {}
  static absl::StatusOr<std::unique_ptr<ops::Device>> Create(const Hardware& hardware,
                                                             const ops::SessionOptions& options);
  absl::StatusOr<DeviceBuffer<float>> NewZeroed(int64_t count);

  const Hardware hardware_;
  Streams streams_;
  EventTimeline timeline_;
};

/// The buffers of this backend behind the interfaces, for work that is to be started on them now.
/// Errors: INVALID_ARGUMENT (another backend's, or another use).
inline absl::StatusOr<Stack*> AsStack(ops::ProjectionStack& stack, ops::StackUse use) {
  ISO_ASSIGN_OR_RETURN(Stack * own, ops::OwnStack<Stack>(stack, use, "cuda"));
  ISO_RETURN_IF_ERROR(own->WaitForCopies());
  return own;
}
inline absl::StatusOr<const Stack*> AsStack(const ops::ProjectionStack& stack, ops::StackUse use) {
  ISO_ASSIGN_OR_RETURN(const Stack* own, ops::OwnStack<Stack>(stack, use, "cuda"));
  ISO_RETURN_IF_ERROR(own->WaitForUploads());
  return own;
}
inline absl::StatusOr<Volume*> AsVolume(ops::VolumeBuffer& volume) {
  ISO_ASSIGN_OR_RETURN(Volume * own, ops::OwnVolume<Volume>(volume, "cuda"));
  ISO_RETURN_IF_ERROR(own->WaitForCopies());
  return own;
}
inline absl::StatusOr<const Volume*> AsVolume(const ops::VolumeBuffer& volume) {
  ISO_ASSIGN_OR_RETURN(const Volume* own, ops::OwnVolume<Volume>(volume, "cuda"));
  ISO_RETURN_IF_ERROR(own->WaitForUploads());
  return own;
}

}  // namespace isocenter::cuda
