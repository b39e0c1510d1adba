// A CUDA device: what all its sessions share.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "kernels/cuda/device/buffers.h"
#include "kernels/cuda/device/host_memory_pool.h"
#include "kernels/cuda/device/owners.h"
#include "kernels/ops/device.h"

namespace isocenter::cuda {

class CudaDevice final : public ops::Device {
 public:
  /// What WorkspaceBytes is to answer: it knows the operations, which the device does not.
  using Workspace = int64_t (*)(Shape3);
  /// Errors: UNAVAILABLE (no driver, no device of that ordinal; CUDA's reason).
  static absl::StatusOr<std::unique_ptr<ops::Device>> Open(const ops::DeviceLimits& limits,
                                                           Workspace workspace);

  absl::string_view backend() const override { return "cuda"; }
  std::string description() const override { return description_; }
  ops::DeviceLimits limits() const override { return limits_; }
  ops::DeviceTraits traits() const override;
  using Device::NewSession;
  absl::StatusOr<std::unique_ptr<ops::Session>> NewSession(
      const ops::SessionOptions& options) override;
  absl::StatusOr<std::unique_ptr<ops::HostMemory>> NewHostMemory(int64_t bytes) override;
  int64_t ProjectionStackBytes(Shape3 shape, ops::StackUse use) const override;
  int64_t VolumeBytes(const VolumeGrid& grid) const override;
  int64_t WorkspaceBytes(Shape3 shape) const override { return workspace_(shape); }
  absl::Status Check() override;
  /// Has a kernel write where there is no memory. The context is the process's: all sessions of the
  /// device fail from then on, and no new one can be made.
  absl::Status Break() override;

  /// Makes this device the calling thread's.
  absl::Status MakeCurrent() const;
  int ordinal() const { return limits_.ordinal; }
  /// Errors: RESOURCE_EXHAUSTED, naming `what`.
  absl::StatusOr<Reservation> Reserve(int64_t bytes, absl::string_view what) {
    return Reservation::Take(used_, bytes, limits_.memory_bytes, what);
  }

 private:
  CudaDevice(std::string description, const ops::DeviceLimits& limits, Workspace workspace,
             Stream checks);

  const std::string description_;
  const ops::DeviceLimits limits_;
  const Workspace workspace_;
  const std::shared_ptr<std::atomic<int64_t>> used_;  // bytes
  const std::shared_ptr<HostMemoryPool> host_memory_;
  Stream checks_;  // never waits for work
};

}  // namespace isocenter::cuda
