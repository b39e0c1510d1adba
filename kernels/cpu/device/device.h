// The cpu device: threads and a share of the host's memory.
#pragma once

#include <memory>
#include <string>

#include "kernels/base/thread_pool.h"
#include "kernels/cpu/device/buffers.h"
#include "kernels/ops/device.h"

namespace isocenter::cpu {

class CpuDevice final : public ops::Device {
 public:
  explicit CpuDevice(const ops::DeviceLimits& limits);
  absl::string_view backend() const override { return "cpu"; }
  std::string description() const override;
  ops::DeviceLimits limits() const override;
  /// All sessions share the threads, whose loops are served in turn: none is more urgent.
  using Device::NewSession;
  absl::StatusOr<std::unique_ptr<ops::Session>> NewSession(const ops::SessionOptions&) override;
  int64_t ProjectionStackBytes(Shape3 shape, ops::StackUse use) const override;
  int64_t VolumeBytes(const VolumeGrid& grid) const override;

 private:
  const std::shared_ptr<ThreadPool> pool_;
  const std::shared_ptr<ops::MemoryBudget> budget_;
};

}  // namespace isocenter::cpu
