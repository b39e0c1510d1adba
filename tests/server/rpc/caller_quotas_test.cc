#include "server/rpc/callers/caller_quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace isocenter::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CallerQuotasTest : public ::testing::Test {
 protected:
  static v1::LimitsConfig Limits() {
    v1::LimitsConfig limits;
    limits.set_calls_per_caller(20);
    limits.set_calls_per_second_per_caller(50);
    limits.set_downloads_per_caller(3);
    limits.set_streams_per_caller(2);
    limits.set_max_active_jobs(4);
    return limits;
  }
  absl::Status Enter(const std::string& caller, CallKind kind = CallKind::kOther) {
    auto place = quotas_.Enter(caller, kind);
    if (place.ok()) places_.push_back(*std::move(place));
    return place.status();
  }

  absl::Time now_ = absl::UnixEpoch();
  std::vector<std::string> refused_;
  CallerQuotas quotas_{Limits(), [this] { return now_; },
                       [this](absl::string_view quota) { refused_.emplace_back(quota); }};
  std::vector<CallerQuotas::Place> places_;
};

TEST_F(CallerQuotasTest, CountsWhatEachHasAtOnce) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Enter("a", CallKind::kDownload).ok());
  const absl::Status refused = Enter("a", CallKind::kDownload);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "a has 3 downloads at once; legal is at most 3; try again when one has ended");
  EXPECT_TRUE(Enter("b", CallKind::kDownload).ok());
  EXPECT_TRUE(Enter("a").ok());
  places_.erase(places_.begin());
  EXPECT_TRUE(Enter("a", CallKind::kDownload).ok());
  EXPECT_THAT(refused_, ElementsAre("downloads"));
}

TEST_F(CallerQuotasTest, AllTogetherHaveALimitToo) {
  for (int i = 0; i < CallerQuotas::kMostDownloads; ++i) {
    ASSERT_TRUE(Enter("caller " + std::to_string(i), CallKind::kDownload).ok());
  }
  EXPECT_THAT(std::string(Enter("one more", CallKind::kDownload).message()),
              HasSubstr("all callers together have 32 downloads"));
  EXPECT_TRUE(Enter("one more").ok());
}

TEST_F(CallerQuotasTest, StreamsThatAreRefusedTakeNoPlace) {
  const int all = 4 + CallerQuotas::kSpareStreams;
  for (int i = 0; i < all; ++i) {
    const std::string caller = "caller " + std::to_string(i / 2);
    ASSERT_TRUE(Enter(caller, CallKind::kAcquisition).ok()) << i;
    EXPECT_FALSE(i % 2 == 1 && Enter(caller, CallKind::kAcquisition).ok());
  }
  EXPECT_THAT(std::string(Enter("one more", CallKind::kAcquisition).message()),
              HasSubstr("1 acquisition stream is needed; 0 are free of 20"));
  places_.pop_back();
  EXPECT_TRUE(Enter("one more", CallKind::kAcquisition).ok());
}

TEST_F(CallerQuotasTest, CountsHowOften) {
  for (int i = 0; i < 100; ++i) {  // two seconds' worth at once
    ASSERT_TRUE(Enter("a").ok()) << i;
    places_.clear();
  }
  EXPECT_THAT(std::string(Enter("a").message()), HasSubstr("a calls more often than 50 times"));
  EXPECT_TRUE(Enter("b").ok());
  now_ += absl::Milliseconds(100);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Enter("a").ok());
  EXPECT_FALSE(Enter("a").ok());
  EXPECT_THAT(refused_, ElementsAre("calls_per_second", "calls_per_second"));
}

TEST_F(CallerQuotasTest, AClockThatIsSetBackTakesNoCreditAway) {
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(Enter("a").ok()) << i;
    places_.clear();
  }
  now_ -= absl::Hours(1);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Enter("a").ok()) << i;
  places_.clear();
  now_ += absl::Milliseconds(100);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Enter("a").ok()) << i;
}

TEST_F(CallerQuotasTest, NoOtherCallCostsAScan) {
  while (Enter("a").ok()) {
  }
  EXPECT_EQ(places_.size(), 20u);
  EXPECT_TRUE(Enter("a", CallKind::kAcquisition).ok());
  EXPECT_TRUE(Enter("a", CallKind::kAcquisition).ok());
  EXPECT_EQ(Enter("a", CallKind::kAcquisition).message(),
            "a has 2 acquisitions at once; legal is at most 2; try again when one has ended");
  places_.clear();
  EXPECT_TRUE(Enter("a").ok());
}

TEST_F(CallerQuotasTest, ManyCallersTakeNoMemory) {
  for (int i = 0; i < 100'000; ++i) {
    now_ += absl::Milliseconds(1);
    ASSERT_TRUE(Enter("host " + std::to_string(i)).ok());
    places_.clear();
  }
  EXPECT_LE(quotas_.callers(), 4096u);
}

}  // namespace
}  // namespace isocenter::rpc
