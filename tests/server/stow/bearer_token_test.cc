#include "server/stow/bearer_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::stow {
namespace {

using std::filesystem::perms;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BearerTokenTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Read(const std::string& text,
                                   perms mode = perms::owner_read | perms::owner_write) {
    std::ofstream(file_) << text;
    std::filesystem::permissions(file_, mode);
    return ReadBearerToken("field", file_);
  }
  const isocenter::testing::TemporaryDirectory directory_;
  const std::string file_ = (directory_.path() / "token").string();
};

TEST_F(BearerTokenTest, IsTheFirstLine) {
  EXPECT_EQ(*Read("aZ0-._~+/=\n"), "aZ0-._~+/=");
  EXPECT_EQ(*Read("  token \r\nwhat else there is\n"), "token");
}

TEST_F(BearerTokenTest, WhatIsNoTokenIsRefusedWithoutBeingShown) {
  for (const char* text :
       {"", "\ntoken", "to ken", "to\"ken", "t\xc3\xb6ken", "token\rX-More: 1\n"}) {
    const auto token = Read(text);
    EXPECT_TRUE(absl::IsInvalidArgument(token.status())) << text;
    EXPECT_THAT(
        std::string(token.status().message()),
        AllOf(HasSubstr("field is " + file_), HasSubstr("legal is"), Not(HasSubstr("X-More"))));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Read(std::string(20'000, 'a')).status()));
}

TEST_F(BearerTokenTest, IsASecret) {
  EXPECT_TRUE(
      absl::IsPermissionDenied(Read("token", perms::owner_read | perms::others_read).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadBearerToken("field", file_ + "-of-another").status()));
}

}  // namespace
}  // namespace isocenter::stow
