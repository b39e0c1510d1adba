#include "server/crypto/certificates.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "server/crypto/certificate_use.h"
#include "tests/server/archive/temporary_directory.h"
#include "tests/server/test_certificates.h"

namespace isocenter::crypto {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class CertificatesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.MakeAuthority("ca");
    files_.Make("node", "ca");
  }
  std::string Message(const absl::Status& status) const { return std::string(status.message()); }

  TemporaryDirectory directory_;
  const TestCertificates files_{directory_.path()};
};

TEST_F(CertificatesTest, ReadsAllOfAFile) {
  const std::string both = (directory_.path() / "both.pem").string();
  std::ofstream(both) << std::ifstream(files_.Pem("node")).rdbuf()
                      << std::ifstream(files_.Pem("ca")).rdbuf();
  const auto found = ReadValidCertificates("field", both);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_THAT(*found, SizeIs(2));
  EXPECT_EQ((*found)[0].subject, "CN=node,O=Hospital");
  EXPECT_EQ((*found)[0].issuer, "CN=ca");
  EXPECT_FALSE((*found)[0].is_authority);
  EXPECT_EQ((*found)[1].subject, "CN=ca");
  EXPECT_TRUE((*found)[1].is_authority);
  EXPECT_THAT((*found)[0].sha256, SizeIs(64));
  const absl::Duration left = FirstExpiry(*found) - absl::Now();
  EXPECT_GT(left, absl::Hours(47));
  EXPECT_LE(left, absl::Hours(48));
}

TEST_F(CertificatesTest, TellsWhatItIsForAndWhoseItIs) {
  files_.Make("client", "ca", 2, "127.0.0.1", "clientAuth");
  const auto any = UseOf("field", files_.Pem("node"), {"127.0.0.1", "recon1", "10.0.0.1"});
  ASSERT_TRUE(any.ok()) << any.status();
  EXPECT_EQ(any->subject, "CN=node,O=Hospital");
  EXPECT_TRUE(any->for_servers && any->for_clients && any->has_names);
  EXPECT_THAT(any->not_for, ::testing::ElementsAre("recon1", "10.0.0.1"));
  const auto client = UseOf("field", files_.Pem("client"));
  EXPECT_TRUE(!client->for_servers && client->for_clients);
  EXPECT_FALSE(UseOf("field", files_.Pem("ca"))->has_names);
  EXPECT_THAT(Message(UseOf("field", files_.Key("node")).status()), HasSubstr("no certificate"));
}

TEST_F(CertificatesTest, FilesThatCannotBeUsedAreNamed) {
  const auto missing = ReadCertificates("dicom_node.tls.ca_file", "/nowhere/ca.pem").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(missing),
              AllOf(HasSubstr("dicom_node.tls.ca_file"), HasSubstr("/nowhere/ca.pem")));
  const auto key = ReadCertificates("field", files_.Key("node")).status();
  EXPECT_EQ(key.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(key), HasSubstr("holds no certificate"));
}

TEST_F(CertificatesTest, BrokenCertificateBehindAGoodOne) {
  const std::string file = (directory_.path() / "broken.pem").string();
  std::ofstream(file) << std::ifstream(files_.Pem("node")).rdbuf()
                      << "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_THAT(Message(ReadCertificates("field", file).status()), HasSubstr("broken"));
}

TEST_F(CertificatesTest, ExpiredCertificateIsRefusedWithItsDates) {
  files_.Make("old", "ca", /*days=*/-1);
  EXPECT_TRUE(ReadCertificates("field", files_.Pem("old")).ok());
  const auto expired = ReadValidCertificates("field", files_.Pem("old")).status();
  EXPECT_EQ(expired.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(expired),
              AllOf(HasSubstr("has expired"), HasSubstr("CN=old"), HasSubstr("UTC")));
}

TEST_F(CertificatesTest, KeyOfAnotherCertificate) {
  files_.Make("other", "ca");
  EXPECT_TRUE(CheckKey("field", files_.Key("node"), files_.Pem("node")).ok());
  EXPECT_THAT(Message(CheckKey("field", files_.Key("other"), files_.Pem("node"))),
              AllOf(HasSubstr("not the key"), HasSubstr("other.key"), HasSubstr("node.pem")));
  EXPECT_THAT(Message(CheckKey("field", files_.Pem("node"), files_.Pem("node"))),
              HasSubstr("no private key"));
}

TEST_F(CertificatesTest, KeyThatOthersMayRead) {
  const auto set = [&](int mode) {
    std::filesystem::permissions(files_.Key("node"), std::filesystem::perms(mode));
  };
  for (const int mode : {0666, 0644, 0660, 0604}) {
    set(mode);
    const absl::Status status =
        CheckKey("grpc_tls.private_key_file", files_.Key("node"), files_.Pem("node"));
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(Message(status), AllOf(HasSubstr("grpc_tls.private_key_file is"),
                                       HasSubstr(absl::StrFormat("has mode 0%o; legal", mode))));
  }
  for (const int mode : {0600, 0640, 0440, 0700}) {
    set(mode);
    EXPECT_TRUE(CheckKey("field", files_.Key("node"), files_.Pem("node")).ok()) << mode;
  }
}

// Not one of them is opened: a pipe would wait for its writer.
TEST_F(CertificatesTest, WhatIsNoFile) {
  const std::string pipe = (directory_.path() / "pipe").string();
  mkfifo(pipe.c_str(), 0600);
  const std::string large = (directory_.path() / "large").string();
  std::ofstream(large) << "";
  std::filesystem::resize_file(large, 1 << 30);  // a hole
  for (const auto& [file, said] :
       {std::pair{directory_.path().string(), "which is a directory; legal is a file"},
        {pipe, "which is a pipe; legal is a file"},
        {std::string("/dev/zero"), "which is a device; legal is a file"},
        {large, "which has 1073741824 bytes; legal is at most 16777216"}}) {
    const absl::Status status = ReadCertificates("grpc_tls.certificate_file", file).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status),
                AllOf(HasSubstr("grpc_tls.certificate_file is"), HasSubstr(file), HasSubstr(said)));
  }
}

TEST(ParseSha256, TakesBothForms) {
  const std::string digits(64, 'a');
  EXPECT_EQ(*ParseSha256("field", digits), digits);
  std::string colons;
  for (int i = 0; i < 32; ++i) colons += i == 0 ? "AA" : ":AA";
  EXPECT_EQ(*ParseSha256("field", colons), digits);
  EXPECT_FALSE(ParseSha256("field", "abc").ok());
  EXPECT_FALSE(ParseSha256("field", std::string(64, 'g')).ok());
}

}  // namespace
}  // namespace isocenter::crypto
