// Room on the archive's disk: promised before the exposure, waited for when others have taken it.
#include <algorithm>
#include <filesystem>

#include "kernels/base/bytes_text.h"
#include "server/base/try_again.h"
#include "tests/server/pipeline/refinement_fixture.h"

namespace isocenter::pipeline {
namespace {

using jobs::WarningKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr int64_t kResultBytes = 8 * 32 * 32 * 32;  // as the fake store counts
constexpr int64_t kPlenty = int64_t{1} << 40;

class EngineDiskTest : public RefinementTest {
 protected:
  void SetUp() override { Start(Options()); }
  static PipelineOptions Options() {
    PipelineOptions options{.retention = absl::Hours(1)};
    options.engine.store_again = absl::Milliseconds(20);
    return options;
  }
  void StartOnOneDisk() {
    PipelineOptions options = Options();
    options.one_disk = true;
    Start(std::move(options));
  }
  static AcquisitionRequest Request(jobs::JobClass job_class) {
    AcquisitionRequest request = SmallRequest();
    request.job_class = job_class;
    return request;
  }
  /// The frames of `id`, whose job has ended, may go.
  void AwaitReleased(const std::string& id) {
    const auto file = service_->directory.path() / "spool" / (id + ".released");
    EXPECT_TRUE(Eventually([&] { return std::filesystem::exists(file); })) << id;
    EXPECT_TRUE(Eventually([&] { return service_->HoldsNothing(); }));
  }
  int64_t SpoolBytes() { return service_->spool->usage().used_bytes; }
  int64_t promised() { return service_->engine->promised_disk_bytes(); }
  bool Waits(const std::string& id) {
    return std::ranges::any_of(Job(id).warnings, [](const jobs::JobWarning& warning) {
      return warning.kind == WarningKind::kArchiveFull;
    });
  }
  /// A job whose volume is complete, and finds no room.
  std::string BeginWaiting(const AcquisitionRequest& request = SmallRequest()) {
    const Live live = Begin(request);
    service_->results.SetFreeBytes(kResultBytes - 1);
    EXPECT_TRUE(live.console->Send(0, kFrames).ok());
    EXPECT_TRUE(Eventually([&] { return Waits(live.id); }));
    return live.id;
  }
};

// ---- Before the exposure -----------------------------------------------------------------------

TEST_F(EngineDiskTest, RoomIsPromisedToEveryAcceptedScan) {
  service_->results.SetFreeBytes(2 * kResultBytes + 1000);
  Live room1 = Begin(Request(jobs::JobClass::kLive));
  const Live batch = Begin(Request(jobs::JobClass::kBatch));
  EXPECT_EQ(promised(), 2 * kResultBytes);
  const absl::Status refused = Accept(SmallRequest()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(absl::StrCat(BytesText(kResultBytes), " are needed")),
                    HasSubstr(absl::StrCat(BytesText(2 * kResultBytes), " are promised")),
                    HasSubstr(absl::StrCat(BytesText(2 * kResultBytes + 1000), " are free"))));
  EXPECT_EQ(*service_->engine->RoomForLive(), 1000);
  EXPECT_EQ(service_->scheduler->active_jobs(), 2);
  EXPECT_EQ(service_->observer.count("accepted"), 2);

  // What ends gives its room back.
  ASSERT_TRUE(service_->engine->Cancel(room1.id, absl::CancelledError("stop")).ok());
  EXPECT_EQ(promised(), kResultBytes);
  const Live room2 = Begin();
  for (const Live& live : {batch, room2}) {
    ASSERT_TRUE(live.console->Send(0, kFrames).ok());
    EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted) << Job(live.id).error;
  }
  EXPECT_EQ(promised(), 0);
}

TEST_F(EngineDiskTest, WhatTheEmptyDiskWouldNotHoldIsNotForLater) {
  service_->results.SetFreeBytes(kResultBytes - 1);
  EXPECT_TRUE(MayTryAgain(Accept(SmallRequest()).status()));
  service_->results.SetTotalBytes(kResultBytes - 1);
  const absl::Status refused = Accept(SmallRequest()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_FALSE(MayTryAgain(refused));
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(absl::StrCat(BytesText(kResultBytes - 1), " are all it holds")),
                    ::testing::Not(HasSubstr("try again"))));
}

TEST_F(EngineDiskTest, PromisesAreRebuiltAfterARestart) {
  service_->results.SetFreeBytes(kResultBytes + 1000);
  const std::string id = Begin().id;
  Restart();
  EXPECT_EQ(promised(), kResultBytes);
  EXPECT_EQ(Accept(SmallRequest()).status().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(Resume(id)->Send(0, kFrames).ok());
  EXPECT_EQ(AwaitEnd(id).state, JobState::kCompleted) << Job(id).error;
}

TEST_F(EngineDiskTest, RefinementsArePromisedRoomToo) {
  const std::string id = Acquire();
  service_->results.SetFreeBytes(kResultBytes + 1000);
  const Live live = Begin();
  const absl::Status refused = Refine(id, Recipe(1)).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the disk has no room"));
  ASSERT_TRUE(service_->engine->Cancel(live.id, absl::CancelledError("stop")).ok());

  const auto refinement = Refine(id, Recipe(1));
  ASSERT_TRUE(refinement.ok()) << refinement.status();
  EXPECT_EQ(AwaitEnd((*refinement)->id).state, JobState::kCompleted);
  EXPECT_EQ(promised(), 0);
}

TEST_F(EngineDiskTest, ALiveScanTakesTheRoomOfARefinement) {
  const std::string id = Acquire();
  service_->results.SetFreeBytes(kResultBytes + 1000);
  const std::string refining = (*Refine(id, Recipe(1000)))->id;
  AwaitRefining(refining);
  EXPECT_EQ(Accept(Request(jobs::JobClass::kBatch)).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(*service_->engine->RoomForLive(), kResultBytes + 1000);
  const Live live = Begin(Request(jobs::JobClass::kLive));
  EXPECT_EQ(*service_->engine->RoomForLive(), 1000);
  EXPECT_EQ(promised(), kResultBytes);
  // Not that of another acquisition.
  EXPECT_EQ(Accept(Request(jobs::JobClass::kLive)).status().code(),
            absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(live.console->Send(0, kFrames).ok());
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted) << Job(live.id).error;
  EXPECT_EQ(Job(refining).state, JobState::kRefining);
}

// ---- What gives way ----------------------------------------------------------------------------

TEST_F(EngineDiskTest, ARefusedScanHasRemovedNothing) {
  StartOnOneDisk();
  const std::string first = Acquire(), second = Acquire();
  AwaitReleased(first);
  AwaitReleased(second);
  // Kept frames could make room for this result; nothing makes memory for its volume.
  AcquisitionRequest large = SmallRequest();
  const VolumeGrid grid = CenteredGrid(512, 512, 512, {1, 1, 1});
  large.grid = grid;
  service_->results.SetFreeBytes(8 * grid.voxels() + SpoolBytes());
  const absl::Status refused = Accept(large).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("iB of memory; "));
  EXPECT_THAT(service_->spool->Jobs(), UnorderedElementsAre(first, second));

  // Nor would all of them make room for this.
  service_->results.SetFreeBytes(kResultBytes - 1);
  EXPECT_EQ(Accept(SmallRequest()).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(service_->spool->Jobs(), UnorderedElementsAre(first, second));
  EXPECT_EQ(promised(), 0);
}

TEST_F(EngineDiskTest, KeptFramesGiveWayOldestFirstAndOnlyAsManyAsNeeded) {
  StartOnOneDisk();
  std::vector<std::string> kept;
  for (int i = 0; i < 4; ++i) {
    kept.push_back(Acquire());
    AwaitReleased(kept.back());
  }
  const int64_t file = SpoolBytes() / 4;
  // The new scan's frames and result need one file and kResultBytes, which is less than a second.
  ASSERT_LT(kResultBytes, file);
  service_->results.SetFreeBytes(SpoolBytes() + 1000);
  const Live live = Begin();
  EXPECT_THAT(service_->spool->Jobs(), UnorderedElementsAre(kept[2], kept[3], live.id));
  ASSERT_TRUE(live.console->Send(0, kFrames).ok());
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted) << Job(live.id).error;
}

TEST_F(EngineDiskTest, KeptFramesOnAnotherDiskStay) {
  const std::string id = Acquire();
  AwaitReleased(id);
  service_->results.SetFreeBytes(kResultBytes - 1);
  EXPECT_EQ(Accept(SmallRequest()).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(service_->spool->Jobs(), ElementsAre(id));
}

// ---- A disk that is full all the same ----------------------------------------------------------

TEST_F(EngineDiskTest, AResultWithoutRoomWaitsForIt) {
  const std::string id = BeginWaiting();
  EXPECT_TRUE(Eventually([&] { return service_->engine->jobs_waiting_for_room() == 1; }));
  EXPECT_TRUE(Eventually([&] { return Job(id).state == JobState::kExporting; }));
  EXPECT_EQ(promised(), kResultBytes);
  // Others are refused before their exposure.
  EXPECT_EQ(Accept(SmallRequest()).status().code(), absl::StatusCode::kResourceExhausted);
  absl::SleepFor(absl::Milliseconds(100));  // several attempts
  EXPECT_FALSE(jobs::HasEnded(Job(id).state));

  service_->results.SetFreeBytes(kPlenty);
  const jobs::Job job = AwaitEnd(id);
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(VolumeOf(id), Batch());
  ASSERT_EQ(job.warnings.size(), 1u);  // not one for each attempt
  EXPECT_EQ(job.warnings[0].kind, WarningKind::kArchiveFull);
  EXPECT_THAT(job.warnings[0].text, HasSubstr("waits for room in the archive"));
  EXPECT_EQ(service_->engine->jobs_waiting_for_room(), 0);
  EXPECT_EQ(promised(), 0);
  ExpectNothingHeld();
}

TEST_F(EngineDiskTest, OthersAreStoredWhileOneWaits) {
  AcquisitionRequest large = SmallRequest();
  large.grid = CenteredGrid(48, 48, 48, {3, 3, 3});
  const Live waiting = Begin(large);
  const Live small = Begin();
  service_->results.SetFreeBytes(kResultBytes + 1000);
  ASSERT_TRUE(waiting.console->Send(0, kFrames).ok());
  EXPECT_TRUE(Eventually([&] { return Waits(waiting.id); }));
  ASSERT_TRUE(small.console->Send(0, kFrames).ok());
  EXPECT_EQ(AwaitEnd(small.id).state, JobState::kCompleted);
  EXPECT_FALSE(jobs::HasEnded(Job(waiting.id).state));
  service_->results.SetFreeBytes(kPlenty);
  EXPECT_EQ(AwaitEnd(waiting.id).state, JobState::kCompleted);
}

TEST_F(EngineDiskTest, WhatWaitsForRoomCanBeCancelled) {
  const std::string id = BeginWaiting();
  ASSERT_TRUE(service_->engine->Cancel(id, absl::CancelledError("not wanted")).ok());
  EXPECT_EQ(AwaitEnd(id).state, JobState::kCancelled);
  EXPECT_EQ(promised(), 0);
  ExpectNothingHeld();
}

TEST_F(EngineDiskTest, WhatWaitsForRoomGoesOnAfterARestart) {
  const std::string id = BeginWaiting();
  Restart();
  EXPECT_TRUE(Eventually([&] { return service_->engine->jobs_waiting_for_room() == 1; }));
  service_->results.SetFreeBytes(kPlenty);
  const jobs::Job job = AwaitEnd(id);
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(VolumeOf(id), Batch());
}

TEST_F(EngineDiskTest, DrainingDoesNotWaitForRoom) {
  const std::string id = BeginWaiting();
  const absl::Time begin = absl::Now();
  service_->engine->StopAdmitting();
  EXPECT_TRUE(service_->engine->WaitUntilIdle(begin + absl::Seconds(60)));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(30));
  EXPECT_FALSE(jobs::HasEnded(Job(id).state));
}

TEST_F(EngineDiskTest, ARefinementWithoutRoomWaitsForIt) {
  const Live live = Begin(FollowedRequest(1));
  // The volume has the room that it was promised, and its refinement finds none.
  service_->results.SetFreeBytes(kResultBytes + 1000);
  ASSERT_TRUE(live.console->Send(0, kFrames).ok());
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
  const std::string refinement = live.id + "-ref";
  EXPECT_TRUE(Eventually([&] { return Waits(refinement); }));
  service_->results.SetFreeBytes(kPlenty);
  EXPECT_EQ(AwaitEnd(refinement).state, JobState::kCompleted);
}

}  // namespace
}  // namespace isocenter::pipeline
