#include "server/daemon/certificates/certificate_renewal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/contract/captured_log.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CertificateRenewalTest : public ::testing::Test {
 protected:
  std::string File(const char* name) const { return (files_.path() / name).string(); }
  /// As one that is replaced by another: under its name is another file.
  void Replace(const char* name, const std::string& text) {
    std::ofstream(File("next")) << text;
    std::filesystem::rename(File("next"), File(name));
  }
  void SetUp() override {
    Replace("cert.pem", "certificate 1");
    Replace("key.pem", "key 1");
    renewal_ = std::make_unique<CertificateRenewal>(
        std::vector<UsedCertificates>{
            {.field = "grpc_tls",
             .files = {File("cert.pem"), File("key.pem")},
             .renew = [this]() -> absl::StatusOr<std::vector<crypto::Expiry>> {
               ++reads_;
               if (!read_.ok()) return read_;
               return std::vector<crypto::Expiry>{
                   {"grpc_tls.certificate_file", absl::FromUnixSeconds(1'900'000'000)}};
             }}},
        [this](const crypto::Expiry& expiry) { renewed_.push_back(expiry.certificate); });
  }
  std::string Said() {
    const isocenter::testing::CapturedLog log;
    renewal_->Look();
    return log.text();
  }

  isocenter::testing::TemporaryDirectory files_;
  absl::Status read_;  // what reading ends with
  int reads_ = 0;
  std::vector<std::string> renewed_;
  std::unique_ptr<CertificateRenewal> renewal_;
};

TEST_F(CertificateRenewalTest, FilesAreReadWhenNothingChangesAnyMore) {
  EXPECT_EQ(Said(), "");
  Replace("cert.pem", "certificate 2");
  EXPECT_EQ(Said(), "") << "the key may follow";
  Replace("key.pem", "key 2");
  EXPECT_EQ(Said(), "");
  EXPECT_EQ(reads_, 0);
  EXPECT_THAT(Said(), AllOf(HasSubstr("event=certificate_renewed"),
                            HasSubstr("field=grpc_tls.certificate_file ends=")));
  EXPECT_THAT(renewed_, ElementsAre("grpc_tls.certificate_file"));
  EXPECT_EQ(Said(), "");
  EXPECT_EQ(reads_, 1);
}

TEST_F(CertificateRenewalTest, WhatCannotBeUsedIsSaidOnceAndTriedAgainWhenItChanges) {
  read_ = absl::InvalidArgumentError("grpc_tls.certificate_file is no PEM");
  Replace("cert.pem", "rubbish");
  Said();
  EXPECT_THAT(Said(), AllOf(HasSubstr("[error]"), HasSubstr("event=certificate_not_renewed"),
                            HasSubstr("is no PEM"), HasSubstr("before is used on")));
  EXPECT_EQ(Said(), "");
  EXPECT_THAT(renewed_, ElementsAre());
  read_ = absl::OkStatus();
  Replace("cert.pem", "certificate 2");
  Said();
  EXPECT_THAT(Said(), HasSubstr("event=certificate_renewed"));
}

TEST_F(CertificateRenewalTest, AFileThatIsGoneIsAChange) {
  read_ = absl::NotFoundError("key.pem does not exist");
  std::filesystem::remove(File("key.pem"));
  Said();
  EXPECT_THAT(Said(), HasSubstr("key.pem does not exist"));
}

}  // namespace
}  // namespace isocenter::daemon
