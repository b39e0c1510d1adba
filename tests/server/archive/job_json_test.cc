#include "server/archive/job_json.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/fakes/full_job.h"

namespace isocenter::archive {
namespace {

using testing::FullJob;
using ::testing::HasSubstr;

// A record that was written once is read by every later version.
TEST(JobJsonTest, ARecordIsTheSameByteForByte) {
  std::ifstream records(ISOCENTER_SOURCE_DIR "/tests/server/archive/records.jsonl");
  std::string full, empty;
  ASSERT_TRUE(std::getline(records, full) && std::getline(records, empty));
  EXPECT_EQ(JobToJson(FullJob()), full);
  jobs::Job job;
  job.id = "j";
  EXPECT_EQ(JobToJson(job), empty);
  EXPECT_EQ(JobToJson(*JobFromJson(full)), full);
}

TEST(JobJsonTest, ASecondPassComesBack) {
  jobs::Job job = FullJob();
  job.refinement.second_pass = {.metal = true};
  const auto read = JobFromJson(JobToJson(job));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(jobs::IsSecondPass(*read));
  EXPECT_TRUE(read->refinement.second_pass->metal);
  EXPECT_FALSE(read->refinement.second_pass->bone);
  EXPECT_FALSE(read->refinement.motion.has_value());
}

TEST(JobJsonTest, AMotionComesBack) {
  jobs::Job job = FullJob();
  job.refinement.second_pass = {.motion = true};
  job.refinement.motion = {
      .found = true, .largest_shift_mm = 4.25, .poses = {{1, 2, 3, 4, 5, 6.5}, {}}};
  const auto read = JobFromJson(JobToJson(job));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->refinement.second_pass->motion);
  ASSERT_TRUE(read->refinement.motion.has_value());
  EXPECT_EQ(read->refinement.motion->largest_shift_mm, 4.25);
  ASSERT_EQ(read->refinement.motion->poses.size(), 2u);
  EXPECT_EQ(read->refinement.motion->poses[0].turn_z_deg, 6.5);
}

TEST(JobJsonTest, ASecondPassOfBeforeRowsWereCompletedIsRead) {
  jobs::Job job = FullJob();
  job.refinement.second_pass = {.metal = true};
  std::string record = JobToJson(job);
  const std::string added = ",\"complete_rows\":false";
  const size_t at = record.find(added);
  ASSERT_NE(at, std::string::npos) << record;
  const auto read = JobFromJson(record.erase(at, added.size()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->refinement.second_pass->metal);
  EXPECT_FALSE(read->refinement.second_pass->complete_rows);
}

TEST(JobJsonTest, WhereTheDetectorWasComesBack) {
  jobs::Job job = FullJob();
  job.refinement.second_pass = {.self_calibrate = true};
  job.refinement.self_calibration = {
      .found = true, .smooth = true, .largest_smooth_mm = 0.75, .moves = {{0.5, -0.25}, {}}};
  // As before there were references.
  EXPECT_EQ(JobToJson(job).find("\"reference"), std::string::npos);
  job.refinement.second_pass->reference_job_id = "job-1";
  job.refinement.self_calibration->reference = {
      .taken = true, .patient = {.turn_z_deg = 4}, .covered = 0.75, .similarity_after = 0.9375};
  const auto read = JobFromJson(JobToJson(job));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->refinement.second_pass->self_calibrate);
  EXPECT_EQ(read->refinement.second_pass->reference_job_id, "job-1");
  ASSERT_TRUE(read->refinement.self_calibration->reference.has_value());
  EXPECT_TRUE(read->refinement.self_calibration->reference->taken);
  EXPECT_EQ(read->refinement.self_calibration->reference->patient.turn_z_deg, 4);
  ASSERT_TRUE(read->refinement.self_calibration.has_value());
  EXPECT_EQ(read->refinement.self_calibration->largest_smooth_mm, 0.75);
  ASSERT_EQ(read->refinement.self_calibration->moves.size(), 2u);
  EXPECT_EQ(read->refinement.self_calibration->moves[0].v_mm, -0.25);
  EXPECT_EQ(JobToJson(*read), JobToJson(job));
}

TEST(JobJsonTest, APhaseComesBack) {
  jobs::Job job = FullJob();
  EXPECT_FALSE(JobFromJson(JobToJson(job))->facts.phase_cycle.has_value());
  job.facts.phase_cycle = jobs::PhaseCycle::kCardiac;
  job.refinement.phase = {
      .phase = 0.25, .width = 0.2, .frames = 61, .largest_gap_deg = 11.5, .cycle_seconds = 0.8};
  const auto read = JobFromJson(JobToJson(job));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->facts.phase_cycle, jobs::PhaseCycle::kCardiac);
  ASSERT_TRUE(read->refinement.phase.has_value());
  EXPECT_EQ(read->refinement.phase->phase, 0.25);
  EXPECT_EQ(JobToJson(*read), JobToJson(job));
}

TEST(JobJsonTest, TheSetOfItsMatricesComesBack) {
  jobs::Job job = FullJob();
  job.facts.geometry =
      jobs::UsedCalibration{.name = "arm", .crc32c = 7, .created = absl::FromUnixSeconds(9)};
  const auto read = JobFromJson(JobToJson(job));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->facts.geometry, job.facts.geometry);
}

TEST(JobJsonTest, EveryMemberComesBack) {
  const jobs::Job job = FullJob();
  const auto read = JobFromJson(JobToJson(job));
  ASSERT_TRUE(read.ok()) << read.status();
  // The text holds all members, so equal texts mean equal jobs; what the text lacks is compared
  // by hand.
  EXPECT_EQ(JobToJson(*read), JobToJson(job));
  EXPECT_EQ(read->id, job.id);
  EXPECT_EQ(read->state, job.state);
  EXPECT_EQ(read->error, job.error);
  EXPECT_EQ(read->patient_study.patient_name, job.patient_study.patient_name);
  EXPECT_EQ(read->patient_study.study_time, job.patient_study.study_time);
  EXPECT_EQ(read->facts.tube_voltage_kv, job.facts.tube_voltage_kv);
  EXPECT_EQ(read->facts.trajectory_hash, job.facts.trajectory_hash);
  EXPECT_EQ(read->facts.equipment.device_serial_number, "SN-3");
  EXPECT_EQ(read->facts.detector_bits, 14);
  EXPECT_EQ(read->facts.primary_scan->increment_deg, 0.4);
  EXPECT_FALSE(read->facts.secondary_scan->increment_deg.has_value());
  EXPECT_EQ(read->dicom_forms, job.dicom_forms);
  EXPECT_EQ(read->order.scheduled_step_id, "SPS-2");
  EXPECT_TRUE(read->order.is_reported);
  EXPECT_EQ(read->grid, job.grid);
  EXPECT_EQ(read->progress.slices_total, job.progress.slices_total);
  EXPECT_EQ(read->progress.frames_lost, job.progress.frames_lost);
  EXPECT_EQ(read->job_class, job.job_class);
  EXPECT_EQ(read->deadline, job.deadline);
  EXPECT_EQ(read->pair_id, job.pair_id);
  EXPECT_EQ(read->pair_role, job.pair_role);
  EXPECT_EQ(read->warnings, job.warnings);
  EXPECT_EQ(read->result.warnings, job.result.warnings);
  EXPECT_EQ(read->result.timings.preprocess, job.result.timings.preprocess);
  EXPECT_EQ(read->result.timings.total, job.result.timings.total);
  EXPECT_EQ(read->result.kernel_gups, job.result.kernel_gups);
  EXPECT_EQ(read->create_time, job.create_time);
  EXPECT_EQ(read->end_time, job.end_time);
}

TEST(JobJsonTest, DefaultsComeBack) {
  jobs::Job job;
  job.id = "j";
  const auto read = JobFromJson(JobToJson(job));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->create_time, absl::InfinitePast());
  EXPECT_EQ(read->end_time, absl::InfinitePast());
  EXPECT_EQ(read->deadline, absl::InfiniteFuture());
  EXPECT_TRUE(read->error.ok());
  EXPECT_EQ(read->state, jobs::JobState::kReceiving);
}

TEST(JobJsonTest, WhatIsNotFiniteBecomesNan) {
  jobs::Job job;
  job.result.kernel_gups = std::numeric_limits<double>::infinity();
  const auto read = JobFromJson(JobToJson(job));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(std::isnan(read->result.kernel_gups));
}

TEST(JobJsonTest, BytesThatAreNotUtf8AreReplaced) {
  jobs::Job job;
  job.error = absl::InternalError("\xff\xfe");
  EXPECT_TRUE(JobFromJson(JobToJson(job)).ok());
}

TEST(JobJsonTest, RecordsOfOlderVersionsKeepDefaults) {
  const auto read = JobFromJson(R"({"id": "j", "state": "completed"})");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->state, jobs::JobState::kCompleted);
  EXPECT_EQ(read->grid, VolumeGrid());
  EXPECT_EQ(read->job_class, jobs::JobClass::kLive);
  EXPECT_EQ(read->deadline, absl::InfiniteFuture());
  EXPECT_EQ(read->pair_role, jobs::PairRole::kNone);
  EXPECT_TRUE(read->warnings.empty());
  // They were stored as a CT series, before there was another form.
  EXPECT_EQ(read->dicom_forms, (jobs::DicomForms{.ct_series = true, .xray_3d = false}));
}

TEST(JobJsonTest, FormsComeBack) {
  for (const jobs::DicomForms& forms : {jobs::DicomForms{.ct_series = true, .xray_3d = true},
                                        jobs::DicomForms{.ct_series = true, .xray_3d = false},
                                        jobs::DicomForms{.ct_series = false, .xray_3d = true}}) {
    jobs::Job job;
    job.id = "j";
    job.dicom_forms = forms;
    const auto read = JobFromJson(JobToJson(job));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->dicom_forms, forms);
  }
  const auto wrong =
      JobFromJson(R"({"id": "j", "state": "failed", "dicom_forms": {"ct_series": "yes"}})");
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kDataLoss);
}

TEST(JobJsonTest, DamagedRecordsAreRefused) {
  for (const char* text : {"", "{", "[]", R"({"id": 7, "state": "completed"})", R"({"id": "j"})"}) {
    EXPECT_EQ(JobFromJson(text).status().code(), absl::StatusCode::kDataLoss) << text;
  }
  const std::pair<const char*, const char*> mistakes[] = {
      {R"("progress": {"frames_total": 1e300})",
       "frames_total is 1e+300; legal is a whole number from -2147483648 to 2147483647"},
      {R"("progress": {"frames_lost": 2147483648})", "frames_lost is 2147483648"},
      {R"("grid": {"nx": 18446744073709551615})", "nx is 18446744073709551615"},
      {R"("create_time_us": 1e30)", "create_time_us is 1e+30"},
      {R"("warnings": [{"kind": "short_arc", "text": "", "frame": 1.5}])", "frame is 1.5"},
      {R"("error": {"code": 0, "message": ""})", "code of the error is 0; legal is 1 to 16"},
      {R"("error": {"code": 1e300, "message": ""})", "code is 1e+300"},
      {R"("refinement": {"algorithm": "sart", "iterations": []})", "has no source_job_ids"},
  };
  for (const auto& [members, what] : mistakes) {
    const absl::Status damaged =
        JobFromJson(absl::StrCat(R"({"id": "j", "state": "failed", )", members, "}")).status();
    EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss) << members;
    EXPECT_THAT(std::string(damaged.message()), HasSubstr(what));
  }
  const auto status = JobFromJson(R"({"id": "j", "state": "dancing"})").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("dancing"));
  for (const char* text :
       {R"({"id": "j", "state": "failed", "class": "first"})",
        R"({"id": "j", "state": "failed", "pair_role": "third"})",
        R"({"id": "j", "state": "failed", "warnings": [{"kind": "odd", "text": ""}]})",
        R"({"id": "j", "state": "failed", "warnings": [7]})",
        R"({"id": "j", "state": "failed", "warnings": [{"text": "what kind?"}]})",
        R"({"id": "j", "state": "failed", "refinement": {"algorithm": "os-sart"}})",
        R"({"id": "j", "state": "failed", "error": {"code": 8}})"}) {
    EXPECT_EQ(JobFromJson(text).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace isocenter::archive
