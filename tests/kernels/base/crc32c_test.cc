#include "kernels/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace isocenter {
namespace {

TEST(Crc32c, MatchesThePublishedCheckValue) {
  const std::string text = "123456789";
  EXPECT_EQ(Crc32c(std::as_bytes(std::span(text))), 0xE3069283u);
}

TEST(Crc32c, EmptyIsZero) { EXPECT_EQ(Crc32c({}), 0u); }

}  // namespace
}  // namespace isocenter
