// Which files are taken as credentials of a client.
#include "client/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::client {
namespace {

using ::testing::HasSubstr;

/// What somebody may name instead of a certificate.
struct WrongFile {
  const char* name;
  std::function<void(const std::string& path)> make;
  absl::StatusCode code;
  const char* said;
};

class WrongCredential : public ::testing::TestWithParam<WrongFile> {};

void ExpectRefused(const ServerAddress& address, absl::string_view name, const std::string& path) {
  const WrongFile& wrong = WrongCredential::GetParam();
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
  std::ofstream(pem) << "-----BEGIN CERTIFICATE-----\n";
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

INSTANTIATE_TEST_SUITE_P(
    Files, WrongCredential,
    ::testing::Values(WrongFile{"missing", [](const std::string&) {}, absl::StatusCode::kNotFound,
                                "cannot be read"},
                      WrongFile{"directory",
                                [](const std::string& p) { std::filesystem::create_directory(p); },
                                absl::StatusCode::kInvalidArgument, "is a directory"},
                      WrongFile{"pipe",
                                [](const std::string& p) { ASSERT_EQ(mkfifo(p.c_str(), 0600), 0); },
                                absl::StatusCode::kInvalidArgument, "is a pipe"},
                      WrongFile{"large",
                                [](const std::string& p) {
                                  std::ofstream(p) << "-----BEGIN CERTIFICATE-----\n";
                                  std::filesystem::resize_file(p, uint64_t{1} << 30);
                                },
                                absl::StatusCode::kInvalidArgument, "has 1073741824 bytes"},
                      WrongFile{"empty", [](const std::string& p) { std::ofstream make(p); },
                                absl::StatusCode::kInvalidArgument, "is not PEM"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace isocenter::client
