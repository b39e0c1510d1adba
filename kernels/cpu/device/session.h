// A session of the cpu device: its work is done when the call returns.
#pragma once

#include <memory>

#include "kernels/base/thread_pool.h"
#include "kernels/cpu/device/buffers.h"
#include "kernels/ops/session.h"

namespace isocenter::cpu {

class CpuSession final : public ops::Session {
 public:
  CpuSession(ops::Device& device, std::shared_ptr<ThreadPool> pool,
             std::shared_ptr<ops::MemoryBudget> budget)
      : Session(device), pool_(std::move(pool)), budget_(std::move(budget)) {}
  ops::Timeline& timeline() override { return timeline_; }
  absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> NewProjectionStack(
      Shape3 shape, ops::StackUse use) override;
  absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> NewVolume(const VolumeGrid& grid) override;
  absl::Status Synchronize() override { return absl::OkStatus(); }

  const std::shared_ptr<ThreadPool>& pool() const { return pool_; }
  const std::shared_ptr<ops::MemoryBudget>& budget() const { return budget_; }

 private:
  const std::shared_ptr<ThreadPool> pool_;
  const std::shared_ptr<ops::MemoryBudget> budget_;
  ops::HostTimeline timeline_;
};

/// Errors: INVALID_ARGUMENT (another backend's).
absl::StatusOr<CpuSession*> AsCpuSession(ops::Session& session);

}  // namespace isocenter::cpu
