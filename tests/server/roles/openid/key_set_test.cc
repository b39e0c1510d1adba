// Key sets as providers publish them.
#include "server/roles/openid/key_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/server/fakes/token_signer.h"

namespace isocenter::openid {
namespace {

using Json = nlohmann::json;
using isocenter::testing::TokenSigner;
using ::testing::HasSubstr;

absl::StatusOr<KeySet> Parsed(const std::vector<Json>& keys) {
  return KeySet::Parse(Json{{"keys", keys}}.dump());
}

void ExpectRefused(const absl::StatusOr<KeySet>& parsed, const char* why) {
  EXPECT_TRUE(absl::IsInvalidArgument(parsed.status())) << parsed.status();
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(why));
}

TEST(KeySet, PassesOverWhatItDoesNotUse) {
  const Json good = TokenSigner::P256("good").Published();
  Json encrypts = TokenSigner::P256("encrypts").Published(), other = encrypts;
  encrypts["use"] = "enc";
  other["alg"] = "ECDH-ES";
  const Json shared = {{"kty", "oct"}, {"kid", "shared"}, {"k", "c2VjcmV0"}, {"alg", "HS256"}};
  const Json edwards = {{"kty", "OKP"}, {"crv", "Ed25519"}, {"x", "AA"}};
  const Json longer = {{"kty", "EC"}, {"crv", "P-384"}, {"x", "AA"}, {"y", "AA"}};
  EXPECT_EQ(Parsed({shared, encrypts, good, other, edwards, longer})->size(), 1);
  ExpectRefused(Parsed({shared, encrypts, other, edwards, longer}), "no key for RS256");
  ExpectRefused(Parsed({}), "no key for RS256");
}

TEST(KeySet, RefusesKeysThatAreBroken) {
  const Json good = TokenSigner::P256("good").Published();
  const auto changed = [](Json key, const char* name, const Json& value) {
    key[name] = value;
    return key;
  };
  const Json rsa = TokenSigner::Rsa("rsa").Published();
  ExpectRefused(Parsed({good, TokenSigner::Rsa("weak", 1024).Published()}), "1024 bits");
  ExpectRefused(Parsed({changed(good, "x", good["y"])}), "not on the curve");
  ExpectRefused(Parsed({changed(good, "x", TokenSigner::Encode(std::string(33, '\1')))}),
                "at most 32");
  ExpectRefused(Parsed({changed(good, "alg", "RS256")}), "'alg' is not of its 'kty'");
  ExpectRefused(Parsed({changed(rsa, "alg", "ES256")}), "'alg' is not of its 'kty'");
  ExpectRefused(Parsed({changed(rsa, "n", TokenSigner::Encode(std::string(1025, '\1')))}),
                "1025 bytes");
  for (const Json& exponent : {Json("AQ"), Json("Ag"), Json("AA"), Json(""), Json("AQAB="),
                               Json(65537), Json("AQEBAQEBAQEB")}) {
    EXPECT_FALSE(Parsed({changed(rsa, "e", exponent)}).ok()) << exponent;
  }
  ExpectRefused(Parsed({Json("text")}), "no object");
  EXPECT_TRUE(Parsed({rsa, good}).ok());
}

TEST(KeySet, IsBounded) {
  ExpectRefused(KeySet::Parse(std::string(KeySet::kMostBytes + 1, ' ')), "262145 bytes");
  ExpectRefused(Parsed(std::vector<Json>(KeySet::kMostKeys + 1, Json::object())), "65 keys");
  for (const char* text : {"", "{}", "[]", R"({"keys": {}})", R"({"keys": [], "keys": []})"}) {
    ExpectRefused(KeySet::Parse(text), "no JSON Web Key Set");
  }
  ExpectRefused(KeySet::Parse(std::string(200'000, '[')), "no JSON Web Key Set");
}

TEST(KeySet, LeadingZerosAreNoOtherNumber) {
  const TokenSigner signer = TokenSigner::P256("ec");
  Json key = signer.Published();
  std::string x;
  ASSERT_TRUE(absl::WebSafeBase64Unescape(key["x"].get<std::string>(), &x));
  key["x"] = TokenSigner::Encode(std::string(1, '\0') + x);
  EXPECT_TRUE(Parsed({key}).ok());
}

}  // namespace
}  // namespace isocenter::openid
