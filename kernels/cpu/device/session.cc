#include "kernels/cpu/device/session.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"

namespace isocenter::cpu {
namespace {

// Gives every page its memory now, on all threads, and not at the first touch inside a kernel.
void Touch(ThreadPool& pool, DeviceMemory& memory) {
  constexpr int64_t kPage = 4096 / sizeof(float), kPart = 512 * kPage;
  pool.ParallelFor((memory.floats() + kPart - 1) / kPart, [&](int64_t part, int) {
    const int64_t end = std::min((part + 1) * kPart, memory.floats());
    for (int64_t i = part * kPart; i < end; i += kPage) {
      *static_cast<volatile float*>(memory.data() + i) = 0;
    }
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> CpuSession::NewProjectionStack(
    Shape3 shape, ops::StackUse use) {
  ISO_RETURN_IF_ERROR(ops::CheckAllocation(
      "projections", shape, device().ProjectionStackBytes(shape, use), budget_->limit()));
  ISO_ASSIGN_OR_RETURN(DeviceMemory memory,
                       DeviceMemory::Create(budget_, device().ProjectionStackBytes(shape, use) /
                                                         int64_t{sizeof(float)}));
  Touch(*pool_, memory);
  return std::make_unique<Stack>(shape, use, std::move(memory), pool_);
}

absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> CpuSession::NewVolume(const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  ISO_RETURN_IF_ERROR(
      ops::CheckAllocation("volume", grid.shape(), device().VolumeBytes(grid), budget_->limit()));
  ISO_ASSIGN_OR_RETURN(DeviceMemory memory,
                       DeviceMemory::Create(budget_, VolumeLayout::Floats(grid)));
  Touch(*pool_, memory);
  return std::make_unique<Volume>(grid, std::move(memory), pool_);
}

absl::StatusOr<CpuSession*> AsCpuSession(ops::Session& session) {
  auto* own = dynamic_cast<CpuSession*>(&session);
  if (own == nullptr) return ops::ForeignBuffer("session", "cpu");
  return own;
}

}  // namespace isocenter::cpu
