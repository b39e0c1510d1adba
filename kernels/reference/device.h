// The reference device and its sessions: float64 arrays in host memory, one thread, no tricks.
#pragma once

#include <memory>
#include <vector>

#include "kernels/ops/check.h"
#include "kernels/ops/device.h"
#include "kernels/ops/session.h"

namespace isocenter::reference {

/// [view][v][u].
class Stack final : public ops::ProjectionStack {
 public:
  Stack(Shape3 shape, ops::StackUse use)
      : capacity_(shape), shape_(shape), use_(use), data_(shape.count(), 0.0) {}
  const Shape3& shape() const override { return shape_; }
  ops::StackUse use() const override { return use_; }
  int64_t bytes() const override { return data_.size() * sizeof(double); }
  absl::Status Reshape(Shape3 shape) override;
  absl::Status Upload(int64_t first_view, HostView3<const float> projections) override;
  absl::Status Download(int64_t first_view, HostView3<float> projections) const override;

  HostView3<double> view() { return {data_.data(), shape_}; }
  HostView3<const double> view() const { return {data_.data(), shape_}; }

 private:
  const Shape3 capacity_;
  Shape3 shape_;
  ops::StackUse use_;
  std::vector<double> data_;
};

/// [z][y][x].
class Volume final : public ops::VolumeBuffer {
 public:
  explicit Volume(const VolumeGrid& grid)
      : capacity_(grid.shape()), grid_(grid), data_(grid.voxels(), 0.0) {}
  const VolumeGrid& grid() const override { return grid_; }
  int64_t bytes() const override { return grid_.voxels() * static_cast<int64_t>(sizeof(double)); }
  absl::Status Clear() override;
  absl::Status Regrid(const VolumeGrid& grid) override;
  absl::Status Upload(int64_t first_slice, HostView3<const float> slices) override;
  absl::Status Download(int64_t first_slice, HostView3<float> slices) const override;

  HostView3<double> view() { return {data_.data(), grid_.shape()}; }
  HostView3<const double> view() const { return {data_.data(), grid_.shape()}; }

 private:
  const Shape3 capacity_;
  VolumeGrid grid_;
  std::vector<double> data_;
};

class ReferenceDevice final : public ops::Device {
 public:
  explicit ReferenceDevice(const ops::DeviceLimits& limits);
  absl::string_view backend() const override { return "reference"; }
  std::string description() const override { return "float64 reference, 1 thread"; }
  ops::DeviceLimits limits() const override { return limits_; }
  using Device::NewSession;
  absl::StatusOr<std::unique_ptr<ops::Session>> NewSession(const ops::SessionOptions&) override;
  int64_t ProjectionStackBytes(Shape3 shape, ops::StackUse use) const override;
  int64_t VolumeBytes(const VolumeGrid& grid) const override;

 private:
  ops::DeviceLimits limits_;
};

/// Its device's limit holds for each buffer alone.
class ReferenceSession final : public ops::Session {
 public:
  explicit ReferenceSession(ops::Device& device) : Session(device) {}
  ops::Timeline& timeline() override { return timeline_; }
  absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> NewProjectionStack(
      Shape3 shape, ops::StackUse use) override;
  absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> NewVolume(const VolumeGrid& grid) override;
  absl::Status Synchronize() override { return absl::OkStatus(); }

 private:
  ops::HostTimeline timeline_;
};

/// The buffers of this backend behind the interfaces. Errors: INVALID_ARGUMENT (another backend's).
template <class Buffer>
auto AsStack(Buffer& stack) {
  return ops::OwnBuffer<Stack>(stack, "reference");
}
template <class Buffer>
auto AsVolume(Buffer& volume) {
  return ops::OwnBuffer<Volume>(volume, "reference");
}

}  // namespace isocenter::reference
