#include "kernels/cuda/device/host_memory_pool.h"

#include <vector>

namespace isocenter::cuda {

std::shared_ptr<HostMemoryPool> HostMemoryPool::Create(Allocator allocator,
                                                       int64_t most_kept_bytes) {
  return std::shared_ptr<HostMemoryPool>(new HostMemoryPool(std::move(allocator), most_kept_bytes));
}

HostMemoryPool::~HostMemoryPool() { Shrink(0); }

absl::StatusOr<HostMemoryPool::Block> HostMemoryPool::Take(int64_t bytes) {
  {
    absl::MutexLock lock(&mutex_);
    auto best = kept_.end();
    for (auto it = kept_.begin(); it != kept_.end(); ++it) {
      const bool fits = it->bytes >= bytes && it->bytes <= bytes + bytes / 4;
      if (fits && (best == kept_.end() || it->bytes < best->bytes)) best = it;
    }
    if (best != kept_.end()) {
      const Kept found = *best;
      kept_.erase(best);
      kept_bytes_ -= found.bytes;
      return Block(shared_from_this(), found.memory, found.bytes);
    }
  }
  // Not under the lock: this is what takes long.
  absl::StatusOr<void*> memory = allocator_.allocate(bytes);
  if (!memory.ok()) {
    Shrink(0);
    memory = allocator_.allocate(bytes);
  }
  if (!memory.ok()) return memory.status();
  return Block(shared_from_this(), *memory, bytes);
}

int64_t HostMemoryPool::kept_bytes() const {
  absl::MutexLock lock(&mutex_);
  return kept_bytes_;
}

void HostMemoryPool::GiveBack(void* memory, int64_t bytes) {
  if (bytes > most_kept_bytes_) {  // alone it would push out all others, and then itself
    allocator_.free(memory);
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    kept_.push_back({memory, bytes});
    kept_bytes_ += bytes;
  }
  Shrink(most_kept_bytes_);
}

void HostMemoryPool::Shrink(int64_t bytes) {
  std::vector<void*> surplus;
  {
    absl::MutexLock lock(&mutex_);
    while (kept_bytes_ > bytes) {
      surplus.push_back(kept_.front().memory);
      kept_bytes_ -= kept_.front().bytes;
      kept_.pop_front();
    }
  }
  for (void* memory : surplus) allocator_.free(memory);
}

}  // namespace isocenter::cuda
