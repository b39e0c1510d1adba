// Which files are taken as credentials of a client.
#include "client/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/server_target.h"
#include "client/token_file.h"
#include "tests/server/fakes/temporary_directory.h"
#include "tests/server/fakes/wrong_pem_file.h"

namespace isocenter::client {
namespace {

using isocenter::testing::WrongPemFile;
using ::testing::HasSubstr;

constexpr char kCertificate[] = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
constexpr char kKey[] = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";

class WrongCredential : public ::testing::TestWithParam<WrongPemFile> {};

void ExpectRefused(const ServerAddress& address, absl::string_view name, const std::string& path) {
  const WrongPemFile& wrong = WrongCredential::GetParam();
  const absl::Status status = ServiceChannel::Open(address).status();
  EXPECT_EQ(status.code(), wrong.code) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("the ", name, " file is ", path, ", which ", wrong.said)));
}

TEST_P(WrongCredential, IsNamedAndNotRead) {
  const isocenter::testing::TemporaryDirectory files;
  const std::string wrong = (files.path() / GetParam().name).string();
  GetParam().make(wrong);
  const std::string pem = (files.path() / "good.pem").string();
  std::ofstream(pem) << kCertificate << kKey;
  ExpectRefused({.ca_file = wrong}, "CA", wrong);
  ExpectRefused({.ca_file = pem, .certificate_file = wrong, .private_key_file = pem}, "certificate",
                wrong);
  ExpectRefused({.ca_file = pem, .certificate_file = pem, .private_key_file = wrong}, "private key",
                wrong);
}

TEST_P(WrongCredential, IsNoTokenEither) {
  const isocenter::testing::TemporaryDirectory files;
  const std::string wrong = (files.path() / GetParam().name).string();
  GetParam().make(wrong);
  const absl::Status status = ServiceChannel::Open({.token_file = wrong}).status();
  EXPECT_EQ(status.code(), GetParam().code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(wrong));
}

// gRPC takes what is no certificate without a word, and then knows no address.
TEST(PemFile, WhatTlsCannotUseIsNamed) {
  const isocenter::testing::TemporaryDirectory files;
  const std::string good = (files.path() / "good").string(), bad = (files.path() / "bad").string();
  std::ofstream(good) << kCertificate << kKey;
  const auto said = [&](const std::string& text, const ServerAddress& address) {
    std::ofstream(bad) << text;
    return std::string(ServiceChannel::Open(address).status().message());
  };
  const ServerAddress ca{.ca_file = bad};
  const ServerAddress key{.ca_file = good, .certificate_file = good, .private_key_file = bad};
  EXPECT_EQ(said(kKey, ca), absl::StrCat("the CA file is ", bad,
                                         ", which holds PRIVATE KEY and no certificate; legal is a "
                                         "PEM file with BEGIN CERTIFICATE"));
  EXPECT_THAT(
      said("-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n", ca),
      HasSubstr("holds CERTIFICATE REQUEST and no certificate"));
  EXPECT_THAT(said("-----BEGIN CERTIFICATE-----\nMAA", ca),
              HasSubstr("ends within its CERTIFICATE"));
  EXPECT_THAT(said(absl::StrCat(kCertificate, "-----BEGIN CERTIFICATE-----\nM*A=\n",
                                "-----END CERTIFICATE-----\n"),
                   ca),
              HasSubstr("has a damaged CERTIFICATE"));
  EXPECT_THAT(said("-----BEGIN ", ca), HasSubstr("no certificate"));
  EXPECT_THAT(said(kCertificate, key), HasSubstr("holds CERTIFICATE and no private key"));
  EXPECT_THAT(
      said("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----", key),
      HasSubstr("has a passphrase"));
  EXPECT_EQ(said(absl::StrCat("made by hand\n", kCertificate), ca), "");
}

TEST(TokenFile, IsReadAgainWhenItHasChanged) {
  const isocenter::testing::TemporaryDirectory files;
  const std::filesystem::path path = files.path() / "token", next = files.path() / "next";
  std::ofstream(path) << "first\n";
  const auto file = *TokenFile::Open(path.string());
  EXPECT_EQ(file->Token(), "first");
  std::ofstream(next) << "second\n# of the next hour\n";
  std::filesystem::rename(next, path);
  EXPECT_EQ(file->Token(), "second");
  // What is no token, or not there, leaves the one before; it may come yet.
  std::ofstream(path) << "two words\n";
  EXPECT_EQ(file->Token(), "second");
  std::filesystem::remove(path);
  EXPECT_EQ(file->Token(), "second");
  std::ofstream(path) << std::string(8 << 10, 'x') << "\n";
  EXPECT_EQ(file->Token(), std::string(8 << 10, 'x'));
}

TEST(TokenFile, OfSeveralWordsIsToldWhatIsWrong) {
  const isocenter::testing::TemporaryDirectory files;
  const std::filesystem::path path = files.path() / "token";
  std::ofstream(path) << "two words\n";
  EXPECT_THAT(std::string(TokenFile::Open(path.string()).status().message()),
              HasSubstr("is no token: it has blanks; legal is one word"));
}

TEST(ServerTarget, AHostAloneMeansTheDefaultPort) {
  for (const auto& [given, meant] :
       {std::pair("localhost", "localhost:50051"),
        {"localhost:1", "localhost:1"},
        {" recon-1.site.example:65535\n", "recon-1.site.example:65535"},
        {"10.0.0.1", "10.0.0.1:50051"},
        {"[::1]", "[::1]:50051"},
        {"[fe80::1]:7", "[fe80::1]:7"},
        {"unix:/run/isocenter.sock", "unix:/run/isocenter.sock"}}) {
    EXPECT_EQ(ServerTarget(given).value_or("refused"), meant) << given;
  }
}

TEST(ServerTarget, EverySlipIsToldWhatIsLegal) {
  for (const char* wrong : {"",
                            ":50051",
                            "localhost:",
                            "localhost:0",
                            "localhost:65536",
                            "localhost:abc",
                            "::1",
                            "[::1",
                            "[::1]50051",
                            "[localhost]:1",
                            "300.1.1.1:50051",
                            "1.2.3:50051",
                            "two words:1",
                            "http://localhost:50051",
                            "https://recon1",
                            "localhost:1:2",
                            "a/b",
                            "-a:1",
                            "a..b:1",
                            "unix:",
                            "localhost:+1x"}) {
    const absl::Status status = ServiceChannel::Open({.address = wrong}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(std::string(status.message()),
                ::testing::AllOf(HasSubstr(absl::StrCat("'", wrong, "'")),
                                 HasSubstr("legal is host:port")));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, WrongCredential, isocenter::testing::WrongPemFiles(),
                         WrongPemFile::Name);

}  // namespace
}  // namespace isocenter::client
