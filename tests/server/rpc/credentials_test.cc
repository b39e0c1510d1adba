// Which files are taken as certificates and keys of the gRPC endpoint.
#include "server/rpc/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/server/fakes/temporary_directory.h"
#include "tests/server/fakes/wrong_pem_file.h"

namespace isocenter::rpc {
namespace {

using isocenter::testing::WrongPemFile;
using ::testing::HasSubstr;

class WrongCredential : public ::testing::TestWithParam<WrongPemFile> {};

TEST_P(WrongCredential, IsNamedAndNotRead) {
  const isocenter::testing::TemporaryDirectory files;
  const std::string wrong = (files.path() / GetParam().name).string();
  GetParam().make(wrong);
  const std::string pem = (files.path() / "good.pem").string();
  std::ofstream(pem) << "-----BEGIN CERTIFICATE-----\n";
  for (const char* field : {"certificate_file", "private_key_file", "client_ca_file"}) {
    v1::TlsConfig tls;
    for (const char* each : {"certificate_file", "private_key_file", "client_ca_file"}) {
      tls.GetReflection()->SetString(&tls, tls.GetDescriptor()->FindFieldByName(each),
                                     std::string(each) == field ? wrong : pem);
    }
    const absl::Status status = TlsCredentials::Read(tls).status();
    EXPECT_EQ(status.code(), GetParam().code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string("grpc_tls.") + field));
    EXPECT_THAT(std::string(status.message()), HasSubstr(wrong + ", which " + GetParam().said));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, WrongCredential, isocenter::testing::WrongPemFiles(),
                         WrongPemFile::Name);

}  // namespace
}  // namespace isocenter::rpc
