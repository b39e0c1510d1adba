// A device of numbers alone: plans are executed on it without memory for volumes and projections,
// and it knows how much that would have been.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/ops/session.h"

namespace isocenter::recon {

/// Bytes that a device and its sessions ever handed out. What executes a plan makes everything
/// once, so that this is what it has at most.
struct Counted {
  int64_t device = 0, workspace = 0, host = 0;
};

class CountingStack final : public ops::ProjectionStack {
 public:
  CountingStack(Shape3 shape, ops::StackUse use, int64_t bytes)
      : capacity_(shape), shape_(shape), use_(use), bytes_(bytes) {}
  const Shape3& shape() const override { return shape_; }
  ops::StackUse use() const override { return use_; }
  int64_t bytes() const override { return bytes_; }
  absl::Status Reshape(Shape3 shape) override {
    shape_ = shape;
    return absl::OkStatus();
  }
  absl::Status Upload(int64_t, HostView3<const float>) override { return absl::OkStatus(); }
  absl::Status Download(int64_t, HostView3<float>) const override { return absl::OkStatus(); }

  /// The shape that it was made for.
  const Shape3& capacity() const { return capacity_; }

 private:
  const Shape3 capacity_;
  Shape3 shape_;
  const ops::StackUse use_;
  const int64_t bytes_;
};

class CountingVolume final : public ops::VolumeBuffer {
 public:
  CountingVolume(const VolumeGrid& grid, int64_t bytes)
      : capacity_(grid), grid_(grid), bytes_(bytes) {}
  const VolumeGrid& grid() const override { return grid_; }
  int64_t bytes() const override { return bytes_; }
  absl::Status Clear() override { return absl::OkStatus(); }
  absl::Status Regrid(const VolumeGrid& grid) override {
    grid_ = grid;
    return absl::OkStatus();
  }
  absl::Status Upload(int64_t, HostView3<const float>) override { return absl::OkStatus(); }
  absl::Status Download(int64_t, HostView3<float>) const override { return absl::OkStatus(); }

  /// The grid that it was made for.
  const VolumeGrid& capacity() const { return capacity_; }

 private:
  const VolumeGrid capacity_;
  VolumeGrid grid_;
  const int64_t bytes_;
};

/// Of any backend; buffers take what they take on the device that it is `like`.
class CountingDevice final : public ops::Device {
 public:
  CountingDevice(std::string backend, std::shared_ptr<const ops::Device> like, bool own_memory,
                 int64_t memory_bytes)
      : backend_(std::move(backend)),
        like_(std::move(like)),
        own_memory_(own_memory),
        memory_bytes_(memory_bytes) {}
  absl::string_view backend() const override { return backend_; }
  std::string description() const override { return "numbers"; }
  ops::DeviceLimits limits() const override {
    return {.memory_bytes = memory_bytes_, .threads = like_->limits().threads};
  }
  ops::DeviceTraits traits() const override {
    return own_memory_ ? ops::DeviceTraits{.own_memory = true, .chunk_views = 8, .slab_slices = 2}
                       : like_->traits();
  }
  using Device::NewSession;
  absl::StatusOr<std::unique_ptr<ops::Session>> NewSession(const ops::SessionOptions&) override;
  absl::StatusOr<std::unique_ptr<ops::HostMemory>> NewHostMemory(int64_t bytes) override {
    counted_.host += bytes;
    return Device::NewHostMemory(bytes);
  }
  int64_t ProjectionStackBytes(Shape3 shape, ops::StackUse use) const override {
    return like_->ProjectionStackBytes(shape, use);
  }
  int64_t VolumeBytes(const VolumeGrid& grid) const override { return like_->VolumeBytes(grid); }

  Counted& counted() { return counted_; }

 private:
  const std::string backend_;
  const std::shared_ptr<const ops::Device> like_;
  const bool own_memory_;
  const int64_t memory_bytes_;
  Counted counted_;
};

class CountingSession final : public ops::Session {
 public:
  explicit CountingSession(CountingDevice& device) : Session(device), counted_(device.counted()) {}
  ops::Timeline& timeline() override { return timeline_; }
  absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> NewProjectionStack(
      Shape3 shape, ops::StackUse use) override {
    const int64_t bytes = device().ProjectionStackBytes(shape, use);
    counted_.device += bytes;
    return std::make_unique<CountingStack>(shape, use, bytes);
  }
  absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> NewVolume(const VolumeGrid& grid) override {
    const int64_t bytes = device().VolumeBytes(grid);
    counted_.device += bytes;
    return std::make_unique<CountingVolume>(grid, bytes);
  }
  absl::Status Synchronize() override { return absl::OkStatus(); }

 private:
  Counted& counted_;
  ops::HostTimeline timeline_;
};

inline absl::StatusOr<std::unique_ptr<ops::Session>> CountingDevice::NewSession(
    const ops::SessionOptions&) {
  return std::make_unique<CountingSession>(*this);
}

}  // namespace isocenter::recon
