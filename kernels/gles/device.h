// The graphics device and its sessions, each with a context of its own.
#pragma once

#include <memory>
#include <string>

#include "kernels/gles/buffers.h"
#include "kernels/gles/context.h"
#include "kernels/ops/device.h"
#include "kernels/ops/session.h"

namespace isocenter::gles {

class GlesDevice final : public ops::Device {
 public:
  /// Errors: those of Context::Create; UNAVAILABLE for ordinals above 0.
  static absl::StatusOr<std::unique_ptr<ops::Device>> Open(const ops::DeviceLimits& limits);

  absl::string_view backend() const override { return "gles"; }
  std::string description() const override { return "OpenGL ES, " + renderer_; }
  ops::DeviceLimits limits() const override { return {.memory_bytes = budget_->limit()}; }
  using Device::NewSession;
  absl::StatusOr<std::unique_ptr<ops::Session>> NewSession(const ops::SessionOptions&) override;
  int64_t ProjectionStackBytes(Shape3 shape, ops::StackUse use) const override;
  int64_t VolumeBytes(const VolumeGrid& grid) const override;

 private:
  GlesDevice(std::string renderer, const ops::DeviceLimits& limits)
      : renderer_(std::move(renderer)),
        budget_(std::make_shared<ops::MemoryBudget>(limits.memory_bytes)) {}
  const std::string renderer_;
  const std::shared_ptr<ops::MemoryBudget> budget_;
};

/// Its work is done when a call returns.
class GlesSession final : public ops::Session {
 public:
  GlesSession(ops::Device& device, std::shared_ptr<Context> context,
              std::shared_ptr<ops::MemoryBudget> budget)
      : Session(device), context_(std::move(context)), budget_(std::move(budget)) {}
  ops::Timeline& timeline() override { return timeline_; }
  absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> NewProjectionStack(
      Shape3 shape, ops::StackUse use) override;
  absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> NewVolume(const VolumeGrid& grid) override;
  absl::Status Synchronize() override { return absl::OkStatus(); }
  const std::shared_ptr<Context>& context() const { return context_; }
  const std::shared_ptr<ops::MemoryBudget>& budget() const { return budget_; }

 private:
  const std::shared_ptr<Context> context_;
  const std::shared_ptr<ops::MemoryBudget> budget_;
  ops::HostTimeline timeline_;
};

/// Errors: INVALID_ARGUMENT (another backend's).
absl::StatusOr<GlesSession*> AsGlesSession(ops::Session& session);

}  // namespace isocenter::gles
