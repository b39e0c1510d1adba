#include "proto/wire/mistakes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace isocenter::wire {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(Mistakes, HaveTheCodeOfAll) {
  Mistakes mistakes;
  EXPECT_TRUE(mistakes.AsStatus().ok());
  mistakes.Add(absl::OkStatus());
  mistakes.Add(absl::NotFoundError("a is 1; legal is 2"));
  EXPECT_EQ(mistakes.AsStatus(), absl::NotFoundError("a is 1; legal is 2"));
  mistakes.Add(absl::NotFoundError("b is 1; legal is 2"));
  EXPECT_EQ(mistakes.AsStatus(), absl::NotFoundError("a is 1; legal is 2; b is 1; legal is 2"));
  mistakes.Add(absl::FailedPreconditionError("c"));
  EXPECT_EQ(mistakes.AsStatus().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Mistakes, AreToldOnce) {
  Mistakes mistakes;
  mistakes.Add(absl::InvalidArgumentError("a is 1; legal is 2"));
  mistakes.Add(absl::InvalidArgumentError("a is 1; legal is 2"));
  EXPECT_EQ(mistakes.AsStatus().message(), "a is 1; legal is 2");
}

// The end of a call carries 2000 bytes.
TEST(Mistakes, HaveAnEnd) {
  Mistakes inner, outer;
  for (int i = 0; i < 100; ++i) {
    inner.Add(absl::InvalidArgumentError(absl::StrCat("field ", i, " is wrong by far")));
  }
  outer.Add(inner.AsStatus());
  outer.Add(absl::InvalidArgumentError("another is wrong"));
  for (const Mistakes* all : {&inner, &outer}) {
    const std::string told(all->AsStatus().message());
    EXPECT_LT(told.size(), 1700u);
    EXPECT_THAT(told, HasSubstr("field 50 is wrong by far; "));
    EXPECT_THAT(told, EndsWith("by far; and more, which is told when this is mended"));
  }
}

}  // namespace
}  // namespace isocenter::wire
