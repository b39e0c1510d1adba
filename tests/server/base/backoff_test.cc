#include "server/base/backoff.h"

#include "gtest/gtest.h"

namespace isocenter {
namespace {

TEST(Backoff, DoublesUpToTheLongest) {
  Backoff backoff(absl::Seconds(5), absl::Seconds(60), [] { return 1.0; });
  for (const int seconds : {5, 10, 20, 40, 60, 60}) {
    EXPECT_EQ(backoff.Fail(), absl::Seconds(seconds));
  }
  EXPECT_EQ(backoff.failures(), 6);
  backoff.Succeed();
  EXPECT_EQ(backoff.Fail(), absl::Seconds(5));
}

TEST(Backoff, ChanceShortensByUpToHalf) {
  double chance = 0;
  Backoff backoff(absl::Seconds(10), absl::Seconds(10), [&] { return chance; });
  EXPECT_EQ(backoff.Fail(), absl::Seconds(5));
  chance = 0.5;
  EXPECT_EQ(backoff.Fail(), absl::Seconds(7.5));
}

TEST(Backoff, EndlessFailuresDoNotOverflow) {
  Backoff backoff(absl::Milliseconds(50), absl::Hours(24), [] { return 1.0; });
  for (int i = 0; i < 10000; ++i) EXPECT_LE(backoff.Fail(), absl::Hours(24));
}

TEST(Backoff, FailuresThatAreCountedElsewhere) {
  const Backoff backoff(absl::Seconds(5), absl::Seconds(60));
  const int seconds[] = {5, 5, 10, 20, 40, 60, 60};
  for (int failures = 0; failures < 7; ++failures) {
    EXPECT_EQ(backoff.After(failures), absl::Seconds(seconds[failures]));
  }
}

}  // namespace
}  // namespace isocenter
