// Mask, fill and the difference of both.
#include <algorithm>
#include <cstring>

#include "tests/server/pipeline/engine_fixture.h"

namespace isocenter::pipeline {
namespace {

using jobs::PairRole;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EnginePairTest : public EngineTest {
 protected:
  static AcquisitionRequest Half(PairRole role) {
    AcquisitionRequest request = SmallRequest();
    request.patient_study.patient_id = "P1";
    request.patient_study.study_instance_uid = "1.2.3";
    request.pair_id = "pair";
    request.pair_role = role;
    return request;
  }
  Live BeginHalf(PairRole role) {
    Live live = Begin(Half(role));
    // The contrast agent: frames of other views, which differ by a few percent.
    if (role == PairRole::kFill) {
      live.console->pixels = [](int view) {
        return SmallFrame(SmallRequest().acquisition, view + 3);
      };
    }
    return live;
  }
  jobs::JobSnapshot Subtraction() {
    const auto found = service_->table->List({.pair_id = "pair"}, std::nullopt, 100);
    const auto job = std::ranges::find_if(
        found, [](const auto& each) { return each->pair_role == PairRole::kSubtraction; });
    return job == found.end() ? nullptr : *job;
  }
  /// Both halves are completed, and their difference is held up in the exporter. The ids of both.
  std::pair<std::string, std::string> StoringDifference() {
    const Live mask = BeginHalf(PairRole::kMask), fill = BeginHalf(PairRole::kFill);
    EXPECT_TRUE(mask.console->Send(0, kFrames).ok());
    AwaitEnd(mask.id);
    // Who is told of the end is told before the difference is asked for.
    const auto watch = service_->table->Subscribe(fill.id, [&] {
      if (Job(fill.id).state == JobState::kCompleted) service_->results.SetGate(false);
    });
    EXPECT_TRUE(fill.console->Send(0, kFrames).ok());
    AwaitEnd(fill.id);
    service_->results.WaitUntilStoring();
    return {mask.id, fill.id};
  }
  void ExpectDifference(const std::string& mask_id, const std::string& fill_id) {
    ASSERT_TRUE(Eventually([&] {
      const auto job = Subtraction();
      return job != nullptr && jobs::HasEnded(job->state);
    }));
    const jobs::Job job = *Subtraction();
    EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
    EXPECT_EQ(job.patient_study.patient_id, "P1");
    EXPECT_EQ(job.facts.trajectory_hash, Job(fill_id).facts.trajectory_hash);
    EXPECT_EQ(job.grid, Job(fill_id).grid);
    EXPECT_EQ(job.result.study_instance_uid, Job(fill_id).result.study_instance_uid);
    EXPECT_EQ(job.result.frame_of_reference_uid, Job(mask_id).result.frame_of_reference_uid);
    EXPECT_EQ(job.progress.slices_exported, 32);
    const std::vector<float> mask = VolumeOf(mask_id), fill = VolumeOf(fill_id),
                             difference = VolumeOf(job.id);
    ASSERT_EQ(difference.size(), fill.size());
    float largest = 0;
    for (size_t i = 0; i < fill.size(); ++i) {
      ASSERT_EQ(difference[i], fill[i] - mask[i]) << i;
      largest = std::max(largest, std::abs(difference[i]));
    }
    EXPECT_GT(largest, 0.1F) << "both halves are the same";
    EXPECT_EQ(service_->results.stores(job.id), 1);
  }
};

TEST_F(EnginePairTest, TheDifferenceFollowsWhicheverHalfComesLast) {
  for (const bool mask_first : {true, false}) {
    SCOPED_TRACE(mask_first);
    Start();
    const Live mask = BeginHalf(PairRole::kMask), fill = BeginHalf(PairRole::kFill);
    const Live &first = mask_first ? mask : fill, &last = mask_first ? fill : mask;
    ASSERT_TRUE(first.console->Send(0, kFrames).ok());
    AwaitEnd(first.id);
    EXPECT_EQ(Subtraction(), nullptr);
    ASSERT_TRUE(last.console->Send(0, kFrames).ok());
    AwaitEnd(last.id);
    ExpectDifference(mask.id, fill.id);
    EXPECT_TRUE(Eventually([&] { return service_->HoldsNoPlace(); }));
  }
}

TEST_F(EnginePairTest, WarningsOfTheHalvesStandInTheDifference) {
  const Live mask = BeginHalf(PairRole::kMask), fill = BeginHalf(PairRole::kFill);
  ASSERT_TRUE(mask.console->Send(0, kFrames).ok());
  ASSERT_TRUE(fill.console->Send(1, kFrames).ok());
  ASSERT_TRUE(fill.console->Finish().ok());
  AwaitEnd(fill.id);
  ExpectDifference(mask.id, fill.id);
  EXPECT_THAT(Subtraction()->result.warnings, ElementsAre(HasSubstr("fill: frame 0 is missing")));
}

TEST_F(EnginePairTest, HalvesThatDoNotBelongTogetherAreRefused) {
  const Live mask = BeginHalf(PairRole::kMask);
  const auto refusal = [&](const std::function<void(AcquisitionRequest&)>& spoil,
                           PairRole role = PairRole::kFill) {
    AcquisitionRequest request = Half(role);
    spoil(request);
    const absl::Status status = Accept(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal([](auto& r) { r.acquisition.trajectory[3].m[3] += 1e-9; }),
              HasSubstr("the planned trajectory is not that of job '" + mask.id));
  EXPECT_THAT(refusal([](auto& r) { r.patient_study.patient_id = "P2"; }),
              HasSubstr("is of another patient"));
  EXPECT_THAT(refusal([](auto& r) { r.patient_position = PatientPosition::kFfs; }),
              HasSubstr("lay HFS, not FFS"));
  EXPECT_THAT(refusal([](auto& r) { r.patient_study.study_instance_uid = "1.2.4"; }),
              HasSubstr("is of another study; legal is 1.2.3"));
  EXPECT_THAT(refusal([](auto& r) {
                r.grid = CenteredGrid(16, 16, 16, {4, 4, 4});
              }),
              HasSubstr("the grid is not that of job"));
  EXPECT_THAT(refusal([](auto&) {}, PairRole::kMask), HasSubstr("whose mask is job '" + mask.id));
  // What the fill does not say it takes from the mask.
  AcquisitionRequest silent = Half(PairRole::kFill);
  silent.grid = AutoGridSize{16};
  silent.patient_study.study_instance_uid.clear();
  const auto accepted = Accept(silent);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_EQ(accepted->snapshot->grid, Job(mask.id).grid);
  EXPECT_EQ(accepted->snapshot->patient_study.study_instance_uid, "1.2.3");
}

TEST_F(EnginePairTest, AFailedHalfMayBeRepeated) {
  Start({.engine = {.clock = clock_.function()}});
  const Live mask = BeginHalf(PairRole::kMask);
  ASSERT_TRUE(mask.console->Send(0, kFrames).ok());
  AwaitEnd(mask.id);
  const Live failed = BeginHalf(PairRole::kFill);
  ASSERT_TRUE(service_->engine->Cancel(failed.id, absl::CancelledError("stop")).ok());
  AwaitEnd(failed.id);
  clock_.Advance(absl::Milliseconds(2));  // the newest counts
  const Live fill = BeginHalf(PairRole::kFill);
  ASSERT_TRUE(fill.console->Send(0, kFrames).ok());
  AwaitEnd(fill.id);
  ExpectDifference(mask.id, fill.id);
}

TEST_F(EnginePairTest, ADifferenceThatIsBeingStoredCanBeCancelled) {
  const auto [mask_id, fill_id] = StoringDifference();
  const std::string id = Subtraction()->id;
  ASSERT_TRUE(service_->engine->Cancel(id, absl::CancelledError("stop")).ok());
  service_->results.SetGate(true);
  const jobs::Job job = AwaitEnd(id);
  EXPECT_EQ(job.state, JobState::kCancelled);
  EXPECT_EQ(std::string(job.error.message()), "stop");
  EXPECT_EQ(service_->results.stores(id), 0);
  EXPECT_TRUE(service_->engine->WaitUntilIdle(absl::Now() + absl::Seconds(60)));
}

TEST_F(EnginePairTest, ADifferenceThatWasBeingStoredIsMadeAfterARestart) {
  const auto [mask_id, fill_id] = StoringDifference();
  service_->engine->SuspendAll();
  service_->results.SetGate(true);
  Restart();
  ExpectDifference(mask_id, fill_id);
}

// The service ended between the second half and the difference.
TEST_F(EnginePairTest, AMissingDifferenceIsMadeAfterARestart) {
  for (const bool begun : {false, true}) {
    SCOPED_TRACE(begun);
    Start();
    std::string mask_id, fill_id;
    {
      const Live mask = BeginHalf(PairRole::kMask), fill = BeginHalf(PairRole::kFill);
      mask_id = mask.id;
      fill_id = fill.id;
      ASSERT_TRUE(mask.console->Send(0, kFrames).ok());
      ASSERT_TRUE(fill.console->Send(0, kFrames).ok());
      AwaitEnd(mask.id);
      AwaitEnd(fill.id);
      ExpectDifference(mask.id, fill.id);
    }
    service_->Stop();
    jobs::Job job = service_->store.jobs()[fill_id + "-sub"];
    service_->results.Forget(job.id);
    if (begun) {
      job.state = JobState::kExporting;
      ASSERT_TRUE(service_->store.Save(job).ok());
    } else {
      ASSERT_TRUE(service_->store.Delete(job.id).ok());
    }
    service_->Start();
    service_->engine->Recover();
    ExpectDifference(mask_id, fill_id);
  }
}

}  // namespace
}  // namespace isocenter::pipeline
