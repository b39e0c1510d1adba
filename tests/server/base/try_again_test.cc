#include "server/base/try_again.h"

#include "gtest/gtest.h"

namespace isocenter {
namespace {

TEST(TryAgain, IsAMarkOfTheStatus) {
  EXPECT_TRUE(MayTryAgain(FullForNow("full")));
  EXPECT_EQ(FullForNow("full").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FullForNow("full").message(), "full");
  EXPECT_EQ(RetryAfter(FullForNow("full")), std::nullopt);
  EXPECT_FALSE(MayTryAgain(absl::ResourceExhaustedError("full; try again")));
  EXPECT_FALSE(MayTryAgain(absl::OkStatus()));
}

TEST(TryAgain, MayHaveATime) {
  const absl::Status plain = absl::UnavailableError("busy");
  const absl::Status carries = WithRetryAfter(plain, absl::Milliseconds(1500));
  EXPECT_EQ(carries.code(), plain.code());
  EXPECT_EQ(carries.message(), plain.message());
  EXPECT_TRUE(MayTryAgain(carries));
  EXPECT_EQ(RetryAfter(carries), absl::Milliseconds(1500));
}

}  // namespace
}  // namespace isocenter
