// Tokens, sessions and limits, without a network.
#include "server/web/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "server/web/secrets.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AccessTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(path_) << text; }
  void Open() {
    Write(absl::StrCat("# comment\n\noperator ", Sha256Hex("secret"), " ward 3\n"));
    access_ = std::make_unique<Access>(
        AccessOptions{.tokens = *TokenBook::Open(path_), .clock = [this] { return now_; }});
  }
  Request WithCookie(const std::string& id) {
    Request request{.remote_address = "10.0.0.1"};
    request.headers["cookie"] = absl::StrCat(Access::kCookie, "=", id);
    return request;
  }

  isocenter::testing::TemporaryDirectory files_;
  const std::string path_ = (files_.path() / "tokens").string();
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  std::unique_ptr<Access> access_;
};

TEST(Secrets, AreWhatTheStandardsSay) {
  // FIPS 180-2, RFC 4231 test case 2.
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HmacHex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_NE(RandomToken(), RandomToken());
  EXPECT_EQ(RandomToken().size(), 64u);
  EXPECT_TRUE(EqualInConstantTime("ab", "ab"));
  EXPECT_FALSE(EqualInConstantTime("ab", "ac"));
  EXPECT_FALSE(EqualInConstantTime("ab", "abc"));
}

TEST(Tokens, SayWhichLineIsWrongWithoutRepeatingIt) {
  const std::string digest(64, 'a');
  EXPECT_EQ(ParseTokens(absl::StrCat("viewer ", digest, " a b"), "f")->front().name, "a b");
  for (const std::string& line :
       {"chief " + digest + " x", std::string("viewer secret x"), "viewer " + digest,
        "viewer " + digest + " " + std::string(65, 'n')}) {
    const auto parsed = ParseTokens(absl::StrCat("\n", line), "tokens");
    EXPECT_TRUE(absl::IsInvalidArgument(parsed.status())) << line;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("tokens:2"));
    EXPECT_THAT(std::string(parsed.status().message()), Not(HasSubstr("secret")));
  }
}

TEST_F(AccessTest, TokensThatEverybodyMayWriteAreRefused) {
  Write("");
  chmod(path_.c_str(), 0666);
  EXPECT_TRUE(absl::IsPermissionDenied(TokenBook::Open(path_).status()));
  EXPECT_TRUE(absl::IsNotFound(TokenBook::Open(path_ + "x").status()));
}

TEST_F(AccessTest, SessionsEndAfterTheirTimeAndWithTheirToken) {
  Open();
  const auto first = access_->SignIn("secret", "10.0.0.1");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->caller.role, Role::kOperator);
  EXPECT_TRUE(access_->Identify(WithCookie(first->id)).ok());
  now_ += Access::kSessionLength;
  EXPECT_TRUE(absl::IsUnauthenticated(access_->Identify(WithCookie(first->id)).status()));

  const auto second = access_->SignIn("secret", "10.0.0.1");
  ASSERT_TRUE(second.ok());
  Write("# nobody any more\n");
  EXPECT_TRUE(absl::IsUnauthenticated(access_->Identify(WithCookie(second->id)).status()));
}

TEST_F(AccessTest, AFileThatBecomesIllegalLeavesTheTokens) {
  Open();
  Write("nonsense");
  EXPECT_TRUE(access_->SignIn("secret", "10.0.0.1").ok());
}

TEST_F(AccessTest, SigningOutEndsTheSession) {
  Open();
  const auto session = access_->SignIn("secret", "10.0.0.1");
  access_->SignOut(WithCookie(session->id));
  EXPECT_FALSE(access_->Identify(WithCookie(session->id)).ok());
}

TEST_F(AccessTest, GuessingIsSlowedDownByAddress) {
  Open();
  for (int i = 0; i < AttemptLimiter::kFailures; ++i) {
    EXPECT_TRUE(absl::IsUnauthenticated(access_->SignIn("guess", "10.0.0.1").status()));
  }
  // Also the right one, or the answer would tell that it is.
  EXPECT_TRUE(absl::IsResourceExhausted(access_->SignIn("secret", "10.0.0.1").status()));
  EXPECT_GT(access_->RetryAfter("10.0.0.1"), absl::Seconds(59));
  EXPECT_TRUE(access_->SignIn("secret", "10.0.0.2").ok());
  now_ += AttemptLimiter::kWithin;
  EXPECT_TRUE(access_->SignIn("secret", "10.0.0.1").ok());
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

TEST_F(AccessTest, CertificatesHaveRoles) {
  access_ = std::make_unique<Access>(
      AccessOptions{.certificates = {{"CN=console 3,O=Hospital", Role::kAdministrator}}});
  Request request{.certificate_subject = "CN=console 3,O=Hospital"};
  const auto caller = access_->Identify(request);
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->role, Role::kAdministrator);
  EXPECT_FALSE(caller->csrf_token.empty());  // browsers present certificates by themselves
  request.certificate_subject = "CN=console 3";
  EXPECT_FALSE(access_->Identify(request).ok());
  request.certificate_subject.clear();
  EXPECT_FALSE(access_->Identify(request).ok());
}

TEST_F(AccessTest, ChangesComeFromThePageItself) {
  Open();
  const auto session = access_->SignIn("secret", "10.0.0.1");
  const auto other = access_->SignIn("secret", "10.0.0.1");
  Request request = WithCookie(session->id);
  request.headers["host"] = "ct:8080";
  EXPECT_FALSE(access_->CheckOrigin(request, session->caller).ok());
  request.headers["x-csrf-token"] = other->caller.csrf_token;
  EXPECT_FALSE(access_->CheckOrigin(request, session->caller).ok()) << "another session's token";
  request.headers["x-csrf-token"] = session->caller.csrf_token;
  EXPECT_TRUE(access_->CheckOrigin(request, session->caller).ok());
  request.headers["origin"] = "https://ct:8080";
  EXPECT_TRUE(access_->CheckOrigin(request, session->caller).ok());
  request.headers["origin"] = "https://evil.example";
  EXPECT_FALSE(access_->CheckOrigin(request, session->caller).ok());
  request.headers["origin"] = "null";
  EXPECT_FALSE(access_->CheckOrigin(request, session->caller).ok());
  request.headers.erase("origin");
  request.headers["sec-fetch-site"] = "cross-site";
  EXPECT_FALSE(access_->CheckOrigin(request, session->caller).ok());
}

}  // namespace
}  // namespace isocenter::web
