// The reference device as one that has memory of its own, as a GPU has.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/ops/device.h"
#include "kernels/reference/device.h"

namespace isocenter::recon {

/// Counts the bytes that buffers were ever made of, in all sessions.
class OwnMemoryDevice final : public ops::Device {
 public:
  explicit OwnMemoryDevice(int64_t memory_bytes = 0)
      : OwnMemoryDevice(ops::DeviceLimits{.memory_bytes = memory_bytes},
                        std::make_shared<int64_t>(0)) {}
  absl::string_view backend() const override { return "reference"; }
  std::string description() const override { return "reference with memory of its own"; }
  ops::DeviceLimits limits() const override { return device_.limits(); }
  ops::DeviceTraits traits() const override {
    return {.own_memory = true, .chunk_views = 8, .slab_slices = 2};
  }
  absl::StatusOr<std::unique_ptr<ops::Device>> NewSession(const ops::SessionOptions&) override {
    return std::unique_ptr<ops::Device>(new OwnMemoryDevice(limits(), allocated_));
  }
  ops::Timeline& timeline() override { return device_.timeline(); }
  absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> NewProjectionStack(
      Shape3 shape, ops::StackUse use) override {
    *allocated_ += ProjectionStackBytes(shape, use);
    return device_.NewProjectionStack(shape, use);
  }
  absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> NewVolume(const VolumeGrid& grid) override {
    *allocated_ += VolumeBytes(grid);
    return device_.NewVolume(grid);
  }
  int64_t ProjectionStackBytes(Shape3 shape, ops::StackUse use) const override {
    return device_.ProjectionStackBytes(shape, use);
  }
  int64_t VolumeBytes(const VolumeGrid& grid) const override { return device_.VolumeBytes(grid); }
  absl::Status Synchronize() override { return absl::OkStatus(); }

  int64_t allocated_bytes() const { return *allocated_; }

 private:
  OwnMemoryDevice(const ops::DeviceLimits& limits, std::shared_ptr<int64_t> allocated)
      : device_(limits), allocated_(std::move(allocated)) {}
  reference::ReferenceDevice device_;
  std::shared_ptr<int64_t> allocated_;
};

}  // namespace isocenter::recon
