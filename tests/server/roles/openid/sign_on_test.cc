// What a service asks an identity provider, how often, and what it makes of the answers.
#include "server/roles/openid/sign_on.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/roles/roster.h"
#include "tests/server/fakes/identity_provider.h"

namespace isocenter::openid {
namespace {

using isocenter::testing::Eventually;
using isocenter::testing::IdentityProvider;
using isocenter::testing::kIssuer;
using isocenter::testing::TokenSigner;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class SignOnTest : public ::testing::Test {
 protected:
  Refusal RefusalOf(const std::string& token) {
    return roster_->sign_on()->Check(token, absl::Now()).refusal;
  }
  IdentityProvider provider_;
  std::unique_ptr<roles::Roster> roster_ = provider_.Roster();
};

TEST_F(SignOnTest, AskedForANewKeyItFetchesTheKeys) {
  EXPECT_EQ(RefusalOf(provider_.Token("jane", "viewers")), Refusal::kNone);
  const std::string old = provider_.Token("jane", "viewers");
  provider_.Rotate(TokenSigner::P256("key-2"));
  const std::string fresh = provider_.Token("jane", "viewers");
  absl::SleepFor(IdentityProvider::Settings().times.least);
  EXPECT_EQ(RefusalOf(fresh), Refusal::kNoKeys) << "it is worth to try again";
  EXPECT_TRUE(Eventually([&] { return RefusalOf(fresh) == Refusal::kNone; }));
  EXPECT_EQ(RefusalOf(old), Refusal::kUnknownKey) << "a key that is taken back";
}

TEST_F(SignOnTest, StrangersDoNotMakeItAskOften) {
  const TokenSigner stranger = TokenSigner::P256("unheard of");
  const std::string token = stranger.Sign(IdentityProvider::Claims("eve", "administrators"));
  const absl::Time begin = absl::Now();
  int asked_for = 0;
  while (absl::Now() < begin + absl::Seconds(1)) {
    const Refusal refusal = RefusalOf(token);
    EXPECT_THAT(refusal, ::testing::AnyOf(Refusal::kUnknownKey, Refusal::kNoKeys));
    ++asked_for;
  }
  EXPECT_GT(asked_for, 100);
  // One at the start, and one for each 0.2 s.
  EXPECT_LE(provider_.key_requests(), 1 + (absl::Now() - begin) / absl::Milliseconds(200) + 1);
  EXPECT_GE(provider_.key_requests(), 2);
}

TEST_F(SignOnTest, KeysOutliveTheProvidersAbsence) {
  provider_.SetReachable(false);
  const std::string token = provider_.Token("jane", "viewers");
  const TokenSigner stranger = TokenSigner::P256("unheard of");
  absl::SleepFor(absl::Milliseconds(250));
  EXPECT_EQ(RefusalOf(stranger.Sign(IdentityProvider::Claims("eve", "viewers"))), Refusal::kNoKeys);
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_EQ(RefusalOf(token), Refusal::kNone);
  IdentityProvider::Json ended = IdentityProvider::Claims("jane", "viewers");
  ended["exp"] = absl::ToUnixSeconds(absl::Now()) - 31;
  EXPECT_EQ(RefusalOf(provider_.Sign(ended)), Refusal::kExpired);
  provider_.Rotate(TokenSigner::Rsa("key-2"));
  provider_.SetReachable(true);
  EXPECT_TRUE(Eventually([&] {
    return RefusalOf(provider_.Token("jane", "viewers")) == Refusal::kNone;
  })) << "it is asked again, without anybody's token";
}

TEST(SignOn, WithoutKeysNoTokenIsGood) {
  IdentityProvider provider;
  provider.SetReachable(false);
  const auto sign_on = provider.SignOn();
  sign_on->Start();
  EXPECT_EQ(sign_on->Check(provider.Token("jane", "viewers"), absl::Now()).refusal,
            Refusal::kNoKeys);
  EXPECT_TRUE(absl::IsUnavailable(sign_on->AuthorizationUrl({}).status()));
  provider.SetReachable(true);
  EXPECT_TRUE(Eventually([&] {
    return sign_on->Check(provider.Token("jane", "viewers"), absl::Now()).holder.has_value();
  }));
}

TEST(Provider, IsWhoItSaysItIs) {
  const auto said = [](const char* name, const nlohmann::json& value) {
    const Provider provider(kIssuer, [=](const WebRequest& request) {
      EXPECT_EQ(request.url, absl::StrCat(kIssuer, "/.well-known/openid-configuration"));
      nlohmann::json about = {{"issuer", kIssuer},
                              {"authorization_endpoint", "https://id.example/auth"},
                              {"token_endpoint", "https://id.example/token"},
                              {"jwks_uri", "https://id.example/keys"}};
      about[name] = value;
      return WebAnswer{200, about.dump()};
    });
    return std::string(provider.Discover().status().message());
  };
  EXPECT_EQ(said("code_challenge_methods_supported", {"plain", "S256"}), "");
  EXPECT_THAT(said("code_challenge_methods_supported", {"plain"}), HasSubstr("PKCE"));
  EXPECT_THAT(said("issuer", "https://evil.example"), HasSubstr("'https://evil.example'"));
  EXPECT_THAT(said("issuer", absl::StrCat(kIssuer, "/")), HasSubstr("'issuer'"));
  for (const char* endpoint : {"authorization_endpoint", "token_endpoint", "jwks_uri"}) {
    for (const char* address :
         {"http://id.example/x", "ftp://id.example", "", "https://", "https://user@id.example",
          "file:///etc/passwd", "http://127.0.0.1.evil.example/", "javascript:alert(1)"}) {
      EXPECT_THAT(said(endpoint, address), HasSubstr(endpoint)) << address;
    }
    EXPECT_EQ(said(endpoint, "http://127.0.0.1:8080/x"), "");
  }
}

TEST(Provider, IsAskedForWhoCameWithACode) {
  IdentityProvider::Json claims = IdentityProvider::Claims("jane", "operators");
  claims["nonce"] = "n";
  IdentityProvider fake;
  const auto roster = fake.Roster();
  SignOn& sign_on = *roster->sign_on();
  const FlowSecrets secrets{.state = "s", .nonce = "n", .verifier = "v"};
  fake.Grant("the%2Fcode", fake.Sign(claims));
  const auto verdict = sign_on.Redeem("the/code", secrets, absl::Now());
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  ASSERT_TRUE(verdict->holder.has_value()) << verdict->why;
  EXPECT_EQ(verdict->holder->name, "jane");
  const WebRequest request = fake.code_requests().at(0);
  EXPECT_THAT(request.form,
              AllOf(HasSubstr("grant_type=authorization_code"), HasSubstr("code_verifier=v"),
                    HasSubstr("redirect_uri=https%3A%2F%2Fct.hospital.example%2Fapi")));
  EXPECT_EQ(request.user, "isocenter");
  EXPECT_EQ(request.password, "the%20secret%3A%20of%2Fisocenter") << "RFC 6749, section 2.3.1";
  EXPECT_THAT(request.form, Not(HasSubstr("secret")));
  // A code is good for once.
  EXPECT_TRUE(absl::IsPermissionDenied(sign_on.Redeem("the/code", secrets, absl::Now()).status()));
  // An ID token of another sign-in.
  fake.Grant("other", fake.Sign(claims));
  const auto other = sign_on.Redeem("other", {.nonce = "m", .verifier = "v"}, absl::Now());
  EXPECT_EQ(other->refusal, Refusal::kNonce);
}

TEST(Provider, GetsTheSecretAsItWantsTo) {
  IdentityProvider fake;
  fake.Describe("token_endpoint_auth_methods_supported", {"client_secret_post", "private_key_jwt"});
  const auto roster = fake.Roster();
  (void)roster->sign_on()->Redeem("code", {.nonce = "n"}, absl::Now());
  const WebRequest request = fake.code_requests().at(0);
  EXPECT_EQ(request.user, "");
  EXPECT_THAT(request.form,
              HasSubstr("&client_id=isocenter&client_secret=the%20secret%3A%20of%2Fisocenter"));
}

TEST(Provider, MayHaveANewKeySinceTheLastLook) {
  IdentityProvider fake;
  const auto roster = fake.Roster();
  IdentityProvider::Json claims = IdentityProvider::Claims("jane", "operators");
  claims["nonce"] = "n";
  fake.Rotate(TokenSigner::P256("key-2"));
  fake.Grant("code", fake.Sign(claims));
  absl::SleepFor(absl::Milliseconds(250));
  const auto verdict = roster->sign_on()->Redeem("code", {.nonce = "n"}, absl::Now());
  EXPECT_TRUE(verdict.ok() && verdict->holder.has_value());
}

TEST(Roster, TellsAStrangerNothing) {
  IdentityProvider fake;
  const auto roster = fake.Roster();
  const auto check = [&](const std::string& token) {
    return roster->CheckToken(token, absl::Now()).refusal;
  };
  IdentityProvider::Json ended = IdentityProvider::Claims("jane", "viewers");
  ended["exp"] = 1000;
  const roles::TokenRefusal expired = check(fake.Sign(ended)), guess = check("guess"),
                            forged = check(fake.Sign(ended) + "AA");
  EXPECT_EQ(expired.answer, guess.answer);
  EXPECT_EQ(forged.answer, guess.answer);
  EXPECT_TRUE(absl::IsUnauthenticated(guess.answer));
  EXPECT_THAT(std::string(expired.record.message()), HasSubstr("expired: it ended at 1970"));
  EXPECT_FALSE(expired.may_be_a_guess);
  EXPECT_TRUE(guess.may_be_a_guess);
  EXPECT_TRUE(forged.may_be_a_guess);
  const roles::TokenRefusal no_role = check(fake.Token("jane", "gardeners"));
  EXPECT_TRUE(absl::IsPermissionDenied(no_role.answer));
  EXPECT_THAT(std::string(no_role.record.message()), HasSubstr("id-of-jane"));
  EXPECT_THAT(fake.refused(),
              ::testing::ElementsAre("expired", "unknown_token", "signature", "no_role"));
}

TEST(EncodeForm, LeavesNothingThatMeansSomethingElse) {
  EXPECT_EQ(EncodeForm("aZ0-._~"), "aZ0-._~");
  EXPECT_EQ(EncodeForm("a b&c=d+e%/\xc3\xa4"), "a%20b%26c%3Dd%2Be%25%2F%C3%A4");
}

}  // namespace
}  // namespace isocenter::openid
