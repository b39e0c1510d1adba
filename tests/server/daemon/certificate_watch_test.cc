#include "server/daemon/certificates/certificate_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/contract/captured_log.h"

namespace isocenter::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);
constexpr absl::Duration kDay = absl::Hours(24);

/// The lines of the log of one look.
std::string Said(CertificateWatch& watch, absl::Time now) {
  const isocenter::testing::CapturedLog log;
  watch.Look(now);
  return log.text();
}

TEST(CertificateWatch, WarnsOnceADayOfOneThatEndsSoon) {
  CertificateWatch watch({{"grpc_tls.certificate_file", kStart + 40 * kDay},
                          {"web.tls.certificate_file", kStart + 400 * kDay}},
                         kStart);
  EXPECT_EQ(Said(watch, kStart + absl::Seconds(5)), "") << "the start has said it";
  EXPECT_EQ(Said(watch, kStart + kDay), "") << "39 days are left";
  const std::string soon = Said(watch, kStart + 15 * kDay);
  EXPECT_THAT(soon, HasSubstr("event=certificate_ends_soon field=grpc_tls.certificate_file"));
  EXPECT_THAT(soon, HasSubstr("days_left=25 "));
  EXPECT_THAT(soon, Not(HasSubstr("web.tls")));
  EXPECT_EQ(Said(watch, kStart + 15 * kDay + absl::Hours(23)), "");
  EXPECT_THAT(Said(watch, kStart + 16 * kDay), HasSubstr("days_left=24 "));
}

TEST(CertificateWatch, SaysAtOnceThatOneHasEndedAndThenDaily) {
  const absl::Time end = kStart + 10 * kDay + absl::Hours(6);
  CertificateWatch watch({{"dicom_node.tls.certificate_file", end}}, kStart);
  EXPECT_THAT(Said(watch, end - absl::Seconds(1)), HasSubstr("certificate_ends_soon"));
  const std::string ended = Said(watch, end + absl::Seconds(4));
  EXPECT_THAT(ended,
              HasSubstr("event=certificate_has_ended field=dicom_node.tls.certificate_file"));
  EXPECT_THAT(ended, HasSubstr("[error]"));
  EXPECT_EQ(Said(watch, end + absl::Seconds(9)), "");
  const std::string next_day = Said(watch, end + kDay);
  EXPECT_THAT(next_day, HasSubstr("certificate_has_ended"));
  EXPECT_THAT(next_day, Not(HasSubstr("certificate_ends_soon")));
}

TEST(CertificateWatch, OneThatIsRenewedIsJudgedByItsNewEnd) {
  CertificateWatch watch({{"grpc_tls.certificate_file", kStart + 5 * kDay}}, kStart);
  watch.Renew({"grpc_tls.certificate_file", kStart + 50 * kDay});
  EXPECT_EQ(Said(watch, kStart + 6 * kDay), "");
  EXPECT_THAT(Said(watch, kStart + 30 * kDay), HasSubstr("days_left=20 "));
}

TEST(CertificateWatch, AClockThatWasSetBackStartsTheDayAnew) {
  CertificateWatch watch({{"grpc_tls.certificate_file", kStart + 20 * kDay}}, kStart);
  EXPECT_NE(Said(watch, kStart + 5 * kDay), "");
  EXPECT_EQ(Said(watch, kStart + 4 * kDay), "");
  EXPECT_NE(Said(watch, kStart + 5 * kDay), "");
}

}  // namespace
}  // namespace isocenter::daemon
