// Who has a role: tokens, certificates, and what slows down guessing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "server/crypto/digests.h"
#include "server/roles/attempt_limiter.h"
#include "server/roles/roster.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::roles {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Tokens, SayWhichLineIsWrongWithoutRepeatingIt) {
  const std::string digest(64, 'a');
  EXPECT_EQ(ParseTokens(absl::StrCat("viewer ", digest, " a b"), "f").holders.front().name, "a b");
  for (const std::string& line :
       {"chief " + digest + " x", std::string("viewer secret x"), "viewer " + digest,
        "viewer " + digest + " " + std::string(65, 'n')}) {
    const ParsedTokens parsed =
        ParseTokens(absl::StrCat("\n", line, "\nviewer ", digest, " next"), "tokens");
    ASSERT_EQ(parsed.wrong.size(), 1u) << line;
    EXPECT_TRUE(absl::IsInvalidArgument(parsed.wrong[0])) << line;
    EXPECT_THAT(std::string(parsed.wrong[0].message()), HasSubstr("tokens:2"));
    EXPECT_THAT(std::string(parsed.wrong[0].message()), Not(HasSubstr("secret")));
    ASSERT_EQ(parsed.holders.size(), 1u) << line;
    EXPECT_EQ(parsed.holders[0].name, "next");
  }
}

class TokenFileTest : public ::testing::Test {
 protected:
  TokenFileTest() {
    Write(Line("console", "stolen") + Line("operator", "mine"));
    book_ = *TokenBook::Open(path_);
  }
  static std::string Line(const char* role, const char* token) {
    return absl::StrCat(role, " ", crypto::Sha256Hex(token), " ", token, "\n");
  }
  void Write(const std::string& text) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), 0600);
  }
  bool Knows(const char* token) { return book_->Find(token).has_value(); }

  const testing::TemporaryDirectory files_;
  const std::string path_ = (files_.path() / "tokens").string();
  std::unique_ptr<TokenBook> book_;
};

TEST_F(TokenFileTest, ATokenIsTakenBackWhateverElseIsWrong) {
  ASSERT_TRUE(Knows("stolen"));
  const roles::TokenHolder stolen = *book_->Find("stolen");
  EXPECT_TRUE(book_->is_right());
  Write(Line("operater", "mine") + Line("viewer", "new"));
  EXPECT_FALSE(Knows("stolen"));
  EXPECT_FALSE(book_->Has(stolen));
  EXPECT_FALSE(Knows("mine"));  // whose line names no role that there is
  EXPECT_TRUE(Knows("new"));
  EXPECT_FALSE(book_->is_right());
  Write(Line("operator", "mine"));
  EXPECT_TRUE(book_->is_right());
  EXPECT_TRUE(Knows("mine"));
}

TEST_F(TokenFileTest, AFileThatIsTakenAwayNamesNobody) {
  std::filesystem::remove(path_);
  EXPECT_FALSE(book_->is_right());
  EXPECT_FALSE(Knows("mine"));
  Write(Line("operator", "mine"));
  EXPECT_TRUE(Knows("mine"));
  EXPECT_TRUE(book_->is_right());
}

TEST_F(TokenFileTest, AFileThatOthersMayWriteSaysNothingUntilItIsPutRight) {
  std::ofstream(path_) << Line("administrator", "intruder");
  chmod(path_.c_str(), 0666);
  EXPECT_FALSE(Knows("intruder"));
  EXPECT_TRUE(Knows("mine"));
  EXPECT_FALSE(book_->is_right());
  chmod(path_.c_str(), 0600);
  EXPECT_TRUE(book_->is_right());
  EXPECT_TRUE(Knows("intruder"));
  EXPECT_FALSE(Knows("mine"));
}

TEST(Tokens, ThatOthersMayReadOrWriteAreRefused) {
  const testing::TemporaryDirectory files;
  const std::string path = (files.path() / "tokens").string();
  std::ofstream(path) << "";
  for (const mode_t mode : {0666, 0644, 0604, 0602, 0660, 0641}) {
    chmod(path.c_str(), mode);
    const absl::Status status = TokenBook::Open(path).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrFormat("mode 0%o; legal is 0600 or 0640", mode)));
  }
  for (const mode_t mode : {0600, 0640, 0400, 0440}) {
    chmod(path.c_str(), mode);
    EXPECT_TRUE(TokenBook::Open(path).ok()) << mode;
  }
  EXPECT_TRUE(absl::IsNotFound(TokenBook::Open(path + "x").status()));
}

TEST(Limiter, MemoryIsBounded) {
  AttemptLimiter limiter;
  const absl::Time now = absl::FromUnixSeconds(0);
  for (int i = 0; i < AttemptLimiter::kFailures; ++i) limiter.OnFailure("first", now);
  for (size_t i = 0; i < AttemptLimiter::kAddresses; ++i) {
    limiter.OnFailure(absl::StrCat(i), now + absl::Seconds(1));
  }
  EXPECT_EQ(limiter.Wait("first", now + absl::Seconds(2)), absl::ZeroDuration());
}

TEST(Roster, KnowsTokensAndCertificates) {
  const testing::TemporaryDirectory files;
  const std::string path = (files.path() / "tokens").string();
  std::ofstream(path) << "console " << crypto::Sha256Hex("secret") << " room 2\n";
  chmod(path.c_str(), 0600);
  const Roster roster(*TokenBook::Open(path), {{"CN=admin", Role::kAdministrator}});
  EXPECT_FALSE(roster.is_open());
  const auto holder = [&roster](const char* token) {
    return roster.CheckToken(token, absl::Now()).holder;
  };
  ASSERT_TRUE(holder("secret").has_value());
  EXPECT_EQ(holder("secret")->role, Role::kConsole);
  EXPECT_EQ(holder("secret")->name, "room 2");
  EXPECT_EQ(holder("secret")->identity(), "token room 2");
  EXPECT_TRUE(roster.Has(*holder("secret"), absl::Now()));
  EXPECT_FALSE(holder("").has_value());
  EXPECT_EQ(roster.FindCertificate("CN=admin"), Role::kAdministrator);
  EXPECT_EQ(roster.FindCertificate("CN=admin,O=x"), std::nullopt);
  EXPECT_EQ(roster.FindCertificate(""), std::nullopt);
  EXPECT_TRUE(Roster().is_open());
  EXPECT_FALSE(Roster().CheckToken("secret", absl::Now()).holder.has_value());
}

TEST(BearerToken, IsWhatFollowsTheScheme) {
  EXPECT_EQ(BearerToken("Bearer abc"), "abc");
  EXPECT_EQ(BearerToken("bearer  abc "), "abc");
  EXPECT_EQ(BearerToken("Basic abc"), "");
  EXPECT_EQ(BearerToken("Bearer"), "");
  EXPECT_EQ(BearerToken(""), "");
}

}  // namespace
}  // namespace isocenter::roles
