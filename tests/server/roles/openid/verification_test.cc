// Tokens that are good, and those of others, of another time, for another purpose, or of no
// form.
#include "server/roles/openid/verification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/server/fakes/token_signer.h"

namespace isocenter::openid {
namespace {

using isocenter::testing::TokenSigner;
using roles::Role;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNow = 1'800'000'000;

class SignedTokens : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {  // keys take a while
    rsa_ = new TokenSigner(TokenSigner::Rsa("rsa"));
    ec_ = new TokenSigner(TokenSigner::P256("ec"));
  }
  static void TearDownTestSuite() {
    delete std::exchange(rsa_, nullptr);
    delete std::exchange(ec_, nullptr);
  }

  static KeySet Keys(const std::vector<Json>& published) {
    return *KeySet::Parse(Json{{"keys", published}}.dump());
  }
  static Json Claims() {
    return {{"iss", "https://id.example"},
            {"aud", "isocenter"},
            {"sub", "4711"},
            {"iat", kNow - 60},
            {"exp", kNow + 600},
            {"nbf", kNow - 60},
            {"groups", {"ct", "staff"}},
            {"nonce", "the nonce"},
            {"name", "Jane"}};
  }
  static Json Changed(const char* claim, Json value) {
    Json claims = Claims();
    claims[claim] = std::move(value);
    return claims;
  }
  static Json Without(const char* claim) {
    Json claims = Claims();
    claims.erase(claim);
    return claims;
  }

  Verdict Check(const std::string& token) const {
    return Verify(ParseSignedToken(token), keys_, rules_, purpose_, absl::FromUnixSeconds(kNow));
  }
  Refusal RefusalOf(const std::string& token) const {
    const Verdict verdict = Check(token);
    EXPECT_EQ(verdict.holder.has_value(), verdict.refusal == Refusal::kNone);
    EXPECT_EQ(verdict.why.empty(), verdict.holder.has_value());
    return verdict.refusal;
  }
  Refusal RefusalOf(const Json& claims) const { return RefusalOf(rsa_->Sign(claims)); }

  static TokenSigner *rsa_, *ec_;
  KeySet keys_ = Keys({rsa_->Published(), ec_->Published()});
  ClaimRules rules_{.issuer = "https://id.example",
                    .groups_claim = "groups",
                    .name_claim = "name",
                    .roles = {{"ct", Role::kConsole}},
                    .leeway = absl::Seconds(30)};
  Purpose purpose_{.audience = "isocenter"};
};

TokenSigner *SignedTokens::rsa_ = nullptr, *SignedTokens::ec_ = nullptr;

TEST_F(SignedTokens, SayWhoTheirHolderIs) {
  Json pss = rsa_->Header();
  pss["alg"] = "PS256";
  for (const std::string& token :
       {rsa_->Sign(Claims()), ec_->Sign(Claims()), rsa_->Sign(pss, Claims().dump())}) {
    const Verdict verdict = Check(token);
    ASSERT_TRUE(verdict.holder.has_value()) << verdict.why;
    EXPECT_TRUE(verdict.is_genuine);
    EXPECT_EQ(verdict.holder->role, Role::kConsole);
    EXPECT_EQ(verdict.holder->name, "Jane");
    EXPECT_EQ(verdict.holder->identity(), "openid 4711");
    EXPECT_EQ(verdict.holder->expires, absl::FromUnixSeconds(kNow + 600));
  }
}

TEST_F(SignedTokens, HoldFromTheirTimeToTheirEnd) {
  EXPECT_EQ(RefusalOf(Changed("exp", kNow - 29)), Refusal::kNone);
  EXPECT_EQ(RefusalOf(Changed("exp", kNow - 30)), Refusal::kExpired);
  EXPECT_EQ(RefusalOf(Changed("exp", kNow - 30.5)), Refusal::kExpired);
  EXPECT_EQ(RefusalOf(Changed("nbf", kNow + 30)), Refusal::kNone);
  EXPECT_EQ(RefusalOf(Changed("nbf", kNow + 31)), Refusal::kNotYetValid);
  EXPECT_EQ(RefusalOf(Changed("iat", kNow + 31)), Refusal::kNotYetValid);
  EXPECT_EQ(RefusalOf(Without("nbf")), Refusal::kNone);
  EXPECT_EQ(RefusalOf(Without("iat")), Refusal::kNone);
  EXPECT_EQ(RefusalOf(Without("exp")), Refusal::kMalformed) << "for ever";
  for (const char* name : {"exp", "nbf", "iat"}) {
    for (const Json& time : {Json("soon"), Json(-1), Json(nullptr), Json(1e300), Json(true)}) {
      EXPECT_EQ(RefusalOf(Changed(name, time)), Refusal::kMalformed) << name << " " << time;
    }
  }
  std::string endless = Claims().dump();
  endless.insert(1, R"("exp":1e999,)");
  EXPECT_EQ(RefusalOf(rsa_->Sign(rsa_->Header(), endless)), Refusal::kMalformed);
}

TEST_F(SignedTokens, AreForUs) {
  EXPECT_EQ(RefusalOf(Changed("aud", {"other", "isocenter"})), Refusal::kNone);
  for (const Json& audience :
       {Json("other"), Json("isocenter2"), Json("Isocenter"), Json(Json::array()),
        Json::array({"other"}), Json(nullptr), Json::object({{"isocenter", true}}), Json("")}) {
    EXPECT_EQ(RefusalOf(Changed("aud", audience)), Refusal::kAudience) << audience;
  }
  EXPECT_EQ(RefusalOf(Without("aud")), Refusal::kAudience);
}

TEST_F(SignedTokens, AreOfTheProvider) {
  for (const Json& issuer :
       {Json("https://id.example/"), Json("https://ID.example"), Json("http://id.example"),
        Json::array({"https://id.example"}), Json("")}) {
    EXPECT_EQ(RefusalOf(Changed("iss", issuer)), Refusal::kIssuer) << issuer;
  }
  EXPECT_EQ(RefusalOf(Without("iss")), Refusal::kIssuer);
}

TEST_F(SignedTokens, OfASignInAreOfThisOne) {
  purpose_.nonce = "the nonce";
  EXPECT_EQ(RefusalOf(Claims()), Refusal::kNone);
  EXPECT_EQ(RefusalOf(Changed("nonce", "another")), Refusal::kNonce);
  EXPECT_EQ(RefusalOf(Without("nonce")), Refusal::kNonce);
  EXPECT_EQ(RefusalOf(Changed("azp", "isocenter")), Refusal::kNone);
  EXPECT_EQ(RefusalOf(Changed("azp", "another")), Refusal::kAudience);
}

TEST_F(SignedTokens, AreSignedByAKeyOfTheProvider) {
  for (const char* none : {"none", "None", "NONE", "", "RS512", "HS384", "EdDSA"}) {
    Json header = rsa_->Header();
    header["alg"] = none;
    EXPECT_EQ(RefusalOf(rsa_->Sign(header, Claims().dump())), Refusal::kAlgorithm) << none;
    // The signature of another algorithm does not help, either.
    const std::string good = rsa_->Sign(Claims());
    const std::vector<std::string> parts = absl::StrSplit(good, '.');
    EXPECT_EQ(
        RefusalOf(absl::StrCat(TokenSigner::Encode(header.dump()), ".", parts[1], ".", parts[2])),
        Refusal::kAlgorithm);
  }
  Json shared = rsa_->Header();
  shared["alg"] = "HS256";
  const std::string with_public_key = rsa_->Sign(shared, Claims().dump());
  EXPECT_GT(with_public_key.size(), with_public_key.rfind('.') + 40) << "it has a signature";
  EXPECT_EQ(RefusalOf(with_public_key), Refusal::kAlgorithm);

  const TokenSigner stranger = TokenSigner::Rsa("rsa");  // says that it is the provider's key
  EXPECT_EQ(RefusalOf(stranger.Sign(Claims())), Refusal::kSignature);
  const TokenSigner unknown = TokenSigner::P256("new");
  EXPECT_EQ(RefusalOf(unknown.Sign(Claims())), Refusal::kUnknownKey);
  EXPECT_FALSE(Check(unknown.Sign(Claims())).is_genuine);
}

TEST_F(SignedTokens, AreSignedAsTheKeyIsMeant) {
  Json header = rsa_->Header();
  header["kid"] = "ec";
  EXPECT_EQ(RefusalOf(rsa_->Sign(header, Claims().dump())), Refusal::kAlgorithm);
  Json pss_only = rsa_->Published();
  pss_only["alg"] = "PS256";
  keys_ = Keys({pss_only});
  EXPECT_EQ(RefusalOf(Claims()), Refusal::kAlgorithm);
  header = rsa_->Header();
  header["alg"] = "PS256";
  EXPECT_EQ(RefusalOf(rsa_->Sign(header, Claims().dump())), Refusal::kNone);
}

TEST_F(SignedTokens, WithoutAKeysNameAreOfTheOnlyOne) {
  const std::string token = rsa_->Sign(Json{{"alg", "RS256"}}, Claims().dump());
  EXPECT_EQ(RefusalOf(token), Refusal::kUnknownKey);
  keys_ = Keys({rsa_->Published()});
  EXPECT_EQ(RefusalOf(token), Refusal::kNone);
}

TEST_F(SignedTokens, ThatWereChangedAreNotSigned) {
  for (const TokenSigner* signer : {rsa_, ec_}) {
    const std::string good = signer->Sign(Claims());
    const std::vector<std::string> parts = absl::StrSplit(good, '.');
    const std::string more = TokenSigner::Encode(Changed("groups", {"administrators"}).dump());
    EXPECT_EQ(RefusalOf(absl::StrCat(parts[0], ".", more, ".", parts[2])), Refusal::kSignature);
    EXPECT_EQ(RefusalOf(absl::StrCat(parts[0], ".", parts[1], ".")), Refusal::kSignature);
    for (const size_t bytes : {1, 32, 63, 64, 65, 256, 512}) {
      // Zeros once passed for a signature of every message elsewhere.
      EXPECT_EQ(RefusalOf(absl::StrCat(parts[0], ".", parts[1], ".",
                                       TokenSigner::Encode(std::string(bytes, '\0')))),
                Refusal::kSignature)
          << bytes;
    }
  }
}

TEST_F(SignedTokens, OfAnotherFormAreRefused) {
  const std::string good = rsa_->Sign(Claims());
  const std::vector<std::string> parts = absl::StrSplit(good, '.');
  std::vector<std::string> wrong = {
      "",
      ".",
      "..",
      "...",
      "a.b",
      parts[0],
      absl::StrCat(parts[0], ".", parts[1]),
      absl::StrCat(good, "."),
      absl::StrCat(good, ".x"),
      absl::StrCat(good, "="),
      absl::StrCat(good, " "),
      absl::StrCat(" ", good),
      absl::StrCat(good, "\n"),
      absl::StrCat(parts[0], "=.", parts[1], ".", parts[2]),
      absl::StrCat(parts[0], "+.", parts[1], ".", parts[2]),
      absl::StrCat(parts[0], ".", parts[1], "/.", parts[2]),
      absl::StrCat(parts[0], ".", parts[1], ".", parts[2].substr(1)),
      absl::StrCat(TokenSigner::Encode("[]"), ".", parts[1], ".", parts[2]),
      absl::StrCat(TokenSigner::Encode("\xff{}"), ".", parts[1], ".", parts[2]),
      absl::StrCat(parts[0], ".", TokenSigner::Encode("\"text\""), ".", parts[2]),
      absl::StrCat(parts[0], ".", TokenSigner::Encode("{} {}"), ".", parts[2])};
  // The last character of 256 bytes has four bits that belong to no byte.
  std::string stray = good;
  ASSERT_THAT(std::string("AQgw"), HasSubstr(stray.substr(stray.size() - 1)));
  ++stray.back();
  wrong.push_back(stray);
  for (const std::string& token : wrong) {
    EXPECT_EQ(RefusalOf(token), Refusal::kMalformed) << token;
  }
}

TEST_F(SignedTokens, WithANameTwiceAreRefused) {
  std::string claims = Claims().dump();
  EXPECT_EQ(RefusalOf(rsa_->Sign(rsa_->Header(), claims)), Refusal::kNone);
  claims.insert(1, R"("aud":"other",)");
  EXPECT_EQ(RefusalOf(rsa_->Sign(rsa_->Header(), claims)), Refusal::kMalformed);
  claims = Claims().dump();
  claims.insert(1, R"("a":{"b":1,"b":2},)");
  EXPECT_EQ(RefusalOf(rsa_->Sign(rsa_->Header(), claims)), Refusal::kMalformed);
  // The same name in another spelling.
  claims = Claims().dump();
  claims.insert(1, R"("\u0061ud":"other",)");
  EXPECT_EQ(RefusalOf(rsa_->Sign(rsa_->Header(), claims)), Refusal::kMalformed);
}

TEST_F(SignedTokens, AreBounded) {
  Json claims = Claims();
  claims["padding"] = std::string(kMostTokenBytes, 'x');
  EXPECT_EQ(RefusalOf(claims), Refusal::kTooLong);
  std::string deep = Claims().dump();
  deep.insert(1, absl::StrCat("\"a\":", std::string(100, '['), std::string(100, ']'), ","));
  EXPECT_EQ(RefusalOf(rsa_->Sign(rsa_->Header(), deep)), Refusal::kMalformed);
}

TEST_F(SignedTokens, ThatSayWhatNobodyHereUnderstandsAreRefused) {
  for (const auto& [name, value] : std::vector<std::pair<const char*, Json>>{
           {"crit", {"exp"}}, {"typ", "logout+jwt"}, {"typ", 1}, {"kid", 7}}) {
    Json header = rsa_->Header();
    header[name] = value;
    EXPECT_EQ(RefusalOf(rsa_->Sign(header, Claims().dump())), Refusal::kMalformed) << header;
  }
  Json header = rsa_->Header();
  header["typ"] = "at+JWT";
  EXPECT_EQ(RefusalOf(rsa_->Sign(header, Claims().dump())), Refusal::kNone);
}

TEST_F(SignedTokens, GiveTheRoleOfTheirHoldersGroups) {
  rules_.roles = {
      {"viewers", Role::kViewer}, {"chiefs", Role::kAdministrator}, {"ct", Role::kConsole}};
  const auto role = [&](const Json& groups) {
    const Verdict verdict = Check(rsa_->Sign(Changed("groups", groups)));
    return verdict.holder ? std::string(Name(verdict.holder->role))
                          : std::string(Name(verdict.refusal));
  };
  EXPECT_EQ(role({"ct", "chiefs", "viewers"}), "administrator");
  EXPECT_EQ(role({"viewers", 7, nullptr}), "viewer");
  EXPECT_EQ(role("ct"), "console");
  EXPECT_EQ(role("ct chiefs"), "no_role") << "a name may have blanks";
  EXPECT_EQ(role({"CT"}), "no_role");
  EXPECT_EQ(role(Json::array()), "no_role");
  EXPECT_EQ(role({{"ct", true}}), "no_role");
  EXPECT_EQ(role(7), "no_role");
  EXPECT_EQ(RefusalOf(Without("groups")), Refusal::kNoRole);
}

TEST_F(SignedTokens, GroupsAreFoundWhereTheProviderPutsThem) {
  Json claims = Without("groups");
  claims["realm_access"] = {{"roles", {"ct"}}};
  rules_.groups_claim = "realm_access.roles";
  EXPECT_EQ(RefusalOf(claims), Refusal::kNone);
  EXPECT_EQ(RefusalOf(Changed("realm_access", "roles")), Refusal::kNoRole);
  rules_.groups_claim = "https://hospital.example/groups";
  EXPECT_EQ(RefusalOf(Changed("https://hospital.example/groups", {"ct"})), Refusal::kNone);
  rules_.groups_claim = "scope";
  EXPECT_EQ(RefusalOf(Changed("scope", "openid ct")), Refusal::kNone);
  EXPECT_EQ(RefusalOf(Changed("scope", "openid ct2")), Refusal::kNoRole);
}

TEST_F(SignedTokens, NameTheirHolder) {
  const auto name = [&](const Json& claims) { return Check(rsa_->Sign(claims)).holder->name; };
  EXPECT_EQ(name(Without("name")), "4711");
  EXPECT_EQ(name(Changed("name", 7)), "4711");
  EXPECT_EQ(name(Changed("name", "a\nb\x7f")), "ab");
  EXPECT_EQ(name(Changed("name", std::string(63, 'x') + "\u00e4z")), std::string(63, 'x'));
  for (const Json& subject : {Json(""), Json(std::string(256, 'x')), Json("a\nb"), Json(7)}) {
    EXPECT_EQ(RefusalOf(Changed("sub", subject)), Refusal::kMalformed) << subject;
  }
  EXPECT_EQ(RefusalOf(Without("sub")), Refusal::kMalformed);
}

TEST_F(SignedTokens, AreCheckedInLittleTime) {
  constexpr int kChecks = 500;
  for (const TokenSigner* signer : {rsa_, ec_}) {
    const std::string token = signer->Sign(Claims());
    const absl::Time begin = absl::Now();
    for (int i = 0; i < kChecks; ++i) ASSERT_TRUE(Check(token).holder.has_value());
    const double each = absl::ToDoubleMicroseconds(absl::Now() - begin) / kChecks;
    std::cout << signer->Header()["alg"] << ": " << each << " us\n";
    EXPECT_LT(each, 5000);  // every call with such a token pays it
  }
}

TEST_F(SignedTokens, WhatAStrangerWroteIsNotRepeatedAtLength) {
  Json header = rsa_->Header();
  header["kid"] = std::string(3000, 'k') + "\n";
  const Verdict verdict = Check(rsa_->Sign(header, Claims().dump()));
  EXPECT_EQ(verdict.refusal, Refusal::kUnknownKey);
  EXPECT_LT(verdict.why.size(), 150);
  EXPECT_THAT(verdict.why, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace isocenter::openid
