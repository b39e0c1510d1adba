// Sessions and limits, without a network.
#include "server/http/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "server/crypto/digests.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::http {
namespace {

class AccessTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) {
    std::ofstream(path_) << text;
    std::filesystem::permissions(path_, std::filesystem::perms(0640));
  }
  void Open() {
    Write(absl::StrCat("# comment\n\noperator ", crypto::Sha256Hex("secret"), " ward 3\n"));
    Start(std::make_unique<roles::Roster>(*roles::TokenBook::Open(path_),
                                          std::vector<roles::CertificateHolder>()));
  }
  void Start(std::unique_ptr<roles::Roster> roster) {
    access_.reset();
    roster_ = std::move(roster);
    access_ = std::make_unique<Access>(*roster_, [this] { return now_; });
  }
  Request WithCookie(const std::string& id) {
    Request request{.remote_address = "10.0.0.1"};
    request.headers["cookie"] = absl::StrCat(Access::kCookie, "=", id);
    return request;
  }

  isocenter::testing::TemporaryDirectory files_;
  const std::string path_ = (files_.path() / "tokens").string();
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  std::unique_ptr<roles::Roster> roster_;
  std::unique_ptr<Access> access_;
};

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

TEST_F(AccessTest, ALineThatBecomesIllegalEndsItsSessionsAlone) {
  Open();
  const auto session = access_->SignIn("secret", "10.0.0.1");
  const std::string other = absl::StrCat("viewer ", crypto::Sha256Hex("other"), " ward 4\n");
  Write(absl::StrCat("operater ", crypto::Sha256Hex("secret"), " ward 3\n", other));
  EXPECT_TRUE(absl::IsUnauthenticated(access_->Identify(WithCookie(session->id)).status()));
  EXPECT_TRUE(access_->SignIn("other", "10.0.0.1").ok());
}

TEST_F(AccessTest, SigningOutEndsTheSession) {
  Open();
  const auto session = access_->SignIn("secret", "10.0.0.1");
  access_->SignOut(WithCookie(session->id));
  EXPECT_FALSE(access_->Identify(WithCookie(session->id)).ok());
}

TEST_F(AccessTest, GuessingIsSlowedDownByAddress) {
  Open();
  for (int i = 0; i < roles::AttemptLimiter::kFailures; ++i) {
    EXPECT_TRUE(absl::IsUnauthenticated(access_->SignIn("guess", "10.0.0.1").status()));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(access_->SignIn("guess", "10.0.0.1").status()));
  EXPECT_GT(access_->RetryAfter("10.0.0.1"), absl::Seconds(59));
  EXPECT_TRUE(access_->SignIn("secret", "10.0.0.2").ok());
  EXPECT_TRUE(absl::IsUnauthenticated(access_->SignIn("guess", "10.0.0.2").status()));
  now_ += roles::AttemptLimiter::kWithin;
  EXPECT_TRUE(absl::IsUnauthenticated(access_->SignIn("guess", "10.0.0.1").status()));
}

TEST_F(AccessTest, TheRightTokenDoesNotWaitForWrongOnesFromItsAddress) {
  Open();
  Request program{.headers = {{"authorization", "Bearer secret"}}, .remote_address = "10.0.0.1"};
  for (int i = 0; i < 3 * roles::AttemptLimiter::kFailures; ++i) {
    EXPECT_FALSE(access_->SignIn("guess", "10.0.0.1").ok());
    EXPECT_TRUE(access_->Identify(program).ok());
  }
  EXPECT_TRUE(access_->SignIn("secret", "10.0.0.1").ok());
  // It does not end the wait of the others.
  EXPECT_TRUE(absl::IsResourceExhausted(access_->SignIn("guess", "10.0.0.1").status()));
}

TEST_F(AccessTest, CertificatesHaveRoles) {
  Start(std::make_unique<roles::Roster>(
      nullptr,
      std::vector<roles::CertificateHolder>{{"CN=console 3,O=Hospital", Role::kAdministrator}}));
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
}  // namespace isocenter::http
