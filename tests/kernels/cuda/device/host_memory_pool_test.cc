#include "kernels/cuda/device/host_memory_pool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <thread>
#include <vector>

namespace isocenter::cuda {
namespace {

// Ordinary memory, counted; no more than `limit` bytes at once.
class FakeHost {
 public:
  explicit FakeHost(int64_t limit = 1 << 20) : limit_(limit) {}
  ~FakeHost() { EXPECT_TRUE(sizes_.empty()) << sizes_.size() << " blocks were not freed"; }

  HostMemoryPool::Allocator allocator() {
    return {.allocate = [this](int64_t bytes) -> absl::StatusOr<void*> {
              absl::MutexLock lock(&mutex_);
              ++asked_;
              if (used_ + bytes > limit_) return absl::ResourceExhaustedError("full");
              void* memory = std::malloc(bytes);
              used_ += bytes;
              sizes_[memory] = bytes;
              return memory;
            },
            .free =
                [this](void* memory) {
                  absl::MutexLock lock(&mutex_);
                  used_ -= sizes_.at(memory);
                  sizes_.erase(memory);
                  std::free(memory);
                }};
  }
  int asked() const { return asked_; }
  int64_t used() const { return used_; }

 private:
  const int64_t limit_;
  absl::Mutex mutex_;
  int asked_ = 0;
  int64_t used_ = 0;
  std::map<void*, int64_t> sizes_;
};

TEST(HostMemoryPool, HandsOutAgainWhatIsAtMostAQuarterLarger) {
  FakeHost host;
  const auto pool = HostMemoryPool::Create(host.allocator(), 10000);
  std::byte* const first = pool->Take(1000)->data();
  EXPECT_EQ(pool->kept_bytes(), 1000);
  EXPECT_EQ(pool->Take(800)->data(), first);
  EXPECT_EQ(host.asked(), 1);
  { const auto smaller = *pool->Take(799); }
  EXPECT_EQ(host.asked(), 2);
  { const auto larger = *pool->Take(1001); }
  EXPECT_EQ(host.asked(), 3);
  EXPECT_EQ(pool->kept_bytes(), 1000 + 799 + 1001);
  // Of those that fit, the smallest.
  EXPECT_EQ(pool->Take(900)->data(), first);
  EXPECT_EQ(host.asked(), 3);
}

TEST(HostMemoryPool, WhatIsInUseIsNobodyElses) {
  FakeHost host;
  const auto pool = HostMemoryPool::Create(host.allocator(), 10000);
  { const auto earlier = *pool->Take(1000); }
  const auto first = *pool->Take(1000);
  const auto second = *pool->Take(1000);
  EXPECT_NE(first.data(), second.data());
  EXPECT_EQ(pool->kept_bytes(), 0);
}

TEST(HostMemoryPool, FreesTheOldestBeyondItsLimit) {
  FakeHost host;
  const auto pool = HostMemoryPool::Create(host.allocator(), 3000);
  std::vector<std::optional<HostMemoryPool::Block>> blocks;
  for (const int64_t bytes : {1000, 1500, 400, 600}) blocks.emplace_back(*pool->Take(bytes));
  for (auto& block : blocks) block.reset();
  EXPECT_EQ(pool->kept_bytes(), 1500 + 400 + 600);
  EXPECT_EQ(host.used(), 2500);
  // Larger than the limit: freed at once, and nothing else with it.
  { const auto huge = *pool->Take(3001); }
  EXPECT_EQ(host.used(), 2500);
}

TEST(HostMemoryPool, GivesUpWhatItKeepsBeforeItFails) {
  FakeHost host(/*limit=*/1000);
  const auto pool = HostMemoryPool::Create(host.allocator(), 1000);
  { const auto kept = *pool->Take(600); }
  {
    const auto all = pool->Take(1000);
    EXPECT_TRUE(all.ok()) << all.status();
  }
  EXPECT_EQ(pool->Take(1001).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(HostMemoryPool, DoesNotGrowInAThousandRoundsOnSeveralThreads) {
  FakeHost host;
  const auto pool = HostMemoryPool::Create(host.allocator(), 5000);
  std::vector<std::thread> threads;
  for (int seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&pool, seed] {
      for (int round = 0; round < 1000; ++round) {
        const auto block = pool->Take(100 + (round * 7 + seed * 131) % 900);
        ASSERT_TRUE(block.ok());
        block->data()[0] = std::byte{1};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(pool->kept_bytes(), 5000);
  EXPECT_EQ(host.used(), pool->kept_bytes());
}

TEST(HostMemoryPool, BlocksMayOutliveTheOthersHandles) {
  FakeHost host;
  auto pool = HostMemoryPool::Create(host.allocator(), 5000);
  auto block = pool->Take(100);
  pool.reset();
  block->data()[99] = std::byte{1};
}

}  // namespace
}  // namespace isocenter::cuda
