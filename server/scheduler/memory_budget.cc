#include "server/scheduler/memory_budget.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace isocenter::scheduler {

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Reservation::ShrinkTo(int64_t bytes) {
  if (budget_ == nullptr || bytes >= bytes_) return;
  budget_->Release(bytes_ - bytes);
  bytes_ = bytes;
}

absl::StatusOr<Reservation> MemoryBudget::Reserve(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  const int64_t free = limit_ - used_;
  if (bytes > free) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the job needs ", bytes, " bytes of memory; ", free, " are free of ", limit_,
                     bytes > limit_ ? "; choose a smaller grid or detector"
                                    : "; try again when other jobs have ended"));
  }
  used_ += bytes;
  return Reservation(this, bytes);
}

int64_t MemoryBudget::used() const {
  absl::MutexLock lock(&mutex_);
  return used_;
}

void MemoryBudget::Release(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  used_ -= bytes;
}

}  // namespace isocenter::scheduler
