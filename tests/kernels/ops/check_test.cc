#include "kernels/ops/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace isocenter::ops {
namespace {

using ::testing::HasSubstr;

TEST(CheckSlices, AcceptsPartsInside) {
  EXPECT_TRUE(CheckSlices("views", 0, {4, 3, 2}, {4, 3, 2}).ok());
  EXPECT_TRUE(CheckSlices("views", 3, {1, 3, 2}, {4, 3, 2}).ok());
}

TEST(CheckSlices, RefusesWhatSticksOutAndNamesIt) {
  const absl::Status status = CheckSlices("views", 3, {2, 3, 2}, {4, 3, 2});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("views of shape 2x3x2 at index 3 do not fit into 4x3x2"));
  EXPECT_FALSE(CheckSlices("views", -1, {1, 3, 2}, {4, 3, 2}).ok());
  EXPECT_FALSE(CheckSlices("views", 0, {1, 2, 3}, {4, 3, 2}).ok());
  EXPECT_FALSE(
      CheckSlices("views", std::numeric_limits<int64_t>::max(), {1, 3, 2}, {4, 3, 2}).ok());
}

TEST(CheckAllocation, NamesNeedAndLimit) {
  const absl::Status status = CheckAllocation("volume", {2, 2, 2}, 32, 31);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("need 32 bytes; the device's limit is 31 bytes"));
  EXPECT_TRUE(CheckAllocation("volume", {2, 2, 2}, 32, 32).ok());
  EXPECT_EQ(CheckAllocation("volume", {2, 0, 2}, 0, 32).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isocenter::ops
