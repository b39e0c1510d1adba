// Stacks and volumes of the graphics backend: float32 in the device's memory.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "kernels/gles/graphics_buffer.h"
#include "kernels/ops/buffers.h"
#include "kernels/ops/check.h"

namespace isocenter::gles {

/// [view][v][u].
class Stack final : public ops::ProjectionStack {
 public:
  Stack(Shape3 shape, ops::StackUse use, GraphicsBuffer values)
      : capacity_(shape), shape_(shape), use_(use), values_(std::move(values)) {}
  const Shape3& shape() const override { return shape_; }
  ops::StackUse use() const override { return use_; }
  int64_t bytes() const override { return values_.bytes(); }
  absl::Status Reshape(Shape3 shape) override;
  absl::Status Upload(int64_t first_view, HostView3<const float> projections) override;
  absl::Status Download(int64_t first_view, HostView3<float> projections) const override;
  const GraphicsBuffer& values() const { return values_; }

 private:
  const Shape3 capacity_;
  Shape3 shape_;
  ops::StackUse use_;
  GraphicsBuffer values_;
};

/// [z][y][x].
class Volume final : public ops::VolumeBuffer {
 public:
  Volume(const VolumeGrid& grid, GraphicsBuffer values)
      : capacity_(grid.shape()), grid_(grid), values_(std::move(values)) {}
  const VolumeGrid& grid() const override { return grid_; }
  int64_t bytes() const override { return values_.bytes(); }
  absl::Status Clear() override;
  absl::Status Regrid(const VolumeGrid& grid) override;
  absl::Status Upload(int64_t first_slice, HostView3<const float> slices) override;
  absl::Status Download(int64_t first_slice, HostView3<float> slices) const override;
  const GraphicsBuffer& values() const { return values_; }

 private:
  const Shape3 capacity_;
  VolumeGrid grid_;
  GraphicsBuffer values_;
};

/// The buffers of this backend behind the interfaces. Errors: INVALID_ARGUMENT (another backend's).
template <class Buffer>
auto AsStack(Buffer& stack) {
  return ops::OwnBuffer<Stack>(stack, "gles");
}
template <class Buffer>
auto AsVolume(Buffer& volume) {
  return ops::OwnBuffer<Volume>(volume, "gles");
}

}  // namespace isocenter::gles
