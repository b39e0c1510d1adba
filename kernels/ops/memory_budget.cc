#include "kernels/ops/memory_budget.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/host_memory.h"

namespace isocenter::ops {

MemoryBudget::MemoryBudget(int64_t limit)
    : limit_(limit > 0 ? limit : PhysicalMemoryBytes() / 10 * 8) {}

absl::Status MemoryBudget::Take(int64_t bytes) {
  const int64_t used = used_.fetch_add(bytes);
  if (used + bytes <= limit_) return absl::OkStatus();
  used_ -= bytes;
  return absl::ResourceExhaustedError(
      absl::StrCat(BytesText(bytes), " more would exceed the device's limit of ", BytesText(limit_),
                   ", of which ", BytesText(used), " are in use"));
}

}  // namespace isocenter::ops
