// The reference device as one that has memory of its own, as a GPU has.
#pragma once

#include <memory>
#include <string>

#include "kernels/ops/device.h"
#include "kernels/ops/session.h"
#include "kernels/reference/device.h"

namespace isocenter::recon {

/// Counts the bytes that buffers were ever made of, in all sessions.
class OwnMemoryDevice final : public ops::Device {
 public:
  explicit OwnMemoryDevice(int64_t memory_bytes = 0, int chunk_views = 8)
      : device_(ops::DeviceLimits{.memory_bytes = memory_bytes}), chunk_views_(chunk_views) {}
  absl::string_view backend() const override { return "reference"; }
  std::string description() const override { return "reference with memory of its own"; }
  ops::DeviceLimits limits() const override { return device_.limits(); }
  ops::DeviceTraits traits() const override {
    return {.own_memory = true, .chunk_views = chunk_views_, .slab_slices = 2};
  }
  using Device::NewSession;
  absl::StatusOr<std::unique_ptr<ops::Session>> NewSession(const ops::SessionOptions&) override;
  int64_t ProjectionStackBytes(Shape3 shape, ops::StackUse use) const override {
    return device_.ProjectionStackBytes(shape, use);
  }
  int64_t VolumeBytes(const VolumeGrid& grid) const override { return device_.VolumeBytes(grid); }

  int64_t allocated_bytes() const { return allocated_; }

 private:
  const reference::ReferenceDevice device_;
  const int chunk_views_;
  int64_t allocated_ = 0;
};

class OwnMemorySession final : public ops::Session {
 public:
  OwnMemorySession(OwnMemoryDevice& device, int64_t& allocated)
      : Session(device), allocated_(allocated), reference_(device) {}
  ops::Timeline& timeline() override { return reference_.timeline(); }
  absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> NewProjectionStack(
      Shape3 shape, ops::StackUse use) override {
    allocated_ += device().ProjectionStackBytes(shape, use);
    return reference_.NewProjectionStack(shape, use);
  }
  absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> NewVolume(const VolumeGrid& grid) override {
    allocated_ += device().VolumeBytes(grid);
    return reference_.NewVolume(grid);
  }
  absl::Status Synchronize() override { return absl::OkStatus(); }

 private:
  int64_t& allocated_;
  reference::ReferenceSession reference_;
};

inline absl::StatusOr<std::unique_ptr<ops::Session>> OwnMemoryDevice::NewSession(
    const ops::SessionOptions&) {
  return std::make_unique<OwnMemorySession>(*this, allocated_);
}

}  // namespace isocenter::recon
