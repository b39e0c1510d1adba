#include "server/archive/job_json.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace isocenter::archive {
namespace {

using ::testing::HasSubstr;

/// Every member differs from its default and from every other member.
jobs::Job FullJob() {
  jobs::Job job;
  job.id = "20260102T030405-00c0ffee";
  job.state = jobs::JobState::kFailed;
  job.error = absl::ResourceExhaustedError("disk \"full\"\n");
  job.patient_study = {"山田^太郎", "PID",  "19700101", "M",        "1.2.3", "ACC",
                       "STUDY",     "Head", "House^G",  "20260102", "030405"};
  job.order = {true, "RP-1", "Head run", "SPS-2", "Rotation", "XA", "PID-H", "ACC-H", true};
  job.order.cancel_reason = jobs::CancelReason::kPatientCondition;
  job.facts = {.tube_voltage_kv = 90.5,
               .tube_current_ma = 21,
               .exposure_mas = 22.5,
               .dose_area_product_dgycm2 = 23.5,
               .body_part_examined = "HEAD",
               .patient_position = PatientPosition::kFfdr,
               .laterality = "L",
               .series_description = "Series",
               .performing_physician_name = "House^G",
               .operators_name = "Tech^N",
               .equipment = {"Maker", "Arm", "SN-3", "7.1", "Clinic", "Angio"},
               .detector_rows = 480,
               .detector_columns = 620,
               .detector_bits = 14,
               .detector_row_spacing_mm = 0.616,
               .detector_column_spacing_mm = 0.617,
               .primary_scan = jobs::PositionerScan{-100, 200, 0.4},
               .secondary_scan = jobs::PositionerScan{1, 2, std::nullopt},
               .source_to_isocenter_mm = 750.25,
               .source_to_detector_mm = 1200.5,
               .arc_deg = 197.1,
               .frames = 494,
               .acquisition_seconds = 8.25,
               .filter_description = "hann 0.85",
               .trajectory_hash = "abcdef"};
  job.dicom_forms = {.ct_series = false, .xray_3d = true};
  job.protocol = "fdk";
  job.station_name = "room-1";
  job.request_id = "request-7";
  job.grid = {.nx = 3, .ny = 4, .nz = 5, .spacing = {0.1, 0.2, 0.3}, .origin = {-1, -2.5, 1.0 / 3}};
  job.grid.direction = {0, -1, 0, 1, 0, 0, 0, 0, 1};
  job.progress = {1, 2, 3, 4, 5, 6};
  job.job_class = jobs::JobClass::kBatch;
  job.deadline = absl::FromUnixMicros(1767323085654321);
  job.pair_id = "pair-8";
  job.pair_role = jobs::PairRole::kFill;
  job.warnings = {{jobs::WarningKind::kDoseDip, 17, "the dose \"dips\""},
                  {jobs::WarningKind::kShortArc, std::nullopt, "the arc is short"}};
  job.result.study_instance_uid = "1.2";
  job.result.series_instance_uid = "1.3";
  job.result.frame_of_reference_uid = "1.4";
  job.result.instance_count = 6;
  job.result.seconds_after_last_frame = 0.1;
  job.result.seconds_to_stored = 0.2;
  job.result.kernel_gups = 4.15;
  job.result.whole_gups = 3.3;
  job.result.timings = {1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5};
  job.result.backend = "cpu";
  job.result.warnings = {"one", "two"};
  job.create_time = absl::FromUnixMicros(1767323045123456);
  job.end_time = job.create_time + absl::Seconds(17);
  return job;
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
        R"({"id": "j", "state": "failed", "warnings": [7]})"}) {
    EXPECT_EQ(JobFromJson(text).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace isocenter::archive
