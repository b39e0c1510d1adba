#include "server/pipeline/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "kernels/recon/reconstructor.h"
#include "server/pipeline/facts.h"
#include "tests/server/fakes/service_under_test.h"
#include "tests/server/fakes/test_scan.h"

namespace isocenter::pipeline {
namespace {

using isocenter::testing::PipelineUnderTest;
using isocenter::testing::SmallFrame;
using isocenter::testing::SmallRequest;
using jobs::JobState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(60);

class EngineTest : public ::testing::Test {
 protected:
  absl::StatusOr<Engine::Accepted> Accept(const AcquisitionRequest& request) {
    absl::StatusOr<Engine::Accepted> result;
    absl::Notification done;
    service_.engine->Accept(
        request, [] { return true; },
        [this] {
          absl::MutexLock lock(&mutex_);
          room_ = true;
        },
        [&](absl::StatusOr<Engine::Accepted> accepted) {
          result = std::move(accepted);
          done.Notify();
        });
    done.WaitForNotification();
    return result;
  }

  /// Sends frames [first, last), waiting for room as a stream does.
  absl::Status Send(ReconstructionJob& job, int first, int last) {
    for (int view = first; view < last; ++view) {
      const std::string pixels = SmallFrame(job.plan().acquisition, view);
      {
        absl::MutexLock lock(&mutex_);
        room_ = false;
      }
      const absl::StatusOr<bool> room = job.AddFrame(
          {.index = static_cast<uint32_t>(view), .pixels = std::as_bytes(std::span(pixels))});
      if (!room.ok()) return room.status();
      if (*room) continue;
      absl::MutexLock lock(&mutex_);
      if (!mutex_.AwaitWithTimeout(absl::Condition(&room_), kPatience)) {
        return absl::DeadlineExceededError("no room came");
      }
    }
    return absl::OkStatus();
  }

  jobs::Job WaitUntilEnded(const std::string& id) {
    EXPECT_TRUE(service_.engine->WaitUntilIdle(absl::Now() + kPatience));
    return **service_.table.Get(id);
  }

  PipelineUnderTest service_;
  absl::Mutex mutex_;
  bool room_ ABSL_GUARDED_BY(mutex_) = false;
};

// Streaming must leave no trace: both paths execute the same plan.
TEST_F(EngineTest, StreamedVolumeEqualsTheBatchBitForBit) {
  for (const recon::PixelType type :
       {recon::PixelType::kFloat32LineIntegrals, recon::PixelType::kUint16Counts}) {
    const AcquisitionRequest request = SmallRequest(type);
    const auto accepted = Accept(request);
    ASSERT_TRUE(accepted.ok()) << accepted.status();
    ASSERT_TRUE(Send(*accepted->job, 0, 40).ok());
    ASSERT_TRUE(accepted->job->FinishInput().ok());
    ASSERT_EQ(WaitUntilEnded(accepted->job->id()).state, JobState::kCompleted);

    const VolumeGrid grid = std::get<VolumeGrid>(request.grid);
    const auto plan =
        recon::MakePlan(request.acquisition, grid, request.settings, *service_.device);
    std::string frames;
    for (int view = 0; view < 40; ++view) frames += SmallFrame(request.acquisition, view);
    const Shape3 shape{40, request.acquisition.detector.rows, request.acquisition.detector.columns};
    ops::RawFrames raw;
    if (type == recon::PixelType::kUint16Counts) {
      raw.counts = {reinterpret_cast<const uint16_t*>(frames.data()), shape};
    } else {
      raw.line_integrals = {reinterpret_cast<const float*>(frames.data()), shape};
    }
    std::vector<float> batch(grid.voxels());
    ASSERT_TRUE(recon::ReconstructAll(*plan, Backends(), *service_.device, raw,
                                      {batch.data(), grid.shape()})
                    .ok());
    const std::vector<float> streamed = service_.results.volume(accepted->job->id());
    ASSERT_EQ(streamed.size(), batch.size());
    EXPECT_EQ(std::memcmp(streamed.data(), batch.data(), batch.size() * sizeof(float)), 0);
    // Not a comparison of two empty volumes.
    EXPECT_GT(*std::ranges::max_element(batch), *std::ranges::min_element(batch) + 1);
  }
}

TEST_F(EngineTest, ACompletedJobTellsEverything) {
  const auto accepted = Accept(SmallRequest());
  ASSERT_TRUE(accepted.ok());
  const std::string id = accepted->job->id();
  EXPECT_NEAR(accepted->predicted_seconds, 32. * 32 * 32 * 40 / 1e9, 1e-12);  // assumed
  EXPECT_GE(accepted->peak_bytes, accepted->job->plan().peak_bytes);
  ASSERT_TRUE(Send(*accepted->job, 0, 40).ok());
  const jobs::Job job = WaitUntilEnded(id);
  EXPECT_EQ(job.progress.frames_received, 40);
  EXPECT_EQ(job.progress.frames_backprojected, 40);
  EXPECT_EQ(job.progress.slices_exported, 32);
  EXPECT_EQ(job.result.series_instance_uid, "1.2.3.4");
  EXPECT_EQ(job.result.instance_count, 32);
  EXPECT_EQ(job.result.backend, "reference");
  EXPECT_GT(job.result.kernel_gups, 0);
  EXPECT_GT(job.result.whole_gups, 0);
  EXPECT_LE(job.result.whole_gups, job.result.kernel_gups);
  EXPECT_GT(job.result.seconds_after_last_frame, 0);
  EXPECT_GE(job.result.seconds_to_stored, job.result.seconds_after_last_frame);
  EXPECT_GE(job.result.timings.total, job.result.timings.acquisition);
  EXPECT_NEAR(job.facts.source_to_isocenter_mm, 750, 1e-6);
  EXPECT_NEAR(job.facts.source_to_detector_mm, 1200, 1e-6);
  EXPECT_NEAR(job.facts.arc_deg, 360, 1e-6);
  EXPECT_EQ(job.facts.filter_description, "ram-lak 1.00");
  EXPECT_EQ(job.facts.trajectory_hash.size(), 64u);
  EXPECT_EQ(job.patient_study.study_date.size(), 8u);
  std::vector<JobState> states;
  for (const auto& [job_id, state] : service_.store.history()) states.push_back(state);
  EXPECT_THAT(states, ElementsAre(JobState::kReceiving, JobState::kReconstructing,
                                  JobState::kExporting, JobState::kCompleted));
  EXPECT_EQ(service_.slot().memory.used(), 0);
  EXPECT_EQ(service_.scheduler->active_jobs(), 0);
  // The next one is predicted from it.
  const auto next = Accept(SmallRequest());
  ASSERT_TRUE(next.ok());
  EXPECT_NEAR(next->predicted_seconds, 32. * 32 * 32 * 40 / (job.result.whole_gups * 1e9), 1e-9);
}

TEST_F(EngineTest, ConcurrentJobsDoNotMix) {
  const auto alone = Accept(SmallRequest());
  ASSERT_TRUE(alone.ok() && Send(*alone->job, 0, 40).ok());
  WaitUntilEnded(alone->job->id());
  const auto a = Accept(SmallRequest());
  const auto b = Accept(SmallRequest());
  ASSERT_TRUE(a.ok() && b.ok());
  for (int view = 0; view < 40; view += 5) {
    ASSERT_TRUE(Send(*a->job, view, view + 5).ok());
    ASSERT_TRUE(Send(*b->job, view, view + 5).ok());
  }
  WaitUntilEnded(a->job->id());
  EXPECT_EQ(service_.results.volume(a->job->id()), service_.results.volume(alone->job->id()));
  EXPECT_EQ(service_.results.volume(b->job->id()), service_.results.volume(alone->job->id()));
}

TEST_F(EngineTest, AConsoleThatLeavesEarlyCancelsAndFreesMemory) {
  const auto accepted = Accept(SmallRequest());
  ASSERT_TRUE(accepted.ok());
  ASSERT_TRUE(Send(*accepted->job, 0, 20).ok());
  EXPECT_GT(service_.slot().memory.used(), 0);
  accepted->job->AbandonInput(JobState::kCancelled, absl::CancelledError("gone"));
  const jobs::Job job = WaitUntilEnded(accepted->job->id());
  EXPECT_EQ(job.state, JobState::kCancelled);
  EXPECT_EQ(std::string(job.error.message()), "gone");
  EXPECT_EQ(service_.slot().memory.used(), 0);
  EXPECT_EQ(Send(*accepted->job, 20, 21).code(), absl::StatusCode::kCancelled);
}

TEST_F(EngineTest, AConsoleThatLeavesWithAllFramesSentDoesNotMatter) {
  const auto accepted = Accept(SmallRequest());
  ASSERT_TRUE(accepted.ok());
  ASSERT_TRUE(Send(*accepted->job, 0, 40).ok());
  accepted->job->AbandonInput(JobState::kCancelled, absl::CancelledError("gone"));
  EXPECT_EQ(WaitUntilEnded(accepted->job->id()).state, JobState::kCompleted);
}

TEST_F(EngineTest, FinishTooEarlyFails) {
  const auto accepted = Accept(SmallRequest());
  ASSERT_TRUE(accepted.ok());
  ASSERT_TRUE(Send(*accepted->job, 0, 39).ok());
  EXPECT_EQ(accepted->job->FinishInput().code(), absl::StatusCode::kFailedPrecondition);
  const jobs::Job job = WaitUntilEnded(accepted->job->id());
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(std::string(job.error.message()),
              HasSubstr("after 39 frames; legal is after all 40"));
}

TEST_F(EngineTest, CancelsWhileReceivingAndWhileStoring) {
  const auto receiving = Accept(SmallRequest());
  ASSERT_TRUE(receiving.ok());
  ASSERT_TRUE(Send(*receiving->job, 0, 3).ok());
  ASSERT_TRUE(service_.engine->Cancel(receiving->job->id(), absl::CancelledError("stop")).ok());
  EXPECT_EQ(WaitUntilEnded(receiving->job->id()).state, JobState::kCancelled);
  EXPECT_EQ(service_.engine->Cancel(receiving->job->id(), absl::CancelledError("stop")).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(service_.engine->Cancel("nobody", absl::CancelledError("stop")).code(),
            absl::StatusCode::kNotFound);

  service_.results.SetGate(false);
  const auto storing = Accept(SmallRequest());
  ASSERT_TRUE(storing.ok());
  ASSERT_TRUE(Send(*storing->job, 0, 40).ok());
  service_.results.WaitUntilStoring();
  ASSERT_TRUE(service_.engine->Cancel(storing->job->id(), absl::CancelledError("stop")).ok());
  service_.results.SetGate(true);
  const jobs::Job job = WaitUntilEnded(storing->job->id());
  EXPECT_EQ(job.state, JobState::kCancelled);
  EXPECT_EQ(std::string(job.error.message()), "stop");
  EXPECT_EQ(service_.slot().memory.used(), 0);
}

TEST_F(EngineTest, ADiskWithoutRoomRefusesTheAcquisition) {
  service_.results.RefuseRoom(absl::ResourceExhaustedError("needs 10 bytes; 3 are free"));
  const absl::Status refused = Accept(SmallRequest()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("3 are free"));
  EXPECT_EQ(service_.slot().memory.used(), 0);
  service_.results.RefuseRoom(absl::OkStatus());
  EXPECT_TRUE(Accept(SmallRequest()).ok());
}

TEST_F(EngineTest, AFullDiskFailsTheJobWithItsReason) {
  service_.results.FailWith(absl::ResourceExhaustedError("needs 10 bytes; 3 are free"));
  const auto accepted = Accept(SmallRequest());
  ASSERT_TRUE(accepted.ok());
  ASSERT_TRUE(Send(*accepted->job, 0, 40).ok());
  const jobs::Job job = WaitUntilEnded(accepted->job->id());
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(EngineTest, TheSameRequestIdIsTheSameJob) {
  AcquisitionRequest request = SmallRequest();
  request.request_id = "once";
  const auto first = Accept(request);
  ASSERT_TRUE(first.ok());
  const auto again = Accept(request);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->job, nullptr);
  EXPECT_EQ(again->snapshot->id, first->job->id());
  request.patient_study.patient_id = "somebody else";
  EXPECT_EQ(Accept(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(EngineTest, RefusesWhatDoesNotFitAndNamesIt) {
  AcquisitionRequest request = SmallRequest();
  request.grid = CenteredGrid(512, 512, 512, {1, 1, 1});
  const absl::Status refused = Accept(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("are free of 67108864"));
  EXPECT_EQ(service_.slot().memory.used(), 0);
  EXPECT_EQ(service_.scheduler->active_jobs(), 0);
}

TEST_F(EngineTest, LimitsTheNumberOfJobs) {
  std::vector<Engine::Accepted> accepted;
  for (int i = 0; i < 8; ++i) accepted.push_back(*Accept(SmallRequest()));
  const absl::Status refused = Accept(SmallRequest()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("0 are free of 8"));
}

TEST_F(EngineTest, AConsoleThatLeftBeforeItsTurnCostsNothing) {
  absl::Notification done;
  absl::Status status;
  service_.engine->Accept(
      SmallRequest(), [] { return false; }, [] {},
      [&](absl::StatusOr<Engine::Accepted> accepted) {
        status = accepted.status();
        done.Notify();
      });
  done.WaitForNotification();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(service_.observer.count("accepted"), 0);
}

TEST_F(EngineTest, AJobThatCannotBeRecordedIsNotAccepted) {
  service_.store.FailWith(absl::ResourceExhaustedError("disk full"));
  EXPECT_EQ(Accept(SmallRequest()).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(service_.slot().memory.used(), 0);
  EXPECT_TRUE(service_.engine->WaitUntilIdle(absl::Now() + kPatience));
}

TEST_F(EngineTest, DrainsWhatWasAcceptedAndAdmitsNothing) {
  const auto accepted = Accept(SmallRequest());
  ASSERT_TRUE(accepted.ok());
  ASSERT_TRUE(Send(*accepted->job, 0, 10).ok());
  service_.engine->StopAdmitting();
  EXPECT_EQ(Accept(SmallRequest()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(service_.engine->WaitUntilIdle(absl::Now()));
  ASSERT_TRUE(Send(*accepted->job, 10, 40).ok());
  EXPECT_EQ(WaitUntilEnded(accepted->job->id()).state, JobState::kCompleted);
}

TEST_F(EngineTest, EndingTheEngineEndsItsJobs) {
  const auto accepted = Accept(SmallRequest());
  ASSERT_TRUE(accepted.ok());
  const std::string id = accepted->job->id();
  service_.engine.reset();
  EXPECT_EQ((*service_.table.Get(id))->state, JobState::kCancelled);
  EXPECT_EQ(service_.store.jobs()[id].state, JobState::kCancelled);
}

// Published check: SHA-256 of 96 zero bytes (one all-zero matrix), by sha256sum.
TEST(TrajectoryHash, IsTheSha256OfTheMatrices) {
  EXPECT_EQ(TrajectoryHash({ProjectionMatrix{}}),
            "2ea9ab9198d1638007400cd2c3bef1cc745b864b76011a0e1bc52180ac6452d4");
}

}  // namespace
}  // namespace isocenter::pipeline
