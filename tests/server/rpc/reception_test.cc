#include "server/rpc/callers/reception.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace isocenter::rpc {
namespace {

struct Visitor : Reception::Guest {
  void Receive() override { reads = true; }
  void TurnAway(const absl::Status& why) override { turned_away = why; }
  bool reads = false;
  absl::Status turned_away;
};

class ReceptionTest : public ::testing::Test {
 protected:
  Visitor& Enter(const std::string& caller) {
    Visitor& visitor = visitors_.emplace_back();
    reception_.Enter(visitor, caller, absl::Seconds(10));
    return visitor;
  }
  void After(absl::Duration time) {
    now_ += time;
    reception_.Sweep();
  }

  absl::Time now_ = absl::UnixEpoch();
  std::deque<Visitor> visitors_;
  Reception reception_{[this] { return now_; }};
};

TEST_F(ReceptionTest, HalfOfThePlacesAreOneCallers) {
  for (int i = 0; i < Reception::kPlaces / 2; ++i) EXPECT_TRUE(Enter("a").reads);
  Visitor& waits = Enter("a");
  EXPECT_FALSE(waits.reads);
  for (int i = 0; i < Reception::kPlaces / 2; ++i) EXPECT_TRUE(Enter("b").reads);
  EXPECT_FALSE(Enter("c").reads);
  EXPECT_TRUE(reception_.Leave(visitors_.front()));
  EXPECT_TRUE(waits.reads);
  EXPECT_FALSE(reception_.Leave(visitors_.front())) << "it has left";
}

TEST_F(ReceptionTest, WhoTakesLongMakesPlaceWhereOthersWait) {
  for (int i = 0; i < Reception::kPlaces / 2; ++i) Enter("a");
  Visitor& waits = Enter("a");
  After(absl::Milliseconds(900));
  EXPECT_FALSE(waits.reads);
  After(absl::Milliseconds(200));
  EXPECT_TRUE(waits.reads);
  EXPECT_EQ(visitors_[0].turned_away.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(visitors_[0].turned_away.message()), ::testing::HasSubstr("within 1s"));
  EXPECT_TRUE(visitors_[1].turned_away.ok()) << "one waited";
  EXPECT_FALSE(reception_.Leave(visitors_[0]));
}

TEST_F(ReceptionTest, NobodyHasMoreThanHisPatience) {
  Visitor& slow = Enter("a");
  After(absl::Seconds(9));
  EXPECT_TRUE(slow.turned_away.ok());
  After(absl::Seconds(2));
  EXPECT_EQ(slow.turned_away.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ReceptionTest, OneThatWaitsMayLeave) {
  for (int i = 0; i < Reception::kPlaces / 2; ++i) Enter("a");
  Visitor& first = Enter("a");
  Visitor& second = Enter("a");
  EXPECT_TRUE(reception_.LeaveQueue(first));
  EXPECT_FALSE(reception_.LeaveQueue(visitors_.front())) << "it reads";
  EXPECT_TRUE(reception_.Leave(visitors_.front()));
  EXPECT_FALSE(first.reads);
  EXPECT_TRUE(second.reads);
}

}  // namespace
}  // namespace isocenter::rpc
