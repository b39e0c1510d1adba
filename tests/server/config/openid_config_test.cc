// The identity provider in the configuration: what it needs, and every mistake at once.
#include "server/config/openid_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/config/server_config.h"

namespace isocenter::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kGood[] =
    "issuer: 'https://id.hospital.example' client_id: 'isocenter' role { group: 'ct' role: "
    "WEB_ROLE_OPERATOR } ";

absl::StatusOr<v1::ServerConfig> Read(const std::string& openid, const std::string& more = "") {
  auto config = ParseServerConfig(absl::StrCat("web { openid { ", openid, " } } ", more), "f");
  if (!config.ok()) return config;
  ApplyDefaults(*config);
  const absl::Status valid = ValidateServerConfig(*config);
  if (!valid.ok()) return valid;
  return config;
}

std::string Complaint(const std::string& openid, const std::string& more = "") {
  return std::string(Read(openid, more).status().message());
}

TEST(OpenIdConfig, HasDefaults) {
  const auto config = Read(kGood);
  ASSERT_TRUE(config.ok()) << config.status();
  const v1::OpenIdConfig& openid = config->web().openid();
  EXPECT_EQ(openid.audience(), "isocenter");
  EXPECT_EQ(openid.groups_claim(), "groups");
  EXPECT_EQ(openid.name_claim(), "preferred_username");
  EXPECT_EQ(openid.leeway_seconds(), 30);
  EXPECT_EQ(openid.title(), "id.hospital.example");
  EXPECT_EQ(openid.scope(0), "profile");
  EXPECT_EQ(RedirectUri(openid), "");
  const auto none = ParseServerConfig("", "f");
  EXPECT_FALSE(HasOpenId(none->web()));
}

TEST(OpenIdConfig, ThePageIsWhereBrowsersComeBack) {
  for (const char* page : {"https://ct.example:8443", "https://ct.example:8443/"}) {
    const auto config = Read(absl::StrCat(kGood, "page_url: '", page, "'"));
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(RedirectUri(config->web().openid()),
              "https://ct.example:8443/api/v1/session/callback");
  }
}

TEST(OpenIdConfig, SaysAllThatIsWrongAtOnce) {
  EXPECT_THAT(
      Complaint("issuer: 'http://id.example' leeway_seconds: 301 page_url: 'ct.example' "
                "role { group: 'a' } role { group: 'a' role: WEB_ROLE_VIEWER } scope: 'a b' "
                "title: 'two\\nlines'"),
      AllOf(
          HasSubstr("web.openid.issuer is 'http://id.example'; legal is https://"),
          HasSubstr("web.openid.client_id is ''"),
          HasSubstr("web.openid.leeway_seconds is 301; legal is 1 to 300"),
          HasSubstr("web.openid.page_url is 'ct.example'"),
          HasSubstr("web.openid.role[0].role is 0"),
          HasSubstr("web.openid.role[1].group is 'a'; legal is the name of a group that no other"),
          HasSubstr("web.openid.scope[0] is 'a b'"), HasSubstr("web.openid.title is")));
  EXPECT_THAT(Complaint(""), AllOf(HasSubstr("web.openid.issuer is ''"),
                                   HasSubstr("web.openid.role is not there")));
}

TEST(OpenIdConfig, NeedsAClientWhereOneIsAskedFor) {
  const std::string without = "issuer: 'https://id.example' role { group: 'a' role: 1 } ";
  EXPECT_THAT(Complaint(without), HasSubstr("web.openid.client_id"));
  EXPECT_EQ(Complaint(without + "audience: 'https://ct.example'"), "");
  EXPECT_THAT(Complaint(without + "audience: 'a' page_url: 'https://ct.example'"),
              HasSubstr("web.openid.client_id"));
  EXPECT_THAT(Complaint(absl::StrCat(kGood, "client_secret_file: 'secret'")),
              HasSubstr("web.openid.client_secret_file is 'secret'"));
}

TEST(OpenIdConfig, AddressesAreProtected) {
  const auto issuer = [](const char* url) {
    return Complaint(
        absl::StrCat("issuer: '", url, "' client_id: 'a' role { group: 'a' role: 1 }"));
  };
  for (const char* good : {"https://id.example/realms/a", "http://127.0.0.1:8080/a",
                           "http://[::1]:80", "http://localhost"}) {
    EXPECT_EQ(issuer(good), "") << good;
  }
  for (const char* wrong :
       {"", "id.example", "http://id.example", "http://127.0.0.1.id.example", "https://",
        "https:///a", "https://a@b", "https://id.example/#a", "https://id.example/?a",
        "https://id example", "http://localhost@id.example", "ftp://127.0.0.1"}) {
    EXPECT_THAT(issuer(wrong), HasSubstr("web.openid.issuer")) << wrong;
  }
}

TEST(OpenIdConfig, KnowsCallersBeyondThisMachine) {
  const std::string tls = "tls { certificate_file: 'c' private_key_file: 'k' } ";
  const auto with = [&](const std::string& web) {
    auto config = ParseServerConfig(
        absl::StrCat("web { address: '0.0.0.0:8443' openid { ", kGood, " } ", web, " }"), "f");
    ApplyDefaults(*config);
    return std::string(ValidateServerConfig(*config).message());
  };
  EXPECT_EQ(with(tls), "");
  EXPECT_THAT(with(""), HasSubstr("web.address"));
  EXPECT_EQ(Complaint(kGood,
                      "grpc_address: '0.0.0.0:1' grpc_tls { certificate_file: 'c' "
                      "private_key_file: 'k' }"),
            "");
  EXPECT_THAT(Complaint(kGood, "grpc_address: '0.0.0.0:1'"), HasSubstr("grpc_address"));
  EXPECT_THAT(Complaint(kGood, "grpc_address: '0.0.0.0:1' unprotected_listener: LISTENER_GRPC"),
              HasSubstr("in plain text"));
}

}  // namespace
}  // namespace isocenter::config
