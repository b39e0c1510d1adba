// Which files are taken as certificates and keys of the gRPC endpoint.
#include "server/rpc/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::rpc {
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
    const absl::Status status = MakeServerCredentials(tls).status();
    EXPECT_EQ(status.code(), GetParam().code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string("grpc_tls.") + field));
    EXPECT_THAT(std::string(status.message()), HasSubstr(wrong + ", which " + GetParam().said));
  }
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
}  // namespace isocenter::rpc
