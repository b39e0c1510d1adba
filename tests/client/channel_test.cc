// Which files are taken as credentials of a client.
#include "client/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/server/fakes/temporary_directory.h"
#include "tests/server/fakes/wrong_pem_file.h"

namespace isocenter::client {
namespace {

using isocenter::testing::WrongPemFile;
using ::testing::HasSubstr;

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

INSTANTIATE_TEST_SUITE_P(Files, WrongCredential, isocenter::testing::WrongPemFiles(),
                         WrongPemFile::Name);

}  // namespace
}  // namespace isocenter::client
