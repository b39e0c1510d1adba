// Page-locked host memory that is kept for the next one who wants some. No CUDA in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::cuda {

/// Locking pages takes a second for 4 GB, and a job's volume is as large as that of the job before.
/// Memory that is given back stays locked, up to a limit, and is handed out again to whoever asks
/// for about as much. It still holds what its last owner wrote, pixels of another patient perhaps:
/// owners write before they read (ops::Device::NewHostMemory). And they give it back only when no
/// copy of theirs is under way: nothing waits for it here, as freeing would. Thread-safe.
class HostMemoryPool : public std::enable_shared_from_this<HostMemoryPool> {
 public:
  struct Allocator {
    /// Errors: any; the memory that is kept is freed, and it is called once more.
    std::function<absl::StatusOr<void*>(int64_t bytes)> allocate;
    std::function<void(void* memory)> free;
  };
  /// Memory of one owner, given back with the scope. Outlives the pool's other owners if need be.
  class Block {
   public:
    Block(Block&& other) noexcept
        : pool_(std::move(other.pool_)), memory_(other.memory_), bytes_(other.bytes_) {}
    Block& operator=(Block&&) = delete;
    ~Block() {
      if (pool_ != nullptr) pool_->GiveBack(memory_, bytes_);
    }
    std::byte* data() const { return static_cast<std::byte*>(memory_); }

   private:
    friend class HostMemoryPool;
    Block(std::shared_ptr<HostMemoryPool> pool, void* memory, int64_t bytes)
        : pool_(std::move(pool)), memory_(memory), bytes_(bytes) {}
    std::shared_ptr<HostMemoryPool> pool_;
    void* memory_;
    int64_t bytes_;
  };

  /// Keeps at most `most_kept_bytes`.
  static std::shared_ptr<HostMemoryPool> Create(Allocator allocator, int64_t most_kept_bytes);
  HostMemoryPool(const HostMemoryPool&) = delete;
  HostMemoryPool& operator=(const HostMemoryPool&) = delete;
  /// Frees what is kept.
  ~HostMemoryPool();

  /// At least `bytes`: what is kept if it is at most a quarter larger, else newly allocated.
  absl::StatusOr<Block> Take(int64_t bytes);
  int64_t kept_bytes() const;

 private:
  struct Kept {
    void* memory;
    int64_t bytes;
  };
  HostMemoryPool(Allocator allocator, int64_t most_kept_bytes)
      : allocator_(std::move(allocator)), most_kept_bytes_(most_kept_bytes) {}
  void GiveBack(void* memory, int64_t bytes);
  /// Frees the oldest of what is kept until it is at most `bytes`.
  void Shrink(int64_t bytes);

  const Allocator allocator_;
  const int64_t most_kept_bytes_;
  mutable absl::Mutex mutex_;
  std::deque<Kept> kept_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  int64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace isocenter::cuda
