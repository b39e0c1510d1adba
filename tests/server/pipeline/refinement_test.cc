// Refinements: after an acquisition, on request, with deadlines, cancelled, beside live jobs.
#include <algorithm>

#include "tests/server/pipeline/refinement_fixture.h"

namespace isocenter::pipeline {
namespace {

using jobs::WarningKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kForever = 1000;  // iterations, which take minutes

TEST_F(RefinementTest, FollowsTheVolumeThatItRefines) {
  AcquisitionRequest request = FollowedRequest(3);
  request.patient_study.patient_id = "P1";
  const std::string id = Acquire(request);
  EXPECT_EQ(VolumeOf(id), Batch());
  EXPECT_TRUE(Job(id).source_job_ids.empty());

  const jobs::Job job = AwaitEnd(id + "-ref");
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_THAT(job.source_job_ids, ElementsAre(id));
  EXPECT_EQ(job.job_class, jobs::JobClass::kInteractive);
  EXPECT_EQ(job.protocol, "refined");
  EXPECT_EQ(job.patient_study.patient_id, "P1");
  EXPECT_EQ(job.patient_study.study_instance_uid, "1.2.3");
  EXPECT_EQ(job.refinement.frame_of_reference_uid, "1.2.3.5");
  EXPECT_EQ(job.refinement.algorithm, "os_sart");
  EXPECT_EQ(job.progress.iterations_done, 3);
  EXPECT_EQ(job.progress.iterations_total, 3);
  EXPECT_EQ(job.progress.refined_fraction, 1);
  ASSERT_EQ(job.refinement.iterations.size(), 3u);
  EXPECT_EQ(job.refinement.iterations[2].iteration, 3);
  EXPECT_LT(job.refinement.iterations[2].relative_residual,
            job.refinement.iterations[0].relative_residual);
  EXPECT_GT(job.result.timings.refine, 0);
  EXPECT_TRUE(job.warnings.empty());
  // The observer is told a moment after everybody else.
  EXPECT_TRUE(Eventually([&] { return service_->observer.states(job.id).size() == 3; }));
  EXPECT_THAT(service_->observer.states(job.id),
              ElementsAre(JobState::kRefining, JobState::kExporting, JobState::kCompleted));
  EXPECT_EQ(VolumeOf(job.id), RefinedBatch(Recipe(3)));
  ExpectNothingHeld();
}

TEST_F(RefinementTest, BatchJobsAreRefinedAsBatch) {
  AcquisitionRequest request = FollowedRequest(1);
  request.job_class = jobs::JobClass::kBatch;
  const std::string id = Acquire(request);
  EXPECT_EQ(AwaitEnd(id + "-ref").job_class, jobs::JobClass::kBatch);
}

TEST_F(RefinementTest, OnRequestAndAgainWithAnotherRecipe) {
  const std::string id = Acquire();
  for (const int iterations : {2, 3}) {
    const auto accepted = Refine(id, Recipe(iterations));
    ASSERT_TRUE(accepted.ok()) << accepted.status();
    const jobs::Job job = AwaitEnd((*accepted)->id);
    ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
    EXPECT_EQ(job.progress.iterations_done, iterations);
    EXPECT_EQ(VolumeOf(job.id), RefinedBatch(Recipe(iterations)));
  }
  EXPECT_EQ(VolumeOf(id), Batch());
  ExpectNothingHeld();
}

TEST_F(RefinementTest, LostFramesHaveTheirSubstitutes) {
  const Live live = Begin(FollowedRequest(2));
  for (int view = 0; view < kFrames; ++view) {
    if (view == 17) continue;
    ASSERT_TRUE(live.console->SendOne(view).ok());
  }
  ASSERT_TRUE(live.console->Finish().ok());
  AwaitEnd(live.id);
  const jobs::Job job = AwaitEnd(live.id + "-ref");
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.progress.frames_lost, 1);
  EXPECT_NE(VolumeOf(job.id), RefinedBatch(Recipe(2)));
}

TEST_F(RefinementTest, WhatCannotBeRefinedIsSaid) {
  EXPECT_EQ(Refine("nobody", Recipe(1)).status().code(), absl::StatusCode::kNotFound);
  const Live live = Begin();
  const absl::Status receiving = Refine(live.id, Recipe(1)).status();
  EXPECT_EQ(receiving.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(receiving.message()), HasSubstr("is receiving; only a completed job"));

  const std::string id = Acquire();
  RefinementRequest request = Recipe(1);
  request.request_id = "once";
  const auto first = Refine(id, request);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*Refine(id, request))->id, (*first)->id);
  request.protocol = "another";
  EXPECT_EQ(Refine(id, request).status().code(), absl::StatusCode::kInvalidArgument);
  AwaitEnd((*first)->id);
  const absl::Status twice = Refine((*first)->id, Recipe(1)).status();
  EXPECT_EQ(twice.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(twice.message()), HasSubstr("refine job '" + id + "'"));
}

TEST_F(RefinementTest, FramesThatAreGoneAreSaidToBe) {
  Start({.retention = absl::ZeroDuration()});
  const std::string id = Acquire();
  EXPECT_TRUE(Eventually([&] { return service_->spool->Jobs().empty(); }));
  const absl::Status gone = Refine(id, Recipe(1)).status();
  EXPECT_EQ(gone.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(gone.message()), HasSubstr("keeps them for 0 s"));
  // But what the protocol asks for keeps them.
  const std::string followed = Acquire(FollowedRequest(1));
  const jobs::Job job = AwaitEnd(followed + "-ref");
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_TRUE(Eventually([&] { return service_->spool->Jobs().empty(); }));
}

TEST_F(RefinementTest, TheDeadlineDeliversTheBestVolumeSoFar) {
  const std::string id = Acquire();
  const absl::Time begin = absl::Now();
  AwaitEnd((*Refine(id, Recipe(1)))->id);
  RefinementRequest request = Recipe(kForever);
  request.deadline = absl::Seconds(1) + 4 * (absl::Now() - begin);
  const auto accepted = Refine(id, request);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  const jobs::Job job = AwaitEnd((*accepted)->id);
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_GT(job.progress.iterations_done, 0);
  EXPECT_LT(job.progress.iterations_done, kForever);
  ASSERT_EQ(job.warnings.size(), 1u);
  EXPECT_EQ(job.warnings[0].kind, WarningKind::kStoppedEarly);
  EXPECT_EQ(job.warnings[0].text, absl::StrCat("stopped after ", job.progress.iterations_done,
                                               " of 1000 iterations: the deadline has passed"));
  EXPECT_NE(VolumeOf(job.id), Batch());
  ExpectNothingHeld();
}

TEST_F(RefinementTest, WaitsForMemoryUntilItsDeadline) {
  Start({.retention = absl::Hours(1), .engine = {.clock = clock_.function()}});
  const std::string id = Acquire();
  ExpectNothingHeld();
  auto held = service_->scheduler->Admit(0, service_->slot().memory.limit(), 0);
  ASSERT_TRUE(held.ok()) << held.status();
  RefinementRequest request = Recipe(1);
  request.deadline = absl::Milliseconds(300);
  const auto late = Refine(id, request);
  ASSERT_TRUE(late.ok()) << late.status();
  AwaitPlacesSought();
  EXPECT_EQ(Job((*late)->id).state, JobState::kReconstructing);
  clock_.Advance(request.deadline);
  const jobs::Job failed = AwaitEnd((*late)->id);
  EXPECT_EQ(failed.state, JobState::kFailed);
  EXPECT_EQ(failed.error.code(), absl::StatusCode::kDeadlineExceeded) << failed.error;

  const auto patient = Refine(id, Recipe(1));
  ASSERT_TRUE(patient.ok()) << patient.status();
  AwaitPlacesSought();
  EXPECT_EQ(Job((*patient)->id).state, JobState::kReconstructing);
  *held = scheduler::Admission();
  // Somebody who holds memory is a job, whose end is what starts those that wait.
  Acquire();
  const jobs::Job job = AwaitEnd((*patient)->id);
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
}

TEST_F(RefinementTest, WhatNeverFitsFails) {
  const std::string id = Acquire();
  const RefinementRequest request = Recipe(1);
  service_->options.memory_bytes = 1 << 19;
  service_->Restart();
  const auto accepted = Refine(id, request);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  const jobs::Job job = AwaitEnd((*accepted)->id);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kResourceExhausted) << job.error;
}

TEST_F(RefinementTest, CancelledInEachPhase) {
  const std::string id = Acquire();
  const absl::Status why = absl::CancelledError("enough");
  // Waiting.
  ExpectNothingHeld();
  auto held = service_->scheduler->Admit(0, service_->slot().memory.limit(), 0);
  const std::string waiting = (*Refine(id, Recipe(1)))->id;
  EXPECT_TRUE(service_->engine->Cancel(waiting, why).ok());
  EXPECT_EQ(AwaitEnd(waiting).state, JobState::kCancelled);
  *held = scheduler::Admission();
  // Refining.
  const std::string refining = (*Refine(id, Recipe(kForever)))->id;
  AwaitRefining(refining);
  const absl::Status in_use = service_->table->Delete(id);
  EXPECT_EQ(in_use.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(in_use.message()), HasSubstr("is made from job"));
  EXPECT_TRUE(service_->engine->Cancel(refining, why).ok());
  EXPECT_EQ(Job(refining).state, JobState::kCancelled);
  EXPECT_FALSE(service_->engine->Cancel(refining, why).ok());
  ExpectNothingHeld();
  // Being stored.
  service_->results.SetGate(false);
  const std::string storing = (*Refine(id, Recipe(1)))->id;
  service_->results.WaitUntilStoring();
  EXPECT_TRUE(service_->engine->Cancel(storing, why).ok());
  EXPECT_TRUE(service_->engine->Cancel(storing, absl::CancelledError("once more")).ok());
  service_->results.SetGate(true);
  EXPECT_EQ(AwaitEnd(storing).state, JobState::kCancelled);
  EXPECT_EQ(Job(storing).error, why) << "the first one counts";
  EXPECT_TRUE(service_->results.volume(storing).empty());
  ExpectNothingHeld();
}

TEST_F(RefinementTest, LiveJobsGoInBetween) {
  const std::string id = Acquire();
  const std::string refining = (*Refine(id, Recipe(kForever)))->id;
  AwaitRefining(refining);
  const std::string live = Acquire();
  EXPECT_EQ(VolumeOf(live), Batch());
  EXPECT_EQ(Job(refining).state, JobState::kRefining);
  const double before = Job(refining).progress.refined_fraction;
  EXPECT_TRUE(Eventually([&] { return Job(refining).progress.refined_fraction > before; }));
}

TEST_F(RefinementTest, LiveJobsTakeItsMemory) {
  Start({.max_active_jobs = 1, .retention = absl::Hours(1)});
  const std::string id = Acquire();
  ExpectNothingHeld();
  const std::string refining = (*Refine(id, Recipe(8)))->id;
  AwaitRefining(refining);
  AcquisitionRequest batch = SmallRequest();
  batch.job_class = jobs::JobClass::kBatch;
  EXPECT_TRUE(absl::IsResourceExhausted(Accept(batch).status()));
  EXPECT_EQ(Job(refining).state, JobState::kRefining);
  const std::string live = Acquire();
  EXPECT_EQ(VolumeOf(live), Batch());
  const jobs::Job job = AwaitEnd(refining);
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.refinement.iterations.size(), 8u);
  EXPECT_EQ(VolumeOf(refining), RefinedBatch(Recipe(8)));
  ExpectNothingHeld();
}

TEST_F(RefinementTest, AFailedStoreFailsTheRefinementOnly) {
  const std::string id = Acquire();
  service_->results.FailWith(absl::InternalError("the disk is broken"));
  const jobs::Job job = AwaitEnd((*Refine(id, Recipe(1)))->id);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.message(), "the disk is broken");
  EXPECT_EQ(Job(id).state, JobState::kCompleted);
  ExpectNothingHeld();
}

TEST_F(RefinementTest, AnotherDeviceBeginsAgainWhenOneIsLost) {
  // Beyond the chunks of FDK and the frames: in the iterations. On the slot that has not yet been
  // found to be slow.
  Start({.slots = 2,
         .retention = absl::Hours(1),
         .engine = {.fault = DeviceFault{.slot = "reference1", .chunks = 40}}});
  const std::string id = Acquire();
  const auto accepted = Refine(id, Recipe(12));
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  const jobs::Job job = AwaitEnd((*accepted)->id);
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(service_->observer.count("lost reference1"), 1);
  ASSERT_FALSE(job.warnings.empty());
  EXPECT_EQ(job.warnings[0].kind, WarningKind::kDeviceReplaced);
  EXPECT_EQ(job.refinement.iterations.size(), 12u);
  EXPECT_EQ(VolumeOf(job.id), RefinedBatch(Recipe(12)));
  ExpectNothingHeld();
}

}  // namespace
}  // namespace isocenter::pipeline
