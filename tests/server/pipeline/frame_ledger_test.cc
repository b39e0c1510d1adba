#include "server/pipeline/frames/frame_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace isocenter::pipeline {
namespace {

using jobs::FrameState;
using jobs::MissingFramesPolicy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kFrames = 100;
using Taken = FrameLedger::Taken;

FrameLedger Empty(const jobs::MissingFrames& tolerated = {}) {
  return FrameLedger(std::vector<FrameState>(kFrames, FrameState::kMissing), tolerated);
}

const absl::Time kStart = absl::UnixEpoch();
const absl::Time kAfterHold = kStart + FrameLedger::kHold;

void AddOne(FrameLedger& ledger, int index, absl::Time came = kStart) {
  ASSERT_EQ(ledger.Begin(index, came), Taken::kNew) << index;
  ledger.Commit(index);
}

void Add(FrameLedger& ledger, int first, int end) {
  for (int i = first; i < end; ++i) AddOne(ledger, i);
}

std::vector<int> Overdue(const FrameLedger& ledger) { return ledger.Overdue(kAfterHold); }

TEST(FrameLedger, FramesInOrderLeaveNothingBeyond) {
  FrameLedger ledger = Empty();
  Add(ledger, 0, 10);
  EXPECT_EQ(ledger.prefix(), 10);
  EXPECT_THAT(ledger.Beyond(), IsEmpty());
  EXPECT_THAT(Overdue(ledger), IsEmpty());
  EXPECT_FALSE(ledger.complete());
  Add(ledger, 10, kFrames);
  EXPECT_TRUE(ledger.complete());
  EXPECT_THAT(*ledger.MissingAtEnd(), IsEmpty());
}

TEST(FrameLedger, AFrameIsNewOnceAndAgainAfterItsWriteFailed) {
  FrameLedger ledger = Empty();
  EXPECT_EQ(ledger.Begin(3, kStart), Taken::kNew);
  EXPECT_EQ(ledger.Begin(3, kStart), Taken::kDuplicate);
  EXPECT_EQ(ledger.being_recorded(), 1);
  ledger.Abort(3);
  EXPECT_EQ(ledger.being_recorded(), 0);
  EXPECT_EQ(ledger.Begin(3, kStart), Taken::kNew);
  ledger.Commit(3);
  EXPECT_EQ(ledger.Begin(3, kStart), Taken::kDuplicate);
  EXPECT_EQ(ledger.present(), 1);
}

TEST(FrameLedger, OutOfOrderFramesAreBeyondThePrefix) {
  FrameLedger ledger = Empty();
  Add(ledger, 5, 7);
  Add(ledger, 9, 10);
  EXPECT_EQ(ledger.prefix(), 0);
  EXPECT_THAT(ledger.Beyond(), ElementsAre(FrameRange{5, 6}, FrameRange{9, 9}));
  Add(ledger, 0, 5);
  EXPECT_EQ(ledger.prefix(), 7);
  EXPECT_THAT(ledger.Beyond(), ElementsAre(FrameRange{9, 9}));
}

TEST(FrameLedger, AFrameIsOverdueWhenEnoughLaterOnesHaveCome) {
  FrameLedger ledger = Empty();
  Add(ledger, 0, 20);
  Add(ledger, 21, 21 + FrameLedger::kPatience - 1);
  EXPECT_THAT(Overdue(ledger), IsEmpty());
  Add(ledger, 21 + FrameLedger::kPatience - 1, 21 + FrameLedger::kPatience);
  EXPECT_THAT(Overdue(ledger), ElementsAre(20));
  ledger.GiveUp(20);
  EXPECT_THAT(Overdue(ledger), IsEmpty());
  EXPECT_EQ(ledger.prefix(), 21 + FrameLedger::kPatience);
  EXPECT_EQ(ledger.Begin(20, kStart), Taken::kLate);
}

// However many later ones come at once: a console that does not wait for its detector sends
// hundreds of frames in a moment, in any order.
TEST(FrameLedger, AFrameIsNotOverdueBeforeItsTime) {
  FrameLedger ledger = Empty();
  Add(ledger, 1, kFrames);
  EXPECT_THAT(ledger.Overdue(kAfterHold - absl::Milliseconds(1)), IsEmpty());
  EXPECT_THAT(ledger.Overdue(kAfterHold), ElementsAre(0));
}

// Of hours, if the console takes as long.
TEST(FrameLedger, AStreamWithAnOrderOfItsOwnIsWaitedFor) {
  for (const int block : {8, 40, kFrames}) {
    FrameLedger ledger = Empty();
    absl::Time now = kStart;
    for (int first = 0; first < kFrames; first += block) {
      for (int i = std::min(first + block, kFrames) - 1; i >= first; --i) {
        AddOne(ledger, i, now += absl::Seconds(10));
        ASSERT_THAT(ledger.Overdue(now), IsEmpty()) << i << " of blocks of " << block;
      }
    }
    EXPECT_TRUE(ledger.complete());
  }
}

// What comes a little out of order still shows what is lost, a little later.
TEST(FrameLedger, AFrameIsLostAlsoWhereNeighborsAreExchanged) {
  FrameLedger ledger = Empty();
  AddOne(ledger, 1);
  AddOne(ledger, 0);
  Add(ledger, 2, 20);
  Add(ledger, 21, 21 + FrameLedger::kPatience + 1);
  EXPECT_THAT(Overdue(ledger), IsEmpty());
  AddOne(ledger, 21 + FrameLedger::kPatience + 1);
  EXPECT_THAT(Overdue(ledger), ElementsAre(20));
}

TEST(FrameLedger, WhatHasBeenReplacedCountsAmongTheMissing) {
  FrameLedger ledger = Empty({.longest_gap = 2, .most_missing = 0.05});
  Add(ledger, 0, 10);
  Add(ledger, 12, 60);
  for (const int index : Overdue(ledger)) ledger.GiveUp(index);
  ASSERT_EQ(ledger.lost(), 2);
  Add(ledger, 62, 70);
  Add(ledger, 72, kFrames);
  EXPECT_THAT(std::string(ledger.MissingAtEnd().status().message()),
              HasSubstr("6 of 100 frames are missing (2 replaced before, and 60 to 61, 70 to 71); "
                        "legal are at most 5, of which at most 2 in a row"));
}

TEST(FrameLedger, AFrameThatIsBeingGivenUpIsGivenUpOnce) {
  FrameLedger ledger = Empty();
  Add(ledger, 0, 20);
  Add(ledger, 21, 21 + FrameLedger::kPatience);
  ASSERT_THAT(Overdue(ledger), ElementsAre(20));
  ledger.BeginGiveUp(20);
  EXPECT_EQ(ledger.being_recorded(), 1);
  EXPECT_THAT(Overdue(ledger), IsEmpty());
  EXPECT_EQ(ledger.Begin(20, kStart), Taken::kLate);
  EXPECT_FALSE(ledger.Ready({16, 8}));
  EXPECT_EQ(ledger.lost(), 0);
  EXPECT_EQ(ledger.prefix(), 20);
  ledger.GiveUp(20);
  EXPECT_EQ(ledger.being_recorded(), 0);
  EXPECT_EQ(ledger.lost(), 1);
  EXPECT_TRUE(ledger.Ready({16, 8}));
}

TEST(FrameLedger, WhatAnEarlierStreamSentSaysNothingAboutTheNext) {
  FrameLedger ledger = Empty();
  Add(ledger, 1, 50);
  ledger.BeginStream();
  EXPECT_THAT(Overdue(ledger), IsEmpty());
  Add(ledger, 50, 50 + FrameLedger::kPatience);
  EXPECT_THAT(Overdue(ledger), ElementsAre(0));
}

TEST(FrameLedger, WhatIsNotToleratedIsWaitedForUntilTheEnd) {
  FrameLedger ledger = Empty({.longest_gap = 2, .most_missing = 0.05});
  Add(ledger, 0, 10);
  Add(ledger, 13, kFrames);
  EXPECT_THAT(Overdue(ledger), IsEmpty());
  const absl::Status status = ledger.MissingAtEnd().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("3 of 100 frames are missing (10 to 12); legal are at most 5, of which at "
                        "most 2 in a row"));
  Add(ledger, 11, 12);
  EXPECT_THAT(*ledger.MissingAtEnd(), ElementsAre(10, 12));
}

TEST(FrameLedger, ARunThatMayBeLongerThanAllThatMayBeMissingIsNotTold) {
  FrameLedger ledger = Empty({.longest_gap = 8, .most_missing = 0.05});
  Add(ledger, 0, 10);
  Add(ledger, 16, kFrames);
  EXPECT_THAT(std::string(ledger.MissingAtEnd().status().message()),
              testing::EndsWith("6 of 100 frames are missing (10 to 15); legal are at most 5"));
}

TEST(FrameLedger, WhatCannotBeUsedMayBeLostAsWhatDoesNotCome) {
  FrameLedger ledger = Empty({.longest_gap = 2, .most_missing = 0.03});
  EXPECT_EQ(ledger.ToleratedText(), "legal are at most 3, of which at most 2 in a row");
  for (const int index : {10, 12}) {
    EXPECT_TRUE(ledger.MayLose(index));
    ledger.BeginGiveUp(index);
  }
  EXPECT_FALSE(ledger.MayLose(11)) << "three in a row";
  EXPECT_TRUE(ledger.MayLose(13));
  ledger.GiveUp(10);
  EXPECT_FALSE(ledger.MayLose(11));
  ledger.BeginGiveUp(50);
  EXPECT_FALSE(ledger.MayLose(90)) << "a fourth";
  EXPECT_FALSE(ledger.IsMissing(50));
  EXPECT_TRUE(ledger.IsMissing(90));
  EXPECT_FALSE(Empty({.policy = MissingFramesPolicy::kFail}).MayLose(0));
}

TEST(FrameLedger, ThePolicyFailToleratesNothing) {
  FrameLedger ledger = Empty({.policy = MissingFramesPolicy::kFail});
  Add(ledger, 0, 10);
  Add(ledger, 11, kFrames);
  EXPECT_THAT(Overdue(ledger), IsEmpty());
  EXPECT_THAT(
      std::string(ledger.MissingAtEnd().status().message()),
      testing::EndsWith("1 of 100 frames are missing (10); its protocol tolerates none: see "
                        "to the console and its network, and send all frames again"));
}

TEST(FrameLedger, AChunkIsReadyWhenWhatStandsForItIsThere) {
  FrameLedger ledger = Empty();
  const recon::Chunk chunk{8, 4};
  Add(ledger, 0, 11);
  EXPECT_FALSE(ledger.Ready(chunk));
  ledger.GiveUp(11);
  EXPECT_FALSE(ledger.Ready(chunk));  // needs frame 12 to blend
  Add(ledger, 12, 13);
  EXPECT_TRUE(ledger.Ready(chunk));
}

TEST(FrameLedger, SubstitutesByPolicyAndAtTheEnds) {
  for (const auto policy : {MissingFramesPolicy::kInterpolate, MissingFramesPolicy::kReweight}) {
    FrameLedger ledger = Empty({.policy = policy});
    ledger.GiveUp(0);
    Add(ledger, 1, 10);
    for (const int lost : {10, 11, 12}) ledger.GiveUp(lost);
    Add(ledger, 13, kFrames - 1);
    ledger.GiveUp(kFrames - 1);
    EXPECT_THAT(ledger.Sources({0, 2}),
                ElementsAre(ViewSource{.view = 0, .frame = 1}, ViewSource{.view = 1, .frame = 1}));
    EXPECT_THAT(ledger.Sources({kFrames - 1, 1}),
                ElementsAre(ViewSource{.view = kFrames - 1, .frame = kFrames - 2}));
    const auto middle = ledger.Sources({10, 3});
    if (policy == MissingFramesPolicy::kReweight) {
      EXPECT_THAT(middle, ElementsAre(ViewSource{.view = 10, .frame = 9},
                                      ViewSource{.view = 11, .frame = 9},
                                      ViewSource{.view = 12, .frame = 13}));
    } else {
      const auto blend = [](int view, float weight) {
        return ViewSource{
            .view = view, .frame = 9, .blended_with = 13, .weight = weight, .own_matrix = false};
      };
      EXPECT_THAT(middle, ElementsAre(blend(10, 0.25F), blend(11, 0.5F), blend(12, 0.75F)));
    }
  }
}

TEST(FrameLedger, GoesOnWithWhatTheSpoolHolds) {
  std::vector<FrameState> states(kFrames, FrameState::kMissing);
  for (int i = 0; i < 30; ++i) states[i] = FrameState::kPresent;
  states[12] = FrameState::kGap;
  states[40] = FrameState::kPresent;
  FrameLedger ledger(states, {});
  EXPECT_EQ(ledger.prefix(), 30);
  EXPECT_EQ(ledger.present(), 30);
  EXPECT_EQ(ledger.lost(), 1);
  EXPECT_THAT(ledger.Beyond(), ElementsAre(FrameRange{40, 40}));
  EXPECT_EQ(ledger.Begin(12, kStart), Taken::kLate);
  EXPECT_EQ(ledger.Begin(40, kStart), Taken::kDuplicate);
}

}  // namespace
}  // namespace isocenter::pipeline
