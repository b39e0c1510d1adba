// A CUDA device: linear float32 arrays in its memory, one stream for all work.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "kernels/cuda/owners.h"
#include "kernels/ops/check.h"
#include "kernels/ops/device.h"

namespace isocenter::cuda {

class CudaDevice;

/// A share of a device's memory limit, given back with the scope.
class Reservation {
 public:
  /// `used` is the device's count of reserved bytes and outlives the reservation.
  /// Errors: RESOURCE_EXHAUSTED, naming `what`, the bytes, what is in use and the limit.
  static absl::StatusOr<Reservation> Take(std::atomic<int64_t>& used, int64_t bytes, int64_t limit,
                                          absl::string_view what);
  Reservation(Reservation&& other) noexcept
      : used_(std::exchange(other.used_, nullptr)), bytes_(other.bytes_) {}
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation() {
    if (used_ != nullptr) *used_ -= bytes_;
  }
  int64_t bytes() const { return bytes_; }

 private:
  Reservation(std::atomic<int64_t>& used, int64_t bytes) : used_(&used), bytes_(bytes) {}
  std::atomic<int64_t>* used_;
  int64_t bytes_;
};

/// [view][v][u] in device memory, for both uses.
class Stack final : public ops::ProjectionStack {
 public:
  Stack(const CudaDevice& device, Shape3 shape, ops::StackUse use, Reservation reservation,
        DeviceBuffer<float> data)
      : device_(device),
        shape_(shape),
        use_(use),
        reservation_(std::move(reservation)),
        data_(std::move(data)) {}
  const Shape3& shape() const override { return shape_; }
  int64_t bytes() const override { return reservation_.bytes(); }
  absl::Status Upload(int64_t first_view, HostView3<const float> projections) override;
  absl::Status Download(int64_t first_view, HostView3<float> projections) const override;

  ops::StackUse use() const { return use_; }
  float* data() const { return data_.data(); }

 private:
  const CudaDevice& device_;
  Shape3 shape_;
  ops::StackUse use_;
  Reservation reservation_;
  DeviceBuffer<float> data_;
};

/// [z][y][x] in device memory.
class Volume final : public ops::VolumeBuffer {
 public:
  Volume(const CudaDevice& device, const VolumeGrid& grid, Reservation reservation,
         DeviceBuffer<float> data)
      : device_(device),
        grid_(grid),
        reservation_(std::move(reservation)),
        data_(std::move(data)) {}
  const VolumeGrid& grid() const override { return grid_; }
  int64_t bytes() const override { return reservation_.bytes(); }
  absl::Status Clear() override;
  absl::Status Upload(int64_t first_slice, HostView3<const float> slices) override;
  absl::Status Download(int64_t first_slice, HostView3<float> slices) const override;

  float* data() const { return data_.data(); }

 private:
  const CudaDevice& device_;
  VolumeGrid grid_;
  Reservation reservation_;
  DeviceBuffer<float> data_;
};

class CudaDevice final : public ops::Device {
 public:
  /// The first device. Errors: UNAVAILABLE (no driver, no device; CUDA's reason).
  static absl::StatusOr<std::unique_ptr<ops::Device>> Open(const ops::DeviceLimits& limits);

  absl::string_view backend() const override { return "cuda"; }
  std::string description() const override { return description_; }
  ops::DeviceLimits limits() const override { return limits_; }
  absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> NewProjectionStack(
      Shape3 shape, ops::StackUse use) override;
  absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> NewVolume(const VolumeGrid& grid) override;
  int64_t ProjectionStackBytes(Shape3 shape, ops::StackUse use) const override;
  int64_t VolumeBytes(const VolumeGrid& grid) const override;
  absl::Status Synchronize() override;

  cudaStream_t stream() const { return stream_.get(); }
  /// Makes this device the calling thread's; every entry point does so first.
  absl::Status MakeCurrent() const;

 private:
  CudaDevice(int ordinal, std::string description, const ops::DeviceLimits& limits, Stream stream)
      : ordinal_(ordinal),
        description_(std::move(description)),
        limits_(limits),
        stream_(std::move(stream)) {}
  absl::StatusOr<DeviceBuffer<float>> NewZeroed(int64_t count);

  int ordinal_;
  std::string description_;
  ops::DeviceLimits limits_;
  Stream stream_;
  std::atomic<int64_t> used_{0};
};

/// The buffers of this backend behind the interfaces. Errors: INVALID_ARGUMENT (another backend's,
/// or another use).
inline absl::StatusOr<Stack*> AsStack(ops::ProjectionStack& stack, ops::StackUse use) {
  return ops::OwnStack<Stack>(stack, use, "cuda");
}
inline absl::StatusOr<const Stack*> AsStack(const ops::ProjectionStack& stack, ops::StackUse use) {
  return ops::OwnStack<Stack>(stack, use, "cuda");
}
inline absl::StatusOr<Volume*> AsVolume(ops::VolumeBuffer& volume) {
  return ops::OwnVolume<Volume>(volume, "cuda");
}

}  // namespace isocenter::cuda
