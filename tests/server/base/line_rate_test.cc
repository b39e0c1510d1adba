#include "server/base/line_rate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace isocenter {
namespace {

using ::testing::Eq;
using ::testing::Optional;

TEST(LineRate, ALineASecondSaysHowManyWereLeftOut) {
  LineRate rate;
  const absl::Time begin = absl::FromUnixSeconds(1000);
  EXPECT_THAT(rate.Admit("a", begin), Optional(0));
  EXPECT_THAT(rate.Admit("a", begin + absl::Milliseconds(500)), Eq(std::nullopt));
  EXPECT_THAT(rate.Admit("a", begin + absl::Milliseconds(999)), Eq(std::nullopt));
  EXPECT_THAT(rate.Admit("b", begin + absl::Milliseconds(999)), Optional(0));  // counted apart
  EXPECT_THAT(rate.Admit("a", begin + absl::Seconds(5)), Optional(2));
  EXPECT_THAT(rate.Admit("a", begin + absl::Seconds(6)), Optional(0));
}

TEST(LineRate, SubjectsOfOtherSecondsAreForgottenWhenThereAreMany) {
  LineRate rate;
  const absl::Time begin = absl::FromUnixSeconds(1000);
  for (size_t i = 0; i < LineRate::kSubjects; ++i) rate.Admit(absl::StrCat("job ", i), begin);
  EXPECT_THAT(rate.Admit("job 0", begin), Eq(std::nullopt));  // still of this second
  rate.Admit("another", begin + absl::Seconds(1));
  EXPECT_THAT(rate.Admit("job 0", begin + absl::Seconds(2)), Optional(0));
}

}  // namespace
}  // namespace isocenter
