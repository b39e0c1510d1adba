#include "server/crypto/digests.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace isocenter::crypto {
namespace {

TEST(Digests, AreWhatTheStandardsSay) {
  // FIPS 180-2, RFC 4231 test case 2.
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HmacHex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  constexpr uint8_t kSha1[] = {0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e,
                               0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d};
  EXPECT_THAT(Sha1("abc"), ::testing::ElementsAreArray(kSha1));
  EXPECT_NE(RandomToken(), RandomToken());
  EXPECT_EQ(RandomToken().size(), 64u);
  EXPECT_TRUE(EqualInConstantTime("ab", "ab"));
  EXPECT_FALSE(EqualInConstantTime("ab", "ac"));
  EXPECT_FALSE(EqualInConstantTime("ab", "abc"));
}

}  // namespace
}  // namespace isocenter::crypto
