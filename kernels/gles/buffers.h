// Stacks and volumes of the graphics backend: float32 in host memory, from where each operation
// copies to textures what it works on.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/buffers.h"
#include "kernels/ops/check.h"
#include "kernels/ops/memory_budget.h"

namespace isocenter::gles {

/// Zero-filled floats that count against a budget. Move-only.
class HostFloats {
 public:
  /// Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<HostFloats> Create(std::shared_ptr<ops::MemoryBudget> budget,
                                           int64_t count);
  HostFloats(HostFloats&&) noexcept = default;
  HostFloats& operator=(HostFloats&&) = delete;
  ~HostFloats();
  float* data() { return values_.data(); }
  const float* data() const { return values_.data(); }
  int64_t bytes() const { return static_cast<int64_t>(values_.size() * sizeof(float)); }

 private:
  explicit HostFloats(std::shared_ptr<ops::MemoryBudget> budget) : budget_(std::move(budget)) {}
  std::shared_ptr<ops::MemoryBudget> budget_;
  std::vector<float> values_;
};

/// [view][v][u].
class Stack final : public ops::ProjectionStack {
 public:
  Stack(Shape3 shape, ops::StackUse use, HostFloats values)
      : capacity_(shape), shape_(shape), use_(use), values_(std::move(values)) {}
  const Shape3& shape() const override { return shape_; }
  ops::StackUse use() const override { return use_; }
  int64_t bytes() const override { return values_.bytes(); }
  absl::Status Reshape(Shape3 shape) override;
  absl::Status Upload(int64_t first_view, HostView3<const float> projections) override;
  absl::Status Download(int64_t first_view, HostView3<float> projections) const override;
  HostView3<float> view() { return {values_.data(), shape_}; }
  HostView3<const float> view() const { return {values_.data(), shape_}; }

 private:
  const Shape3 capacity_;
  Shape3 shape_;
  ops::StackUse use_;
  HostFloats values_;
};

/// [z][y][x].
class Volume final : public ops::VolumeBuffer {
 public:
  Volume(const VolumeGrid& grid, HostFloats values)
      : capacity_(grid.shape()), grid_(grid), values_(std::move(values)) {}
  const VolumeGrid& grid() const override { return grid_; }
  int64_t bytes() const override { return values_.bytes(); }
  absl::Status Clear() override;
  absl::Status Regrid(const VolumeGrid& grid) override;
  absl::Status Upload(int64_t first_slice, HostView3<const float> slices) override;
  absl::Status Download(int64_t first_slice, HostView3<float> slices) const override;
  HostView3<float> view() { return {values_.data(), grid_.shape()}; }
  HostView3<const float> view() const { return {values_.data(), grid_.shape()}; }

 private:
  const Shape3 capacity_;
  VolumeGrid grid_;
  HostFloats values_;
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
