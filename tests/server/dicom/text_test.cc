#include "server/dicom/objects/text.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/dicom/objects/uids.h"

namespace isocenter::dicom {
namespace {

TEST(TextTest, SeparatorsAndControlsBecomeSpaces) {
  EXPECT_EQ(Text("a\\b\nc", 64), "a b c");
  EXPECT_EQ(Text("  x ", 64), "x");
}

TEST(TextTest, CutsBetweenCharactersAndNotWithin) {
  EXPECT_EQ(Text("山田太郎", 3), "山田太");
  EXPECT_EQ(Text("abcd", 4), "abcd");
  EXPECT_EQ(Text("abcde", 4), "abcd");
}

TEST(TextTest, PersonNamesAreCutPerComponentGroup) {
  const std::string longer(70, 'A');
  EXPECT_EQ(PersonName(absl::StrCat(longer, "=山田^太郎")),
            absl::StrCat(std::string(64, 'A'), "=山田^太郎"));
}

TEST(TextTest, CodeStrings) { EXPECT_EQ(CodeString("head-neck"), "HEAD NECK"); }

TEST(TextTest, DecimalStringsFitAndAreNearest) {
  for (double value : {0.0, -0.0, 1.0, -123.45678901234567, 1.0 / 3, -1.0 / 3, 1e-17,
                       -1.234567890123e-7, 6.02214076e23, -0.99999999999999989}) {
    const std::string text = DecimalString(value);
    EXPECT_LE(text.size(), 16u) << text;
    // 16 characters less sign, point and an exponent of four leave nine digits at the least.
    EXPECT_NEAR(std::strtod(text.c_str(), nullptr), value, 1e-9 * std::abs(value)) << text;
  }
}

TEST(TextTest, DatesAndTimesThatAreNone) {
  EXPECT_EQ(DateOrNothing("20260131"), "20260131");
  EXPECT_EQ(DateOrNothing("20261331"), "");
  EXPECT_EQ(DateOrNothing("2026-1-1"), "");
  EXPECT_EQ(TimeOrNothing("235959"), "235959");
  EXPECT_EQ(TimeOrNothing("240000"), "");
  EXPECT_EQ(TimeOrNothing(""), "");
}

TEST(UidTest, SameNameSameUidElseDifferent) {
  const std::string uid = MakeUid(UidRole::kInstance, "job", 3);
  EXPECT_TRUE(IsUid(uid)) << uid;
  EXPECT_EQ(uid, MakeUid(UidRole::kInstance, "job", 3));
  EXPECT_NE(uid, MakeUid(UidRole::kInstance, "job", 4));
  EXPECT_NE(uid, MakeUid(UidRole::kInstance, "job2", 3));
  EXPECT_NE(MakeUid(UidRole::kSeries, "job"), MakeUid(UidRole::kStudy, "job"));
}

TEST(UidTest, LegalForms) {
  EXPECT_TRUE(IsUid("1.2.840.0.1"));
  EXPECT_FALSE(IsUid(""));
  EXPECT_FALSE(IsUid("1..2"));
  EXPECT_FALSE(IsUid("1.02"));
  EXPECT_FALSE(IsUid("1.a"));
  EXPECT_FALSE(IsUid(std::string(65, '1')));
}

}  // namespace
}  // namespace isocenter::dicom
