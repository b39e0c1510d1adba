#include "kernels/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace isocenter {
namespace {

TEST(NotUtf8, IsEmptyOfUtf8) {
  for (const std::string text : {"", "M\xc3\xbcller", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                 "\xed\x9f\xbf", "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(NotUtf8(text), "") << text;
  }
  EXPECT_EQ(NotUtf8(std::string("a\0b", 3)), "");
}

TEST(NotUtf8, NamesTheFirstByteThatBelongsToNoCharacter) {
  EXPECT_EQ(NotUtf8("M\xfcller"), "not UTF-8: byte 0xFC at offset 1");
  EXPECT_EQ(NotUtf8("\xc3\xbc\x80"), "not UTF-8: byte 0x80 at offset 2");
  EXPECT_EQ(NotUtf8("ab\xc3"), "not UTF-8: byte 0xC3 at offset 2");            // cut
  EXPECT_EQ(NotUtf8("\xc0\x80"), "not UTF-8: byte 0xC0 at offset 0");          // overlong
  EXPECT_EQ(NotUtf8("\xe0\x80\x80"), "not UTF-8: byte 0xE0 at offset 0");      // overlong
  EXPECT_EQ(NotUtf8("\xed\xa0\x80"), "not UTF-8: byte 0xED at offset 0");      // a surrogate
  EXPECT_EQ(NotUtf8("\xf4\x90\x80\x80"), "not UTF-8: byte 0xF4 at offset 0");  // beyond Unicode
}

}  // namespace
}  // namespace isocenter
