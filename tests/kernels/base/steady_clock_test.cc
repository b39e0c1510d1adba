#include "kernels/base/steady_clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace isocenter {
namespace {

TEST(SteadyClock, GoesForward) {
  const absl::Time before = SteadyNow();
  EXPECT_LE(before, SteadyNow());
}

TEST(DeadlineIn, IsSoFarFromNow) {
  const auto now = std::chrono::system_clock::now();
  EXPECT_GE(DeadlineIn(absl::Seconds(2)) - now, std::chrono::seconds(2));
  EXPECT_LT(DeadlineIn(absl::Seconds(2)) - now, std::chrono::hours(1));
  EXPECT_LT(DeadlineIn(absl::Seconds(-2)), now);
  EXPECT_GT(DeadlineIn(absl::InfiniteDuration()) - now, std::chrono::hours(24 * 365));
  EXPECT_LT(DeadlineIn(-absl::InfiniteDuration()), now);
}

class AwaitForTest : public testing::Test {
 protected:
  absl::Mutex mutex_;
  bool set_ = false;
};

TEST_F(AwaitForTest, EndsWithItsTime) {
  const absl::Time begin = SteadyNow();
  absl::MutexLock lock(&mutex_);
  EXPECT_FALSE(AwaitFor(mutex_, absl::Condition(&set_), absl::Milliseconds(30)));
  EXPECT_GE(SteadyNow() - begin, absl::Milliseconds(30));
  EXPECT_FALSE(AwaitFor(mutex_, absl::Condition(&set_), absl::ZeroDuration()));
  EXPECT_FALSE(AwaitFor(mutex_, absl::Condition(&set_), -absl::InfiniteDuration()));
  mutex_.AssertHeld();
}

TEST_F(AwaitForTest, EndsWithItsCondition) {
  std::thread other([this] {
    absl::MutexLock lock(&mutex_);
    set_ = true;
  });
  {
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(AwaitFor(mutex_, absl::Condition(&set_), absl::Hours(1)));
    EXPECT_TRUE(AwaitFor(mutex_, absl::Condition(&set_), absl::InfiniteDuration()));
    EXPECT_TRUE(AwaitFor(mutex_, absl::Condition(&set_), absl::ZeroDuration())) << "holds already";
  }
  other.join();
}

TEST_F(AwaitForTest, EndlessOnesWaitForTheirCondition) {
  std::thread other([this] {
    absl::MutexLock lock(&mutex_);
    set_ = true;
  });
  {
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(AwaitFor(mutex_, absl::Condition(&set_), absl::InfiniteDuration()));
  }
  other.join();
}

// Ends by time and by condition meet: nobody is told after he has gone, and nobody waits for ever.
TEST_F(AwaitForTest, ManyAtOnce) {
  constexpr int kThreads = 8, kRounds = 200;
  int value = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i, &value] {
      for (int round = 0; round < kRounds; ++round) {
        absl::MutexLock lock(&mutex_);
        const int seen = value++;
        const auto changed = [&] { return value != seen + 1; };
        AwaitFor(mutex_, absl::Condition(&changed), absl::Microseconds(20 * (i + round % 10)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value, kThreads * kRounds);
}

}  // namespace
}  // namespace isocenter
