#include "kernels/cpu/device/device.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/device/simd_target.h"

namespace isocenter::cpu {
namespace {

// Extents beyond these would overflow the products below; no real array comes near.
constexpr int64_t kMaxExtent = int64_t{1} << 20;

bool Reasonable(Shape3 shape) {
  const auto fits = [](int64_t extent) { return extent <= kMaxExtent; };
  return fits(shape.slow) && fits(shape.middle) && fits(shape.fast);
}

}  // namespace

CpuDevice::CpuDevice(const ops::DeviceLimits& limits)
    : pool_(std::make_shared<ThreadPool>(limits.threads > 0 ? limits.threads : UsableCores())),
      budget_(std::make_shared<ops::MemoryBudget>(limits.memory_bytes)) {}

std::string CpuDevice::description() const {
  return absl::StrCat("CPU, ", pool_->threads(), pool_->threads() == 1 ? " thread, " : " threads, ",
                      SimdTargetName());
}

absl::StatusOr<std::unique_ptr<ops::Session>> CpuDevice::NewSession(const ops::SessionOptions&) {
  return std::make_unique<CpuSession>(*this, pool_, budget_);
}

ops::DeviceLimits CpuDevice::limits() const {
  return {.memory_bytes = budget_->limit(), .threads = pool_->threads()};
}

int64_t CpuDevice::ProjectionStackBytes(Shape3 shape, ops::StackUse use) const {
  if (!Reasonable(shape)) return std::numeric_limits<int64_t>::max();
  const int64_t floats =
      use == ops::StackUse::kLineIntegrals ? RowLayout::Floats(shape) : ColumnLayout::Floats(shape);
  return floats * static_cast<int64_t>(sizeof(float));
}

int64_t CpuDevice::VolumeBytes(const VolumeGrid& grid) const {
  if (!Reasonable(grid.shape())) return std::numeric_limits<int64_t>::max();
  return VolumeLayout::Floats(grid) * static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cpu
