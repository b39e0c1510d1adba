// The memory of the cpu device, and buffers in it in the layouts that its kernels want (layout.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "kernels/base/page_buffer.h"
#include "kernels/base/thread_pool.h"
#include "kernels/cpu/device/layout.h"
#include "kernels/ops/buffers.h"
#include "kernels/ops/check.h"
#include "kernels/ops/memory_budget.h"

namespace isocenter::cpu {

/// A PageBuffer that counts against a budget for as long as it lives. Move-only.
class DeviceMemory {
 public:
  /// Errors: RESOURCE_EXHAUSTED (the budget or the system has no more).
  static absl::StatusOr<DeviceMemory> Create(std::shared_ptr<ops::MemoryBudget> budget,
                                             int64_t floats);
  DeviceMemory(DeviceMemory&&) noexcept = default;
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory();
  /// Makes room for `floats` in what an operation keeps for itself; the contents are lost when it
  /// grows. Errors: as Create.
  static absl::Status Reserve(const std::shared_ptr<ops::MemoryBudget>& budget, int64_t floats,
                              std::optional<DeviceMemory>& kept);

  float* data() { return pages_.data(); }
  const float* data() const { return pages_.data(); }
  int64_t floats() const { return pages_.floats(); }
  int64_t bytes() const { return pages_.floats() * static_cast<int64_t>(sizeof(float)); }

 private:
  DeviceMemory(std::shared_ptr<ops::MemoryBudget> budget, PageBuffer pages)
      : budget_(std::move(budget)), pages_(std::move(pages)) {}
  std::shared_ptr<ops::MemoryBudget> budget_;
  PageBuffer pages_;
};

/// Line integrals in RowLayout or filtered projections in ColumnLayout.
class Stack final : public ops::ProjectionStack {
 public:
  Stack(Shape3 shape, ops::StackUse use, DeviceMemory memory, std::shared_ptr<ThreadPool> pool)
      : capacity_(shape),
        shape_(shape),
        use_(use),
        memory_(std::move(memory)),
        pool_(std::move(pool)) {}
  const Shape3& shape() const override { return shape_; }
  ops::StackUse use() const override { return use_; }
  int64_t bytes() const override { return memory_.bytes(); }
  absl::Status Reshape(Shape3 shape) override;
  absl::Status Upload(int64_t first_view, HostView3<const float> projections) override;
  absl::Status Download(int64_t first_view, HostView3<float> projections) const override;

  float* data() { return memory_.data(); }
  const float* data() const { return memory_.data(); }

 private:
  const Shape3 capacity_;
  Shape3 shape_;
  ops::StackUse use_;
  DeviceMemory memory_;
  std::shared_ptr<ThreadPool> pool_;
};

/// A volume in VolumeLayout.
class Volume final : public ops::VolumeBuffer {
 public:
  Volume(const VolumeGrid& grid, DeviceMemory memory, std::shared_ptr<ThreadPool> pool)
      : capacity_(grid.shape()), grid_(grid), memory_(std::move(memory)), pool_(std::move(pool)) {}
  const VolumeGrid& grid() const override { return grid_; }
  int64_t bytes() const override { return memory_.bytes(); }
  absl::Status Clear() override;
  absl::Status Regrid(const VolumeGrid& grid) override;
  absl::Status Upload(int64_t first_slice, HostView3<const float> slices) override;
  absl::Status Download(int64_t first_slice, HostView3<float> slices) const override;

  float* data() { return memory_.data(); }
  const float* data() const { return memory_.data(); }
  int64_t floats() const { return memory_.floats(); }

 private:
  const Shape3 capacity_;
  VolumeGrid grid_;
  DeviceMemory memory_;
  std::shared_ptr<ThreadPool> pool_;
};

/// The buffers of this backend behind the interfaces. Errors: INVALID_ARGUMENT (another backend's).
template <class Buffer>
auto AsStack(Buffer& stack) {
  return ops::OwnBuffer<Stack>(stack, "cpu");
}
template <class Buffer>
auto AsVolume(Buffer& volume) {
  return ops::OwnBuffer<Volume>(volume, "cpu");
}

}  // namespace isocenter::cpu
