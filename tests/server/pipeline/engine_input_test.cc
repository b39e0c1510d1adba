// What may happen to frames and streams on their way into a job.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "kernels/base/crc32c.h"
#include "server/base/try_again.h"
#include "tests/server/pipeline/engine_fixture.h"

namespace isocenter::pipeline {
namespace {

using jobs::MissingFramesPolicy;
using jobs::WarningKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AcquisitionRequest WithPolicy(MissingFramesPolicy policy, double most_missing = 0.05) {
  AcquisitionRequest request = SmallRequest();
  request.missing_frames = {.policy = policy, .longest_gap = 2, .most_missing = most_missing};
  return request;
}

auto HasWarning(WarningKind kind) { return Contains(Field(&jobs::JobWarning::kind, kind)); }

/// The largest difference as a share of the range of values.
double Difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max<double>(largest, std::abs(a[i] - b[i]));
  const auto [low, high] = std::ranges::minmax(b);
  return largest / (high - low);
}

using EngineInputTest = EngineTest;

TEST_F(EngineInputTest, TheOrderOfFramesDoesNotMatter) {
  std::vector<int> order(kFrames);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(1);
  std::shuffle(order.begin(), order.end(), random);
  const Live live = Begin();
  for (const int view : order) {
    ASSERT_TRUE(live.console->SendOne(view).ok());
    ASSERT_TRUE(live.console->SendOne(view).ok());  // twice
  }
  const jobs::Job job = AwaitEnd(live.id);
  EXPECT_EQ(job.state, JobState::kCompleted);
  EXPECT_EQ(job.progress.frames_lost, 0);
  EXPECT_THAT(job.warnings, IsEmpty());
  EXPECT_EQ(VolumeOf(live.id), Batch());
}

TEST_F(EngineInputTest, AMissingFrameIsReplacedAndSaid) {
  const std::vector<float> complete = Batch();
  for (const auto policy : {MissingFramesPolicy::kInterpolate, MissingFramesPolicy::kReweight}) {
    const Live live = Begin(WithPolicy(policy));
    ASSERT_TRUE(live.console->Send(0, 17).ok());
    ASSERT_TRUE(live.console->Send(18, kFrames).ok());
    ASSERT_TRUE(live.console->Finish().ok());
    const jobs::Job job = AwaitEnd(live.id);
    EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
    EXPECT_EQ(job.progress.frames_received, kFrames - 1);
    EXPECT_EQ(job.progress.frames_lost, 1);
    const bool blended = policy == MissingFramesPolicy::kInterpolate;
    EXPECT_THAT(
        job.result.warnings,
        ElementsAre(HasSubstr(blended ? "frame 17 is missing and computed from the frames beside"
                                      : "frame 17 is missing and replaced by the nearest")));
    EXPECT_EQ(service_->results.job(live.id).warnings.size(), 1u) << "not in the stored objects";
    // Of the range of values: the lost view is a 40th of the volume, and what stands for it differs
    // from it by at most 6 % of its peak, 0.15 % of the volume's, which the filter steepens a few
    // times. The nearest frame is seen from 9 degrees beside: where the field of view ends, one
    // view of 40 is missing altogether, 2.5 %.
    const double difference = Difference(VolumeOf(live.id), complete);
    EXPECT_LT(difference, blended ? 0.01 : 0.025) << difference;
    EXPECT_GT(difference, 0) << "nothing was missing";
  }
}

TEST_F(EngineInputTest, ThePolicyFailFailsAtTheEndOnly) {
  const Live live = Begin(WithPolicy(MissingFramesPolicy::kFail));
  ASSERT_TRUE(live.console->Send(1, kFrames).ok());
  EXPECT_EQ(Job(live.id).state, JobState::kReceiving);
  (void)live.console->Finish();
  const jobs::Job job = AwaitEnd(live.id);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(job.error.message()), HasSubstr("1 of 40 frames are missing (0)"));
}

TEST_F(EngineInputTest, MoreThanIsToleratedFails) {
  const Live live = Begin(WithPolicy(MissingFramesPolicy::kInterpolate));
  ASSERT_TRUE(live.console->Send(0, kFrames - 3).ok());
  AwaitSpooled(live.id, kFrames - 3);
  EXPECT_EQ(live.console->Finish().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(AwaitEnd(live.id).error.message()), HasSubstr("at most 2"));
}

TEST_F(EngineInputTest, ALateFrameIsNotUsedAndSaid) {
  // Enough later frames for the ledger to lose its patience; without it, the same volume.
  Start({.engine = {.steady_clock = clock_.function()}});
  const Live late = Begin(WithPolicy(MissingFramesPolicy::kInterpolate));
  ASSERT_TRUE(late.console->Send(0, 5).ok());
  ASSERT_TRUE(late.console->Send(6, 29).ok());
  AwaitSpooled(late.id, 28);
  EXPECT_EQ(Job(late.id).progress.frames_lost, 0) << "before its time";
  clock_.Advance(FrameLedger::kHold);
  ASSERT_TRUE(late.console->SendOne(29).ok());
  ASSERT_TRUE(Eventually([&] { return Job(late.id).progress.frames_lost == 1; }));
  EXPECT_EQ(Job(late.id).state, JobState::kReceiving);
  ASSERT_TRUE(late.console->SendOne(5).ok());
  EXPECT_THAT(Job(late.id).warnings, HasWarning(WarningKind::kLateFrame));
  ASSERT_TRUE(late.console->Send(30, kFrames).ok());
  const jobs::Job job = AwaitEnd(late.id);
  EXPECT_EQ(job.state, JobState::kCompleted);
  EXPECT_EQ(job.progress.frames_lost, 1);
  EXPECT_EQ(service_->observer.count("warning late_frame"), 1);

  const Live never = Begin(WithPolicy(MissingFramesPolicy::kInterpolate));
  ASSERT_TRUE(never.console->Send(0, 5).ok());
  ASSERT_TRUE(never.console->Send(6, kFrames).ok());
  ASSERT_TRUE(never.console->Finish().ok());
  AwaitEnd(never.id);
  EXPECT_EQ(VolumeOf(late.id), VolumeOf(never.id));
}

// Two frames that are written at the same time both find the same frame overdue.
TEST_F(EngineInputTest, AFrameIsGivenUpOnceHoweverManyAreUnderWay) {
  Start({.sync = absl::Milliseconds(3), .engine = {.steady_clock = clock_.function()}});
  for (int i = 0; i < 3; ++i) {
    const Live live = Begin(WithPolicy(MissingFramesPolicy::kInterpolate, 0.1));
    ASSERT_TRUE(live.console->SendOne(1).ok());
    clock_.Advance(FrameLedger::kHold);
    ASSERT_TRUE(live.console->Send(2, kFrames).ok());
    // While it is being given up, or after.
    ASSERT_TRUE(live.console->SendOne(0).ok());
    const jobs::Job job = AwaitEnd(live.id);
    EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
    EXPECT_EQ(job.progress.frames_lost, 1);
    EXPECT_EQ(job.progress.frames_received, kFrames - 1);
  }
  EXPECT_EQ(service_->observer.count("warning frame_gap"), 3);
  EXPECT_EQ(service_->observer.count("warning late_frame"), 3);
}

TEST_F(EngineInputTest, MeasuredMatricesAreUsed) {
  const AcquisitionRequest request = SmallRequest();
  const auto accepted = Accept(request);
  ASSERT_TRUE(accepted.ok());
  const auto console = *Console::Attach(accepted->job);
  const std::string pixels = SmallFrame(request.acquisition, 0);
  ProjectionMatrix shifted = request.acquisition.trajectory[0];
  for (int i = 0; i < 4; ++i) shifted.m[i] += 0.5 * shifted.m[8 + i];  // half a pixel in u
  for (double& value : shifted.m) value *= 7;                          // any scale
  ASSERT_TRUE(accepted->job
                  ->AddFrame(1, {.index = 0,
                                 .pixels = {std::as_bytes(std::span(pixels))},
                                 .measured_matrix = shifted})
                  .ok());
  ASSERT_TRUE(console->Send(1, kFrames).ok());
  AwaitEnd(accepted->snapshot->id);
  const double difference = Difference(VolumeOf(accepted->snapshot->id), Batch());
  EXPECT_GT(difference, 1e-5);
  EXPECT_LT(difference, 0.01);  // a 40th of the views, shifted by a 50th of the bump's width
}

TEST_F(EngineInputTest, WhatIsNoFrameIsRefused) {
  const auto accepted = Accept(SmallRequest());
  ASSERT_TRUE(accepted.ok());
  ReconstructionJob& job = *accepted->job;
  const auto console = *Console::Attach(accepted->job);
  const std::string pixels(4032, 'x');
  const auto bytes = std::as_bytes(std::span(pixels));
  EXPECT_THAT(std::string(job.AddFrame(1, {.index = 40, .pixels = {bytes}}).status().message()),
              HasSubstr("frame.index is 40; legal is 0 to 39"));
  EXPECT_THAT(
      std::string(job.AddFrame(1, {.index = 1, .pixels = {bytes.first(9)}}).status().message()),
      HasSubstr("has 9 bytes; legal is 4032"));
  EXPECT_EQ(job.AddFrame(1, {.index = 1, .pixels = {bytes}, .measured_matrix = ProjectionMatrix{}})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Job(job.id()).state, JobState::kReceiving);
}

// ---- Line integrals that no beam gives ---------------------------------------------------------

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// A frame whose pixels `illegal` are so.
std::string Spoiled(int view, float value, std::vector<size_t> illegal) {
  std::string bytes = SmallFrame(SmallRequest().acquisition, view);
  for (const size_t pixel : illegal) {
    std::memcpy(&bytes[pixel * sizeof value], &value, sizeof value);
  }
  return bytes;
}

std::string AllNaN() { return {std::string(4032, '\xff')}; }

TEST_F(EngineInputTest, IllegalLineIntegralsAreComputedFromThePixelsBesideAndTold) {
  const std::vector<float> good = Batch();
  for (const float value : {kNaN, 1e30F, -std::numeric_limits<float>::infinity()}) {
    const Live live = Begin();
    live.console->pixels = [&](int view) { return Spoiled(view, value, {500}); };
    ASSERT_TRUE(live.console->Send(0, kFrames).ok());
    const jobs::Job job = AwaitEnd(live.id);
    EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
    EXPECT_LT(Difference(VolumeOf(live.id), good), 0.005) << value;
    ASSERT_EQ(job.warnings.size(), 2u);
    EXPECT_EQ(job.warnings[0].kind, WarningKind::kDeadDetector);
    EXPECT_THAT(job.warnings[0].text,
                HasSubstr("1 of 1008 line integrals are not finite, or beyond 100"));
    EXPECT_THAT(job.warnings[1].text,
                HasSubstr("in 40 of 40 frames, of which the first is 0, line integrals"));
  }
}

TEST_F(EngineInputTest, RepairedFramesGiveTheSameVolumeAfterARestart) {
  const auto spoiled = [](int view) { return Spoiled(view, kNaN, {500}); };
  const Live whole = Begin();
  whole.console->pixels = spoiled;
  ASSERT_TRUE(whole.console->Send(0, kFrames).ok());
  ASSERT_EQ(AwaitEnd(whole.id).state, JobState::kCompleted);
  const std::vector<float> volume = VolumeOf(whole.id);
  const Live live = Begin();
  live.console->pixels = spoiled;
  ASSERT_TRUE(live.console->Send(0, 15).ok());
  AwaitSpooled(live.id, 15);
  Restart();
  const auto again = Resume(live.id);
  again->pixels = spoiled;
  ASSERT_TRUE(again->Send(15, kFrames).ok());
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
  EXPECT_EQ(VolumeOf(live.id), volume);
}

TEST_F(EngineInputTest, AFrameOfTooManyIllegalLineIntegralsIsAMissingOne) {
  const Live without = Begin();
  ASSERT_TRUE(without.console->Send(0, 17).ok());
  ASSERT_TRUE(without.console->Send(18, kFrames).ok());
  ASSERT_TRUE(without.console->Finish().ok());
  ASSERT_EQ(AwaitEnd(without.id).state, JobState::kCompleted);

  const Live live = Begin();
  live.console->pixels = [&](int view) {
    return view == 17 ? AllNaN() : SmallFrame(SmallRequest().acquisition, view);
  };
  ASSERT_TRUE(live.console->Send(0, kFrames).ok());  // none is waited for
  const jobs::Job job = AwaitEnd(live.id);
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.progress.frames_lost, 1);
  EXPECT_EQ(VolumeOf(live.id), VolumeOf(without.id));
  EXPECT_THAT(job.result.warnings,
              ElementsAre(HasSubstr("frame 17 is not used, and computed from the frames beside: "
                                    "1008 of 1008 line integrals are not finite")));
}

TEST_F(EngineInputTest, MoreSuchFramesThanAreToleratedEndTheStream) {
  const Live live = Begin();  // of 40 frames, two may be missing
  live.console->pixels = [](int) { return AllNaN(); };
  ASSERT_TRUE(live.console->Send(0, 2).ok());
  const absl::Status refused = live.console->SendOne(2);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("frame.pixels of frame 2: 1008 of 1008 line integrals are not finite"));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("of 40 frames 2 are already; legal are at most 2"));
  live.console->Reject(refused);
  const auto second = Resume(live.id);
  ASSERT_TRUE(second->Send(2, kFrames).ok());
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted) << Job(live.id).error;
}

// What arrives damaged is sent again, whatever its pixels seem to be.
TEST_F(EngineInputTest, AFrameThatWasDamagedOnItsWayIsNoMissingOne) {
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, 10).ok());
  live.console->pixels = [](int) { return AllNaN(); };
  (void)live.console->SendOne(10, 1);
  ASSERT_TRUE(Eventually([&] { return !live.console->refusal().ok(); }));
  EXPECT_EQ(live.console->refusal().code(), absl::StatusCode::kDataLoss);
  const auto second = Resume(live.id);
  ASSERT_TRUE(second->Send(10, kFrames).ok());
  EXPECT_EQ(AwaitEnd(live.id).progress.frames_lost, 0);
  EXPECT_EQ(VolumeOf(live.id), Batch());
}

// ---- Streams -----------------------------------------------------------------------------------

TEST_F(EngineInputTest, ASecondStreamTakesOver) {
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, 10).ok());
  const auto second = Resume(live.id);
  EXPECT_EQ(live.console->refusal().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(live.console->SendOne(10).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(live.console->Finish().code(), absl::StatusCode::kAborted);
  // What the first one does now has no effect.
  live.console->Detach();
  live.console->Reject(absl::InvalidArgumentError("nonsense"));
  ASSERT_TRUE(second->Send(10, kFrames).ok());
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
  EXPECT_EQ(VolumeOf(live.id), Batch());
  EXPECT_EQ(service_->observer.count("resumed console"), 1);
}

TEST_F(EngineInputTest, ABrokenStreamGoesOnLater) {
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, 10).ok());
  ASSERT_TRUE(live.console->Send(12, 14).ok());
  live.console->Detach();
  AwaitSpooled(live.id, 12);
  EXPECT_EQ(Job(live.id).state, JobState::kReceiving);
  const auto accepted = *service_->engine->Resume({.job_id = live.id});
  EXPECT_LT(accepted.job->console_deadline(), absl::InfiniteFuture());
  const ReconstructionJob::Input input = accepted.job->input();
  EXPECT_EQ(input.prefix, 10);
  EXPECT_THAT(input.beyond, ElementsAre(FrameRange{12, 13}));
  const auto second = *Console::Attach(accepted.job);
  EXPECT_EQ(accepted.job->console_deadline(), absl::InfiniteFuture());
  // What the first stream did not send is no gap of the second.
  ASSERT_TRUE(second->Send(14, 20).ok());
  ASSERT_TRUE(second->Send(10, 12).ok());
  ASSERT_TRUE(second->Send(20, kFrames).ok());
  const jobs::Job job = AwaitEnd(live.id);
  EXPECT_EQ(job.state, JobState::kCompleted);
  EXPECT_EQ(job.progress.frames_lost, 0);
  EXPECT_EQ(VolumeOf(live.id), Batch());
  EXPECT_EQ(service_->engine->Resume({.job_id = "nobody"}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(EngineInputTest, AConsoleThatDoesNotComeBackFailsItsJob) {
  Start({.engine = {.reconnect_limit = absl::Seconds(2)}});
  {
    const Live live = Begin();
    ASSERT_TRUE(live.console->Send(0, 10).ok());
    AwaitSpooled(live.id, 10);
    // One that never comes: with its end, all that was accepted before has been looked at.
    const std::string absent = Accept(SmallRequest())->snapshot->id;
    EXPECT_EQ(AwaitEnd(absent).state, JobState::kFailed);
    EXPECT_EQ(Job(live.id).state, JobState::kReceiving) << "its stream is there";
    live.console->Detach();
    const jobs::Job job = AwaitEnd(live.id);
    EXPECT_EQ(job.state, JobState::kFailed);
    EXPECT_EQ(job.error.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(std::string(job.error.message()), HasSubstr("10 of 40 frames"));
  }
  ExpectNothingHeld();
}

TEST_F(EngineInputTest, AConsoleThatIsAwayIsWaitedForWhateverTheClockSays) {
  Start({.engine = {.reconnect_limit = absl::Minutes(2), .clock = clock_.function()}});
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, 10).ok());
  AwaitSpooled(live.id, 10);
  live.console->Detach();
  clock_.Advance(absl::Hours(1));
  // With another one's acceptance and end, who is overdue has been looked for.
  const Live other = Begin();
  ASSERT_TRUE(other.console->Send(0, kFrames).ok());
  EXPECT_EQ(AwaitEnd(other.id).state, JobState::kCompleted);
  ASSERT_TRUE(Resume(live.id)->Send(10, kFrames).ok());
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
  EXPECT_EQ(VolumeOf(live.id), Batch());
}

TEST_F(EngineInputTest, WhatIsGoodEnoughIsCompletedWithoutItsConsole) {
  Start({.sync = absl::Milliseconds(500), .engine = {.reconnect_limit = absl::Milliseconds(350)}});
  const Live live = Begin(WithPolicy(MissingFramesPolicy::kInterpolate));
  ASSERT_TRUE(live.console->Send(0, kFrames - 1).ok());
  live.console->Detach();  // while the last frames are being written
  const jobs::Job job = AwaitEnd(live.id);
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.progress.frames_lost, 1);
  EXPECT_EQ(job.result.warnings.size(), 1u);
}

// Another one may have all frames: two volumes that differ would have the same UIDs.
TEST_F(EngineInputTest, WhatIsGoodEnoughIsNotCompletedWhereThereAreOtherNodes) {
  Start({.engine = {.reconnect_limit = absl::Milliseconds(350), .has_other_nodes = true}});
  const Live live = Begin(WithPolicy(MissingFramesPolicy::kInterpolate));
  ASSERT_TRUE(live.console->Send(0, kFrames - 1).ok());
  live.console->Detach();
  const jobs::Job job = AwaitEnd(live.id);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(job.error.message()), HasSubstr("39 of 40 frames"));
}

TEST_F(EngineInputTest, AConsoleThatLeavesWithAllFramesSentDoesNotMatter) {
  Start({.engine = {.reconnect_limit = absl::Milliseconds(500)}});
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, kFrames).ok());
  live.console->Detach();
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
}

TEST_F(EngineInputTest, ADamagedFrameEndsTheStreamButNotTheJob) {
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, 10).ok());
  const std::string pixels = SmallFrame(SmallRequest().acquisition, 10);
  const uint32_t crc = Crc32c(std::as_bytes(std::span(pixels)));
  (void)live.console->SendOne(10, crc ^ 1);
  ASSERT_TRUE(Eventually([&] { return !live.console->refusal().ok(); }));
  EXPECT_EQ(live.console->refusal().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(live.console->refusal().message()), HasSubstr("frame 10"));
  EXPECT_EQ(Job(live.id).state, JobState::kReceiving);
  const auto second = Resume(live.id);
  ASSERT_TRUE(second->SendOne(10, crc).ok());
  ASSERT_TRUE(second->Send(11, kFrames).ok());
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
  EXPECT_EQ(VolumeOf(live.id), Batch());
}

// The finish that came behind it does not count: the frame is to be sent again.
TEST_F(EngineInputTest, ADamagedLastFrameIsWaitedForAfterFinish) {
  for (const absl::Duration sync : {absl::ZeroDuration(), absl::Milliseconds(5)}) {
    Start({.sync = sync});
    const Live live = Begin();
    ASSERT_TRUE(live.console->Send(0, kFrames - 1).ok());
    (void)live.console->SendOne(kFrames - 1, 1);
    (void)live.console->Finish();
    ASSERT_TRUE(Eventually([&] { return !live.console->refusal().ok(); }));
    EXPECT_EQ(live.console->refusal().code(), absl::StatusCode::kDataLoss);
    const auto second = Resume(live.id);
    EXPECT_TRUE(second->SendOne(kFrames - 1).ok());
    EXPECT_TRUE(second->Finish().ok());
    EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted) << Job(live.id).error;
    EXPECT_EQ(VolumeOf(live.id), Batch());
  }
}

TEST_F(EngineInputTest, NoFrameIsLegalAfterFinish) {
  Start({.sync = absl::Milliseconds(5)});
  const Live live = Begin(WithPolicy(MissingFramesPolicy::kInterpolate));
  ASSERT_TRUE(live.console->Send(0, kFrames - 1).ok());
  ASSERT_TRUE(live.console->Finish().ok());
  const absl::Status refused = live.console->SendOne(kFrames - 1);
  // Either the end is still waited for, or the frame has been replaced already.
  EXPECT_TRUE(refused.ok() || absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
}

TEST_F(EngineInputTest, WhoIsRefusedAPlaceIsToldOfTheConsoleThatIsWaitedFor) {
  Start({.max_active_jobs = 1, .engine = {.reconnect_limit = absl::Seconds(30)}});
  const auto told = [this] {
    return RetryAfter(Accept(SmallRequest()).status()).value_or(absl::ZeroDuration());
  };
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, 3).ok());
  EXPECT_LT(told(), absl::Seconds(10));
  live.console->Detach();
  EXPECT_GE(told(), absl::Seconds(25));
  EXPECT_LE(told(), absl::Seconds(30));
  const auto second = Resume(live.id);
  EXPECT_LT(told(), absl::Seconds(10));
  ASSERT_TRUE(second->Send(3, kFrames).ok());
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
}

TEST_F(EngineInputTest, ARejectedStreamLeavesWhatIsHeldToTheNextOne) {
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, 3).ok());
  live.console->dose = -1;
  const absl::Status illegal = live.console->SendOne(3);
  ASSERT_EQ(illegal.code(), absl::StatusCode::kInvalidArgument);
  live.console->Reject(illegal);
  EXPECT_EQ(Job(live.id).state, JobState::kReceiving);
  EXPECT_NE(Job(live.id).awaits_console_until, absl::InfiniteFuture());
  const auto second = Resume(live.id);
  ASSERT_TRUE(second->Send(3, kFrames).ok());
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
  EXPECT_EQ(VolumeOf(live.id), Batch());
}

TEST_F(EngineInputTest, AJobWhoseConsoleDoesNotSendItRightSaysWhatWasRefused) {
  Start({.engine = {.reconnect_limit = absl::Milliseconds(100)}});
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, 3).ok());
  live.console->Reject(absl::InvalidArgumentError("nonsense"));
  EXPECT_EQ(AwaitEnd(live.id).error,
            absl::DeadlineExceededError(absl::StrCat(
                "the console's stream ended after 3 of ", kFrames,
                " frames and did not come back within 100ms; what it sent last was refused: "
                "nonsense")));
}

TEST_F(EngineInputTest, AJobWhoseLastFrameCameDamagedSaysSo) {
  Start({.engine = {.reconnect_limit = absl::Milliseconds(100)}});
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, 3).ok());
  (void)live.console->SendOne(3, 1);
  EXPECT_THAT(std::string(AwaitEnd(live.id).error.message()),
              HasSubstr("did not come back within 100ms; what it sent last was refused: frame 3"));
}

TEST_F(EngineInputTest, AStreamThatIsRejectedBeforeItsFirstFrameFailsTheJob) {
  const Live live = Begin();
  live.console->Reject(absl::InvalidArgumentError("nonsense"));
  EXPECT_EQ(AwaitEnd(live.id).error, absl::InvalidArgumentError("nonsense"));
}

TEST_F(EngineInputTest, AConsoleThatContradictsItselfFailsItsJobAndNoOther) {
  for (const bool began : {false, true}) {
    const Live live = Begin();
    ASSERT_TRUE(live.console->Send(0, 3).ok());
    AwaitSpooled(live.id, 3);
    live.console->pixels = [](int) { return SmallFrame(SmallRequest().acquisition, 7); };
    const absl::Status other = live.console->SendOne(1);
    ASSERT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
    live.console->Reject(other, began);
    if (began) {
      EXPECT_EQ(AwaitEnd(live.id).error, other);
    } else {
      EXPECT_EQ(Job(live.id).state, JobState::kReceiving);
      const auto second = Resume(live.id);
      ASSERT_TRUE(second->Send(3, kFrames).ok());
      EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
    }
  }
}

TEST_F(EngineInputTest, AConsoleThatCountsFromOneMakesNoVolume) {
  const auto accepted = Accept(SmallRequest());
  ASSERT_TRUE(accepted.ok());
  const auto console = *Console::Attach(accepted->job);
  ASSERT_TRUE(console->Send(1, 10).ok());  // so few that 0 is not given up
  const std::string pixels(4032, 'x');
  const absl::Status beyond =
      accepted->job->AddFrame(1, {.index = kFrames, .pixels = {std::as_bytes(std::span(pixels))}})
          .status();
  EXPECT_THAT(std::string(beyond.message()),
              HasSubstr("frame.index is 40; legal is 0 to 39, and 0 has not come: frames that are "
                        "counted from 1"));
  console->Reject(beyond);
  EXPECT_EQ(AwaitEnd(accepted->snapshot->id).error, beyond);
}

TEST_F(EngineInputTest, ARejectedStreamThatHasSentAllChangesNothing) {
  Start({.sync = absl::Milliseconds(5)});
  for (const int frames : {kFrames, kFrames - 1}) {  // the second with finish
    const Live complete = Begin();
    ASSERT_TRUE(complete.console->Send(0, frames).ok());
    if (frames < kFrames) {
      ASSERT_TRUE(complete.console->Finish().ok());
    }
    complete.console->Reject(absl::InvalidArgumentError("nonsense"));
    EXPECT_EQ(AwaitEnd(complete.id).state, JobState::kCompleted) << frames;
  }
}

}  // namespace
}  // namespace isocenter::pipeline
