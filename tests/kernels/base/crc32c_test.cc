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

TEST(Crc32c, PiecesGiveTheChecksumOfTheWhole) {
  const std::string text = "123456789";
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(ExtendCrc32c(Crc32c(bytes.first(cut)), bytes.subspan(cut)), 0xE3069283u) << cut;
  }
}

TEST(Crc32, IsThatOfZip) {
  const std::string text = "123456789";
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  EXPECT_EQ(ExtendCrc32(ExtendCrc32(0, bytes.first(4)), bytes.subspan(4)), 0xCBF43926u);
}

}  // namespace
}  // namespace isocenter
