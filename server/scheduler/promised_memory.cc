#include "server/scheduler/promised_memory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "server/base/try_again.h"

namespace isocenter::scheduler {

MemoryPromise& MemoryPromise::operator=(MemoryPromise&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MemoryPromise::ShrinkTo(int64_t bytes) {
  if (memory_ == nullptr || bytes >= bytes_) return;
  memory_->Release(bytes_ - bytes);
  bytes_ = bytes;
}

absl::StatusOr<MemoryPromise> PromisedMemory::Reserve(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  const int64_t free = limit_ - used_;
  if (bytes > free) {
    const std::string lack = absl::StrCat("the job needs ", BytesText(bytes), " of memory; ",
                                          BytesText(free), " are free of ", BytesText(limit_));
    if (bytes <= limit_) {
      return FullForNow(absl::StrCat(lack, "; try again when other jobs have ended"));
    }
    return absl::ResourceExhaustedError(absl::StrCat(lack, "; choose a smaller grid or detector"));
  }
  used_ += bytes;
  return MemoryPromise(this, bytes);
}

int64_t PromisedMemory::used() const {
  absl::MutexLock lock(&mutex_);
  return used_;
}

void PromisedMemory::Release(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  used_ -= bytes;
}

}  // namespace isocenter::scheduler
