#include "server/dicom/scp/matching.h"

#include "gtest/gtest.h"

namespace isocenter::dicom {
namespace {

TEST(MatchingTest, Wildcards) {
  EXPECT_TRUE(MatchesWildcard("", ""));
  EXPECT_TRUE(MatchesWildcard("*", ""));
  EXPECT_TRUE(MatchesWildcard("a*c", "abbc"));
  EXPECT_TRUE(MatchesWildcard("*b*", "abc"));
  EXPECT_TRUE(MatchesWildcard("a?c", "abc"));
  EXPECT_TRUE(MatchesWildcard("**a**", "bab"));
  EXPECT_FALSE(MatchesWildcard("a?c", "ac"));
  EXPECT_FALSE(MatchesWildcard("a", "ab"));
  EXPECT_FALSE(MatchesWildcard("a*b", "ac"));
  EXPECT_FALSE(MatchesWildcard("A", "a"));
}

TEST(MatchingTest, QuestionMarkIsOneCharacterNotOneByte) {
  EXPECT_TRUE(MatchesWildcard("山?", "山田"));
  EXPECT_FALSE(MatchesWildcard("山?", "山"));
  EXPECT_TRUE(MatchesWildcard("*田", "山田"));
}

TEST(MatchingTest, SlowPatternsEnd) {
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "*a";
  EXPECT_FALSE(MatchesWildcard(pattern + "b", std::string(2000, 'a')));
}

TEST(MatchingTest, EmptyAndStarMatchEverything) {
  for (Matching matching : {Matching::kText, Matching::kPersonName, Matching::kDate,
                            Matching::kTime, Matching::kNumber}) {
    EXPECT_TRUE(Matches(matching, "", ""));
    EXPECT_TRUE(Matches(matching, "*", "x"));
  }
  EXPECT_TRUE(Matches(Matching::kUid, "", "1.2"));
  EXPECT_FALSE(Matches(Matching::kUid, "*", "1.2"));
}

TEST(MatchingTest, PersonNames) {
  const char* name = "Yamada^Tarou=山田^太郎=やまだ^たろう";
  EXPECT_TRUE(Matches(Matching::kPersonName, "yamada^tarou", name));
  EXPECT_TRUE(Matches(Matching::kPersonName, "YAMADA*", name));
  EXPECT_TRUE(Matches(Matching::kPersonName, "山田*", name));
  EXPECT_TRUE(Matches(Matching::kPersonName, "=山田^太郎", name));
  EXPECT_TRUE(Matches(Matching::kPersonName, name, name));
  EXPECT_TRUE(Matches(Matching::kPersonName, "Doe^Jane^^^", "Doe^Jane"));
  EXPECT_FALSE(Matches(Matching::kPersonName, "yamada", name));
  EXPECT_FALSE(Matches(Matching::kPersonName, "yamada^tarou=鈴木*", name));
  EXPECT_FALSE(Matches(Matching::kPersonName, "Doe", ""));
}

TEST(MatchingTest, UidLists) {
  EXPECT_TRUE(Matches(Matching::kUid, "1.2\\1.3", "1.3"));
  EXPECT_FALSE(Matches(Matching::kUid, "1.2\\1.3", "1.30"));
}

TEST(MatchingTest, Dates) {
  EXPECT_TRUE(Matches(Matching::kDate, "20260102", "20260102"));
  EXPECT_TRUE(Matches(Matching::kDate, "20260101-20260131", "20260131"));
  EXPECT_TRUE(Matches(Matching::kDate, "-20260131", "20251231"));
  EXPECT_TRUE(Matches(Matching::kDate, "20260101-", "20260101"));
  EXPECT_FALSE(Matches(Matching::kDate, "20260102-", "20260101"));
  EXPECT_FALSE(Matches(Matching::kDate, "-20260102", ""));
  EXPECT_FALSE(Matches(Matching::kDate, "tomorrow", "20260101"));
}

TEST(MatchingTest, Times) {
  EXPECT_TRUE(Matches(Matching::kTime, "030405", "030405"));
  EXPECT_TRUE(Matches(Matching::kTime, "03", "035959"));
  EXPECT_TRUE(Matches(Matching::kTime, "0300-0304", "030459"));
  EXPECT_TRUE(Matches(Matching::kTime, "-12", "125959"));
  EXPECT_FALSE(Matches(Matching::kTime, "0300-0303", "030400"));
  EXPECT_FALSE(Matches(Matching::kTime, "04", "030405"));
}

TEST(MatchingTest, Numbers) {
  EXPECT_TRUE(Matches(Matching::kNumber, "007", "7"));
  EXPECT_FALSE(Matches(Matching::kNumber, "7", "70"));
  EXPECT_FALSE(Matches(Matching::kNumber, "x", "7"));
}

}  // namespace
}  // namespace isocenter::dicom
