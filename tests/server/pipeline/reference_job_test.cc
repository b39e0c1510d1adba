// Self-calibrations that hold the stored volume of another job beside the frames.
#include "server/pipeline/reference_job.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "server/jobs/private_error.h"
#include "tests/server/pipeline/refinement_fixture.h"

namespace isocenter::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReferenceJobTest : public RefinementTest {
 protected:
  void TearDown() override { service_.reset(); }

  RefinementRequest With(const std::string& reference) {
    RefinementRequest request = SecondPassRecipe({.self_calibrate = true});
    request.reference_job_id = reference;
    request.record = absl::StrCat("self_calibrate with ", reference);
    recipes_[request.record] = request;
    return request;
  }
  std::string Accepted(const std::string& source, const std::string& reference) {
    const auto accepted = Refine(source, With(reference));
    EXPECT_TRUE(accepted.ok()) << accepted.status();
    return accepted.ok() ? (*accepted)->id : "";
  }
  std::string AcquireOf(const std::string& patient_id) {
    AcquisitionRequest request = SmallRequest();
    request.patient_study.patient_id = patient_id;
    return Acquire(request);
  }
  /// Its place is free again afterwards.
  std::string AcquireAlone() {
    const std::string id = Acquire();
    ExpectNothingHeld();
    return id;
  }
  absl::Status Refusal(const std::string& source, const std::string& reference) {
    return Refine(source, With(reference)).status();
  }
  std::filesystem::path FileOf(const std::string& id) { return *service_->results.RawFile(id); }
  /// The job's stored volume becomes another one of its grid.
  void Write(const std::string& id, const std::vector<float>& hu) {
    std::ofstream(FileOf(id), std::ios::binary)
        .write(reinterpret_cast<const char*>(hu.data()),
               static_cast<std::streamsize>(hu.size() * sizeof(float)));
  }
};

TEST_F(ReferenceJobTest, HoldsAnEarlierVolumeBesideTheFramesAlsoAfterARestart) {
  const std::string earlier = AcquireOf("P1"), id = AcquireOf("P1");
  const std::string refined = Accepted(id, earlier);
  EXPECT_EQ(Job(refined).refinement.second_pass->reference_job_id, earlier);
  Restart();  // it begins again
  const jobs::Job job = AwaitEnd(refined);
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_THAT(job.source_job_ids, ElementsAre(id));
  EXPECT_EQ(job.refinement.second_pass->reference_job_id, earlier);
  ASSERT_TRUE(job.refinement.self_calibration.has_value());
  ASSERT_TRUE(job.refinement.self_calibration->reference.has_value());
  const jobs::ReferenceFacts& match = *job.refinement.self_calibration->reference;
  EXPECT_GT(match.covered, 0.5);
  EXPECT_GT(match.similarity_before, 0.85);
  EXPECT_GE(match.similarity_after, match.similarity_before - 1e-3);
  EXPECT_LT(std::abs(match.patient.shift_x_mm), 5);  // the patient lies where he lay
  EXPECT_THAT(job.refinement.findings,
              ElementsAre(AllOf(HasSubstr("self-calibration: "), HasSubstr("edges correlate by"),
                                HasSubstr(match.taken ? "were taken" : "were not taken"))));
  EXPECT_EQ(service_->results.stores(refined), 1);
  const auto trace = service_->table->TraceOf(refined);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(*trace, HasSubstr("a detector elsewhere, by an earlier volume, too"));
  ExpectNothingHeld();
}

// Edges that correlate then are all that tells that both are of one patient.
TEST_F(ReferenceJobTest, APatientWhoIsNotKnownIsSaidToBe) {
  const std::string earlier = AcquireOf(""), id = AcquireOf("P1");
  const jobs::Job job = AwaitEnd(Accepted(id, earlier));
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  ASSERT_EQ(job.refinement.findings.size(), 2u);
  EXPECT_THAT(job.refinement.findings[1],
              AllOf(HasSubstr(earlier), HasSubstr("tells no patient id"),
                    HasSubstr("told by their edges alone")));
}

TEST_F(ReferenceJobTest, RefusesWhatIsNone) {
  const std::string id = AcquireOf("P1"), other = AcquireOf("P2");
  const absl::Status unknown = Refusal(id, "nobody");
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()),
              AllOf(HasSubstr("reference_job_id: "), HasSubstr("'nobody'"),
                    HasSubstr("legal is a job whose volume is stored where the frames are")));

  const absl::Status itself = Refusal(id, id);
  EXPECT_EQ(itself.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(itself.message()), HasSubstr("legal is a job of another acquisition"));
  const std::string refined = (*Refine(id, SecondPassRecipe({.cone_beam = true})))->id;
  AwaitEnd(refined);
  EXPECT_THAT(std::string(Refusal(id, refined).message()),
              HasSubstr("is of the frames of job '" + id + "' itself"));

  const absl::Status another = Refusal(id, other);
  EXPECT_EQ(another.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(jobs::IsPrivate(another));
  EXPECT_THAT(std::string(another.message()),
              AllOf(HasSubstr("of the patient 'P2'"), HasSubstr("is of the patient 'P1'"),
                    HasSubstr("legal is a job of the same patient")));

  Live unfinished = Begin();
  const absl::Status receiving = Refusal(id, unfinished.id);
  EXPECT_EQ(receiving.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(receiving.message()),
              HasSubstr("which is receiving; legal is a completed job"));
  EXPECT_TRUE(service_->engine->Cancel(unfinished.id, absl::CancelledError("enough")).ok());
  unfinished.console.reset();  // which keeps the frames
  ExpectNothingHeld();
}

TEST_F(ReferenceJobTest, RefusesADifferenceAndAVolumeOfTooFewVoxels) {
  jobs::Job source, difference;
  source.id = "s", difference.id = "s2-sub";
  difference.state = JobState::kCompleted;
  EXPECT_TRUE(CheckReferenceJob(source, difference).ok());
  difference.pair_role = jobs::PairRole::kSubtraction;
  EXPECT_THAT(std::string(CheckReferenceJob(source, difference).message()),
              HasSubstr("a difference of two volumes"));

  AcquisitionRequest flat = SmallRequest();
  flat.grid = CenteredGrid(32, 32, 4, {4, 4, 4});
  const std::string earlier = Acquire(flat);
  EXPECT_THAT(std::string(Refusal(Acquire(), earlier).message()),
              HasSubstr("reference volume of 32x32x4 voxels; legal is 8 or more"));
}

// Of a patient who lay the other way round the volume is turned into the scan's world.
TEST_F(ReferenceJobTest, TheVolumeIsOfThePatientNotOfTheTable) {
  const std::string earlier = Acquire();
  jobs::Job scan = Job(earlier);
  scan.facts.patient_position = PatientPosition::kFfs;
  RefinementRequest request = With(earlier);
  ASSERT_TRUE(ResolveReference(*service_->table, scan, request).ok());
  const auto& settings = std::get<recon::SecondPassSettings>(request.settings);
  ASSERT_TRUE(settings.reference.has_value());
  const VolumeGrid grid = Job(earlier).grid;
  EXPECT_EQ(*settings.reference,
            WorldGrid(PatientGrid(grid, PatientPosition::kHfs), PatientPosition::kFfs));
  EXPECT_NE(*settings.reference, grid);
}

TEST_F(ReferenceJobTest, ARepeatedRequestIsOfTheSameReference) {
  const std::string one = Acquire(), two = Acquire(), id = Acquire();
  RefinementRequest request = With(one);
  request.request_id = "again";
  const auto first = Refine(id, request);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*Refine(id, request))->id, (*first)->id);
  request.reference_job_id = two;
  EXPECT_EQ(Refine(id, request).status().code(), absl::StatusCode::kInvalidArgument);
  request.reference_job_id.clear();
  EXPECT_EQ(Refine(id, request).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AwaitEnd((*first)->id).state, JobState::kCompleted);
}

TEST_F(ReferenceJobTest, OneThatIsRemovedWhileItWaitsFailsTheJob) {
  Start({.max_active_jobs = 1, .retention = absl::Hours(1)});
  const std::string earlier = AcquireAlone(), id = AcquireAlone();
  Live scan = Begin();  // has the only place
  const std::string waiting = Accepted(id, earlier);
  AwaitPlacesSought();
  ASSERT_FALSE(jobs::HasEnded(Job(waiting).state));
  ASSERT_TRUE(service_->table->Delete(earlier).ok());
  std::filesystem::remove(FileOf(earlier));
  EXPECT_TRUE(service_->engine->Cancel(scan.id, absl::CancelledError("enough")).ok());
  scan.console.reset();
  const jobs::Job job = AwaitEnd(waiting);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(job.error.message()),
              AllOf(HasSubstr("the volume of job '" + earlier + "', the reference of this "),
                    HasSubstr("cannot be opened")));
  ExpectNothingHeld();
}

TEST_F(ReferenceJobTest, OneThatIsGoneAfterARestartFailsTheJob) {
  Start({.max_active_jobs = 1, .retention = absl::Hours(1)});
  const std::string earlier = AcquireAlone(), id = AcquireAlone();
  const Live scan = Begin();
  const std::string waiting = Accepted(id, earlier);
  service_->Stop();
  ASSERT_TRUE(service_->store.Delete(earlier).ok());
  service_->Start();
  service_->engine->Recover();
  const jobs::Job job = AwaitEnd(waiting);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(std::string(job.error.message()),
              HasSubstr("job '" + earlier +
                        "', the reference of this self-calibration, does not "
                        "exist any more"));
}

// Of its grid it is known before it is read, and nothing is.
TEST_F(ReferenceJobTest, OneThatIsTooLargeForTheMemoryFailsTheJobWithTheFigures) {
  const std::string earlier = Acquire(), id = Acquire();
  service_->Stop();
  jobs::Job record = service_->store.jobs()[earlier];
  record.grid = CenteredGrid(1000, 1000, 1000, {6, 6, 6});
  ASSERT_TRUE(service_->store.Save(record).ok());
  service_->Start();
  service_->engine->Recover();
  const jobs::Job job = AwaitEnd(Accepted(id, earlier));
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kResourceExhausted) << job.error;
  ExpectNothingHeld();
}

TEST_F(ReferenceJobTest, AFileThatIsShorterThanItsGridFailsTheJob) {
  const std::string earlier = Acquire(), id = Acquire();
  std::filesystem::resize_file(FileOf(earlier), 4 * 32 * 32 * 31);
  const jobs::Job job = AwaitEnd(Accepted(id, earlier));
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(job.error.message()), HasSubstr("is shorter than its grid"));
  ExpectNothingHeld();
}

// As on files: the figure, and no volume.
TEST_F(ReferenceJobTest, OneOfSomethingElseFailsTheJobWithTheFigure) {
  const std::string earlier = Acquire(), id = Acquire();
  std::vector<float> other(32 * 32 * 32, -1000.0F);
  for (const int middle : {9, 23}) {
    for (int k = 6; k < 26; ++k) {
      for (int j = middle - 2; j < middle + 3; ++j) {
        for (int i = middle - 2; i < middle + 3; ++i) other[(k * 32 + j) * 32 + i] = 1500;
      }
    }
  }
  Write(earlier, other);
  const jobs::Job job = AwaitEnd(Accepted(id, earlier));
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(job.error.message()), HasSubstr("the reference volume "));
  EXPECT_TRUE(VolumeOf(job.id).empty());

  std::ranges::fill(other, 0.0F);  // goes on beyond its borders
  Write(earlier, other);
  const jobs::Job cut = AwaitEnd(Accepted(id, earlier));
  EXPECT_THAT(std::string(cut.error.message()),
              HasSubstr("covers 0 % of what the frames show, where it fits best; legal is 50 %"));
  ExpectNothingHeld();
}

TEST_F(ReferenceJobTest, ASearchWithAReferenceIsCancelled) {
  const std::string earlier = Acquire(), id = Acquire();
  const std::string searching = Accepted(id, earlier);
  // Beyond what frames alone take: 22 of 182 looks.
  ASSERT_TRUE(Eventually([&] { return Job(searching).progress.refined_fraction > 0.25; }));
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(service_->engine->Cancel(searching, absl::CancelledError("enough")).ok());
  EXPECT_EQ(AwaitEnd(searching).state, JobState::kCancelled);
  ExpectNothingHeld();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  EXPECT_TRUE(VolumeOf(searching).empty());
}

}  // namespace
}  // namespace isocenter::pipeline
