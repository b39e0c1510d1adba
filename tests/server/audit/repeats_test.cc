// Which events get a record of their own.
#include "server/audit/repeats.h"

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "tests/server/audit/audit_events.h"

namespace isocenter::audit {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RepeatsTest : public ::testing::Test {
 protected:
  Event View(const std::string& job, const std::string& user = "the viewer") const {
    return {.action = Action::kView,
            .actor = {.name = user, .address = "10.0.0.1", .is_known = true},
            .service = "http",
            .job_ids = {job},
            .time = now_};
  }
  Event Refusal(const std::string& job, const std::string& address = "10.0.0.9:4711") const {
    return {.action = Action::kDelete,
            .outcome = Outcome::kRefused,
            .actor = {.address = address},
            .service = "grpc",
            .job_ids = {job},
            .detail = "who are you?",
            .time = now_};
  }
  std::vector<Event> Take(Event event, bool scarce = false) {
    return repeats_.Take(std::move(event), scarce);
  }

  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  Repeats repeats_{{.per_source = 5, .of_strangers = 12, .most_kept = 100}};
};

TEST_F(RepeatsTest, HundredsOfSlicesAreOneRecordForUserVolumeAndPeriod) {
  size_t records = 0;
  for (int slice = 0; slice < 600; ++slice) {
    records += Take(View("a")).size() + Take(View("b")).size() + Take(View("a", "another")).size();
    now_ += absl::Seconds(1);
  }
  EXPECT_EQ(records, 3u);
  now_ += absl::Minutes(15);
  EXPECT_THAT(Take(View("a")), SizeIs(1));  // and no record of how many they were
}

TEST_F(RepeatsTest, IdenticalRefusalsAreCounted) {
  EXPECT_THAT(Take(Refusal("a")), SizeIs(1));
  for (int i = 1; i <= 1000; ++i)
    EXPECT_THAT(Take(Refusal("a", absl::StrCat("10.0.0.9:", i))), IsEmpty());
  EXPECT_EQ(repeats_.next(), now_ + absl::Minutes(15));
  EXPECT_THAT(repeats_.Expire(now_ + absl::Minutes(14)), IsEmpty());
  const auto counted = repeats_.Expire(now_ + absl::Minutes(15));
  ASSERT_THAT(counted, SizeIs(1));
  EXPECT_EQ(counted[0].count, 1000);
  EXPECT_EQ(counted[0].since, now_);
  EXPECT_EQ(counted[0].job_ids, Refusal("a").job_ids);
  EXPECT_EQ(repeats_.next(), absl::InfiniteFuture());
}

TEST_F(RepeatsTest, EachCallThatAKnownPersonMayNotMakeIsRecordedOnce) {
  const auto turned_away = [&](const std::string& method) {
    return Take({.action = Action::kCall,
                 .outcome = Outcome::kRefused,
                 .actor = {.name = "the viewer", .address = "10.0.0.1:4711", .is_known = true},
                 .service = "grpc",
                 .detail = method + ": PERMISSION_DENIED: the role is viewer",
                 .time = now_});
  };
  for (const std::string method : {"DeleteJob", "DrainNode"}) {
    EXPECT_THAT(turned_away(method), SizeIs(1));
    EXPECT_THAT(turned_away(method), IsEmpty());
  }
}

TEST_F(RepeatsTest, ASourceThatTriesManyThingsIsCountedInOne) {
  size_t records = 0;
  for (int i = 0; i < 1000; ++i) records += Take(Refusal(absl::StrCat("job-", i))).size();
  EXPECT_EQ(records, 5u);
  const auto counted = repeats_.Expire(absl::InfiniteFuture());
  ASSERT_THAT(counted, SizeIs(1));
  EXPECT_EQ(counted[0].count, 995);
  EXPECT_EQ(counted[0].actor.address, "10.0.0.9");
  EXPECT_THAT(counted[0].job_ids, IsEmpty());
  now_ += absl::Minutes(15);
  EXPECT_THAT(Take(Refusal("next")), SizeIs(1));
}

TEST_F(RepeatsTest, ManySourcesTogetherAreBoundedAndKnownPeopleAreNotAmongThem) {
  size_t records = 0;
  for (int i = 0; i < 50000; ++i) {
    records += Take(Refusal("a", absl::StrCat("[2001:db8::", i, "]:80"))).size();
  }
  EXPECT_EQ(records, 12u);
  Event known = Refusal("b");
  known.actor = {.name = "room-1", .address = "10.0.0.3", .is_known = true};
  EXPECT_THAT(Take(known), SizeIs(1));
  int64_t counted = 0;
  for (const Event& event : repeats_.Expire(absl::InfiniteFuture())) counted += event.count;
  EXPECT_EQ(counted, 50000 - 12);
}

TEST_F(RepeatsTest, WhatWasDoneToDataIsAlwaysRecordedWhateverStrangersDo) {
  for (int i = 0; i < 1000; ++i) Take(Refusal(absl::StrCat("job-", i)), /*scarce=*/true);
  for (int i = 0; i < 1000; ++i) {
    Event event{.action = Action::kDownload,
                .actor = {.address = "10.0.0.9"},
                .service = "grpc",
                .patient_ids = {"P1"},
                .job_ids = {"a"},
                .time = now_};
    EXPECT_THAT(Take(event, /*scarce=*/true), SizeIs(1));
    Event sign_in{.action = Action::kSignIn,
                  .actor = {.name = "the viewer", .address = "10.0.0.9", .is_known = true},
                  .service = "http",
                  .time = now_};
    EXPECT_THAT(Take(sign_in, /*scarce=*/true), SizeIs(1));
  }
  for (const Action action : {Action::kServiceStart, Action::kServiceStop, Action::kTrail}) {
    EXPECT_THAT(Take({.action = action, .outcome = Outcome::kFailure, .time = now_}), SizeIs(1));
    EXPECT_THAT(Take({.action = action, .outcome = Outcome::kFailure, .time = now_}), SizeIs(1));
  }
}

TEST_F(RepeatsTest, WhenTheTrailIsNearlyFullStrangersAreOnlyCounted) {
  EXPECT_THAT(Take(Refusal("a"), /*scarce=*/true), IsEmpty());
  const auto counted = repeats_.Expire(absl::InfiniteFuture());
  ASSERT_THAT(counted, SizeIs(1));
  EXPECT_EQ(counted[0].count, 1);
}

TEST_F(RepeatsTest, MemoryIsBoundedAndNoCountIsLost) {
  Repeats repeats{{.per_source = 1000000, .of_strangers = 1000000, .most_kept = 100}};
  int64_t told = 0;
  const auto tell = [&told](const std::vector<Event>& events) {
    for (const Event& event : events) told += event.count > 0 ? event.count : 1;
  };
  for (int i = 0; i < 3000; ++i) tell(repeats.Take(Refusal(absl::StrCat(i / 2)), false));
  tell(repeats.Expire(absl::InfiniteFuture()));
  EXPECT_EQ(told, 3000);
}

TEST_F(RepeatsTest, AClockThatIsSetBackKeepsNoPeriodForLong) {
  Take(Refusal("a"));
  Take(Refusal("a"));
  EXPECT_THAT(repeats_.Expire(now_ - absl::Hours(5)), SizeIs(1));
}

}  // namespace
}  // namespace isocenter::audit
