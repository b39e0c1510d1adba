#include "kernels/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace isocenter {
namespace {

TEST(ThreadPool, VisitsEachIndexOnce) {
  ThreadPool pool(3);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<std::atomic<int>> visits(37);
    pool.ParallelFor(37, [&](int64_t i, int worker) {
      ASSERT_GE(worker, 0);
      ASSERT_LT(worker, 3);
      ++visits[i];
    });
    for (const auto& count : visits) ASSERT_EQ(count, 1);
  }
}

TEST(ThreadPool, ServesConcurrentCallers) {
  ThreadPool pool(2);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        pool.ParallelFor(100, [&](int64_t i, int) { sum += i; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 50 * 4950);
}

TEST(ThreadPool, EmptyLoopReturns) {
  ThreadPool pool(2);
  pool.ParallelFor(0, [](int64_t, int) { FAIL(); });
}

}  // namespace
}  // namespace isocenter
