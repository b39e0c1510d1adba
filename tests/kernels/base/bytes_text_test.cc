#include "kernels/base/bytes_text.h"

#include <gtest/gtest.h>

namespace isocenter {
namespace {

TEST(BytesText, IsInTheLargestUnitThatLeavesAtLeastOne) {
  EXPECT_EQ(BytesText(0), "0 bytes");
  EXPECT_EQ(BytesText(1), "1 byte");
  EXPECT_EQ(BytesText(1023), "1023 bytes");
  EXPECT_EQ(BytesText(1024), "1 KiB");
  EXPECT_EQ(BytesText(1536), "1.5 KiB");
  EXPECT_EQ(BytesText(int64_t{147} << 20), "147 MiB");
  EXPECT_EQ(BytesText(int64_t{4755816448}), "4.429 GiB");
  EXPECT_EQ(BytesText(int64_t{1342177280000}), "1.221 TiB");
  EXPECT_EQ(BytesText(INT64_MAX), "8 EiB");
}

TEST(BytesText, DoesNotRoundUpToAThousandAndTwentyFour) {
  EXPECT_EQ(BytesText((int64_t{1} << 20) - 1), "1 MiB");
  EXPECT_EQ(BytesText((int64_t{1} << 30) - 1), "1 GiB");
  EXPECT_EQ(BytesText(1023 * 1024), "1023 KiB");
}

TEST(BytesText, ANegativeNumberIsNoLargeOne) { EXPECT_EQ(BytesText(-5), "-5 bytes"); }

}  // namespace
}  // namespace isocenter
