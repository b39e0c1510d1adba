// A CUDA device: linear float32 arrays in its memory, one stream for all work.
#pragma once

#include <memory>
#include <string>

#include "kernels/cuda/owners.h"
#include "kernels/ops/device.h"

namespace isocenter::cuda {

class CudaDevice;

/// [view][v][u] in device memory, for both uses.
class Stack final : public ops::ProjectionStack {
 public:
  Stack(const CudaDevice& device, Shape3 shape, ops::StackUse use, DeviceBuffer<float> data)
      : device_(device), shape_(shape), use_(use), data_(std::move(data)) {}
  const Shape3& shape() const override { return shape_; }
  int64_t bytes() const override { return shape_.count() * static_cast<int64_t>(sizeof(float)); }
  absl::Status Upload(int64_t first_view, HostView3<const float> projections) override;
  absl::Status Download(int64_t first_view, HostView3<float> projections) const override;

  ops::StackUse use() const { return use_; }
  float* data() const { return data_.data(); }

 private:
  const CudaDevice& device_;
  Shape3 shape_;
  ops::StackUse use_;
  DeviceBuffer<float> data_;
};

/// [z][y][x] in device memory.
class Volume final : public ops::VolumeBuffer {
 public:
  Volume(const CudaDevice& device, const VolumeGrid& grid, DeviceBuffer<float> data)
      : device_(device), grid_(grid), data_(std::move(data)) {}
  const VolumeGrid& grid() const override { return grid_; }
  int64_t bytes() const override { return grid_.voxels() * static_cast<int64_t>(sizeof(float)); }
  absl::Status Clear() override;
  absl::Status Upload(int64_t first_slice, HostView3<const float> slices) override;
  absl::Status Download(int64_t first_slice, HostView3<float> slices) const override;

  float* data() const { return data_.data(); }

 private:
  const CudaDevice& device_;
  VolumeGrid grid_;
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
};

/// The buffers of this backend behind the interfaces. Errors: INVALID_ARGUMENT (another backend's,
/// or another use).
absl::StatusOr<Stack*> AsStack(ops::ProjectionStack& stack, ops::StackUse use);
absl::StatusOr<const Stack*> AsStack(const ops::ProjectionStack& stack, ops::StackUse use);
absl::StatusOr<Volume*> AsVolume(ops::VolumeBuffer& volume);

}  // namespace isocenter::cuda
